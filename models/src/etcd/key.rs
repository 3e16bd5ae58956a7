//! Names of keys as locks have them, and the numbers by which etcd knows what was when.

use std::cmp::Ordering;
use std::fmt;
use std::num::NonZeroU64;

use host::{Digest, Fold, Name, digest_enum};
use spec::Token;

/// A lease's number. A client may choose it; else the server does.
///
/// (etcd takes negative ones too: not modelled. 0 means no lease, there and in JSON; here that is `None`.)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(NonZeroU64);

impl LeaseId {
    /// The lease of that number. `None`: 0, which is no lease.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0.get()
    }

    /// Its hexadecimal digits, moved to the left end of the word, and how many there are: they sort as their text does.
    const fn digits(self) -> (u64, u32) {
        let unused = self.0.get().leading_zeros() / 4;
        (self.0.get() << (unused * 4), 16 - unused)
    }
}

impl fmt::Display for LeaseId {
    /// As `etcdctl` and the keys of locks have it: hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

impl fmt::Debug for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lease {self}")
    }
}

/// The number of a change to the cluster's keys: one count for all of them. A new cluster is at 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Revision(pub u64);

impl Revision {
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

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a watch on its connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct WatchId(pub u64);

/// A key: a name, and behind it a lease's number in hexadecimal, if it is a lock's.
///
/// etcd knows bytes alone. Locks queue under one name with their leases' numbers, so the two halves are kept apart:
/// the first is one of few and interned, the second need not be written out. Two keys are equal, and sort, as their
/// bytes do, whichever way they are halved.
#[derive(Clone, Copy)]
pub struct Key {
    stem: Name,
    lease: Option<LeaseId>,
}

impl Key {
    /// The key of one who queues there: `stem` is the lock's name with its slash.
    #[must_use]
    pub const fn under(stem: Name, lease: LeaseId) -> Self {
        Self { stem, lease: Some(lease) }
    }

    /// The part before the lease's number.
    #[must_use]
    pub const fn stem(&self) -> Name {
        self.stem
    }

    /// The lease whose number ends it, if it was made of one.
    #[must_use]
    pub const fn lease(&self) -> Option<LeaseId> {
        self.lease
    }

    /// Whether it has no byte.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.stem.as_str().is_empty() && self.lease.is_none()
    }

    /// Whether it begins so.
    #[must_use]
    pub fn starts_with(&self, prefix: Name) -> bool {
        // It mostly ends at the stem, but may end among the digits.
        self.stem.starts_with(prefix.as_str()) || self.bytes().take(prefix.len()).eq(prefix.bytes())
    }

    fn bytes(&self) -> impl Iterator<Item = u8> {
        let (digits, count) = self.lease.map_or((0, 0), LeaseId::digits);
        let digit = move |place: u32| (digits << (4 * place) >> 60) as usize;
        self.stem.as_str().bytes().chain((0..count).map(move |place| b"0123456789abcdef"[digit(place)]))
    }
}

impl From<Name> for Key {
    fn from(name: Name) -> Self {
        Self { stem: name, lease: None }
    }
}

impl From<&str> for Key {
    fn from(name: &str) -> Self {
        Name::from(name).into()
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.stem == other.stem {
            return self.lease.map(LeaseId::digits).cmp(&other.lease.map(LeaseId::digits));
        }
        self.bytes().cmp(other.bytes())
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stem.fmt(f)?;
        self.lease.map_or(Ok(()), |lease| lease.fmt(f))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// Which keys are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    /// This one.
    One(Key),
    /// All that begin so. (On the wire: from the prefix to what follows all that begin with it.)
    Under(Name),
    /// From the first, up to the second, which is left out.
    Between(Key, Key),
}

impl Keys {
    /// Whether this key is among them.
    #[must_use]
    pub fn contains(&self, key: &Key) -> bool {
        match self {
            Self::One(one) => one == key,
            Self::Under(prefix) => key.starts_with(*prefix),
            Self::Between(first, end) => first <= key && key < end,
        }
    }

    /// Whether every key is among them.
    #[must_use]
    pub const fn are_all(&self) -> bool {
        matches!(self, Self::Under(prefix) if prefix.as_str().is_empty())
    }

    /// The first key that may be among them.
    #[must_use]
    pub fn first(&self) -> Key {
        match self {
            Self::One(key) | Self::Between(key, _) => *key,
            Self::Under(prefix) => (*prefix).into(),
        }
    }
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(key) => key.fmt(f),
            Self::Under(prefix) => write!(f, "{prefix}*"),
            Self::Between(first, end) => write!(f, "[{first}, {end})"),
        }
    }
}

impl Digest for Key {
    fn digest(&self, fold: &mut Fold) {
        self.stem.digest(fold);
        self.lease.digest(fold);
    }
}

impl Digest for LeaseId {
    fn digest(&self, fold: &mut Fold) {
        self.0.digest(fold);
    }
}

impl Digest for Revision {
    fn digest(&self, fold: &mut Fold) {
        self.0.digest(fold);
    }
}

impl Digest for WatchId {
    fn digest(&self, fold: &mut Fold) {
        self.0.digest(fold);
    }
}

digest_enum!(Keys { 1 => One(key), 2 => Under(prefix), 3 => Between(first, end) });

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(number: u64) -> LeaseId {
        LeaseId::new(number).expect("not 0")
    }

    #[test]
    fn keys_sort_as_their_bytes_however_they_are_halved() {
        let keys = [
            Key::from(""),
            "L".into(),
            "L/".into(),
            Key::under("L/".into(), lease(0x1)),
            "L/1".into(),
            Key::under("L/".into(), lease(0x10)),
            Key::under("L/1".into(), lease(0x1)),
            Key::under("L/".into(), lease(0x2)),
            Key::under("L/".into(), lease(0xab)),
            "L/ab".into(),
            Key::under("L/".into(), lease(u64::MAX)),
            "L0".into(),
            "M".into(),
        ];
        for one in &keys {
            for other in &keys {
                assert_eq!(one.cmp(other), one.to_string().cmp(&other.to_string()), "{one} and {other}");
                assert_eq!(one == other, one.to_string() == other.to_string());
                assert_eq!(
                    one.starts_with(Name::from(other.to_string())),
                    one.to_string().starts_with(&other.to_string()),
                    "{one} begins with {other}"
                );
            }
        }
    }

    #[test]
    fn what_is_under_a_prefix_is_between_it_and_what_follows_it() {
        let (under, between) = (Keys::Under("L/".into()), Keys::Between("L/".into(), "L0".into()));
        for key in ["L", "L/", "L/64", "L0", "K/1", ""] {
            let key = Key::from(key);
            assert_eq!(under.contains(&key), between.contains(&key), "{key}");
            assert_eq!(under.contains(&key), key.to_string().starts_with("L/"), "{key}");
        }
        assert_eq!(LeaseId::new(0), None);
    }
}
