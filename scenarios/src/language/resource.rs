//! The guarded resource of one cell: a check's name, or `{ check, act, max, barrier, objects }`.
//!
//! * `act`, `max` and `barrier` say how the check is applied; where there is nothing to apply, they are refused.
//! * A check that comes before the act makes a difference only where an operation takes time: without one that
//!   does, it is refused.
//! * `objects` lists what the resource has; then a step may name nothing else.

use models::guard::{Act, Guard, Manner, Max, Reach};
use models::lock::Lock;
use spec::ObjectName;

use super::clients::Group;
use super::error::Sink;
use super::reader::{Fields, list, table, word, wrong_type};
use super::steps::object_name;
use super::store::{OWNER_KEY, lives_in};
use super::tree::{Node, Value};
use super::uses::Uses;
use super::value::truth;
use crate::cell::Resource;
use crate::fencing::draws_first;

/// Reads `resource`.
pub(super) fn resource(sink: &Sink, node: &Node) -> Option<Resource> {
    match &node.value {
        Value::Text(_) => {
            let guard = guard(sink, node)?;
            if guard == Guard::OwnerKey {
                sink.error(node.site, OWNER_KEY);
                return None;
            }
            Some(Resource { guard, ..Resource::default() })
        }
        Value::Table(_) => table(sink, node, "the resource", |fields| {
            let supported = fields.not_yet(&["stock", "replicas", "merge"]);
            let guard = fields.or("check", Guard::default(), guard);
            let manner = manner(fields, guard);
            let objects = fields.maybe("objects", objects);
            let is_in_store = lives_in(fields, guard);
            let migrates = fields.or("migrates", false, truth);
            supported?;
            let (guard, manner, is_in_store) = (guard?, manner?, is_in_store?);
            Some(Resource { guard, manner, objects: objects?, is_in_store, migrates: migrates? })
        }),
        _ => wrong_type(sink, node, "the resource is a check's name or a table"),
    }
}

fn guard(sink: &Sink, node: &Node) -> Option<Guard> {
    let names = Guard::ALL.map(Guard::name);
    let name = word(sink, node, "the resource's check", &names)?;
    Guard::ALL.into_iter().find(|guard| guard.name() == name)
}

fn manner(fields: &mut Fields<'_>, guard: Option<Guard>) -> Option<Manner> {
    let act = fields.or("act", Act::default(), |sink, node| {
        let name = word(sink, node, "`act`", &Act::ALL.map(Act::name))?;
        Act::ALL.into_iter().find(|act| act.name() == name)
    });
    let max = fields.or("max", Max::default(), |sink, node| {
        let name = word(sink, node, "`max`", &Max::ALL.map(Max::name))?;
        Max::ALL.into_iter().find(|max| max.name() == name)
    });
    let barrier = fields.or("barrier", Reach::default(), |sink, node| {
        let name = word(sink, node, "`barrier`", &Reach::ALL.map(Reach::name))?;
        Reach::ALL.into_iter().find(|barrier| barrier.name() == name)
    });
    let guard = guard?;
    let mut applies = true;
    for (key, can_apply, why) in [
        ("act", guard.refuses(), "checks nothing"),
        ("max", guard.keeps_barrier(), "records no tokens"),
        ("barrier", guard.keeps_barrier(), "records no tokens"),
    ] {
        if let Some(entry) = fields.get(key).filter(|_| !can_apply) {
            fields.sink.error(entry.site, format!("`{key}` cannot apply: the check `{}` {why}", guard.name()));
            applies = false;
        }
    }
    if let (Some(Act::RecordThenAct), Some(entry), false) = (act, fields.get("act"), guard.keeps_barrier()) {
        let message = format!("`record-then-act` cannot apply: the check `{}` records no tokens", guard.name());
        fields.sink.error(entry.node.site, message);
        applies = false;
    }
    applies.then_some(())?;
    Some(Manner { act: act?, max: max?, barrier: barrier? })
}

fn objects(sink: &Sink, node: &Node) -> Option<Vec<ObjectName>> {
    let objects = list(sink, node, "`objects`", object_name)?;
    if objects.is_empty() {
        sink.error(node.site, "a resource has at least one object");
        return None;
    }
    Some(objects)
}

/// Makes sure that something can come between a check and what it allows, if the resource makes them apart.
pub(super) fn check_act(
    fields: &mut Fields<'_>,
    resource: &Resource,
    scripts: impl IntoIterator<Item = Uses>,
) -> Option<()> {
    if resource.manner.act == Act::Atomic || scripts.into_iter().any(|script| script.takes_time) {
        return Some(());
    }
    let act = fields.get("resource")?.node.as_table()?.get("act")?;
    let message = format!(
        "`{}` cannot apply: nothing takes the resource any time, as `{{ write = {{ takes = \"5ms\" }} }}` would",
        resource.manner.act.name()
    );
    fields.sink.error(act.node.site, message);
    None
}

/// Makes sure that operations carry a token where the resource orders them by it: if the lock gives none, each
/// client draws a number after every grant, before all else.
pub(super) fn check_tokens(fields: &mut Fields<'_>, lock: &Lock, resource: &Resource, groups: &[Group]) -> Option<()> {
    let draws = |group: &Group| {
        group.script.as_ref().is_none_or(|script| script.threads.iter().all(|steps| draws_first(steps)))
    };
    let has_token = |group: &Group| group.lock.as_ref().unwrap_or(lock).facts().has_token;
    if !resource.guard.orders_tokens() || groups.iter().all(|group| has_token(group) || draws(group)) {
        return Some(());
    }
    let lock = fields.get("lock")?;
    fields.sink.error(
        lock.node.site,
        "the resource orders operations by their tokens, and this lock gives none: each client draws a `ticket` first",
    );
    None
}
