//! What survives the process and the power, and whose locks the server finds again.

use host::{Context, Disk};

use super::*;
use crate::domain::Record;
use crate::lock::Persistence;
use crate::redis::persist::FLUSH;

/// A server with a disk, and clocks that start together.
struct Machine {
    redis: Redis,
    disk: Disk<Record>,
    /// What the wall clock reads, in ms.
    wall: i64,
    mono: u64,
    owners: Vec<(Option<usize>, Cause)>,
    /// How often it was back without what had been on its disk.
    lost: u32,
    /// When the log is looked after, by the monotonic clock in ms.
    flush: Option<u64>,
}

impl Machine {
    /// It starts in the middle of a second.
    fn new(persistence: Persistence) -> Self {
        let redis = Redis::new(RedisServer { persistence, ..RedisServer::default() });
        let (disk, wall, mono, owners) = (Disk::default(), 1_700_000_000_500, 500, Vec::new());
        let mut machine = Self { redis, disk, wall, mono, owners, lost: 0, flush: None };
        machine.step(Redis::on_start);
        machine
    }

    fn step(&mut self, step: impl FnOnce(&mut Redis, &mut Context<Locks>)) -> Option<Reply> {
        let mono = MonoTime::from_nanos(self.mono * NANOS);
        let mut cx = Context::at(NodeId::new(7), mono, WallTime::from_millis(self.wall));
        cx.attempt = Some(attempt(1));
        std::mem::swap(&mut self.disk, &mut cx.disk);
        step(&mut self.redis, &mut cx);
        self.disk = cx.disk;
        let mut reply = None;
        for effect in cx.effects {
            match effect {
                Effect::Reply(_, message) => reply = Some(message.try_into().expect("a reply of Redis")),
                Effect::Note(Note::Owner { attempt, cause, .. }) => {
                    self.owners.push((attempt.map(|attempt| attempt.client().index()), cause));
                }
                Effect::Note(Note::DiskLost { authority }) => {
                    assert_eq!(authority, NodeId::new(7));
                    self.lost += 1;
                }
                Effect::SetTimer(FLUSH, Deadline::Mono(at)) => self.flush = Some(at.as_nanos() / NANOS),
                Effect::SetTimer(EXPIRY, _) | Effect::CancelTimer(EXPIRY) => {}
                other => panic!("{other:?}"),
            }
        }
        reply
    }

    fn ask(&mut self, command: Command) -> Reply {
        let from = Origin { conn: ConnId::new(0), call: CallId::new(0), operation: Operation("any") };
        self.step(|redis, cx| redis.on_message(cx, from, command.into())).expect("a reply")
    }

    fn set(&mut self, key: &str, px: i64) {
        assert_eq!(self.ask(Command::set_nx(key.into(), A.into(), Some(px))), OK);
    }

    fn exists(&mut self, key: &str) -> bool {
        self.ask(Command::Exists { key: key.into() }) == YES
    }

    /// Time passes; whenever the log is to be looked after, it is. The disk is slow, unless it is `fast`.
    fn wait(&mut self, ms: u64, fast: bool) {
        for _ in 0..ms {
            (self.mono, self.wall) = (self.mono + 1, self.wall + 1);
            if fast {
                self.disk.end_sync_aside();
            }
            if self.flush == Some(self.mono) {
                self.flush = None;
                self.step(|redis, cx| redis.on_timer(cx, FLUSH));
            }
        }
    }

    fn is_killed(&mut self) {
        self.flush = None;
        self.owners.clear();
        self.step(Redis::on_start);
    }

    fn loses_power(&mut self) {
        self.disk.lose_power();
        self.is_killed();
    }

    fn shuts_down(&mut self) {
        self.step(Redis::on_stop);
        self.is_killed();
    }
}

/// How a server goes down and comes back.
type End = fn(&mut Machine);

#[test]
fn what_each_setting_keeps() {
    let ends: [End; 3] = [Machine::is_killed, Machine::shuts_down, Machine::loses_power];
    for (persistence, kept) in [
        (Persistence::None, [false, false, false]),
        (Persistence::Save, [false, true, false]),
        (Persistence::AofEverysec, [true, true, false]),
        (Persistence::AofAlways, [true, true, true]),
    ] {
        for (end, kept) in ends.into_iter().zip(kept) {
            let mut t = Machine::new(persistence);
            t.set(LOCK, 10_000);
            end(&mut t);
            assert_eq!(t.exists(LOCK), kept, "{persistence:?}");
            // Of what it was never told to keep, a disk loses nothing.
            let lost = persistence == Persistence::AofEverysec && !kept;
            assert_eq!(t.lost, u32::from(lost), "{persistence:?}");
        }
    }
}

