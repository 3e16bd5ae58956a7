//! The steps of a client's script: `do = ["acquire", { sleep = "50ms" }, "write", "release"]`.
//!
//! A step is a word, or a table with one key; the word is short for its empty table. `check`,
//! `extend`, `release` and `hold` act on a lock, so an `acquire` stands somewhere before them.
//!
//! A script calls a lock by the handle that it gave it: `acquire = { key = "alice", as = "from" }`. Without
//! `key` it is the scenario's one lock; without `as` the handle is the lock's name; and a step that says
//! no handle means the only one that there is.
//!
//! Instants and milestones for which a script waits become *cues*; they are resolved when all clients
//! are known.

use std::num::NonZeroU32;

use host::{Cue, Duration, Name, Span};
use models::resource::{Key, Work};
use models::script::{Compare, GivingBack, Handle, OnError, Reaping, Step, Use, Working};
use spec::{LockName, Mode, ObjectName};

use super::clients::Around;
use super::error::Sink;
use super::reader::{Choice, Fields, choice, list, one_of, wrong_type};
use super::suggest::no_such_name;
use super::tree::{Node, Site, Value};
use super::value::{duration, integer, is_name, positive, show, span, times};
use crate::cell::Resource;

/// The lock that `"acquire"` means.
pub(super) const LOCK: LockName = LockName::fixed("orders");
/// The object that `"read"` and `"write"` mean.
const OBJECT: ObjectName = ObjectName::fixed("object");

pub(super) const STEPS: [&str; 15] = [
    "acquire", "check", "extend", "release", "read", "write", "mark", "ticket", "effect", "reap", "sleep", "at",
    "until", "hold", "repeat",
];
pub(super) const COMPARE: [(&str, Compare); 2] = [("name", Compare::Name), ("value", Compare::Value)];
pub(super) const MODES: [(&str, Mode); 2] = [("exclusive", Mode::Exclusive), ("shared", Mode::Shared)];
pub(super) const ON_ERROR: [(&str, OnError); 3] =
    [("end", OnError::End), ("ignore", OnError::Ignore), ("retry", OnError::Retry)];
pub(super) const WORKING: [(&str, Working); 2] = [("over", Working::Over), ("goes-on", Working::GoesOn)];

/// Steps of the language that nothing can play yet.
const NOT_YET: [&str; 5] = ["take", "claim", "statement", "begin", "commit"];

/// The moments for which scripts wait, in the order of their numbers.
#[derive(Default)]
pub(super) struct Cues<'t> {
    pub(super) wanted: Vec<Wanted<'t>>,
}

impl<'t> Cues<'t> {
    /// A script waits for that moment.
    pub(super) fn want(&mut self, sink: &Sink, site: Site, moment: Wanted<'t>) -> Option<Cue> {
        let Ok(number) = u16::try_from(self.wanted.len()) else {
            sink.error(site, "the scripts of one cell wait at most 65,536 times");
            return None;
        };
        self.wanted.push(moment);
        Some(Cue(number))
    }
}

/// One such moment, as it is written.
pub(super) enum Wanted<'t> {
    At(Site, Duration),
    Milestone(&'t Node),
}

/// Reads a script. `None` if any step is wrong: then nobody knows what the client does.
pub(super) fn steps<'t>(sink: &'t Sink, node: &'t Node, around: Around<'_>, cues: &mut Cues<'t>) -> Option<Vec<Step>> {
    Reader { sink, around, cues, handles: Vec::new(), all_known: true }.steps(node)
}

/// The script of a client that has none: take the lock, read, work, write, give it back.
pub(super) fn default_steps(sink: &Sink, site: Site, resource: Option<&Resource>) -> Option<Vec<Step>> {
    has(sink, resource, site, OBJECT).then_some(())?;
    Some(vec![
        Step::Acquire { lock: LOCK, handle: LOCK, wait: None, mode: Mode::Exclusive },
        Step::Read(Use::of(OBJECT)),
        Step::Sleep(Span::Fixed(Duration::from_millis(50))),
        Step::Write(Use::of(OBJECT)),
        Step::Release { handle: LOCK, how: GivingBack::default() },
    ])
}

struct Reader<'t, 'c> {
    sink: &'t Sink,
    around: Around<'c>,
    cues: &'c mut Cues<'t>,
    /// What the script has acquired so far.
    handles: Vec<Handle>,
    /// Whether every step so far could be read.
    all_known: bool,
}

