//! What a client's library keeps in its process: an owner value, a counter, when it first tried, and which locks
//! it is renewing.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use host::{Host, MonoTime, Purpose};
use spec::{LockName, Token};

use crate::lock::{LeaseFrom, OwnerValue, RegistryEntry};
use crate::redis::Value;

/// The library's memory. The published lock has none.
#[derive(Default)]
pub(super) struct Memory {
    own: OnceCell<Value>,
    counter: Cell<u64>,
    first_tries: RefCell<BTreeMap<LockName, MonoTime>>,
    pub(super) registry: Registry,
}

impl Memory {
    /// The owner value of the next attempt.
    pub(super) fn value<H: Host>(&self, host: &H, kind: OwnerValue) -> Value {
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

    /// When an attempt that is about to ask began to.
    pub(super) fn asked_at<H: Host>(&self, host: &H, lock: LockName, from: LeaseFrom) -> MonoTime {
        let now = host.monotonic();
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
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 40];
    for sixteen in text.chunks_mut(16) {
        let mut word = host.random(Purpose::Recipe);
        for digit in sixteen {
            *digit = DIGITS[(word & 0xF) as usize];
            word >>= 4;
        }
    }
    Value::from(&text[..])
}
