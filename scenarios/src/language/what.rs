//! What goes wrong: the first third of a fault.
//!
//! | group | written as |
//! |---|---|
//! | processes and machines | `pause = NODES`, `machine-sleep`, `vm-stop`, `kill`, `shutdown`, `power-off` |
//! | a backup | `restore = { node, as-of }`: see [`inside`](super::inside) |
//! | a caller | `cancel = NODES`: its acquire is abandoned |
//! | part of a process | `stall = { node, part }` or `stall = "A/renewal"`, `throttle = { node, run, stop }` |
//! | clocks | `step-clock = { node, by }`, `clock-rate = { node, ppm }` |
//! | inside a service | `disk`, `evict`, `promote`: see [`inside`](super::inside) |
//! | links | `cut`, `slow`, `reset`, `half-open`: see [`link`](super::link) |
//! | one message | `drop`, `delay`: see [`message`](super::message) |
//!
//! Only clocks that are read can go wrong: those of a lock server on which a lease expires, and of a client that
//! which it counts its lease, of which only the wall clock steps. The resource reads no clock.

use host::{Clock, Part};
use models::lock::Lock;

use super::error::Sink;
use super::inside::{disk, evict, promote, restore};
use super::link::{cut, half_open, reset, slow};
use super::message::{delay, drop};
use super::nodes::{Kind as NodeKind, Roles};
use super::reader::{Fields, table, unknown_word, wrong_type};
use super::tree::{Entry, Node, Site, Value};
use super::uses::Uses;
use super::value::{positive, ppm, signed};
use super::when::{Length, World};
use crate::cell::{NodeRef, What};

/// A kind of *what*.
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) length: Length,
}

/// All of them, in the order of documentation.
pub(super) const WHATS: [Kind; 21] = [
    Kind { name: "pause", length: Length::Positive },
    Kind { name: "machine-sleep", length: Length::Positive },
    Kind { name: "vm-stop", length: Length::Positive },
    Kind { name: "kill", length: Length::Any },
    Kind { name: "shutdown", length: Length::Any },
    Kind { name: "power-off", length: Length::Any },
    Kind { name: "restore", length: Length::Any },
    Kind { name: "cancel", length: Length::None },
    Kind { name: "stall", length: Length::Positive },
    Kind { name: "throttle", length: Length::Positive },
    Kind { name: "step-clock", length: Length::None },
    Kind { name: "clock-rate", length: Length::Positive },
    Kind { name: "disk", length: Length::Positive },
    Kind { name: "evict", length: Length::None },
    Kind { name: "promote", length: Length::None },
    Kind { name: "cut", length: Length::Positive },
    Kind { name: "slow", length: Length::Positive },
    Kind { name: "reset", length: Length::None },
    Kind { name: "half-open", length: Length::None },
    Kind { name: "drop", length: Length::Matching },
    Kind { name: "delay", length: Length::Matching },
];

/// Reads what is below the name of a kind.
pub(super) fn what(sink: &Sink, kind: &str, entry: &Entry, world: &World, roles: Roles) -> Option<What> {
    let node = &entry.node;
    let nodes = || world.names.several_or_any(sink, node, roles);
    match kind {
        "pause" => nodes().map(What::Pause),
        "machine-sleep" => nodes().map(What::MachineSleep),
        "vm-stop" => nodes().map(What::VmStop),
        "kill" => nodes().map(What::Kill),
        "shutdown" => nodes().map(What::Shutdown),
        "power-off" => nodes().map(What::PowerOff),
        "restore" => table(sink, node, "a restore", |fields| restore(fields, world, roles)),
        "cancel" => cancel(sink, node, world, roles),
        "stall" => stall(sink, node, world, roles),
        "throttle" => table(sink, node, "a throttle", |fields| throttle(fields, world, roles)),
        "step-clock" => table(sink, node, "a clock step", |fields| step_clock(fields, world, roles)),
        "clock-rate" => table(sink, node, "a clock rate", |fields| clock_rate(fields, world, roles)),
        "disk" => table(sink, node, "a disk", |fields| disk(fields, world, roles)),
        "evict" => table(sink, node, "an eviction", |fields| evict(fields, world, roles)),
        "promote" => promote(sink, node, world, roles),
        "cut" => table(sink, node, "a cut", |fields| cut(fields, world, roles)),
        "slow" => table(sink, node, "a slow link", |fields| slow(fields, world, roles)),
        "reset" => table(sink, node, "a reset", |fields| reset(fields, world, roles)),
        "half-open" => table(sink, node, "a half-open connection", |fields| half_open(fields, world, roles)),
        "drop" => table(sink, node, "a dropped message", |fields| drop(fields, world, roles)),
        "delay" => table(sink, node, "a delayed message", |fields| delay(fields, world, roles)),
        other => unreachable!("no reader for the fault `{other}`"),
    }
}

