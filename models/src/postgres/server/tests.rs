//! A server, and its standby: who owns what, what outlives what, and when. What it answers is held against transcripts of a real one.

mod places;

use std::num::NonZeroU32;

use host::{AttemptId, Duration, KeepAlive, NodeId};
use spec::{Cause, Note};

use super::*;
use crate::lock::{PgTimeouts, Synchronous};
use crate::postgres::{
    Advise, AdvisoryKey, Assign, Database, Insert, Instant, OnConflict, Outcome, RowKey, Scope, Strength, Table, Update,
};
use crate::rig::{Make, Rig};

const PRIMARY: usize = 0;
const STANDBY: usize = 1;

/// Sessions, each on a line of its own, and what they are told.
struct Bench {
    rig: Rig,
}

impl Bench {
    fn alone(settings: PgServers) -> Self {
        Self::of(vec![Box::new(move || Box::new(Postgres::primary(settings.clone())))])
    }

    fn with_standby(settings: PgServers) -> Self {
        let primary = settings.clone();
        Self::of(vec![
            Box::new(move || Box::new(Postgres::primary(primary.clone()))),
            Box::new(move || Box::new(Postgres::standby(settings.clone(), Server::on(NodeId::new(0))))),
        ])
    }

    fn of(make: Vec<Make>) -> Self {
        let mut rig = Rig::new(7, make);
        rig.run(100);
        Self { rig }
    }

    fn session(&mut self, server: usize) -> usize {
        let line = self.rig.line(server);
        self.rig.ask(line, PgRequest::Startup(Database::default()));
        line
    }

    /// Asks in the name of an attempt. What comes within 3 ms.
    fn ask(&mut self, session: usize, attempt: u32, request: PgRequest) -> Option<String> {
        let attempt = NonZeroU32::new(attempt).map(|nth| AttemptId::new(NodeId::new(9), nth));
        self.rig.as_attempt(attempt);
        self.rig.ask(session, request).map(|reply| reply.to_string())
    }

    fn say(&mut self, session: usize, attempt: u32, sql: &str) -> String {
        let request = PgRequest::from_sql(sql).expect("a statement that is known");
        self.ask(session, attempt, request).unwrap_or_else(|| "waits".to_owned())
    }

    fn lock(&mut self, session: usize, attempt: u32, scope: Scope, strength: Strength) -> String {
        let lock = Some("orders".into());
        let advise = Advise { key: KEY, strength, scope, is_try: false, lock };
        self.ask(session, attempt, PgRequest::Advise(Box::new(advise))).unwrap_or_else(|| "waits".to_owned())
    }

    fn unlock(&mut self, session: usize, attempt: u32) -> String {
        let unlock = PgRequest::Unlock { key: KEY, strength: Exclusive };
        self.ask(session, attempt, unlock).expect("it is answered")
    }

    /// What the history was told since it was last asked.
    fn notes(&mut self) -> Vec<String> {
        self.rig.notes.drain(..).map(|(_, server, note)| told(server, &note)).collect()
    }
}

/// A note as `KEY: OWNER (CAUSE)`, behind it the server if it is not the primary.
fn told(server: NodeId, note: &Note) -> String {
    let whom = |attempt: Option<AttemptId>| attempt.map_or_else(|| "nobody".to_owned(), |it| it.ordinal().to_string());
    let what = match note {
        Note::Owner { key, attempt, cause, .. } => {
            let why = match cause {
                Cause::Request(by) => format!("by {}", whom(*by)),
                other => format!("{other:?}"),
            };
            format!("{key}: {} ({why})", whom(*attempt))
        }
        Note::Extended { key, attempt, .. } => format!("{key}: {} for longer", whom(Some(*attempt))),
        Note::Promoted { .. } => "promoted".to_owned(),
        Note::Replicated { notes, .. } => format!("has {notes}"),
        other => format!("{other:?}"),
    };
    if server.index() == PRIMARY { what } else { format!("{what} at the standby") }
}

const KEY: AdvisoryKey = AdvisoryKey::Big(42);
use Scope::{Session, Transaction};
use Strength::{Exclusive, Shared};

