//! The steps of a client's script: `do = ["acquire", { sleep = "50ms" }, "write", "release"]`.
//!
//! A step is a word, or a table with one key; the word is short for its empty table. `check`,
//! `extend`, `release` and `hold` act on a lock, so an `acquire` stands somewhere before them.
//! Instants and milestones for which a script waits become *cues*; they are resolved when all clients
//! are known.

use host::{Cue, Duration};
use models::script::Step;
use spec::ObjectName;

use super::error::Sink;
use super::reader::{Choice, choice, list, wrong_type};
use super::tree::{Node, Site, Value};
use super::value::{duration, is_name, positive, span, times};

/// The object that `"read"` and `"write"` mean.
const OBJECT: &str = "object";

const STEPS: [&str; 11] =
    ["acquire", "check", "extend", "release", "read", "write", "sleep", "at", "until", "hold", "repeat"];
/// Steps of the language that nothing can play yet.
const NOT_YET: [&str; 8] = ["mark", "take", "claim", "effect", "statement", "begin", "commit", "reap"];

/// The moments for which scripts wait, in the order of their numbers.
#[derive(Default)]
pub(super) struct Cues<'t> {
    pub(super) wanted: Vec<Wanted<'t>>,
}

/// One such moment, as it is written.
pub(super) enum Wanted<'t> {
    At(Site, Duration),
    Milestone(&'t Node),
}

/// Reads a script. `None` if any step is wrong: then nobody knows what the client does.
pub(super) fn steps<'t>(sink: &'t Sink, node: &'t Node, cues: &mut Cues<'t>) -> Option<Vec<Step>> {
    Reader { sink, cues, acquired: false }.steps(node)
}

/// The script of a client that has none: take the lock, read, work, write, give it back.
pub(super) fn default_steps() -> Vec<Step> {
    vec![
        Step::Acquire { wait: None },
        Step::Read { object: OBJECT.into() },
        Step::Sleep(host::Span::Fixed(Duration::from_millis(50))),
        Step::Write { object: OBJECT.into() },
        Step::Release,
    ]
}

struct Reader<'t, 'c> {
    sink: &'t Sink,
    cues: &'c mut Cues<'t>,
    acquired: bool,
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
            self.acquired = true;
            return None;
        };
        let acts_on_lock = matches!(step.name, "check" | "extend" | "release" | "hold");
        if acts_on_lock && !self.acquired {
            sink.error(step.site, format!("`{}` has no lock to act on: no `acquire` stands before it", step.name));
        }
        self.of_choice(step).filter(|_| !acts_on_lock || self.acquired)
    }

    fn of_choice(&mut self, step: Choice<'t>) -> Option<Step> {
        let sink = self.sink;
        match step.name {
            "acquire" => {
                self.acquired = true;
                acquire(sink, step)
            }
            "check" => step.bare(sink, Step::Check),
            "extend" => extend(sink, step),
            "release" => release(sink, step),
            "read" => object(sink, step).map(|object| Step::Read { object }),
            "write" => object(sink, step).map(|object| Step::Write { object }),
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

    fn wait_for(&mut self, step: Choice<'t>, moment: Wanted<'t>) -> Option<Step> {
        let Ok(number) = u16::try_from(self.cues.wanted.len()) else {
            self.sink.error(step.site, "the scripts of one cell wait at most 65,536 times");
            return None;
        };
        self.cues.wanted.push(moment);
        Some(Step::Await(Cue(number)))
    }

    fn repeat(&mut self, step: Choice<'t>) -> Option<Step> {
        step.table(self.sink, |fields| {
            let count = fields.need("times", times);
            let steps = fields.need("do", |_, node| self.steps(node));
            Some(Step::Repeat { times: count?, steps: steps? })
        })
    }
}

fn acquire<'t>(sink: &'t Sink, step: Choice<'t>) -> Option<Step> {
    step.table(sink, |fields| {
        let supported = fields.not_yet(&["key", "as", "nodes", "quorum"]);
        let wait = fields.maybe("wait", duration)?;
        supported.map(|()| Step::Acquire { wait })
    })
}

fn extend<'t>(sink: &'t Sink, step: Choice<'t>) -> Option<Step> {
    step.table(sink, |fields| {
        let supported = fields.not_yet(&["as"]);
        let by = fields.maybe("by", positive)?;
        supported.map(|()| Step::Extend { by })
    })
}

fn release<'t>(sink: &'t Sink, step: Choice<'t>) -> Option<Step> {
    step.table(sink, |fields| fields.not_yet(&["as", "timeout", "on-error"]).map(|()| Step::Release))
}

/// `"read"`, `{ read = "x" }` or `{ read = { object = "x" } }`.
fn object<'t>(sink: &'t Sink, step: Choice<'t>) -> Option<ObjectName> {
    match step.node {
        Some(node @ Node { value: Value::Text(_), .. }) => object_name(sink, node),
        _ => step.table(sink, |fields| {
            let supported = fields.not_yet(&["from", "to"]);
            let object = fields.or("object", OBJECT.into(), object_name)?;
            supported.map(|()| object)
        }),
    }
}

fn object_name(sink: &Sink, node: &Node) -> Option<ObjectName> {
    let Some(name) = node.as_text() else { return wrong_type(sink, node, "an object is named by a string") };
    if !is_name(name) {
        sink.error(node.site, format!("`{name}` is no name for an object: letters, digits, `-` and `_`"));
        return None;
    }
    Some(name.into())
}
