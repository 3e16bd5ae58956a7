//! The scripted client: the program around a lock.
//!
//! It plays a [`Script`] against any [recipe](Recipe) and the guarded resource, and it alone tells the
//! history what the client does and believes; the recipe says nothing and so cannot forget to. Where it
//! notes something it also passes the milestone of that name, so that a fault strikes exactly there.
//!
//! What the steps mean where a script leaves it open:
//!
//! * Every try to acquire is an attempt of its own. One that failed is tried again like one that was
//!   denied. The limit `wait` is on the client's monotonic clock; a try that could not begin within it
//!   is not waited for.
//! * All that follows a grant is done in the name of that attempt, to the end of the round. A client
//!   that goes on after its release holds nothing: its check fails, unless it never looks.
//! * A lock that is acquired again while it is held is not re-entrant: the client forgets what it held.
//! * What comes before the first grant of a round is done outside any attempt, without a check.
//! * A round that a step ends early gives back what is held. One that plays to its end does not: a
//!   script that has no `release` leaves the lease to run out.
//!
//! It is not a lock library: it has no opinion on how often to retry or when to give up.

mod section;

use std::collections::BTreeMap;
use std::future::pending;
use std::rc::Rc;

use host::{AttemptId, Duration, Point, Purpose, Server, Stage};
use spec::{LockName, Note, ObjectName, OpId, Policy, Token, Version};

use crate::link::Link;
use crate::recipe::{Acquired, LockHost, Recipe};
use crate::resource::{Op, OpReply, ResourceHost};
use crate::script::{Rounds, Script, Step, points};
use section::Section;

/// One life of a client, from the start of its process to the end of its script.
pub async fn play<H, L>(host: H, recipe: L, lock: LockName, resource: Server<Op>, script: Rc<Script>)
where
    H: ResourceHost + Stage,
    L: Recipe<H>,
{
    let resource = Link::new(resource, script.call_timeout);
    let client = Client { host, recipe, lock, resource, script };
    let host = &client.host;
    host.point(points::STARTED).await;
    // If it cannot connect now, the first call tries again.
    let _ = client.resource.open(host).await;
    client.recipe.connect(host).await;
    let mut played = 0_u32;
    while client.wants_another(played) {
        let began = host.monotonic();
        Round::new(&client).play().await;
        if host.monotonic() == began {
            // A round that takes no time, played for ever, would let nobody else run again.
            host.sleep(Duration::from_nanos(1)).await;
        }
        played = played.saturating_add(1);
    }
}

struct Client<H: ResourceHost, L> {
    host: H,
    recipe: L,
    lock: LockName,
    resource: Link<H, Op>,
    script: Rc<Script>,
}

impl<H: ResourceHost, L> Client<H, L> {
    fn wants_another(&self, played: u32) -> bool {
        match self.script.rounds {
            Rounds::Times(times) => played < times,
            Rounds::Forever => true,
        }
    }
}

/// A step was denied, refused or not answered: the round is over.
struct Over;

/// One pass through the script.
struct Round<'a, H: ResourceHost, L: Recipe<H>> {
    client: &'a Client<H, L>,
    /// What is held.
    section: Option<Section<H, L>>,
    /// In whose name operations are sent: the last attempt that was granted, also after its release.
    claim: Option<Claim>,
    /// How many operations were sent in its name.
    operations: u32,
    /// The version of each object as it was last read, or made by a write based on one that was.
    versions: BTreeMap<ObjectName, Version>,
}

#[derive(Clone, Copy)]
struct Claim {
    attempt: AttemptId,
    token: Option<Token>,
}

impl<'a, H: ResourceHost + Stage, L: Recipe<H>> Round<'a, H, L> {
    const fn new(client: &'a Client<H, L>) -> Self {
        Self { client, section: None, claim: None, operations: 0, versions: BTreeMap::new() }
    }

    async fn play(mut self) {
        let client = self.client;
        let outcome = self.steps(&client.script.steps).await;
        let Some(section) = self.section else { return };
        let attempt = section.attempt();
        let conclude = async {
            match outcome {
                Ok(()) => section.end(&client.host).await,
                Err(Over) => {
                    let _ = section.release(&client.host, &client.recipe).await;
                }
            }
        };
        client.host.attempt(attempt, conclude).await;
    }

    async fn steps(&mut self, steps: &[Step]) -> Result<(), Over> {
        let host = &self.client.host;
        for step in steps {
            match self.claim {
                Some(claim) => host.attempt(claim.attempt, self.step(step)).await?,
                None => self.step(step).await?,
            }
        }
        Ok(())
    }

    async fn step(&mut self, step: &Step) -> Result<(), Over> {
        let host = &self.client.host;
        match step {
            Step::Acquire { wait } => self.acquire(*wait).await,
            Step::Check => self.check().await,
            Step::Extend { by } => self.extend(*by).await,
            Step::Release => self.release().await,
            Step::Read { object } => self.read(object).await,
            Step::Write { object } => self.write(object).await,
            Step::Sleep(span) => {
                host.sleep(span.sample(|| host.random(Purpose::Workload))).await;
                Ok(())
            }
            Step::Await(cue) => {
                host.cue(*cue).await;
                Ok(())
            }
            Step::Hold => {
                self.hold().await;
                Ok(())
            }
            Step::Repeat { times, steps } => {
                for _ in 0..*times {
                    // Boxed, since a future cannot contain itself.
                    Box::pin(self.steps(steps)).await?;
                }
                Ok(())
            }
        }
    }

