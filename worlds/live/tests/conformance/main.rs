//! Conformance: the model of Redis held against a real redis-server.
//!
//! | file | what |
//! |---|---|
//! | `transcripts` | the committed questions, asked again: the answers must be the committed ones |
//! | `random` | random commands on several connections, to the model and to the server: every reply equal |
//! | `sequence` | what such a sequence is made of |
//! | `belief` | what the server may have been, given when it was asked and what it answered |
//! | `processes` | what needs signals: a server that stands still, one that is killed |
//! | `replicas` | a primary and a replica |
//! | `sentinels` | three Sentinels that watch them: what takes how long |
//! | `redlock` | Redlock on five servers: what is contracted of it |
//!
//! A server that is not installed is a skip, a visible line, and fails the gate, which runs all this; so does a
//! run without a single command. `UPDATE_GOLDEN=1` writes the transcripts down.

mod belief;
#[path = "../common/mod.rs"]
mod common;
#[path = "../../../../models/tests/transcripts/format.rs"]
mod format;
#[path = "../../../../models/tests/transcripts/model.rs"]
mod model;
mod processes;
mod random;
mod redlock;
mod replicas;
mod sentinels;
mod sequence;
mod transcripts;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fencepost_live::servers::redis::RedisServer;

fn main() -> ExitCode {
    let trials = random::TRIALS
        .into_iter()
        .chain(processes::TRIALS)
        .chain(replicas::TRIALS)
        .chain(sentinels::TRIALS)
        .chain(redlock::TRIALS);
    let all = common::transcripts(transcripts::names(), transcripts::are_as_committed);
    common::conclude("redis", RedisServer::version(), all.chain(common::named(trials)).collect(), Counts::now)
}

/// What all trials counted together.
struct Counts {
    /// Replies that were held against the model's, or the transcript's.
    replies: AtomicU64,
    /// Of random commands.
    random: AtomicU64,
    /// Replies that hung on the instant at which the server had looked at its clock.
    followed: AtomicU64,
    /// How often a sequence went on from an empty server, since several readings of the clock could not be told apart.
    cut: AtomicU64,
    /// Differences.
    different: AtomicU64,
}

static COUNTS: Counts = Counts {
    replies: AtomicU64::new(0),
    random: AtomicU64::new(0),
    followed: AtomicU64::new(0),
    cut: AtomicU64::new(0),
    different: AtomicU64::new(0),
};

impl Counts {
    fn now() -> String {
        let [replies, random, followed, cut, different] =
            [&COUNTS.replies, &COUNTS.random, &COUNTS.followed, &COUNTS.cut, &COUNTS.different]
                .map(|count| count.load(Relaxed));
        format!(
            "{replies} replies compared, {random} of them of random commands, {different} differences \
             ({followed} hung on the ms, the server was followed; {cut} times begun anew)"
        )
    }
}

fn count(what: &AtomicU64, by: u64) {
    what.fetch_add(by, Relaxed);
}
