//! All interleavings of two clients' operations, through the real kernel, counted.
//!
//! Both clients believe that they hold the lock (a lock that everybody gets; A is granted first, so that B is
//! the newer), and only the resource stands between them and a lost update. The counts were found on paper, by
//! enumerating the orders; each stands beside its reason.

use fencepost::redis::{Command, Reply};
use fencepost::{Acquired, Bench, Connection, Lease, LockName, Property, Recipe, RedisHost, Release, Token};
use scenarios::language::load;
use scenarios::{Contender, Player, Run};
use spec::Note;

/// A lock that everybody gets, with tokens that rise.
#[derive(Clone)]
struct Generous(Bench);

impl<H: RedisHost> Recipe<H> for Generous {
    type Proof = ();

    async fn acquire(&self, host: &H, _: LockName) -> Acquired<()> {
        let Ok(redis) = host.connect(self.0.redis[0], self.0.call_timeout).await else { return Acquired::Failed };
        match redis.call(Command::Incr { key: "token".into() }, self.0.call_timeout).await {
            Ok(Reply::Int(token)) => {
                let token = Some(Token(token.cast_unsigned()));
                Acquired::Granted(Lease { token, ..Lease::until_released(()) })
            }
            _ => Acquired::Failed,
        }
    }

    async fn release(&self, _: &H, _: LockName, _: &Lease<()>) -> Release {
        Release::Confirmed
    }
}

/// Which client takes each turn.
type Order = Vec<char>;

