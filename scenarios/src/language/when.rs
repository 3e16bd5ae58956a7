//! Moments and lengths: when a fault begins, how long it lasts, for what a script waits.
//!
//! * A fault begins `at` an instant (default `"0s"`; `{ from, to }` is drawn for each seed), `when` a milestone is reached, or `every` so
//!   often from `at` on, `times` times. At most one of them.
//! * How long a dead process stays so, a supervisor may count `on-clock`, one of its machine's; else it is true time.
//! * It lasts `for` a span, `until` an instant or a milestone, or to the end. An instant has no length,
//!   and what happens `every` so often has a length of its own each time.
//! * A milestone is `{ client, point, nth = 1, plus = "0s" }`; without `client`, the first to get there.
//! * What lies at or after the horizon never happens, and is refused; so is a point that no script
//!   reaches.

use host::{Clock, Cue, Duration, Point, Span};
use models::lock::{Lock, Service};
use models::script::points;
use spec::LockName;

use super::error::Sink;
use super::nodes::Names;
use super::reader::{Fields, one_of, table, unknown_word, wrong_type};
use super::steps::{Cues, Wanted};
use super::tree::{Node, Site, Value};
use super::uses::Uses;
use super::value::{duration, positive, range, show, span, times};
use crate::cell::{Lasts, Milestone, NodeRef, Resource, When};

/// What the moments and the faults of a cell are checked against. What could not be read is `None`,
/// and is no reason to find more wrong.
pub(super) struct World {
    pub(super) horizon: Option<Duration>,
    pub(super) ttl: Option<Option<Duration>>,
    pub(super) lock: Option<Lock>,
    pub(super) service: Option<Service>,
    pub(super) resource: Option<Resource>,
    pub(super) names: Names,
    /// The locks that clients ask for.
    pub(super) locks: Vec<LockName>,
    /// What each client's script can do.
    pub(super) uses: Vec<(String, Uses)>,
    /// The lock of each client.
    pub(super) client_locks: Vec<(String, Lock)>,
}

impl World {
    /// What the scripts of the clients that may be meant can do.
    pub(super) fn uses(&self, node: &NodeRef) -> Uses {
        self.meant(node).into_iter().fold(Uses::default(), |all, (uses, _)| all.and(uses))
    }

    /// The clients that may be meant: what the script of each can do, and its lock. The holder may be any client.
    pub(super) fn meant(&self, node: &NodeRef) -> Vec<(Uses, Option<&Lock>)> {
        let own = |(name, uses): &(String, Uses)| (*uses, self.lock_of(name));
        let those = |names: &[String]| self.uses.iter().filter(|(name, _)| names.contains(name)).map(own).collect();
        let unknown = (Uses::ANYTHING, self.lock.as_ref());
        match node {
            NodeRef::Holder if self.names.knows_clients() => self.uses.iter().map(own).collect(),
            NodeRef::Holder | NodeRef::Primary | NodeRef::Leader => vec![unknown],
            NodeRef::Any(names) => those(names),
            NodeRef::Named(name) => {
                let one = self.uses.iter().find(|(client, _)| client == name);
                vec![one.map_or(unknown, own)]
            }
        }
    }

    fn lock_of(&self, client: &str) -> Option<&Lock> {
        let own = self.client_locks.iter().find(|(name, _)| name == client);
        own.map(|(_, lock)| lock).or(self.lock.as_ref())
    }

    /// What the locks of the cell have of something, each once, in order; nothing if the file's could not be read.
    pub(super) fn of_locks<T: PartialEq>(&self, of: impl Fn(&Lock) -> Vec<T>) -> Vec<T> {
        let Some(lock) = &self.lock else { return Vec::new() };
        let locks = [lock].into_iter().chain(self.client_locks.iter().map(|(_, lock)| lock));
        let mut all = Vec::new();
        for one in locks.flat_map(of) {
            if !all.contains(&one) {
                all.push(one);
            }
        }
        all
    }

    /// Whether that client may come to that point; `None`: whether any may.
    fn reaches(&self, client: Option<&str>, point: Point) -> bool {
        let node = client.map_or(NodeRef::Holder, |name| NodeRef::Named(name.to_owned()));
        self.meant(&node).into_iter().any(|(uses, lock)| uses.reaches(point, lock, self.resource.as_ref()))
    }
}

