//! Why etcd did not do what it was asked for, in its own words and codes.
//!
//! Source: `etcdserver/api/v3rpc/rpctypes/error.go` of etcd 3.4.23, and what three such members said when there was no
//! majority, and when the leader was killed or stood still. A request timeout is 5 s and two election timeouts: 7 s.
//!
//! | asked | of whom | and then | is told | after |
//! |---|---|---|---|---|
//! | a change | the leader, or a member that follows one | it has no majority | [`Timeout`](EtcdError::Timeout) | 7 s |
//! | a change | a member that follows a leader which is lost | it becomes the leader itself | [`TimeoutLeaderFail`](EtcdError::TimeoutLeaderFail) | 7 s |
//! | a change | the same | another becomes the leader | [`Timeout`](EtcdError::Timeout) | 7 s |
//! | a change | a member that knows of no leader | there is none | [`DeadlineExceeded`](EtcdError::DeadlineExceeded) | 7 s |
//! | a read | any | another becomes the leader | [`LeaderChanged`](EtcdError::LeaderChanged) | at once |
//! | a read | any | none does | [`Timeout`](EtcdError::Timeout) | 7 s; 14 s if another waited already |
//! | a lease | a member whose leader stands still | | [`Timeout`](EtcdError::Timeout) | 7 s, whoever leads by then |
//! | a lease | a member whose leader is killed | another becomes the leader | its answer | up to 1 s after |
//! | a lease | a member that knows of no leader | there is none | [`NoLeader`](EtcdError::NoLeader) | 7 s |
//! | a lease | the leader | it has no majority | its answer | at once |

use std::fmt;

use host::digest_enum;

/// An error, by its cause; printed, it is etcd's text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EtcdError {
    /// A request for the key without a byte.
    EmptyKey,
    /// A transaction that puts a key twice, or puts and deletes it.
    DuplicateKey,
    /// A transaction with more than 128 compares or operations.
    TooManyOps,
    /// A range at a revision that has not been yet.
    FutureRevision,
    /// A lease that is not there.
    LeaseNotFound,
    /// A lease is to be granted whose number another one has.
    LeaseExists,
    /// A lease is to be granted for more than 9,000,000,000 s.
    LeaseTtlTooLarge,
    /// v3lock: the same, as the client that the server uses for it says it.
    LockLeaseNotFound,
    /// v3lock: no key to unlock. The same.
    LockEmptyKey,
    /// v3lock, since 3.5: the key with which the client had queued is no more.
    SessionExpired,
    /// Nothing came of it in time. It may be done yet.
    Timeout,
    /// The same, and the leader was lost meanwhile.
    TimeoutLeaderFail,
    /// The same, and the member has no connection to enough others.
    TimeoutConnectionLost,
    /// There was no leader to hand it to.
    DeadlineExceeded,
    /// There is no leader.
    NoLeader,
    /// The leader has changed: what it was asked to read is to be asked again.
    LeaderChanged,
    /// More is waiting to be applied than the server takes.
    TooManyRequests,
}

impl EtcdError {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::EmptyKey,
        Self::DuplicateKey,
        Self::TooManyOps,
        Self::FutureRevision,
        Self::LeaseNotFound,
        Self::LeaseExists,
        Self::LeaseTtlTooLarge,
        Self::LockLeaseNotFound,
        Self::LockEmptyKey,
        Self::SessionExpired,
        Self::Timeout,
        Self::TimeoutLeaderFail,
        Self::TimeoutConnectionLost,
        Self::DeadlineExceeded,
        Self::NoLeader,
        Self::LeaderChanged,
        Self::TooManyRequests,
    ];

    /// The error of which a server has sent that code and text. `None`: the model knows no such.
    #[must_use]
    pub fn said(code: u8, text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|error| error.code() == code && error.text() == text)
    }

    /// Its gRPC code.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::LockLeaseNotFound | Self::LockEmptyKey | Self::SessionExpired | Self::DeadlineExceeded => 2,
            Self::EmptyKey | Self::DuplicateKey | Self::TooManyOps => 3,
            Self::LeaseNotFound => 5,
            Self::TooManyRequests => 8,
            Self::LeaseExists => 9,
            Self::FutureRevision | Self::LeaseTtlTooLarge => 11,
            Self::Timeout
            | Self::TimeoutLeaderFail
            | Self::TimeoutConnectionLost
            | Self::NoLeader
            | Self::LeaderChanged => 14,
        }
    }

    /// Whether the request may be done although it failed, or later: of all others it is known that it was not.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Timeout | Self::TimeoutLeaderFail | Self::TimeoutConnectionLost | Self::DeadlineExceeded)
    }

    const fn text(self) -> &'static str {
        match self {
            Self::EmptyKey | Self::LockEmptyKey => "etcdserver: key is not provided",
            Self::DuplicateKey => "etcdserver: duplicate key given in txn request",
            Self::TooManyOps => "etcdserver: too many operations in txn request",
            Self::FutureRevision => "etcdserver: mvcc: required revision is a future revision",
            Self::LeaseNotFound | Self::LockLeaseNotFound => "etcdserver: requested lease not found",
            Self::LeaseExists => "etcdserver: lease already exists",
            Self::LeaseTtlTooLarge => "etcdserver: too large lease TTL",
            Self::SessionExpired => "mutex: session is expired",
            Self::Timeout => "etcdserver: request timed out",
            Self::TimeoutLeaderFail => "etcdserver: request timed out, possibly due to previous leader failure",
            Self::TimeoutConnectionLost => "etcdserver: request timed out, possibly due to connection lost",
            Self::DeadlineExceeded => "context deadline exceeded",
            Self::NoLeader => "etcdserver: no leader",
            Self::LeaderChanged => "etcdserver: leader changed",
            Self::TooManyRequests => "etcdserver: too many requests",
        }
    }
}

digest_enum!(EtcdError {
    1 => EmptyKey,
    2 => DuplicateKey,
    3 => TooManyOps,
    4 => FutureRevision,
    5 => LeaseNotFound,
    6 => LeaseExists,
    7 => LeaseTtlTooLarge,
    8 => LockLeaseNotFound,
    9 => Timeout,
    10 => TimeoutLeaderFail,
    11 => TimeoutConnectionLost,
    12 => NoLeader,
    13 => LeaderChanged,
    14 => TooManyRequests,
    15 => LockEmptyKey,
    16 => DeadlineExceeded,
    17 => SessionExpired,
});

impl fmt::Display for EtcdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
