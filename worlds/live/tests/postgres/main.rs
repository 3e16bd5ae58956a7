//! Conformance: the model of PostgreSQL held against real servers.
//!
//! | file | what |
//! |---|---|
//! | `transcripts` | the committed questions, asked again: the answers must be the committed ones |
//! | `random` | random statements of several sessions, to the model and to a real server: every reply equal, and who waits |
//! | `sequence` | what such a sequence is made of |
//! | `real` | real servers and sessions with them, and when all are quiet |
//! | `model` | the model's servers, stepped without a kernel, and sessions with them |
//!
//! A server that is not installed is a skip, a visible line, and fails the gate, which runs all this; so does a
//! run without a single statement. `UPDATE_GOLDEN=1` writes the transcripts down.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../../models/tests/transcripts/postgres/format.rs"]
mod format;
#[path = "../../../../models/tests/transcripts/postgres/model.rs"]
mod model;
mod random;
mod real;
#[path = "../../../../models/src/rig.rs"]
#[expect(dead_code, reason = "the models' own tests need more of it")]
mod rig;
mod sequence;
mod transcripts;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fencepost_live::servers::postgres::PgServer;
use models::domain;

fn main() -> ExitCode {
    let trials = common::transcripts(common::names(transcripts::SERVICE), transcripts::are_as_committed);
    let trials = trials.chain(common::named(random::TRIALS));
    common::conclude("postgres", PgServer::version(), trials.collect(), Counts::now)
}

/// What all trials counted together.
struct Counts {
    /// Replies that were held against the model's, or the transcript's.
    replies: AtomicU64,
    /// To random statements.
    random: AtomicU64,
    /// How often somebody waited, and was told later.
    waits: AtomicU64,
    /// Differences.
    different: AtomicU64,
}

static COUNTS: Counts = Counts {
    replies: AtomicU64::new(0),
    random: AtomicU64::new(0),
    waits: AtomicU64::new(0),
    different: AtomicU64::new(0),
};

impl Counts {
    fn now() -> String {
        let [replies, random, waits, different] =
            [&COUNTS.replies, &COUNTS.random, &COUNTS.waits, &COUNTS.different].map(|count| count.load(Relaxed));
        format!(
            "{replies} replies compared, {random} of them to random statements, {different} differences ({waits} times \
             somebody waited for a lock)"
        )
    }
}

fn count(what: &AtomicU64, by: u64) {
    what.fetch_add(by, Relaxed);
}
