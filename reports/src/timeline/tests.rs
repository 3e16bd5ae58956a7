use host::Activity;
use spec::OpId;

use super::*;
use crate::run::Failed;
use crate::testing::{REDIS, Told, WORKER_1, WORKER_2, attempt, paused_at_an_open_resource};

#[test]
fn every_note_and_every_strike_has_a_line() {
    let lines = paused_at_an_open_resource().tell(|run| timeline(run, Some(Property::EffectOrder), 100));
    assert_eq!(lines.join("\n"), include_str!("../../tests/golden/timeline.txt").trim_end());
}

#[test]
fn without_a_broken_property_nothing_is_marked() {
    let told = paused_at_an_open_resource();
    for property in [None, Some(Property::GrantExclusion)] {
        let lines = told.tell(|run| timeline(run, property, 100));
        assert!(lines.iter().all(|line| !line.starts_with('→')), "{lines:#?}");
    }
}

#[test]
fn lines_are_cut_off_at_the_width() {
    let lines = paused_at_an_open_resource().tell(|run| timeline(run, None, 40));
    assert!(lines.iter().all(|line| line.chars().count() <= 40), "{lines:#?}");
    assert!(lines.iter().any(|line| line.chars().count() == 40 && line.ends_with('…')), "{lines:#?}");
}

#[test]
fn who_wakes_does_so_before_it_acts() {
    let mut told = Told::new("open");
    let own = attempt(WORKER_1, 1);
    told.fault(("gc", "pause"), &[WORKER_1], 100, 200).becomes(100, WORKER_1, Activity::Paused);
    told.asks(100, own).left(200, own, 0);
    let lines = told.tell(|run| timeline(run, None, 100));
    let order = ["asks for", "`gc` strikes", "`gc` ends", "op 0 leaves"];
    assert!(lines.iter().zip(order).all(|(line, words)| line.contains(words)), "{lines:#?}");
}

#[test]
fn a_fault_on_several_nodes_names_them_and_says_if_it_hit_nothing() {
    let mut told = Told::new("open");
    told.fault(("net", "reset"), &[WORKER_1, REDIS], 100, 100).fault(("gone", "kill"), &[WORKER_2], 200, None);
    told.faults[0].landed = false;
    let lines = told.tell(|run| timeline(run, None, 100));
    assert_eq!(
        lines,
        [
            "! 0.100 s            `net` strikes worker-1 and redis-1 (reset), where nothing was in use",
            "! 0.200 s  worker-2  `gone` strikes (kill)",
        ]
    );
}

#[test]
fn a_history_in_which_nothing_happened_has_no_line() {
    assert!(Told::new("open").tell(|run| timeline(run, None, 80)).is_empty());
}

#[test]
fn no_two_kinds_of_note_read_alike() {
    let mut told = Told::new("open");
    let own = attempt(WORKER_1, 1);
    told.takes(100, own, 1, Some(10_100)).renewed(200, own, 20_200).checked(300, own, 0).left(300, own, 0);
    told.read(400, own, 0, 0).wrote(500, own, 1, Some(0), 0).refused(600, own, 2).gives_back(700, own);
    let (authority, key) = (REDIS, "orders".into());
    let owner = |cause| Note::Owner { authority, key, attempt: None, cause };
    let extended = |by| Note::Extended { authority, key, attempt: own, by };
    let others = [
        Note::Denied { attempt: own },
        Note::Failed { attempt: own },
        Note::RenewalFailed { attempt: own },
        Note::ToldOfLoss { attempt: own },
        Note::ReleaseRefused { attempt: own },
        Note::GaveUp { attempt: own },
        Note::Renewing { attempt: own },
        owner(Cause::Request(None)),
        owner(Cause::Expiry),
        owner(Cause::SessionEnd),
        owner(Cause::Eviction),
        owner(Cause::Restart),
        extended(Some(own)),
        extended(None),
        Note::Effected { attempt: Some(own), op: OpId(3), effect: "charge".into() },
    ];
    for note in others {
        told.note(800, WORKER_1, note);
    }
    let mut words = told.tell(|run| timeline(run, None, 100));
    assert_eq!(words.len(), told.history.entries.len());
    words.iter_mut().for_each(|line| *line = line.split_off(22));
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), told.history.entries.len(), "{words:#?}");
}

#[test]
fn a_client_that_is_denied_again_and_again_takes_one_line() {
    let mut told = Told::new("open");
    for nth in 1..=3 {
        let own = attempt(WORKER_1, nth);
        told.asks(u64::from(nth) * 100, own).note(u64::from(nth) * 100 + 1, WORKER_1, Note::Denied { attempt: own });
    }
    told.takes(400, attempt(WORKER_1, 4), 1, Some(10_100));
    let lines = told.tell(|run| timeline(run, None, 100));
    assert_eq!(
        lines,
        [
            "  0.100 s  worker-1  asks and is denied, 3 times until 0.301 s",
            "  0.400 s  worker-1  asks for `orders` (attempt 4)",
            "  0.400 s  redis-1   `orders` is owned by worker-1 (attempt 4)",
            "  0.401 s  worker-1  granted, token 1, until 10.100 s",
        ]
    );
}

