//! What a scripted client does: the steps between the start of a run and its end.
//!
//! A script is plain data. It says nothing of the lock: the same script is played against every
//! recipe. [`client`](crate::client) plays it.

use host::{Cue, Duration, Name, Point, Span};
use spec::{LockName, Mode, ObjectName, Policy};

use crate::resource::Key;

/// One client's program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    /// The steps of one round, in order, of each of its threads: these share what the process has, connections
    /// and handles of the library included.
    pub threads: Vec<Vec<Step>>,
    /// Whether and how the client looks at its clock before each operation.
    pub policy: Policy,
    /// How many rounds it goes through.
    pub rounds: Rounds,
    /// What it does after a denied attempt.
    pub retry: Retry,
    /// How long it waits for an answer from the resource.
    pub call_timeout: Duration,
}

/// How often a script is played.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rounds {
    /// So many times. A round that ends early counts too.
    Times(u32),
    /// Until the run ends.
    Forever,
    /// An open load: rounds begin whether or not those before them are over.
    Arrive {
        /// The next one begins so long after the last.
        every: Span,
        /// None begins from this moment on.
        until: Cue,
    },
}

impl Script {
    /// Every step of all threads, those that are repeated too.
    pub fn all_steps(&self) -> impl Iterator<Item = &Step> {
        self.threads.iter().flatten().flat_map(Step::all)
    }

    /// Every wait that it asks for by itself, be it its own or the resource's work for it.
    pub fn waits(&self) -> impl Iterator<Item = Span> {
        let of_step = |step: &Step| match step {
            Step::Sleep(span) => Some(*span),
            step => step.operation().map(|about| about.takes),
        };
        let between_rounds = match self.rounds {
            Rounds::Arrive { every, .. } => Some(every),
            Rounds::Times(_) | Rounds::Forever => None,
        };
        self.all_steps().filter_map(of_step).chain(between_rounds).chain([self.retry.delay])
    }
}

/// What follows a denied attempt to acquire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retry {
    /// How long to wait before the next attempt.
    pub delay: Span,
    /// How the delay grows from one attempt of a step to the next. `None`: it does not.
    pub growth: Option<Growth>,
    /// How many attempts to make after the first. `None`: as many as it takes.
    pub times: Option<u32>,
}

/// Exponential backoff.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Growth {
    /// How many times as long each delay is as the one before.
    pub factor: u32,
    /// No delay is longer; one that is drawn is drawn below this.
    pub cap: Duration,
}

impl Retry {
    /// 200 to 400 ms between attempts, without end: the common advice of a fixed delay plus jitter.
    pub const DEFAULT: Self = Self {
        delay: Span::Uniform { from: Duration::from_millis(200), to: Duration::from_millis(400) },
        growth: None,
        times: None,
    };
}

/// What a script calls a lock that it has acquired.
pub type Handle = Name;

/// How a lock is given back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GivingBack {
    /// How long to wait for the answer. `None`: as long as the recipe does.
    pub timeout: Option<Duration>,
    /// What follows if it is refused or not answered.
    pub on_error: OnError,
    /// Whether the client works on.
    pub working: Working,
}

/// How a lock is taken away from whoever has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reaping {
    /// The lock is left alone if somebody has this one: the sign that its owner runs. `None`: nobody looks.
    pub unless: Option<LockName>,
    /// What the lock is compared by, between the look at it and its deletion.
    pub compare: Compare,
}

/// What a lock is compared by before it is deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compare {
    /// Its name: whoever has it by then loses it.
    Name,
    /// Its owner value too: only who had it when it was looked at loses it.
    Value,
}

/// What follows a release that is refused or not answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnError {
    /// The round is over.
    #[default]
    End,
    /// Nothing: the client goes on as if it were confirmed.
    Ignore,
    /// The client asks again, as [`Retry`] says; when that gives up, the round is over.
    Retry,
}

/// What the client does while it gives a lock back, and afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Working {
    /// Its work is over first.
    #[default]
    Over,
    /// It works on, in the name of what it has given back, to the end of the round.
    GoesOn,
}

/// One step. A step that is denied, refused or times out ends the round, and what is held is released.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Take a lock, trying again as [`Retry`] says for at most `wait` (`None`: without limit;
    /// zero: one attempt).
    Acquire {
        /// Which lock.
        lock: LockName,
        /// What the script calls it from then on.
        handle: Handle,
        /// How long to keep trying.
        wait: Option<Duration>,
        /// In which mode.
        mode: Mode,
    },
    /// Look at the clock, as the policy says, for all that is held.
    Check,
    /// Extend a lease, to `by` from now (`None`: to the lock's TTL).
    Extend {
        /// Whose lease.
        handle: Handle,
        /// The new length of the lease.
        by: Option<Duration>,
    },
    /// Give a lock back.
    Release {
        /// Which one.
        handle: Handle,
        /// How.
        how: GivingBack,
    },
    /// Take a lock away from whoever has it, as a janitor or an operator does: outside any attempt.
    Reap {
        /// Which lock.
        lock: LockName,
        /// How.
        how: Reaping,
    },
    /// Read a guarded object.
    Read(Use),
    /// Write a guarded object, based on the version that was last read (or blindly, if none was).
    Write(Use),
    /// Record one's token at a guarded object. A client whose lock gave it none makes one up: a number that
    /// nobody else has, and that says nothing of order.
    Mark(Use),
    /// Draw a number at the resource, and show it as one's token from here on. Where the resource's check knows
    /// marks that have an order, the object is marked with it in the same step.
    Ticket(Use),
    /// Do what cannot be undone and has no version; its name takes the place of the object.
    Effect {
        /// Which effect.
        about: Use,
        /// What tells the receiver that it is the same effect.
        key: Option<Key>,
    },
    /// Do something that takes a while.
    Sleep(Span),
    /// Wait for an instant of the run or for another client's milestone.
    Await(Cue),
    /// Keep what is held until one's own deadline, the first if there are several.
    Hold,
    /// Play some steps several times.
    Repeat {
        /// How many times.
        times: u32,
        /// Which steps.
        steps: Vec<Self>,
    },
}

