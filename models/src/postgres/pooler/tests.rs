//! A pooler before a server of the model, as one of PgBouncer 1.18.0 did before a server of 15.20.

use host::{AttemptId, Duration, NodeId, Server};
use spec::{Cause, LockName, Note};

use super::PgBouncer;
use crate::domain::Message;
use crate::lock::{PgServers, PoolMode, Pooler};
use crate::postgres::server::Postgres;
use crate::postgres::{Advise, AdvisoryKey, Database, PgRequest, Pid, Scope, Setting, Strength};
use crate::rig::Rig;

const SERVER: usize = 0;
const POOLER: usize = 1;

struct World(Rig);

fn world(mode: PoolMode, size: u16) -> World {
    with(Pooler { mode, size, ..Pooler::default() })
}

fn with(settings: Pooler) -> World {
    let server = || Box::new(Postgres::primary(PgServers::default())) as _;
    let pooler = move || Box::new(PgBouncer::new(settings, Server::on(NodeId::new(0)))) as _;
    World(Rig::new(7, vec![Box::new(server), Box::new(pooler)]))
}

impl World {
    /// A client that has logged in there.
    fn client(&mut self, node: usize) -> usize {
        let line = self.0.line(node);
        assert!(self.ask(line, startup()).starts_with("backend"));
        line
    }

    /// Asks, and gives the answer, with `…` behind it if the session is not idle after it. Empty: there is none yet.
    fn ask(&mut self, line: usize, request: PgRequest) -> String {
        let before = self.0.replies.len();
        self.0.tell(line, request);
        self.0.run(12);
        self.answers(before).iter().filter(|(on, _)| *on == line).map(|(_, words)| words.clone()).collect()
    }

    fn answers(&self, from: usize) -> Vec<(usize, String)> {
        let words = |message: &Message| match message {
            Message::PgReply(reply) => format!("{reply}"),
            other => panic!("{other:?}"),
        };
        self.0.replies[from..].iter().map(|(_, line, message)| (*line, words(message))).collect()
    }

    /// Whether a session of another client finds the lock free, and if so lets it go again.
    fn is_free(&mut self, line: usize, key: i64) -> bool {
        let had = self.ask(line, try_lock(key)) == "t";
        if had {
            self.ask(line, unlock(key));
        }
        had
    }

    fn said(&self, line: usize) -> Vec<String> {
        let pushes = self.0.pushes.iter().filter(|(_, on, _)| *on == line);
        pushes.map(|(.., message)| format!("{message:?}")).collect()
    }
}

fn startup() -> PgRequest {
    PgRequest::Startup(Database::default())
}

fn advise(key: i64, scope: Scope, is_try: bool) -> PgRequest {
    let (key, strength) = (AdvisoryKey::Big(key), Strength::Exclusive);
    PgRequest::Advise(Box::new(Advise { key, strength, scope, is_try, lock: Some(LockName::fixed("stock")) }))
}

fn lock(key: i64) -> PgRequest {
    advise(key, Scope::Session, false)
}

fn try_lock(key: i64) -> PgRequest {
    advise(key, Scope::Session, true)
}

fn unlock(key: i64) -> PgRequest {
    PgRequest::Unlock { key: AdvisoryKey::Big(key), strength: Strength::Exclusive }
}

use PgRequest::{Begin, Commit, One};

const NOT_OWNED: &str = "f (warning 01000)";

#[test]
fn who_logs_in_first_waits_for_the_server_and_the_others_do_not() {
    let mut world = world(PoolMode::Transaction, 2);
    let [first, second] = [world.0.line(POOLER), world.0.line(POOLER)];
    let before = world.0.ms();
    for line in [first, second] {
        world.0.tell(line, startup());
        world.0.run(20);
    }
    let came: Vec<u64> = world.0.replies.iter().map(|(at, ..)| *at - before).collect();
    // Asked, connected there and back, a backend there and back, answered; then asked and answered.
    assert_eq!(came, [6, 22]);
    let numbers = world.answers(0);
    assert_ne!(numbers[0].1, numbers[1].1);
    let direct = world.0.line(SERVER);
    assert_eq!(world.ask(direct, startup()), "backend 102", "the server has had one before this one");
}

