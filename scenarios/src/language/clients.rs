//! The clients of a cell: `[client.NAME]`.
//!
//! * `count` makes `NAME-1` and so on, all with the same script; at most fifty.
//! * `off = true` takes the client out of the cell; it keeps its name, so that naming it is told apart
//!   from a slip.
//! * `servers` is the client's own list of lock servers, in the order in which it asks them; all, by default.
//! * `thread.NAME.do` makes threads: they play their scripts side by side in one process.
//! * `arrivals` is an open load: each arrival is a round.
//! * A cell has at least one client, and at most 64 nodes.

use host::{Duration, Span};
use models::lock::Lock;
use models::script::{Growth, Retry, Rounds, Script, Step};
use spec::Policy;

use super::error::Sink;
use super::lock::{laid_over, lock, ttl};
use super::nodes::Names;
use super::reader::{Fields, choice, table, wrong_type};
use super::steps::{Cues, Wanted, default_steps, steps};
use super::tree::{Entry, Node, Site, Value};
use super::uses::Uses;
use super::value::{duration, integer, is_name, positive, span, times, truth};
use crate::cell::Resource;

/// The most clients of one table.
pub(super) const MOST_CLIENTS: u32 = 50;
/// The most nodes of one cell.
const MOST_NODES: usize = 64;

/// What the clients of a cell find around them. What could not be read is `None`.
#[derive(Clone, Copy)]
pub(super) struct Around<'w> {
    pub(super) call_timeout: Duration,
    pub(super) resource: Option<&'w Resource>,
    pub(super) lock: Option<&'w Lock>,
    /// The file's `lock`, as it is written.
    pub(super) lock_node: Option<&'w Node>,
    pub(super) ttl: Option<Option<Duration>>,
}

/// The clients of one table, all alike.
pub(super) struct Group {
    pub(super) names: Vec<String>,
    /// `None`: it could not be read.
    pub(super) script: Option<Script>,
    pub(super) uses: Uses,
    /// `None`: it could not be read.
    pub(super) lock: Option<Lock>,
    /// `None`: it could not be read.
    pub(super) ttl: Option<Option<Duration>>,
    /// The lock servers that it knows, if it does not know all. `None`: they could not be read.
    pub(super) servers: Option<Option<Vec<String>>>,
}

impl Group {
    /// Each client's lock.
    pub(super) fn locks(&self) -> impl Iterator<Item = (String, Lock)> {
        self.names.iter().cloned().zip(self.lock.iter().cycle().cloned())
    }
}

/// Reads all client tables of a file, and adds their clients to the cell's nodes.
pub(super) fn clients<'t>(
    fields: &mut Fields<'t>,
    around: Around<'_>,
    names: &mut Names,
    cues: &mut Cues<'t>,
) -> Vec<Group> {
    let sink = fields.sink;
    let entry = fields.get("client");
    let site = entry.map_or(fields.site, |entry| entry.site);
    let mut tables: Vec<&Entry> = match entry.map(|entry| &entry.node.value) {
        None => Vec::new(),
        Some(Value::Table(tables)) => tables.entries.iter().collect(),
        Some(_) => {
            names.miss_clients();
            return entry
                .and_then(|entry| wrong_type(sink, &entry.node, "`client` is a table of clients"))
                .unwrap_or_default();
        }
    };
    tables.sort_by(|a, b| a.key.cmp(&b.key));
    let groups: Vec<_> = tables.into_iter().filter_map(|entry| client(sink, entry, around, names, cues)).collect();
    if names.clients().is_empty() && names.knows_clients() {
        sink.error(site, "a cell has at least one client");
    }
    if names.len() > MOST_NODES {
        sink.error(site, format!("this cell has {} nodes, and {MOST_NODES} are the most", names.len()));
    }
    groups
}

/// Reads one client table; `None` if it is off or cannot be read at all.
fn client<'t>(
    sink: &'t Sink,
    entry: &'t Entry,
    around: Around<'_>,
    names: &mut Names,
    cues: &mut Cues<'t>,
) -> Option<Group> {
    let named = is_name(&entry.key);
    if !named {
        sink.error(entry.site, format!("`{}` is no name for a client: letters, digits, `-` and `_`", entry.key));
    }
    let waits = cues.wanted.len();
    let group = table(sink, &entry.node, "a client", |fields| Some(read(fields, entry, around, names, cues)));
    let Some((off, group)) = group else {
        names.miss_clients();
        return None;
    };
    if off {
        cues.wanted.truncate(waits);
    }
    (named && !off).then_some(group)
}

