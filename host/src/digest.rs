//! The stable fold behind every trace hash.
//!
//! `std::hash::Hash` promises nothing about what it feeds to a hasher: its output may change with the
//! compiler, and differs with the width of `usize`. Trace hashes are compared across machines and
//! versions, so what is folded is spelled out here, and every variant has a tag that is written down.

/// A 64-bit fold of words. Not cryptographic: it detects divergence, not malice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fold(u64);

impl Fold {
    /// A fold that has seen only `start`.
    #[must_use]
    pub const fn new(start: u64) -> Self {
        Self(start ^ 0x6A09_E667_F3BC_C908)
    }

    /// Folds one word in: multiply by an odd constant to 128 bits, and fold the halves together.
    #[inline]
    pub const fn word(&mut self, word: u64) {
        let product = ((self.0 ^ word) as u128).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = (product as u64) ^ ((product >> 64) as u64) ^ self.0.rotate_left(23);
    }

    /// Folds two words in, for the price of one: the words go into the two factors. Every event does this twice.
    #[inline]
    pub const fn pair(&mut self, one: u64, other: u64) {
        let product = ((self.0 ^ one) as u128).wrapping_mul((other ^ 0x9E37_79B9_7F4A_7C15) as u128);
        self.0 = (product as u64) ^ ((product >> 64) as u64) ^ self.0.rotate_left(23);
    }

    /// Folds bytes in, their count included, so that "ab","c" and "a","bc" differ. The last ones are read as
    /// words that overlap, not byte by byte: names are short.
    pub fn bytes(&mut self, bytes: &[u8]) {
        let (pairs, rest) = bytes.as_chunks::<16>();
        for pair in pairs {
            let (words, _) = pair.as_chunks();
            self.pair(u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1]));
        }
        let (first, last) = match (rest.first_chunk(), rest.last_chunk()) {
            (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
            _ => match (rest.first_chunk(), rest.last_chunk()) {
                (Some(first), Some(last)) => (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into()),
                _ => (0, rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))),
            },
        };
        self.pair(first, last);
        self.word(bytes.len() as u64);
    }

    /// What has been folded so far.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }
}

/// Something with a stable digest.
pub trait Digest {
    /// Folds this value in.
    fn digest(&self, fold: &mut Fold);

    /// The digest of this value alone.
    fn digested(&self) -> u64 {
        let mut fold = Fold::new(0);
        self.digest(&mut fold);
        fold.value()
    }
}

/// Spells out the digest of an enum: a tag for each variant, and the fields in order. A forgotten
/// variant or field does not compile.
///
/// ```
/// enum Shape { Dot, Circle { radius: u64 }, Square(u64) }
/// host::digest_enum!(Shape { 0 => Dot, 1 => Circle { radius }, 2 => Square(side) });
/// ```
#[macro_export]
macro_rules! digest_enum {
    ($type:ty { $($tag:literal => $variant:ident $({ $($field:ident),* $(,)? })? $(( $($item:ident),* $(,)? ))? ),* $(,)? }) => {
        impl $crate::Digest for $type {
            fn digest(&self, fold: &mut $crate::Fold) {
                match self {
                    $( Self::$variant $({ $($field),* })? $(( $($item),* ))? => {
                        fold.word($tag);
                        $($( $crate::Digest::digest($field, fold); )*)?
                        $($( $crate::Digest::digest($item, fold); )*)?
                    } )*
                }
            }
        }
    };
}

/// Spells out the digest of a struct: its fields in order. A forgotten field does not compile.
///
/// ```
/// struct Circle { radius: u64, filled: bool }
/// host::digest_struct!(Circle { radius, filled });
/// ```
#[macro_export]
macro_rules! digest_struct {
    ($type:ident { $($field:ident),* $(,)? }) => {
        impl $crate::Digest for $type {
            fn digest(&self, fold: &mut $crate::Fold) {
                let Self { $($field),* } = self;
                $( $crate::Digest::digest($field, fold); )*
            }
        }
    };
}

macro_rules! digest_as_word {
    ($($type:ty => $word:expr),* $(,)?) => { $(
        impl Digest for $type {
            fn digest(&self, fold: &mut Fold) {
                let word: fn(&$type) -> u64 = $word;
                fold.word(word(self));
            }
        }
    )* };
}

digest_as_word! {
    bool => |x| u64::from(*x),
    u8 => |x| u64::from(*x),
    u16 => |x| u64::from(*x),
    u32 => |x| u64::from(*x),
    u64 => |x| *x,
    usize => |x| *x as u64,
    core::num::NonZeroU64 => |x| x.get(),
    i32 => |x| i64::from(*x).cast_unsigned(),
    i64 => |x| x.cast_unsigned(),
    crate::NodeId => |x| x.index() as u64,
    crate::AttemptId => |x| x.as_word(),
    crate::MonoTime => |x| x.as_nanos(),
    crate::WallTime => |x| x.as_nanos().cast_unsigned(),
    crate::Duration => |x| crate::nanos(*x),
}

impl<T: Digest + ?Sized> Digest for &T {
    fn digest(&self, fold: &mut Fold) {
        (**self).digest(fold);
    }
}

impl<T: Digest> Digest for Option<T> {
    fn digest(&self, fold: &mut Fold) {
        match self {
            None => fold.word(0),
            Some(value) => {
                fold.word(1);
                value.digest(fold);
            }
        }
    }
}

impl<T: Digest, E: Digest> Digest for Result<T, E> {
    fn digest(&self, fold: &mut Fold) {
        match self {
            Ok(value) => {
                fold.word(1);
                value.digest(fold);
            }
            Err(error) => {
                fold.word(2);
                error.digest(fold);
            }
        }
    }
}

