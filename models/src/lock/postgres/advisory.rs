//! The switches of an advisory lock, and of the connection on which a program has it.

use host::{Duration, Operation};

use super::super::switch::{Choice, Switch, Takes, choices};
use super::super::{LockFacts, Occasion};
use super::facts;

/// `pg_advisory_lock`, and its kin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdvisoryLock {
    /// Until when it is held.
    pub lasts: Lasts,
    /// What a client does that does not get it at once.
    pub waits: Waits,
    /// `lock_timeout`, as its sessions set it for themselves. Zero: they do not.
    pub lock_timeout: Duration,
    /// How long the program waits for the lock's statement, by its own clock. `None`: as long as it takes.
    pub client_timeout: Option<Duration>,
    /// What becomes of a connection on which the program waits no longer.
    pub on_timeout: OnTimeout,
    /// How many connections the program's pool has.
    pub pool: u16,
    /// In which state a connection comes back to the pool.
    pub returns: Returns,
    /// What the library makes of a session that is lost.
    pub on_loss: OnLoss,
    /// Whom a client asks that looks whether it has the lock still.
    pub looks: Looks,
    /// How often the library asks something on the connection while the lock is held. `None`: never.
    pub heartbeat: Option<Duration>,
    /// To which of its servers a client connects.
    pub target: TargetSession,
    /// What the lock gives as a token.
    pub token: TokenOf,
}

const FUNCTIONS: &str = "https://www.postgresql.org/docs/15/functions-admin.html#FUNCTIONS-ADVISORY-LOCKS";
const LOCKS: &str = "https://www.postgresql.org/docs/15/explicit-locking.html#ADVISORY-LOCKS";
const LIBPQ: &str = "https://www.postgresql.org/docs/15/libpq-connect.html";

choices! {
    Lasts at "scope": "Until when the lock is held." {
        Session = "session", "Until it is unlocked, or the session ends (`pg_advisory_lock`)", LOCKS;
        Transaction = "transaction", "Until the transaction ends that was begun for it (`pg_advisory_xact_lock`)",
            "https://github.com/dimagi/commcare-cloud/pull/4466";
    }
}

choices! {
    Waits at "wait": "What a client does that does not get the lock at once." {
        Blocking = "blocking", "Its statement waits, in the server's queue", FUNCTIONS;
        Poll = "poll", "It is told no (`pg_try_…`), and asks again after a while",
            "https://github.com/golang-migrate/migrate/issues/960; https://github.com/ThomWright/postgres-migrations/issues/36";
    }
}

choices! {
    OnTimeout at "on-timeout": "What becomes of a connection on which the program waits no longer." {
        Closed = "closed", "It is closed, and the session with it", "https://github.com/GreptimeTeam/greptimedb/pull/7673";
        Cancelled = "cancelled", "Another connection has the server cancel the statement (`pg_cancel_backend`); then it goes back to the pool",
            "https://magicstack.github.io/asyncpg/current/api/index.html, timeout";
        Returned = "returned", "It goes back to the pool as it is: the server may yet grant the lock to its session",
            "https://github.com/GreptimeTeam/greptimedb/issues/7670";
    }
}

choices! {
    Returns at "returns": "In which state a connection goes back to the program's pool." {
        AsItIs = "as-it-is", "As it is: what its session has locked, it has locked",
            "https://github.com/brettwooldridge/HikariCP/blob/HikariCP-5.0.1/src/main/java/com/zaxxer/hikari/pool/PoolBase.java, resetConnectionState";
        Reset = "reset", "After `DISCARD ALL`, which unlocks everything",
            "https://magicstack.github.io/asyncpg/current/api/index.html, reset";
    }
}

choices! {
    OnLoss at "on-loss": "What the library makes of a session that is lost." {
        Error = "error", "While a lock is held every statement fails that needs a new one", "https://github.com/bensheldon/good_job/issues/989";
        Reconnect = "reconnect", "It opens another, says nothing, and the program goes on",
            "https://github.com/rails/rails/pull/58658";
    }
}

choices! {
    Looks at "looks": "Whom a client asks that looks whether it has the lock still." {
        Connection = "connection", "Its own library, whether the connection is closed as far as that knows", LIBPQ;
        Server = "server", "That, and then the server, by a statement on that connection (`SELECT 1`)",
            "https://github.com/concourse/concourse/issues/6008";
    }
}

choices! {
    TargetSession at "target-session-attrs": "To which of the servers that it knows, in their order, a client connects." {
        Any = "any", "The first that answers", LIBPQ;
        ReadWrite = "read-write", "The first that answers and is no standby", LIBPQ;
    }
}

