//! Names of locks, keys and guarded objects: written once, copied freely.
//!
//! The same few names appear in every request and every note of a million runs. An interned name is
//! one pointer, is compared by its text, and is shared between threads without counting references.
//! Interned text is never freed, so this is for names that a scenario knows, not for what a run makes up.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Mutex;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::digest::{Digest, Fold};

/// A name.
#[derive(Clone, Copy, Eq)]
pub struct Name(&'static str);

impl Name {
    /// A name that is written in the source.
    #[must_use]
    pub const fn fixed(name: &'static str) -> Self {
        Self(name)
    }

    /// Its text.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        self.0
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        // A poisoned lock still holds a valid set: insertion is its last step.
        let mut names = NAMES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = names.get(name) {
            return Self(known);
        }
        let kept: &'static str = Box::leak(Box::from(name));
        names.insert(kept);
        Self(kept)
    }
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        // Names that are equal mostly lie at one place.
        std::ptr::eq(self.0, other.0) || self.0 == other.0
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        if std::ptr::eq(self.0, other.0) { Ordering::Equal } else { self.0.cmp(other.0) }
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self.0
    }
}

impl Digest for Name {
    fn digest(&self, fold: &mut Fold) {
        self.0.digest(fold);
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

#[cfg(test)]
mod tests {
    use super::Name;

    #[test]
    fn a_name_is_its_text_however_it_came_to_be() {
        let (one, other) = (Name::from("orders"), Name::from(String::from("orders")));
        assert_eq!(one, other);
        assert_eq!(one, Name::fixed("orders"));
        assert_ne!(one, Name::from("order"));
        assert!(std::ptr::eq(one.as_str(), other.as_str()));
    }
}
