//! The resource, stepped without a kernel.

use std::num::NonZeroU32;

use host::{AttemptId, CallId, ConnId, Disk, Duration, Effect, MonoTime, NodeId, WallTime};
use spec::OpId;

use super::*;

struct Bench<C> {
    check: C,
    manner: Manner,
    resource: Resource<C>,
    disk: Disk<Record>,
    notes: Vec<Note>,
    now: u64,
    /// What was answered, by the number of the call.
    replies: BTreeMap<u32, OpReply>,
    calls: u32,
    timers: Vec<(MonoTime, TimerId)>,
}

const ACCOUNT: &str = "account";
const STOCK: &str = "stock";
const REFUSED: OpReply = OpReply::Refused;

fn attempt() -> AttemptId {
    AttemptId::new(NodeId::new(3), NonZeroU32::MIN)
}

const fn version(number: u64) -> OpReply {
    OpReply::Version(Version(number))
}

impl<C: Check + Clone> Bench<C> {
    fn new(check: C) -> Self {
        Self::with(check, Manner::default())
    }

    fn with(check: C, manner: Manner) -> Self {
        Self {
            resource: Resource::new(check.clone(), manner),
            check,
            manner,
            disk: Disk::default(),
            notes: Vec::new(),
            now: 0,
            replies: BTreeMap::new(),
            calls: 0,
            timers: Vec::new(),
        }
    }

    fn step(&mut self, attempt: Option<AttemptId>, step: impl FnOnce(&mut Resource<C>, &mut Context<Locks>)) {
        let mut cx = Context::at(NodeId::new(1), at(self.now), WallTime::default());
        cx.attempt = attempt;
        cx.disk = std::mem::take(&mut self.disk);
        step(&mut self.resource, &mut cx);
        self.disk = cx.disk;
        for effect in cx.effects {
            match effect {
                Effect::Reply(to, message) => {
                    let reply = message.try_into().expect("a reply of the resource");
                    assert_eq!(self.replies.insert(to.call.number(), reply), None, "answered twice");
                }
                Effect::Note(note) => self.notes.push(note),
                Effect::SetTimer(timer, Deadline::Mono(due)) => self.timers.push((due, timer)),
                other => panic!("{other:?}"),
            }
        }
    }

    /// Sends an operation, and gives the number of the call.
    fn send(&mut self, op: Op) -> u32 {
        self.calls += 1;
        let from = Origin { conn: ConnId::new(0), call: CallId::new(self.calls), operation: op.operation() };
        self.step(Some(attempt()), |resource, cx| resource.on_message(cx, from, op.into()));
        self.calls
    }

    fn ask(&mut self, op: Op) -> OpReply {
        let call = self.send(op);
        self.replies[&call]
    }

    fn read(&mut self, object: &str, token: impl Into<Option<u64>>) -> OpReply {
        self.ask(op(object, token, Action::Read))
    }

    fn write(&mut self, object: &str, token: impl Into<Option<u64>>, based_on: Option<u64>) -> OpReply {
        self.ask(op(object, token, Action::Write { based_on: based_on.map(Version) }))
    }

    fn mark(&mut self, object: &str, token: impl Into<Option<u64>>) -> OpReply {
        self.ask(op(object, token, Action::Mark))
    }

    /// Begins to write what takes so many ms, and gives the number of the call.
    fn begins(&mut self, token: u64, based_on: u64, takes: u64) -> u32 {
        let action = Action::Write { based_on: Some(Version(based_on)) };
        self.send(Op { takes: Work::of(Duration::from_millis(takes)), ..op(ACCOUNT, token, action) })
    }

    /// Lets time pass until then, with the timers that come due.
    fn until(&mut self, ms: u64) {
        let mut due: Vec<_> = self.timers.extract_if(.., |(due, _)| *due <= at(ms)).collect();
        due.sort_unstable();
        for (due, timer) in due {
            self.now = due.as_nanos() / 1_000_000;
            self.step(None, |resource, cx| resource.on_timer(cx, timer));
        }
        self.now = ms;
    }

