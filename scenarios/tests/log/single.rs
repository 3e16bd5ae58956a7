//! One thing at a time.

use host::{NodeId, Operation, Span};
use sim::{Direction, Entity, Fault, Held, Lasts, Link, MessageMatch, Outcome, Target, What, When};

use crate::check::{Found, check};
use crate::register::{Note, Nothing};
use crate::world::{Plan, ms, play};

/// Something happens to a member from that time on, for so long, in ms.
fn fault(at: u64, lasts: u64, what: impl FnOnce(Vec<Target>) -> What<Nothing>, member: u16) -> Fault<Nothing> {
    let what = what(vec![Target::Node(NodeId::new(member))]);
    Fault { entity: Entity::named("fault"), what, when: When::At(ms(at)), lasts: Lasts::For(Span::Fixed(ms(lasts))) }
}

fn played(plan: &Plan, faults: Vec<Fault<Nothing>>) -> (Outcome<Note>, Found) {
    let outcome = play(plan, 7, faults);
    let found = check(&outcome).unwrap_or_else(|what| panic!("{what}"));
    (outcome, found)
}

/// When members were elected, in ms.
fn elections(outcome: &Outcome<Note>) -> Vec<u64> {
    let elected = outcome.notes.iter().filter(|noted| matches!(noted.note, Note::Elected { .. }));
    elected.map(|noted| noted.at.as_nanos() / 1_000_000).collect()
}

#[test]
fn a_cluster_that_is_left_alone_answers_everything_under_one_leader() {
    for members in [1, 3, 5] {
        let (outcome, found) = played(&Plan { members, ..Plan::QUIET }, Vec::new());
        assert!(found.answered > 50 && elections(&outcome).len() == 1, "{members}: {found:?}");
        let gave_up = outcome.notes.iter().filter(|noted| matches!(noted.note, Note::GaveUp { .. })).count();
        assert_eq!(gave_up, 0, "{members}");
    }
}

#[test]
fn a_cluster_that_has_been_there_for_long_begins_with_a_leader() {
    let begun = |begins, pre_vote| elections(&played(&Plan { begins, pre_vote, ..Plan::QUIET }, Vec::new()).0)[0];
    assert!(begun(true, false) < 10 && begun(true, true) < 10);
    // Ten ticks to nineteen, the first of which comes within one.
    assert!((900..1_910).contains(&begun(false, false)) && (900..1_910).contains(&begun(false, true)));
}

#[test]
fn who_starts_goes_ahead_when_it_has_found_others() {
    for (members, head_start, first) in
        [(1, false, 900..1_910), (1, true, 0..1_010), (3, false, 900..1_910), (3, true, 100..1_110)]
    {
        let plan = Plan { members, head_start, begins: false, ..Plan::QUIET };
        let elected = elections(&played(&plan, Vec::new()).0)[0];
        assert!(first.contains(&elected), "{members} {head_start}: {elected}");
    }
}

#[test]
fn who_follows_and_stood_still_has_one_late_tick_and_stands_for_nothing() {
    let (outcome, _) = played(&Plan::QUIET, vec![fault(500, 5_000, What::Pause, 2)]);
    assert_eq!(elections(&outcome).len(), 1);
    // Who leads and stood still for longer than an election takes finds another.
    let (outcome, _) = played(&Plan::QUIET, vec![fault(500, 5_000, What::Pause, 0)]);
    let elections = elections(&outcome);
    assert!(elections.len() == 2 && (1_400..2_600).contains(&elections[1]), "{elections:?}");
}

#[test]
fn who_waits_for_its_disk_does_not_tick() {
    for syncs in [300, 3_000] {
        let slow = |member| fault(500, 1_000, |who| What::SlowDisk(who, Span::Fixed(ms(syncs))), member);
        let (outcome, _) = played(&Plan::QUIET, vec![slow(2)]);
        assert!(outcome.strikes[0].met > 0);
        assert_eq!(elections(&outcome).len(), 1, "what it follows is answered late, and not deposed");
        // A leader says nothing while it waits.
        let (outcome, _) = played(&Plan::QUIET, vec![slow(0)]);
        assert_eq!(elections(&outcome).len(), if syncs == 300 { 1 } else { 2 });
    }
}

