//! Servers that replicate, stepped without a kernel: the contract that real ones keep, and its edges.

use std::num::NonZeroU32;

use host::{AttemptId, NodeId, Span};
use spec::{Cause, Note};

use super::*;
use crate::domain::{Message, Nudge};
use crate::redis::reply::Refusal;
use crate::redis::{Command, Lives, Redis, RedisError, Reply, Script, Value};
use crate::rig::{Rig, ms};

mod failover;

const P: usize = 0;
const R: usize = 1;
const Q: usize = 2;

fn node(index: usize) -> NodeId {
    NodeId::new(u16::try_from(index).expect("few"))
}

fn attempt(client: u16) -> AttemptId {
    AttemptId::new(NodeId::new(client), NonZeroU32::MIN)
}

const ALONE: Replicates =
    Replicates { of: None, lag: Span::Fixed(Duration::ZERO), min_replicas: 0, max_lag: Duration::from_secs(10) };

/// A primary and so many replicas, in touch for two seconds.
struct Servers {
    rig: Rig,
    lines: Vec<usize>,
}

impl Servers {
    fn new(replicas: usize) -> Self {
        Self::with(replicas, ALONE)
    }

    fn with(replicas: usize, settings: Replicates) -> Self {
        let make = |index: usize| -> Box<dyn Fn() -> Box<dyn host::Service<Locks>>> {
            let of = (index > 0).then(|| node(P));
            Box::new(move || Box::new(Redis::replicated(Replicates { of, ..settings })))
        };
        let mut rig = Rig::new(7, (0..=replicas).map(make).collect());
        let lines = (0..=replicas).map(|index| rig.line(index)).collect();
        rig.run(2_000);
        Self { rig, lines }
    }

    fn ask(&mut self, server: usize, command: impl Into<Command>) -> Reply {
        if !self.rig.is_open(self.lines[server]) {
            self.lines[server] = self.rig.line(server);
        }
        let reply = self.rig.ask(self.lines[server], command.into()).expect("it answers at once");
        reply.try_into().expect("a reply of Redis")
    }

    /// `SET key value NX PX ms`
    fn lock(&mut self, server: usize, value: &str, px: i64) -> Reply {
        self.ask(server, Command::set_nx("L".into(), value.into(), Some(px)))
    }

    fn get(&mut self, server: usize) -> Reply {
        self.ask(server, Command::Get { key: "L".into() })
    }

    fn release(&mut self, server: usize, value: &str) -> Reply {
        self.ask(server, Script::CompareAndDelete { key: "L".into(), value: value.into() })
    }

    /// The answer to `WAIT`, and after how many ms it came.
    fn wait(&mut self, server: usize, replicas: i64, timeout: i64) -> Option<(u64, Reply)> {
        let (line, sent, before) = (self.lines[server], self.rig.ms(), self.rig.replies.len());
        self.rig.tell(line, Command::Wait { replicas, timeout });
        self.rig.run(10_000);
        let (at, _, reply) = self.rig.replies.get(before)?;
        Some((at - sent, reply.clone().try_into().expect("a reply of Redis")))
    }

    fn info(&mut self, server: usize) -> Info {
        match self.ask(server, Command::Info) {
            Reply::Info(info) => *info,
            other => panic!("{other}"),
        }
    }

    fn is_replica(&mut self, server: usize) -> bool {
        matches!(self.info(server).role, Role::Replica { .. })
    }

    fn replica_of(&mut self, server: usize, primary: Option<usize>) {
        assert_eq!(self.ask(server, Command::ReplicaOf { primary: primary.map(node) }), Reply::Ok);
    }

    /// What servers noted since, but for how far replicas are.
    fn owners(&self, since: u64) -> Vec<(usize, Note)> {
        let is_told = |note: &Note| !matches!(note, Note::Replicated { .. });
        let notes = self.rig.notes.iter().filter(|(at, _, note)| *at >= since && is_told(note));
        notes.map(|(_, node, note)| (node.index(), note.clone())).collect()
    }
}

fn bulk(text: &str) -> Reply {
    Reply::Bulk(Value::from(text))
}

fn refused(why: Refusal) -> Reply {
    Reply::Error(RedisError::Refused(why))
}