    /// The machine loses power and comes back.
    fn power_cycle(&mut self) {
        self.disk.lose_power();
        self.resource = Resource::new(self.check.clone(), self.manner);
        self.timers.clear();
        self.step(None, Resource::on_start);
    }
}

fn op(object: &str, token: impl Into<Option<u64>>, action: Action) -> Op {
    let id = OpId(u32::from(action != Action::Read));
    Op { id, object: object.into(), token: token.into().map(Token), takes: Work::NONE, action }
}

fn at(ms: u64) -> MonoTime {
    MonoTime::default() + Duration::from_millis(ms)
}

#[test]
fn an_open_resource_accepts_everything() {
    let mut t = Bench::new(Guard::Open);
    assert_eq!(t.read(ACCOUNT, None), version(0));
    assert_eq!(t.write(ACCOUNT, 34, Some(0)), version(1));
    assert_eq!(t.write(ACCOUNT, 33, Some(0)), version(2));
    assert_eq!(t.write(ACCOUNT, None, None), version(3));
    assert_eq!(t.read(STOCK, None), version(0));
}

#[test]
fn fence_rw_refuses_whoever_comes_with_a_lower_token() {
    let mut t = Bench::new(Guard::FenceRw);
    assert_eq!(t.write(ACCOUNT, 34, None), version(1));
    assert_eq!(t.write(ACCOUNT, 33, None), REFUSED);
    assert_eq!(t.read(ACCOUNT, 33), REFUSED);
    assert_eq!(t.read(ACCOUNT, 35), version(1));
}

#[test]
fn fence_rw_lets_a_holder_act_more_than_once() {
    let mut t = Bench::new(Guard::FenceRw);
    assert_eq!(t.read(ACCOUNT, 33), version(0));
    assert_eq!(t.write(ACCOUNT, 33, Some(0)), version(1));
    assert_eq!(t.write(ACCOUNT, 33, Some(1)), version(2));
}

#[test]
fn a_fenced_read_shuts_out_what_is_older() {
    let mut t = Bench::new(Guard::FenceRw);
    assert_eq!(t.read(ACCOUNT, 33), version(0));
    assert_eq!(t.read(ACCOUNT, 34), version(0));
    assert_eq!(t.write(ACCOUNT, 33, Some(0)), REFUSED);
    assert_eq!(t.write(ACCOUNT, 34, Some(0)), version(1));
}

#[test]
fn what_is_refused_does_not_raise_the_barrier() {
    let mut t = Bench::new(Guard::FenceRw);
    t.write(ACCOUNT, 34, None);
    t.write(ACCOUNT, 33, None);
    assert_eq!(t.write(ACCOUNT, 34, None), version(2));
}

#[test]
fn each_object_has_a_barrier_of_its_own() {
    let mut t = Bench::new(Guard::FenceRw);
    t.write(ACCOUNT, 34, None);
    assert_eq!(t.write(STOCK, 33, None), version(1));
}

#[test]
fn a_checking_resource_wants_a_token() {
    let mut t = Bench::new(Guard::FenceRw);
    assert_eq!(t.read(ACCOUNT, None), REFUSED);
    assert_eq!(t.write(ACCOUNT, None, None), REFUSED);
    assert_eq!(t.write(ACCOUNT, 0, None), version(1));
}

#[test]
fn versions_and_barriers_survive_a_loss_of_power() {
    let mut t = Bench::new(Guard::FenceRw);
    t.write(ACCOUNT, 33, None);
    t.write(ACCOUNT, 33, None);
    t.read(ACCOUNT, 34);
    t.write(STOCK, 7, None);
    assert_eq!(t.disk.unsynced(), 0, "nothing was answered before it was durable");
    t.power_cycle();
    assert_eq!(t.write(ACCOUNT, 33, None), REFUSED);
    assert_eq!(t.read(ACCOUNT, 34), version(2));
    assert_eq!(t.read(STOCK, 7), version(1));
}

