//! Broken locks and broken resources, one for each property: each must be found out, or the property
//! checks nothing. Beside each stands what was broken, working. `mutant_and_twin` names them by property; the
//! other tests say what else each breaks.

use std::cell::Cell;
use std::rc::Rc;

use fencepost::Property::{
    BeliefExclusion, EffectOrder, Fairness, GrantExclusion, HolderInformed, NoDeadlock, NoLeak, NoLostUpdate,
    NoNeedlessLoss, OwnerRelease, Progress, RightfulAccepted, SingleEffect, TokenOrder,
};
use fencepost::redis::{Command, Reply, Script, Value};
use fencepost::{
    Acquired, Authorities, Bench, CellVerdict, Check, Connection, Duration, Guard, Lease, LockName, Op, Property,
    Purpose, Recipe, RedisHost, Release, Ruling, Seen, Token, Trial,
};

mod promises;

/// Two clients take turns for 12 s; each works for as long as its lease allows.
const TURNS: &str = r#"
name = "turns"
title = "two clients use their leases to the end"
source = "own"
horizon = "40s"
lock = "redis"
resource = "fence_rw"
[client.worker]
count = 2
rounds = 3
do = ["acquire", "read", { sleep = "50ms" }, "write", { sleep = "5s" }, "read", "write", "release"]
"#;

/// As `gc-pause`, but with a resource that checks tokens.
const PAUSED: &str = r#"
name = "paused"
title = "a pause outlives the lease"
source = "own"
horizon = "60s"
lock = "redis"
resource = "fence_rw"
[client.worker]
count = 2
[fault.gc]
pause = "holder"
when = { point = "about-to-write" }
for = "15s"
[[expect]]
always = ["belief-exclusion"]
because = "no resource repairs a belief"
"#;

/// The lock of the catalogue with one thing wrong.
#[derive(Clone)]
struct Mutant {
    bench: Bench,
    fault: Wrong,
    /// How often it will say no without having asked.
    disheartened: Rc<Cell<u32>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Nothing,
    /// A refusal is taken for a grant.
    TakesNoForYes,
    /// It promises twice what the server was told.
    PromisesTwice,
    /// Its tokens are drawn at random.
    ShufflesTokens,
    /// It gives back whatever is there.
    DeletesWithoutALook,
    /// It says that it has given the lock back, and has not.
    KeepsTheKey,
    /// Once it was denied, it asks only one time in ten.
    LosesHeart,
}

impl<H: RedisHost> Recipe<H> for Mutant {
    type Proof = Value;

    async fn acquire(&self, host: &H, lock: LockName) -> Acquired<Value> {
        let skip = self.disheartened.get();
        if skip > 0 {
            self.disheartened.set(skip - 1);
            return Acquired::Denied;
        }
        let value = Value::from(host.random(Purpose::Recipe).to_string().as_bytes());
        let start = host.monotonic();
        let px = self.bench.ttl.map(|ttl| ttl.as_millis() as i64);
        let (key, counter) = (lock, "counter".into());
        let command = Script::LockWithToken { key, value: value.clone(), px, counter };
        let Ok(redis) = host.connect(self.bench.redis[0], self.bench.call_timeout).await else {
            return Acquired::Failed;
        };
        let token = match redis.call(command.into(), self.bench.call_timeout).await {
            Ok(Reply::Int(token)) => token.cast_unsigned(),
            Ok(_) if self.fault == Wrong::TakesNoForYes => 1_000,
            Ok(_) => {
                self.disheartened.set(if self.fault == Wrong::LosesHeart { 9 } else { 0 });
                return Acquired::Denied;
            }
            Err(_) => return Acquired::Failed,
        };
        let token = if self.fault == Wrong::ShufflesTokens { host.random(Purpose::Recipe) } else { token };
        let promised = |ttl: Duration| match self.fault {
            Wrong::PromisesTwice => ttl * 2,
            _ => ttl - ttl / 100 - Duration::from_millis(2),
        };
        Acquired::Granted(Lease {
            proof: value,
            token: Some(Token(token)),
            until: self.bench.ttl.map(|ttl| start + promised(ttl)),
            counted: Authorities::one(self.bench.redis[0].node()),
        })
    }

    async fn release(&self, host: &H, lock: LockName, lease: &Lease<Value>) -> Release {
        let Ok(redis) = host.connect(self.bench.redis[0], self.bench.call_timeout).await else {
            return Release::Refused;
        };
        let command = match self.fault {
            Wrong::KeepsTheKey => return Release::Confirmed,
            Wrong::DeletesWithoutALook => Command::Del { key: lock },
            _ => Script::CompareAndDelete { key: lock, value: lease.proof.clone() }.into(),
        };
        match redis.call(command, self.bench.call_timeout).await {
            Ok(Reply::Int(1)) => Release::Confirmed,
            _ => Release::Refused,
        }
    }
}

/// The properties that were broken, each with the number of seeds, of 20, that broke it.
fn broken(scenario: &str, fault: Wrong, check: fn(&Op, Seen) -> Ruling) -> Vec<(Property, u64)> {
    let trial = Trial::of_text(scenario).expect("it is a scenario").check(check);
    let verdict = trial
        .lock("mutant", move |bench| Mutant { bench: bench.clone(), fault, disheartened: Rc::default() })
        .seeds(0..20)
        .run();
    let cell: &CellVerdict = verdict.cell(&[]);
    assert_eq!(cell.vacuous(), 0);
    let broken = Property::ALL.map(|property| (property, cell.broken(property)));
    broken.into_iter().filter(|(_, seeds)| *seeds > 0).collect()
}