/// All orders in which A and B take so many turns each.
fn orders(turns: usize) -> Vec<Order> {
    let mut orders: Vec<Order> = vec![Vec::new()];
    for _ in 0..2 * turns {
        let longer = |order: &Order| {
            let left = |name: &char| order.iter().filter(|taken| *taken == name).count() < turns;
            let with = |name: char| order.iter().copied().chain([name]).collect();
            ['A', 'B'].into_iter().filter(left).map(with).collect::<Vec<Order>>()
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    orders
}

/// A scenario in which the turns are 100 ms apart, and each client does `steps` in its own, one a turn. Where a
/// step is `…`, its turn is the end of the one before it, which takes the resource as long.
fn scenario(order: &[char], resource: &str, steps: &[&str]) -> String {
    let client = |name: char, acquires: u32| {
        let turns: Vec<usize> =
            (0..order.len()).filter(|turn| order[*turn] == name).map(|turn| 100 * (turn + 1)).collect();
        let step = |i: usize| match (steps[i], steps.get(i + 1)) {
            ("…", _) => String::new(),
            (step, Some(&"…")) => {
                format!(
                    "{{ at = \"{}ms\" }}, {{ {step} = {{ takes = \"{}ms\" }} }}, ",
                    turns[i],
                    turns[i + 1] - turns[i]
                )
            }
            (step, _) => format!("{{ at = \"{}ms\" }}, {step:?}, ", turns[i]),
        };
        let steps: String = (0..steps.len()).map(step).collect();
        format!("[client.{name}]\npolicy = \"naive\"\ndo = [{{ at = \"{acquires}ms\" }}, \"acquire\", {steps}]\n")
    };
    format!(
        "name = \"interleaving\"\ntitle = \"two clients inside at once\"\nsource = \"own\"\nlock = \"redis\"\n\
         resource = {resource}\n{}{}",
        client('A', 10),
        client('B', 20)
    )
}

/// What came of all the orders.
#[derive(PartialEq, Eq, Debug)]
struct Count {
    orders: usize,
    /// In how many an update was lost.
    lossy: usize,
    /// In how many the older client wrote, and the newer did not.
    only_older: usize,
}

fn count(resource: &str, steps: &[&str]) -> Count {
    let orders = orders(steps.len());
    let runs: Vec<Run> = orders.iter().map(|order| play(&scenario(order, resource, steps))).collect();
    let lossy = runs.iter().filter(|run| run.broken().contains_key(&Property::NoLostUpdate)).count();
    let only_older = runs.iter().filter(|run| writers(run) == ["A"]).count();
    Count { orders: orders.len(), lossy, only_older }
}

/// An order decides, whatever the seed: one is enough.
fn play(text: &str) -> Run {
    let scenario = load("interleaving", text, &[]).unwrap_or_else(|errors| panic!("{errors}"));
    let contender = Contender::own::<_, _>("generous", |bench| Generous(bench.clone()));
    Player::new(&scenario.cells[0], &contender).play(0)
}

fn writers(run: &Run) -> Vec<&str> {
    let writer = |note: &Note| match note {
        Note::Wrote { attempt, .. } => attempt.map(|attempt| run.name(attempt.client())),
        _ => None,
    };
    let mut writers: Vec<&str> = run.history.entries.iter().filter_map(|entry| writer(&entry.note)).collect();
    writers.sort_unstable();
    writers
}

const READ_WRITE: &[&str] = &["read", "write"];
const MARK_READ_WRITE: &[&str] = &["mark", "read", "write"];
const TICKET_READ_WRITE: &[&str] = &["ticket", "read", "write"];
const READ_CHECK_WRITE: &[&str] = &["read", "write", "…"];

#[test]
fn an_open_resource_loses_an_update_unless_one_comes_after_the_other() {
    // Of six orders, AABB and BBAA are serial.
    assert_eq!(count("\"open\"", READ_WRITE), Count { orders: 6, lossy: 4, only_older: 0 });
}

#[test]
fn a_fence_for_writes_loses_an_update_if_the_older_writes_first() {
    // ABAB and BAAB: both read, A writes, and B, the newer, overwrites what it has not seen. Where B writes first
    // (ABBA, BABA, BBAA), A is refused.
    for check in ["fence_w", "fence_rc"] {
        assert_eq!(count(&format!("{check:?}"), READ_WRITE), Count { orders: 6, lossy: 2, only_older: 0 }, "{check}");
    }
}

#[test]
fn a_fence_that_refuses_equals_loses_no_fewer() {
    assert_eq!(count("\"fence_le\"", READ_WRITE), Count { orders: 6, lossy: 2, only_older: 0 });
}

#[test]
fn a_read_that_raises_the_barrier_loses_nothing() {
    assert_eq!(count("\"fence_rw\"", READ_WRITE), Count { orders: 6, lossy: 0, only_older: 0 });
}

#[test]
fn compare_and_set_loses_nothing_and_prefers_nobody() {
    // Who writes first of two that have read the same wins: A in ABAB and BAAB.
    assert_eq!(count("\"version\"", READ_WRITE), Count { orders: 6, lossy: 0, only_older: 2 });
}

#[test]
fn a_mark_before_the_read_loses_nothing() {
    assert_eq!(count("\"mark\"", MARK_READ_WRITE), Count { orders: 20, lossy: 0, only_older: 0 });
}

#[test]
fn a_unique_mark_loses_nothing_and_lets_the_older_win() {
    // Who marks last writes, unless the other had written before that. A marks after B in ten orders, and in one of
    // those, BBBAAA, B has written already.
    assert_eq!(count("\"unique\"", MARK_READ_WRITE), Count { orders: 20, lossy: 0, only_older: 9 });
}

#[test]
fn a_number_drawn_after_the_grant_loses_nothing_if_the_draw_raises_the_barrier() {
    // Who draws last has the barrier, whoever was granted first: as with a unique mark.
    assert_eq!(count("\"mark\"", TICKET_READ_WRITE), Count { orders: 20, lossy: 0, only_older: 9 });
}

#[test]
fn a_number_drawn_after_the_grant_loses_updates_if_only_writes_raise_the_barrier() {
    // If A draws first, B has the higher number, and an update is lost where B reads before A writes and writes after
    // that: A's read may stand before, between or after B's draw and read. Three orders, and three the other way.
    assert_eq!(count("\"fence_w\"", TICKET_READ_WRITE).lossy, 6);
}

#[test]
fn a_check_apart_from_the_act_loses_updates_in_spite_of_tokens() {
    // Of 20 orders, two are serial, and in three B has written before A is checked and refused. The other 15 lose.
    let resource = "{ check = \"fence_w\", act = \"check-then-act\" }";
    assert_eq!(count(resource, READ_CHECK_WRITE), Count { orders: 20, lossy: 15, only_older: 0 });
}

#[test]
fn a_check_that_records_at_once_loses_fewer() {
    // In six of those, B is checked before A, which is then refused.
    let resource = "{ check = \"fence_w\", act = \"record-then-act\" }";
    assert_eq!(count(resource, READ_CHECK_WRITE), Count { orders: 20, lossy: 9, only_older: 0 });
}

#[test]
fn an_atomic_check_at_the_end_loses_as_many_as_without_the_time() {
    // Of read, nothing and write, the nothing may stand anywhere: the 20 orders fall on the six of read and write.
    let Count { orders, lossy, only_older } = count("\"fence_rw\"", READ_CHECK_WRITE);
    assert_eq!((orders, lossy, only_older), (20, 0, 0));
}
