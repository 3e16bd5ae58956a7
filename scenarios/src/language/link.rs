//! Faults of links: `cut`, `slow`, `reset`, `half-open`.
//!
//! `between = [X, Y]` is both ways between any of X and any of Y, `{ from, to }` one way. Clients talk
//! to lock servers and to the resource, and servers that replicate or watch to each other; a link fault that spans no
//! such pair can never apply, and is refused. `half-open = { forgets = X, believes = Y }`: connections between
//! them are reset for X alone.

use models::lock::ServerKind;

use super::error::Sink;
use super::nodes::{Kind, Roles};
use super::reader::{Fields, word, wrong_type};
use super::tree::{Entry, Node, Site};
use super::uses::Uses;
use super::value::span;
use super::when::World;
use crate::cell::{Held, Link, NodeRef, What};

pub(super) fn cut(fields: &mut Fields<'_>, world: &World, roles: Roles) -> Option<What> {
    let link = link(fields, world, roles);
    let held = fields.or("held", Held::default(), |sink, node| {
        match word(sink, node, "what becomes of held bytes", &["dropped", "linger"])? {
            "linger" => Some(Held::Linger),
            _ => Some(Held::Dropped),
        }
    });
    Some(What::Cut { link: link?, held: held? })
}

pub(super) fn slow(fields: &mut Fields<'_>, world: &World, roles: Roles) -> Option<What> {
    let link = link(fields, world, roles);
    let by = fields.need("by", span);
    Some(What::Slow { link: link?, by: by? })
}

pub(super) fn reset(fields: &mut Fields<'_>, world: &World, roles: Roles) -> Option<What> {
    let site = fields.site;
    let (one, other) = fields.need("between", |sink, node| between(sink, node, world, roles))?;
    carries(fields.sink, site, &one, &other, world)?;
    Some(What::Reset(Link::Between(one, other)))
}

pub(super) fn half_open(fields: &mut Fields<'_>, world: &World, roles: Roles) -> Option<What> {
    let (sink, site) = (fields.sink, fields.site);
    let nodes = |sink: &Sink, node: &Node| world.names.several(sink, node, roles);
    let (forgets, believes) = (fields.need("forgets", nodes), fields.need("believes", nodes));
    let (forgets, believes) = (forgets?, believes?);
    carries(sink, site, &forgets, &believes, world)?;
    Some(What::HalfOpen { forgets, believes })
}

/// Reads `between`, or `from` and `to`.
fn link(fields: &mut Fields<'_>, world: &World, roles: Roles) -> Option<Link> {
    let (sink, site) = (fields.sink, fields.site);
    let both = fields.get("between").map(|entry| between(sink, &entry.node, world, roles));
    let (from_entry, to_entry) = (fields.get("from"), fields.get("to"));
    let nodes = |entry: &Entry| world.names.several(sink, &entry.node, roles);
    let (from, to) = (from_entry.map(nodes), to_entry.map(nodes));
    match (both, from, to) {
        (Some(both), None, None) => {
            let (one, other) = both?;
            carries(sink, site, &one, &other, world)?;
            Some(Link::Between(one, other))
        }
        (None, Some(from), Some(to)) => {
            let (from, to) = (from?, to?);
            carries(sink, site, &from, &to, world)?;
            Some(Link::OneWay { from, to })
        }
        (Some(_), ..) => {
            let way = from_entry.or(to_entry).map_or(site, |entry| entry.site);
            sink.error(way, "a link is `between` two sides, or goes `from` one `to` the other");
            None
        }
        (None, ..) if fields.misspelt(&["between", "from", "to"]) => None,
        (None, ..) => {
            sink.error(site, "a link is missing: `between = [X, Y]`, or `from` and `to`");
            None
        }
    }
}

fn between(sink: &Sink, node: &Node, world: &World, roles: Roles) -> Option<(Vec<NodeRef>, Vec<NodeRef>)> {
    let Some([one, other]) = node.as_list() else {
        return wrong_type(sink, node, "`between` is a list of two sides");
    };
    let (one, other) = (world.names.several(sink, one, roles), world.names.several(sink, other, roles));
    Some((one?, other?))
}

/// Whether anything ever passes between the two sides.
fn carries(sink: &Sink, site: Site, one: &[NodeRef], other: &[NodeRef], world: &World) -> Option<()> {
    let mut pairs = one.iter().flat_map(|a| other.iter().map(move |b| (a, b)));
    if pairs.any(|(a, b)| talk(a, b, world) || talk(b, a, world)) {
        return Some(());
    }
    sink.error(site, "this can never apply: nothing passes between these nodes");
    None
}

/// Whether the client `a`, or a server that is a client of others, sends anything to `b`.
fn talk(a: &NodeRef, b: &NodeRef, world: &World) -> bool {
    let talks = |node| world.names.server_kind(node).is_some_and(ServerKind::talks);
    if talks(a) && talks(b) {
        return true;
    }
    if world.names.kind(a) != Kind::Client {
        return false;
    }
    let uses = world.uses(a);
    match world.names.kind(b) {
        Kind::Client => false,
        Kind::Server => Uses { read: false, write: false, ..uses } != Uses::default(),
        Kind::Resource => uses.resource(),
    }
}
