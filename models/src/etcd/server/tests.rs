//! A cluster of three, and what its members answer.

use host::Name;

use super::*;
use crate::etcd::answer::Push;
use crate::etcd::api::{Compare, Put, Watch};
use crate::etcd::key::{Key, Keys, Revision};
use crate::rig::Rig;

fn cluster(version: Version) -> Rig {
    let servers = EtcdServers { version, ..EtcdServers::default() };
    let members: Vec<_> = (0..3).map(NodeId::new).collect();
    let make = |_| -> Box<dyn Fn() -> Box<dyn Service<Locks>>> {
        let members = members.clone();
        Box::new(move || Box::new(Etcd::new(&members, servers)))
    };
    let mut rig = Rig::new(7, (0..3).map(make).collect());
    rig.run(100);
    rig
}

/// Asks a member on a connection, and waits for so many ms at most.
fn ask(rig: &mut Rig, line: usize, rpc: impl Into<Rpc>, patience: u64) -> Option<Reply> {
    let had = rig.replies.len();
    rig.tell(line, rpc.into());
    rig.run(patience);
    rig.replies.split_off(had).into_iter().find_map(|(_, of, reply)| match reply {
        Message::EtcdReply(reply) if of == line => Some(reply),
        _ => None,
    })
}

/// Waits until so many ms have passed since the beginning.
fn wait(rig: &mut Rig, until: u64) {
    let ms = until - rig.ms();
    rig.run(ms);
}

fn body(reply: Option<Reply>) -> Body {
    reply.expect("it is answered").into_result().expect("it is served").body
}

fn lease(number: u64) -> LeaseId {
    LeaseId::new(number).expect("not 0")
}

fn is_there(rig: &mut Rig, line: usize, key: Key) -> bool {
    matches!(body(ask(rig, line, Range::of(Keys::One(key)), 50)), Body::Range { count: 1, .. })
}

const QUEUE: Name = Name::fixed("orders/");

fn put_on_lease(rig: &mut Rig, line: usize, number: u64, ttl: i64) -> Key {
    ask(rig, line, Rpc::LeaseGrant { ttl, id: Some(lease(number)) }, 50);
    let key = Key::under(QUEUE, lease(number));
    ask(rig, line, Put::new(key, "".into(), Some(lease(number))), 50);
    key
}

#[test]
fn whoever_is_asked_answers_and_all_have_it() {
    let mut rig = cluster(Version::Fixed);
    let lines: Vec<_> = (0..3).map(|member| rig.line(member)).collect();
    rig.run(10);
    let put = body(ask(&mut rig, lines[2], Put::new("k".into(), "v".into(), None), 50));
    assert_eq!(put, Body::Put { prev_kv: None });
    for line in lines {
        assert!(is_there(&mut rig, line, "k".into()));
        let local = Range { serializable: true, ..Range::of(Keys::One("k".into())) };
        assert!(matches!(body(ask(&mut rig, line, local, 50)), Body::Range { count: 1, .. }));
    }
}

#[test]
fn a_lease_ends_within_half_a_second_and_not_if_it_is_kept_alive_anywhere() {
    for kept in [false, true] {
        let mut rig = cluster(Version::Fixed);
        let line = rig.line(2);
        rig.run(10);
        let key = put_on_lease(&mut rig, line, 77, 2);
        let begun = rig.ms();
        if kept {
            wait(&mut rig, begun + 1_000);
            let alive = body(ask(&mut rig, line, Rpc::LeaseKeepAlive { id: lease(77) }, 50));
            assert_eq!(alive, Body::LeaseKeepAlive { id: lease(77), ttl: 2 }, "a follower has the leader answer");
        }
        wait(&mut rig, begun + 2_600);
        assert_eq!(is_there(&mut rig, line, key), kept);
        wait(&mut rig, begun + 3_700);
        assert!(!is_there(&mut rig, line, key));
        let gone = body(ask(&mut rig, line, Rpc::LeaseKeepAlive { id: lease(77) }, 50));
        assert_eq!(gone, Body::LeaseKeepAlive { id: lease(77), ttl: 0 });
    }
}

#[test]
fn a_new_leader_gives_a_lease_all_of_its_time_again_and_an_election_more() {
    let mut rig = cluster(Version::Fixed);
    assert_eq!(rig.leader, Some(0));
    let line = rig.line(2);
    rig.run(10);
    let key = put_on_lease(&mut rig, line, 77, 3);
    let begun = rig.ms();
    wait(&mut rig, begun + 1_500);
    rig.pause(0);
    // Elected after 1 to 2 s, and then 3 s and 1 s: not before 6.4 s, and not after 8.1 s and a half.
    wait(&mut rig, begun + 6_300);
    assert!(is_there(&mut rig, line, key));
    wait(&mut rig, begun + 9_000);
    assert!(!is_there(&mut rig, line, key));
}

