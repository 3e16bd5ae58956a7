//! Promotion, demotion, and what becomes of what the one has and the other has not.

use super::*;

#[test]
fn a_promoted_replica_writes_and_has_what_had_come() {
    let mut servers = Servers::new(1);
    servers.rig.as_attempt(Some(attempt(1)));
    servers.lock(P, "A", 60_000);
    let since = servers.rig.ms();
    servers.replica_of(R, None);
    assert_eq!(servers.lock(R, "B", 1_000), Reply::Nil);
    assert_eq!(servers.release(R, "A"), Reply::Int(1));
    assert_eq!(servers.lock(R, "B", 1_000), Reply::Ok);
    let own = |attempt, cause| (R, Note::Owner { authority: node(R), key: "L".into(), attempt, cause });
    let (one, asked) = (Some(attempt(1)), Cause::Request(Some(attempt(1))));
    let expected = [
        own(one, Cause::Promotion),
        (R, Note::Promoted { authority: node(R), instead_of: node(P) }),
        own(None, asked),
        own(one, asked),
    ];
    assert_eq!(servers.owners(since), expected);
    assert_eq!(servers.rig.leader, Some(R));
    // It expires what is over from now on.
    servers.rig.run(1_100);
    assert_eq!(servers.owners(since).last(), Some(&own(None, Cause::Expiry)));
}

#[test]
fn what_is_over_on_its_clock_is_gone_when_it_is_promoted() {
    let mut servers = Servers::new(1);
    servers.rig.as_attempt(Some(attempt(1)));
    servers.lock(P, "A", 5_000);
    servers.rig.step_wall(R, 10_000);
    let since = servers.rig.ms();
    servers.replica_of(R, None);
    assert_eq!(servers.owners(since), [(R, Note::Promoted { authority: node(R), instead_of: node(P) })]);
    servers.rig.step_wall(R, -10_000);
    assert_eq!(servers.get(R), Reply::Nil);
}

#[test]
fn a_diverged_primary_loses_what_it_wrote_alone() {
    // Item 18.
    let mut servers = Servers::new(1);
    servers.rig.as_attempt(Some(attempt(1)));
    servers.replica_of(R, None);
    servers.rig.run(100);
    servers.lock(P, "old", 60_000);
    servers.ask(R, Command::Set { key: "n2".into(), value: 2.into(), only: None, get: false, lives: Lives::Forever });
    let since = servers.rig.ms();
    servers.replica_of(P, Some(R));
    // It waits for a snapshot for five seconds and what is left of the sixth; until then it has what it had.
    assert_eq!(servers.get(P), bulk("old"));
    assert_eq!(servers.lock(P, "B", 1_000), refused(Refusal::ReadOnly));
    servers.rig.run(4_000);
    assert!(matches!(servers.info(P).role, Role::Replica { link: Link::Down { .. }, .. }));
    servers.rig.run(3_500);
    assert_eq!(servers.get(P), Reply::Nil);
    assert_eq!(servers.ask(P, Command::Get { key: "n2".into() }), bulk("2"));
    assert_eq!(servers.info(P).role, Role::Replica { of: node(R), link: Link::Up });
    let given_up = Note::Owner { authority: node(P), key: "L".into(), attempt: None, cause: Cause::Demotion };
    assert_eq!(servers.owners(since), [(P, given_up), (P, Note::Demoted { authority: node(P) })]);
}

#[test]
fn one_that_is_no_further_than_the_other_goes_on_from_there() {
    let mut servers = Servers::new(2);
    servers.lock(P, "A", 60_000);
    servers.rig.kill(P);
    servers.replica_of(R, None);
    servers.ask(R, Command::Incr { key: "n".into() });
    servers.replica_of(Q, Some(R));
    servers.rig.run(10);
    assert_eq!(servers.info(Q).role, Role::Replica { of: node(R), link: Link::Up }, "at once");
    assert_eq!(servers.ask(Q, Command::Get { key: "n".into() }), bulk("1"));
    assert_eq!(servers.get(Q), bulk("A"));
}

