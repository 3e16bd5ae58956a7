//! How requests and answers are said.

use serde_json::Value as Json;

use super::super::answer::{Body, Event, EventKind, KeyValue, OpResponse, Push, Reply};
use super::super::api::{Compare, Delete, Op, Operand, Order, Put, Range, Relation, Rpc, SortBy, Txn, Watch};
use super::super::key::{Key, Keys, LeaseId, Revision};
use super::bounds;
use super::fields::Object;

pub(super) fn request(rpc: &Rpc) -> (&'static str, Json) {
    let lease = |id: &LeaseId| Object::default().number("ID", id.number());
    match rpc {
        Rpc::Range(of) => ("/v3/kv/range", range(of)),
        Rpc::Put(of) => ("/v3/kv/put", put(of)),
        Rpc::Delete(of) => ("/v3/kv/deleterange", delete(of)),
        Rpc::Txn(of) => ("/v3/kv/txn", txn(of)),
        Rpc::LeaseGrant { ttl, id } => {
            ("/v3/lease/grant", Object::default().number("TTL", *ttl).number("ID", number(*id)).json())
        }
        Rpc::LeaseRevoke { id } => ("/v3/lease/revoke", lease(id).json()),
        Rpc::LeaseKeepAlive { id } => ("/v3/lease/keepalive", lease(id).json()),
        Rpc::LeaseTimeToLive { id, keys } => ("/v3/lease/timetolive", lease(id).flag("keys", *keys).json()),
        Rpc::Watch(of) => ("/v3/watch", Object::default().with("create_request", watch(of)).json()),
        Rpc::WatchCancel { id } => {
            let canceled = Object::default().number("watch_id", id.0).json();
            ("/v3/watch", Object::default().with("cancel_request", canceled).json())
        }
        Rpc::Lock { name, lease } => {
            ("/v3/lock/lock", Object::default().bytes("name", name.as_bytes()).number("lease", number(*lease)).json())
        }
        Rpc::Unlock { key } => ("/v3/lock/unlock", keyed(key).json()),
    }
}

pub(super) fn reply(reply: &Reply) -> (u16, Json) {
    match reply {
        Reply::Done(response) => {
            let header = revision(response.header.revision);
            let said = body(&response.body).with("header", header).json();
            match response.body {
                // What comes in a stream.
                Body::LeaseKeepAlive { .. } | Body::WatchCreated { .. } | Body::WatchCanceled { .. } => {
                    (200, Object::default().with("result", said).json())
                }
                _ => (200, said),
            }
        }
        Reply::Failed(error) => {
            let (code, text) = (error.code(), error.to_string());
            let status = match code {
                3 | 11 => 400,
                5 => 404,
                8 => 429,
                9 => 412,
                14 => 503,
                _ => 500,
            };
            (status, Object::default().with("error", text.clone()).with("code", code).with("message", text).json())
        }
    }
}

pub(super) fn push(push: &Push) -> Json {
    let said = Object::default()
        .with("header", revision(push.header.revision))
        .number("watch_id", push.watch.0)
        .list("events", push.events.iter().map(event).collect());
    Object::default().with("result", said.json()).json()
}

fn revision(revision: Revision) -> Json {
    Object::default().number("revision", revision.0).json()
}

fn number(lease: Option<LeaseId>) -> u64 {
    lease.map_or(0, LeaseId::number)
}

fn text(key: &Key) -> Vec<u8> {
    key.to_string().into_bytes()
}

fn keyed(key: &Key) -> Object {
    Object::default().bytes("key", &text(key))
}

fn ranged(keys: &Keys) -> Object {
    let (first, end) = bounds(keys);
    Object::default().bytes("key", &first).bytes("range_end", &end)
}

fn range(range: &Range) -> Json {
    let Range { keys, limit, revision, sort, created_by, serializable, count_only } = range;
    let mut said = ranged(keys)
        .number("limit", limit.unwrap_or(0))
        .number("revision", revision.unwrap_or_default().0)
        .number("max_create_revision", created_by.unwrap_or_default().0)
        .flag("serializable", *serializable)
        .flag("count_only", *count_only);
    if let Some((by, order)) = sort {
        let target = match by {
            SortBy::Key => "KEY",
            SortBy::Version => "VERSION",
            SortBy::Create => "CREATE",
            SortBy::Mod => "MOD",
            SortBy::Value => "VALUE",
        };
        let order = match order {
            Order::Ascending => "ASCEND",
            Order::Descending => "DESCEND",
        };
        said = said.with("sort_target", target).with("sort_order", order);
    }
    said.json()
}

fn put(put: &Put) -> Json {
    let Put { key, value, lease, prev_kv } = put;
    keyed(key).bytes("value", value.as_bytes()).number("lease", number(*lease)).flag("prev_kv", *prev_kv).json()
}

fn delete(delete: &Delete) -> Json {
    ranged(&delete.keys).flag("prev_kv", delete.prev_kv).json()
}

