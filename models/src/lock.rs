//! Which locks there are, and how each can be set.
//!
//! A scenario chooses one of these; its switches are types, and each has a default with a source.

use host::{Duration, Operation, Point, Ppm, nanos};
use spec::{Assumption, Property};

use crate::redis;

/// A lock as a scenario chooses it: a recipe and its switches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lock {
    /// A lock on one Redis server: owner value, compare-and-delete.
    Redis(RedisLock),
}

/// The switches of the lock on one Redis server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RedisLock {
    /// Where the fencing token comes from.
    pub token: TokenSource,
    /// How often the lease is extended in the background. `None`: never (Redis clients do not do it
    /// by themselves).
    pub renew: Option<Duration>,
    /// What becomes of a grant that comes after its caller was interrupted.
    pub late_grant: LateGrant,
}

/// What a client library does with a grant that comes after its caller was interrupted.
///
/// Source of the question: Redisson, issues 2714 and 1626: a thread is interrupted in `tryLock` while the
/// request is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LateGrant {
    /// Nobody looks at it: the call died with its caller, and the key stays until it expires.
    #[default]
    Forgotten,
    /// The library takes it as any other, and renews it; nobody is left who could release it.
    Kept,
    /// The library gives it back at once.
    GivenBack,
}

/// Where a Redis lock takes its fencing token from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TokenSource {
    /// It has none: the owner value is random and has no order.
    #[default]
    None,
    /// `INCR` in the script that takes the lock, so that tokens are in the order of grants.
    IncrInScript,
}

/// What the loader must know of a lock to check a scenario's words.
#[derive(Clone, Copy, Debug)]
pub struct LockFacts {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One line for `list`.
    pub title: &'static str,
    /// Its servers are called `PREFIX-1`, `PREFIX-2`, …
    pub server_prefix: &'static str,
    /// How many servers it has.
    pub servers: u16,
    /// The program points of its recipe, beside those of every client.
    pub points: &'static [Point],
    /// The requests of its recipe, by the names that faults use.
    pub operations: &'static [Operation],
    /// Whether it can give a fencing token.
    pub has_token: bool,
}

/// Every lock, in the order of `list`.
pub const LOCKS: &[LockFacts] = &[LockFacts {
    name: "redis",
    title: "one Redis server, SET NX PX with an owner value, compare-and-delete",
    server_prefix: "redis",
    servers: 1,
    points: &[],
    operations: &[Operation("set"), Operation("renew"), Operation("release")],
    has_token: true,
}];

/// The requests of the guarded resource, by the names that faults use.
pub const RESOURCE_OPERATIONS: &[Operation] = &[Operation("read"), Operation("write"), Operation("mark")];

impl Lock {
    /// What the loader must know of it.
    #[must_use]
    pub const fn facts(&self) -> &'static LockFacts {
        match self {
            Self::Redis(_) => &LOCKS[0],
        }
    }

    /// What one of its promises rests on.
    #[must_use]
    pub const fn needs(&self, property: Property) -> &'static [Assumption] {
        match self {
            Self::Redis(_) => redis_needs(property),
        }
    }

    /// What it rests on at a resource whose fence sees all that the lock protects.
    #[must_use]
    pub const fn needs_behind_fence(&self, property: Property) -> &'static [Assumption] {
        match (self, property) {
            // On nothing, as long as the tokens rise from grant to grant: clocks and pauses cannot change
            // that, as is said of `RightfulAccepted` below.
            (Self::Redis(_), Property::EffectOrder | Property::NoLostUpdate) => &[],
            _ => self.needs(property),
        }
    }

    /// By how much a lock server's clock may run faster than a holder's before the lease's allowance
    /// for drift is used up: `1/(1 - drift/TTL) - 1`, rounded down.
    ///
    /// A lease that is all allowance is never granted: then no rate is too fast.
    #[must_use]
    pub fn rate_allowance(&self, ttl: Duration) -> Ppm {
        const MOST: Ppm = Ppm::new(1_000_000);
        let drift = match self {
            Self::Redis(_) => redis::lock::drift(ttl),
        };
        let Some(promised) = ttl.checked_sub(drift).map(nanos).filter(|promised| *promised > 0) else { return MOST };
        // 1/(1 - drift/TTL) - 1 = drift/(TTL - drift).
        let ppm = u128::from(nanos(drift)) * u128::from(Ppm::WHOLE) / u128::from(promised);
        i32::try_from(ppm).ok().filter(|ppm| *ppm < MOST.get()).map_or(MOST, Ppm::new)
    }
}