fn cancel(sink: &Sink, node: &Node, world: &World, roles: Roles) -> Option<What> {
    let nodes = world.names.several(sink, node, roles)?;
    for of in &nodes {
        let why = match world.names.kind(of) {
            NodeKind::Server | NodeKind::Resource => "a server waits for nothing that could be abandoned",
            NodeKind::Client if !world.uses(of).acquire => "this client never acquires a lock",
            NodeKind::Client => continue,
        };
        sink.error(node.site, format!("this can never apply: {why}"));
        return None;
    }
    Some(What::Cancel(nodes))
}

fn stall(sink: &Sink, node: &Node, world: &World, roles: Roles) -> Option<What> {
    let Some(word) = node.as_text() else {
        return table(sink, node, "a stall", |fields| {
            let of = fields.need("node", |sink, node| world.names.one(sink, node, roles));
            let part = fields.need("part", |sink, node| {
                node.as_text()
                    .or_else(|| wrong_type(sink, node, "a part is named by a string"))
                    .map(|part| (part, node.site))
            });
            let (of, (part, site)) = (of?, part?);
            let part = part_of(sink, site, &of, part, world)?;
            Some(What::Stall { node: of, part })
        });
    };
    let Some((of, part)) = word.split_once('/') else {
        sink.error_with(
            node.site,
            "a stall acts on a part of a process",
            Some(format!("name it, as in `{word}/{}`", Part::WORKER.0)),
        );
        return None;
    };
    let of = Node { site: node.site, value: Value::Text(of.to_owned()) };
    let of = world.names.one(sink, &of, roles)?;
    let part = part_of(sink, node.site, &of, part, world)?;
    Some(What::Stall { node: of, part })
}

/// The part of that name, if the node's process has it.
fn part_of(sink: &Sink, site: Site, node: &NodeRef, name: &str, world: &World) -> Option<Part> {
    let renews = world.meant(node).into_iter().any(|(_, lock)| lock.is_none_or(Lock::works_in_background));
    let parts: &[Part] = match world.names.kind(node) {
        NodeKind::Client if renews => &[Part::WORKER, Part::RENEWAL],
        NodeKind::Client => &[Part::WORKER],
        NodeKind::Server | NodeKind::Resource => &[Part::REQUESTS],
    };
    if let Some(part) = parts.iter().find(|part| part.0 == name) {
        return Some(*part);
    }
    if name == Part::RENEWAL.0 && world.names.kind(node) == NodeKind::Client {
        sink.error(site, "this lock does not renew in the background, so there is no part `renewal`");
        return None;
    }
    let names: Vec<_> = parts.iter().map(|part| part.0).collect();
    unknown_word(sink, site, "a part of this process", name, &names)
}

fn throttle(fields: &mut Fields<'_>, world: &World, roles: Roles) -> Option<What> {
    let node = fields.need("node", |sink, node| world.names.one(sink, node, roles));
    let (run, stop) = (fields.need("run", positive), fields.need("stop", positive));
    Some(What::Throttle { node: node?, run: run?, stop: stop? })
}