fn txn(txn: &Txn) -> Json {
    let ops = |ops: &[Op]| ops.iter().map(op).collect();
    Object::default()
        .list("compare", txn.compare.iter().map(compare).collect())
        .list("success", ops(&txn.success))
        .list("failure", ops(&txn.failure))
        .json()
}

fn op(op: &Op) -> Json {
    let (name, said) = match op {
        Op::Range(of) => ("request_range", range(of)),
        Op::Put(of) => ("request_put", put(of)),
        Op::Delete(of) => ("request_delete_range", delete(of)),
    };
    Object::default().with(name, said).json()
}

fn compare(compare: &Compare) -> Json {
    let relation = match compare.relation {
        Relation::Equal => "EQUAL",
        Relation::NotEqual => "NOT_EQUAL",
        Relation::Greater => "GREATER",
        Relation::Less => "LESS",
    };
    // A zero is said: which of the operands it is, is said by its name alone.
    let said = keyed(&compare.key).with("result", relation);
    let numbered = |target: &str, name: &str, number: u64| said_of(target).with(name, number.to_string());
    let operand = match &compare.operand {
        Operand::Create(revision) => numbered("CREATE", "create_revision", revision.0),
        Operand::Mod(revision) => numbered("MOD", "mod_revision", revision.0),
        Operand::Version(version) => numbered("VERSION", "version", *version),
        Operand::Lease(lease) => numbered("LEASE", "lease", number(*lease)),
        Operand::Value(value) => said_of("VALUE").bytes("value", value.as_bytes()),
    };
    said.and(operand).json()
}

fn said_of(target: &str) -> Object {
    Object::default().with("target", target)
}

fn watch(watch: &Watch) -> Json {
    let Watch { keys, from, no_put, no_delete, prev_kv } = watch;
    let filters = [(no_put, "NOPUT"), (no_delete, "NODELETE")];
    let filters = filters.into_iter().filter(|(is_on, _)| **is_on).map(|(_, name)| name.into()).collect();
    ranged(keys)
        .number("start_revision", from.unwrap_or_default().0)
        .list("filters", filters)
        .flag("prev_kv", *prev_kv)
        .json()
}

fn body(body: &Body) -> Object {
    match body {
        Body::Range { kvs, more, count } => {
            Object::default().list("kvs", kvs.iter().map(kv).collect()).flag("more", *more).number("count", *count)
        }
        Body::Put { prev_kv } => match prev_kv {
            Some(prev_kv) => Object::default().with("prev_kv", kv(prev_kv)),
            None => Object::default(),
        },
        Body::Delete { deleted, prev_kvs } => {
            Object::default().number("deleted", *deleted).list("prev_kvs", prev_kvs.iter().map(kv).collect())
        }
        Body::Txn { succeeded, responses } => Object::default()
            .flag("succeeded", *succeeded)
            .list("responses", responses.iter().map(op_response).collect()),
        Body::LeaseGrant { id, ttl } | Body::LeaseKeepAlive { id, ttl } => {
            Object::default().number("ID", id.number()).number("TTL", *ttl)
        }
        Body::LeaseRevoke | Body::Unlock => Object::default(),
        Body::LeaseTimeToLive { id, ttl, granted, keys } => Object::default()
            .number("ID", id.number())
            .number("TTL", *ttl)
            .number("grantedTTL", *granted)
            .list("keys", keys.iter().map(|key| Object::encoded(&text(key))).collect()),
        Body::WatchCreated { id } => Object::default().number("watch_id", id.0).flag("created", true),
        Body::WatchCanceled { id } => Object::default().number("watch_id", id.0).flag("canceled", true),
        Body::Lock { key } => keyed(key),
    }
}

fn op_response(response: &OpResponse) -> Json {
    let name = match response.body {
        Body::Put { .. } => "response_put",
        Body::Delete { .. } => "response_delete_range",
        _ => "response_range",
    };
    let said = body(&response.body).with("header", revision(response.revision)).json();
    Object::default().with(name, said).json()
}

fn kv(kv: &KeyValue) -> Json {
    let KeyValue { key, create_revision, mod_revision, version, value, lease } = kv;
    keyed(key)
        .number("create_revision", create_revision.0)
        .number("mod_revision", mod_revision.0)
        .number("version", *version)
        .bytes("value", value.as_bytes())
        .number("lease", number(*lease))
        .json()
}

fn event(event: &Event) -> Json {
    let said = match &event.kind {
        EventKind::Put(put) => Object::default().with("kv", kv(put)),
        EventKind::Delete { key, mod_revision } => {
            let gone = keyed(key).number("mod_revision", mod_revision.0).json();
            Object::default().with("type", "DELETE").with("kv", gone)
        }
    };
    match &event.prev_kv {
        Some(prev_kv) => said.with("prev_kv", kv(prev_kv)),
        None => said,
    }
    .json()
}