/// The moments for which the scripts wait.
pub(super) fn cues(sink: &Sink, world: &World, cues: &Cues<'_>) -> Vec<(Cue, When)> {
    let moments = cues.wanted.iter().map(|wanted| match wanted {
        Wanted::At(site, at) => in_time(sink, *site, *at, world).map(When::At),
        Wanted::Milestone(node) => milestone(sink, node, world).map(When::Milestone),
    });
    let numbered = (0..).map(Cue).zip(moments);
    numbered.filter_map(|(cue, when)| when.map(|when| (cue, when))).collect()
}

/// Reads `at`, `when`, `every` and `times` of a fault.
pub(super) fn when(fields: &mut Fields<'_>, world: &World) -> Option<When> {
    let sink = fields.sink;
    let (at_entry, when_entry, every_entry) = (fields.get("at"), fields.get("when"), fields.get("every"));
    let times_entry = fields.get("times");
    let at = match at_entry {
        Some(entry) => at(sink, &entry.node, world),
        None => Some(When::At(Duration::ZERO)),
    };
    let every = every_entry.map(|entry| positive(sink, &entry.node));
    let count = times_entry.map(|entry| times(sink, &entry.node));
    let milestone = when_entry.map(|entry| milestone(sink, &entry.node, world));
    for (entry, other) in [(at_entry, "at"), (every_entry, "every")] {
        if let (Some(entry), Some(_)) = (entry, when_entry) {
            sink.error(entry.site, format!("a fault begins once: `{other}` and `when` exclude each other"));
            return None;
        }
    }
    if let (Some(entry), None) = (times_entry, every_entry) {
        sink.error(entry.site, "`times` says how often `every` strikes, and there is no `every`");
        return None;
    }
    match (milestone, every) {
        (Some(milestone), _) => milestone.map(When::Milestone),
        (None, Some(every)) => {
            let times = count.map_or(Some(None), |count| count.map(Some));
            let When::At(at) = at? else {
                sink.error(fields.site, "what happens `every` so often begins `at` one instant, which is not drawn");
                return None;
            };
            Some(When::Every { at, every: every?, times: times? })
        }
        (None, None) => at,
    }
}

/// Reads an instant, or a stretch from which one is drawn.
fn at(sink: &Sink, node: &Node, world: &World) -> Option<When> {
    let Value::Table(_) = node.value else {
        return duration(sink, node).and_then(|at| in_time(sink, node.site, at, world)).map(When::At);
    };
    let (from, to) = table(sink, node, "an instant that is drawn", range)?;
    in_time(sink, node.site, to, world)?;
    Some(When::Within { from, to })
}

/// What a kind of fault says about its length.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// It happens at one instant.
    None,
    /// It has a length, and none at all would be no fault.
    Positive,
    /// It has a length, and none at all is one too: a process that restarts at once has lost its memory.
    Any,
    /// It has a length in which it waits for its message; it may strike again before it has met one.
    Matching,
    /// It could not be read: whatever may be a length is one.
    Unknown,
}

/// Reads `for` and `until` of a fault of the kind `what`, which begins at `when`.
pub(super) fn lasts(
    fields: &mut Fields<'_>,
    what: &str,
    length: Length,
    when: Option<&When>,
    world: &World,
) -> Option<Lasts> {
    let sink = fields.sink;
    let (for_entry, until_entry) = (fields.get("for"), fields.get("until"));
    if length == Length::None {
        for entry in [for_entry, until_entry].into_iter().flatten() {
            sink.error(entry.site, format!("`{what}` is an instant: it has no length"));
        }
        return (for_entry.is_none() && until_entry.is_none()).then_some(Lasts::Instant);
    }
    let clock = on_clock(fields, what, length, for_entry.is_some());
    let recurs = matches!(when, Some(When::Every { .. }));
    let span = for_entry.map(|entry| lasting(sink, &entry.node, length));
    let end = until_entry.map(|entry| until(sink, &entry.node, when, world));
    match (span, end, until_entry) {
        (Some(_), _, Some(entry)) => {
            sink.error(entry.site, "a fault has one length: `for` and `until` exclude each other");
            None
        }
        (Some(span), ..) => match clock? {
            Some(clock) => span.map(|span| Lasts::By(clock, span)),
            None => span.map(Lasts::For),
        },
        (None, Some(_), Some(entry)) if recurs => {
            sink.error(entry.site, "what happens `every` so often lasts `for` some time, each time");
            None
        }
        (None, Some(end), _) => end.map(Lasts::Until),
        (None, None, _) if recurs && !matches!(length, Length::Matching | Length::Unknown) => {
            sink.error(
                fields.site,
                "what happens `every` so often lasts `for` some time; without, the first lasts to the end",
            );
            None
        }
        (None, None, _) => Some(Lasts::ToTheEnd),
    }
}

