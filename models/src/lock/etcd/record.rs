//! The switches of a lock that is a record, which its holder keeps writing: leader election of Kubernetes' `client-go`.

use host::{Duration, Operation};

use super::super::renew::{OnFailure, Renew};
use super::super::switch::{Choice, Switch, Takes, choices};
use super::super::{LockFacts, Occasion};
use super::facts;

/// A `Lease` of Kubernetes. Its `ttl` is `LeaseDuration`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordLock {
    /// `RetryPeriod`: how long after a renewal the next begins.
    pub retry_period: Duration,
    /// `RenewDeadline`: for how long a holder tries to renew before it gives up.
    pub renew_deadline: Duration,
    /// From when on that is counted.
    pub deadline_from: DeadlineFrom,
    /// By what a rival judges that the holder is gone.
    pub judged_by: JudgedBy,
    /// Whose length of the lease a rival waits for.
    pub length: LengthOf,
    /// By what a process knows its own record.
    pub identity: Identity,
}

const CLIENT_GO: &str = "https://github.com/kubernetes/client-go/blob/master/tools/leaderelection/leaderelection.go";

choices! {
    DeadlineFrom at "deadline-from": "From when on a holder that cannot renew counts `renew-deadline`." {
        NextTry = "next-try", "From when it begins to try: `retry-period` after the answer to the last renewal", CLIENT_GO;
        Request = "request", "From before the last renewal that was answered",
            "our own: what `LeaseDuration` is to be compared with";
    }
}

choices! {
    JudgedBy at "judged-by": "By what a rival judges that the holder is gone." {
        Observed = "observed", "By its own clock, since it last saw the record changed", CLIENT_GO;
        Recorded = "recorded", "By the time that the holder wrote into the record, compared with its own wall clock",
            "https://github.com/kubernetes/client-go/issues/448, what it is not done by";
    }
}

choices! {
    LengthOf at "length": "How long a lease a rival waits for." {
        Recorded = "recorded", "That of the holder, as it is in the record", "https://github.com/kubernetes/kubernetes/pull/114872";
        Own = "own", "Its own", "https://github.com/kubernetes/kubernetes/pull/114872, before it";
    }
}

choices! {
    Identity at "identity": "By what a process knows that a record is its own." {
        PerProcess = "per-process", "A name that it has made for itself", "https://github.com/kubernetes/kubernetes/pull/58302";
        PerHost = "per-host", "The name of its host, which others have as well", "https://github.com/kubernetes/kubernetes/issues/61151";
    }
}

impl RecordLock {
    /// As client-go has it, for a lease of that length: its 15 s, 10 s and 2 s in proportion.
    #[must_use]
    pub fn of_lease(ttl: Duration) -> Self {
        let (deadline_from, judged_by, length, identity) = Default::default();
        let (retry_period, renew_deadline) = (ttl * 2 / 15, ttl * 10 / 15);
        Self { retry_period, renew_deadline, deadline_from, judged_by, length, identity }
    }

    /// How it is extended: until its deadline, however often that fails.
    #[must_use]
    pub const fn renew(self) -> Renew {
        Renew {
            every: self.retry_period,
            // It has tried on for as long as it does.
            on_failure: OnFailure::Stop,
            stops: super::super::Stops::BeforeRelease,
            entry: super::super::RegistryEntry::Cleared,
        }
    }

    /// For how long a grant, or a renewal, is good.
    #[must_use]
    pub fn promised(self) -> Duration {
        match self.deadline_from {
            DeadlineFrom::NextTry => self.retry_period + self.renew_deadline,
            DeadlineFrom::Request => self.renew_deadline,
        }
    }
}

/// What the loader must know.
pub(super) const FACTS: LockFacts = LockFacts {
    name: "kubernetes-lease",
    title: "leader election of Kubernetes, without an API server: a record in etcd that its holder keeps writing (token: its revision)",
    elects: true,
    operations: &[Operation("get"), Operation("txn")],
    switches: &[
        Switch {
            path: "retry-period",
            about: "How long after one renewal, and after one try to renew, the next begins (`RetryPeriod`).",
            takes: Takes::Duration { default: "two fifteenths of `ttl`: 2s of 15s", source: CLIENT_GO },
        },
        Switch {
            path: "renew-deadline",
            about: "For how long a holder tries to renew before it gives up (`RenewDeadline`).",
            takes: Takes::Duration { default: "two thirds of `ttl`: 10s of 15s", source: CLIENT_GO },
        },
        DeadlineFrom::SWITCH,
        JudgedBy::SWITCH,
        LengthOf::SWITCH,
        Identity::SWITCH,
    ],
    ..facts()
};

/// The requests that it sends, each on its occasion.
pub(super) const SENT: [(&str, Occasion); 5] = [
    ("get", Occasion::Acquire),
    ("txn", Occasion::Acquire),
    ("get", Occasion::Renew),
    ("txn", Occasion::Renew),
    ("txn", Occasion::Release),
];
