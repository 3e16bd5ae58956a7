//! Paths of nodes, sessions' numbers, and the numbers by which ZooKeeper knows what was when.
//!
//! ZooKeeper knows text alone. Locks make a node's name of few fixed pieces and of numbers that a run makes up, so these
//! are kept apart: the pieces are interned, the numbers are not written out.

use std::cmp::Ordering;
use std::fmt;

use host::{Digest, Duration, Fold, Name, digest_struct};
use spec::Token;

/// The number of a session. (0 is none, on the wire; here that is `None`.)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

impl fmt::Display for SessionId {
    /// As ZooKeeper's own messages have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:x}", self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session {self}")
    }
}

/// The number of a change, one count for all of them: the epoch of the leader that had it agreed upon, and a count within
/// that, of 32 bits each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Zxid(pub u64);

impl Zxid {
    /// The `counter`th change of an epoch.
    #[must_use]
    pub const fn new(epoch: u32, counter: u32) -> Self {
        Self((epoch as u64) << 32 | counter as u64)
    }

    /// The epoch.
    #[must_use]
    pub const fn epoch(self) -> u64 {
        self.0 >> 32
    }

    /// The first number of the epoch after it, which no change has.
    #[must_use]
    pub const fn next_epoch(self) -> Self {
        Self((self.epoch() + 1) << 32)
    }

    /// The one after it.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// As a fencing token.
    #[must_use]
    pub const fn as_token(self) -> Token {
        Token(self.0)
    }
}

impl fmt::Display for Zxid {
    /// As ZooKeeper's own messages have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:x}", self.0)
    }
}

impl fmt::Debug for Zxid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "zxid {self}")
    }
}

/// Milliseconds, as timeouts of sessions are told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Millis(pub u32);

impl Millis {
    /// As a duration.
    #[must_use]
    pub const fn as_duration(self) -> Duration {
        Duration::from_millis(self.0 as u64)
    }
}

impl From<Duration> for Millis {
    /// Whole milliseconds, as many as there can be.
    fn from(duration: Duration) -> Self {
        Self(u32::try_from(duration.as_millis()).unwrap_or(u32::MAX))
    }
}

/// A number that a client draws to know its own node by; printed, it has sixteen hexadecimal digits. (Curator's is a UUID of 36
/// characters.)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Guid(pub u64);

/// The name of a node below its parent, in pieces: `before GUID after NUMBER`.
///
/// There is one way only to cut a name, so that two are equal if their texts are: the last ten characters are the number if
/// they can be one, and the first sixteen hexadecimal digits that stand alone are the guid. They sort by pieces, not as
/// their texts do ([`by_text`](Self::by_text)).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeName {
    before: Name,
    guid: Option<Guid>,
    after: Name,
    number: Option<i32>,
}

const NOTHING: Name = Name::fixed("");

impl NodeName {
    /// Begins with `before`, which ends with no hexadecimal digit, has the guid, and goes on with `after`, which begins
    /// with none.
    #[must_use]
    pub const fn with_guid(before: Name, guid: Guid, after: Name) -> Self {
        Self { before, guid: Some(guid), after, number: None }
    }

    /// With ZooKeeper's number for a sequential node behind it: `%010d`.
    #[must_use]
    pub fn numbered(self, number: i32) -> Self {
        if self.number.is_some() || number <= -1_000_000_000 {
            // Rare: its digits are those of another number, or its sign is taken for a hyphen.
            return Self::from(format!("{self}{number:010}").as_str());
        }
        Self { number: Some(number), ..self }
    }

    /// The guid in it.
    #[must_use]
    pub const fn guid(&self) -> Option<Guid> {
        self.guid
    }

    /// What stands behind the guid, or all but the number if there is none.
    #[must_use]
    pub const fn stem(&self) -> Name {
        if self.guid.is_some() { self.after } else { self.before }
    }

    /// The number at its end.
    #[must_use]
    pub const fn number(&self) -> Option<i32> {
        self.number
    }

    /// The number behind a stem, if it has that stem.
    #[must_use]
    pub fn number_after(&self, stem: Name) -> Option<i32> {
        let own = self.stem();
        if own == stem {
            return self.number;
        }
        // The sign of a low number was taken for the stem's last hyphen.
        let is_negative = own.strip_prefix(stem.as_str()) == Some("-");
        self.number.filter(|_| is_negative).map(i32::wrapping_neg)
    }

    /// Which text sorts first.
    #[must_use]
    pub fn by_text(&self, other: &Self) -> Ordering {
        self.to_string().cmp(&other.to_string())
    }
}

impl From<&str> for NodeName {
    fn from(text: &str) -> Self {
        let (text, number) = cut_number(text);
        match guid_within(text) {
            Some((at, guid)) => {
                Self { before: text[..at].into(), guid: Some(guid), after: text[at + GUID_DIGITS..].into(), number }
            }
            None => Self { before: text.into(), guid: None, after: NOTHING, number },
        }
    }
}

const GUID_DIGITS: usize = 16;

/// The number at the end, and what is before it.
fn cut_number(text: &str) -> (&str, Option<i32>) {
    // Ten digits, or a sign and nine; a sign and ten only if those are too high for a number of their own.
    for length in [10, 11] {
        let Some((rest, tail)) = text.len().checked_sub(length).and_then(|at| text.split_at_checked(at)) else { break };
        let digits = tail.strip_prefix('-').unwrap_or(tail);
        let is_one = digits.len() >= 9 && digits.bytes().all(|byte| byte.is_ascii_digit());
        if let Some(number) = is_one.then(|| tail.parse().ok()).flatten()
            && format!("{number:010}") == tail
        {
            return (rest, Some(number));
        }
    }
    (text, None)
}

