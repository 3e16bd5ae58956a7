//! Small stories of a cluster, and the accounts that they come to.

use std::num::NonZeroU32;

use models::etcd::answer::OpResponse;
use models::etcd::{Delete, EtcdError, Header, Keys, Put, Range, Response};

use super::*;

const CLUSTER: NodeId = NodeId::new(0);

#[derive(Default)]
struct Story {
    told: Vec<Told>,
    asked: Vec<Asked>,
}

fn ms(ms: u64) -> SimTime {
    SimTime::from_nanos(ms * 1_000_000)
}

fn attempt(client: u16, ordinal: u32) -> AttemptId {
    AttemptId::new(NodeId::new(client), NonZeroU32::new(ordinal).expect("from 1"))
}

fn lease(number: u64) -> LeaseId {
    LeaseId::new(number).expect("not 0")
}

/// As it comes over the wire: in one piece.
fn key(number: u64) -> Key {
    format!("orders/{number:x}").as_str().into()
}

fn created(number: u64, revision: u64) -> EventKind {
    let revision = Revision(revision);
    EventKind::Put(KeyValue {
        key: key(number),
        create_revision: revision,
        mod_revision: revision,
        version: 1,
        value: "".into(),
        lease: Some(lease(number)),
    })
}

fn deleted(number: u64, revision: u64) -> EventKind {
    EventKind::Delete { key: key(number), mod_revision: Revision(revision) }
}

fn queues(number: u64) -> Rpc {
    let key = Key::under("orders/".into(), lease(number));
    Txn {
        compare: vec![Compare::created_at(key, Revision(0))],
        success: vec![Op::Put(Put::new(key, "".into(), Some(lease(number))))],
        failure: vec![Op::Range(Range::of(Keys::One(key)))],
        errand: None,
    }
    .into()
}

fn changed(body: Body) -> Body {
    Body::Txn { succeeded: true, responses: vec![OpResponse { revision: Revision(0), body }] }
}

impl Story {
    /// A member tells, and is heard then.
    fn tells(&mut self, at: u64, member: u16, events: &[EventKind]) -> &mut Self {
        let events = events.iter().map(|kind| Event { kind: kind.clone(), prev_kv: None }).collect();
        self.told.push(Told { at: ms(at), member: NodeId::new(member), events });
        self
    }

    /// Somebody asks then, and has no answer.
    fn asks(&mut self, at: u64, attempt: AttemptId, rpc: impl Into<Rpc>) -> &mut Self {
        let rpc = rpc.into();
        let errand = if let Rpc::Txn(txn) = &rpc { txn.errand } else { None };
        let errand = errand.map(|Errand { op, object, based_on }| (op, object, based_on));
        let (path, body) = rpc.to_json();
        let (call, server, attempt) = (self.asked.len() as u64, CLUSTER, Some(attempt));
        let asks = Asks { at: ms(at), call, server, attempt, path: path.to_owned(), body, errand };
        self.asked.push(Asked::of(&asks).expect("the model knows it"));
        self
    }

    /// The last one is answered then.
    fn answered(&mut self, at: u64, revision: u64, body: Body) -> &mut Self {
        let header = Header { member: CLUSTER, revision: Revision(revision), term: 2 };
        let answer = (ms(at), Reply::Done(Box::new(Response { header, body })));
        self.asked.last_mut().expect("somebody has asked").answer = Some(answer);
        self
    }

    fn account(&self) -> Account {
        account(CLUSTER, &self.told, &self.asked)
    }

    /// When who owned the lock, and why, of an account without doubts.
    fn owners(&self) -> Vec<(u64, Option<AttemptId>, Cause)> {
        let account = self.account();
        assert_eq!(account.doubts, Vec::<String>::new());
        let owner = |entry: &Entry| match entry.note {
            Note::Owner { authority: CLUSTER, key, attempt, cause } if key == "orders".into() => {
                Some((entry.at.as_nanos() / 1_000_000, attempt, cause))
            }
            _ => None,
        };
        account.entries.iter().filter_map(owner).collect()
    }

    fn doubts(&self) -> usize {
        self.account().doubts.len()
    }
}

fn put() -> Body {
    changed(Body::Put { prev_kv: None })
}

fn gone() -> Body {
    Body::Delete { deleted: 1, prev_kvs: Vec::new() }
}

