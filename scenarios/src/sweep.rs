//! A cell over many seeds.
//!
//! Runs are independent, so they are played in parallel; their results are taken in the order of the
//! seeds, so that a sweep is the same on any number of threads. What is kept of a run is a few numbers:
//! the memory of a sweep does not grow with the number of seeds.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use host::Fold;
use rayon::prelude::*;

use crate::cell::Cell;
use crate::contender::Contender;
use crate::run::{Player, Run};
use crate::tally::{Kept, Tally};

/// What somebody who waits may look at, and stop.
#[derive(Debug, Default)]
pub struct Progress {
    runs: AtomicU64,
    stop: AtomicBool,
}

impl Progress {
    /// How many runs have ended.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    /// Asks the sweep to stop: the cell that is being played is given up, finished ones are kept.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the sweep was asked to stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Plays a cell with these seeds. `None`: it was stopped.
///
/// Runs in the thread pool that it is called in.
#[must_use]
pub fn sweep(cell: &Cell, contender: &Contender, seeds: Range<u64>, progress: &Progress) -> Option<Tally> {
    let mut tally = Tally::new(cell, seeds.end - seeds.start);
    let mut hash = Fold::new(0);
    let mut from = seeds.start;
    while from < seeds.end {
        let to = seeds.end.min(from.saturating_add(BATCH));
        // Counted from 0, since rayon keeps the order of such a range only for `usize`.
        let batch = usize::try_from(to - from).expect("a batch is small");
        let runs: Vec<Option<Kept>> = (0..batch)
            .into_par_iter()
            .with_min_len(MIN_SHARE)
            .map_init(
                || Player::new(cell, contender),
                |player, offset| {
                    let seed = from + offset as u64;
                    if progress.is_stopped() {
                        return None;
                    }
                    let run = Kept::of(cell, &player.play(seed));
                    progress.runs.fetch_add(1, Ordering::Relaxed);
                    Some(run)
                },
            )
            .collect();
        for (seed, run) in (from..to).zip(runs) {
            let run = run?;
            hash.word(run.hash);
            tally.add(cell, seed, &run);
        }
        from = to;
    }
    tally.hash = hash.value();
    tally.compare(cell);
    Some(tally)
}

/// What the runs of these seeds add up to, one after the other, whoever plays them.
#[must_use]
pub fn tally(cell: &Cell, seeds: Range<u64>, mut play: impl FnMut(u64) -> Run) -> Tally {
    let mut tally = Tally::new(cell, seeds.end - seeds.start);
    let mut hash = Fold::new(0);
    for seed in seeds {
        let run = Kept::of(cell, &play(seed));
        hash.word(run.hash);
        tally.add(cell, seed, &run);
    }
    tally.hash = hash.value();
    tally.compare(cell);
    tally
}

/// How many runs are in memory at once.
const BATCH: u64 = 4_096;
/// How many runs one thread takes at a time: a run is short, and a share costs more than some.
const MIN_SHARE: usize = 16;
