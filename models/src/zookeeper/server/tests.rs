//! A server alone, and an ensemble of three: what its members answer, and when.

use super::*;
use crate::rig::Rig;
use crate::zookeeper::answer::{Answer, Body, Connected, EventKind, ZkEvent, ZkReply};
use crate::zookeeper::api::{Connect, Create, Credentials, Delete, Mode, SetWatches, ZkRequest};
use crate::zookeeper::path::{Millis, Path, Zxid};

fn ensemble(count: u16) -> Rig {
    ensemble_of(7, count)
}

fn ensemble_of(seed: u64, count: u16) -> Rig {
    let servers = ZkServers { members: count, ..ZkServers::default() };
    let members: Vec<_> = (0..count).map(NodeId::new).collect();
    let make = |_| -> Box<dyn Fn() -> Box<dyn Service<Locks>>> {
        let members = members.clone();
        Box::new(move || Box::new(ZooKeeper::new(&members, servers)))
    };
    let mut rig = Rig::new(seed, (0..count).map(make).collect());
    rig.run(100);
    rig
}

fn ask_for(rig: &mut Rig, line: usize, request: ZkRequest, patience: u64) -> Option<ZkReply> {
    let had = rig.replies.len();
    rig.tell(line, request);
    rig.run(patience);
    rig.replies.split_off(had).into_iter().find_map(|(_, of, reply)| match reply {
        Message::ZkReply(reply) if of == line => Some(reply),
        _ => None,
    })
}

fn ask(rig: &mut Rig, line: usize, request: ZkRequest) -> Answer {
    ask_for(rig, line, request, 50).expect("it is answered").into_answer().expect("it is within a session")
}

fn connect(last_seen: Zxid, session: Option<Credentials>) -> ZkRequest {
    ZkRequest::Connect(Box::new(Connect { last_seen, timeout: Millis(6_000), session }))
}

/// A connection to that member, in a session of its own or that one.
fn client(rig: &mut Rig, member: usize, session: Option<Credentials>) -> (usize, Option<Connected>) {
    let line = rig.line(member);
    match ask_for(rig, line, connect(Zxid::default(), session), 50) {
        Some(ZkReply::Connected(connected)) => (line, Some(*connected)),
        _ => (line, None),
    }
}

fn begun(rig: &mut Rig, member: usize) -> (usize, Credentials) {
    let (line, connected) = client(rig, member, None);
    (line, connected.expect("a session begins").session)
}

fn create(path: &str, mode: Mode) -> ZkRequest {
    ZkRequest::Create(Box::new(Create { path: path.into(), data: "".into(), mode }))
}

fn exists(path: &str, watch: bool) -> ZkRequest {
    ZkRequest::Exists { path: path.into(), watch }
}

fn is_there(rig: &mut Rig, line: usize, path: &str) -> bool {
    ask(rig, line, exists(path, false)).outcome.is_ok()
}

/// Keeps a session alive for so many ms.
fn ping(rig: &mut Rig, line: usize, ms: u64) {
    for _ in 0..ms / 1_000 {
        rig.tell(line, ZkRequest::Ping);
        rig.run(1_000);
    }
}

fn events(rig: &Rig, line: usize) -> Vec<ZkEvent> {
    let own = |(_, of, push): &(u64, usize, Message)| match push {
        Message::ZkEvent(event) if *of == line => Some(**event),
        _ => None,
    };
    rig.pushes.iter().filter_map(own).collect()
}

#[test]
fn a_server_alone_counts_from_one_and_an_ensemble_within_its_epoch() {
    for (count, first) in [(1, Zxid(2)), (3, Zxid::new(1, 2))] {
        let mut rig = ensemble(count);
        let (line, session) = begun(&mut rig, usize::from(count) - 1);
        assert_eq!(session.session.0 >> 56, u64::from(count));
        let made = ask(&mut rig, line, create("/L", Mode::Persistent));
        assert_eq!(made.zxid, first, "the session was the first");
        assert_eq!(made.outcome.expect("it is new").stat().expect("it has one").czxid, first);
        let again = ask(&mut rig, line, create("/L", Mode::Persistent));
        assert_eq!((again.zxid, again.outcome), (first.next(), Err(ZkError::NodeExists)));
    }
}