#[test]
fn a_lock_is_its_backends_until_it_is_unlocked_or_the_session_ends() {
    let mut bench = Bench::alone(PgServers::default());
    let (a, b) = (bench.session(PRIMARY), bench.session(PRIMARY));
    assert_eq!(bench.lock(a, 1, Session, Exclusive), "done");
    assert_eq!(bench.lock(a, 1, Session, Exclusive), "done");
    assert_eq!(bench.lock(b, 2, Session, Exclusive), "waits");
    assert_eq!(bench.notes(), ["orders: 1 (by 1)"], "once more is no other owner");
    bench.unlock(a, 1);
    assert_eq!(bench.notes(), Vec::<String>::new(), "it is locked once more");
    bench.unlock(a, 1);
    assert_eq!(bench.notes(), ["orders: nobody (by 1)", "orders: 2 (by 2)"]);
    bench.rig.hang_up(b);
    bench.rig.run(3);
    assert_eq!(bench.notes(), ["orders: nobody (SessionEnd)"]);
}

#[test]
fn who_comes_to_a_lock_by_a_backend_that_has_it_owns_nothing_of_it() {
    let mut bench = Bench::alone(PgServers::default());
    let a = bench.session(PRIMARY);
    bench.lock(a, 1, Session, Exclusive);
    assert_eq!(bench.lock(a, 2, Session, Exclusive), "done", "as a pooler brings it about");
    assert_eq!(bench.notes(), ["orders: 1 (by 1)"]);
}

#[test]
fn those_that_share_a_lock_own_it_together() {
    let mut bench = Bench::alone(PgServers::default());
    let (a, b) = (bench.session(PRIMARY), bench.session(PRIMARY));
    bench.lock(a, 1, Session, Shared);
    bench.say(b, 2, "BEGIN");
    bench.lock(b, 2, Transaction, Shared);
    assert_eq!(bench.notes(), ["orders: 1 (by 1)", "orders/shared-1: 2 (by 2)"]);
    bench.say(b, 2, "ROLLBACK");
    assert_eq!(bench.notes(), ["orders/shared-1: nobody (by 2)"]);
}

#[test]
fn a_row_is_the_transactions_that_has_it_locked() {
    let mut bench = Bench::alone(PgServers::default());
    let (a, b) = (bench.session(PRIMARY), bench.session(PRIMARY));
    bench.say(a, 0, "INSERT INTO locks (name) VALUES ('orders') RETURNING owner, ends, version, value");
    let select = "SELECT owner, ends, version, value FROM locks WHERE locks.name = 'orders' FOR UPDATE";
    for sql in ["BEGIN", "SAVEPOINT \"s\"", select] {
        bench.say(a, 1, sql);
    }
    bench.say(b, 2, "BEGIN");
    assert_eq!(bench.say(b, 2, select), "waits");
    assert_eq!(bench.notes(), ["orders: 1 (by 1)"]);
    bench.say(a, 1, "ROLLBACK TO SAVEPOINT \"s\"");
    assert_eq!(bench.notes(), ["orders: nobody (by 1)", "orders: 2 (by 2)"]);
    bench.say(b, 2, "COMMIT");
    assert_eq!(bench.notes(), ["orders: nobody (by 2)"]);
}

#[test]
fn one_that_is_ended_while_it_waits_for_a_row_leaves_its_place_to_those_behind_it() {
    let mut bench = Bench::alone(PgServers::default());
    let [a, b, c, operator] = [(); 4].map(|()| bench.session(PRIMARY));
    bench.say(a, 0, "INSERT INTO locks (name) VALUES ('orders') RETURNING owner, ends, version, value");
    let select = "SELECT owner, ends, version, value FROM locks WHERE locks.name = 'orders' FOR UPDATE";
    for (session, attempt) in [(a, 1), (b, 2), (c, 3)] {
        bench.say(session, attempt, "BEGIN");
        bench.say(session, attempt, select);
    }
    bench.ask(operator, 0, PgRequest::Terminate(Pid(102)));
    bench.notes();
    bench.say(a, 1, "COMMIT");
    assert_eq!(bench.notes(), ["orders: nobody (by 1)", "orders: 3 (by 3)"]);
}

/// Puts a name into the lease, whatever is there.
fn put(owner: &str, ends: i64) -> PgRequest {
    let set = vec![Assign::Owner(Some(owner.into())), Assign::Ends(Instant::At(ends))];
    let on_conflict = OnConflict::Update { set: set.clone(), only_if: Vec::new() };
    PgRequest::Insert(Box::new(Insert { row: LEASE, set, on_conflict, errand: None }))
}

const LEASE: RowKey = RowKey { table: Table::Leases, name: Name::fixed("orders") };

