//! Taking a lock: one try after another, as the script's retry says, until one is granted, the client
//! gives up, or its caller is interrupted.
//!
//! An interrupt is that of a thread: whatever the caller waits for just then, an answer or the time of the
//! next try, it gives up, and the round is over. What it had asked for is on its way all the same; what
//! becomes of a grant that comes then is the recipe's business.

use std::cell::Cell;

use host::{AttemptId, Duration, Either, MonoTime, Purpose, Stage, first};
use spec::{LockName, Mode, Note, Thread};

use super::backoff::Backoff;
use super::section::Section;
use super::{Client, Over, mark};
use crate::recipe::{Acquired, Lease, Recipe};
use crate::resource::ResourceHost;
use crate::script::points;

/// What a thread asks for.
#[derive(Clone, Copy)]
pub(super) struct Asking {
    pub(super) thread: Thread,
    pub(super) lock: LockName,
    pub(super) mode: Mode,
}

/// The last try, as it stands.
#[derive(Clone, Copy)]
enum Try {
    /// Its answer is awaited.
    Open(AttemptId),
    /// It was not granted.
    Over(AttemptId),
}

impl<H: ResourceHost + Stage, L: Recipe<H>> Client<H, L> {
    /// Takes that lock, or gives up.
    pub(super) async fn acquire(&self, asking: Asking, wait: Option<Duration>) -> Result<Section<H, L>, Over> {
        let (host, last) = (&self.host, Cell::new(None));
        let interrupted = host.interrupted();
        let (outcome, gives_up) = match first(self.try_to_acquire(asking, wait, &last), interrupted).await {
            Either::Left(outcome) => (outcome, true),
            // It is gone before it can tidy up.
            Either::Right(()) => (Err(Over), false),
        };
        match (outcome, last.get()) {
            (Ok((attempt, lease)), _) => {
                let enter = Section::enter(host, &self.recipe, asking.lock, attempt, lease, self.clock);
                return Ok(host.attempt(attempt, enter).await);
            }
            (Err(Over), Some(Try::Open(attempt))) => {
                host.attempt(attempt, mark(host, Note::Failed { attempt }, points::FAILED)).await;
                host.note(Note::GaveUp { attempt });
            }
            (Err(Over), Some(Try::Over(attempt))) => {
                host.note(Note::GaveUp { attempt });
                if gives_up {
                    host.attempt(attempt, self.recipe.give_up(host, asking.lock)).await;
                }
            }
            (Err(Over), None) => {}
        }
        Err(Over)
    }

    /// Tries until one is granted or there is no next one. `last` tells of the last.
    async fn try_to_acquire(
        &self,
        asking: Asking,
        wait: Option<Duration>,
        last: &Cell<Option<Try>>,
    ) -> Result<(AttemptId, Lease<L::Proof>), Over> {
        let host = &self.host;
        let end = wait.map(|wait| host.monotonic() + wait);
        let mut backoff = Backoff::new(self.script.retry);
        let mut after = None;
        loop {
            let attempt = host.open_attempt();
            last.set(Some(Try::Open(attempt)));
            let granted = self.attempt((asking, end), attempt, after, || last.set(Some(Try::Over(attempt))));
            if let Some(lease) = host.attempt(attempt, granted).await {
                return Ok((attempt, lease));
            }
            let delay = backoff.next(|| host.random(Purpose::Workload)).ok_or(Over)?;
            if !self.recipe.await_turn(host, asking.lock, delay, end).await {
                return Err(Over);
            }
            after = Some(attempt);
        }
    }

    /// One try to acquire, in the scope of its attempt; it repeats `after`. `answered` is called when the
    /// recipe is through.
    async fn attempt(
        &self,
        (Asking { thread, lock, mode }, end): (Asking, Option<MonoTime>),
        attempt: AttemptId,
        after: Option<AttemptId>,
        answered: impl FnOnce(),
    ) -> Option<Lease<L::Proof>> {
        let host = &self.host;
        mark(host, Note::Attempting { attempt, lock, thread, after, mode }, points::ATTEMPTING).await;
        let acquired = match mode {
            Mode::Exclusive => self.recipe.acquire_by(host, lock, end).await,
            Mode::Shared => self.recipe.acquire_shared(host, lock, end).await,
        };
        answered();
        match acquired {
            Acquired::Granted(lease) => return Some(lease),
            Acquired::Denied => mark(host, Note::Denied { attempt }, points::DENIED).await,
            Acquired::Failed => mark(host, Note::Failed { attempt }, points::FAILED).await,
        }
        None
    }
}
