//! Conformance: the model of ZooKeeper held against real servers.
//!
//! | file | what |
//! |---|---|
//! | `transcripts` | the committed questions, asked again: the answers must be the committed ones |
//! | `random` | random requests of several clients, to the model and to one server or three: every reply and event equal |
//! | `sequence` | what such a sequence is made of |
//! | `times` | how long sessions live, when a leader dies or stands still, a server starts again, a clock is set |
//! | `connection` | the connection over which the models' own clients speak to real servers |
//! | `recipes` | the recipes themselves, on a real ensemble whose leader dies |
//! | `model` | the model's servers, stepped without a kernel, and clients that ask them |
//!
//! A server that is not installed is a skip, a visible line, and fails the gate, which runs all this; so does a
//! run without a single request. `UPDATE_GOLDEN=1` writes the transcripts down.

#[path = "../common/mod.rs"]
mod common;
mod connection;
#[path = "../../../../models/tests/transcripts/zookeeper/format.rs"]
mod format;
#[path = "../../../../models/tests/transcripts/zookeeper/model.rs"]
#[expect(dead_code, reason = "no time passes here")]
mod model;
mod random;
mod recipes;
#[path = "../../../../models/src/rig.rs"]
#[expect(dead_code, reason = "the models' own tests need more of it")]
mod rig;
mod sequence;
mod times;
mod transcripts;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fencepost_live::servers::zookeeper::ZkEnsemble;
use models::domain;

fn main() -> ExitCode {
    let trials = common::transcripts(common::names(transcripts::SERVICE), transcripts::are_as_committed);
    let trials = trials.chain(common::named(
        random::TRIALS.into_iter().chain(times::TRIALS).chain(connection::TRIALS).chain(recipes::TRIALS),
    ));
    common::conclude("zookeeper", ZkEnsemble::version(), trials.collect(), Counts::now)
}

/// What all trials counted together.
struct Counts {
    /// Replies that were held against the model's, or the transcript's.
    replies: AtomicU64,
    /// To random requests.
    random: AtomicU64,
    /// Events of watches.
    events: AtomicU64,
    /// Sessions that ended by themselves, within their window.
    ended: AtomicU64,
    /// How often a server never answered, and all began anew.
    unanswered: AtomicU64,
    /// Differences.
    different: AtomicU64,
}

static COUNTS: Counts = Counts {
    replies: AtomicU64::new(0),
    random: AtomicU64::new(0),
    events: AtomicU64::new(0),
    ended: AtomicU64::new(0),
    unanswered: AtomicU64::new(0),
    different: AtomicU64::new(0),
};

impl Counts {
    fn now() -> String {
        let [replies, random, events, ended, unanswered, different] =
            [&COUNTS.replies, &COUNTS.random, &COUNTS.events, &COUNTS.ended, &COUNTS.unanswered, &COUNTS.different]
                .map(|count| count.load(Relaxed));
        format!(
            "{replies} replies compared, {random} of them to random requests, {events} events, {different} differences \
             ({ended} sessions ended by themselves, each in its time; {unanswered} times a server never answered, and all began anew)"
        )
    }
}

fn count(what: &AtomicU64, by: u64) {
    what.fetch_add(by, Relaxed);
}
