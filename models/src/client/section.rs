//! What a client holds, from the grant to the end: the lease, its renewal, its loss, its release.

use std::cell::Cell;
use std::rc::Rc;

use host::{AttemptId, Clock, Duration, Either, Host, MonoTime, Part, Task, first};
use spec::{LockName, Note, Token};

use super::mark;
use crate::lock::{OnFailure, Renew, Stops};
use crate::recipe::{Again, Lease, LockHost, Recipe, Release, Renewal};
use crate::resource::{Op, OpReply};
use crate::script::points;

/// A lock that is held, as far as the client knows.
pub(super) struct Section<H: Host, L: Recipe<H>> {
    hold: Rc<Hold<L::Proof>>,
    /// Its renewal in the background, and when that stops.
    renewal: Option<(H::Task<()>, Stops)>,
    /// How often it was entered and not left.
    entries: Cell<u32>,
}

/// What the acting task and the renewal share.
struct Hold<P> {
    lock: LockName,
    attempt: AttemptId,
    lease: Lease<P>,
    /// The promised end, which renewals move.
    until: Cell<Option<MonoTime>>,
    /// On which clock.
    clock: Clock,
    /// A renewal failed; the acting task may not have looked yet.
    lost: Cell<bool>,
    given_back: Cell<bool>,
}

impl<H: LockHost, L: Recipe<H>> Section<H, L> {
    /// The lock was granted. In the scope of the attempt: the renewal inherits it.
    pub(super) async fn enter(
        host: &H,
        recipe: &L,
        lock: LockName,
        attempt: AttemptId,
        lease: Lease<L::Proof>,
        clock: Clock,
    ) -> Self {
        let (token, until, counted) = (lease.token, lease.until, lease.counted);
        host.note(Note::Granted { attempt, token, until, counted });
        let hold = Rc::new(Hold {
            lock,
            attempt,
            lease,
            until: Cell::new(until),
            clock,
            lost: Cell::new(false),
            given_back: Cell::new(false),
        });
        // What has no end needs no renewal.
        let renewal = until.and_then(|_| recipe.renewing(lock)).map(|how| {
            let (host, recipe, hold) = (host.clone(), recipe.clone(), Rc::clone(&hold));
            let task = host.clone().spawn(Part::RENEWAL, async move { hold.keep_alive(&host, &recipe, how).await });
            (task, how.stops)
        });
        host.point(points::GRANTED).await;
        Self { hold, renewal, entries: Cell::new(1) }
    }

    /// Asks for the lock again, which is held.
    pub(super) async fn enter_again(&self, host: &H, recipe: &L) -> Again {
        let Hold { lock, attempt, ref lease, ref until, .. } = *self.hold;
        let again = recipe.acquire_again(host, lock, lease).await;
        if let Again::Entered { until: moved } = again {
            self.entries.update(|entries| entries + 1);
            if let Some(moved) = moved {
                until.set(Some(moved));
                mark(host, Note::Renewed { attempt, until: moved }, points::RENEWED).await;
            }
        }
        again
    }

    /// Whether it was entered more than once; then it gives one entry back, and says whether that was
    /// confirmed.
    pub(super) async fn leave(&self, host: &H, recipe: &L) -> Option<bool> {
        if self.entries.get() == 1 {
            return None;
        }
        self.entries.update(|entries| entries - 1);
        Some(recipe.leave(host, self.hold.lock, &self.hold.lease).await != Release::Refused)
    }

    pub(super) fn attempt(&self) -> AttemptId {
        self.hold.attempt
    }

    pub(super) fn token(&self) -> Option<Token> {
        self.hold.lease.token
    }

    /// How much is left of the lease; `None`: it has no end.
    pub(super) fn left(&self, host: &H) -> Option<Duration> {
        self.hold.until.get().map(|until| until.left(self.hold.clock.read(host)))
    }

    /// Whether more than `margin` is left of the lease.
    pub(super) fn has_left(&self, host: &H, margin: Duration) -> bool {
        self.left(host).is_none_or(|left| left > margin)
    }

    /// Whether there is a loss to learn of.
    pub(super) fn is_lost(&self, recipe: &L) -> bool {
        self.hold.lost.get() || recipe.knows_of_loss(self.hold.lock, &self.hold.lease)
    }