#[test]
fn a_log_of_each_second_is_synced_when_the_wall_clock_begins_the_next() {
    let mut t = Machine::new(Persistence::AofEverysec);
    t.wait(100, true);
    t.set("in the second of the start", 10_000);
    t.wait(300, true);
    assert_eq!((t.disk.unsynced(), t.disk.is_syncing_aside()), (1, false));
    // The look at the clock that comes next finds a new second.
    t.wait(100, true);
    assert_eq!(t.disk.unsynced(), 1, "it has begun, and is another thread's");
    t.wait(1, true);
    assert_eq!((t.disk.unsynced(), t.disk.syncs()), (0, 0), "nobody has waited");
    t.set("just after a sync", 10_000);
    t.wait(900, true);
    assert_eq!(t.disk.unsynced(), 1);
    t.loses_power();
    assert_eq!(["in the second of the start", "just after a sync"].map(|key| t.exists(key)), [true, false]);
    // With nothing to write, nothing is looked after.
    t.wait(2_000, true);
    assert_eq!(t.flush, None);
}

#[test]
fn a_clock_that_is_set_back_keeps_the_log_from_being_synced() {
    let mut t = Machine::new(Persistence::AofEverysec);
    t.set("before", 100_000);
    t.wait(1_000, true);
    t.wall -= 10_000;
    t.set("after", 100_000);
    t.wait(9_000, true);
    assert_eq!(t.disk.unsynced(), 1);
    t.wait(1_600, true);
    assert_eq!(t.disk.unsynced(), 0);
}

#[test]
fn while_a_sync_lasts_what_is_answered_is_not_even_written_for_two_seconds() {
    for (waited, written) in [(1_000, false), (2_000, true)] {
        let mut t = Machine::new(Persistence::AofEverysec);
        t.wait(500, true);
        t.set("before", 60_000);
        // That one is synced, which lasts.
        assert!(t.disk.is_syncing_aside());
        t.wait(500, false);
        t.set("meanwhile", 60_000);
        t.wait(waited, false);
        t.is_killed();
        assert_eq!(["before", "meanwhile"].map(|key| t.exists(key)), [true, written], "after {waited} ms");
    }
    // A sync that ends lets it be written at the next look.
    let mut t = Machine::new(Persistence::AofEverysec);
    t.wait(500, true);
    t.set("before", 60_000);
    t.set("meanwhile", 60_000);
    t.disk.end_sync_aside();
    t.wait(100, false);
    t.is_killed();
    assert!(t.exists("meanwhile"));
}

#[test]
fn who_asks_to_end_leaves_nothing_unwritten() {
    let mut t = Machine::new(Persistence::AofEverysec);
    t.wait(500, true);
    t.set("before", 60_000);
    t.set("meanwhile", 60_000);
    assert_eq!(t.disk.records().len(), 1);
    t.step(Redis::on_stop);
    t.loses_power();
    assert!(t.exists("meanwhile"));
}

#[test]
fn a_server_that_is_back_names_the_owners_that_it_remembers() {
    let mut t = Machine::new(Persistence::AofAlways);
    t.set(LOCK, 10_000);
    assert_eq!(t.owners, [(Some(1), Cause::Request(Some(attempt(1))))]);
    t.wait(9_000, true);
    t.is_killed();
    assert_eq!(t.owners, [(Some(1), Cause::Restart)]);
    assert_eq!(t.ask(Command::Pttl { key: LOCK.into() }), Reply::Int(1_000), "its deadline is the same instant");
    // What has run out meanwhile was remembered too, and is gone.
    t.wait(1_001, true);
    t.is_killed();
    assert_eq!(t.owners, [(Some(1), Cause::Restart), (None, Cause::Expiry)]);
    t.is_killed();
    assert_eq!(t.owners, []);
    let mut t = Machine::new(Persistence::None);
    t.set(LOCK, 10_000);
    t.is_killed();
    assert_eq!(t.owners, []);
}

#[test]
fn only_what_changes_something_waits_for_the_disk() {
    let mut t = Machine::new(Persistence::AofAlways);
    t.set(LOCK, 10_000);
    assert_eq!(t.disk.syncs(), 1);
    t.exists(LOCK);
    t.ask(Command::set_nx(LOCK.into(), B.into(), Some(10_000)));
    assert_eq!(t.disk.syncs(), 1);
    t.ask(Command::Del { key: LOCK.into() });
    assert_eq!((t.disk.syncs(), t.disk.records().len()), (2, 2));
}
