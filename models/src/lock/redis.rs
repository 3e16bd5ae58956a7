//! The switches of the lock on one Redis server: the published lock, and each way of getting it wrong that a
//! public report describes.

use host::{Clock, Operation, Point};

use super::renew::Renew;
use super::switch::{Choice, PAGE, Switch, choices};
use super::{LockFacts, Occasion, server};

/// The lock on one Redis server; the default is the published one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RedisLock {
    /// Whose the key is.
    pub value: OwnerValue,
    /// How the key is taken.
    pub take: Take,
    /// Where the fencing token comes from.
    pub token: TokenSource,
    /// What follows an attempt without a clear answer.
    pub on_error: OnError,
    /// What a client does for a lock that is denied.
    pub on_denied: OnDenied,
    /// From when the lease is counted.
    pub lease_from: LeaseFrom,
    /// On which of its clocks the client counts it.
    pub clock: LeaseClock,
    /// What acquiring again means while the lock is held.
    pub again: Again,
    /// How the lease is extended.
    pub extend: Extend,
    /// What an extension by no time does.
    pub zero: ZeroLength,
    /// Whether and how it is extended in the background. `None`: never.
    pub renew: Option<Renew>,
    /// How the key is given back.
    pub release: ReleaseBy,
    /// What becomes of a grant that comes after its caller was interrupted.
    pub late_grant: LateGrant,
    /// Whether the threads of a process ask each other first.
    pub local: Local,
}

choices! {
    OwnerValue at "value": "The value that the key holds, by which its owner is known." {
        PerAttempt = "per-attempt", "Random, fresh for every attempt", PAGE;
        PerClient = "per-client", "Random, one for the client's whole life",
            "https://github.com/redis/redis-py/issues/416";
        Constant = "constant", "The same for everybody", "https://github.com/laravel/framework/issues/26213";
    }
}

choices! {
    Take at "take": "How the key is taken." {
        OneCommand = "one-command", "`SET key value NX PX ttl`", PAGE;
        SetThenExpire = "set-then-expire", "`SET key value NX`, and then `PEXPIRE key ttl`",
            "https://github.com/redis/redis-py/issues/818";
    }
}

choices! {
    TokenSource at "token":
        "Where the fencing token comes from; `incr-in-script`, if the resource checks tokens and nothing is set."
    {
        None = "none", "There is none: the owner value has no order", PAGE;
        IncrInScript = "incr-in-script", "`INCR` in the script that takes the key",
            "https://github.com/redisson/redisson/blob/master/redisson/src/main/java/org/redisson/RedissonFencedLock.java";
        IncrBeforeSet = "incr-before-set", "`INCR`, and then the key is taken",
            "a common tutorial's sketch: draw a number, then `SET NX` with it";
        CounterPerClient = "counter-per-client", "A counter in each client's memory",
            "https://github.com/nexi-lab/nexus/pull/2099";
        OwnerValue = "owner-value", "The owner value, read as a number",
            "http://antirez.com/news/101, and what Kleppmann had said of it before";
    }
}

choices! {
    OnError at "on-error": "What follows an attempt to acquire without a clear answer." {
        CleanUp = "clean-up", "The key is given back, in case it was taken", PAGE;
        Forget = "forget", "Nothing", "https://github.com/leandromoreira/redlock-rb/issues/76";
        TakeForGranted = "take-for-granted", "The client goes on as the owner",
            "https://github.com/sibson/redbeat/issues/208";
    }
}

choices! {
    OnDenied at "on-denied": "What a client that is denied does for a key that may never expire." {
        Nothing = "nothing", "Nothing", PAGE;
        LetExpire = "let-expire", "If the key has no time to live, it is given one: `PEXPIRE key ttl NX`",
            "our own: a remedy for keys that do not expire, https://github.com/redis/redis-py/issues/818";
        LetExpireAnew = "let-expire-anew", "It is given a time to live, whatever it has: `PEXPIRE key ttl`",
            "our own: the same remedy, done carelessly";
    }
}

choices! {
    LeaseFrom at "lease-from": "From when the client counts the lease." {
        Request = "request", "From before the request; a lease that is over when the answer comes is given back",
            PAGE;
        Reply = "reply", "From the answer, however long it took",
            "http://antirez.com/news/101, what its second look at the clock is for";
        FirstTry = "first-try", "From before the first of several tries, without a look whether it is over",
            "https://github.com/mike-marcacci/node-redlock/issues/296";
    }
}

