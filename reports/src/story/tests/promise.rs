//! The stories of the properties that are about the lock itself.

use host::{Duration, NodeId};
use spec::{Cause, Note, OpId, Thread};

use super::*;

/// A run that is judged for that property alone.
fn judged_for(property: Property) -> Told {
    let mut told = Told::new("open");
    told.asked = vec![property];
    told
}

/// The story is these sentences.
#[track_caller]
fn expect(told: &Told, sentences: &[&str]) {
    let (short, _) = both_stories(told, told.asked[0]);
    assert_eq!(short, sentences, "\n{}\n", short.join("\n"));
}

impl Told {
    fn owner(&mut self, at: u64, attempt: Option<host::AttemptId>, cause: Cause) -> &mut Self {
        self.note(at, REDIS, Note::Owner { authority: REDIS, key: "orders".into(), attempt, cause })
    }

    fn asks_for(&mut self, at: u64, attempt: host::AttemptId, lock: &str) -> &mut Self {
        self.note(
            at,
            attempt.client(),
            Note::Attempting {
                attempt,
                lock: lock.into(),
                thread: Thread::default(),
                after: None,
                mode: Mode::Exclusive,
            },
        )
    }

    fn effect(&mut self, at: u64, attempt: host::AttemptId) -> &mut Self {
        let note = Note::Effected { attempt: Some(attempt), op: OpId(0), effect: "charge".into() };
        self.note(at, NodeId::new(4), note)
    }
}

fn first() -> host::AttemptId {
    attempt(WORKER_1, 1)
}

fn second() -> host::AttemptId {
    attempt(WORKER_2, 1)
}

#[test]
fn tokens_that_go_back() {
    let mut told = judged_for(Property::TokenOrder);
    told.takes(100, first(), 34, Some(10_100)).owner(10_101, None, Cause::Expiry);
    told.takes(10_200, second(), 33, Some(20_200));
    expect(
        &told,
        &[
            "At 0.101 s worker-1 was granted the lock with token 34.",
            "At 10.201 s worker-2 was granted the lock with token 33.",
            "Token 33 is below token 34, which was given before it.",
            "No fault was involved.",
            "That breaks token-order, inside the assumptions of redis: the lock, or its use, is to blame.",
        ],
    );
}

#[test]
fn a_release_of_somebody_elses_lock() {
    let mut told = judged_for(Property::OwnerRelease);
    told.takes(100, first(), 1, Some(10_100)).owner(10_101, None, Cause::Expiry);
    told.takes(10_200, second(), 2, Some(20_200)).owner(12_000, None, Cause::Request(Some(first())));
    told.takes(12_100, attempt(WORKER_3, 1), 3, Some(22_000));
    expect(
        &told,
        &[
            "At 10.201 s worker-2 was granted the lock with token 2, until 20.200 s.",
            "At 12.000 s worker-1 had `orders` deleted, which belonged to worker-2.",
            "No fault was involved.",
            "At 12.101 s worker-3 was granted the lock.",
            "That breaks owner-release, inside the assumptions of redis: the lock, or its use, is to blame.",
        ],
    );
    let mut told = judged_for(Property::OwnerRelease);
    told.takes(100, first(), 1, Some(10_100)).owner(500, None, Cause::Request(None));
    expect(
        &told,
        &[
            "At 0.101 s worker-1 was granted the lock with token 1, until 10.100 s.",
            "At 0.500 s somebody outside any attempt had `orders` deleted, which belonged to worker-1.",
            "No fault was involved.",
            "That breaks owner-release, inside the assumptions of redis: the lock, or its use, is to blame.",
        ],
    );
    let mut told = judged_for(Property::OwnerRelease);
    told.takes(100, first(), 1, Some(10_100)).takes(500, second(), 2, Some(10_500));
    expect(
        &told,
        &[
            "At 0.101 s worker-1 was granted the lock with token 1, until 10.100 s.",
            "At 0.500 s worker-2 was made the owner of `orders`, which belonged to worker-1.",
            "No fault was involved.",
            "At 0.501 s worker-2 was granted the lock.",
            "That breaks owner-release, inside the assumptions of redis: the lock, or its use, is to blame.",
        ],
    );
    let mut told = judged_for(Property::OwnerRelease);
    told.takes(100, first(), 1, Some(10_100));
    let key = "orders".into();
    told.note(500, REDIS, Note::Extended { authority: REDIS, key, attempt: first(), by: Some(second()) });
    expect(
        &told,
        &[
            "At 0.101 s worker-1 was granted the lock with token 1, until 10.100 s.",
            "At 0.500 s worker-2 had the lease on `orders` extended, which belonged to worker-1.",
            "No fault was involved.",
            "That breaks owner-release, inside the assumptions of redis: the lock, or its use, is to blame.",
        ],
    );
}