/// The first sixteen hexadecimal digits that have no other beside them.
fn guid_within(text: &str) -> Option<(usize, Guid)> {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let mut at = 0;
    for run in text.as_bytes().chunk_by(|one, next| is_digit(one) == is_digit(next)) {
        if run.len() == GUID_DIGITS && run.iter().all(is_digit) {
            let digits = &text[at..at + GUID_DIGITS];
            return Some((at, Guid(u64::from_str_radix(digits, 16).expect("hexadecimal digits"))));
        }
        at += run.len();
    }
    None
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.before.as_str())?;
        if let Some(Guid(guid)) = self.guid {
            write!(f, "{guid:016x}{}", self.after)?;
        }
        self.number.map_or(Ok(()), |number| write!(f, "{number:010}"))
    }
}

impl fmt::Debug for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// Where a node is: the path of its parent, and its name below that. `/` is the root.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    /// Without a slash at its end: nothing, if that is the root.
    parent: Name,
    /// Nothing: this is the root.
    name: NodeName,
}

impl Path {
    /// The root.
    pub const ROOT: Self =
        Self { parent: NOTHING, name: NodeName { before: NOTHING, guid: None, after: NOTHING, number: None } };

    /// The node of that name below the one at `parent`.
    #[must_use]
    pub const fn below(parent: Name, name: NodeName) -> Self {
        Self { parent, name }
    }

    /// The path of its parent, as text without a slash at its end.
    #[must_use]
    pub const fn parent_name(&self) -> Name {
        self.parent
    }

    /// The path of its parent. `None`: it is the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        (!self.is_root()).then(|| Self::from(self.parent.as_str()))
    }

    /// Its name below its parent.
    #[must_use]
    pub const fn name(&self) -> NodeName {
        self.name
    }

    /// Whether it is the root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        *self == Self::ROOT
    }

    /// With ZooKeeper's number for a sequential node behind it.
    #[must_use]
    pub fn numbered(&self, number: i32) -> Self {
        Self { parent: self.parent, name: self.name.numbered(number) }
    }
}

impl From<&str> for Path {
    /// The node at that path: names with slashes before them, or nothing: the root.
    fn from(text: &str) -> Self {
        let (parent, name) = text.rsplit_once('/').unwrap_or(("", text));
        Self { parent: parent.into(), name: name.into() }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.parent, self.name)
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

digest_struct!(NodeName { before, guid, after, number });
digest_struct!(Path { parent, name });

/// A number of these is folded as a word.
macro_rules! as_word {
    ($($type:ident),*) => { $(
        impl Digest for $type {
            fn digest(&self, fold: &mut Fold) {
                fold.word(u64::from(self.0));
            }
        }
    )* };
}
as_word!(SessionId, Zxid, Millis, Guid);

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: Name = Name::fixed("lock-");

    #[test]
    fn a_name_is_cut_in_one_way_whoever_makes_it() {
        let made = [
            NodeName::from("lock-").numbered(7),
            NodeName::with_guid("_c_".into(), Guid(0xab), "-lock-".into()).numbered(12),
            NodeName::from("lock-").numbered(-7),
            NodeName::from("lock-").numbered(i32::MAX),
            NodeName::from("lock-").numbered(i32::MIN),
            NodeName::from("lock-").numbered(i32::MIN + 1),
            NodeName::from("lock-0000000001").numbered(2),
            NodeName::from("x-1").numbered(3),
        ];
        for name in made {
            assert_eq!(NodeName::from(name.to_string().as_str()), name, "{name}");
        }
        assert_eq!(made[1].to_string(), "_c_00000000000000ab-lock-0000000012");
        assert_eq!(
            made.map(|name| name.number_after(LOCK)),
            [Some(7), None, Some(-7), Some(i32::MAX), Some(i32::MIN), Some(i32::MIN + 1), None, None]
        );
        assert_eq!((made[1].guid(), made[1].number_after("-lock-".into())), (Some(Guid(0xab)), Some(12)));
    }

    #[test]
    fn text_is_kept_whatever_is_in_it() {
        for text in
            ["", "a", "-", "0000000000", "-000000001", "9999999999", "a9999999999", "é000000000", "00112233445566778"]
        {
            assert_eq!(NodeName::from(text).to_string(), text);
        }
        assert_eq!(NodeName::from("é000000000").number, None);
    }

    #[test]
    fn a_path_has_a_parent_up_to_the_root() {
        let path = Path::from("/locks/orders/lock-0000000003");
        assert_eq!(path.to_string(), "/locks/orders/lock-0000000003");
        assert_eq!(path.parent(), Some(Path::from("/locks/orders")));
        assert_eq!(Path::from("/locks").parent(), Some(Path::ROOT));
        assert_eq!((Path::from("/"), Path::ROOT.parent(), Path::ROOT.to_string()), (Path::ROOT, None, "/".to_owned()));
    }

    #[test]
    fn an_epoch_outweighs_any_count() {
        let last = Zxid::new(1, u32::MAX);
        assert!(last < last.next_epoch() && last.next_epoch().next() == Zxid::new(2, 1));
        assert_eq!(Zxid::new(2, 1).to_string(), "0x200000001");
    }
}