#[test]
fn a_session_s_lock_stays_with_the_connection() {
    let mut world = world(PoolMode::Transaction, 3);
    let [a, b, c] = [(); 3].map(|()| world.client(POOLER));
    let direct = world.client(SERVER);
    assert_eq!(world.ask(a, lock(42)), "done");
    assert!(!world.is_free(direct, 42));
    // The next client has the same session, which has it already.
    assert_eq!(world.ask(b, try_lock(42)), "t");
    assert_eq!(world.ask(b, unlock(42)), "t");
    // While somebody else has that connection, the unlock goes to another.
    assert_eq!(world.ask(c, Begin), "BEGIN");
    assert_eq!(world.ask(a, unlock(42)), NOT_OWNED);
    assert_eq!(world.ask(c, Commit), "COMMIT");
    // Who leaves without a transaction leaves nothing but the lock.
    world.0.hang_up(a);
    world.0.run(20);
    assert!(!world.is_free(direct, 42));
    // The connection that was given back last is taken.
    assert_eq!(world.ask(b, unlock(42)), "t");
    assert!(world.is_free(direct, 42));
}

#[test]
fn a_transaction_has_a_connection_for_itself_and_others_wait_their_turn() {
    let mut world = world(PoolMode::Transaction, 1);
    let [a, b, c] = [(); 3].map(|()| world.client(POOLER));
    assert_eq!(world.ask(a, Begin), "BEGIN");
    assert_eq!(world.ask(a, advise(5, Scope::Transaction, false)), "done");
    assert_eq!([world.ask(b, One), world.ask(c, One)], ["", ""]);
    let before = world.0.replies.len();
    world.ask(a, Commit);
    let order: Vec<usize> = world.answers(before).into_iter().map(|(line, _)| line).collect();
    assert_eq!(order, [a, b, c]);
    // One more connection, and nobody waits.
    let mut world = self::world(PoolMode::Transaction, 2);
    let [a, b] = [(); 2].map(|()| world.client(POOLER));
    assert_eq!([world.ask(a, Begin), world.ask(b, One)], ["BEGIN", "1"]);
}

#[test]
fn a_failed_transaction_is_one_still() {
    let mut world = world(PoolMode::Transaction, 1);
    let [a, b] = [(); 2].map(|()| world.client(POOLER));
    world.ask(a, Begin);
    assert!(world.ask(a, PgRequest::RollbackTo("nowhere".into())).starts_with("error"));
    assert_eq!(world.ask(b, One), "");
    let before = world.0.replies.len();
    assert_eq!(world.ask(a, Commit), "ROLLBACK");
    assert_eq!(world.answers(before)[1], (b, "1".to_owned()));
}

#[test]
fn who_leaves_in_the_midst_takes_the_connection_along() {
    for (ask, frees) in [(Begin, true), (One, false)] {
        let mut world = world(PoolMode::Transaction, 1);
        let [a, b] = [(); 2].map(|()| world.client(POOLER));
        let direct = world.client(SERVER);
        // So that one sees whether the session lives on.
        world.ask(b, lock(7));
        world.ask(a, ask);
        world.0.hang_up(a);
        world.0.run(20);
        assert_eq!(world.is_free(direct, 7), frees);
        assert_eq!(world.ask(b, One), "1", "there is another one");
    }
    // In the midst of a statement: the server does not look, and gets the lock for nobody.
    let mut world = world(PoolMode::Transaction, 1);
    let [a, b] = [(); 2].map(|()| world.client(POOLER));
    let direct = world.client(SERVER);
    world.ask(direct, lock(7));
    assert_eq!(world.ask(a, lock(7)), "");
    assert_eq!(world.ask(b, One), "", "there is but one");
    let before = world.0.replies.len();
    world.0.hang_up(a);
    world.0.run(20);
    assert_eq!(world.answers(before), [(b, "1".to_owned())]);
    world.ask(direct, unlock(7));
    assert!(world.is_free(direct, 7));
}

#[test]
fn in_session_mode_a_client_has_its_connection_until_it_leaves() {
    let mut world = world(PoolMode::Session, 1);
    let [a, b] = [(); 2].map(|()| world.client(POOLER));
    let direct = world.client(SERVER);
    assert_eq!(world.ask(a, lock(42)), "done");
    assert_eq!(world.ask(b, try_lock(42)), "", "it waits for a connection, not for the lock");
    assert!(!world.is_free(direct, 42));
    let before = world.0.replies.len();
    world.0.hang_up(a);
    world.0.run(20);
    // All was discarded before it had it.
    assert_eq!(world.answers(before), [(b, "t".to_owned())]);
    assert_eq!(world.ask(b, unlock(42)), "t");
    // In a transaction, the connection is not kept.
    world.ask(b, Begin);
    world.ask(b, lock(43));
    world.0.hang_up(b);
    world.0.run(20);
    assert!(world.is_free(direct, 43));
}

