//! Records of jute in its binary form.
//!
//! Source: `BinaryInputArchive` and `BinaryOutputArchive` of ZooKeeper 3.8.0.

use std::fmt;

/// What cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BadBytes {
    /// It ends before it should.
    Short,
    /// So many bytes are left.
    Long(usize),
    /// A length that nothing has: below 0 (which stands for no text at all), or more than is sent.
    Length(i32),
    /// Something that ZooKeeper takes or says, and the model does not know.
    NotModelled(String),
}

impl fmt::Display for BadBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => f.write_str("it ends too soon"),
            Self::Long(left) => write!(f, "{left} bytes are left"),
            Self::Length(length) => write!(f, "a length of {length}"),
            Self::NotModelled(what) => write!(f, "not modelled: {what}"),
        }
    }
}

impl std::error::Error for BadBytes {}

/// What comes of reading.
pub(super) type Read<T> = Result<T, BadBytes>;

pub(super) fn not_modelled<T>(what: impl Into<String>) -> Result<T, BadBytes> {
    Err(BadBytes::NotModelled(what.into()))
}

/// `jute.maxbuffer`: no frame is longer, in bytes.
const LONGEST: usize = 0xf_ffff;

/// The content as it is sent.
#[must_use]
pub fn frame(content: &[u8]) -> Vec<u8> {
    let mut out = Writer::default();
    out.bytes(content);
    out.0
}

/// The content of the first frame of what has come, and how many bytes that takes. `None`: not all of it has come.
///
/// # Errors
/// If no frame is as long as it says.
pub fn cut_frame(come: &[u8]) -> Result<Option<(&[u8], usize)>, BadBytes> {
    let Some((length, rest)) = come.split_first_chunk::<4>() else { return Ok(None) };
    let length = i32::from_be_bytes(*length);
    let size = usize::try_from(length).ok().filter(|size| *size <= LONGEST).ok_or(BadBytes::Length(length))?;
    Ok(rest.get(..size).map(|content| (content, size + 4)))
}

/// A record that is written.
#[derive(Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn int(&mut self, number: i32) {
        self.0.extend_from_slice(&number.to_be_bytes());
    }

    pub(super) fn long(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_be_bytes());
    }

    pub(super) fn flag(&mut self, flag: bool) {
        self.0.push(u8::from(flag));
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn text(&mut self, text: impl fmt::Display) {
        self.bytes(text.to_string().as_bytes());
    }

    /// A list's length; its items follow.
    pub(super) fn length(&mut self, length: usize) {
        self.int(i32::try_from(length).expect("nothing here is as long as that"));
    }

    pub(super) fn texts(&mut self, texts: &[impl fmt::Display]) {
        self.length(texts.len());
        texts.iter().for_each(|text| self.text(text));
    }
}

/// A record that is read.
pub(super) struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    pub(super) const fn new(content: &'b [u8]) -> Self {
        Self(content)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], BadBytes> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(BadBytes::Short)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn int(&mut self) -> Result<i32, BadBytes> {
        self.take().map(i32::from_be_bytes)
    }

    /// A number that is never negative.
    pub(super) fn count(&mut self) -> Result<u32, BadBytes> {
        let number = self.int()?;
        u32::try_from(number).or_else(|_| not_modelled(format!("a number of {number}")))
    }

    pub(super) fn long(&mut self) -> Result<u64, BadBytes> {
        self.take().map(u64::from_be_bytes)
    }

    pub(super) fn byte(&mut self) -> Result<u8, BadBytes> {
        self.take().map(u8::from_be_bytes)
    }

    pub(super) fn flag(&mut self) -> Result<bool, BadBytes> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => not_modelled(format!("{other}, which is neither true nor false")),
        }
    }

    pub(super) fn bytes(&mut self) -> Result<&'b [u8], BadBytes> {
        let length = self.int()?;
        let size = usize::try_from(length).map_err(|_| BadBytes::Length(length))?;
        let (taken, rest) = self.0.split_at_checked(size).ok_or(BadBytes::Length(length))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn text(&mut self) -> Result<&'b str, BadBytes> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).or_else(|error| not_modelled(format!("text: {error}")))
    }

    /// A list, whatever length it says it has.
    pub(super) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, BadBytes>,
    ) -> Result<Vec<T>, BadBytes> {
        let length = self.int()?;
        let length = u32::try_from(length).map_err(|_| BadBytes::Length(length))?;
        // No item is empty: a list that is longer than what has come ends with the first that is not there.
        (0..length).map(|_| item(self)).collect()
    }

    /// Nothing is left.
    pub(super) const fn end(self) -> Result<(), BadBytes> {
        if self.0.is_empty() { Ok(()) } else { Err(BadBytes::Long(self.0.len())) }
    }

    /// Nothing is left, or a flag that older clients and servers do not send: read-only sessions, which are not asked for.
    pub(super) fn end_of_greeting(mut self) -> Result<(), BadBytes> {
        if !self.0.is_empty() && self.flag()? {
            return not_modelled("a session that only reads");
        }
        self.end()
    }
}
