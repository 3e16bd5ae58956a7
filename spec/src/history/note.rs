//! The notes of a history: what somebody did, believed or saw.

use host::{AttemptId, Digest, Fold, MonoTime, Name, NodeId, digest_enum};
use serde::{Deserialize, Serialize};

use super::Authorities;

/// A fencing token: a number that grows with each grant, if the lock keeps its promise.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Token(pub u64);

/// One guarded operation of one attempt, numbered from 0 in program order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct OpId(pub u32);

/// A thread of a client: it does one thing after another, and goes on while others of its client wait. One client's
/// are numbered in the order in which they begin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Thread(pub u32);

/// The version of a guarded object: 0 at first, one more with every accepted write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Version(pub u64);

/// In which mode a lock is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Nobody else may have it.
    #[default]
    Exclusive,
    /// Others may have it too, in this mode.
    Shared,
}

impl Mode {
    const fn is_exclusive(&self) -> bool {
        matches!(self, Self::Exclusive)
    }
}

impl Digest for Mode {
    fn digest(&self, fold: &mut Fold) {
        // The usual mode adds nothing.
        if *self == Self::Shared {
            fold.word(1);
        }
    }
}

/// The name of a lock, as clients know it.
pub type LockName = Name;
/// The name of a guarded object.
pub type ObjectName = Name;
/// The name of a side effect.
pub type EffectName = Name;