#[test]
fn what_a_command_did_is_replicated() {
    let mut servers = Servers::new(1);
    assert_eq!(servers.lock(P, "A", 30_000), Reply::Ok);
    assert_eq!(servers.get(R), bulk("A"));
    let [one, other] = [P, R].map(|server| servers.ask(server, Command::Pttl { key: "L".into() }));
    // The deadline is the same: three ms lie between the questions.
    assert!(matches!((one, other), (Reply::Int(one), Reply::Int(other)) if one - other == 3));
    assert_eq!(servers.ask(P, Command::pexpire("L".into(), 9_000)), Reply::Int(1));
    assert!(matches!(servers.ask(R, Command::Pttl { key: "L".into() }), Reply::Int(8_990..9_000)));
    assert_eq!(servers.release(P, "A"), Reply::Int(1));
    assert_eq!(servers.get(R), Reply::Nil);
    let counter = Script::LockWithToken { key: "L".into(), value: "B".into(), px: Some(5_000), counter: "n".into() };
    assert_eq!(servers.ask(P, counter), Reply::Int(1));
    assert_eq!(servers.ask(R, Command::Get { key: "n".into() }), bulk("1"));
    let hash = Script::HashLock { key: "H".into(), owner: "me".into(), px: 1_000, request: None };
    assert_eq!(servers.ask(P, hash), Reply::Nil);
    assert_eq!(servers.ask(R, Command::Hget { key: "H".into(), field: "me".into() }), bulk("1"));
}

#[test]
fn a_transaction_and_a_script_arrive_whole() {
    let mut servers = Servers::new(1);
    let before = servers.info(R).offset;
    let script = Script::LockWithToken { key: "L".into(), value: "B".into(), px: Some(5_000), counter: "n".into() };
    servers.ask(P, script);
    assert_eq!(servers.info(R).offset, before + 1);
    servers.ask(P, Command::Multi);
    servers.ask(P, Command::Incr { key: "n".into() });
    servers.ask(P, Command::Del { key: "L".into() });
    assert_eq!(servers.ask(P, Command::Exec), Reply::Array(vec![Reply::Int(2), Reply::Int(1)]));
    assert_eq!(servers.info(R).offset, before + 2);
}

#[test]
fn a_replica_refuses_to_write_and_a_script_that_would_not_does_not_mind() {
    // Item 15 of the contract.
    let mut servers = Servers::new(1);
    servers.lock(P, "A", 60_000);
    assert_eq!(servers.get(R), bulk("A"));
    assert_eq!(servers.lock(R, "B", 1_000), refused(Refusal::ReadOnly));
    assert_eq!(servers.release(R, "A"), refused(Refusal::ReadOnly));
    assert_eq!(servers.release(R, "B"), Reply::Int(0));
    assert_eq!(servers.ask(R, Command::Wait { replicas: 0, timeout: 0 }), Reply::Error(RedisError::WaitOnReplica));
    servers.ask(R, Command::Multi);
    assert_eq!(servers.ask(R, Command::Incr { key: "n".into() }), refused(Refusal::ReadOnly));
    assert_eq!(servers.ask(R, Command::Exec), Reply::Error(RedisError::Aborted));
}

#[test]
fn a_transaction_begun_by_a_primary_is_not_run_by_a_replica() {
    let mut servers = Servers::new(1);
    servers.ask(P, Command::Multi);
    servers.ask(P, Command::Incr { key: "n".into() });
    let operator = servers.rig.line(P);
    servers.rig.ask(operator, Command::ReplicaOf { primary: Some(node(R)) });
    assert_eq!(servers.ask(P, Command::Exec), Reply::Error(RedisError::AbortedFor(Refusal::ReadOnly)));
}

#[test]
fn a_replica_hides_what_is_over_on_its_own_clock_and_keeps_it() {
    let mut servers = Servers::new(1);
    servers.lock(P, "A", 20_000);
    servers.rig.step_wall(R, 25_000);
    assert_eq!(servers.get(R), Reply::Nil);
    assert_eq!(servers.ask(R, Command::Pttl { key: "L".into() }), Reply::Int(-2));
    assert_eq!(servers.ask(R, Command::Exists { key: "L".into() }), Reply::Int(0));
    servers.rig.step_wall(R, -25_000);
    assert_eq!(servers.get(R), bulk("A"));
    // Nor does it expire by itself: the primary is dead.
    servers.rig.kill(P);
    servers.rig.run(30_000);
    servers.rig.step_wall(R, -40_000);
    assert_eq!(servers.get(R), bulk("A"));
}