#[test]
fn without_a_majority_nothing_is_agreed_upon_and_what_is_there_can_be_read() {
    let mut rig = cluster(Version::Fixed);
    let line = rig.line(0);
    rig.run(10);
    ask(&mut rig, line, Put::new("k".into(), "v".into(), None), 50);
    rig.pause(1);
    rig.pause(2);
    let put = ask(&mut rig, line, Put::new("k".into(), "w".into(), None), 7_100);
    assert_eq!(put, Some(Reply::Failed(EtcdError::Timeout)), "7 s later");
    let local = Range { serializable: true, ..Range::of(Keys::One("k".into())) };
    assert!(matches!(body(ask(&mut rig, line, local.clone(), 50)), Body::Range { count: 1, .. }));
    for success in [vec![Op::Range(local)], Vec::new()] {
        let txn = Txn { success, ..Txn::default() };
        assert!(matches!(body(ask(&mut rig, line, txn, 50)), Body::Txn { succeeded: true, .. }));
    }
    assert_eq!(
        ask(&mut rig, line, Range::of(Keys::One("k".into())), 6_000),
        None,
        "nobody says that this is the newest"
    );
    rig.run(1_100);
    // By now it knows that it leads nobody, and the read has failed.
    let put = ask(&mut rig, line, Put::new("k".into(), "w".into(), None), 7_100);
    assert_eq!(put, Some(Reply::Failed(EtcdError::DeadlineExceeded)), "it was never proposed");
    let keep = ask(&mut rig, line, Rpc::LeaseKeepAlive { id: lease(77) }, 7_100);
    assert_eq!(keep, Some(Reply::Failed(EtcdError::NoLeader)));
}

#[test]
fn who_has_asked_a_leader_that_stands_still_waits_for_it_whoever_leads_by_then() {
    let mut rig = cluster(Version::Fixed);
    let (line, later) = (rig.line(2), rig.line(2));
    rig.run(10);
    put_on_lease(&mut rig, line, 77, 9);
    rig.pause(0);
    let keep = || Rpc::LeaseKeepAlive { id: lease(77) };
    assert_eq!(ask(&mut rig, line, keep(), 6_900), None);
    assert_ne!(rig.leader, Some(0));
    let kept = body(ask(&mut rig, later, keep(), 50));
    assert_eq!(kept, Body::LeaseKeepAlive { id: lease(77), ttl: 9 }, "who asks now asks the new leader");
    rig.run(200);
    let said = rig.replies.iter().rev().find(|(_, of, _)| *of == line).map(|(_, _, reply)| reply.clone());
    assert_eq!(said, Some(Message::EtcdReply(Reply::Failed(EtcdError::Timeout))), "7 s later");
}

#[test]
fn only_who_becomes_the_leader_itself_blames_the_last_one() {
    let mut rig = cluster(Version::Fixed);
    let lines = [1, 2].map(|member| rig.line(member));
    rig.run(10);
    rig.pause(0);
    let asked = rig.ms();
    for line in lines {
        rig.tell(line, Rpc::from(Put::new("k".into(), "v".into(), None)));
    }
    wait(&mut rig, asked + 7_100);
    let elected = rig.leader.expect("one of them leads");
    let said = |line: usize| rig.replies.iter().rev().find(|(_, of, _)| *of == line).map(|(_, _, reply)| reply.clone());
    for (member, line) in [(1, lines[0]), (2, lines[1])] {
        let why = if member == elected { EtcdError::TimeoutLeaderFail } else { EtcdError::Timeout };
        assert_eq!(said(line), Some(Message::EtcdReply(Reply::Failed(why))), "member {member}, {elected} leads");
    }
}