#[test]
fn tries_between_which_something_else_happens_keep_their_lines() {
    let mut told = Told::new("open");
    for nth in 1..=3 {
        let own = attempt(WORKER_1, nth);
        told.asks(u64::from(nth) * 100, own).note(u64::from(nth) * 100, WORKER_1, Note::Denied { attempt: own });
        told.asks(u64::from(nth) * 100, attempt(WORKER_2, nth));
    }
    let lines = told.tell(|run| timeline(run, None, 100));
    assert_eq!(lines.len(), told.history.entries.len(), "{lines:#?}");
}

#[test]
fn why_a_server_refused_stands_before_what_came_of_it() {
    let mut told = Told::new("open");
    let own = attempt(WORKER_1, 1);
    told.asks(100, own).note(200, WORKER_1, Note::Denied { attempt: own });
    told.error(200, WORKER_1, Failed::Statement(Some("lock".to_owned())), "deadlock detected");
    told.error(300, WORKER_2, Failed::Statement(None), "cancelled");
    told.error(400, WORKER_2, Failed::Session, "idle for too long");
    let lines = told.tell(|run| timeline(run, None, 100));
    assert_eq!(
        lines,
        [
            "  0.100 s  worker-1  asks for `orders` (attempt 1)",
            "  0.200 s  worker-1  its `lock` fails at redis-1 (40P01): deadlock detected",
            "  0.200 s  worker-1  denied",
            "  0.300 s  worker-2  a statement of it fails at redis-1 (40P01): cancelled",
            "  0.400 s  worker-2  its session is ended by redis-1 (40P01): idle for too long",
        ]
    );
}

#[test]
fn tries_that_are_denied_for_another_reason_take_another_line() {
    let mut told = Told::new("open");
    let why = ["not at once", "not at once", "deadlock detected", "deadlock detected"];
    for (nth, why) in (1..).zip(why) {
        let (own, at) = (attempt(WORKER_1, nth), u64::from(nth) * 100);
        told.asks(at, own).note(at + 1, WORKER_1, Note::Denied { attempt: own });
        told.error(at + 1, WORKER_1, Failed::Statement(Some("lock".to_owned())), why);
    }
    let lines = told.tell(|run| timeline(run, None, 140));
    let tries = |from, to, why| {
        format!(
            "  {from}  worker-1  asks and is denied, 2 times until {to}; each time its `lock` fails at redis-1 (40P01): {why}"
        )
    };
    assert_eq!(lines, [tries("0.100 s", "0.201 s", "not at once"), tries("0.300 s", "0.401 s", "deadlock detected")]);
}

#[test]
fn a_server_that_is_back_has_an_owner_still_or_again() {
    let mut told = Told::new("open");
    let [first, second] = [attempt(WORKER_1, 1), attempt(WORKER_2, 1)];
    let (authority, key) = (REDIS, "orders".into());
    let restart = |attempt| Note::Owner { authority, key, attempt: Some(attempt), cause: Cause::Restart };
    told.note(50, REDIS, restart(first));
    told.asks(100, first).owns(100, first).note(200, REDIS, restart(first)).gives_back(300, first);
    told.note(400, REDIS, restart(first)).owns(500, second).note(600, REDIS, restart(first));
    let lines = told.tell(|run| timeline(run, None, 100));
    let owned: Vec<_> = lines.iter().filter(|line| line.contains(" owned by ")).map(|line| &line[21..]).collect();
    assert_eq!(
        owned,
        [
            "`orders` is owned by worker-1 (attempt 1)",
            "`orders` is owned by worker-1 (attempt 1)",
            "`orders` is still owned by worker-1 (attempt 1)",
            "`orders` is again owned by worker-1 (attempt 1)",
            "`orders` is owned by worker-2 (attempt 1)",
            "`orders` is again owned by worker-1 (attempt 1)",
        ]
    );
}

#[test]
fn a_disk_that_was_put_back_has_what_the_backup_had() {
    let mut told = Told::new("open");
    told.fault(("old", "restore"), &[REDIS], 100, 200).note(200, REDIS, Note::DiskLost { authority: REDIS });
    told.note(300, REDIS, Note::DiskLost { authority: REDIS });
    let lines = told.tell(|run| timeline(run, None, 100));
    assert_eq!(
        lines[2..],
        [
            "  0.200 s  redis-1  is back, its disk as the backup had it",
            "  0.300 s  redis-1  is back, its disk without what was not synced",
        ]
    );
}

#[test]
fn who_shares_the_lock_is_said_to() {
    let mut told = Told::new("open");
    told.asks(100, attempt(WORKER_1, 1)).owns(101, attempt(WORKER_1, 1)).all_share();
    let lines = told.tell(|run| timeline(run, None, 100));
    assert_eq!(
        lines,
        [
            "  0.100 s  worker-1  asks to share `orders` (attempt 1)",
            "  0.101 s  redis-1   `orders` is owned by worker-1 (attempt 1), who shares it",
        ]
    );
}