choices! {
    LeaseClock at "clock": "On which of its clocks the client counts the lease." {
        Monotonic = "monotonic", "`CLOCK_MONOTONIC`, which never steps, and stands while the machine sleeps",
            "https://man7.org/linux/man-pages/man2/clock_gettime.2.html";
        Boottime = "boottime", "`CLOCK_BOOTTIME`, which counts the sleep",
            "https://man7.org/linux/man-pages/man2/clock_gettime.2.html";
        Wall = "wall", "The wall clock, which counts the sleep and may be set",
            "https://github.com/antirez/redlock-rb, and https://github.com/leandromoreira/redlock-rb/issues/50 against it";
    }
}

impl LeaseClock {
    /// The machine's clock.
    #[must_use]
    pub const fn clock(self) -> Clock {
        match self {
            Self::Monotonic => Clock::Monotonic,
            Self::Boottime => Clock::Boottime,
            Self::Wall => Clock::Wall,
        }
    }
}

choices! {
    Again at "again": "What acquiring a lock means that the client holds already." {
        Separate = "separate", "Another attempt, which is denied as anybody's: the lock is not re-entrant", PAGE;
        OneScript = "one-script", "The lease is extended by the script that compares the value",
            "https://github.com/redisson/redisson/issues/84, its fix";
        ReadThenSet = "read-then-set", "`GET`, and if the value is the client's own, `SET` without a condition",
            "https://github.com/redisson/redisson/issues/84";
        CountedInProcess = "counted-in-process", "The client counts in its memory, and asks nobody",
            "https://github.com/spring-projects/spring-integration/issues/1888";
    }
}

choices! {
    Extend at "extend": "How the lease is extended, by a step or in the background." {
        Checked = "checked", "`PEXPIRE` in a script, if the key holds the owner's value", PAGE;
        Unchecked = "unchecked", "`PEXPIRE`, whosever the key is", "https://github.com/sibson/redbeat/issues/127";
        CreateIfMissing = "create-if-missing", "As `checked`, but a key that is gone is taken anew",
            "https://github.com/leandromoreira/redlock-rb/issues/36";
        AddToRest = "add-to-rest", "As `checked`, but the length is added to what is left",
            "https://github.com/resonatehq/resonate/pull/280";
        ReleaseThenTake = "release-then-take", "The key is given back and taken again",
            "https://github.com/kent8192/reinhardt-web/issues/1476";
    }
}

choices! {
    ZeroLength at "zero": "What an extension by no time does." {
        Refused = "refused", "The client refuses it", "https://github.com/redis/redis-py/issues/4279, its fix";
        Sent = "sent", "It is sent as any other", "https://github.com/redis/redis-py/issues/4279";
    }
}

choices! {
    ReleaseBy at "release": "How the key is given back." {
        Checked = "checked", "`DEL` in a script, if the key holds the owner's value", PAGE;
        Unchecked = "unchecked", "`DEL`, whosever the key is", "https://github.com/laravel/framework/issues/26213";
        CheckThenDelete = "check-then-delete", "`GET`, and if the value is the owner's, `DEL`",
            "https://github.com/redis/redis-py/pull/1031";
        Transaction = "transaction", "`WATCH`, `GET`, and if the value is the owner's, `MULTI`, `DEL`, `EXEC`",
            "https://redis.io/docs/latest/develop/using-commands/transactions/";
    }
}

choices! {
    LateGrant at "late-grant": "What becomes of a grant that comes after its caller was interrupted." {
        Forgotten = "forgotten",
            "Nobody looks at it: the call died with its caller, and the key stays until it expires",
            PAGE;
        Kept = "kept", "It is taken as any other, and renewed; nobody is left who could release it",
            "https://github.com/redisson/redisson/issues/2714";
        GivenBack = "given-back", "It is given back at once",
            "https://github.com/redisson/redisson/issues/2714, its fix";
    }
}

choices! {
    Local at "local": "Whether the threads of a process ask each other before they ask the server." {
        None = "none", "They do not", PAGE;
        FreedInAnyCase = "freed-in-any-case",
            "They do; a release frees the lock for the other threads, whatever the server says",
            "https://github.com/spring-projects/spring-integration/issues/1888, its fix";
        FreedIfConfirmed = "freed-if-confirmed",
            "They do; a release that the server refuses leaves the lock taken for the other threads",
            "https://github.com/spring-projects/spring-integration/issues/1888";
    }
}