#[test]
fn what_a_client_has_set_goes_with_it() {
    let mut world = world(PoolMode::Session, 1);
    let a = world.client(POOLER);
    let direct = world.client(SERVER);
    let set = PgRequest::Set { setting: Setting::LockTimeout, to: Duration::from_millis(100), local: false };
    assert_eq!(world.ask(a, set), "SET");
    world.0.hang_up(a);
    world.0.run(20);
    let b = world.client(POOLER);
    world.ask(direct, lock(42));
    let before = world.0.replies.len();
    assert_eq!(world.ask(b, lock(42)), "");
    world.0.run(1_000);
    assert_eq!(world.answers(before), [], "it waits for as long as it takes, on the same connection");
}

#[test]
fn a_connection_that_breaks_takes_its_client_with_it_and_nobody_else() {
    let mut world = world(PoolMode::Transaction, 2);
    let [a, b] = [(); 2].map(|()| world.client(POOLER));
    let direct = world.client(SERVER);
    // The first backend is the pooler's.
    let terminate = |number| PgRequest::Terminate(Pid(number));
    assert_eq!(world.ask(direct, terminate(101)), "t");
    assert_eq!(world.ask(a, Begin), "BEGIN", "one that nobody had");
    assert_eq!(world.ask(direct, terminate(103)), "t");
    assert_eq!(world.said(a), ["PgPush(PgPush(AdminShutdown))", "PgPush(PgPush(ProtocolViolation))"]);
    assert!(!world.0.is_open(a) && world.0.is_open(b));
    // In the midst of a statement, what the server says is the answer.
    world.ask(direct, lock(7));
    assert_eq!(world.ask(b, lock(7)), "");
    let before = world.0.replies.len();
    assert_eq!(world.ask(direct, terminate(104)), "t");
    assert!(world.answers(before).contains(&(b, "fatal 57P01".to_owned())));
    assert_eq!(world.said(b), ["PgPush(PgPush(ProtocolViolation))"]);
    assert!(!world.0.is_open(b));
}

#[test]
fn without_a_server_clients_wait_and_it_is_tried_again_every_15_s() {
    let mut world = world(PoolMode::Transaction, 2);
    let [a, b, c] = [(); 3].map(|()| world.client(POOLER));
    world.ask(a, Begin);
    assert_eq!(world.ask(c, lock(9)), "done");
    world.0.kill(SERVER);
    world.0.run(20);
    assert_eq!(world.said(a), ["PgPush(PgPush(ProtocolViolation))"]);
    assert!(!world.0.is_open(a) && world.0.is_open(b) && world.0.is_open(c));
    let since = world.0.ms();
    assert_eq!(world.ask(b, One), "");
    world.0.run(20_000);
    world.0.start(SERVER);
    world.0.run(20_000);
    let (at, line, _) = world.0.replies.last().expect("an answer").clone();
    // Refused at once, and after 15 s; at 30 s it is there.
    assert_eq!((line, (at - since).abs_diff(30_000) < 20), (b, true), "{at} {since}");
}

#[test]
fn nobody_waits_for_more_than_two_minutes() {
    let mut world = world(PoolMode::Transaction, 1);
    let [a, b] = [(); 2].map(|()| world.client(POOLER));
    world.ask(a, Begin);
    let since = world.0.ms();
    assert_eq!(world.ask(b, One), "");
    world.0.run(119_000);
    assert!(world.0.is_open(b));
    let before = world.0.replies.len();
    world.0.run(2_000);
    assert_eq!(world.answers(before), [(b, "fatal 08P01".to_owned())]);
    assert!(!world.0.is_open(b) && world.0.is_open(a));
    assert!((world.0.replies[before].0 - since).abs_diff(120_000) <= 3);
    // By the wall clock.
    let c = world.client(POOLER);
    assert_eq!(world.ask(c, One), "");
    world.0.step_wall(POOLER, 130_000);
    world.0.run(10);
    assert!(!world.0.is_open(c));
}

