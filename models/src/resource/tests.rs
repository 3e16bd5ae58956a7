//! The resource, stepped without a kernel.

use std::num::NonZeroU32;

use host::{AttemptId, CallId, ConnId, Disk, Effect, MonoTime, NodeId, WallTime};

use super::*;

struct Bench<C> {
    resource: Resource<C>,
    disk: Disk<Record>,
    notes: Vec<Note>,
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

impl<C: Check> Bench<C> {
    fn new(check: C) -> Self {
        Self { resource: Resource::new(check), disk: Disk::default(), notes: Vec::new() }
    }

    fn step(&mut self, step: impl FnOnce(&mut Resource<C>, &mut Context<Locks>)) -> Option<OpReply> {
        let mut cx = Context::at(NodeId::new(1), MonoTime::default(), WallTime::default());
        cx.attempt = Some(attempt());
        cx.disk = std::mem::take(&mut self.disk);
        step(&mut self.resource, &mut cx);
        self.disk = cx.disk;
        let mut reply = None;
        for effect in cx.effects {
            match effect {
                Effect::Reply(_, message) => reply = Some(message.try_into().expect("a reply of the resource")),
                Effect::Note(note) => self.notes.push(note),
                other => panic!("{other:?}"),
            }
        }
        reply
    }

    fn ask(&mut self, op: Op) -> OpReply {
        let from = Origin { conn: ConnId::new(0), call: CallId::new(0), operation: op.operation() };
        self.step(|resource, cx| resource.on_message(cx, from, op.into())).expect("a reply")
    }

    fn read(&mut self, object: &str, token: impl Into<Option<u64>>) -> OpReply {
        self.ask(Op::Read { op: OpId(0), object: object.into(), token: token.into().map(Token) })
    }

    fn write(&mut self, object: &str, token: impl Into<Option<u64>>, based_on: Option<u64>) -> OpReply {
        let (token, based_on) = (token.into().map(Token), based_on.map(Version));
        self.ask(Op::Write { op: OpId(1), object: object.into(), token, based_on })
    }

    /// The machine loses power and comes back.
    fn power_cycle(&mut self) {
        self.disk.lose_power();
        self.step(Resource::on_start);
    }
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
    let strict = |op: &Op, barrier: Option<Token>| match op.token() {
        token @ Some(_) if token > barrier => Ruling::Accept { barrier: token },
        _ => Ruling::Refuse,
    };
    let mut t = Bench::new(strict);
    assert_eq!(t.read(ACCOUNT, 33), version(0));
    assert_eq!(t.write(ACCOUNT, 33, Some(0)), REFUSED);
}
