//! What a client's library keeps in its process: an owner value, a counter, when it first tried, and which locks
//! it is renewing.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use host::{Host, MonoTime, Purpose};
use spec::{LockName, Token};

use super::local::LocalLayer;
use crate::lock::{LeaseFrom, OwnerValue, RegistryEntry};
use crate::redis::Value;

/// The library's memory. The published lock has none.
#[derive(Default)]
pub(in crate::redis) struct Memory {
    own: OnceCell<Value>,
    counter: Cell<u64>,
    first_tries: RefCell<BTreeMap<LockName, MonoTime>>,
    pub(super) registry: Registry,
    pub(super) local: LocalLayer,
}

impl Memory {
    /// The owner value of the next attempt.
    pub(in crate::redis) fn value<H: Host>(&self, host: &H, kind: OwnerValue) -> Value {
        match kind {
            OwnerValue::PerAttempt => fresh(host),
            OwnerValue::PerClient => self.own.get_or_init(|| fresh(host)).clone(),
            OwnerValue::Constant => Value::from(1),
        }
    }

    /// The next number of this client's own counter.
    pub(super) fn count(&self) -> Token {
        self.counter.update(|count| count + 1);
        Token(self.counter.get())
    }

    /// When an attempt that is about to ask, `now`, began to.
    pub(super) fn asked_at(&self, now: MonoTime, lock: LockName, from: LeaseFrom) -> MonoTime {
        match from {
            LeaseFrom::Request | LeaseFrom::Reply => now,
            LeaseFrom::FirstTry => *self.first_tries.borrow_mut().entry(lock).or_insert(now),
        }
    }

    /// The tries for that lock are over.
    pub(super) fn granted(&self, lock: LockName) {
        self.first_tries.borrow_mut().remove(&lock);
    }
}

/// The locks that are being renewed, as the library believes.
#[derive(Default)]
pub(super) struct Registry(RefCell<BTreeSet<LockName>>);

impl Registry {
    /// Whether a renewal of that lock is to begin: it is not if there is one already.
    pub(super) fn begin(&self, lock: LockName, entry: RegistryEntry) -> bool {
        match entry {
            // What goes when the renewal ends is never in the way of the next one.
            RegistryEntry::Cleared => true,
            RegistryEntry::Stays => self.0.borrow_mut().insert(lock),
        }
    }

    /// The lock was given back.
    pub(super) fn released(&self, lock: LockName) {
        self.0.borrow_mut().remove(&lock);
    }
}

/// Twenty random bytes, in hexadecimal.
fn fresh<H: Host>(host: &H) -> Value {
    let mut text = [0; 40];
    let (eights, _) = text.as_chunks_mut();
    for sixteen in eights.chunks_mut(2) {
        let mut word = host.random(Purpose::Recipe);
        for eight in sixteen {
            *eight = hexadecimal(word as u32);
            word >>= 32;
        }
    }
    Value::from(&text[..])
}

/// Its eight digits, the lowest first: all at once, since every attempt of every client needs forty.
const fn hexadecimal(word: u32) -> [u8; 8] {
    let word = word as u64;
    let word = (word | word << 16) & 0x0000_FFFF_0000_FFFF;
    let word = (word | word << 8) & 0x00FF_00FF_00FF_00FF;
    let digits = (word | word << 4) & 0x0F0F_0F0F_0F0F_0F0F;
    // 1 in each byte whose digit is a letter.
    let letters = ((digits + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101;
    (digits + 0x3030_3030_3030_3030 + letters * (b'a' - b'0' - 10) as u64).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::hexadecimal;

    #[test]
    fn digits_are_those_of_the_number_the_lowest_first() {
        for word in [0, 0x0123_4567, 0x89AB_CDEF, u32::MAX, 0xA0F9_50E1] {
            let mut text = format!("{word:08x}").into_bytes();
            text.reverse();
            assert_eq!(hexadecimal(word)[..], text);
        }
    }
}