#[test]
fn what_is_not_on_the_disk_does_not_survive() {
    let mut t = Bench::new(Guard::FenceRw);
    t.write(ACCOUNT, 33, None);
    t.disk = Disk::default();
    t.power_cycle();
    assert_eq!(t.read(ACCOUNT, 1), version(0));
}

#[test]
fn what_changes_nothing_writes_nothing() {
    let mut t = Bench::new(Guard::FenceRw);
    t.read(ACCOUNT, 33);
    t.read(ACCOUNT, 33);
    t.write(ACCOUNT, 32, None);
    assert_eq!(t.disk.records().len(), 1);
}

#[test]
fn the_history_is_told_what_happened_to_whose_operation() {
    let mut t = Bench::new(Guard::FenceRw);
    t.write(ACCOUNT, 34, None);
    t.read(ACCOUNT, 34);
    t.write(ACCOUNT, 34, Some(0));
    t.read(ACCOUNT, 33);
    let (attempt, object) = (Some(attempt()), ObjectName::from(ACCOUNT));
    let wrote = |based_on: Option<u64>, replaced| {
        let (object, based_on, replaced) = (object, based_on.map(Version), Version(replaced));
        Note::Wrote { attempt, op: OpId(1), object, based_on, replaced }
    };
    let read = Note::Read { attempt, op: OpId(0), object, version: Version(1) };
    let refused = Note::Refused { attempt, op: OpId(0), object };
    assert_eq!(t.notes, [wrote(None, 0), read, wrote(Some(0), 1), refused]);
}

#[test]
fn a_test_can_plug_in_a_broken_check() {
    // The fencepost: "not above" where "below" belongs.
    let strict = |op: &Op, seen: Seen| match op.token {
        token @ Some(_) if token > seen.barrier => Ruling::Accept { barrier: token },
        _ => Ruling::Refuse,
    };
    let mut t = Bench::new(strict);
    assert_eq!(t.read(ACCOUNT, 33), version(0));
    assert_eq!(t.write(ACCOUNT, 33, Some(0)), REFUSED);
}

#[test]
fn a_mark_shuts_out_what_is_older() {
    let mut t = Bench::new(Guard::Mark);
    assert_eq!(t.read(ACCOUNT, 33), version(0));
    assert_eq!(t.mark(ACCOUNT, 34), OpReply::Done);
    assert_eq!([t.read(ACCOUNT, 33), t.mark(ACCOUNT, 33), t.write(ACCOUNT, 33, Some(0))], [REFUSED; 3]);
    assert_eq!(t.notes[1], Note::Marked { attempt: Some(attempt()), op: OpId(1), object: ACCOUNT.into() });
}

#[test]
fn who_marks_last_may_write_whatever_the_order_of_tokens() {
    let mut t = Bench::new(Guard::Unique);
    t.mark(ACCOUNT, 34);
    t.mark(ACCOUNT, 33);
    assert_eq!(t.write(ACCOUNT, 34, Some(0)), REFUSED);
    assert_eq!(t.write(ACCOUNT, 33, Some(0)), version(1));
    assert_eq!(t.write(ACCOUNT, 33, Some(1)), version(2), "its own write takes the mark from nobody");
}

#[test]
fn compare_and_set_needs_no_token() {
    let mut t = Bench::new(Guard::Version);
    assert_eq!(t.write(ACCOUNT, None, Some(0)), version(1));
    assert_eq!([t.write(ACCOUNT, None, Some(0)), t.write(ACCOUNT, None, None)], [REFUSED; 2]);
    assert_eq!(t.write(STOCK, None, Some(0)), version(1));
}