/// An operation on a guarded object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Use {
    /// The object's name.
    pub object: ObjectName,
    /// How long the resource works on it.
    pub takes: Span,
}

impl Use {
    /// What takes the resource no time.
    pub const NO_TIME: Span = Span::Fixed(Duration::ZERO);

    /// An operation that takes the resource no time.
    #[must_use]
    pub const fn of(object: ObjectName) -> Self {
        Self { object, takes: Self::NO_TIME }
    }
}

impl Step {
    /// What it does at the guarded resource, if it is an operation on an object.
    #[must_use]
    pub const fn operation(&self) -> Option<&Use> {
        match self {
            Self::Read(about) | Self::Write(about) | Self::Mark(about) | Self::Ticket(about) => Some(about),
            _ => None,
        }
    }

    /// The step itself, and all that it repeats.
    pub fn all(&self) -> Box<dyn Iterator<Item = &Self> + '_> {
        let repeated = match self {
            Self::Repeat { steps, .. } => steps.as_slice(),
            _ => &[],
        };
        Box::new(std::iter::once(self).chain(repeated.iter().flat_map(Self::all)))
    }
}

/// The milestones that every client passes, whatever its lock. Faults start and end at them.
pub mod points {
    use super::Point;

    /// The client's program begins.
    pub const STARTED: Point = Point("started");
    /// It begins to ask for the lock.
    pub const ATTEMPTING: Point = Point("attempting");
    /// The service makes it the owner (the client does not know yet).
    pub const OWNER: Point = Point("owner");
    /// It takes the lock to be its own.
    pub const GRANTED: Point = Point("granted");
    /// It was told no.
    pub const DENIED: Point = Point("denied");
    /// It got no clear answer.
    pub const FAILED: Point = Point("failed");
    /// It looked at its clock and found the lease good (a naive client passes this without looking).
    pub const CHECKED: Point = Point("checked");
    /// After the last check before a read, and before the read is sent.
    pub const ABOUT_TO_READ: Point = Point("about-to-read");
    /// The read's answer is there.
    pub const READ_DONE: Point = Point("read-done");
    /// After the last check before a write, and before the write is sent.
    pub const ABOUT_TO_WRITE: Point = Point("about-to-write");
    /// The resource accepts its write (the client does not know yet).
    pub const WRITE_APPLIED: Point = Point("write-applied");
    /// After the last check before a mark, and before the mark is sent.
    pub const ABOUT_TO_MARK: Point = Point("about-to-mark");
    /// The resource accepts its mark (the client does not know yet).
    pub const MARKED: Point = Point("marked");
    /// After the last check before a number is drawn, and before the request is sent.
    pub const ABOUT_TO_TICKET: Point = Point("about-to-ticket");
    /// After the last check before a side effect, and before the request is sent.
    pub const ABOUT_TO_EFFECT: Point = Point("about-to-effect");
    /// The side effect is done (the client does not know yet).
    pub const EFFECTED: Point = Point("effected");
    /// The resource's check lets one of its operations pass, which will be carried out later.
    pub const CHECK_PASSED: Point = Point("check-passed");
    /// The resource refuses one of its operations (the client does not know yet).
    pub const REFUSED: Point = Point("refused");
    /// It is about to extend its lease.
    pub const RENEWING: Point = Point("renewing");
    /// The lease is extended.
    pub const RENEWED: Point = Point("renewed");
    /// The lease could not be extended.
    pub const RENEWAL_FAILED: Point = Point("renewal-failed");
    /// Its acting task has learnt that the lock is lost.
    pub const TOLD_OF_LOSS: Point = Point("told-of-loss");
    /// It is about to release.
    pub const RELEASING: Point = Point("releasing");
    /// The release is confirmed.
    pub const RELEASED: Point = Point("released");
    /// The release was refused or not answered.
    pub const RELEASE_REFUSED: Point = Point("release-refused");
    /// Its section is over.
    pub const ENDED: Point = Point("ended");

    /// All of them.
    pub const ALL: &[Point] = &[
        STARTED,
        ATTEMPTING,
        OWNER,
        GRANTED,
        DENIED,
        FAILED,
        CHECKED,
        ABOUT_TO_READ,
        READ_DONE,
        ABOUT_TO_WRITE,
        WRITE_APPLIED,
        ABOUT_TO_MARK,
        MARKED,
        ABOUT_TO_TICKET,
        ABOUT_TO_EFFECT,
        EFFECTED,
        CHECK_PASSED,
        REFUSED,
        RENEWING,
        RENEWED,
        RENEWAL_FAILED,
        TOLD_OF_LOSS,
        RELEASING,
        RELEASED,
        RELEASE_REFUSED,
        ENDED,
    ];
}