fn read<'t>(
    fields: &mut Fields<'t>,
    entry: &Entry,
    around: Around<'_>,
    names: &mut Names,
    cues: &mut Cues<'t>,
) -> (bool, Group) {
    let servers = fields.maybe("servers", |sink, node| names.known_servers(sink, node));
    let (own_lock, ttl) = own_lock(fields, around);
    let around = Around { lock: own_lock.as_ref(), ttl, ..around };
    let off = fields.or("off", false, truth);
    let count = fields
        .maybe("count", |sink, node| integer(sink, node, "`count` is a whole number of clients", 1, MOST_CLIENTS));
    let policy = fields.or("policy", Policy::Checked, policy);
    let rounds = how_many_rounds(fields, cues);
    let retry = fields.or("retry", Retry::DEFAULT, retry);
    let threads = threads(fields, entry.site, around, cues);
    let own = match count.filter(|_| is_name(&entry.key)) {
        Some(count) => names.add_clients(fields.sink, entry.site, &entry.key, count, off.unwrap_or(false)),
        None => {
            names.miss_clients();
            Vec::new()
        }
    };
    let uses = threads.as_deref().map_or(Uses::ANYTHING, |threads| Uses::of(threads.iter().flatten()));
    let script = match (threads, policy, rounds, retry) {
        (Some(threads), Some(policy), Some(rounds), Some(retry)) => {
            Some(Script { threads, policy, rounds, retry, call_timeout: around.call_timeout })
        }
        _ => None,
    };
    (off.unwrap_or(false), Group { names: own, script, uses, lock: own_lock, ttl, servers })
}

/// Reads `lock` and `ttl`, laid over the file's for this client only.
fn own_lock(fields: &mut Fields<'_>, around: Around<'_>) -> (Option<Lock>, Option<Option<Duration>>) {
    let (sink, own) = (fields.sink, fields.get("lock"));
    let ttl = fields.maybe("ttl", ttl).and_then(|own| own.map_or(around.ttl, Some));
    let (Some(file), Some(file_node)) = (around.lock, around.lock_node) else { return (None, ttl) };
    if own.is_none() && ttl == around.ttl {
        return (Some(file.clone()), ttl);
    }
    let guard = around.resource.map(|resource| resource.guard);
    let node = own.map_or_else(|| file_node.clone(), |own| laid_over(file_node, &own.node));
    let lock = lock(sink, &node, guard, ttl, around.call_timeout);
    let (site, servers) = (own.map_or(fields.site, |own| own.site), file.facts().service_name);
    let lock = lock.filter(|lock| {
        let fits = lock.facts().service_name == servers;
        if !fits {
            sink.error(site, "the servers of this client's lock are not those of the file's");
        }
        fits
    });
    (lock, ttl)
}

/// Reads `do`, or the `do` of each `thread`, in the order of their names.
fn threads<'t>(fields: &mut Fields<'t>, site: Site, around: Around<'_>, cues: &mut Cues<'t>) -> Option<Vec<Vec<Step>>> {
    let sink = fields.sink;
    let alone = fields.get("do").map(|script| (script.site, steps(sink, &script.node, around, cues)));
    let Some(threads) = fields.get("thread") else {
        let steps = alone.map_or_else(|| default_steps(sink, site, around.resource), |(_, steps)| steps)?;
        return Some(vec![steps]);
    };
    let Value::Table(tables) = &threads.node.value else {
        return wrong_type(sink, &threads.node, "`thread` is a table of threads");
    };
    let mut tables: Vec<_> = tables.entries.iter().collect();
    tables.sort_by(|a, b| a.key.cmp(&b.key));
    let mut thread = |entry: &'t Entry| {
        if !is_name(&entry.key) {
            sink.error(entry.site, format!("`{}` is no name for a thread: letters, digits, `-` and `_`", entry.key));
        }
        table(sink, &entry.node, "a thread", |fields| fields.need("do", |sink, node| steps(sink, node, around, cues)))
    };
    let threads: Vec<_> = tables.into_iter().map(&mut thread).collect();
    if let Some((site, _)) = alone {
        sink.error(site, "a client does this, or has threads that do something each");
        return None;
    }
    threads.into_iter().collect::<Option<Vec<_>>>().filter(|threads| !threads.is_empty())
}