const fn redis_needs(property: Property) -> &'static [Assumption] {
    use Assumption::{DelayedRestart, NoStep, PauseWithinValidity, RateWithinDrift, ResourceChecksTokens};
    match property {
        // The key must outlive the promise: the server's clock may not gain on the holder's, by rate or
        // by a step, and a server that has forgotten the key may not answer before the promise is over.
        // (This server has no disk: nothing hangs on what a disk keeps.)
        Property::GrantExclusion => &[RateWithinDrift, NoStep, DelayedRestart],
        // And a holder must be awake to see its promise end.
        Property::BeliefExclusion => &[RateWithinDrift, NoStep, DelayedRestart, PauseWithinValidity],
        // And an operation that was sent in time may arrive late: only the resource can tell.
        Property::EffectOrder | Property::NoLostUpdate => {
            &[RateWithinDrift, NoStep, DelayedRestart, PauseWithinValidity, ResourceChecksTokens]
        }
        // On nothing. A resource refuses a rightful holder if it has seen a higher token, that is if
        // tokens do not rise from grant to grant. The script draws the token in the step that takes the
        // key, on one server: whatever the clocks, pauses and messages do, the grant that is newest has
        // the highest token. Only a server that forgets its counter breaks this, and that the lock keeps
        // it in memory is the lock's own fault: a restart that is delayed past every TTL saves the keys
        // from being granted twice, and does nothing for the counter.
        Property::RightfulAccepted => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REDIS: Lock =
        Lock::Redis(RedisLock { token: TokenSource::None, renew: None, late_grant: LateGrant::Forgotten });

    #[test]
    fn the_rate_allowance_is_what_the_drift_allowance_covers() {
        let allowance = |ms| REDIS.rate_allowance(Duration::from_millis(ms)).get();
        // 102 ms of 10 s: 102/9,898.
        assert_eq!(allowance(10_000), 10_305);
        assert_eq!(allowance(30_000), 10_169);
        // 3 ms of 100 ms: 3/97.
        assert_eq!(allowance(100), 30_927);
        assert_eq!([allowance(4), allowance(3), allowance(2), allowance(0)], [1_000_000; 4]);
    }

    #[test]
    fn every_property_rests_on_at_least_what_those_below_it_rest_on() {
        let ladder = [Property::GrantExclusion, Property::BeliefExclusion, Property::EffectOrder];
        for pair in ladder.windows(2) {
            let (lower, upper) = (REDIS.needs(pair[0]), REDIS.needs(pair[1]));
            assert!(lower.iter().all(|assumption| upper.contains(assumption)), "{pair:?}");
            assert!(lower.len() < upper.len(), "{pair:?}");
        }
        assert_eq!(REDIS.needs(Property::NoLostUpdate), REDIS.needs(Property::EffectOrder));
        assert_eq!(REDIS.needs(Property::RightfulAccepted), []);
    }

    #[test]
    fn a_fence_makes_the_effects_rest_on_tokens_alone_and_nothing_else() {
        for property in Property::ALL {
            let behind = REDIS.needs_behind_fence(property);
            match property {
                Property::EffectOrder | Property::NoLostUpdate => assert_eq!(behind, []),
                _ => assert_eq!(behind, REDIS.needs(property)),
            }
        }
    }
}