impl<T: Digest> Digest for [T] {
    fn digest(&self, fold: &mut Fold) {
        fold.word(self.len() as u64);
        for item in self {
            item.digest(fold);
        }
    }
}

impl<T: Digest> Digest for Vec<T> {
    fn digest(&self, fold: &mut Fold) {
        self.as_slice().digest(fold);
    }
}

impl<K: Digest, V: Digest> Digest for std::collections::BTreeMap<K, V> {
    fn digest(&self, fold: &mut Fold) {
        fold.word(self.len() as u64);
        for pair in self {
            pair.digest(fold);
        }
    }
}

impl<A: Digest, B: Digest> Digest for (A, B) {
    fn digest(&self, fold: &mut Fold) {
        self.0.digest(fold);
        self.1.digest(fold);
    }
}

impl<T: Digest> Digest for std::collections::VecDeque<T> {
    fn digest(&self, fold: &mut Fold) {
        fold.word(self.len() as u64);
        for item in self {
            item.digest(fold);
        }
    }
}

impl Digest for str {
    fn digest(&self, fold: &mut Fold) {
        fold.bytes(self.as_bytes());
    }
}

impl Digest for String {
    fn digest(&self, fold: &mut Fold) {
        self.as_str().digest(fold);
    }
}

impl<T: Digest + ?Sized> Digest for std::rc::Rc<T> {
    fn digest(&self, fold: &mut Fold) {
        (**self).digest(fold);
    }
}

impl<T: Digest + ?Sized> Digest for Box<T> {
    fn digest(&self, fold: &mut Fold) {
        (**self).digest(fold);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Text(&'static str, &'static str);
    impl Digest for Text {
        fn digest(&self, fold: &mut Fold) {
            self.0.digest(fold);
            self.1.digest(fold);
        }
    }

    #[test]
    fn the_fold_is_written_down() {
        // Golden: a change here changes every trace hash, and with it the engine version.
        assert_eq!(7_u64.digested(), 0x0f7f_7719_578c_8e41);
        assert_eq!("fencepost".digested(), 0xea9d_052a_8890_cfe6);
        let mut fold = Fold::new(7);
        fold.pair(1, 2);
        assert_eq!(fold.value(), 0xc09cda70cc5d9438);
    }

    #[test]
    fn every_byte_of_a_text_counts_whatever_its_length() {
        for len in 0..40 {
            let text: Vec<u8> = (0..len).map(|i| b'a' + i % 26).collect();
            let digest = |text: &[u8]| {
                let mut fold = Fold::new(0);
                fold.bytes(text);
                fold.value()
            };
            for i in 0..text.len() {
                let mut other = text.clone();
                other[i] ^= 1;
                assert_ne!(digest(&text), digest(&other), "byte {i} of {len}");
                assert_ne!(digest(&text), digest(&text[..i]), "the first {i} of {len}");
            }
        }
        let zeros = |len: usize| {
            let mut fold = Fold::new(0);
            fold.bytes(&vec![0; len]);
            fold.value()
        };
        assert_ne!(zeros(3), zeros(4));
    }

    #[test]
    fn both_words_of_a_pair_count_and_which_is_which() {
        let pair = |one, other| {
            let mut fold = Fold::new(7);
            fold.pair(one, other);
            fold.value()
        };
        assert_ne!(pair(1, 2), pair(2, 1));
        assert_ne!(pair(1, 2), pair(1, 3));
        assert_ne!(pair(1, 2), pair(3, 2));
        assert_ne!(pair(0, 0), Fold::new(7).value());
    }

    #[test]
    fn neighbours_do_not_run_together() {
        assert_ne!(Text("ab", "c").digested(), Text("a", "bc").digested());
        assert_ne!(Some(0_u64).digested(), None::<u64>.digested());
        assert_ne!(0_u64.digested(), 1_u64.digested());
        assert_ne!(true.digested(), false.digested());
        let nested = |lists: [&[u64]; 2]| lists.digested();
        assert_ne!(nested([&[1], &[2, 3]]), nested([&[1, 2], &[3]]));
        // Nothing and something, spelled out, are not something else.
        let spelled = |words: &[u64], option: Option<u64>| {
            let mut fold = Fold::new(0);
            option.digest(&mut fold);
            words.iter().for_each(|word| fold.word(*word));
            fold.value()
        };
        assert_ne!(spelled(&[1, 7], None), spelled(&[], Some(7)));
    }

    #[test]
    fn attempts_are_told_apart_by_client_and_ordinal() {
        let attempt = |client, ordinal: u32| {
            let ordinal = ordinal.try_into().expect("ordinals count from 1");
            crate::AttemptId::new(crate::NodeId::new(client), ordinal).digested()
        };
        assert_ne!(attempt(1, 1), attempt(2, 1));
        assert_ne!(attempt(1, 1), attempt(1, 2));
    }

    #[test]
    fn variants_are_told_apart_by_their_tags_and_fields() {
        enum Shape {
            Dot,
            Circle { radius: u64 },
            Square(u64),
        }
        crate::digest_enum!(Shape { 0 => Dot, 1 => Circle { radius }, 2 => Square(side) });
        assert_ne!(Shape::Circle { radius: 1 }.digested(), Shape::Square(1).digested());
        assert_ne!(Shape::Square(1).digested(), Shape::Square(2).digested());
        assert_ne!(Shape::Dot.digested(), Fold::new(0).value());
    }
}
