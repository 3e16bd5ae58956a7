//! Conformance: the transcripts to which the model of PostgreSQL is held, asked of real servers again.
//!
//! | file | what |
//! |---|---|
//! | `transcripts` | the committed questions, asked again: the answers must be the committed ones |
//! | `real` | real servers and sessions with them, and when all are quiet |
//!
//! A server that is not installed is a skip, a visible line, and fails the gate, which runs all this; so does a
//! run without a single statement. `UPDATE_GOLDEN=1` writes the transcripts down.

#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "no sequence is drawn here")]
mod common;
#[path = "../../../../models/tests/transcripts/postgres/format.rs"]
mod format;
mod real;
mod transcripts;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fencepost_live::servers::postgres::PgServer;

fn main() -> ExitCode {
    let trials = common::transcripts(common::names(transcripts::SERVICE), transcripts::are_as_committed);
    common::conclude("postgres", PgServer::version(), trials.collect(), Counts::now)
}

/// What all trials counted together.
struct Counts {
    /// Replies that were held against the transcript's.
    replies: AtomicU64,
    /// How often somebody waited, and was told later.
    waits: AtomicU64,
    /// Differences.
    different: AtomicU64,
}

static COUNTS: Counts = Counts { replies: AtomicU64::new(0), waits: AtomicU64::new(0), different: AtomicU64::new(0) };

impl Counts {
    fn now() -> String {
        let [replies, waits, different] =
            [&COUNTS.replies, &COUNTS.waits, &COUNTS.different].map(|count| count.load(Relaxed));
        format!("{replies} replies compared, {different} differences ({waits} times somebody waited for a lock)")
    }
}

fn count(what: &AtomicU64, by: u64) {
    what.fetch_add(by, Relaxed);
}
