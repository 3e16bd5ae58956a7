use std::num::NonZeroU32;

use host::{Ppm, Ticking};
use models::postgres::{Assign, Instant, Select, Update, VersionTo};

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
        let answered = Some((ms(at + 50), Answered { is_done: true, version: None }));
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
fn nobody_lets_go_before_it_has_asked_for_that() {
    let (first, second, unlock) = (lock(1), lock(2), unlock(1));
    // It has asked at 20 ms, on a clock that is finer than the log's.
    let lines =
        [(10, 7, first.as_str()), (10, 7, DONE), (15, 8, &second), (19, 7, &unlock), (19, 8, DONE), (20, 7, DONE)];
    let by = Cause::Request(Some(attempt(1)));
    assert_eq!(told(&lines), (vec![is(10, 1), is_free(20, by), is(20, 2)], 0));
}

#[test]
fn the_end_of_a_session_lets_go_whoever_says_so_first() {
    let (first, second) = (lock(1), lock(2));
    let all = vec![is(10, 1), is_free(30, Cause::SessionEnd), is(30, 2)];
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

/// What the log says that two backends said, in its order; and when each of these clients' statements was stated, and the version of
/// the row that it was answered with.
fn rows(lines: &[(u64, u32, &str)], answers: &[(u16, u64, Option<i64>)]) -> (Vec<String>, usize) {
    let of = |(client, call, version): &(u16, u64, Option<i64>)| {
        let answer = Answered { is_done: version.is_some(), version: *version };
        let stated =
            Stated { at: ms(0), attempt: Some(attempt(*client)), lock: None, answered: Some((ms(1_000), answer)) };
        ((NodeId::new(*client), 0, *call), stated)
    };
    let account = account(SERVER, machine(), &log(lines), &answers.iter().map(of).collect());
    let told = |entry: Entry| {
        let at = entry.at.as_nanos() / 1_000_000;
        let whose = |attempt: Option<AttemptId>| attempt.map_or(0, |attempt| attempt.client().index());
        match entry.note {
            Note::Owner { key, attempt, cause: Cause::Expiry, .. } => format!("{at}: {key} {} (over)", whose(attempt)),
            Note::Owner { key, attempt, cause: Cause::Restart, .. } => format!("{at}: {key} {} (back)", whose(attempt)),
            Note::Owner { key, attempt, .. } => format!("{at}: {key} {}", whose(attempt)),
            Note::Extended { key, attempt, .. } => format!("{at}: {key} {} for longer", whose(Some(attempt))),
            other => panic!("{other:?}"),
        }
    };
    (account.entries.into_iter().map(told).collect(), account.doubts.len())
}

fn said(client: u16, call: u64, request: &str) -> String {
    format!("LOG:  statement: /* {client}.0.{call} */ {request}")
}

/// A statement as a client writes it.
fn sql(request: PgRequest) -> String {
    request.to_sql().expect("a statement")
}

fn locked(wait: Wait) -> String {
    let row = RowKey { table: Table::Locks, name: "orders".into() };
    sql(PgRequest::Select(Box::new(Select { row, for_update: Some(wait), errand: None })))
}

fn written(set: Vec<Assign>) -> String {
    let row = RowKey { table: Table::Leases, name: "orders".into() };
    sql(PgRequest::Update(Box::new(Update { row, set, only_if: Vec::new(), errand: None })))
}

fn taken() -> String {
    written(vec![Assign::Owner(Some("me".into())), Assign::Version(VersionTo::Next)])
}

fn freed() -> String {
    written(vec![Assign::Owner(None)])
}

fn extended() -> String {
    written(vec![Assign::Ends(Instant::AfterNow(5))])
}

#[test]
fn a_row_is_its_transactions_until_that_is_over() {
    let (begin, commit) = (said(1, 1, "BEGIN"), said(1, 3, "COMMIT"));
    let (first, second) = (said(1, 2, &locked(Wait::Wait)), said(2, 2, &locked(Wait::Wait)));
    let lines = [
        (1, 7, begin.as_str()),
        (1, 7, DONE),
        (2, 7, &first),
        (3, 7, DONE),
        (4, 8, &said(2, 1, "BEGIN")),
        (4, 8, DONE),
        (5, 8, &second),
        (9, 7, &commit),
        // Who is let in says so before the other says that it has committed.
        (10, 8, DONE),
        (11, 7, DONE),
    ];
    let answers = [(1, 1, None), (1, 2, Some(0)), (1, 3, None), (2, 1, None), (2, 2, Some(1))];
    let expected = ["3: orders 1", "10: orders 0", "10: orders 2"].map(str::to_owned);
    assert_eq!(rows(&lines, &answers), (expected.to_vec(), 0));
}

#[test]
fn a_row_that_was_skipped_is_not_had() {
    let (begin, select) = (said(1, 1, "BEGIN"), said(1, 2, &locked(Wait::SkipLocked)));
    let lines = [(1, 7, begin.as_str()), (1, 7, DONE), (2, 7, &select), (3, 7, DONE)];
    assert_eq!(rows(&lines, &[(1, 2, None)]), (vec![], 0));
    assert_eq!(rows(&lines, &[(1, 2, Some(0))]).0, ["3: orders 1"]);
}

#[test]
fn a_lease_is_whose_name_was_written() {
    let (first, longer, over) = (said(1, 1, &taken()), said(1, 2, &extended()), said(1, 3, &freed()));
    let (second, third) = (said(2, 1, &taken()), said(2, 2, &taken()));
    let lines = [
        (1, 7, first.as_str()),
        (1, 7, DONE),
        (2, 8, &second),
        (2, 8, DONE),
        (3, 7, &longer),
        (3, 7, DONE),
        (5, 8, &third),
        (5, 8, DONE),
        (6, 7, &over),
        (6, 7, DONE),
    ];
    // The first time the second is told no; the second time the first one's lease is over, so that it has nothing to give back.
    let answers = [(1, 1, Some(1)), (2, 1, None), (1, 2, Some(1)), (2, 2, Some(2)), (1, 3, None)];
    let expected = ["1: orders 1", "3: orders 1 for longer", "5: orders 0 (over)", "5: orders 2"].map(str::to_owned);
    assert_eq!(rows(&lines, &answers), (expected.to_vec(), 0));
}

#[test]
fn who_writes_a_lease_behind_another_comes_behind_it_whoever_says_so_first() {
    let (first, over, second) = (said(1, 1, &taken()), said(1, 2, &freed()), said(2, 1, &taken()));
    let lines = [(1, 7, first.as_str()), (1, 7, DONE), (4, 7, &over), (4, 8, &second), (5, 8, DONE), (6, 7, DONE)];
    let answers = [(1, 1, Some(1)), (1, 2, Some(1)), (2, 1, Some(2))];
    let expected = ["1: orders 1", "5: orders 0", "5: orders 2"].map(str::to_owned);
    assert_eq!(rows(&lines, &answers), (expected.to_vec(), 0));
}

#[test]
fn a_lease_outlives_its_server_and_one_of_which_nobody_was_told_is_a_doubt() {
    let first = said(1, 1, &taken());
    let starts = "LOG:  starting PostgreSQL 15.20";
    let lines = [(1, 7, first.as_str()), (1, 7, DONE), (9, 1, starts)];
    let expected = ["1: orders 1", "9: orders 1 (back)"].map(str::to_owned);
    assert_eq!(rows(&lines, &[(1, 1, Some(1))]), (expected.to_vec(), 0));
    assert_eq!(rows(&lines[..2], &[]), (vec![], 1));
}