impl<'t> Reader<'t, '_> {
    fn steps(&mut self, node: &'t Node) -> Option<Vec<Step>> {
        if node.as_list().is_some_and(<[_]>::is_empty) {
            self.sink.error(node.site, "a script has at least one step");
            return None;
        }
        list(self.sink, node, "a script", |_, step| self.step(step))
    }

    fn step(&mut self, node: &'t Node) -> Option<Step> {
        let sink = self.sink;
        let Some(step) = choice(sink, node, "a step", &STEPS, &NOT_YET) else {
            // It may have been meant to take the lock.
            self.all_known = false;
            return None;
        };
        let acts_on_lock = matches!(step.name, "check" | "extend" | "release" | "hold");
        let has_lock = !self.handles.is_empty() || !self.all_known;
        if acts_on_lock && !has_lock {
            sink.error(step.site, format!("`{}` has no lock to act on: no `acquire` stands before it", step.name));
        }
        self.of_choice(step).filter(|_| !acts_on_lock || has_lock)
    }

    fn of_choice(&mut self, step: Choice<'t>) -> Option<Step> {
        let sink = self.sink;
        match step.name {
            "acquire" => {
                let acquire = step.table(sink, |fields| self.acquire(fields));
                match &acquire {
                    Some(Step::Acquire { handle, .. }) if !self.handles.contains(handle) => self.handles.push(*handle),
                    Some(_) => {}
                    None => self.all_known = false,
                }
                acquire
            }
            "check" => step.bare(sink, Step::Check),
            "extend" => self.extend(step),
            "release" => step.table(sink, |fields| self.release(fields)),
            "read" => self.operation(step).map(Step::Read),
            "write" => self.operation(step).map(Step::Write),
            "mark" => self.mark(step),
            "ticket" => self.ticket(step),
            "effect" => effect(sink, step),
            "reap" => self.reap(step),
            "sleep" => step.value(sink, "a duration", span).map(Step::Sleep),
            "at" => {
                let at = step.value(sink, "an instant of the run", duration)?;
                self.wait_for(step, Wanted::At(step.node?.site, at))
            }
            "until" => {
                let milestone = step.value(sink, "a milestone", |_, node| Some(node))?;
                self.wait_for(step, Wanted::Milestone(milestone))
            }
            "hold" => step.bare(sink, Step::Hold),
            _ => self.repeat(step),
        }
    }

    fn acquire(&self, fields: &mut Fields<'t>) -> Option<Step> {
        let supported = fields.not_yet(&["nodes", "quorum"]);
        let lock = fields.or("key", LOCK, |sink, node| name(sink, node, "a lock"));
        let handle = fields.maybe("as", |sink, node| name(sink, node, "a handle"));
        let wait = fields.maybe("wait", duration);
        let mode = fields.or("mode", Mode::Exclusive, |sink, node| {
            let mode = one_of(sink, node, "a mode", &MODES)?;
            if mode == Mode::Shared && self.around.lock.is_some_and(|lock| !lock.can_be_shared()) {
                sink.error(node.site, "only one client at a time can have this lock");
                return None;
            }
            Some(mode)
        });
        let (lock, handle, mode) = (lock?, handle?, mode?);
        supported.and(wait).map(|wait| Step::Acquire { lock, handle: handle.unwrap_or(lock), wait, mode })
    }

    fn extend(&self, step: Choice<'t>) -> Option<Step> {
        if self.around.lock.is_some_and(|lock| !lock.can_be_extended()) {
            let message = "this lock has no lease that its holder could extend";
            self.sink.error(step.site, message);
            return None;
        }
        step.table(self.sink, |fields| {
            let (handle, by) = (self.handle(fields), fields.maybe("by", duration));
            Some(Step::Extend { handle: handle?, by: by? })
        })
    }

    fn release(&self, fields: &mut Fields<'t>) -> Option<Step> {
        let handle = self.handle(fields);
        let timeout = fields.maybe("timeout", positive);
        let on_error = fields
            .or("on-error", OnError::default(), |sink, node| one_of(sink, node, "what follows an error", &ON_ERROR));
        let working = fields.or("work", Working::default(), |sink, node| one_of(sink, node, "the work", &WORKING));
        let how = GivingBack { timeout: timeout?, on_error: on_error?, working: working? };
        Some(Step::Release { handle: handle?, how })
    }

    fn reap(&self, step: Choice<'t>) -> Option<Step> {
        let sink = self.sink;
        if self.around.lock.is_some_and(|lock| !lock.can_be_reaped()) {
            sink.error(step.site, "nobody can take this lock away from its owner");
            return None;
        }
        step.table(sink, |fields| {
            let lock = fields.or("key", LOCK, |sink, node| name(sink, node, "a lock"));
            let unless = fields.maybe("unless", |sink, node| name(sink, node, "a lock"));
            let compare =
                fields.need("compare", |sink, node| one_of(sink, node, "what a lock is compared by", &COMPARE));
            Some(Step::Reap { lock: lock?, how: Reaping { unless: unless?, compare: compare? } })
        })
    }

    /// The handle that a step says, or the only one that there is.
    fn handle(&self, fields: &mut Fields<'t>) -> Option<Handle> {
        let sink = self.sink;
        let known = || self.handles.iter().map(|handle| handle.as_str());
        if let Some(entry) = fields.get("as") {
            let handle = name(sink, &entry.node, "a handle")?;
            if !self.handles.contains(&handle) && self.all_known {
                let message = format!("no `acquire` before this one is called `{handle}`");
                no_such_name(sink, entry.node.site, &message, &handle, known());
                return None;
            }
            return Some(handle);
        }
        match self.handles.as_slice() {
            [only] => Some(*only),
            // It is the handle of an `acquire` that could not be read.
            [] => None,
            [first, ..] => {
                let names: Vec<_> = known().collect();
                let message = format!("which lock is meant? This script has acquired {}", names.join(", "));
                sink.error_with(fields.site, message, Some(format!("say `as = \"{first}\"`")));
                None
            }
        }
    }

    fn wait_for(&mut self, step: Choice<'t>, moment: Wanted<'t>) -> Option<Step> {
        self.cues.want(self.sink, step.site, moment).map(Step::Await)
    }

    fn repeat(&mut self, step: Choice<'t>) -> Option<Step> {
        step.table(self.sink, |fields| {
            let count = fields.need("times", times);
            let steps = fields.need("do", |_, node| self.steps(node));
            Some(Step::Repeat { times: count?, steps: steps? })
        })
    }

    /// `"read"`, `{ read = "x" }` or `{ read = { object = "x", takes = "5ms" } }`.
    fn operation(&self, step: Choice<'t>) -> Option<Use> {
        let named = |sink, node| object_name(sink, node).map(|object| (object, node.site));
        let ((object, site), takes) = match step.node {
            Some(node @ Node { value: Value::Text(_), .. }) => (named(self.sink, node)?, Use::NO_TIME),
            _ => step.table(self.sink, |fields| {
                let named = fields.or("object", (OBJECT, step.site), named);
                let takes = fields.or("takes", Use::NO_TIME, work);
                Some((named?, takes?))
            })?,
        };
        has(self.sink, self.around.resource, site, object).then_some(Use { object, takes })
    }

    /// `"ticket"` or `{ ticket = "x" }`: to draw a number takes the resource no time.
    fn ticket(&self, step: Choice<'t>) -> Option<Step> {
        let about = self.operation(step)?;
        if about.takes != Use::NO_TIME {
            self.sink.error(step.site, "to draw a number takes the resource no time: leave out `takes`");
            return None;
        }
        Some(Step::Ticket(about))
    }

    fn mark(&self, step: Choice<'t>) -> Option<Step> {
        let guard = self.around.resource.map(|resource| resource.guard);
        if let Some(guard) = guard.filter(|guard| !guard.takes_marks()) {
            let message = format!("`mark` cannot apply: the resource's check `{}` knows no marks", guard.name());
            self.sink.error(step.site, message);
            return None;
        }
        self.operation(step).map(Step::Mark)
    }
}