#[test]
fn a_holder_that_goes_on_without_its_lock() {
    let mut told = judged_for(Property::HolderInformed);
    told.rules.bounds.inform = Some(Duration::from_secs(1));
    told.takes(100, first(), 1, Some(10_100)).owner(500, None, Cause::Eviction).takes(600, second(), 2, Some(10_600));
    expect(
        &told,
        &[
            "At 0.101 s worker-1 was granted the lock with token 1, until 10.100 s.",
            "At 0.500 s redis-1 evicted the lock of worker-1 for want of memory.",
            "At 1.500 s worker-1 had gone on for longer than the bound, and took the lock to be its own, while worker-2 owned it.",
            "No fault was involved.",
            "That breaks holder-informed, inside the assumptions of redis: the lock, or its use, is to blame.",
        ],
    );
}

#[test]
fn a_lock_that_stays_behind() {
    let mut told = judged_for(Property::NoLeak);
    told.rules.bounds.leak = Some(Duration::from_secs(20));
    told.takes(100, first(), 1, None).asks(200, second()).note(201, WORKER_2, Note::Denied { attempt: second() });
    told.fault(("crash", "kill"), &[WORKER_1], 500, None).becomes(500, WORKER_1, Activity::Dead);
    expect(
        &told,
        &[
            "At 0.100 s redis-1 made worker-1 the owner of the lock.",
            "At 0.500 s a kill (fault `crash`) struck worker-1; it never ran again.",
            "From 0.500 s to the horizon worker-2 waited for the lock, which worker-1 did not use.",
            "That breaks no-leak, inside the assumptions of redis: the lock, or its use, is to blame.",
        ],
    );
}

#[test]
fn a_lock_that_nobody_gets() {
    let mut told = judged_for(Property::Progress);
    told.rules.bounds.progress = Some(Duration::from_secs(20));
    told.asks(200, second()).note(201, WORKER_2, Note::Denied { attempt: second() });
    expect(
        &told,
        &[
            "At 0.200 s worker-2 began to wait for the lock.",
            "At 20.200 s no server had an owner for it.",
            "At 20.200 s somebody had waited for longer than the bound, while nobody was in the lock's section.",
            "No fault was involved.",
            "That breaks progress, inside the assumptions of redis: the lock, or its use, is to blame.",
        ],
    );
    let mut told = judged_for(Property::Progress);
    told.rules.bounds.progress = Some(Duration::from_secs(20));
    told.asks(100, first()).owns(101, first());
    told.asks(200, second()).note(201, WORKER_2, Note::Denied { attempt: second() });
    told.note(1_100, WORKER_1, Note::Failed { attempt: first() }).note(
        1_100,
        WORKER_1,
        Note::GaveUp { attempt: first() },
    );
    expect(
        &told,
        &[
            "At 0.101 s redis-1 made worker-1 the owner of the lock, which never heard of it.",
            "At 0.200 s worker-2 began to wait for the lock.",
            "At 20.200 s somebody had waited for longer than the bound, while nobody was in the lock's section.",
            "No fault was involved.",
            "That breaks progress, inside the assumptions of redis: the lock, or its use, is to blame.",
        ],
    );
}

#[test]
fn a_circle_of_waits() {
    let mut told = judged_for(Property::NoDeadlock);
    for (at, own, lock) in [(100, first(), "orders"), (200, second(), "parcels")] {
        let (attempt, cause) = (Some(own), Cause::Request(Some(own)));
        told.asks_for(at, own, lock);
        told.note(at, REDIS, Note::Owner { authority: REDIS, key: lock.into(), attempt, cause });
        told.granted(at + 1, own, 1, None);
    }
    let (third, fourth) = (attempt(WORKER_1, 2), attempt(WORKER_2, 2));
    told.asks_for(300, third, "parcels").note(301, WORKER_1, Note::Denied { attempt: third });
    told.asks_for(400, fourth, "orders").note(401, WORKER_2, Note::Denied { attempt: fourth });
    expect(
        &told,
        &[
            "At 0.101 s worker-1 was granted `orders`.",
            "At 0.201 s worker-2 was granted `parcels`.",
            "At 0.400 s the circle closed: worker-2 waits for `orders`, which worker-1 has, and worker-1 for `parcels`, which worker-2 has.",
            "No fault was involved.",
            "That breaks no-deadlock, inside the assumptions of redis: the lock, or its use, is to blame.",
        ],
    );
}

#[test]
fn a_client_that_is_overtaken() {
    let mut told = judged_for(Property::Fairness);
    told.rules.bounds.overtakes = Some(0);
    told.asks(100, first()).note(101, WORKER_1, Note::Denied { attempt: first() });
    told.takes(200, second(), 1, Some(10_200));
    expect(
        &told,
        &[
            "At 0.100 s worker-1 began to wait for the lock.",
            "At 0.201 s worker-2 was granted the lock with token 1.",
            "By 0.201 s worker-1 had been overtaken more often than the bound allows.",
            "No fault was involved.",
            "That breaks fairness, inside the assumptions of redis: the lock, or its use, is to blame.",
        ],
    );
}

