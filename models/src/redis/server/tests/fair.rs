//! The scripts of the fair lock, on one server. That a real one does the same in Lua is shown elsewhere.

use super::*;
use crate::redis::fair::{channel_in_queue, deadlines_of};
use crate::redis::{FairScript, Queue, SortedCommand, Told};

const TTL: i64 = 10_000;
const SLOT: i64 = 5_000;

/// A server and what its clients' clocks read, in ms since it began.
struct Line {
    server: Bench,
    start: i64,
    queue: Queue,
    told: Told,
}

impl Line {
    fn new(queue: Queue) -> Self {
        let server = Bench::new();
        let start = server.now;
        Self { server, start, queue, told: Told::NextEnd }
    }

    fn at(&mut self, ms: i64) -> &mut Self {
        self.server.now = self.start + ms;
        self
    }

    /// `None`: it is in. Else what it is told.
    fn asks(&mut self, who: &str) -> Option<i64> {
        let (queue, told, now) = (self.queue, self.told, self.server.now);
        let lock = FairScript::Lock { key: LOCK.into(), owner: who.into(), px: TTL, now, slot: SLOT, queue, told };
        match self.server.eval(Script::from(lock)) {
            Reply::Nil => None,
            Reply::Int(told) => Some(told),
            other => panic!("{other:?}"),
        }
    }

    fn leaves(&mut self, who: &str) {
        let leave = FairScript::Leave { key: LOCK.into(), owner: who.into(), slot: SLOT, queue: self.queue };
        assert_eq!(self.server.eval(Script::from(leave)), Reply::Nil);
    }

    fn gives_back(&mut self, who: &str) -> Reply {
        let now = self.server.now;
        self.server.eval(Script::from(FairScript::Unlock { key: LOCK.into(), owner: who.into(), px: TTL, now }))
    }

    /// The deadline of one that waits, in ms since the server began.
    fn deadline(&mut self, who: &str) -> Option<i64> {
        let (key, what) = (deadlines_of(&LOCK.into()), SortedCommand::Zscore(who.into()));
        match self.server.ask(Command::Sorted { key, what }) {
            Reply::Bulk(score) => score.as_integer().map(|score| score - self.start),
            _ => None,
        }
    }

    fn deadlines(&mut self, all: [&str; 3]) -> [Option<i64>; 3] {
        all.map(|who| self.deadline(who))
    }
}

/// H has the lock from 0 on; A, B and C wait in this order.
fn waiting(queue: Queue) -> Line {
    let mut line = Line::new(queue);
    assert_eq!(line.asks("H"), None);
    assert_eq!(["A", "B", "C"].map(|who| line.asks(who)), [Some(10_000), Some(15_000), Some(20_000)]);
    line
}

#[test]
fn each_has_a_slot_more_than_the_one_before_and_the_first_one_more_than_the_lease() {
    let mut line = waiting(Queue::MovesUp);
    assert_eq!(line.deadlines(["A", "B", "C"]), [Some(15_000), Some(20_000), Some(25_000)]);
    assert_eq!(line.at(1_000).asks("A"), Some(9_001), "it is in the queue already, and told when the lease is over");
    line.told = Told::OwnDeadline;
    assert_eq!(["A", "B"].map(|who| line.asks(who)), [Some(9_000), Some(14_000)], "a slot before its own deadline");
    assert_eq!(line.at(11_000).asks("B"), Some(4_000));
    line.server.eval(Script::HashExtend { key: LOCK.into(), owner: "H".into(), px: TTL });
    assert_eq!(line.asks("A"), None, "the lease is over");
    assert_eq!(line.deadline("B"), Some(15_000));
    assert_eq!(line.asks("B"), Some(-1_000), "below zero it has no end");
}

#[test]
fn only_the_head_of_the_queue_is_let_in_and_those_behind_move_up() {
    let mut line = waiting(Queue::MovesUp);
    line.at(4_000).server.pushed.clear();
    assert_eq!(line.gives_back("H"), Reply::Int(1));
    assert_eq!(line.asks("C"), Some(11_000), "it is free, for A: until 15 s");
    assert_eq!(line.asks("A"), None);
    assert_eq!(line.deadlines(["A", "B", "C"]), [None, Some(15_000), Some(20_000)]);
    assert_eq!(line.gives_back("A"), Reply::Int(1));
    assert_eq!(line.asks("B"), None);
}

#[test]
fn who_leaves_lets_those_behind_move_up_or_pushes_the_deadlines_ahead() {
    let round = |line: &mut Line| {
        for who in ["A", "B", "C"] {
            line.leaves(who);
            line.asks(who);
        }
        line.deadlines(["A", "B", "C"])
    };
    let mut line = waiting(Queue::MovesUp);
    for _ in 0..4 {
        assert_eq!(round(&mut line), [Some(15_000), Some(20_000), Some(25_000)]);
    }
    let mut line = waiting(Queue::Drifts);
    let rounds: [_; 4] = std::array::from_fn(|_| round(&mut line));
    assert_eq!(rounds[0], [Some(30_000), Some(35_000), Some(40_000)]);
    assert_eq!(rounds[3], [Some(75_000), Some(80_000), Some(85_000)]);
}

#[test]
fn who_is_past_its_deadline_at_the_head_is_thrown_out() {
    let mut line = waiting(Queue::MovesUp);
    assert_eq!(line.at(9_000).gives_back("H"), Reply::Int(1));
    assert_eq!(line.at(14_999).asks("B"), Some(1), "A is at the head still");
    assert_eq!(line.at(15_000).asks("B"), None);
    assert_eq!(line.deadlines(["A", "B", "C"]), [None, None, Some(20_000)]);
    // From then on it is nobody's waiter, and comes in last.
    assert_eq!(line.asks("A"), Some(5_000));
    assert_eq!(line.deadline("A"), Some(25_000));
}

#[test]
fn the_head_of_the_queue_is_told_and_nobody_else() {
    let mut line = waiting(Queue::MovesUp);
    let (a, b) = (ConnId::new(1), ConnId::new(2));
    for (conn, who) in [(a, "A"), (b, "B")] {
        let channel = channel_in_queue(&LOCK.into(), &who.into());
        line.server.ask_on(conn, Command::Subscribe { channel });
    }
    line.gives_back("H");
    assert_eq!(line.server.pushed.iter().map(|(conn, _)| *conn).collect::<Vec<_>>(), [a]);
    // The lock is free: who gives it back has nothing to give, and wakes the head all the same.
    assert_eq!(line.gives_back("C"), Reply::Int(1));
    assert_eq!(line.server.pushed.len(), 2);
    assert_eq!(line.asks("A"), None);
    assert_eq!(line.gives_back("B"), Reply::Nil, "it is another's");
}

#[test]
fn an_owner_enters_again_and_the_last_of_its_entries_gives_the_lock_back() {
    let mut line = Line::new(Queue::MovesUp);
    line.server.as_client(1);
    assert_eq!([line.asks("H"), line.asks("H")], [None, None]);
    assert_eq!(line.gives_back("H"), Reply::Int(0));
    assert_eq!(line.gives_back("H"), Reply::Int(1));
    assert_eq!(line.server.owners, [Some(attempt(1)), None]);
}
