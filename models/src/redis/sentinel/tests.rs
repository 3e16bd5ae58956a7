//! Three Sentinels, a primary and two replicas, stepped without a kernel.
//!
//! When things happen must follow from the timers: the windows below are argued from them, and a real trio of Sentinels
//! lies in them.

use std::collections::BTreeSet;

use host::{Duration, Service, Span};
use spec::Note;

use super::*;
use crate::redis::replication::Replicates;
use crate::redis::{Command, Redis, Reply};
use crate::rig::{Rig, ms};

const P: usize = 0;
const R: usize = 1;
const Q: usize = 2;
const S: [usize; 3] = [3, 4, 5];
const DOWN_AFTER: u64 = 2_000;

fn node(index: usize) -> NodeId {
    NodeId::new(u16::try_from(index).expect("few"))
}

fn name() -> Name {
    "mymaster".into()
}

struct Trio {
    rig: Rig,
    lines: Vec<usize>,
}

impl Trio {
    /// In touch for 20 s: everybody has found everybody.
    fn new(seed: u64) -> Self {
        Self::with(seed, Duration::from_secs(180))
    }

    fn with(seed: u64, failover_timeout: Duration) -> Self {
        let redis = |index: usize| -> Box<dyn Fn() -> Box<dyn Service<Locks>>> {
            let of = (index > 0).then(|| node(P));
            let settings =
                Replicates { of, lag: Span::Fixed(Duration::ZERO), min_replicas: 0, max_lag: Duration::from_secs(10) };
            Box::new(move || Box::new(Redis::replicated(settings)))
        };
        let sentinel = |_| -> Box<dyn Fn() -> Box<dyn Service<Locks>>> {
            let settings = Watches {
                name: name(),
                primary: node(P),
                sentinels: S.map(node).to_vec(),
                quorum: 2,
                down_after: ms(DOWN_AFTER),
                failover_timeout,
                parallel_syncs: 1,
            };
            Box::new(move || Box::new(Sentinel::new(settings.clone())))
        };
        let services = (0..3).map(redis).chain((0..3).map(sentinel)).collect();
        let mut rig = Rig::new(seed, services);
        let lines = (0..6).map(|index| rig.line(index)).collect();
        rig.run(20_000);
        Self { rig, lines }
    }

    fn ask(&mut self, sentinel: usize, ask: Ask) -> Answer {
        match self.rig.ask(self.lines[sentinel], ask) {
            Some(Message::Answer(answer)) => answer,
            other => panic!("{other:?}"),
        }
    }

    fn primary_of(&mut self, sentinel: usize) -> usize {
        match self.ask(sentinel, Ask::MasterAddr { name: name() }) {
            Answer::Addr(Some(primary)) => primary.index(),
            other => panic!("{other}"),
        }
    }

    /// Whether a server takes itself for the primary.
    fn is_primary(&mut self, server: usize) -> bool {
        let line = self.rig.line(server);
        match self.rig.ask(line, Command::Role) {
            Some(Message::RedisReply(Reply::Array(parts))) => parts[0] == Reply::Bulk("master".into()),
            other => panic!("{other:?}"),
        }
    }

    /// When each was promoted, in order.
    fn promoted(&self) -> Vec<(u64, usize)> {
        let is_promotion = |note: &Note| matches!(note, Note::Promoted { .. });
        let promotions = self.rig.notes.iter().filter(|(.., note)| is_promotion(note));
        promotions.map(|(at, node, _)| (*at, node.index())).collect()
    }

    /// How long after `since` all Sentinels name another primary than the first.
    fn all_switched(&mut self, since: u64, most: u64) -> Option<u64> {
        for _ in 0..most / 50 {
            if S.iter().all(|sentinel| self.primary_of(*sentinel) != P) {
                return Some(self.rig.ms() - since);
            }
            self.rig.run(40);
        }
        None
    }
}

#[test]
fn who_asks_is_told_where_the_primary_is() {
    // Item 21 of the contract.
    let mut trio = Trio::new(1);
    assert_eq!(S.map(|sentinel| trio.primary_of(sentinel)), [P; 3]);
    assert_eq!(trio.ask(S[0], Ask::MasterAddr { name: "other".into() }), Answer::Addr(None));
    let answer = trio.ask(S[0], Ask::CheckQuorum { name: name() });
    assert_eq!(answer.to_string(), "+OK 3 usable Sentinels. Quorum and failover authorization can be reached");
    for sentinel in &S[1..] {
        trio.rig.kill(*sentinel);
    }
    trio.rig.run(5_000);
    assert_eq!(
        trio.ask(S[0], Ask::CheckQuorum { name: name() }).to_string(),
        "-NOQUORUM 1 usable Sentinels. Not enough available Sentinels to reach the specified quorum for this master. \
         Not enough available Sentinels to reach the majority and authorize a failover"
    );
}