#[test]
fn a_lock_that_is_lost_before_its_time() {
    let mut told = judged_for(Property::NoNeedlessLoss);
    told.fault(("pressure", "evict"), &[REDIS], 500, 500);
    told.takes(100, first(), 1, Some(10_100)).owner(500, None, Cause::Eviction).takes(600, second(), 2, Some(10_600));
    expect(
        &told,
        &[
            "At 0.101 s worker-1 was granted the lock with token 1, until 10.100 s.",
            "At 0.500 s an eviction (fault `pressure`) struck redis-1.",
            "At 0.500 s redis-1 evicted the lock of worker-1 for want of memory.",
            "At 0.601 s worker-2 was granted the lock.",
            "That breaks no-needless-loss, inside the assumptions of redis: the lock, or its use, is to blame.",
        ],
    );
    let mut told = judged_for(Property::NoNeedlessLoss);
    told.takes(100, first(), 1, Some(10_100));
    told.becomes(500, REDIS, Activity::Dead).becomes(600, REDIS, Activity::Running);
    expect(
        &told,
        &[
            "At 0.101 s worker-1 was granted the lock with token 1, until 10.100 s.",
            "At 0.600 s the server was back, and had forgotten the lock of worker-1.",
            "No fault was involved.",
            "That breaks no-needless-loss, inside the assumptions of redis: the lock, or its use, is to blame.",
        ],
    );
    let mut told = judged_for(Property::NoNeedlessLoss);
    told.fault(("old", "restore"), &[REDIS], 500, 600).takes(100, first(), 1, Some(10_100));
    told.becomes(500, REDIS, Activity::Dead).becomes(600, REDIS, Activity::Running);
    let restored = "At 0.600 s the server was back with what the backup had, and that is without the lock of worker-1.";
    let short = told.tell(|run| short_story(run, Property::NoNeedlessLoss));
    assert_eq!(short[2], restored, "{short:#?}");
    let mut told = judged_for(Property::NoNeedlessLoss);
    told.rules.renews = Some(Duration::from_secs(3));
    told.takes(100, first(), 1, Some(10_100)).owner(10_101, None, Cause::Expiry);
    expect(
        &told,
        &[
            "At 0.101 s worker-1 was granted the lock with token 1, until 10.100 s.",
            "At 10.101 s the lease of worker-1 ran out at redis-1.",
            "The lock should have been renewed, and nothing kept worker-1 from trying.",
            "No fault was involved.",
            "That breaks no-needless-loss, inside the assumptions of redis: the lock, or its use, is to blame.",
        ],
    );
}

#[test]
fn an_effect_that_is_done_twice() {
    let mut told = judged_for(Property::SingleEffect);
    told.takes(100, first(), 1, Some(10_100)).effect(200, first()).gives_back(300, first());
    told.takes(400, second(), 2, Some(10_400)).effect(500, second());
    expect(
        &told,
        &[
            "At 0.200 s worker-1 did `charge`.",
            "At 0.401 s worker-2 was granted the lock with token 2.",
            "At 0.500 s worker-2 did `charge` again.",
            "No fault was involved.",
            "That breaks single-effect, inside the assumptions of redis: who did it again without looking is to blame.",
        ],
    );
}

#[test]
fn a_lock_of_which_the_server_that_is_promoted_knows_nothing() {
    let mut told = judged_for(Property::NoNeedlessLoss);
    told.takes(100, first(), 1, Some(10_100)).becomes(500, REDIS, Activity::Dead);
    told.note(600, REDIS, Note::Promoted { authority: REDIS, instead_of: REDIS });
    let promoted = "At 0.600 s redis-1 took the place of redis-1, and knew nothing of the lock of worker-1.";
    let short = told.tell(|run| short_story(run, Property::NoNeedlessLoss));
    assert!(short.iter().any(|sentence| sentence == promoted), "{short:#?}");
    let mut told = judged_for(Property::NoNeedlessLoss);
    told.takes(100, first(), 1, Some(10_100)).becomes(500, REDIS, Activity::Dead).becomes(
        600,
        REDIS,
        Activity::Running,
    );
    told.note(550, WORKER_2, Note::Promoted { authority: WORKER_2, instead_of: WORKER_2 });
    let back = "At 0.600 s the server was back, and had forgotten the lock of worker-1.";
    let short = told.tell(|run| short_story(run, Property::NoNeedlessLoss));
    assert!(short.iter().any(|sentence| sentence == back), "one that was promoted before took nothing: {short:#?}");
}