#[test]
fn a_key_that_expires_is_replicated_as_deleted() {
    let mut servers = Servers::new(1);
    // Its clock is behind: by itself it would keep the key.
    servers.rig.step_wall(R, -60_000);
    servers.rig.as_attempt(Some(attempt(1)));
    servers.lock(P, "A", 1_000);
    assert_eq!(servers.get(R), bulk("A"));
    servers.rig.run(1_100);
    assert_eq!(servers.get(R), Reply::Nil);
    let expired = |(node, note): &(usize, Note)| *node == R && matches!(note, Note::Owner { .. });
    assert!(!servers.owners(0).iter().any(expired), "a replica decides nothing");
}

#[test]
fn wait_waits_for_acknowledgements_of_what_this_client_wrote() {
    // Item 14.
    let mut servers = Servers::new(1);
    assert_eq!(servers.wait(P, 0, 0), Some((2, Reply::Int(1))), "nothing was written");
    servers.lock(P, "A", 60_000);
    // There and back again, and the answer.
    let (after, acked) = servers.wait(P, 1, 1_000).expect("it answers");
    assert_eq!(acked, Reply::Int(1));
    assert!(after <= 4, "it asks for the acknowledgement, {after} ms");
    assert_eq!(servers.wait(P, 2, 200), Some((202, Reply::Int(1))));
    assert_eq!(servers.wait(P, 1, -1), Some((2, Reply::Error(RedisError::NegativeTimeout))));
    assert_eq!(Servers::new(0).wait(P, 0, 0), Some((2, Reply::Int(0))));
}

#[test]
fn wait_does_not_wait_for_what_others_wrote() {
    let mut servers = Servers::with(1, Replicates { lag: Span::Fixed(ms(500)), ..ALONE });
    servers.lock(P, "A", 60_000);
    servers.rig.run(3_000);
    let other = servers.rig.line(P);
    servers.rig.ask(other, Command::Incr { key: "n".into() });
    assert_eq!(servers.wait(P, 1, 400), Some((2, Reply::Int(1))), "its own is there long since");
}

#[test]
fn a_timeout_of_wait_takes_nothing_back_and_stops_nobody_else() {
    let mut servers = Servers::new(1);
    servers.rig.cut(P, R);
    servers.lock(P, "A", 60_000);
    let (waits, other) = (servers.lines[P], servers.rig.line(P));
    servers.rig.tell(waits, Command::Wait { replicas: 1, timeout: 300 });
    // What comes behind it on its own connection waits as well; others do not.
    servers.rig.tell(waits, Command::Incr { key: "n".into() });
    servers.rig.run(100);
    let reply = servers.rig.ask(other, Command::Incr { key: "n".into() });
    assert_eq!(reply, Some(Message::from(Reply::Int(1))));
    let before = servers.rig.replies.len();
    servers.rig.run(300);
    let late: Vec<Message> = servers.rig.replies[before..].iter().map(|(_, _, reply)| reply.clone()).collect();
    assert_eq!(late, [Reply::Int(0), Reply::Int(2)].map(Message::from));
    assert_eq!(servers.get(P), bulk("A"));
}

#[test]
fn the_timeout_of_wait_is_on_the_wall_clock() {
    for (step, expected) in [(0, 1_000), (700, 300), (5_000, 50), (-2_000, 3_000)] {
        let mut servers = Servers::new(0);
        let (line, sent) = (servers.lines[P], servers.rig.ms());
        servers.rig.tell(line, Command::Wait { replicas: 1, timeout: 1_000 });
        servers.rig.run(50);
        servers.rig.step_wall(P, step);
        servers.rig.run(10_000);
        let (at, ..) = servers.rig.replies.last().expect("it answers");
        assert!((at - sent).abs_diff(expected) <= 2, "{step}: {}", at - sent);
    }
}

#[test]
fn a_step_in_a_transaction_does_not_block() {
    let mut servers = Servers::new(1);
    servers.rig.cut(P, R);
    servers.ask(P, Command::Multi);
    servers.ask(P, Command::Incr { key: "n".into() });
    servers.ask(P, Command::Wait { replicas: 1, timeout: 0 });
    assert_eq!(servers.ask(P, Command::Exec), Reply::Array(vec![Reply::Int(1), Reply::Int(1)]), "of what was before");
}

