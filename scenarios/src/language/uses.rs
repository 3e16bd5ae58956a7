//! What a script can do, so that the loader can refuse what it can never meet: a milestone that
//! nobody reaches, a message that nobody sends.

use host::{Operation, Point};
use models::guard::Act;
use models::lock::{Lock, Occasion, RESOURCE_OPERATIONS};
use models::script::{Step, Use, points};

use crate::cell::Resource;

/// Which kinds of step a script has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Uses {
    pub(super) acquire: bool,
    pub(super) check: bool,
    pub(super) extend: bool,
    pub(super) release: bool,
    pub(super) reap: bool,
    pub(super) read: bool,
    pub(super) write: bool,
    pub(super) mark: bool,
    pub(super) ticket: bool,
    pub(super) effect: bool,
    /// Whether an operation takes the resource time.
    pub(super) takes_time: bool,
}

impl Uses {
    /// A script that could not be read may do anything.
    pub(super) const ANYTHING: Self = Self {
        acquire: true,
        check: true,
        extend: true,
        release: true,
        reap: true,
        read: true,
        write: true,
        mark: true,
        ticket: true,
        effect: true,
        takes_time: true,
    };

    pub(super) fn of<'s>(steps: impl IntoIterator<Item = &'s Step>) -> Self {
        steps.into_iter().fold(Self::default(), |uses, step| uses.and(Self::of_step(step)))
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self {
            acquire: self.acquire || other.acquire,
            check: self.check || other.check,
            extend: self.extend || other.extend,
            release: self.release || other.release,
            reap: self.reap || other.reap,
            read: self.read || other.read,
            write: self.write || other.write,
            mark: self.mark || other.mark,
            ticket: self.ticket || other.ticket,
            effect: self.effect || other.effect,
            takes_time: self.takes_time || other.takes_time,
        }
    }

    /// Whether the client talks to the guarded resource.
    pub(super) const fn resource(self) -> bool {
        self.operates() || self.effect
    }

    /// Whether it does something on a guarded object.
    const fn operates(self) -> bool {
        self.read || self.write || self.mark || self.ticket
    }

    /// Whether a client with this script may come to that point.
    pub(super) fn reaches(self, point: Point, lock: Option<&Lock>, resource: Option<&Resource>) -> bool {
        match point {
            points::STARTED => true,
            points::CHECKED => self.acquire && (self.check || self.resource()),
            points::ABOUT_TO_READ | points::READ_DONE => self.read,
            points::ABOUT_TO_WRITE | points::WRITE_APPLIED => self.write,
            points::ABOUT_TO_MARK => self.mark,
            points::MARKED => {
                self.mark || (self.ticket && resource.is_none_or(|resource| resource.guard.takes_marks()))
            }
            points::ABOUT_TO_TICKET => self.ticket,
            points::ABOUT_TO_EFFECT | points::EFFECTED => self.effect,
            points::CHECK_PASSED => {
                self.takes_time && resource.is_none_or(|resource| resource.manner.act != Act::Atomic)
            }
            points::REFUSED => self.operates() && resource.is_none_or(|resource| resource.guard.refuses()),
            points::RENEWING | points::RENEWED | points::RENEWAL_FAILED => self.renews(lock),
            points::TOLD_OF_LOSS => self.renews(lock) || (self.acquire && lock.is_none_or(Lock::tells_of_loss)),
            points::RELEASING | points::RELEASED | points::RELEASE_REFUSED => self.releases(),
            points::ATTEMPTING | points::GRANTED | points::ENDED => self.acquire,
            // It takes a server to make anybody the owner, and to say no.
            points::OWNER | points::DENIED | points::FAILED => {
                self.acquire && lock.is_none_or(|lock| !lock.facts().groups.is_empty())
            }
            of_the_recipe => self.does_any(lock, |lock| lock.points(), of_the_recipe),
        }
    }

    /// Whether a client with this script may send such a request.
    pub(super) fn sends(self, operation: Operation, lock: Option<&Lock>) -> bool {
        match operation.0 {
            "read" => self.read,
            "write" => self.write,
            "mark" => self.mark,
            "ticket" => self.ticket,
            "effect" => self.effect,
            _ => self.does_any(lock, |lock| lock.operations(), operation),
        }
    }

    /// Whether the recipe does that on an occasion that a client with this script gives it.
    fn does_any<T: PartialEq>(
        self,
        lock: Option<&Lock>,
        all: impl FnOnce(&Lock) -> Vec<(T, Occasion)>,
        wanted: T,
    ) -> bool {
        let Some(lock) = lock else { return true };
        let given = |occasion| match occasion {
            Occasion::Acquire => self.acquire,
            Occasion::Renew => self.renews(Some(lock)) || self.works_in_background(Some(lock)),
            Occasion::Release => self.releases(),
            Occasion::Reap => self.reap,
        };
        all(lock).into_iter().any(|(one, occasion)| one == wanted && given(occasion))
    }

    fn renews(self, lock: Option<&Lock>) -> bool {
        self.extend || (self.acquire && lock.is_none_or(Lock::renews))
    }

    fn works_in_background(self, lock: Option<&Lock>) -> bool {
        self.acquire && lock.is_none_or(Lock::works_in_background)
    }

    /// A step that fails releases what is held; so does the step itself.
    const fn releases(self) -> bool {
        self.release || (self.acquire && (self.check || self.extend || self.resource()))
    }

    fn of_step(step: &Step) -> Self {
        let takes_time = step.operation().is_some_and(|about| about.takes != Use::NO_TIME);
        let none = Self { takes_time, ..Self::default() };
        match step {
            Step::Acquire { .. } => Self { acquire: true, ..none },
            Step::Check => Self { check: true, ..none },
            Step::Extend { .. } => Self { extend: true, ..none },
            Step::Release { .. } => Self { release: true, ..none },
            Step::Reap { .. } => Self { reap: true, ..none },
            Step::Read(_) => Self { read: true, ..none },
            Step::Write(_) => Self { write: true, ..none },
            Step::Mark(_) => Self { mark: true, ..none },
            Step::Ticket(_) => Self { ticket: true, ..none },
            Step::Effect { .. } => Self { effect: true, ..none },
            Step::Sleep(_) | Step::Await(_) | Step::Hold => none,
            Step::Repeat { steps, .. } => Self::of(steps),
        }
    }
}

/// Whether the resource answers that request, rather than a lock server.
pub(super) fn is_resource_operation(operation: Operation) -> bool {
    RESOURCE_OPERATIONS.contains(&operation)
}