#[test]
fn a_primary_that_stands_still_is_replaced_after_down_after_and_a_little() {
    let (mut promotions, mut switches) = (Vec::new(), Vec::new());
    for seed in 0..40 {
        let mut trio = Trio::new(seed);
        trio.rig.run(seed * 37 % 1_000);
        let since = trio.rig.ms();
        trio.rig.pause(P);
        switches.push(trio.all_switched(since, 20_000).expect("they switch"));
        assert_eq!(trio.promoted().len(), 1);
        promotions.push(trio.promoted()[0].0 - since);
    }
    // A ping goes out once a second, at the next tick: the first without an answer up to 1.1 s after the pause. Two
    // Sentinels must have found it down for `down-after`, at ticks of up to 100 ms; they ask each other, one is
    // elected, one selects, one sends: a tick each, and one more for the hello. The election may be split and then takes ten seconds and more.
    let quick = promotions.iter().filter(|after| (2_000..=3_700).contains(*after)).count();
    assert!(quick >= 36, "{promotions:?}");
    // `INFO` once a second tells that it was promoted.
    let quick = switches.iter().filter(|after| (2_000..=5_000).contains(*after)).count();
    assert!(quick >= 36, "{switches:?}");
    let (least, most) = (promotions.iter().min().expect("many"), promotions.iter().max().expect("many"));
    assert!(*least < 2_700 && *most > 3_000, "it is not always the same: {promotions:?}");
}

#[test]
fn a_primary_that_is_back_is_a_second_one_for_8_to_18_seconds() {
    let mut windows = Vec::new();
    for seed in 0..20 {
        let mut trio = Trio::new(seed);
        trio.rig.pause(P);
        trio.rig.run(30_000 + seed * 450);
        let since = trio.rig.ms();
        trio.rig.resume(P);
        assert!(trio.is_primary(P) && trio.promoted().len() == 1);
        let mut demoted = None;
        for _ in 0..400 {
            demoted = trio.rig.notes.iter().find(|(.., note)| matches!(note, Note::Demoted { .. })).map(|(at, ..)| *at);
            if demoted.is_some() {
                break;
            }
            trio.rig.run(50);
        }
        windows.push(demoted.expect("it is demoted") - since);
        trio.rig.run(10_000);
        assert!(!trio.is_primary(P));
    }
    // It is believed to be a primary after more than 8 s of saying so, as `INFO` tells every 10 s: the first may be
    // as late as 10 s after it is back if a connection has just been opened.
    assert!(windows.iter().all(|window| (8_000..=18_500).contains(window)), "{windows:?}");
}

#[test]
fn a_primary_that_dies_is_replaced_and_the_other_replica_follows() {
    let mut trio = Trio::new(3);
    let line = trio.rig.line(P);
    trio.rig.ask(line, Command::set_nx("L".into(), "A".into(), None));
    trio.rig.kill(P);
    trio.rig.run(10_000);
    let [(_, new)] = trio.promoted()[..] else { panic!("one promotion") };
    assert_eq!(S.map(|sentinel| trio.primary_of(sentinel)), [new; 3]);
    let other = R + Q - new;
    assert!(trio.is_primary(new) && !trio.is_primary(other));
    let (line, other) = (trio.rig.line(new), trio.rig.line(other));
    trio.rig.ask(line, Command::set_nx("M".into(), "B".into(), None));
    for key in ["L", "M"] {
        let there = trio.rig.ask(other, Command::Exists { key: key.into() });
        assert_eq!(there, Some(Message::from(Reply::Int(1))), "{key}");
    }
}

#[test]
fn the_replica_that_has_more_is_chosen() {
    let mut chosen = BTreeSet::new();
    for seed in 0..6 {
        for behind in [R, Q] {
            let mut trio = Trio::new(seed);
            trio.rig.cut(P, behind);
            let line = trio.rig.line(P);
            trio.rig.ask(line, Command::set_nx("L".into(), "A".into(), None));
            // What a Sentinel knows of it is from the last INFO.
            trio.rig.run(11_000);
            trio.rig.kill(P);
            trio.rig.run(16_000);
            let promoted = trio.promoted();
            assert_eq!(promoted.len(), 1);
            assert_ne!(promoted[0].1, behind);
            chosen.insert(promoted[0].1);
        }
    }
    assert_eq!(chosen.len(), 2);
}

#[test]
fn a_minority_does_nothing() {
    let mut trio = Trio::with(4, Duration::from_secs(10));
    for one in [P, R, Q, S[0]] {
        for other in &S[1..] {
            trio.rig.cut(one, *other);
        }
    }
    trio.rig.kill(P);
    trio.rig.run(60_000);
    assert_eq!(trio.promoted(), []);
    // The others are as many as are needed, and see no replica: they try again after twice the timeout.
    trio.rig.heal();
    trio.rig.run(40_000);
    assert_eq!(trio.promoted().len(), 1);
}

#[test]
fn one_that_finds_the_primary_down_alone_does_nothing() {
    let mut trio = Trio::new(5);
    trio.rig.cut(P, S[0]);
    trio.rig.run(60_000);
    assert_eq!(trio.promoted(), []);
}

#[test]
fn a_short_absence_is_none() {
    let mut trio = Trio::new(6);
    trio.rig.kill(P);
    trio.rig.run(700);
    trio.rig.start(P);
    trio.rig.run(30_000);
    assert_eq!(trio.promoted(), []);
}

