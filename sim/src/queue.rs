//! The event queue: by time, equal times in the order of insertion.
//!
//! One exception: what waited for a process goes *ahead* of all else at the instant at which it need not
//! wait any more. It came first; and a reply that was in the socket must beat a timer due at that instant.
//!
//! A sorted vector, the next event at its end: a run has some ten pending events, and at that size a
//! vector beats a heap.

use host::SimTime;

/// Where an event stands in the queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    at: SimTime,
    sequence: u64,
}

/// Events by time, equal times in the order of insertion.
#[derive(Debug)]
pub(crate) struct Queue<E> {
    /// In descending order of their keys.
    items: Vec<(Key, E)>,
    next_ahead: u64,
    next_sequence: u64,
}

impl<E: Copy> Queue<E> {
    pub(crate) fn new() -> Self {
        Self { items: Vec::with_capacity(32), next_ahead: 0, next_sequence: FIRST_SEQUENCE }
    }

    /// Back to the beginning: nothing is to come.
    pub(crate) fn reset(&mut self) {
        let Self { items, next_ahead, next_sequence } = self;
        items.clear();
        (*next_ahead, *next_sequence) = (0, FIRST_SEQUENCE);
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, at: SimTime, event: E) -> Key {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let key = Key { at, sequence };
        if self.next_at().is_none_or(|next| next > at) {
            self.items.push((key, event));
            return key;
        }
        // Whatever else is there for that time was pushed before.
        self.insert(key, event, |other| other.at <= at)
    }

    /// As `push`, but before all that was pushed for the same time, and behind all that was pushed
    /// ahead for it.
    pub(crate) fn push_ahead(&mut self, at: SimTime, event: E) -> Key {
        let sequence = self.next_ahead;
        self.next_ahead += 1;
        let key = Key { at, sequence };
        self.insert(key, event, |other| *other < key)
    }

    /// Takes an event out before its time. Nothing happens if it is no longer there.
    pub(crate) fn remove(&mut self, key: Key) {
        // From the near end: what is given up is mostly a call's timeout, behind which stand faults, leases and sleeps.
        if let Some(place) = self.items.iter().rposition(|(other, _)| *other == key) {
            self.items.remove(place);
        }
    }

    fn next_at(&self) -> Option<SimTime> {
        self.items.last().map(|(key, _)| key.at)
    }

    pub(crate) fn pop(&mut self) -> Option<(SimTime, E)> {
        self.items.pop().map(|(key, event)| (key.at, event))
    }

    #[inline(never)]
    fn insert(&mut self, key: Key, event: E, comes_first: impl Fn(&Key) -> bool) -> Key {
        let sooner = self.items.iter().rev().take_while(|(other, _)| comes_first(other)).count();
        self.items.insert(self.items.len() - sooner, (key, event));
        key
    }
}

impl Key {
    /// When the event comes.
    pub(crate) const fn at(self) -> SimTime {
        self.at
    }
}

/// What is pushed ahead has lower ones.
const FIRST_SEQUENCE: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> SimTime {
        SimTime::from_nanos(nanos)
    }

    #[test]
    fn equal_times_keep_the_order_of_insertion() {
        let mut queue = Queue::new();
        for (time, name) in [(5, 'c'), (1, 'a'), (5, 'd'), (1, 'b'), (9, 'e')] {
            queue.push(at(time), name);
        }
        let order: String = std::iter::from_fn(|| queue.pop()).map(|(_, name)| name).collect();
        assert_eq!(order, "abcde");
    }

    #[test]
    fn what_is_pushed_ahead_comes_before_all_else_of_its_time_and_keeps_its_order() {
        let mut queue = Queue::new();
        for (time, name, ahead) in [(5, 'd', false), (5, 'b', true), (4, 'a', false), (5, 'c', true), (5, 'e', false)] {
            if ahead {
                queue.push_ahead(at(time), name)
            } else {
                queue.push(at(time), name)
            };
        }
        let order: String = std::iter::from_fn(|| queue.pop()).map(|(_, name)| name).collect();
        assert_eq!(order, "abcde");
    }

    #[test]
    fn a_removed_event_never_comes() {
        let mut queue = Queue::new();
        queue.push(at(1), 'a');
        let key = queue.push(at(1), 'b');
        queue.push(at(1), 'c');
        queue.remove(key);
        queue.remove(key);
        let order: String = std::iter::from_fn(|| queue.pop()).map(|(_, name)| name).collect();
        assert_eq!(order, "ac");
    }
}