#[test]
fn the_oldest_key_has_the_lock_and_whoever_is_next_follows_it() {
    let (first, second) = (attempt(5, 1), attempt(6, 1));
    let mut story = Story::default();
    story.asks(10, first, queues(0xa1)).answered(12, 2, put());
    story.asks(20, second, queues(0xb2)).answered(22, 3, put());
    story.asks(30, first, Delete::one(key(0xa1))).answered(32, 4, gone());
    for member in 0..3 {
        story.tells(40, member, &[created(0xa1, 2), created(0xb2, 3), deleted(0xa1, 4)]);
    }
    let by = |attempt| Cause::Request(Some(attempt));
    assert_eq!(story.owners(), [(12, Some(first), by(first)), (32, Some(second), by(first))]);
}

#[test]
fn what_nobody_asked_for_is_the_end_of_a_lease() {
    let (holder, waiter) = (attempt(5, 1), attempt(6, 1));
    let mut story = Story::default();
    story.asks(10, holder, queues(0xa1)).answered(12, 2, put());
    story.asks(20, waiter, queues(0xb2)).answered(22, 3, put());
    story.tells(13, 1, &[created(0xa1, 2)]).tells(23, 1, &[created(0xb2, 3)]).tells(4_000, 1, &[deleted(0xa1, 4)]);
    assert_eq!(story.owners()[1], (4_000, Some(waiter), Cause::Expiry));
}

#[test]
fn what_was_not_answered_is_whose_it_fits_and_not_before_it_was_asked_for() {
    let first = attempt(5, 1);
    let mut story = Story::default();
    story.asks(10, first, queues(0xa1)).tells(30, 0, &[created(0xa1, 2)]);
    assert_eq!(story.owners(), [(30, Some(first), Cause::Request(Some(first)))]);
    // A later revision that somebody was answered of was later.
    story.asks(15, attempt(6, 1), Range::of(Keys::Under("orders/".into())));
    story.answered(20, 2, Body::Range { kvs: Vec::new(), more: false, count: 1 });
    assert_eq!(story.owners(), [(20, Some(first), Cause::Request(Some(first)))]);
    // And one that was refused has done nothing.
    story.asked[0].answer = Some((ms(12), Reply::Failed(EtcdError::LeaseNotFound)));
    assert_eq!(story.doubts(), 1);
    story.asked[0].answer = Some((ms(12), Reply::Failed(EtcdError::Timeout)));
    assert_eq!(story.doubts(), 0);
}

#[test]
fn who_asks_anew_in_its_old_session_stands_behind_its_old_key() {
    let (first, again) = (attempt(5, 1), attempt(5, 2));
    let mut story = Story::default();
    story.asks(10, first, queues(0xa1)).tells(30, 0, &[created(0xa1, 2)]);
    let found = Body::Txn { succeeded: false, responses: Vec::new() };
    story.asks(50, again, queues(0xa1)).answered(52, 2, found);
    assert_eq!(story.owners().last(), Some(&(52, Some(again), Cause::Request(Some(again)))));
}

#[test]
fn two_that_may_have_done_it_are_a_doubt() {
    let mut story = Story::default();
    story.asks(10, attempt(5, 1), queues(0xa1)).asks(15, attempt(5, 2), queues(0xa1));
    story.tells(30, 0, &[created(0xa1, 2)]);
    assert_eq!(story.doubts(), 1);
}

#[test]
fn what_was_asked_for_later_was_not_what_was_told_of() {
    let mut story = Story::default();
    story.asks(50, attempt(5, 1), queues(0xa1)).tells(30, 0, &[created(0xa1, 2)]);
    assert_eq!(story.doubts(), 1);
}

#[test]
fn an_old_release_without_an_answer_or_the_end_of_the_lease_is_a_doubt() {
    let (first, again) = (attempt(5, 1), attempt(5, 2));
    let mut story = Story::default();
    story.asks(10, first, queues(0xa1)).answered(12, 2, put());
    story.asks(20, first, Delete::one(key(0xa1)));
    story.tells(13, 0, &[created(0xa1, 2)]).tells(5_000, 0, &[deleted(0xa1, 3)]);
    assert_eq!(story.owners().len(), 2, "whichever it was, the lock was its own");
    story.asks(50, again, queues(0xa1)).answered(52, 2, Body::Txn { succeeded: false, responses: Vec::new() });
    assert_eq!(story.doubts(), 1);
}

