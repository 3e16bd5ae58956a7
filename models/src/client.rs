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
//! * A client may hold several locks, each under a handle of its own. All that follows a grant is done in
//!   the name of that attempt, until it is given back and another is held again; when nothing is held,
//!   in the name of the last that was, to the end of the round. A look at the clock looks at all that is
//!   held; a client that goes on after its last release holds nothing: its check fails, unless it never
//!   looks.
//! * A handle for which a lock is acquired again enters it once more, if the lock is re-entrant, and as many
//!   releases give it back; else the client forgets what it held.
//! * What comes before the first grant of a round is done outside any attempt, without a check.
//! * A client whose work goes on after its release acts in that name, and believes so, to the end of the
//!   round; it looks at the deadline that it had.
//! * The threads of a client play their steps side by side, each with rounds and handles of its own; the
//!   recipe and its connections are the process's. So are the rounds of an open load.
//! * A round that a step ends early gives back what is held, the last first. One that plays to its end does not: a
//!   script that has no `release` leaves the lease to run out.
//!
//! It is not a lock library: it has no opinion on how often to retry or when to give up.

mod acquire;
mod backoff;
mod claims;
mod section;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::pending;
use std::rc::Rc;

use host::{Clock, Cue, Duration, Either, Part, Point, Purpose, Server, Span, Stage, first};
use spec::{Note, ObjectName, OpId, Policy, Thread, Token, Version};

use crate::link::Link;
use crate::recipe::{Again, LockHost, Reaped, Recipe};
use crate::resource::{Action, Op, OpReply, ResourceHost, Work};
use crate::script::{GivingBack, Handle, OnError, Rounds, Script, Step, Use, Working, points};
use acquire::Asking;
use backoff::Backoff;
use claims::Claims;
use section::Section;

/// One life of a client, from the start of its process to the end of its script. `clock` is that on which its
/// lock counts leases.
pub async fn play<H, L>(host: H, recipe: L, clock: Clock, resource: Server<Op>, script: Rc<Script>)
where
    H: ResourceHost + Stage,
    L: Recipe<H>,
{
    let resource = Link::new(resource, script.call_timeout);
    let threads = Cell::new(0);
    let client = Rc::new(Client { host, recipe, clock, resource, script, threads });
    let host = &client.host;
    host.point(points::STARTED).await;
    // If it cannot connect now, the first call tries again.
    let _ = client.resource.open(host).await;
    client.recipe.connect(host).await;
    let spawn = |thread| host.spawn(Part::WORKER, Rc::clone(&client).play_thread(thread));
    let others: Vec<_> = (1..client.script.threads.len()).map(spawn).collect();
    Rc::clone(&client).play_thread(0).await;
    for other in others {
        other.await;
    }
}

struct Client<H: ResourceHost, L> {
    host: H,
    recipe: L,
    clock: Clock,
    resource: Link<H, Op>,
    script: Rc<Script>,
    /// How many threads have begun.
    threads: Cell<u32>,
}

impl<H: ResourceHost + Stage, L: Recipe<H>> Client<H, L> {
    /// All rounds of those steps.
    async fn play_thread(self: Rc<Self>, steps: usize) {
        let thread = self.begin_thread();
        match self.script.rounds {
            Rounds::Times(times) => {
                for _ in 0..times {
                    Round::new(&self, thread).play(steps).await;
                }
            }
            Rounds::Forever => loop {
                let began = self.host.monotonic();
                Round::new(&self, thread).play(steps).await;
                if self.host.monotonic() == began {
                    // A round that takes no time would let nobody else run again.
                    self.host.sleep(Duration::from_nanos(1)).await;
                }
            },
            Rounds::Arrive { every, until } => self.play_as_they_arrive(steps, every, until).await,
        }
    }

    fn begin_thread(&self) -> Thread {
        Thread(self.threads.replace(self.threads.get() + 1))
    }

    /// A round for each arrival, in a thread of its own, to the end of the last.
    async fn play_as_they_arrive(self: Rc<Self>, steps: usize, every: Span, until: Cue) {
        let host = &self.host;
        let mut rounds = Vec::new();
        loop {
            let gap = every.sample(|| host.random(Purpose::Workload));
            if let Either::Right(()) = first(host.sleep(gap), host.cue(until)).await {
                break;
            }
            let client = Rc::clone(&self);
            rounds.push(host.spawn(Part::WORKER, async move {
                Round::new(&client, client.begin_thread()).play(steps).await;
            }));
        }
        for round in rounds {
            round.await;
        }
    }
}

/// Why the client looks at its clock.
#[derive(Clone, Copy)]
enum Look {
    /// Its script says so.
    Step,
    /// It is about to send an operation.
    BeforeOperation,
}

/// A step was denied, refused or not answered: the round is over.
struct Over;