#[test]
fn a_lease_is_whose_name_is_committed_there_also_after_a_restart() {
    let mut bench = Bench::alone(PgServers::default());
    let a = bench.session(PRIMARY);
    bench.say(a, 1, "BEGIN");
    bench.ask(a, 1, put("a", 10));
    assert_eq!(bench.notes(), Vec::<String>::new(), "it is not committed");
    bench.say(a, 1, "COMMIT");
    bench.ask(a, 1, put("a", 20));
    bench.ask(a, 2, put("b", 30));
    assert_eq!(
        bench.notes(),
        ["orders: 1 (by 1)", "orders: 1 for longer", "orders: nobody (Expiry)", "orders: 2 (by 2)"]
    );
    bench.rig.kill(PRIMARY);
    bench.rig.start(PRIMARY);
    assert_eq!(bench.notes(), ["orders: 2 (Restart)"]);
    let a = bench.session(PRIMARY);
    let set = vec![Assign::Owner(None), Assign::Ends(Instant::At(0))];
    bench.ask(a, 2, PgRequest::Update(Box::new(Update { row: LEASE, set, only_if: Vec::new(), errand: None })));
    assert_eq!(bench.notes(), ["orders: nobody (by 2)"]);
}

#[test]
fn who_waits_and_has_gone_is_let_in_unless_the_session_looks_after_its_client() {
    let check = |connection_check| PgServers {
        timeouts: PgTimeouts { connection_check, ..PgTimeouts::default() },
        ..PgServers::default()
    };
    for (every, told) in [
        (
            Duration::ZERO,
            vec!["orders: nobody (by 1)", "orders: 2 (by 2)", "orders: nobody (SessionEnd)", "orders: 3 (by 3)"],
        ),
        (Duration::from_millis(500), vec!["orders: nobody (by 1)", "orders: 3 (by 3)"]),
    ] {
        let mut bench = Bench::alone(check(every));
        let [a, b, c] = [(); 3].map(|()| bench.session(PRIMARY));
        bench.lock(a, 1, Session, Exclusive);
        bench.lock(b, 2, Session, Exclusive);
        bench.lock(c, 3, Session, Exclusive);
        bench.notes();
        bench.rig.hang_up(b);
        bench.rig.run(600);
        bench.unlock(a, 1);
        assert_eq!(bench.notes(), told);
    }
}

#[test]
fn a_client_whose_machine_is_silent_has_its_lock_until_keepalive_says_that_it_is_gone() {
    let second = Duration::from_secs(1);
    let keepalive = KeepAlive { idle: second * 10, interval: second * 2, count: 3, ..KeepAlive::LINUX };
    for (keepalive, is_freed) in [(KeepAlive::LINUX, false), (keepalive, true)] {
        let mut bench = Bench::alone(PgServers { keepalive, ..PgServers::default() });
        let (a, tester) = (bench.session(PRIMARY), bench.rig.tester());
        bench.lock(a, 1, Session, Exclusive);
        bench.rig.cut(tester, PRIMARY);
        bench.notes();
        bench.rig.run(15_900);
        assert_eq!(bench.notes(), Vec::<String>::new());
        bench.rig.run(200);
        assert_eq!(!bench.notes().is_empty(), is_freed);
    }
}

#[test]
fn a_timeout_waits_for_the_wall_clock_as_well() {
    for (by, waited) in [(0, 200), (-5_000, 5_200), (5_000, 200)] {
        let mut bench = Bench::alone(PgServers::default());
        let (a, b) = (bench.session(PRIMARY), bench.session(PRIMARY));
        bench.lock(a, 1, Session, Exclusive);
        bench.say(b, 2, "SET lock_timeout = 200");
        let began = bench.rig.ms();
        bench.lock(b, 2, Session, Exclusive);
        bench.rig.step_wall(PRIMARY, by);
        let had = bench.rig.replies.len();
        bench.rig.run(6_000);
        let (at, _, reply) = &bench.rig.replies[had];
        assert_eq!(reply.to_string(), "error 55P03");
        assert_eq!(at - began, waited + 2, "one ms there, and one back");
    }
}