#[test]
fn what_is_missing_is_a_doubt() {
    let first = attempt(5, 1);
    let mut story = Story::default();
    story.asks(10, first, queues(0xa1)).answered(12, 2, put());
    assert_eq!(story.doubts(), 1, "answered of a revision that nobody told of");
    story.tells(20, 0, &[created(0xa1, 2), deleted(0xb2, 4)]);
    assert_eq!(story.doubts(), 2, "3 is missing, and nobody asked for 4");
}

#[test]
fn a_member_that_makes_something_else_of_a_revision_disagrees() {
    let first = attempt(5, 1);
    let mut story = Story::default();
    story.asks(10, first, queues(0xa1)).answered(12, 2, put());
    story.tells(20, 0, &[created(0xa1, 2)]).tells(21, 1, &[created(0xa1, 2)]);
    let disagrees = |story: &Story| {
        let disagrees = |entry: &Entry| matches!(entry.note, Note::Disagreed { key, .. } if key == "orders".into());
        story.account().entries.iter().any(disagrees)
    };
    assert!(!disagrees(&story));
    story.tells(22, 2, &[created(0xb2, 2)]);
    assert!(disagrees(&story));
}

#[test]
fn a_lease_that_was_kept_alive_is_its_owners_and_no_longer_than_from_when_that_was_asked() {
    let first = attempt(5, 1);
    let mut story = Story::default();
    story.asks(10, first, queues(0xa1)).answered(12, 2, put()).tells(20, 0, &[created(0xa1, 2)]);
    let kept = |ttl| Body::LeaseKeepAlive { id: lease(0xa1), ttl };
    story.asks(100, first, Rpc::LeaseKeepAlive { id: lease(0xa1) }).answered(300, 2, kept(4));
    story.asks(400, first, Rpc::LeaseKeepAlive { id: lease(0xa1) }).answered(500, 2, kept(0));
    let extended = |entry: &Entry| matches!(entry.note, Note::Extended { .. }).then_some(entry.at);
    assert_eq!(story.account().entries.iter().filter_map(extended).collect::<Vec<_>>(), [ms(100)]);
}

#[test]
fn whoever_the_server_queued_for_has_the_key() {
    let first = attempt(5, 1);
    let mut story = Story::default();
    story.asks(10, first, Rpc::Lock { name: "orders".into(), lease: Some(lease(0xa1)) });
    story.answered(12, 2, Body::Lock { key: key(0xa1) }).tells(20, 0, &[created(0xa1, 2)]);
    assert_eq!(story.owners(), [(12, Some(first), Cause::Request(Some(first)))]);
}

#[test]
fn an_operation_on_an_object_is_read_written_or_refused_as_it_was_answered() {
    let (holder, object) = (attempt(5, 1), Key::from("objects/stock"));
    let errand = |op| Some(Errand { op: spec::OpId(op), object: "stock".into(), based_on: Some(Version(0)) });
    let write = |op| {
        let success = vec![Op::Put(Put::new(object, "".into(), None))];
        Txn { compare: Vec::new(), success, failure: Vec::new(), errand: errand(op) }
    };
    let mut story = Story::default();
    story.asks(10, holder, Txn { errand: errand(0), ..Txn::default() });
    story.answered(12, 1, Body::Txn { succeeded: true, responses: Vec::new() });
    story.asks(20, holder, write(1)).answered(22, 2, put());
    story.asks(30, holder, write(2)).answered(32, 2, Body::Txn { succeeded: false, responses: Vec::new() });
    let (revision, lease, value) = (Revision(2), None, "".into());
    let (create_revision, mod_revision, version) = (revision, revision, 1);
    let kv = KeyValue { key: object, create_revision, mod_revision, version, value, lease };
    story.tells(40, 0, &[EventKind::Put(kv)]);
    let account = story.account();
    assert_eq!(account.doubts, Vec::<String>::new());
    let said = |entry: &Entry| {
        let at = entry.at.as_nanos() / 1_000_000;
        match entry.note {
            Note::Read { op, version, .. } => (at, op.0, "read", version.0),
            Note::Wrote { op, replaced, .. } => (at, op.0, "wrote", replaced.0),
            Note::Refused { op, .. } => (at, op.0, "refused", 0),
            _ => (at, 0, "", 0),
        }
    };
    let said: Vec<_> = account.entries.iter().map(said).collect();
    assert_eq!(said, [(12, 0, "read", 0), (22, 1, "wrote", 0), (32, 2, "refused", 0)]);
}