/// One thing that somebody did, believed or saw.
///
/// As JSON it is its name in kebab case with what belongs to it: `{"granted":{"attempt":{"client":2,"ordinal":1},…}}`.
///
/// | voice | notes |
/// |---|---|
/// | client, about its lock | `Attempting` to `Ended` |
/// | client, about its operations | `Checked`, `Left` |
/// | lock service | `Owner`, `Extended`, `Promoted`, `Demoted`, `Replicated`, `Unreplicated`, `Applied`, `Acted`, `Disagreed`, `DiskLost` |
/// | guarded resource | `Read`, `Wrote`, `Marked`, `Passed`, `Refused` |
/// | place of side effects | `Effected` |
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// The client begins to ask for the lock.
    Attempting {
        /// By this attempt.
        attempt: AttemptId,
        /// For this lock.
        lock: LockName,
        /// In this thread, which does nothing else until it has an answer.
        thread: Thread,
        /// The try that this one repeats; `None`: the first. A client waits for the lock from its first try
        /// until it is granted, gives up or dies, also while it sleeps between a denied try and the next.
        after: Option<AttemptId>,
        /// In this mode. (In JSON, left out if it is exclusive.)
        #[serde(default, skip_serializing_if = "Mode::is_exclusive")]
        mode: Mode,
    },
    /// The client takes the lock to be its own.
    Granted {
        /// By this attempt.
        attempt: AttemptId,
        /// With this token, if the lock gives one.
        token: Option<Token>,
        /// Until its own monotonic clock reads this: the promised end. `None`: no lease, until released.
        until: Option<MonoTime>,
        /// The servers whose grant the client counted.
        counted: Authorities,
    },
    /// The service said no (or the client's own elapsed check did), and nothing is left behind.
    Denied {
        /// To this attempt.
        attempt: AttemptId,
    },
    /// No clear answer: the attempt may own the lock without knowing.
    Failed {
        /// Of this attempt.
        attempt: AttemptId,
    },
    /// The client waits for the lock no longer: no try repeats this one.
    GaveUp {
        /// The last try.
        attempt: AttemptId,
    },
    /// The client, or its lock by itself, is about to extend the lease.
    Renewing {
        /// Of this attempt.
        attempt: AttemptId,
    },
    /// The client has extended its lease.
    Renewed {
        /// Of this attempt.
        attempt: AttemptId,
        /// The new promised end.
        until: MonoTime,
    },
    /// An attempt to extend the lease failed or was refused.
    RenewalFailed {
        /// Of this attempt.
        attempt: AttemptId,
    },
    /// The acting task has learnt that the lock is lost: its belief ends here.
    ToldOfLoss {
        /// Of this attempt.
        attempt: AttemptId,
    },
    /// The client looked at its clock (or, if it never looks, went ahead) and will send this operation.
    Checked {
        /// Of this attempt.
        attempt: AttemptId,
        /// The operation that will follow.
        op: OpId,
    },
    /// The operation left the client's machine.
    Left {
        /// Of this attempt.
        attempt: AttemptId,
        /// Which operation.
        op: OpId,
    },
    /// The client begins to give the lock back.
    Releasing {
        /// Of this attempt.
        attempt: AttemptId,
    },
    /// The service confirmed the release.
    Released {
        /// Of this attempt.
        attempt: AttemptId,
    },
    /// The service said that the lock was not this attempt's to release, or did not answer.
    ReleaseRefused {
        /// Of this attempt.
        attempt: AttemptId,
    },
    /// The client's section is over: from here on it believes nothing of this attempt.
    Ended {
        /// Of this attempt.
        attempt: AttemptId,
    },
    /// A lock server changed who owns a key, or, by executing a renewal, confirmed it. A key that expires
    /// is nobody's from then on; a server that looks late says so late, so that how long a lease lasts is
    /// read from the promise, never from here. A server that comes back from the dead with its memory
    /// names its owners again: without that, it owns nothing.
    Owner {
        /// The server that decided.
        authority: NodeId,
        /// Its name for the lock.
        key: LockName,
        /// The new owner; `None`: nobody.
        attempt: Option<AttemptId>,
        /// What brought it about.
        cause: Cause,
    },
    /// A lock server extended the lease of whoever owns a key. The owner stays who it was.
    Extended {
        /// The server that did.
        authority: NodeId,
        /// Its name for the lock.
        key: LockName,
        /// The owner whose lease it is, whoever asked.
        attempt: AttemptId,
        /// Who asked; `None`: somebody outside any attempt.
        by: Option<AttemptId>,
    },
    /// A lock server that copied another took its place: from now on it decides. Which owners it knows it has just
    /// said.
    Promoted {
        /// The server that decides from now on.
        authority: NodeId,
        /// The one that it copied until now. That one may not know, and decide as well.
        instead_of: NodeId,
    },
    /// A lock server ceased to decide, and copies another: whom it had as owners counts no more, as it has just said.
    Demoted {
        /// Which.
        authority: NodeId,
    },
    /// A server that copies another has come so far.
    Replicated {
        /// The one that copies.
        authority: NodeId,
        /// The one that it copies.
        primary: NodeId,
        /// It has what the other did up to its so manieth note of an owner or an extension, counted since the other's
        /// process started.
        notes: u32,
    },
    /// A lock server has done what was asked, and may not say so until a replica has it too; none is connected.
    Unreplicated {
        /// The server.
        authority: NodeId,
    },
    /// A member of a cluster has applied an entry of its log that changes who owns a key. The members speak one after
    /// the other of the same entry: a history has the first of them as an [`Owner`](Self::Owner) of the cluster
    /// ([`speak_as_one`](crate::speak_as_one)).
    Applied {
        /// Who has applied it.
        member: NodeId,
        /// Where the entry is in the log.
        index: u64,
        /// Whether the member led when it applied it.
        leads: bool,
        /// The cluster's name for the lock.
        key: LockName,
        /// The new owner; `None`: nobody.
        attempt: Option<AttemptId>,
        /// What brought it about.
        cause: Cause,
    },
    /// A member of a cluster has made something else of an entry than the member that applied it first.
    Disagreed {
        /// Who has applied it after others.
        member: NodeId,
        /// The cluster's name for the lock.
        key: LockName,
        /// The owner, as this member has it; `None`: nobody.
        attempt: Option<AttemptId>,
    },
    /// A member of a cluster has applied an entry of its log that is an operation on an object in the cluster. A history has the
    /// first of them as the [`Wrote`](Self::Wrote) or [`Refused`](Self::Refused) that it is
    /// ([`speak_as_one`](crate::speak_as_one)).
    Acted {
        /// Where the entry is in the log.
        index: u64,
        /// Whether the member led when it applied it.
        leads: bool,
        /// For this attempt; `None`: for somebody outside any attempt.
        attempt: Option<AttemptId>,
        /// Which of its operations.
        op: OpId,
        /// On this object.
        object: ObjectName,
        /// The version on which the writer based it; `None`: a blind write.
        based_on: Option<Version>,
        /// The version that it replaced; `None`: it was refused.
        replaced: Option<Version>,
    },
    /// A lock server is back after a loss of power, and its disk had lost what was written and not synced. (A
    /// shadow: the server does not know.)
    DiskLost {
        /// The server.
        authority: NodeId,
    },
    /// The resource answered a read.
    Read {
        /// By this attempt; `None`: by somebody outside any attempt.
        attempt: Option<AttemptId>,
        /// Which of its operations.
        op: OpId,
        /// Of this object.
        object: ObjectName,
        /// The version that was read.
        version: Version,
    },
    /// The resource accepted a write.
    Wrote {
        /// By this attempt; `None`: by somebody outside any attempt.
        attempt: Option<AttemptId>,
        /// Which of its operations.
        op: OpId,
        /// To this object.
        object: ObjectName,
        /// The version on which the writer based it; `None`: a blind write.
        based_on: Option<Version>,
        /// The version that it replaced.
        replaced: Version,
    },
    /// The resource accepted a mark: from here on it knows of this attempt, though nothing was read or written.
    Marked {
        /// By this attempt; `None`: by somebody outside any attempt.
        attempt: Option<AttemptId>,
        /// Which of its operations.
        op: OpId,
        /// On this object.
        object: ObjectName,
    },
    /// The resource's check let an operation pass that will be carried out later. It has had no effect yet.
    Passed {
        /// Of this attempt; `None`: of somebody outside any attempt.
        attempt: Option<AttemptId>,
        /// Which of its operations.
        op: OpId,
        /// On this object.
        object: ObjectName,
    },
    /// The resource refused an operation.
    Refused {
        /// Of this attempt; `None`: of somebody outside any attempt.
        attempt: Option<AttemptId>,
        /// Which of its operations.
        op: OpId,
        /// On this object.
        object: ObjectName,
    },
    /// A side effect was done, in a place that keeps no tokens and takes nothing back: a mail, a charge.
    Effected {
        /// By this attempt; `None`: by somebody outside any attempt.
        attempt: Option<AttemptId>,
        /// Which of its operations.
        op: OpId,
        /// Which effect. Two effects of one name are one effect done twice.
        effect: EffectName,
    },
}

