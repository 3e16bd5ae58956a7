//! Whether any two stretches of time overlap, and for how long: one sweep.
//!
//! Stretches are taken in the order in which they begin. The longest overlap of a stretch with those of its lock
//! that began before it is the one with whichever of them ends last, so the sweep need
//! remember only that one. If it is of the stretch's own party, nothing is missed: an earlier stretch
//! of another party that still lasts has overlapped it before, and for at least as long.
//!
//! Overlaps of a pair are not added up: what is measured is the longest stretch, not the sum.

use host::{Duration, SimTime};

use crate::windows::Stretch;

/// What a sweep has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Overlap {
    /// The first instant of any overlap.
    pub(crate) at: SimTime,
    /// The two that overlap then, the one that began earlier first.
    pub(crate) pair: [Stretch; 2],
    /// The longest overlap of any two.
    pub(crate) longest: Duration,
}

/// Looks for overlaps of stretches of one lock and different parties. They come in the order in which they begin,
/// of so many locks.
pub(crate) fn sweep<'s, P: Eq>(
    stretches: impl IntoIterator<Item = &'s Stretch>,
    locks: usize,
    party: impl Fn(&Stretch) -> P,
) -> Option<Overlap> {
    let mut found: Option<Overlap> = None;
    let mut last_to_end: Vec<Option<&Stretch>> = vec![None; locks];
    for stretch in stretches.into_iter().filter(|stretch| stretch.is_some()) {
        let last_to_end = &mut last_to_end[stretch.lock.index()];
        if let Some(earlier) = last_to_end
            && earlier.to > stretch.from
            && party(earlier) != party(stretch)
        {
            let length = earlier.to.min(stretch.to).since(stretch.from);
            let overlap = Overlap { at: stretch.from, pair: [**earlier, *stretch], longest: length };
            found = Some(found.map_or(overlap, |found| merge(found, overlap)));
        }
        if last_to_end.is_none_or(|earlier| earlier.to < stretch.to) {
            *last_to_end = Some(stretch);
        }
    }
    found
}

/// The earlier of two overlaps, with the longer length. Of two that begin at once, that of the first lock.
fn merge(a: Overlap, b: Overlap) -> Overlap {
    let longest = a.longest.max(b.longest);
    let beginning = |overlap: &Overlap| (overlap.at, overlap.pair[0].lock);
    if beginning(&b) < beginning(&a) { Overlap { longest, ..b } } else { Overlap { longest, ..a } }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngAlgorithm, RngSeed};

    use super::*;
    use crate::grants::Grants;
    use crate::testing::{Story, ms};

    /// Stretches with their parties, from (lock, party, beginning, length).
    fn stretches(drawn: &[(usize, usize, u64, u64)]) -> Vec<(Stretch, usize)> {
        // A claim for each of two locks, to take ids from.
        let mut story = Story::new();
        story.at(0).client(1).asks("orders");
        story.client(2).asks("parcels");
        let grants = Grants::of(&story.history, 1);
        let ids: Vec<_> = grants.claims().map(|(id, claim)| (id, claim.lock)).collect();
        let build = |(entry, (lock, party, from, length)): (usize, &(usize, usize, u64, u64))| {
            let (claim, lock) = ids[*lock];
            (Stretch { lock, from: ms(*from), to: ms(from + length), claim, entry }, *party)
        };
        drawn.iter().enumerate().map(build).collect()
    }

    /// The first instant and the greatest length of any overlap, by looking at every pair.
    fn by_pairs(stretches: &[(Stretch, usize)]) -> Option<(SimTime, Duration)> {
        let mut found = None;
        for (i, (a, a_party)) in stretches.iter().enumerate() {
            for (b, b_party) in &stretches[..i] {
                let (from, to) = (a.from.max(b.from), a.to.min(b.to));
                if a.lock == b.lock && a_party != b_party && from < to {
                    let (at, longest) = found.unwrap_or((from, Duration::ZERO));
                    found = Some((from.min(at), to.since(from).max(longest)));
                }
            }
        }
        found
    }

    fn by_sweep(stretches: &[(Stretch, usize)]) -> Option<Overlap> {
        let mut sorted: Vec<_> = stretches.iter().map(|(stretch, _)| *stretch).collect();
        sorted.sort_by_key(|stretch| stretch.from);
        sweep(&sorted, 2, |stretch| stretches[stretch.entry].1)
    }

    fn config() -> Config {
        Config {
            cases: 2_000,
            failure_persistence: None,
            rng_algorithm: RngAlgorithm::ChaCha,
            rng_seed: RngSeed::Fixed(7),
            ..Config::default()
        }
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn the_sweep_finds_what_looking_at_every_pair_finds(
            drawn in prop::collection::vec((0_usize..2, 0_usize..4, 0_u64..40, 0_u64..12), 0..24),
        ) {
            let stretches = stretches(&drawn);
            let swept = by_sweep(&stretches);
            prop_assert_eq!(swept.map(|overlap| (overlap.at, overlap.longest)), by_pairs(&stretches));
            if let Some(Overlap { at, pair: [a, b], .. }) = swept {
                prop_assert!(a.from <= b.from && b.from == at && at < a.to && at < b.to && a.lock == b.lock);
                prop_assert_ne!(stretches[a.entry].1, stretches[b.entry].1);
            }
        }
    }

    #[test]
    fn another_party_behind_ones_own_is_not_missed() {
        // The second is the last to end, and of the third's own party; the first still lasts.
        let stretches = stretches(&[(0, 0, 0, 20), (0, 1, 5, 30), (0, 1, 10, 5)]);
        let found = by_sweep(&stretches).expect("they overlap");
        assert_eq!((found.at, found.longest), (ms(5), Duration::from_millis(15)));
    }
}