#[test]
fn a_clock_that_is_set_by_more_than_two_seconds_ends_all_action_for_thirty() {
    for (step, tilts) in [(1_500, false), (3_500, true), (-10, false), (-1_000, true)] {
        let mut trio = Trio::new(7);
        let since = trio.rig.ms();
        trio.rig.pause(P);
        for sentinel in S {
            trio.rig.step_wall(sentinel, step);
        }
        trio.rig.run(10_000);
        assert_eq!(trio.promoted().is_empty(), tilts, "{step}");
        trio.rig.run(30_000);
        let promoted = trio.promoted();
        assert_eq!(promoted.len(), 1, "{step}");
        assert_eq!(promoted[0].0 - since >= 30_000, tilts, "{step}");
    }
}

#[test]
fn a_sentinel_that_stood_still_looks_on_for_thirty_seconds() {
    let mut trio = Trio::new(8);
    for sentinel in S {
        trio.rig.pause(sentinel);
    }
    trio.rig.run(3_000);
    for sentinel in S {
        trio.rig.resume(sentinel);
    }
    trio.rig.pause(P);
    trio.rig.run(25_000);
    assert_eq!(trio.promoted(), []);
    trio.rig.run(15_000);
    assert_eq!(trio.promoted().len(), 1);
}

#[test]
fn a_primary_that_dies_while_they_look_on_is_never_replaced() {
    // A replica whose link has been down for longer than the primary is known to be down, and ten times `down-after`,
    // is not chosen: `sentinelSelectSlave`. The thirty seconds of TILT are more than that, and stay so.
    let mut trio = Trio::with(8, Duration::from_secs(10));
    for sentinel in S {
        trio.rig.step_wall(sentinel, 3_500);
    }
    trio.rig.run(1_000);
    trio.rig.kill(P);
    trio.rig.run(300_000);
    assert_eq!(trio.promoted(), []);
}

#[test]
fn there_is_one_vote_in_an_epoch_also_after_a_restart() {
    let mut trio = Trio::new(9);
    let ask = |epoch, candidate| Ask::IsDown { primary: node(P), epoch, candidate };
    let vote = |trio: &mut Trio, epoch, candidate| match trio.ask(S[0], ask(epoch, Some(node(candidate)))) {
        Answer::Down { down: false, vote } => vote.map(|(leader, epoch)| (leader.index(), epoch)),
        other => panic!("{other}"),
    };
    assert_eq!(trio.ask(S[0], ask(5, None)), Answer::Down { down: false, vote: None });
    assert_eq!(vote(&mut trio, 5, S[1]), Some((S[1], 5)));
    assert_eq!(vote(&mut trio, 5, S[2]), Some((S[1], 5)));
    assert_eq!(vote(&mut trio, 4, S[2]), Some((S[1], 5)), "nor in an earlier one");
    trio.rig.kill(S[0]);
    trio.rig.start(S[0]);
    trio.lines[S[0]] = trio.rig.line(S[0]);
    assert_eq!(vote(&mut trio, 5, S[2]), Some((S[1], 5)));
    assert_eq!(vote(&mut trio, 6, S[2]), Some((S[2], 6)));
}

#[test]
fn who_has_subscribed_is_told() {
    let mut trio = Trio::new(10);
    let line = trio.rig.line(S[1]);
    assert_eq!(trio.rig.ask(line, Ask::Subscribe), Some(Message::from(Answer::Ok)));
    trio.rig.kill(P);
    trio.rig.run(20_000);
    let to = node(trio.promoted()[0].1);
    let told: Vec<&Message> = trio.rig.pushes.iter().filter(|(_, on, _)| *on == line).map(|(.., told)| told).collect();
    assert_eq!(told, [&Message::from(Told::SwitchMaster { from: node(P), to })]);
}

#[test]
fn a_failover_without_a_good_replica_is_tried_again_after_twice_its_timeout() {
    let mut trio = Trio::with(11, Duration::from_secs(10));
    trio.rig.kill(R);
    trio.rig.kill(Q);
    trio.rig.run(5_000);
    trio.rig.kill(P);
    trio.rig.run(8_000);
    let since = trio.rig.ms();
    trio.rig.start(R);
    trio.rig.run(60_000);
    let promoted = trio.promoted();
    assert_eq!(promoted.len(), 1);
    assert!((8_000..=45_000).contains(&(promoted[0].0 - since)), "{}", promoted[0].0 - since);
}

#[test]
fn a_replica_that_follows_somebody_else_is_corrected_after_the_failover_s_timeout() {
    let mut trio = Trio::with(12, Duration::from_secs(10));
    let line = trio.rig.line(Q);
    trio.rig.ask(line, Command::ReplicaOf { primary: Some(node(R)) });
    trio.rig.run(9_000);
    let follows = |trio: &mut Trio| {
        let line = trio.rig.line(Q);
        match trio.rig.ask(line, Command::Role) {
            Some(Message::RedisReply(Reply::Array(parts))) => parts[1].clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(follows(&mut trio), Reply::Int(1));
    trio.rig.run(25_000);
    assert_eq!(follows(&mut trio), Reply::Int(0));
}