/// Why a lock server changed who owns a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// This attempt asked for it; `None`: somebody outside any attempt did, such as a janitor.
    Request(Option<AttemptId>),
    /// The lease was over.
    Expiry,
    /// The session that had it was over, or its transaction, and nobody had asked for that.
    SessionEnd,
    /// The server was short of memory.
    Eviction,
    /// The server came back from the dead, and says what it remembers.
    Restart,
    /// The server is promoted, and says what it has from its primary.
    Promotion,
    /// The server decides no more.
    Demotion,
}

digest_enum!(Cause { 1 => Request(by), 2 => Expiry, 3 => Eviction, 4 => Restart, 5 => Promotion, 6 => Demotion, 7 => SessionEnd });

digest_enum!(Note {
    1 => Attempting { attempt, lock, thread, after, mode },
    2 => Granted { attempt, token, until, counted },
    3 => Denied { attempt },
    4 => Failed { attempt },
    5 => Renewed { attempt, until },
    6 => RenewalFailed { attempt },
    7 => ToldOfLoss { attempt },
    8 => Checked { attempt, op },
    9 => Left { attempt, op },
    10 => Releasing { attempt },
    11 => Released { attempt },
    12 => ReleaseRefused { attempt },
    13 => Ended { attempt },
    14 => Owner { authority, key, attempt, cause },
    18 => Extended { authority, key, attempt, by },
    23 => DiskLost { authority },
    15 => Read { attempt, op, object, version },
    16 => Wrote { attempt, op, object, based_on, replaced },
    17 => Refused { attempt, op, object },
    40 => Marked { attempt, op, object },
    41 => Passed { attempt, op, object },
    20 => GaveUp { attempt },
    22 => Renewing { attempt },
    21 => Effected { attempt, op, effect },
    50 => Promoted { authority, instead_of },
    51 => Demoted { authority },
    52 => Replicated { authority, primary, notes },
    56 => Unreplicated { authority },
    53 => Applied { member, index, leads, key, attempt, cause },
    54 => Disagreed { member, key, attempt },
    55 => Acted { index, leads, attempt, op, object, based_on, replaced },
});

macro_rules! digest_newtype {
    ($($type:ty),*) => { $(
        impl host::Digest for $type {
            fn digest(&self, fold: &mut host::Fold) {
                self.0.digest(fold);
            }
        }
    )* };
}
digest_newtype!(Token, OpId, Thread, Version);

impl Note {
    /// Whether its client was about to read its clock for a lease, or had just done so: it asks for one or extends it.
    #[must_use]
    pub const fn reads_clock(&self) -> bool {
        matches!(
            self,
            Self::Attempting { .. }
                | Self::Granted { .. }
                | Self::Denied { .. }
                | Self::Failed { .. }
                | Self::Renewing { .. }
                | Self::Renewed { .. }
                | Self::RenewalFailed { .. }
        )
    }

    /// The attempt that it is about, if any.
    #[must_use]
    pub const fn attempt(&self) -> Option<AttemptId> {
        match self {
            Self::Attempting { attempt, .. }
            | Self::Granted { attempt, .. }
            | Self::Denied { attempt }
            | Self::Failed { attempt }
            | Self::GaveUp { attempt }
            | Self::Renewing { attempt }
            | Self::Renewed { attempt, .. }
            | Self::RenewalFailed { attempt }
            | Self::ToldOfLoss { attempt }
            | Self::Checked { attempt, .. }
            | Self::Left { attempt, .. }
            | Self::Releasing { attempt }
            | Self::Released { attempt }
            | Self::ReleaseRefused { attempt }
            | Self::Ended { attempt }
            | Self::Extended { attempt, .. } => Some(*attempt),
            Self::Owner { attempt, .. }
            | Self::Applied { attempt, .. }
            | Self::Disagreed { attempt, .. }
            | Self::Acted { attempt, .. }
            | Self::Read { attempt, .. }
            | Self::Wrote { attempt, .. }
            | Self::Marked { attempt, .. }
            | Self::Passed { attempt, .. }
            | Self::Refused { attempt, .. }
            | Self::Effected { attempt, .. } => *attempt,
            Self::Promoted { .. }
            | Self::Demoted { .. }
            | Self::Replicated { .. }
            | Self::Unreplicated { .. }
            | Self::DiskLost { .. } => None,
        }
    }
}