/// Reads `rounds` or `arrivals`.
fn how_many_rounds<'t>(fields: &mut Fields<'t>, cues: &mut Cues<'t>) -> Option<Rounds> {
    let sink = fields.sink;
    let (rounds_entry, arrivals_entry) = (fields.get("rounds"), fields.get("arrivals"));
    let rounds = rounds_entry.map(|entry| rounds(sink, &entry.node));
    let arrivals = arrivals_entry.map(|entry| arrivals(sink, &entry.node, cues));
    match (rounds, arrivals, arrivals_entry) {
        (Some(_), Some(_), Some(entry)) => {
            sink.error(entry.site, "each arrival is a round: `rounds` and `arrivals` exclude each other");
            None
        }
        (Some(rounds), ..) => rounds,
        (None, Some(arrivals), _) => arrivals,
        (None, None, _) => Some(Rounds::Times(1)),
    }
}

fn arrivals<'t>(sink: &'t Sink, node: &'t Node, cues: &mut Cues<'t>) -> Option<Rounds> {
    table(sink, node, "`arrivals`", |fields| {
        let every = fields.need("every", |sink, node| {
            let every = span(sink, node)?;
            if every.longest() == Some(Duration::ZERO) {
                sink.error(node.site, "a duration of zero does nothing here");
                return None;
            }
            Some(every)
        });
        let until = fields.need("until", |sink, node| duration(sink, node).map(|until| (node.site, until)));
        let (every, (site, until)) = (every?, until?);
        let until = cues.want(sink, site, Wanted::At(site, until))?;
        Some(Rounds::Arrive { every, until })
    })
}

fn policy(sink: &Sink, node: &Node) -> Option<Policy> {
    let policy = choice(sink, node, "a policy", &["naive", "told", "checked", "at-checks", "margin"], &[])?;
    match policy.name {
        "naive" => policy.bare(sink, Policy::Naive),
        "told" => policy.bare(sink, Policy::WhenTold),
        "checked" => policy.bare(sink, Policy::Checked),
        "at-checks" => policy.bare(sink, Policy::AtChecks),
        _ => policy.value(sink, "a duration", duration).map(Policy::Margin),
    }
}

fn rounds(sink: &Sink, node: &Node) -> Option<Rounds> {
    match &node.value {
        Value::Text(word) if word == "forever" => Some(Rounds::Forever),
        Value::Integer(_) => times(sink, node).map(Rounds::Times),
        _ => wrong_type(sink, node, "`rounds` is a whole number or \"forever\""),
    }
}

fn retry(sink: &Sink, node: &Node) -> Option<Retry> {
    table(sink, node, "`retry`", |fields| {
        let delay = fields.or("delay", Retry::DEFAULT.delay, span);
        let times =
            fields.maybe("times", |sink, node| integer(sink, node, "a number of times is a whole number", 0, u32::MAX));
        let growth = growth(fields, delay);
        Some(Retry { delay: delay?, growth: growth?, times: times? })
    })
}

/// Reads `factor` and `cap` of a retry: both or neither.
fn growth(fields: &mut Fields<'_>, delay: Option<Span>) -> Option<Option<Growth>> {
    let sink = fields.sink;
    let (site, cap_entry) = (fields.get("factor").map(|entry| entry.site), fields.get("cap"));
    let factor = fields.maybe("factor", |sink, node| integer(sink, node, "a factor is a whole number", 2, 1_000));
    let Some(site) = site else {
        let Some(cap) = cap_entry else { return Some(None) };
        sink.error(cap.site, "`cap` bounds what `factor` makes grow, and there is no `factor`");
        return None;
    };
    let cap = fields.need("cap", |sink, node| {
        let cap = positive(sink, node)?;
        let longest = delay.and_then(|delay| delay.longest());
        if longest.is_some_and(|longest| longest > cap) {
            sink.error(node.site, "the first delay is longer than this");
            return None;
        }
        Some(cap)
    });
    if delay.is_some_and(|delay| delay.longest().is_none()) {
        sink.error(site, "an exponential delay has no longest that could grow to a cap");
        return None;
    }
    Some(Some(Growth { factor: factor??, cap: cap? }))
}