/// How many ms a statement of B waits for the lock that A has, which B has set up so, if the clock is set after some; `None`: it has it, when A
/// gives it back after 6 s.
fn waits(settings: &[&str], (after, by): (u64, i64)) -> Option<(u64, String)> {
    let mut bench = Bench::alone(PgServers::default());
    let (a, b) = (bench.session(PRIMARY), bench.session(PRIMARY));
    bench.lock(a, 1, Session, Exclusive);
    for setting in settings {
        bench.say(b, 2, setting);
    }
    let (began, had) = (bench.rig.ms(), bench.rig.replies.len());
    bench.lock(b, 2, Session, Exclusive);
    bench.rig.run(after - (bench.rig.ms() - began));
    bench.rig.step_wall(PRIMARY, by);
    bench.rig.run(6_000 - after);
    let (at, _, reply) = bench.rig.replies.get(had)?;
    Some((at - began - 2, reply.to_string()))
}

#[test]
fn a_clock_that_is_set_ends_timeouts_at_the_next_alarm_or_keeps_them_from_their_end() {
    const HOUR: i64 = 3_600_000;
    let after = |ms, answer: &str| Some((ms, format!("error {answer}")));
    // As measured on a server of 15.20, to within the tenth of a second.
    assert_eq!(waits(&["SET statement_timeout = 2000"], (300, 0)), after(2_000, "57014"));
    assert_eq!(waits(&["SET statement_timeout = 300000"], (300, HOUR)), after(1_000, "57014"));
    assert_eq!(waits(&["SET lock_timeout = 300000"], (300, HOUR)), after(1_000, "55P03"));
    let both = ["SET statement_timeout = 300000", "SET lock_timeout = 200000"];
    assert_eq!(waits(&both, (300, HOUR)), after(1_000, "55P03"));
    assert_eq!(waits(&["SET statement_timeout = 4000"], (1_500, HOUR)), after(4_000, "57014"));
    let checked = ["SET statement_timeout = 4000", "SET client_connection_check_interval = 3000"];
    assert_eq!(waits(&checked, (1_500, HOUR)), after(3_000, "57014"));
    assert_eq!(waits(&["SET statement_timeout = 2000"], (300, -2_000)), after(4_000, "57014"));
    assert_eq!(waits(&["SET statement_timeout = 2000"], (300, -HOUR)), None);
}

#[test]
fn a_number_that_was_only_asked_for_is_given_again_after_a_crash_unless_the_wal_writer_was_there() {
    for (ms, again) in [(5, true), (250, false)] {
        let mut bench = Bench::alone(PgServers::default());
        let a = bench.session(PRIMARY);
        let first = bench.say(a, 1, "SELECT pg_current_xact_id()");
        bench.rig.run(ms);
        bench.rig.kill(PRIMARY);
        bench.rig.start(PRIMARY);
        let b = bench.session(PRIMARY);
        assert_eq!(bench.say(b, 2, "SELECT pg_current_xact_id()") == first, again);
    }
}

#[test]
fn a_standby_has_advisory_locks_of_its_own_and_keeps_them_when_it_is_promoted() {
    let mut bench = Bench::with_standby(PgServers::default());
    let (a, s) = (bench.session(PRIMARY), bench.session(STANDBY));
    bench.lock(a, 1, Session, Exclusive);
    assert_eq!(bench.lock(s, 2, Session, Exclusive), "done");
    assert_eq!(bench.say(s, 2, "SELECT nextval('\"fence\"')"), "error 25006");
    assert_eq!(bench.say(s, 2, "SELECT pg_current_xact_id()"), "error 25006");
    bench.say(s, 2, "BEGIN");
    bench.notes();
    bench.rig.nudge(STANDBY, Nudge::Promote);
    assert_eq!(bench.notes(), ["promoted at the standby"]);
    let other = bench.session(STANDBY);
    assert_eq!(bench.lock(other, 3, Session, Exclusive), "waits");
    assert_eq!(bench.say(s, 2, "SELECT nextval('\"fence\"')"), "error 25006", "the transaction began before");
    bench.say(s, 2, "ROLLBACK");
    assert_eq!(bench.say(s, 2, "SELECT nextval('\"fence\"')"), "1", "it writes");
    assert_eq!(bench.unlock(a, 1), "t", "the old primary was not told");
}

#[test]
fn what_the_standby_was_not_sent_is_lost_when_it_takes_over() {
    let lag = host::Span::Fixed(Duration::from_millis(50));
    let mut bench = Bench::with_standby(PgServers { lag, ..PgServers::default() });
    let a = bench.session(PRIMARY);
    bench.ask(a, 1, put("a", 10));
    bench.rig.run(60);
    assert_eq!(bench.notes(), ["orders: 1 (by 1)", "has 1 at the standby"]);
    bench.ask(a, 2, put("b", 15));
    bench.rig.run(60);
    assert_eq!(bench.notes(), ["orders: nobody (Expiry)", "orders: 2 (by 2)", "has 3 at the standby"]);
    bench.ask(a, 3, put("c", 20));
    bench.notes();
    bench.rig.nudge(STANDBY, Nudge::Promote);
    assert_eq!(bench.notes(), ["orders: 2 (Promotion) at the standby", "promoted at the standby"]);
}