#[test]
fn one_barrier_for_all_objects_shuts_out_what_is_older_everywhere() {
    let mut t = Bench::with(Guard::FenceRw, Manner { barrier: Reach::Whole, ..Manner::default() });
    t.write(ACCOUNT, 34, None);
    assert_eq!(t.write(STOCK, 33, None), REFUSED);
    assert_eq!(t.write(STOCK, 34, None), version(1));
    t.power_cycle();
    assert_eq!(t.write(STOCK, 33, None), REFUSED);
}

#[test]
fn a_barrier_in_memory_is_forgotten_and_the_objects_are_not() {
    let mut t = Bench::with(Guard::FenceRw, Manner { max: Max::Volatile, ..Manner::default() });
    t.write(ACCOUNT, 34, None);
    assert_eq!(t.write(ACCOUNT, 33, None), REFUSED);
    t.power_cycle();
    assert_eq!(t.write(ACCOUNT, 33, None), version(2));
}

#[test]
fn version_and_barrier_are_on_the_disk_together() {
    let mut t = Bench::new(Guard::FenceRw);
    t.write(ACCOUNT, 34, None);
    assert_eq!((t.disk.records().len(), t.disk.unsynced(), t.disk.syncs()), (2, 0, 1));
}

/// Two writes on the same version, one within the work of the other: what became of each, and whether the
/// check had let the long one pass before.
fn interleaved(act: Act, long: u64, short: u64) -> (OpReply, OpReply, bool) {
    let mut t = Bench::with(Guard::FenceW, Manner { act, ..Manner::default() });
    let call = t.begins(long, 0, 100);
    let passed = matches!(t.notes.last(), Some(Note::Passed { .. }));
    t.until(50);
    let within = t.write(ACCOUNT, short, Some(0));
    assert!(!t.replies.contains_key(&call));
    t.until(100);
    (t.replies[&call], within, passed)
}

#[test]
fn an_atomic_resource_checks_when_the_work_is_done() {
    assert_eq!(interleaved(Act::Atomic, 33, 34), (REFUSED, version(1), false));
    assert_eq!(interleaved(Act::Atomic, 34, 33), (version(2), version(1), false));
}

#[test]
fn what_a_check_allowed_is_done_whatever_has_happened_since() {
    assert_eq!(interleaved(Act::CheckThenAct, 33, 34), (version(2), version(1), true));
    assert_eq!(interleaved(Act::CheckThenAct, 34, 33), (version(2), version(1), true));
}

#[test]
fn a_check_that_records_shuts_out_what_is_older_at_once() {
    assert_eq!(interleaved(Act::RecordThenAct, 33, 34), (version(2), version(1), true));
    assert_eq!(interleaved(Act::RecordThenAct, 34, 33), (version(1), REFUSED, true));
}

#[test]
fn a_late_act_records_what_its_check_had_seen() {
    let mut t = Bench::with(Guard::FenceW, Manner { act: Act::CheckThenAct, ..Manner::default() });
    t.begins(33, 0, 100);
    t.write(ACCOUNT, 35, None);
    t.until(100);
    assert_eq!(t.write(ACCOUNT, 34, None), version(3), "the barrier is 33 again");
}

#[test]
fn what_was_recorded_with_the_check_is_not_recorded_again_with_the_act() {
    let mut t = Bench::with(Guard::FenceW, Manner { act: Act::RecordThenAct, ..Manner::default() });
    t.begins(33, 0, 100);
    t.write(ACCOUNT, 35, None);
    t.until(100);
    assert_eq!(t.write(ACCOUNT, 34, None), REFUSED, "the barrier is still 35");
}

#[test]
fn several_operations_are_worked_on_at_once() {
    let mut t = Bench::new(Guard::Open);
    let (long, short) = (t.begins(33, 0, 100), t.begins(34, 0, 50));
    t.until(50);
    assert_eq!((t.replies.get(&long), t.replies.get(&short)), (None, Some(&version(1))));
    t.until(100);
    assert_eq!(t.replies[&long], version(2));
}