/// Reads the clock on which the machine counts how long its process stays dead, if it does.
fn on_clock(fields: &mut Fields<'_>, what: &str, length: Length, has_span: bool) -> Option<Option<Clock>> {
    let Some(entry) = fields.get("on-clock") else { return Some(None) };
    let sink = fields.sink;
    if !matches!(length, Length::Any | Length::Unknown) {
        let message = format!("`{what}` ends by itself: only the restart of a process is counted on a clock");
        sink.error(entry.site, message);
        return None;
    }
    if !has_span {
        sink.error(entry.site, "`on-clock` says how `for` is counted, and there is no `for`");
        return None;
    }
    one_of(sink, &entry.node, "a clock", &CLOCKS).map(Some)
}

/// A machine's clocks, by the words of switches.
pub(super) const CLOCKS: [(&str, Clock); 3] =
    [("monotonic", Clock::Monotonic), ("boottime", Clock::Boottime), ("wall", Clock::Wall)];

/// Reads how long a fault lasts.
fn lasting(sink: &Sink, node: &Node, length: Length) -> Option<Span> {
    let lasts = span(sink, node)?;
    if lasts == Span::Fixed(Duration::ZERO) && !matches!(length, Length::Any | Length::Unknown) {
        sink.error(node.site, "a fault that lasts no time does nothing");
        return None;
    }
    Some(lasts)
}

/// Reads an instant or a milestone at which a fault ends.
fn until(sink: &Sink, node: &Node, when: Option<&When>, world: &World) -> Option<When> {
    match node.value {
        Value::Text(_) => {
            let until = duration(sink, node)?;
            if let Some(When::At(at)) = when
                && until <= *at
            {
                sink.error(node.site, format!("this fault begins at {} and cannot end before", show(*at)));
                return None;
            }
            Some(When::At(until))
        }
        Value::Table(_) => milestone(sink, node, world).map(When::Milestone),
        _ => wrong_type(sink, node, "`until` is an instant or a milestone"),
    }
}

/// Reads `{ client, point, nth, plus }`.
fn milestone(sink: &Sink, node: &Node, world: &World) -> Option<Milestone> {
    table(sink, node, "a milestone", |fields| {
        let place = place(fields, world);
        let plus = fields.or("plus", Duration::ZERO, |sink, node| {
            duration(sink, node).and_then(|plus| in_time(sink, node.site, plus, world))
        });
        Some(Milestone { plus: plus?, ..place? })
    })
}

/// Reads `client`, `point` and `nth`: who comes where.
pub(super) fn place(fields: &mut Fields<'_>, world: &World) -> Option<Milestone> {
    let client = fields.maybe("client", |sink, node| world.names.client(sink, node));
    let point = fields.need("point", |sink, node| point(sink, node, world).map(|point| (point, node.site)));
    let nth = fields.or("nth", 1, times);
    let (client, (point, site)) = (client?, point?);
    reached(fields.sink, site, client.as_deref(), point, world)?;
    Some(Milestone { client, point, nth: nth?, plus: Duration::ZERO })
}

fn point(sink: &Sink, node: &Node, world: &World) -> Option<Point> {
    let Some(name) = node.as_text() else { return wrong_type(sink, node, "a point is named by a string") };
    let own = world.of_locks(|lock| lock.facts().points.to_vec());
    if let Some(point) = points::ALL.iter().chain(&own).find(|point| point.0 == name) {
        return Some(*point);
    }
    if world.lock.is_none() && name.contains(':') {
        // The lock that could not be read may have it.
        return None;
    }
    // Meant is one that a lock passes as it is set.
    let passed = world.of_locks(Lock::points);
    let is_passed = |point: &&Point| passed.iter().any(|(passed, _)| passed == *point);
    let names: Vec<_> = points::ALL.iter().chain(own.iter().filter(is_passed)).map(|point| point.0).collect();
    unknown_word(sink, node.site, "a point", name, &names)
}

fn reached(sink: &Sink, site: Site, client: Option<&str>, point: Point, world: &World) -> Option<()> {
    if world.reaches(client, point) {
        return Some(());
    }
    let who = client.map_or_else(|| "no client".to_owned(), |name| format!("client `{name}` never"));
    let verb = if client.is_some() { "reaches" } else { "ever reaches" };
    sink.error(site, format!("{who} {verb} the point `{}` in this cell", point.0));
    None
}

fn in_time(sink: &Sink, site: Site, at: Duration, world: &World) -> Option<Duration> {
    if let Some(horizon) = world.horizon
        && at >= horizon
    {
        sink.error(site, format!("this never happens: the run ends at {}", show(horizon)));
        return None;
    }
    Some(at)
}