    /// Whether the service has it as the client's still, if that is asked.
    pub(super) async fn is_still_held(&self, host: &H, recipe: &L) -> bool {
        recipe.is_still_held(host, self.hold.lock, &self.hold.lease).await
    }

    /// Does an operation on an object that is where the lock is.
    pub(super) async fn operate(&self, host: &H, recipe: &L, op: &Op) -> Option<OpReply> {
        recipe.operate(host, &self.hold.lease, op).await
    }

    /// The acting task takes notice of the loss.
    pub(super) async fn learn_of_loss(&self, host: &H) {
        mark(host, Note::ToldOfLoss { attempt: self.attempt() }, points::TOLD_OF_LOSS).await;
    }

    /// The acting task extends the lease itself. Whether it is extended.
    pub(super) async fn renew(&self, host: &H, recipe: &L, by: Option<Duration>) -> bool {
        let renewal = self.hold.renew(host, recipe, by).await;
        self.hold.take_in(host, renewal, false).await
    }

    /// The client believes no more that it may act. The service is not told.
    pub(super) async fn end(&self, host: &H) {
        self.stop_renewal(Stops::BeforeRelease);
        mark(host, Note::Ended { attempt: self.attempt() }, points::ENDED).await;
    }

    /// Whether it was given back, or that was tried.
    pub(super) fn is_given_back(&self) -> bool {
        self.hold.given_back.get()
    }

    /// Gives the lock back, and waits at most so long for the answer. Whether it is confirmed.
    pub(super) async fn give_back(&self, host: &H, recipe: &L, timeout: Option<Duration>) -> bool {
        let attempt = self.attempt();
        self.hold.given_back.set(true);
        self.stop_renewal(Stops::BeforeRelease);
        mark(host, Note::Releasing { attempt }, points::RELEASING).await;
        let asked = recipe.release(host, self.hold.lock, &self.hold.lease);
        let release = match timeout {
            None => asked.await,
            Some(timeout) => match first(asked, host.sleep(timeout)).await {
                Either::Left(release) => release,
                Either::Right(()) => Release::Refused,
            },
        };
        match release {
            Release::Confirmed => {
                self.stop_renewal(Stops::AfterRelease);
                mark(host, Note::Released { attempt }, points::RELEASED).await;
            }
            Release::EntriesLeft => mark(host, Note::Released { attempt }, points::RELEASED).await,
            Release::Refused => mark(host, Note::ReleaseRefused { attempt }, points::RELEASE_REFUSED).await,
        }
        release != Release::Refused
    }

    fn stop_renewal(&self, when: Stops) {
        if let Some((renewal, stops)) = &self.renewal
            && *stops == when
        {
            renewal.abort();
        }
    }
}

impl<P> Hold<P> {
    /// The renewal in the background.
    async fn keep_alive<H, L>(&self, host: &H, recipe: &L, how: Renew)
    where
        H: LockHost,
        L: Recipe<H, Proof = P>,
    {
        loop {
            host.sleep(how.every).await;
            let renewal = self.renew(host, recipe, None).await;
            let may_live = self.until.get().is_none_or(|until| until > self.clock.read(host));
            if !self.take_in(host, renewal, how.on_failure == OnFailure::TryOn && may_live).await {
                return;
            }
        }
    }

    async fn renew<H, L>(&self, host: &H, recipe: &L, by: Option<Duration>) -> Renewal
    where
        H: LockHost,
        L: Recipe<H, Proof = P>,
    {
        mark(host, Note::Renewing { attempt: self.attempt }, points::RENEWING).await;
        recipe.renew(host, self.lock, &self.lease, by).await
    }

    /// Takes in how a renewal ended; one that nobody answered is no loss yet if it `may_live`. Whether the
    /// lock is not lost.
    async fn take_in<H: LockHost>(&self, host: &H, renewal: Renewal, may_live: bool) -> bool {
        let attempt = self.attempt;
        if let Renewal::Extended { until } = renewal {
            self.until.set(Some(until));
            mark(host, Note::Renewed { attempt, until }, points::RENEWED).await;
            return true;
        }
        let is_lost = renewal == Renewal::Refused || !may_live;
        if is_lost {
            self.lost.set(true);
        }
        mark(host, Note::RenewalFailed { attempt }, points::RENEWAL_FAILED).await;
        !is_lost
    }
}

#[cfg(test)]
mod tests;