fn step_clock(fields: &mut Fields<'_>, world: &World, roles: Roles) -> Option<What> {
    let node = fields.need("node", |sink, node| {
        let nodes = world.names.several(sink, node, roles)?;
        applies(sink, node.site, &nodes, |node| step_is_idle(node, world))?;
        Some(nodes)
    });
    let by = fields.need("by", |sink, node| {
        let by = signed(sink, node)?;
        if by == 0 {
            sink.error(node.site, "a step of nothing is no step");
            return None;
        }
        Some(by)
    });
    Some(What::StepClock { node: node?, by: by? })
}

fn clock_rate(fields: &mut Fields<'_>, world: &World, roles: Roles) -> Option<What> {
    let node = fields.need("node", |sink, node| {
        let nodes = world.names.several(sink, node, roles)?;
        applies(sink, node.site, &nodes, |node| timing_is_idle(node, world))?;
        Some(nodes)
    });
    let rate = fields.need("ppm", ppm);
    Some(What::ClockRate { node: node?, rate: rate? })
}

/// Whether none of these nodes is idle in that way.
fn applies(sink: &Sink, site: Site, nodes: &[NodeRef], idle: impl Fn(&NodeRef) -> Option<&'static str>) -> Option<()> {
    if let Some(why) = nodes.iter().find_map(idle) {
        sink.error(site, format!("this can never apply: {why}"));
        return None;
    }
    Some(())
}

/// Why nothing on this node is counted on the wall clock, if nothing is.
pub(super) fn step_is_idle(node: &NodeRef, world: &World) -> Option<&'static str> {
    if world.names.kind(node) != NodeKind::Client {
        return timing_is_idle(node, world);
    }
    let meant = world.meant(node);
    let counts_on =
        |clock| move |(_, lock): &(Uses, Option<&Lock>)| lock.is_none_or(|lock| lock.lease_clock() == clock);
    let reads_others =
        |(_, lock): &(Uses, Option<&Lock>)| lock.is_some_and(|lock| lock.counted_by_rivals_on() == Some(Clock::Wall));
    if meant.iter().any(counts_on(Clock::Wall)) || meant.iter().any(reads_others) {
        return timing_is_idle(node, world);
    }
    // Who has no lease counts its own timeouts, and those as everybody does.
    let has_none = |(_, lock): &(Uses, Option<&Lock>)| lock.is_some_and(Lock::is_on_a_connection);
    if meant.iter().all(has_none) {
        return Some(
            "this lock has no lease, and a client counts its timeouts on its monotonic clock, which never steps",
        );
    }
    Some(if meant.iter().all(counts_on(Clock::Boottime)) {
        "a client counts its lease on its boot-time clock, which never steps"
    } else {
        "a client counts its lease on its monotonic clock, which never steps"
    })
}

/// Why nothing on this node is counted on any clock, if nothing is.
pub(super) fn timing_is_idle(node: &NodeRef, world: &World) -> Option<&'static str> {
    let has_queue = |lock: &Lock| vec![lock.is_on_a_connection()];
    let reads_no_server = |lock: &Lock| vec![lock.is_in_rows_of_clients()];
    match world.names.kind(node) {
        NodeKind::Resource => Some("the resource reads no clock"),
        NodeKind::Client => None,
        // Whoever waits in a server's queue has timeouts there.
        NodeKind::Server if world.of_locks(has_queue).contains(&true) => None,
        NodeKind::Server if world.ttl == Some(None) => {
            Some("nothing expires on this lock's servers: `ttl` is \"none\"")
        }
        NodeKind::Server if world.of_locks(reads_no_server) == [true] => {
            Some("this lock's leases are counted by its clients alone: no server reads a clock for them")
        }
        NodeKind::Server => None,
    }
}