/// One pass through the script.
struct Round<'a, H: ResourceHost, L: Recipe<H>> {
    client: &'a Client<H, L>,
    thread: Thread,
    /// What was granted.
    claims: Claims<H, L>,
    /// How many operations were sent outside any attempt.
    unclaimed: u32,
    /// What they show the resource.
    unclaimed_token: Option<Token>,
    /// The version of each object as it was last read, or made by a write based on one that was.
    versions: BTreeMap<ObjectName, Version>,
}

impl<'a, H: ResourceHost + Stage, L: Recipe<H>> Round<'a, H, L> {
    const fn new(client: &'a Client<H, L>, thread: Thread) -> Self {
        Self { client, thread, claims: Claims::NONE, unclaimed: 0, unclaimed_token: None, versions: BTreeMap::new() }
    }

    async fn play(mut self, steps: usize) {
        let Client { host, recipe, script, .. } = self.client;
        let outcome = self.steps(&script.threads[steps]).await;
        while let Some(section) = self.claims.take_last() {
            let conclude = async {
                section.end(host).await;
                if outcome.is_err() && !section.is_given_back() {
                    let _ = section.give_back(host, recipe, None).await;
                }
            };
            host.attempt(section.attempt(), conclude).await;
        }
    }

    async fn steps(&mut self, steps: &[Step]) -> Result<(), Over> {
        let host = &self.client.host;
        for step in steps {
            match self.claims.in_whose_name(step) {
                Some(attempt) => host.attempt(attempt, self.step(step)).await?,
                None => self.step(step).await?,
            }
        }
        Ok(())
    }