/// Reads `"charge"` or `{ name = "charge", key = 17, takes = "5ms" }`.
fn effect<'t>(sink: &'t Sink, step: Choice<'t>) -> Option<Step> {
    let named = |sink, node| name(sink, node, "an effect");
    if let Some(node @ Node { value: Value::Text(_), .. }) = step.node {
        return named(sink, node).map(|effect| Step::Effect { about: Use::of(effect), key: None });
    }
    step.table(sink, |fields| {
        let effect = fields.need("name", named);
        let key = fields.maybe("key", |sink, node| integer(sink, node, "a key is a whole number", 1, u32::MAX));
        let takes = fields.or("takes", Use::NO_TIME, work);
        let key = key?.and_then(NonZeroU32::new).map(Key);
        Some(Step::Effect { about: Use { object: effect?, takes: takes? }, key })
    })
}

/// Whether the resource has that object.
fn has(sink: &Sink, resource: Option<&Resource>, site: Site, object: ObjectName) -> bool {
    let Some(objects) = resource.and_then(|resource| resource.objects.as_deref()) else { return true };
    if objects.contains(&object) {
        return true;
    }
    let names = objects.iter().map(ObjectName::as_str);
    no_such_name(sink, site, &format!("the resource has no object `{object}`"), &object, names);
    false
}

/// Reads how long an operation takes the resource.
fn work(sink: &Sink, node: &Node) -> Option<Span> {
    let takes = span(sink, node)?;
    if takes.longest().is_some_and(|longest| longest > Work::LONGEST.length()) {
        let longest = show(Work::LONGEST.length());
        sink.error(node.site, format!("an operation takes at most {longest}, a little more than 71 min"));
        return None;
    }
    Some(takes)
}

/// Reads the name of an object.
pub(super) fn object_name(sink: &Sink, node: &Node) -> Option<ObjectName> {
    name(sink, node, "an object")
}

/// Reads a name of a script's own; `what` is what it names, with an article.
fn name(sink: &Sink, node: &Node, what: &str) -> Option<Name> {
    let Some(name) = node.as_text() else { return wrong_type(sink, node, &format!("{what} is named by a string")) };
    if !is_name(name) {
        sink.error(node.site, format!("`{name}` is no name for {what}: letters, digits, `-` and `_`"));
        return None;
    }
    Some(name.into())
}