#[test]
fn old_connections_are_closed_one_after_another() {
    let server_lifetime = Duration::from_secs(6);
    let mut world = with(Pooler { mode: PoolMode::Transaction, size: 2, server_lifetime });
    let [a, b] = [(); 2].map(|()| world.client(POOLER));
    let direct = world.client(SERVER);
    world.ask(a, Begin);
    world.ask(b, lock(2));
    world.ask(a, lock(1));
    world.ask(a, Commit);
    let free = |world: &mut World| [1, 2].map(|key| world.is_free(direct, key));
    world.0.run(5_500);
    assert_eq!(free(&mut world), [false, false]);
    // The first is 6 s old; the other one's turn comes half a lifetime later.
    world.0.run(500);
    assert_eq!(free(&mut world), [true, false]);
    world.0.run(2_700);
    assert_eq!(free(&mut world), [true, false]);
    world.0.run(400);
    assert_eq!(free(&mut world), [true, true]);
    // One that is used is closed when it is given back.
    world.ask(a, Begin);
    world.ask(a, lock(1));
    world.0.run(20_000);
    assert_eq!(free(&mut world), [false, true]);
    world.ask(a, Commit);
    assert_eq!(free(&mut world), [true, true]);
}

#[test]
fn a_connection_that_was_free_for_long_is_tried_before_it_is_used() {
    let mut world = world(PoolMode::Transaction, 1);
    let a = world.client(POOLER);
    for (waits, takes) in [(29_000, 4), (31_000, 6), (31_000, 6), (0, 4)] {
        world.0.run(waits);
        let (before, at) = (world.0.replies.len(), world.0.ms());
        assert_eq!(world.ask(a, One), "1");
        assert_eq!(world.0.replies[before].0 - at, takes, "after {waits} ms");
    }
    // After ten minutes it is no more; until then it keeps what it has.
    world.ask(a, lock(3));
    let direct = world.client(SERVER);
    world.0.run(599_900);
    assert!(!world.is_free(direct, 3));
    world.0.run(100);
    assert!(world.is_free(direct, 3));
}

#[test]
fn an_attempt_to_connect_that_nobody_answers_is_given_up() {
    let mut world = world(PoolMode::Transaction, 1);
    world.0.cut(SERVER, POOLER);
    let a = world.0.line(POOLER);
    world.0.tell(a, startup());
    world.0.run(10_000);
    world.0.heal();
    world.0.run(4_900);
    assert_eq!(world.answers(0), []);
    world.0.run(200);
    assert_eq!(world.answers(0).len(), 1, "the second attempt comes through");
}

#[test]
fn who_asked_is_known_however_long_it_waits() {
    let mut world = world(PoolMode::Transaction, 1);
    let [a, b] = [(); 2].map(|()| world.client(POOLER));
    let attempt = |client| Some(AttemptId::new(NodeId::new(client), 1.try_into().expect("from 1")));
    world.0.as_attempt(attempt(5));
    world.ask(a, Begin);
    world.ask(a, advise(1, Scope::Transaction, false));
    world.0.as_attempt(attempt(6));
    world.ask(b, lock(1));
    world.0.as_attempt(attempt(5));
    world.ask(a, Commit);
    let owners = world.0.notes.iter().filter_map(|(_, _, note)| match note {
        Note::Owner { attempt, .. } => Some(*attempt),
        _ => None,
    });
    assert_eq!(owners.collect::<Vec<_>>(), [attempt(5), None, attempt(6)]);
}

#[test]
fn what_a_pooler_discards_when_its_client_has_left_nobody_has_asked_for() {
    let mut world = world(PoolMode::Session, 1);
    let a = world.client(POOLER);
    world.0.as_attempt(Some(AttemptId::new(NodeId::new(5), 1.try_into().expect("from 1"))));
    world.ask(a, lock(1));
    world.0.as_attempt(None);
    world.0.hang_up(a);
    world.0.run(20);
    let lost = world.0.notes.iter().filter_map(|(_, _, note)| match note {
        Note::Owner { attempt: None, cause, .. } => Some(*cause),
        _ => None,
    });
    assert_eq!(lost.collect::<Vec<_>>(), [Cause::SessionEnd]);
}

#[test]
fn a_client_whose_machine_is_gone_keeps_its_connection_for_as_long_as_tcp_says() {
    let mut world = world(PoolMode::Transaction, 1);
    let a = world.client(POOLER);
    let direct = world.client(SERVER);
    world.ask(a, Begin);
    world.ask(a, advise(7, Scope::Transaction, false));
    world.0.cut(world.0.tester(), POOLER);
    world.0.run(7_870_000);
    assert!(!world.is_free(direct, 7));
    world.0.run(10_000);
    assert!(world.is_free(direct, 7));
}