choices! {
    TokenOf at "token": "What the lock gives as a token; `version-row`, if the resource checks tokens and nothing is set." {
        None = "none", "Nothing", FUNCTIONS;
        VersionRow = "version-row", "The version of a row, which is counted up once the lock is had: with `scope = \"transaction\"` in its transaction, which may never commit",
            "https://www.postgresql.org/docs/15/sql-insert.html, ON CONFLICT";
        Sequence = "sequence", "The next value of a sequence", "https://www.postgresql.org/docs/15/functions-sequence.html";
        Xid = "xid", "The number of the transaction that asks for it (`pg_current_xact_id`)",
            "https://www.postgresql.org/docs/15/functions-info.html#FUNCTIONS-PG-SNAPSHOT";
    }
}

/// The most connections in a program's pool.
const MOST_CONNECTIONS: u16 = 15;

impl Default for AdvisoryLock {
    fn default() -> Self {
        let (lasts, waits, on_timeout, returns) = Default::default();
        let (on_loss, looks, target, token) = Default::default();
        Self {
            lasts,
            waits,
            lock_timeout: Duration::ZERO,
            client_timeout: None,
            on_timeout,
            pool: 1,
            returns,
            on_loss,
            looks,
            heartbeat: None,
            target,
            token,
        }
    }
}

/// What the loader must know.
pub(super) const FACTS: LockFacts = LockFacts {
    name: "postgres",
    title: "an advisory lock of PostgreSQL: a number, locked for a session or a transaction",
    operations: &[
        Operation("startup"),
        Operation("is-in-recovery"),
        Operation("set"),
        Operation("begin"),
        Operation("lock"),
        Operation("try-lock"),
        Operation("unlock"),
        Operation("commit"),
        Operation("rollback"),
        Operation("insert"),
        Operation("nextval"),
        Operation("xact-id"),
        Operation("one"),
        Operation("cancel"),
        Operation("discard-all"),
    ],
    switches: &SWITCHES,
    ..facts()
};

const SWITCHES: [Switch; 12] = [
    Lasts::SWITCH,
    Waits::SWITCH,
    Switch {
        path: "lock-timeout",
        about: "`lock_timeout`, as the client's sessions set it for themselves: the server gives up a wait after so long.",
        takes: Takes::Duration {
            default: "0s: as the server has it",
            source: "https://www.postgresql.org/docs/15/runtime-config-client.html#GUC-LOCK-TIMEOUT",
        },
    },
    Switch {
        path: "client-timeout",
        about: "How long the program waits for the lock's statement, by its own clock.",
        takes: Takes::Duration {
            default: "none: as long as it takes",
            source: "https://github.com/GreptimeTeam/greptimedb/issues/7670",
        },
    },
    OnTimeout::SWITCH,
    Switch {
        path: "pool",
        about: "How many connections the program's own pool has. They are taken in turn.",
        takes: Takes::Number {
            least: 1,
            most: MOST_CONNECTIONS,
            default: "1",
            source: "https://docs.rs/deadpool-postgres; QueueMode::Fifo",
        },
    },
    Returns::SWITCH,
    OnLoss::SWITCH,
    Looks::SWITCH,
    Switch {
        path: "heartbeat",
        about: "How often the library asks something (`SELECT 1`) on the lock's connection while the lock is held.",
        takes: Takes::Duration {
            default: "none: never",
            source: "https://github.com/madelson/DistributedLock/blob/master/docs/DistributedLock.Postgres.md, KeepaliveCadence",
        },
    },
    TargetSession::SWITCH,
    TokenOf::SWITCH,
];

impl AdvisoryLock {
    /// The requests that it sends, each on its occasion.
    pub(super) fn operations(self) -> Vec<(Operation, Occasion)> {
        use Occasion::{Acquire, Release, Renew};
        let mut sent = vec![("startup", Acquire)];
        let mut also = |is_so: bool, name, occasion| sent.extend(is_so.then_some((name, occasion)));
        let (is_poll, is_session) = (self.waits == Waits::Poll, self.lasts == Lasts::Session);
        also(self.target == TargetSession::ReadWrite, "is-in-recovery", Acquire);
        also(self.lock_timeout > Duration::ZERO, "set", Acquire);
        also(!is_session, "begin", Acquire);
        also(is_poll, "try-lock", Acquire);
        also(!is_poll, "lock", Acquire);
        also(!is_session && is_poll, "rollback", Acquire);
        also(self.on_timeout == OnTimeout::Cancelled, "cancel", Acquire);
        also(self.token == TokenOf::VersionRow, "insert", Acquire);
        also(self.token == TokenOf::Sequence, "nextval", Acquire);
        also(self.token == TokenOf::Xid, "xact-id", Acquire);
        also(self.heartbeat.is_some(), "one", Renew);
        also(self.looks == Looks::Server, "one", Acquire);
        also(is_session, "unlock", Release);
        also(!is_session, "commit", Release);
        // Whatever it was for, it comes back.
        also(self.returns == Returns::Reset, "discard-all", Acquire);
        sent.into_iter().map(|(name, occasion)| (Operation(name), occasion)).collect()
    }
}