/// The program points of the recipe, beside those of every client.
pub mod points {
    use host::Point;

    /// The token is drawn, and the key not asked for yet.
    pub const COUNTED: Point = Point("redis:counted");
    /// The key is taken, and does not expire yet.
    pub const TAKEN: Point = Point("redis:taken");
    /// The key was read and held the owner's value; nothing has followed yet.
    pub const READ: Point = Point("redis:read");
    /// The key is given back, to be taken again.
    pub const DROPPED: Point = Point("redis:dropped");
}

/// What the loader must know.
pub(super) const FACTS: LockFacts = LockFacts {
    name: "redis",
    title: "one Redis server, SET NX PX with an owner value, compare-and-delete",
    groups: &server::ONE,
    points: &[points::COUNTED, points::TAKEN, points::READ, points::DROPPED],
    operations: &[
        Operation("set"),
        Operation("renew"),
        Operation("release"),
        Operation("get"),
        Operation("incr"),
        Operation("watch"),
        Operation("multi"),
        Operation("exec"),
    ],
    pushes: &[],
    has_token: true,
    elects: false,
    switches: &SWITCHES,
    service_name: server::NAME,
    service: &server::SWITCHES,
};

const RENEW: [Switch; 4] = Renew::switches("never", PAGE);

pub(super) const SWITCHES: [Switch; 17] = [
    OwnerValue::SWITCH,
    Take::SWITCH,
    TokenSource::SWITCH,
    OnError::SWITCH,
    OnDenied::SWITCH,
    LeaseFrom::SWITCH,
    LeaseClock::SWITCH,
    Again::SWITCH,
    Extend::SWITCH,
    ZeroLength::SWITCH,
    RENEW[0],
    RENEW[1],
    RENEW[2],
    RENEW[3],
    ReleaseBy::SWITCH,
    LateGrant::SWITCH,
    Local::SWITCH,
];

impl RedisLock {
    /// The requests that it sends, each on its occasion.
    pub(super) fn operations(&self) -> Vec<(Operation, Occasion)> {
        use Occasion::{Acquire, Reap, Release, Renew};
        let mut sent = vec![("set", Acquire), ("get", Reap), ("exists", Reap), ("release", Reap)];
        if self.token == TokenSource::IncrBeforeSet {
            sent.push(("incr", Acquire));
        }
        if self.take == Take::SetThenExpire || self.on_denied != OnDenied::Nothing || self.again == Again::OneScript {
            sent.push(("renew", Acquire));
        }
        if self.again == Again::ReadThenSet {
            sent.push(("get", Acquire));
        }
        // A failed attempt is cleaned up with a release, and so is one that was granted too late.
        let releasing = [Some(Release), (self.extend == Extend::ReleaseThenTake).then_some(Renew), Some(Acquire)];
        for occasion in releasing.into_iter().flatten() {
            let names: &[&str] = match self.release {
                ReleaseBy::Checked | ReleaseBy::Unchecked => &["release"],
                ReleaseBy::CheckThenDelete => &["get", "release"],
                ReleaseBy::Transaction => &["watch", "get", "multi", "release", "exec"],
            };
            sent.extend(names.iter().map(|name| (*name, occasion)));
        }
        sent.push((if self.extend == Extend::ReleaseThenTake { "set" } else { "renew" }, Renew));
        sent.into_iter().map(|(name, occasion)| (Operation(name), occasion)).collect()
    }

    /// The points that it passes, each on its occasion.
    pub(super) fn points(&self) -> Vec<(Point, Occasion)> {
        let mut passed = Vec::new();
        if self.token == TokenSource::IncrBeforeSet {
            passed.push((points::COUNTED, Occasion::Acquire));
        }
        if self.take == Take::SetThenExpire {
            passed.push((points::TAKEN, Occasion::Acquire));
        }
        if self.again == Again::ReadThenSet {
            passed.push((points::READ, Occasion::Acquire));
        }
        if matches!(self.release, ReleaseBy::CheckThenDelete | ReleaseBy::Transaction) {
            passed.push((points::READ, Occasion::Release));
        }
        if self.extend == Extend::ReleaseThenTake {
            passed.push((points::DROPPED, Occasion::Renew));
        }
        passed
    }
}
