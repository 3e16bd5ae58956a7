//! What a client holds, from the grant to the end: the lease, its renewal, its loss, its release.

use std::cell::Cell;
use std::rc::Rc;

use host::{AttemptId, Duration, Host, MonoTime, Part, Task};
use spec::{LockName, Note, Token};

use super::mark;
use crate::recipe::{Lease, LockHost, Recipe, Release, Renewal};
use crate::script::points;

/// A lock that is held, as far as the client knows.
pub(super) struct Section<H: Host, L: Recipe<H>> {
    hold: Rc<Hold<L::Proof>>,
    renewal: Option<H::Task<()>>,
}

/// What the acting task and the renewal share.
struct Hold<P> {
    lock: LockName,
    attempt: AttemptId,
    lease: Lease<P>,
    /// The promised end, which renewals move.
    until: Cell<Option<MonoTime>>,
    /// A renewal failed; the acting task may not have looked yet.
    lost: Cell<bool>,
}

impl<H: LockHost, L: Recipe<H>> Section<H, L> {
    /// The lock was granted. In the scope of the attempt: the renewal inherits it.
    pub(super) async fn enter(
        host: &H,
        recipe: &L,
        lock: LockName,
        attempt: AttemptId,
        lease: Lease<L::Proof>,
    ) -> Self {
        let (token, until, counted) = (lease.token, lease.until, lease.counted);
        host.note(Note::Granted { attempt, token, until, counted });
        let hold = Rc::new(Hold { lock, attempt, lease, until: Cell::new(until), lost: Cell::new(false) });
        // What has no end needs no renewal.
        let renewal = until.and_then(|_| recipe.renew_every()).map(|every| {
            let (host, recipe, hold) = (host.clone(), recipe.clone(), Rc::clone(&hold));
            host.clone().spawn(Part::RENEWAL, async move {
                loop {
                    host.sleep(every).await;
                    if !hold.renew(&host, &recipe, None).await {
                        return;
                    }
                }
            })
        });
        host.point(points::GRANTED).await;
        Self { hold, renewal }
    }

    pub(super) fn attempt(&self) -> AttemptId {
        self.hold.attempt
    }

    pub(super) fn token(&self) -> Option<Token> {
        self.hold.lease.token
    }

    pub(super) fn until(&self) -> Option<MonoTime> {
        self.hold.until.get()
    }

    /// Whether more than `margin` is left of the lease.
    pub(super) fn has_left(&self, host: &H, margin: Duration) -> bool {
        self.until().is_none_or(|until| until.left(host.monotonic()) > margin)
    }

    /// Whether there is a loss to learn of.
    pub(super) fn is_lost(&self) -> bool {
        self.hold.lost.get()
    }

    /// The acting task takes notice of the loss.
    pub(super) async fn learn_of_loss(&self, host: &H) {
        mark(host, Note::ToldOfLoss { attempt: self.attempt() }, points::TOLD_OF_LOSS).await;
    }

    /// The acting task extends the lease itself. Whether it is extended.
    pub(super) async fn renew(&self, host: &H, recipe: &L, by: Option<Duration>) -> bool {
        self.hold.renew(host, recipe, by).await
    }

    /// The client believes no more that it may act. The service is not told.
    pub(super) async fn end(&self, host: &H) {
        if let Some(renewal) = &self.renewal {
            renewal.abort();
        }
        mark(host, Note::Ended { attempt: self.attempt() }, points::ENDED).await;
    }

    /// The end, and then the release. Whether it is confirmed.
    pub(super) async fn release(&self, host: &H, recipe: &L) -> bool {
        self.end(host).await;
        let attempt = self.attempt();
        mark(host, Note::Releasing { attempt }, points::RELEASING).await;
        match recipe.release(host, self.hold.lock, &self.hold.lease).await {
            Release::Confirmed => mark(host, Note::Released { attempt }, points::RELEASED).await,
            Release::Refused => {
                mark(host, Note::ReleaseRefused { attempt }, points::RELEASE_REFUSED).await;
                return false;
            }
        }
        true
    }
}

impl<P> Hold<P> {
    async fn renew<H, L>(&self, host: &H, recipe: &L, by: Option<Duration>) -> bool
    where
        H: LockHost,
        L: Recipe<H, Proof = P>,
    {
        let attempt = self.attempt;
        host.point(points::RENEWING).await;
        match recipe.renew(host, self.lock, &self.lease, by).await {
            Renewal::Extended { until } => {
                self.until.set(Some(until));
                mark(host, Note::Renewed { attempt, until }, points::RENEWED).await;
                true
            }
            Renewal::Failed => {
                self.lost.set(true);
                mark(host, Note::RenewalFailed { attempt }, points::RENEWAL_FAILED).await;
                false
            }
        }
    }
}