#[test]
fn who_watches_is_told_of_what_was_and_of_what_comes_in_order() {
    let mut rig = cluster(Version::Fixed);
    let (line, other) = (rig.line(1), rig.line(0));
    rig.run(10);
    for value in ["a", "b"] {
        ask(&mut rig, other, Put::new("k".into(), value.into(), None), 50);
    }
    let created = body(ask(&mut rig, line, Watch::of(Keys::One("k".into()), Some(Revision(2))), 50));
    assert_eq!(created, Body::WatchCreated { id: crate::etcd::WatchId(0) });
    ask(&mut rig, other, Delete::one("k".into()), 50);
    ask(&mut rig, other, Put::new("other".into(), "".into(), None), 50);
    let revisions: Vec<_> = rig
        .pushes
        .iter()
        .filter_map(|(_, _, push)| match push {
            Message::EtcdPush(push) => Some(&**push),
            _ => None,
        })
        .flat_map(|push: &Push| push.events.iter().map(|event| event.revision().0))
        .collect();
    assert_eq!(revisions, [2, 3, 4]);
}

#[test]
fn the_server_queues_for_its_client() {
    let mut rig = cluster(Version::V3_4_23);
    let (line, other) = (rig.line(1), rig.line(2));
    rig.run(10);
    for number in [300, 400] {
        ask(&mut rig, line, Rpc::LeaseGrant { ttl: 60, id: Some(lease(number)) }, 50);
    }
    let name = Name::fixed("M");
    let held = |number| Body::Lock { key: Key::under("M/".into(), lease(number)) };
    assert_eq!(body(ask(&mut rig, line, Rpc::Lock { name, lease: Some(lease(300)) }, 100)), held(300));
    assert_eq!(ask(&mut rig, other, Rpc::Lock { name, lease: Some(lease(400)) }, 1_000), None, "it waits");
    let unlock = Rpc::Unlock { key: Key::under("M/".into(), lease(300)) };
    rig.tell(line, unlock);
    rig.run(60);
    let answers = rig.replies.iter().filter_map(|(_, of, reply)| match reply {
        Message::EtcdReply(Reply::Done(response)) => Some((*of, response.body.clone())),
        _ => None,
    });
    let answers: Vec<_> = answers.collect();
    assert_eq!(answers.len(), 2);
    assert!(answers.contains(&(line, Body::Unlock)) && answers.contains(&(other, held(400))), "its turn has come");
}

#[test]
fn who_waits_for_a_lock_and_hangs_up_leaves_the_queue() {
    let mut rig = cluster(Version::Fixed);
    let (line, other, third) = (rig.line(0), rig.line(1), rig.line(2));
    rig.run(10);
    for number in [300, 400, 500] {
        ask(&mut rig, line, Rpc::LeaseGrant { ttl: 60, id: Some(lease(number)) }, 50);
    }
    let lock = |number| Rpc::Lock { name: Name::fixed("M"), lease: Some(lease(number)) };
    let key = |number| Key::under("M/".into(), lease(number));
    ask(&mut rig, line, lock(300), 100);
    ask(&mut rig, other, lock(400), 100);
    ask(&mut rig, third, lock(500), 100);
    assert!(is_there(&mut rig, line, key(400)));
    rig.hang_up(other);
    rig.run(60);
    assert!(!is_there(&mut rig, line, key(400)), "nobody waits behind it");
    rig.tell(line, Rpc::Unlock { key: key(300) });
    rig.run(60);
    let is_held = |(_, of, reply): &(_, usize, Message)| {
        let body = Body::Lock { key: key(500) };
        *of == third && matches!(reply, Message::EtcdReply(Reply::Done(response)) if response.body == body)
    };
    assert!(rig.replies.iter().any(is_held), "its turn has come");
}

#[test]
fn a_transaction_that_only_reads_is_a_read() {
    let mut rig = cluster(Version::Fixed);
    let line = rig.line(0);
    rig.run(10);
    let txn = Txn {
        compare: vec![Compare::created_at("k".into(), Revision(0))],
        success: vec![Op::Range(Range::of(Keys::One("k".into())))],
        ..Txn::default()
    };
    let reply = ask(&mut rig, line, txn, 50).expect("it is answered").into_result().expect("it is served");
    assert_eq!(reply.header.revision, Revision(1), "and makes no revision");
    assert!(matches!(reply.body, Body::Txn { succeeded: true, .. }));
}

#[test]
fn who_keeps_alive_what_is_over_hears_when_it_has_ended() {
    let mut rig = cluster(Version::Fixed);
    let line = rig.line(0);
    rig.run(10);
    put_on_lease(&mut rig, line, 77, 2);
    // It was granted some 100 ms ago, and is looked at every 500.
    let begun = rig.ms();
    wait(&mut rig, begun + 1_950);
    let answer = body(ask(&mut rig, line, Rpc::LeaseKeepAlive { id: lease(77) }, 600));
    assert_eq!(answer, Body::LeaseKeepAlive { id: lease(77), ttl: 0 });
}