#[test]
fn a_replica_that_was_cut_off_goes_on_where_it_was() {
    let mut servers = Servers::new(1);
    servers.rig.cut(P, R);
    servers.lock(P, "A", 120_000);
    // It hears nothing for a minute, and tries again, each second or each minute.
    servers.rig.run(62_000);
    servers.rig.heal();
    servers.rig.run(62_000);
    assert_eq!(servers.info(R).role, Role::Replica { of: node(P), link: Link::Up });
    assert_eq!(servers.get(R), Reply::Nil, "it came, and has expired");
    assert_eq!(servers.info(R).offset, servers.info(P).offset);
}

#[test]
fn a_primary_that_starts_again_empties_its_replicas() {
    let mut servers = Servers::new(1);
    servers.lock(P, "A", 120_000);
    servers.rig.kill(P);
    servers.rig.run(300);
    assert!(matches!(servers.info(R).role, Role::Replica { link: Link::Down { .. }, .. }));
    assert_eq!(servers.get(R), bulk("A"));
    servers.rig.start(P);
    servers.rig.run(4_000);
    assert_eq!(servers.get(R), bulk("A"));
    servers.rig.run(4_000);
    assert_eq!(servers.get(R), Reply::Nil);
    assert!(servers.is_replica(R));
}

#[test]
fn a_restarted_server_is_what_its_configuration_says() {
    for rewritten in [false, true] {
        let mut servers = Servers::new(1);
        servers.replica_of(R, None);
        if rewritten {
            assert_eq!(servers.ask(R, Command::ConfigRewrite), Reply::Ok);
        }
        servers.rig.kill(R);
        servers.rig.start(R);
        servers.rig.run(100);
        assert_eq!(servers.is_replica(R), !rewritten);
    }
}

#[test]
fn clients_that_wait_are_sent_away_when_the_server_is_demoted() {
    let mut servers = Servers::new(1);
    servers.rig.cut(P, R);
    let line = servers.lines[P];
    servers.lock(P, "A", 60_000);
    servers.rig.tell(line, Command::Wait { replicas: 1, timeout: 0 });
    servers.rig.run(10);
    let operator = servers.rig.line(P);
    servers.rig.ask(operator, Command::ReplicaOf { primary: Some(node(R)) });
    let sent_away = Message::from(Reply::Error(RedisError::Unblocked));
    assert!(servers.rig.replies.iter().any(|(_, on, reply)| *on == line && *reply == sent_away));
    assert!(!servers.rig.is_open(line));
}

#[test]
fn clients_are_sent_away_by_client_kill_but_for_the_one_that_asks_and_replicas() {
    let mut servers = Servers::new(1);
    servers.get(P);
    let (other, operator) = (servers.lines[P], servers.rig.line(P));
    assert_eq!(servers.rig.ask(operator, Command::ClientKill), Some(Message::from(Reply::Int(1))));
    assert!(!servers.rig.is_open(other) && servers.rig.is_open(operator));
    assert!(matches!(servers.info(P).role, Role::Primary { replicas } if replicas == [node(R)]));
}

#[test]
fn the_roles_are_told() {
    let mut servers = Servers::new(1);
    let bulks = |reply: Reply| match reply {
        Reply::Array(parts) => parts[0].clone(),
        other => panic!("{other}"),
    };
    assert_eq!(bulks(servers.ask(P, Command::Role)), bulk("master"));
    assert_eq!(bulks(servers.ask(R, Command::Role)), bulk("slave"));
    let (one, other) = (servers.info(P), servers.info(R));
    assert_eq!(one.role, Role::Primary { replicas: vec![node(R)] });
    assert_eq!(other.role, Role::Replica { of: node(P), link: Link::Up });
    assert_ne!(one.run, other.run);
}

#[test]
fn an_operator_may_promote() {
    let mut servers = Servers::new(1);
    servers.rig.nudge(R, Nudge::Promote);
    assert_eq!(servers.lock(R, "B", 1_000), Reply::Ok);
    assert_eq!(servers.lock(P, "A", 1_000), Reply::Ok, "the other knows nothing of it");
}
