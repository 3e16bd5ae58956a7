use std::num::NonZeroU32;

use host::{Ppm, Ticking};

use super::*;

const SERVER: NodeId = NodeId::new(0);

fn machine() -> Segment {
    let (mono, boot, wall) = (0, 0, 1_000_000_000_000);
    Segment { since: SimTime::ZERO, mono, boot, wall, rate: Ppm::ZERO, ticking: Ticking::All }
}

fn ms(ms: u64) -> SimTime {
    SimTime::from_nanos(ms * 1_000_000)
}

fn attempt(client: u16) -> AttemptId {
    AttemptId::new(NodeId::new(client), NonZeroU32::MIN)
}

/// Lines of a log: the ms since the run's beginning, the backend, what it says.
fn log(lines: &[(u64, u32, &str)]) -> String {
    let line =
        |(ms, pid, said): &(u64, u32, &str)| format!("{}.{:03} [{pid}] {said}\n", 1_000 + ms / 1_000, ms % 1_000);
    lines.iter().map(line).collect()
}

fn lock(client: u16) -> String {
    format!("LOG:  statement: /* {client}.0.1 */ SELECT pg_advisory_lock(5)")
}

fn unlock(client: u16) -> String {
    format!("LOG:  statement: /* {client}.0.2 */ SELECT pg_advisory_unlock(5)")
}

const DONE: &str = "LOG:  duration: 0.123 ms";
const OVER: &str = "LOG:  disconnection: session time: 0:00:00.010 user=postgres";

/// What clients 1 and 2 have stated: to take the lock at 10 ms, and to give it back at 20.
fn stated() -> AllStated {
    let of = |client: u16, call, at, lock: Option<&str>| {
        let answered = Some((ms(at + 50), true));
        let stated = Stated { at: ms(at), attempt: Some(attempt(client)), lock: lock.map(Name::from), answered };
        ((NodeId::new(client), 0, call), stated)
    };
    [1, 2].into_iter().flat_map(|client| [of(client, 1, 10, Some("orders")), of(client, 2, 20, None)]).collect()
}

/// When which key was whose from then on, and why.
type Told = (u64, String, Option<AttemptId>, Cause);

/// What became of the lock, and how many doubts there are.
fn told(lines: &[(u64, u32, &str)]) -> (Vec<Told>, usize) {
    let account = account(SERVER, machine(), &log(lines), &stated());
    let of = |entry: Entry| match entry.note {
        Note::Owner { key, attempt, cause, .. } => (entry.at.as_nanos() / 1_000_000, key.to_string(), attempt, cause),
        other => panic!("{other:?}"),
    };
    (account.entries.into_iter().map(of).collect(), account.doubts.len())
}

fn is(at: u64, client: u16) -> Told {
    (at, "orders".to_owned(), Some(attempt(client)), Cause::Request(Some(attempt(client))))
}

fn is_free(at: u64, cause: Cause) -> Told {
    (at, "orders".to_owned(), None, cause)
}

#[test]
fn a_lock_is_the_backends_from_when_it_is_let_in_until_it_lets_go() {
    let (lock, unlock) = (lock(1), unlock(1));
    let lines = [(10, 7, lock.as_str()), (12, 7, DONE), (25, 7, &unlock), (26, 7, DONE)];
    let by = Cause::Request(Some(attempt(1)));
    assert_eq!(told(&lines), (vec![is(12, 1), is_free(26, by)], 0));
}

#[test]
fn it_is_no_earlier_than_it_was_asked_for() {
    let lock = lock(1);
    assert_eq!(told(&[(3, 7, lock.as_str()), (4, 7, DONE)]), (vec![is(10, 1)], 0));
}

#[test]
fn who_is_let_in_before_the_other_says_that_it_has_let_go_comes_behind_that() {
    let (first, second, unlock) = (lock(1), lock(2), unlock(1));
    let lines =
        [(10, 7, first.as_str()), (10, 7, DONE), (15, 8, &second), (20, 7, &unlock), (20, 8, DONE), (21, 7, DONE)];
    let by = Cause::Request(Some(attempt(1)));
    assert_eq!(told(&lines), (vec![is(10, 1), is_free(20, by), is(20, 2)], 0));
}

#[test]
fn the_end_of_a_session_lets_go_whoever_says_so_first() {
    let (first, second) = (lock(1), lock(2));
    let all = vec![is(10, 1), is_free(30, Cause::Expiry), is(30, 2)];
    for ends in [[(30, 7, OVER), (30, 8, DONE)], [(30, 8, DONE), (30, 7, OVER)]] {
        let begin = [(10, 7, first.as_str()), (10, 7, DONE), (15, 8, &second)];
        assert_eq!(told(&[begin.as_slice(), ends.as_slice()].concat()), (all.clone(), 0));
    }
}

#[test]
fn two_that_have_it_at_once_are_a_doubt() {
    let (first, second) = (lock(1), lock(2));
    let lines = [(10, 7, first.as_str()), (10, 7, DONE), (15, 8, &second), (15, 8, DONE)];
    assert_eq!(told(&lines).1, 1);
}

#[test]
fn who_comes_to_it_by_the_same_backend_owns_nothing_of_it() {
    let (first, second) = (lock(1), lock(2));
    let lines = [(10, 7, first.as_str()), (10, 7, DONE), (15, 7, &second), (15, 7, DONE)];
    assert_eq!(told(&lines), (vec![is(10, 1)], 0));
}

#[test]
fn a_server_that_starts_again_remembers_nobody() {
    let (first, second) = (lock(1), lock(2));
    let starts = "LOG:  starting PostgreSQL 15.20";
    let lines = [(10, 7, first.as_str()), (10, 7, DONE), (20, 1, starts), (25, 8, &second), (25, 8, DONE)];
    assert_eq!(told(&lines), (vec![is(10, 1), is(25, 2)], 0));
}

#[test]
fn what_fails_takes_nothing_and_what_is_not_a_clients_is_read_over() {
    let first = lock(1);
    let lines = [
        (10, 7, first.as_str()),
        (12, 7, "ERROR:  canceling statement due to lock timeout"),
        (13, 9, "LOG:  statement: SELECT 1"),
    ];
    assert_eq!(told(&lines), (vec![], 0));
}