#[test]
fn who_was_away_while_the_others_compacted_is_sent_their_state() {
    for (compacts, restored) in [(5, true), (1_000, false)] {
        let plan = Plan { compacts, asks_for: ms(4_000), ..Plan::QUIET };
        let (outcome, _) = played(&plan, vec![fault(500, 3_000, What::PowerOff, 2)]);
        let sent =
            |noted: &&sim::Noted<Note>| matches!(noted.note, Note::Restored { .. }) && noted.node == NodeId::new(2);
        let after = outcome.notes.iter().filter(sent).filter(|noted| noted.at.as_nanos() > 3_500_000_000);
        assert_eq!(after.count() > 0, restored, "{compacts}");
    }
}

#[test]
fn who_was_sent_a_state_is_sent_entries_again_although_its_answer_is_lost() {
    let plan = Plan { compacts: 5, asks_for: ms(4_000), ..Plan::QUIET };
    let [leader, other] = [0, 2].map(|member| Target::Node(NodeId::new(member)));
    let lost = |(direction, client, server)| {
        let (operation, clients) = (Operation("append-reply"), vec![client]);
        let what = What::Drop(MessageMatch { direction, operation, clients, server: Some(server), nth: None });
        Fault { what, ..fault(3_450, 400, What::Pause, 2) }
    };
    let on_the_pipeline = (Direction::Request, other, leader);
    // That a state has come is said apart. If that is lost too, 5 s later it is sent again: all are well in the end.
    for (lost_on, soon) in
        [(vec![on_the_pipeline], true), (vec![on_the_pipeline, (Direction::Push, leader, other)], false)]
    {
        let faults = [fault(500, 3_000, What::Kill, 2)].into_iter().chain(lost_on.into_iter().map(lost)).collect();
        let (outcome, _) = played(&plan, faults);
        assert!(outcome.strikes[1..].iter().all(|strike| strike.met > 0));
        let applied = outcome.notes.iter().filter(|noted| matches!(noted.note, Note::Applied { .. }));
        let times = applied.filter(|noted| noted.node == NodeId::new(2)).map(|noted| noted.at.as_nanos() / 1_000_000);
        assert_eq!(times.filter(|at| (3_700..8_000).contains(at)).count() > 0, soon);
    }
}

#[test]
fn who_comes_back_is_heard_at_once_although_the_others_do_not_know_that_it_was_gone() {
    // It says nothing of its loss of power, and they only read on the connections that they had dialled. A third stands
    // still: nothing is agreed upon without it.
    let faults = vec![fault(300, 100, What::PowerOff, 2), fault(450, 2_000, What::Pause, 1)];
    let (outcome, _) = played(&Plan { clients: 6, ..Plan::QUIET }, faults);
    let applied = outcome.notes.iter().filter(|noted| matches!(noted.note, Note::Applied { command: Some(_), .. }));
    let times = applied.filter(|noted| noted.node == NodeId::new(0)).map(|noted| noted.at.as_nanos() / 1_000_000);
    assert!(times.filter(|at| (500..900).contains(at)).count() > 0);
}

#[test]
fn who_has_voted_and_died_does_not_vote_again_in_that_term() {
    // Two who cannot reach each other stand for election, and who decides between them dies again and again.
    let plan = Plan { begins: false, asks_for: ms(1), ..Plan::QUIET };
    let apart = || What::Cut(between(0, 1), Held::Dropped);
    let (mut elected, mut died) = (0, 0);
    for seed in 0..400 {
        let kill =
            Fault { when: When::Every { at: ms(900), every: ms(60), times: Some(80) }, ..fault(0, 2, What::Kill, 2) };
        let apart = Fault { what: apart(), ..fault(0, 8_000, What::Pause, 0) };
        let outcome = play(&plan, seed, vec![kill, apart]);
        check(&outcome).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        elected += elections(&outcome).len();
        died += outcome.strikes.len();
    }
    assert!(elected > 400 && died > 20_000, "{elected} {died}");
}

/// Both ways between two members.
fn between(one: u16, other: u16) -> Vec<Link> {
    let [one, other] = [one, other].map(|member| Target::Node(NodeId::new(member)));
    vec![Link { from: one, to: other }, Link { from: other, to: one }]
}
