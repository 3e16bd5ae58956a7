//! Faults of one message: `drop` and `delay`.
//!
//! `{ request | reply | push = OPERATION, of, server, nth = 1 | "every" }`: the nth such request that one of
//! the clients `of` (default: all) sends, or the reply to it, or what it is told without having asked. An operation
//! that none of their scripts ever sends is refused, and so is a server that does not answer it.

use host::Operation;
use models::lock::{Lock, RESOURCE_OPERATIONS};

use super::error::Sink;
use super::nodes::{Kind, Roles};
use super::reader::{Fields, unknown_word, wrong_type};
use super::tree::{Entry, Node, Value};
use super::uses::is_resource_operation;
use super::value::{span, times};
use super::when::World;
use crate::cell::{Direction, MessageMatch, NodeRef, What};

pub(super) fn drop(fields: &mut Fields<'_>, world: &World, roles: Roles) -> Option<What> {
    message(fields, world, roles).map(What::Drop)
}

pub(super) fn delay(fields: &mut Fields<'_>, world: &World, roles: Roles) -> Option<What> {
    let message = message(fields, world, roles);
    let by = fields.need("by", span);
    Some(What::Delay { message: message?, by: by? })
}

fn message(fields: &mut Fields<'_>, world: &World, roles: Roles) -> Option<MessageMatch> {
    let sink = fields.sink;
    let directions = [("request", Direction::Request), ("reply", Direction::Reply), ("push", Direction::Push)];
    let present: Vec<_> =
        directions.into_iter().filter_map(|(key, way)| fields.get(key).map(|entry| (way, entry))).collect();
    let of = fields.or("of", world.names.clients(), |sink, node| clients(sink, node, world, roles));
    let server = fields.maybe("server", |sink, node| world.names.one(sink, node, roles).map(|server| (server, node)));
    let nth = fields.or("nth", Some(1), |sink, node| match &node.value {
        Value::Text(word) if word == "every" => Some(None),
        Value::Integer(_) => times(sink, node).map(Some),
        _ => wrong_type(sink, node, "`nth` is a whole number or \"every\""),
    });
    let (direction, entry) = match present.as_slice() {
        [(direction, entry)] => (*direction, *entry),
        [] if fields.misspelt(&["request", "reply", "push"]) => return None,
        [] => {
            sink.error(fields.site, "missing `request`, `reply` or `push`: which message is meant");
            return None;
        }
        [_, (_, second), ..] => {
            sink.error(second.site, "one message is a `request`, a `reply` or a `push`, and no two of them");
            return None;
        }
    };
    let operation = operation(sink, direction, entry, world);
    let (operation, of, server) = (operation?, of?, server?);
    meets(sink, entry, direction, operation, &of, world)?;
    let server = match server {
        Some((server, node)) => Some(answers(sink, node, server, operation, world)?),
        None => None,
    };
    Some(MessageMatch { direction, operation, of, server, nth: nth? })
}

fn clients(sink: &Sink, node: &Node, world: &World, roles: Roles) -> Option<Vec<NodeRef>> {
    let of = world.names.several(sink, node, roles)?;
    if of.iter().any(|node| world.names.kind(node) != Kind::Client) {
        sink.error(node.site, "messages are told apart by the client: `of` names clients");
        return None;
    }
    Some(of)
}

fn operation(sink: &Sink, direction: Direction, entry: &Entry, world: &World) -> Option<Operation> {
    let Some(name) = entry.node.as_text() else {
        return wrong_type(sink, &entry.node, "an operation is named by a string");
    };
    world.lock.as_ref()?;
    if direction == Direction::Push {
        let pushed = world.of_locks(|lock| lock.pushes().to_vec());
        if pushed.is_empty() {
            sink.error(entry.site, "this can never apply: no server of this lock pushes anything");
            return None;
        }
        let names: Vec<_> = pushed.iter().map(|operation| operation.0).collect();
        let known = pushed.iter().find(|operation| operation.0 == name).copied();
        return known.or_else(|| unknown_word(sink, entry.node.site, "what is pushed", name, &names));
    }
    let of_locks = world.of_locks(|lock| lock.facts().operations.to_vec());
    if let Some(operation) = of_locks.iter().chain(RESOURCE_OPERATIONS).find(|operation| operation.0 == name) {
        return Some(*operation);
    }
    // Meant is something that a lock does as it is set.
    let sent = world.of_locks(Lock::operations);
    let is_sent = |operation: &&Operation| sent.iter().any(|(sent, _)| sent == *operation);
    let names: Vec<_> =
        of_locks.iter().filter(is_sent).chain(RESOURCE_OPERATIONS).map(|operation| operation.0).collect();
    unknown_word(sink, entry.node.site, "an operation", name, &names)
}

/// Whether one of these clients ever sends such a request, or is told such a thing.
fn meets(
    sink: &Sink,
    entry: &Entry,
    direction: Direction,
    operation: Operation,
    of: &[NodeRef],
    world: &World,
) -> Option<()> {
    let mut clients = of.iter().flat_map(|client| world.meant(client));
    let is_pushed = |lock: Option<&Lock>| lock.is_none_or(|lock| lock.pushes().contains(&operation));
    let (met, verb) = if direction == Direction::Push {
        (clients.any(|(uses, lock)| uses.acquire && is_pushed(lock)), "is told")
    } else {
        (clients.any(|(uses, lock)| uses.sends(operation, lock)), "sends")
    };
    if met || of.is_empty() {
        return Some(());
    }
    sink.error(entry.node.site, format!("this can never apply: no such client ever {verb} `{}`", operation.0));
    None
}

/// Whether that server answers such requests.
fn answers(sink: &Sink, node: &Node, server: NodeRef, operation: Operation, world: &World) -> Option<NodeRef> {
    let wanted = if is_resource_operation(operation) { Kind::Resource } else { Kind::Server };
    if world.names.kind(&server) != wanted {
        sink.error(node.site, format!("this can never apply: `{}` is not asked for `{}`", node.label(), operation.0));
        return None;
    }
    Some(server)
}