#[test]
fn timeouts_are_between_two_ticks_and_twenty() {
    let mut rig = ensemble(1);
    let got = [1_000, 4_000, 6_000, 100_000].map(|asked| {
        let line = rig.line(0);
        let connect = Connect { last_seen: Zxid::default(), timeout: Millis(asked), session: None };
        match ask_for(&mut rig, line, ZkRequest::Connect(Box::new(connect)), 50) {
            Some(ZkReply::Connected(connected)) => connected.timeout.0,
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(got, [4_000, 4_000, 6_000, 40_000]);
}

#[test]
fn what_a_session_asks_is_answered_in_its_order_and_events_come_before_what_has_seen_them() {
    let mut rig = ensemble(3);
    let (line, _) = begun(&mut rig, 2);
    rig.tell(line, create("/L", Mode::Persistent));
    rig.tell(line, exists("/L", true));
    rig.tell(line, create("/L/a", Mode::Ephemeral));
    rig.tell(line, ZkRequest::Delete(Delete { path: "/L/a".into(), version: None }));
    rig.tell(line, ZkRequest::Delete(Delete { path: "/L".into(), version: None }));
    rig.tell(line, exists("/L", false));
    let had = rig.replies.len();
    rig.run(50);
    let told: Vec<_> = rig.replies[had..]
        .iter()
        .map(|(_, _, reply)| match reply {
            Message::ZkReply(ZkReply::Answer(answer)) => answer.outcome.as_ref().err().copied(),
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(told, [None, None, None, None, None, Some(ZkError::NoNode)]);
    assert_eq!(events(&rig, line), [ZkEvent { kind: EventKind::Deleted, path: "/L".into() }], "once");
}

#[test]
fn a_silent_session_ends_within_a_tick_after_its_timeout_wherever_its_client_is() {
    for member in 0..3 {
        let mut rig = ensemble(3);
        let ((line, _), (other, _)) = (begun(&mut rig, member), begun(&mut rig, 1));
        ask(&mut rig, line, create("/e", Mode::Ephemeral));
        let silent = rig.ms();
        ping(&mut rig, other, 6_000);
        assert!(is_there(&mut rig, other, "/e"));
        let gone = rig.run_until(4_000, |rig| !is_there(rig, other, "/e"));
        // What a follower has heard, it says within half a tick.
        let lived = gone.expect("it ends") - silent;
        assert!((6_000..=9_100).contains(&lived), "{lived} at {member}");
        assert!(!rig.is_open(line), "its server hangs up");
    }
}

#[test]
fn a_session_goes_on_elsewhere_and_is_refused_once_it_is_over() {
    let mut rig = ensemble(3);
    let (line, session) = begun(&mut rig, 1);
    ask(&mut rig, line, create("/e", Mode::Ephemeral));
    let (moved, connected) = client(&mut rig, 2, Some(session));
    assert_eq!(connected.map(|connected| connected.session), Some(session));
    assert!(is_there(&mut rig, moved, "/e"));
    // Its former server does not know yet; the leader does, and the connection is torn down.
    assert!(ask_for(&mut rig, line, create("/x", Mode::Persistent), 50).is_none());
    assert!(!rig.is_open(line));
    let wrong = Credentials { password: (1, 2), ..session };
    let line = rig.line(0);
    assert_eq!(ask_for(&mut rig, line, connect(Zxid::default(), Some(wrong)), 50), Some(ZkReply::Expired));
    let ended = ask(&mut rig, moved, ZkRequest::CloseSession);
    assert_eq!(ended.outcome, Ok(Body::Nothing));
    assert!(!rig.is_open(moved));
    let line = rig.line(0);
    assert_eq!(ask_for(&mut rig, line, connect(Zxid::default(), Some(session)), 50), Some(ZkReply::Expired));
    let ahead = rig.line(0);
    assert_eq!(ask_for(&mut rig, ahead, connect(Zxid::new(9, 0), None), 50), None, "it has seen more than the server");
    assert!(!rig.is_open(ahead));
}

#[test]
fn a_killed_leader_is_followed_by_another_and_sessions_have_all_of_their_time_again() {
    let mut rig = ensemble(3);
    assert_eq!(rig.leader, Some(0));
    let (line, session) = begun(&mut rig, 1);
    ask(&mut rig, line, create("/L", Mode::Persistent));
    ask(&mut rig, line, create("/L/lock-", Mode::EphemeralSequential));
    let silent = rig.ms();
    rig.run(3_000);
    rig.kill(0);
    rig.run(10);
    assert!(!rig.is_open(line), "who lost its leader serves nobody");
    assert_eq!(client(&mut rig, 1, None).1, None, "nor takes anybody");
    rig.run(1_000);
    assert!(matches!(rig.leader, Some(1 | 2)));
    rig.run_until(4_000, |rig| rig.ms() > silent + 6_500);
    let (line, connected) = client(&mut rig, 2, Some(session));
    assert!(connected.is_some(), "its time began anew with the leader");
    let made = ask(&mut rig, line, create("/L/lock-", Mode::EphemeralSequential));
    let Ok(Body::Created { path, stat }) = made.outcome else { panic!("{made}") };
    assert_eq!(path, Path::from("/L/lock-0000000001"));
    assert_eq!(stat.czxid.epoch(), 2);
}

#[test]
fn who_stood_still_for_long_leads_no_more_and_ends_no_session() {
    let mut rig = ensemble(3);
    let (line, _) = begun(&mut rig, 1);
    ask(&mut rig, line, create("/e", Mode::Ephemeral));
    rig.pause(0);
    ping(&mut rig, line, 9_000);
    assert!(rig.is_open(line), "a leader may be silent for five ticks");
    rig.run(4_000);
    assert!(matches!(rig.leader, Some(1 | 2)));
    rig.resume(0);
    rig.run(2_000);
    let ends = |(_, _, note): &(u64, NodeId, Note)| matches!(note, Note::Applied { cause: Cause::SessionEnd, .. });
    assert!(!rig.notes.iter().any(ends));
    let line = rig.line(0);
    rig.run(1_000);
    assert!(ask_for(&mut rig, line, connect(Zxid::default(), None), 50).is_some(), "it follows, and serves");
}

#[test]
fn who_wakes_may_end_sessions_before_it_reads_that_their_clients_are_there() {
    let survive = |still: u64| {
        let survives = |seed| {
            let mut rig = ensemble_of(seed, 1);
            let (line, _) = begun(&mut rig, 0);
            rig.pause(0);
            ping(&mut rig, line, still);
            rig.resume(0);
            rig.run(100);
            rig.is_open(line)
        };
        (0..20).filter(|seed| survives(*seed)).count()
    };
    assert_eq!(survive(5_000), 20);
    assert!((1..20).contains(&survive(9_000)));
}

#[test]
fn an_isolated_leader_gives_up_after_its_sync_limit_and_serves_reads_until_then() {
    let mut rig = ensemble(3);
    let (line, _) = begun(&mut rig, 0);
    ask(&mut rig, line, create("/L", Mode::Persistent));
    rig.cut(0, 1);
    rig.cut(0, 2);
    let cut = rig.ms();
    rig.tell(line, exists("/L", false));
    ping(&mut rig, line, 9_000);
    assert!(is_there(&mut rig, line, "/L"));
    let synced = ask(&mut rig, line, ZkRequest::Sync { path: "/L".into() });
    assert_eq!(synced.outcome, Ok(Body::Synced { path: "/L".into() }), "nobody is asked");
    assert!(ask_for(&mut rig, line, create("/M", Mode::Persistent), 50).is_none());
    let gave_up = rig.run_until(5_000, |rig| !rig.is_open(line)).expect("it gives up") - cut;
    assert!((10_000..=13_000).contains(&gave_up), "{gave_up}");
    assert!(matches!(rig.leader, Some(1 | 2)));
}

#[test]
fn who_is_cut_off_serves_what_it_has_and_a_sync_waits() {
    let mut rig = ensemble(3);
    let ((line, _), (other, _)) = (begun(&mut rig, 2), begun(&mut rig, 0));
    rig.cut(0, 2);
    rig.cut(1, 2);
    ask(&mut rig, other, create("/L", Mode::Persistent));
    assert!(!is_there(&mut rig, line, "/L"), "it is behind");
    assert!(ask_for(&mut rig, line, ZkRequest::Sync { path: "/L".into() }, 1_000).is_none());
    rig.run_until(14_000, |rig| !rig.is_open(line)).expect("it gives up on its leader");
    rig.heal();
    rig.run(8_000);
    let (line, connected) = client(&mut rig, 2, None);
    assert!(connected.is_some());
    assert!(is_there(&mut rig, line, "/L"), "it has caught up before it serves");
}

#[test]
fn watches_that_are_set_again_tell_what_has_changed_since() {
    let mut rig = ensemble(1);
    let ((line, _), (other, _)) = (begun(&mut rig, 0), begun(&mut rig, 0));
    let since = ask(&mut rig, line, create("/L", Mode::Persistent)).zxid;
    ask(&mut rig, other, create("/L/a", Mode::Persistent));
    let watches = SetWatches {
        since,
        data: vec!["/L".into(), "/gone".into()],
        exist: vec!["/L/a".into(), "/b".into()],
        child: vec!["/L".into()],
    };
    ask(&mut rig, line, ZkRequest::SetWatches(Box::new(watches)));
    let event = |kind, path: &str| ZkEvent { kind, path: path.into() };
    let told = [
        event(EventKind::Deleted, "/gone"),
        event(EventKind::Created, "/L/a"),
        event(EventKind::ChildrenChanged, "/L"),
    ];
    assert_eq!(events(&rig, line), told);
    ask(&mut rig, other, create("/b", Mode::Persistent));
    assert_eq!(events(&rig, line)[3..], [event(EventKind::Created, "/b")]);
}

#[test]
fn a_restarted_server_has_all_it_had() {
    let mut rig = ensemble(1);
    let (line, session) = begun(&mut rig, 0);
    ask(&mut rig, line, create("/e", Mode::Ephemeral));
    rig.kill(0);
    rig.run(10);
    rig.start(0);
    rig.run(100);
    let (line, connected) = client(&mut rig, 0, Some(session));
    assert!(connected.is_some());
    assert!(is_there(&mut rig, line, "/e"));
    let made = ask(&mut rig, line, create("/M", Mode::Persistent));
    assert_eq!(made.zxid, Zxid(3), "a server alone goes on counting");
}

#[test]
fn a_container_is_deleted_within_a_minute_after_its_last_child() {
    let mut rig = ensemble(1);
    let (line, _) = begun(&mut rig, 0);
    ask(&mut rig, line, create("/C", Mode::Container));
    ask(&mut rig, line, create("/C/k", Mode::Ephemeral));
    ask(&mut rig, line, ZkRequest::Delete(Delete { path: "/C/k".into(), version: None }));
    ping(&mut rig, line, 58_000);
    assert!(is_there(&mut rig, line, "/C"));
    ping(&mut rig, line, 3_000);
    assert!(!is_there(&mut rig, line, "/C"));
}