#[test]
fn too_few_good_replicas_and_the_primary_does_not_write() {
    // Item 16.
    let mut servers = Servers::with(1, Replicates { min_replicas: 2, ..ALONE });
    assert_eq!(servers.lock(P, "A", 1_000), refused(Refusal::NoReplicas));
    assert_eq!(servers.ask(P, Command::pexpire("L".into(), 10)), refused(Refusal::NoReplicas));
    assert_eq!(servers.get(P), Reply::Nil);
    assert_eq!(servers.release(P, "A"), Reply::Int(0));
    assert_eq!(Servers::with(2, Replicates { min_replicas: 2, ..ALONE }).lock(P, "A", 1_000), Reply::Ok);
}

#[test]
fn a_replica_is_good_for_as_long_as_its_last_acknowledgement_is_fresh() {
    let mut servers = Servers::with(1, Replicates { min_replicas: 1, max_lag: Duration::from_secs(3), ..ALONE });
    assert_eq!(servers.lock(P, "A", 60_000), Reply::Ok);
    assert_eq!(servers.release(P, "A"), Reply::Int(1));
    servers.rig.cut(P, R);
    let cut = servers.rig.ms();
    let refused_at = servers.rig.run_until(10_000, |rig| {
        let line = rig.line(P);
        let set = Command::Set { key: "x".into(), value: 1.into(), only: None, get: false, lives: Lives::Forever };
        rig.ask(line, set) != Some(Message::from(Reply::Ok))
    });
    // The last one came within the second before the cut. Three whole seconds and the look once a second after.
    let window = refused_at.expect("it stops writing") - cut;
    assert!((2_000..=5_100).contains(&window), "{window}");
    // It looks at its own wall clock: one that is set back hides the lag.
    servers.rig.step_wall(P, -60_000);
    servers.rig.run(1_100);
    assert_eq!(servers.lock(P, "A", 1_000), Reply::Ok);
}

#[test]
fn a_lag_keeps_the_stream_in_the_primary_in_order() {
    let mut servers = Servers::with(1, Replicates { lag: Span::Uniform { from: ms(0), to: ms(400) }, ..ALONE });
    for value in 1..=20 {
        servers.ask(
            P,
            Command::Set { key: "x".into(), value: value.into(), only: None, get: false, lives: Lives::Forever },
        );
        servers.rig.run(20);
    }
    servers.rig.run(500);
    assert_eq!(servers.ask(R, Command::Get { key: "x".into() }), bulk("20"));
    let mut servers = Servers::with(1, Replicates { lag: Span::Fixed(ms(200)), ..ALONE });
    servers.lock(P, "A", 60_000);
    servers.rig.run(190);
    assert_eq!(servers.get(R), Reply::Nil);
    servers.rig.run(10);
    assert_eq!(servers.get(R), bulk("A"));
    // What waits there dies with it; what has left does not.
    servers.release(P, "A");
    servers.rig.run(100);
    servers.rig.kill(P);
    servers.rig.run(1_000);
    assert_eq!(servers.get(R), bulk("A"));
}

#[test]
fn the_history_is_told_how_far_a_replica_is() {
    let mut servers = Servers::with(1, Replicates { lag: Span::Fixed(ms(100)), ..ALONE });
    servers.rig.as_attempt(Some(attempt(1)));
    servers.lock(P, "A", 60_000);
    servers.ask(P, Command::pexpire("L".into(), 9_000));
    servers.ask(P, Command::Incr { key: "n".into() });
    servers.rig.run(200);
    let told: Vec<_> = servers.rig.notes.iter().map(|(_, node, note)| (node.index(), note.clone())).collect();
    let owner = Note::Owner {
        authority: node(P),
        key: "L".into(),
        attempt: Some(attempt(1)),
        cause: Cause::Request(Some(attempt(1))),
    };
    let extended = Note::Extended { authority: node(P), key: "L".into(), attempt: attempt(1), by: Some(attempt(1)) };
    let has = |notes| (R, Note::Replicated { authority: node(R), primary: node(P), notes });
    assert_eq!(told, [(P, owner), (P, extended), has(1), has(2)]);
}

#[test]
fn evicting_is_the_primary_s() {
    let mut servers = Servers::new(1);
    servers.lock(P, "A", 60_000);
    servers.rig.nudge(P, Nudge::Evict("L".into()));
    assert_eq!(servers.get(R), Reply::Nil);
}
