//! In which order servers are tried: `StaticHostProvider` of ZooKeeper 3.8.0.

/// The servers, in an order that is drawn.
pub(super) struct Hosts {
    order: Vec<usize>,
    /// Which one is tried now. `None`: none was yet.
    current: Option<usize>,
    /// With which one a round ends: the one that there was a session on last.
    last: Option<usize>,
}

impl Hosts {
    /// So many servers.
    pub(super) fn shuffled(count: usize, mut draw: impl FnMut() -> u64) -> Self {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            let other = draw() % (last as u64 + 1);
            order.swap(last, usize::try_from(other).expect("less than the count"));
        }
        Self { order, current: None, last: None }
    }

    /// The next server, and whether all were tried: then the library waits before it tries it.
    pub(super) fn next(&mut self) -> (usize, bool) {
        let current = self.current.map_or(0, |current| (current + 1) % self.order.len());
        let is_round = self.last == Some(current);
        // The first attempt of all ends no round.
        self.last.get_or_insert(0);
        self.current = Some(current);
        (self.order[current], is_round)
    }

    /// There is a session on it.
    pub(super) const fn connected(&mut self) {
        self.last = self.current;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_ends_with_the_server_that_it_was_on() {
        let mut hosts = Hosts::shuffled(3, || 0);
        let order = hosts.order.clone();
        let mut next = || {
            let (server, is_round) = hosts.next();
            (order.iter().position(|other| *other == server).expect("one of them"), is_round)
        };
        assert_eq!([next(), next(), next(), next()], [(0, false), (1, false), (2, false), (0, true)]);
        let _ = next();
        hosts.connected();
        let mut next = || hosts.next().1;
        assert_eq!([next(), next(), next(), next()], [false, false, true, false]);
    }

    #[test]
    fn one_server_is_a_round_by_itself() {
        let mut hosts = Hosts::shuffled(1, || 0);
        assert_eq!([hosts.next(), hosts.next()], [(0, false), (0, true)]);
    }
}