fn fence_rw(op: &Op, seen: Seen) -> Ruling {
    Guard::FenceRw.judge(op, seen)
}

fn open(op: &Op, seen: Seen) -> Ruling {
    Guard::Open.judge(op, seen)
}

/// The fencepost error: a token must be above the highest seen.
fn strict(op: &Op, seen: Seen) -> Ruling {
    if op.token > seen.barrier { Ruling::Accept { barrier: op.token } } else { Ruling::Refuse }
}

/// A world, the lock that is used there, and the check of its resource.
struct Case(String, Wrong, fn(&Op, Seen) -> Ruling);

impl Case {
    fn breaks(self, property: Property) -> bool {
        broken(&self.0, self.1, self.2).iter().any(|(one, _)| *one == property)
    }
}

/// What breaks that property, and what stands beside it and does not.
fn mutant_and_twin(property: Property) -> [Case; 2] {
    let turns = |fault, check| Case(TURNS.to_owned(), fault, check);
    let paused = |fault, check| Case(PAUSED.to_owned(), fault, check);
    let plain = |tables: &str, fault| Case(promises::world(tables), fault, open);
    let in_plain = |tables: &str, fault| [plain(tables, fault), plain(tables, Wrong::Nothing)];
    match property {
        GrantExclusion | BeliefExclusion => [turns(Wrong::TakesNoForYes, fence_rw), turns(Wrong::Nothing, fence_rw)],
        EffectOrder | NoLostUpdate => [paused(Wrong::Nothing, open), paused(Wrong::Nothing, fence_rw)],
        RightfulAccepted => [turns(Wrong::Nothing, strict), turns(Wrong::Nothing, fence_rw)],
        TokenOrder => [turns(Wrong::ShufflesTokens, open), turns(Wrong::Nothing, open)],
        OwnerRelease => in_plain(promises::LATE, Wrong::DeletesWithoutALook),
        HolderInformed | NoNeedlessLoss => in_plain(promises::HOLDING, Wrong::PromisesTwice),
        NoLeak | Progress => in_plain(promises::WAITING, Wrong::KeepsTheKey),
        NoDeadlock => [["y", "x"], ["x", "y"]].map(|order| plain(&promises::transfer(order), Wrong::Nothing)),
        Fairness => in_plain(promises::ALTERNATING, Wrong::LosesHeart),
        SingleEffect => in_plain(promises::CHARGE, Wrong::TakesNoForYes),
    }
}

#[test]
fn every_property_is_broken_by_a_mutant_and_not_by_its_twin() {
    for property in Property::ALL {
        let [mutant, twin] = mutant_and_twin(property);
        assert!(mutant.breaks(property), "no mutant breaks {property}");
        assert!(!twin.breaks(property), "what is not broken breaks {property}");
    }
}

#[test]
fn what_is_not_broken_breaks_nothing_but_a_belief() {
    assert_eq!(broken(TURNS, Wrong::Nothing, fence_rw), []);
    assert_eq!(broken(PAUSED, Wrong::Nothing, fence_rw), [(BeliefExclusion, 20)]);
}

#[test]
fn a_lock_that_takes_no_for_yes_breaks_grant_exclusion_and_belief_exclusion() {
    let all = broken(TURNS, Wrong::TakesNoForYes, fence_rw);
    assert_eq!(all[..2], [(GrantExclusion, 20), (BeliefExclusion, 20)]);
}

#[test]
fn a_lock_that_promises_more_than_it_has_breaks_grant_exclusion() {
    // Its holder is paused for 15 s of a promised 20; the key is gone after 10.
    let all = broken(PAUSED, Wrong::PromisesTwice, open);
    assert_eq!(all, [(GrantExclusion, 20), (BeliefExclusion, 20), (EffectOrder, 20), (NoLostUpdate, 20)]);
}

#[test]
fn a_resource_that_checks_nothing_breaks_effect_order_and_no_lost_update() {
    let all = broken(PAUSED, Wrong::Nothing, open);
    assert_eq!(all, [(BeliefExclusion, 20), (EffectOrder, 20), (NoLostUpdate, 20)]);
}

#[test]
fn shuffled_tokens_refuse_a_rightful_holder() {
    let all = broken(PAUSED, Wrong::ShufflesTokens, fence_rw);
    let names: Vec<_> = all.iter().map(|(property, _)| *property).collect();
    // Nothing of the newer holder was applied for the older to come after.
    assert_eq!(names, [BeliefExclusion, RightfulAccepted, TokenOrder], "the lock itself is sound");
    // The first holder's read has raised the barrier before its pause. Of two tokens in random order the
    // second is the smaller in half of all seeds, and then its rightful holder is refused.
    assert!((4..=16).contains(&all[1].1), "{all:?}");
    assert_eq!(all[1].1, all[2].1, "whose token is the smaller is refused");
}

#[test]
fn a_resource_with_the_fencepost_error_refuses_a_rightful_holder() {
    assert_eq!(broken(TURNS, Wrong::Nothing, strict), [(RightfulAccepted, 20)]);
}