    async fn step(&mut self, step: &Step) -> Result<(), Over> {
        let host = &self.client.host;
        match step {
            Step::Acquire { lock, handle, wait, mode } => {
                let asking = Asking { thread: self.thread, lock: *lock, mode: *mode };
                self.acquire(asking, *handle, *wait).await
            }
            Step::Check => self.look(Look::Step).await,
            Step::Extend { handle, by } => self.extend(*handle, *by).await,
            Step::Release { handle, how } => self.release(*handle, *how).await,
            Step::Read(about) => self.read(about).await,
            Step::Write(about) => self.write(about).await,
            Step::Mark(about) => self.mark(about).await,
            Step::Ticket(about) => self.ticket(about).await,
            Step::Effect { about, key } => {
                self.operate(about, points::ABOUT_TO_EFFECT, Action::Effect { key: *key }).await.map(drop)
            }
            Step::Reap { lock, how } => match self.client.recipe.reap(host, *lock, *how).await {
                Reaped::Deleted | Reaped::Left => Ok(()),
                Reaped::Failed => Err(Over),
            },
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

    async fn acquire(&mut self, asking: Asking, handle: Handle, wait: Option<Duration>) -> Result<(), Over> {
        let host = &self.client.host;
        if let Some(held) = self.claims.get(handle)
            && let Some(entered) = self.client.enter_again(held).await
        {
            return entered;
        }
        if let Some(forgotten) = self.claims.take(handle) {
            host.attempt(forgotten.attempt(), forgotten.end(host)).await;
        }
        let section = self.client.acquire(asking, wait).await?;
        self.claims.add(handle, section);
        Ok(())
    }

    /// The policy's look at the clock, and at what the renewals have to tell. All that is held must be good.
    async fn look(&self, look: Look) -> Result<(), Over> {
        let margin = match (self.client.script.policy, look) {
            (Policy::Naive, _) | (Policy::AtChecks, Look::BeforeOperation) => return Ok(()),
            (Policy::WhenTold, _) => None,
            (Policy::Checked | Policy::AtChecks, _) => Some(Duration::ZERO),
            (Policy::Margin(margin), _) => Some(margin),
        };
        let Client { host, recipe, .. } = self.client;
        for section in self.claims.held() {
            if section.is_lost(recipe) || !section.is_still_held(host, recipe).await {
                section.learn_of_loss(host).await;
                return Err(Over);
            }
            if margin.is_some_and(|margin| !section.has_left(host, margin)) {
                return Err(Over);
            }
        }
        if self.claims.are_all_given_back() { Err(Over) } else { Ok(()) }
    }

    async fn extend(&self, handle: Handle, by: Option<Duration>) -> Result<(), Over> {
        let section = self.claims.get(handle).ok_or(Over)?;
        if section.renew(&self.client.host, &self.client.recipe, by).await {
            return Ok(());
        }
        section.learn_of_loss(&self.client.host).await;
        Err(Over)
    }

    async fn release(&mut self, handle: Handle, how: GivingBack) -> Result<(), Over> {
        let Client { host, recipe, .. } = self.client;
        let section = self.claims.get(handle).filter(|section| !section.is_given_back()).ok_or(Over)?;
        if let Some(left) = section.leave(host, recipe).await {
            return if left { Ok(()) } else { Err(Over) };
        }
        if how.working == Working::Over {
            section.end(host).await;
        }
        let is_over = !self.client.give_back(section, how).await && how.on_error != OnError::Ignore;
        if how.working == Working::Over {
            self.claims.take(handle);
        }
        if is_over { Err(Over) } else { Ok(()) }
    }

    async fn read(&mut self, about: &Use) -> Result<(), Over> {
        let reply = self.operate(about, points::ABOUT_TO_READ, Action::Read).await?;
        if let OpReply::Version(version) = reply {
            self.versions.insert(about.object, version);
        }
        self.client.host.point(points::READ_DONE).await;
        Ok(())
    }

    async fn write(&mut self, about: &Use) -> Result<(), Over> {
        let based_on = self.versions.get(&about.object).copied();
        let reply = self.operate(about, points::ABOUT_TO_WRITE, Action::Write { based_on }).await?;
        // A client that had read the object knows what its own write made of it; a blind one does not.
        if let (Some(_), OpReply::Version(version)) = (based_on, reply) {
            self.versions.insert(about.object, version);
        }
        Ok(())
    }

    async fn mark(&mut self, about: &Use) -> Result<(), Over> {
        let host = &self.client.host;
        self.token().get_or_insert_with(|| Token(host.random(Purpose::Workload)));
        self.operate(about, points::ABOUT_TO_MARK, Action::Mark).await.map(drop)
    }

    async fn ticket(&mut self, about: &Use) -> Result<(), Over> {
        if let OpReply::Ticket(token) = self.operate(about, points::ABOUT_TO_TICKET, Action::Ticket).await? {
            *self.token() = Some(token);
        }
        Ok(())
    }

    /// Checks, passes the milestone, asks the resource, and waits for its answer.
    async fn operate(&mut self, about: &Use, about_to: Point, action: Action) -> Result<OpReply, Over> {
        let host = &self.client.host;
        let id = self.begin_operation(about_to).await?;
        let takes = Work::of(about.takes.sample(|| host.random(Purpose::Workload)));
        let token = *self.token();
        let op = Op { id, object: about.object, token, takes, action };
        match self.ask(op).await {
            Some(OpReply::Refused) | None => Err(Over),
            Some(reply) => Ok(reply),
        }
    }

    /// Has the operation done, be it where the lock is: there nobody acts who holds nothing.
    async fn ask(&self, op: Op) -> Option<OpReply> {
        let Client { host, recipe, resource, .. } = self.client;
        if recipe.keeps_objects() {
            return self.claims.current_section()?.operate(host, recipe, &op).await;
        }
        resource.call(host, op).await.ok()
    }

    /// The last check before an operation. `about_to` lies after it and before the send. What takes
    /// time comes first: a connection that must be opened, and may be long in opening.
    async fn begin_operation(&mut self, about_to: Point) -> Result<OpId, Over> {
        let host = &self.client.host;
        if !self.client.recipe.keeps_objects() {
            self.client.resource.open(host).await.map_err(|_| Over)?;
        }
        self.look(Look::BeforeOperation).await?;
        let op = match self.claims.current_mut() {
            Some(claim) => {
                let op = claim.next_operation();
                mark(host, Note::Checked { attempt: claim.attempt, op }, points::CHECKED).await;
                op
            }
            None => {
                let op = OpId(self.unclaimed);
                self.unclaimed += 1;
                op
            }
        };
        host.point(about_to).await;
        Ok(op)
    }

    /// What it shows the resource.
    fn token(&mut self) -> &mut Option<Token> {
        match self.claims.current_mut() {
            Some(claim) => &mut claim.token,
            None => &mut self.unclaimed_token,
        }
    }

    /// To the first deadline of what is held, which a renewal may move in the meantime.
    async fn hold(&self) {
        if self.claims.held().next().is_none() {
            return;
        }
        loop {
            let host = &self.client.host;
            let Some(left) = self.claims.held().filter_map(|held| held.left(host)).min() else {
                return pending().await;
            };
            if left.is_zero() {
                return;
            }
            host.sleep(left).await;
        }
    }
}

impl<H: ResourceHost, L: Recipe<H>> Client<H, L> {
    /// Asks for a lock that is held. `None`: it is not re-entrant.
    async fn enter_again(&self, held: &Section<H, L>) -> Option<Result<(), Over>> {
        match self.host.attempt(held.attempt(), held.enter_again(&self.host, &self.recipe)).await {
            Again::NotReentrant => None,
            Again::Entered { .. } => Some(Ok(())),
            Again::Denied | Again::Failed => Some(Err(Over)),
        }
    }

    /// Gives back what is held, once or until it is confirmed. Whether it is.
    async fn give_back(&self, section: &Section<H, L>, how: GivingBack) -> bool {
        let host = &self.host;
        let mut backoff = Backoff::new(self.script.retry);
        loop {
            if section.give_back(host, &self.recipe, how.timeout).await {
                return true;
            }
            let next = (how.on_error == OnError::Retry).then(|| backoff.next(|| host.random(Purpose::Workload)));
            let Some(delay) = next.flatten() else { return false };
            host.sleep(delay).await;
        }
    }
}

/// Writes what happened into the history and passes the milestone of that name.
async fn mark<H: LockHost>(host: &H, note: Note, point: Point) {
    host.note(note);
    host.point(point).await;
}

#[cfg(test)]
mod tests;