    async fn acquire(&mut self, wait: Option<Duration>) -> Result<(), Over> {
        let host = &self.client.host;
        if let Some(forgotten) = self.section.take() {
            forgotten.end(host).await;
        }
        let began = host.monotonic();
        let mut retries = self.client.script.retry.times;
        loop {
            let attempt = host.open_attempt();
            if let Some(section) = host.attempt(attempt, self.client.attempt(attempt)).await {
                self.claim = Some(Claim { attempt, token: section.token() });
                self.operations = 0;
                self.section = Some(section);
                return Ok(());
            }
            if retries == Some(0) {
                return Err(Over);
            }
            retries = retries.map(|left| left - 1);
            let delay = self.client.script.retry.delay.sample(|| host.random(Purpose::Workload));
            if wait.is_some_and(|wait| host.monotonic() + delay >= began + wait) {
                return Err(Over);
            }
            host.sleep(delay).await;
        }
    }

    /// The policy's look at the clock, and at what the renewal has to tell.
    async fn check(&self) -> Result<(), Over> {
        let margin = match self.client.script.policy {
            Policy::Naive => return Ok(()),
            Policy::Checked => Duration::ZERO,
            Policy::Margin(margin) => margin,
        };
        match &self.section {
            Some(section) if section.is_lost() => {
                section.learn_of_loss(&self.client.host).await;
                Err(Over)
            }
            Some(section) if section.has_left(&self.client.host, margin) => Ok(()),
            // It has not asked for the lock.
            None if self.claim.is_none() => Ok(()),
            Some(_) | None => Err(Over),
        }
    }

    async fn extend(&self, by: Option<Duration>) -> Result<(), Over> {
        let Some(section) = &self.section else { return Err(Over) };
        if section.renew(&self.client.host, &self.client.recipe, by).await {
            return Ok(());
        }
        section.learn_of_loss(&self.client.host).await;
        Err(Over)
    }

    async fn release(&mut self) -> Result<(), Over> {
        let section = self.section.take().ok_or(Over)?;
        if section.release(&self.client.host, &self.client.recipe).await { Ok(()) } else { Err(Over) }
    }

    async fn read(&mut self, object: &ObjectName) -> Result<(), Over> {
        let op = self.begin_operation(points::ABOUT_TO_READ).await?;
        let version = self.ask(Op::Read { op, object: *object, token: self.token() }).await?;
        self.versions.insert(*object, version);
        self.client.host.point(points::READ_DONE).await;
        Ok(())
    }

    async fn write(&mut self, object: &ObjectName) -> Result<(), Over> {
        let op = self.begin_operation(points::ABOUT_TO_WRITE).await?;
        let based_on = self.versions.get(object).copied();
        let version = self.ask(Op::Write { op, object: *object, token: self.token(), based_on }).await?;
        // A client that had read the object knows what its own write made of it; a blind one does not.
        if based_on.is_some() {
            self.versions.insert(*object, version);
        }
        Ok(())
    }

    /// The last check before an operation. `about_to` lies after it and before the send. What takes
    /// time comes first: a connection that must be opened, and may be long in opening.
    async fn begin_operation(&mut self, about_to: Point) -> Result<OpId, Over> {
        let host = &self.client.host;
        self.client.resource.open(host).await.map_err(|_| Over)?;
        self.check().await?;
        let op = OpId(self.operations);
        self.operations += 1;
        if let Some(Claim { attempt, .. }) = self.claim {
            mark(host, Note::Checked { attempt, op }, points::CHECKED).await;
        }
        host.point(about_to).await;
        Ok(op)
    }

    async fn ask(&self, op: Op) -> Result<Version, Over> {
        match self.client.resource.call(&self.client.host, op).await {
            Ok(OpReply::Version(version)) => Ok(version),
            Ok(OpReply::Refused) | Err(_) => Err(Over),
        }
    }

    fn token(&self) -> Option<Token> {
        self.claim.and_then(|claim| claim.token)
    }

    /// To the deadline of what is held, which a renewal may move in the meantime.
    async fn hold(&self) {
        let Some(section) = &self.section else { return };
        loop {
            let Some(until) = section.until() else { return pending().await };
            let left = until.left(self.client.host.monotonic());
            if left.is_zero() {
                return;
            }
            self.client.host.sleep(left).await;
        }
    }
}

impl<H: ResourceHost, L: Recipe<H>> Client<H, L> {
    /// One try to acquire, in the scope of its attempt.
    async fn attempt(&self, attempt: AttemptId) -> Option<Section<H, L>> {
        let host = &self.host;
        let lock = self.lock;
        mark(host, Note::Attempting { attempt, lock }, points::ATTEMPTING).await;
        match self.recipe.acquire(host).await {
            Acquired::Granted(lease) => return Some(Section::enter(host, &self.recipe, attempt, lease).await),
            Acquired::Denied => mark(host, Note::Denied { attempt }, points::DENIED).await,
            Acquired::Failed => mark(host, Note::Failed { attempt }, points::FAILED).await,
        }
        None
    }
}

/// Writes what happened into the history and passes the milestone of that name.
async fn mark<H: LockHost>(host: &H, note: Note, point: Point) {
    host.note(note);
    host.point(point).await;
}

#[cfg(test)]
mod tests;