#[test]
fn a_commit_that_waits_for_the_standby_is_neither_seen_nor_answered_before() {
    let synchronous = Synchronous::Standby;
    let mut bench = Bench::with_standby(PgServers { synchronous, ..PgServers::default() });
    let (a, b) = (bench.session(PRIMARY), bench.session(PRIMARY));
    bench.rig.ask(a, PgRequest::Begin);
    bench.rig.run(10);
    bench.ask(a, 1, put("a", 10));
    bench.rig.cut(PRIMARY, STANDBY);
    assert_eq!(bench.say(a, 1, "COMMIT"), "waits");
    let select = "SELECT owner, ends, version, value FROM leases WHERE leases.name = 'orders'";
    assert_eq!(bench.say(b, 2, select), "no row");
    assert_eq!(bench.ask(b, 2, put("b", 20)), None);
    assert_eq!(bench.notes(), Vec::<String>::new());
    // Cancelled, it has committed all the same.
    let c = bench.session(PRIMARY);
    let Some(Message::PgReply(reply)) = bench.rig.ask(c, PgRequest::One) else { panic!("it is answered") };
    assert_eq!(reply.outcome, Ok(Outcome::Number(Some(1))));
    let had = bench.rig.replies.len();
    bench.say(c, 0, "SELECT pg_cancel_backend(101)");
    bench.rig.run(3);
    let told: Vec<String> = bench.rig.replies[had..].iter().map(|(_, _, reply)| reply.to_string()).collect();
    assert!(told.contains(&"COMMIT (warning 01000)".to_owned()), "{told:?}");
    assert_eq!(bench.notes(), ["orders: 1 (by 1)"]);
}

#[test]
fn a_sequence_goes_on_where_it_was_unless_the_server_crashes() {
    for (crashes, next) in [(true, "34"), (false, "2")] {
        let mut bench = Bench::alone(PgServers::default());
        let a = bench.session(PRIMARY);
        assert_eq!(bench.say(a, 1, "SELECT nextval('\"fence\"')"), "1");
        if crashes {
            bench.rig.kill(PRIMARY);
        } else {
            bench.rig.stop(PRIMARY);
        }
        bench.rig.start(PRIMARY);
        let b = bench.session(PRIMARY);
        assert_eq!(bench.say(b, 2, "SELECT nextval('\"fence\"')"), next);
    }
}

#[test]
fn a_row_that_is_locked_is_locked_once_more_behind_a_savepoint_only_if_it_was_not_so_firmly() {
    let mut bench = Bench::alone(PgServers::default());
    let [a, b] = [(); 2].map(|()| bench.session(PRIMARY));
    bench.say(a, 0, "INSERT INTO leases (name) VALUES ('a') RETURNING owner, ends, version, value");
    let select = "SELECT owner, ends, version, value FROM leases WHERE leases.name = 'a' FOR UPDATE";
    let upsert = "INSERT INTO leases (name) VALUES ('a') ON CONFLICT (name) DO UPDATE SET version = leases.version + 1 \
                  WHERE leases.version < 0 RETURNING owner, ends, version, value";
    let update =
        "UPDATE leases SET version = leases.version + 1 WHERE leases.name = 'a' RETURNING owner, ends, version, value";
    let mut numbers = |before: &str, behind: &str| {
        let number = |said: String| said.parse::<u64>().expect("a number");
        bench.say(a, 0, "BEGIN");
        let own = number(bench.say(a, 0, "SELECT pg_current_xact_id()"));
        for sql in [before, "SAVEPOINT \"s\"", behind, "COMMIT"] {
            bench.say(a, 0, sql);
        }
        number(bench.say(b, 0, "SELECT pg_current_xact_id()")) - own
    };
    // As measured: 1 if what is behind the savepoint has taken no number.
    assert_eq!(numbers(select, select), 1);
    assert_eq!(numbers(upsert, select), 2);
    assert_eq!(numbers(upsert, upsert), 1);
    assert_eq!(numbers(select, upsert), 1);
    assert_eq!(numbers(update, select), 2);
    assert_eq!(numbers("SELECT 1", select), 2);
}