#[test]
fn a_late_write_takes_no_mark_back() {
    let mut t = Bench::with(Guard::Unique, Manner { act: Act::CheckThenAct, ..Manner::default() });
    t.mark(ACCOUNT, 33);
    t.begins(33, 0, 100);
    t.mark(ACCOUNT, 34);
    t.until(100);
    assert_eq!([t.write(ACCOUNT, 33, None), t.write(ACCOUNT, 34, None)], [REFUSED, version(2)]);
}

#[test]
fn work_is_lost_with_the_process_and_what_it_had_recorded_is_not() {
    for (act, after) in [(Act::CheckThenAct, version(1)), (Act::RecordThenAct, REFUSED)] {
        let mut t = Bench::with(Guard::FenceW, Manner { act, ..Manner::default() });
        let call = t.begins(34, 0, 100);
        t.power_cycle();
        t.until(200);
        assert!(!t.replies.contains_key(&call));
        assert_eq!(t.write(ACCOUNT, 33, None), after, "{act:?}");
    }
}

#[test]
fn the_history_is_told_on_whose_behalf_late_work_is_done() {
    let mut t = Bench::with(Guard::FenceW, Manner { act: Act::CheckThenAct, ..Manner::default() });
    t.begins(34, 0, 100);
    t.until(100);
    let (attempt, op, object) = (Some(attempt()), OpId(1), ObjectName::from(ACCOUNT));
    let wrote = Note::Wrote { attempt, op, object, based_on: Some(Version(0)), replaced: Version(0) };
    assert_eq!(t.notes, [Note::Passed { attempt, op, object }, wrote]);
}

fn ticket(number: u64) -> OpReply {
    OpReply::Ticket(Token(number))
}

#[test]
fn numbers_are_drawn_once_each_and_never_again() {
    let mut t = Bench::new(Guard::FenceRw);
    let draw = |t: &mut Bench<Guard>| t.ask(op(ACCOUNT, 99, Action::Ticket));
    assert_eq!([draw(&mut t), draw(&mut t)], [ticket(1), ticket(2)]);
    t.power_cycle();
    assert_eq!(draw(&mut t), ticket(3));
    assert_eq!(t.notes, [], "a number by itself is nothing that has happened to an object");
    assert_eq!(t.write(ACCOUNT, 1, None), version(1), "nor does it shut anybody out");
}

#[test]
fn a_number_marks_where_marks_have_an_order() {
    let mut t = Bench::new(Guard::Mark);
    assert_eq!(t.ask(op(ACCOUNT, None, Action::Ticket)), ticket(1));
    assert_eq!(t.ask(op(ACCOUNT, None, Action::Ticket)), ticket(2));
    assert_eq!(
        t.notes,
        [(); 2].map(|()| Note::Marked { attempt: Some(attempt()), op: OpId(1), object: ACCOUNT.into() })
    );
    assert_eq!([t.write(ACCOUNT, 1, None), t.write(ACCOUNT, 2, None)], [REFUSED, version(1)]);
}

#[test]
fn an_effect_is_done_each_time_unless_a_key_tells_that_it_was_done() {
    let mut t = Bench::new(Guard::FenceRw);
    let charge = |key: Option<u32>| op("charge", None, Action::Effect { key: key.and_then(NonZeroU32::new).map(Key) });
    for _ in 0..2 {
        assert_eq!(t.ask(charge(None)), OpReply::Done);
        assert_eq!(t.ask(charge(Some(17))), OpReply::Done);
    }
    t.power_cycle();
    assert_eq!(t.ask(charge(Some(17))), OpReply::Done);
    t.ask(charge(Some(18)));
    t.ask(Op { object: "mail".into(), ..charge(Some(17)) });
    let effects: Vec<&str> = t
        .notes
        .iter()
        .filter_map(|note| match note {
            Note::Effected { effect, .. } => Some(effect.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(effects, ["charge", "charge", "charge", "charge", "mail"]);
}
