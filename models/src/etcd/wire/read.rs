//! What is made of requests and answers.

use host::{Name, NodeId};
use serde_json::Value as Json;

use super::super::Value;
use super::super::answer::{Body, Event, EventKind, KeyValue, OpResponse, Push, Reply, Response};
use super::super::api::{Compare, Delete, Op, Operand, Order, Put, Range, Relation, Rpc, SortBy, Txn, Watch};
use super::super::error::EtcdError;
use super::super::key::{Key, Keys, LeaseId, Revision, WatchId};
use super::fields::{Fields, NotModelled};
use super::{bounds, header};

type Read<T> = Result<T, NotModelled>;

pub(super) fn request(path: &str, body: &Json) -> Read<Rpc> {
    let mut fields = Fields::of(body)?;
    let rpc = match path {
        "/v3/kv/range" => return range(body).map(Into::into),
        "/v3/kv/put" => return put(body).map(Into::into),
        "/v3/kv/deleterange" => return delete(body).map(Into::into),
        "/v3/kv/txn" => return txn(body).map(Into::into),
        "/v3/lease/grant" => Rpc::LeaseGrant { ttl: fields.number("TTL")?, id: lease(&mut fields, "ID")? },
        "/v3/lease/revoke" => Rpc::LeaseRevoke { id: some_lease(&mut fields)? },
        "/v3/lease/keepalive" => Rpc::LeaseKeepAlive { id: some_lease(&mut fields)? },
        "/v3/lease/timetolive" => Rpc::LeaseTimeToLive { id: some_lease(&mut fields)?, keys: fields.flag("keys") },
        "/v3/watch" => match fields.take("create_request") {
            Some(create) => watch(&create)?.into(),
            None => Rpc::WatchCancel { id: WatchId(fields.inner("cancel_request")?.number("watch_id")?) },
        },
        "/v3/lock/lock" => Rpc::Lock { name: name(fields.bytes("name")?)?, lease: lease(&mut fields, "lease")? },
        "/v3/lock/unlock" => Rpc::Unlock { key: key(&mut fields)? },
        other => return Err(NotModelled(other.to_owned())),
    };
    fields.end()?;
    Ok(rpc)
}

pub(super) fn reply(rpc: &Rpc, from: NodeId, status: u16, body: &Json) -> Read<Reply> {
    let mut fields = Fields::of(body)?;
    if status != 200 {
        // What goes wrong in a stream is said in other words.
        let (code, text) = match fields.take("error") {
            Some(Json::String(text)) => (fields.number("code")?, text),
            other => {
                let mut error = Fields::of(&other.unwrap_or_default())?;
                (error.number("grpc_code")?, error.text("message"))
            }
        };
        let error = EtcdError::said(code, &text).ok_or_else(|| NotModelled(format!("error {code}: {text}")))?;
        return Ok(Reply::Failed(error));
    }
    if let Some(result) = fields.take("result") {
        fields = Fields::of(&result)?;
    }
    let mut said_by = fields.inner("header")?;
    let header = header(from, said_by.number("revision")?, said_by.number("raft_term")?);
    let body = match rpc {
        Rpc::Range(_) => range_body(&mut fields)?,
        Rpc::Put(_) => put_body(&mut fields)?,
        Rpc::Delete(_) => delete_body(&mut fields)?,
        Rpc::Txn(_) => {
            Body::Txn { succeeded: fields.flag("succeeded"), responses: fields.list("responses", op_response)? }
        }
        Rpc::LeaseGrant { .. } => Body::LeaseGrant { id: some_lease(&mut fields)?, ttl: fields.number("TTL")? },
        Rpc::LeaseRevoke { .. } => Body::LeaseRevoke,
        Rpc::LeaseKeepAlive { .. } => Body::LeaseKeepAlive { id: some_lease(&mut fields)?, ttl: fields.number("TTL")? },
        Rpc::LeaseTimeToLive { .. } => Body::LeaseTimeToLive {
            id: some_lease(&mut fields)?,
            ttl: fields.number("TTL")?,
            granted: fields.number("grantedTTL")?,
            keys: fields.list("keys", |json| Fields::decoded(json).and_then(name).map(Into::into))?,
        },
        Rpc::Watch(_) | Rpc::WatchCancel { .. } => {
            let id = WatchId(fields.number("watch_id")?);
            match (fields.flag("created"), fields.flag("canceled")) {
                (true, false) => Body::WatchCreated { id },
                (false, true) => Body::WatchCanceled { id },
                _ => return Err(NotModelled(body.to_string())),
            }
        }
        Rpc::Lock { .. } => Body::Lock { key: key(&mut fields)? },
        Rpc::Unlock { .. } => Body::Unlock,
    };
    fields.end()?;
    Ok(Reply::Done(Box::new(Response { header, body })))
}

pub(super) fn push(from: NodeId, body: &Json) -> Read<Option<Push>> {
    let mut fields = Fields::of(body)?.inner("result")?;
    let mut said_by = fields.inner("header")?;
    let header = header(from, said_by.number("revision")?, said_by.number("raft_term")?);
    let (watch, events) = (WatchId(fields.number("watch_id")?), fields.list("events", event)?);
    let is_of_events = !events.is_empty();
    Ok(is_of_events.then(|| Push { header, watch, events: events.into() }))
}

fn name(bytes: Vec<u8>) -> Read<Name> {
    String::from_utf8(bytes).map(Into::into).map_err(|why| NotModelled(format!("a name that is no text: {why}")))
}

fn key(fields: &mut Fields) -> Read<Key> {
    fields.bytes("key").and_then(name).map(Into::into)
}

fn keys(fields: &mut Fields) -> Read<Keys> {
    let (first, end) = (fields.bytes("key")?, fields.bytes("range_end")?);
    if end.is_empty() {
        return name(first).map(|key| Keys::One(key.into()));
    }
    if end == [0] {
        let is_all = first == [0];
        return if is_all { Ok(Keys::Under(Name::fixed(""))) } else { Err(NotModelled("a range without end".into())) };
    }
    let under = Keys::Under(name(first.clone())?);
    if bounds(&under) == (first.clone(), end.clone()) {
        return Ok(under);
    }
    Ok(Keys::Between(name(first)?.into(), name(end)?.into()))
}

fn value(fields: &mut Fields, name: &str) -> Read<Value> {
    fields.bytes(name).map(|bytes| Value::from(&*bytes))
}

fn lease(fields: &mut Fields, name: &str) -> Read<Option<LeaseId>> {
    fields.number(name).map(LeaseId::new)
}

fn some_lease(fields: &mut Fields) -> Read<LeaseId> {
    lease(fields, "ID")?.ok_or_else(|| NotModelled("lease 0".to_owned()))
}

fn not_zero<T: Default + PartialEq>(number: T) -> Option<T> {
    (number != T::default()).then_some(number)
}

fn revision(fields: &mut Fields, name: &str) -> Read<Revision> {
    fields.number(name).map(Revision)
}

fn range(json: &Json) -> Read<Range> {
    let mut fields = Fields::of(json)?;
    let by = match &*fields.text("sort_target") {
        "" | "KEY" => SortBy::Key,
        "VERSION" => SortBy::Version,
        "CREATE" => SortBy::Create,
        "MOD" => SortBy::Mod,
        "VALUE" => SortBy::Value,
        other => return Err(NotModelled(other.to_owned())),
    };
    let order = match &*fields.text("sort_order") {
        "ASCEND" => Some(Order::Ascending),
        "DESCEND" => Some(Order::Descending),
        "" | "NONE" if by == SortBy::Key => None,
        other => return Err(NotModelled(format!("sort order {other}"))),
    };
    let range = Range {
        keys: keys(&mut fields)?,
        limit: not_zero(fields.number("limit")?),
        revision: not_zero(revision(&mut fields, "revision")?),
        sort: order.map(|order| (by, order)),
        created_by: not_zero(revision(&mut fields, "max_create_revision")?),
        serializable: fields.flag("serializable"),
        count_only: fields.flag("count_only"),
    };
    fields.end().map(|()| range)
}

fn put(json: &Json) -> Read<Put> {
    let mut fields = Fields::of(json)?;
    let put = Put {
        key: key(&mut fields)?,
        value: value(&mut fields, "value")?,
        lease: lease(&mut fields, "lease")?,
        prev_kv: fields.flag("prev_kv"),
    };
    fields.end().map(|()| put)
}

fn delete(json: &Json) -> Read<Delete> {
    let mut fields = Fields::of(json)?;
    let delete = Delete { keys: keys(&mut fields)?, prev_kv: fields.flag("prev_kv") };
    fields.end().map(|()| delete)
}

fn txn(json: &Json) -> Read<Txn> {
    let mut fields = Fields::of(json)?;
    let txn = Txn {
        compare: fields.list("compare", compare)?,
        success: fields.list("success", op)?,
        failure: fields.list("failure", op)?,
        errand: None,
    };
    fields.end().map(|()| txn)
}

fn op(json: &Json) -> Read<Op> {
    let mut fields = Fields::of(json)?;
    let read = if let Some(of) = fields.take("request_range") {
        Op::Range(range(&of)?)
    } else if let Some(of) = fields.take("request_put") {
        Op::Put(put(&of)?)
    } else if let Some(of) = fields.take("request_delete_range") {
        Op::Delete(delete(&of)?)
    } else {
        return Err(NotModelled(format!("operation {json}")));
    };
    fields.end().map(|()| read)
}

fn compare(json: &Json) -> Read<Compare> {
    let mut fields = Fields::of(json)?;
    let relation = match &*fields.text("result") {
        "" | "EQUAL" => Relation::Equal,
        "NOT_EQUAL" => Relation::NotEqual,
        "GREATER" => Relation::Greater,
        "LESS" => Relation::Less,
        other => return Err(NotModelled(other.to_owned())),
    };
    let operand = match &*fields.text("target") {
        "" | "VERSION" => Operand::Version(fields.number("version")?),
        "CREATE" => Operand::Create(revision(&mut fields, "create_revision")?),
        "MOD" => Operand::Mod(revision(&mut fields, "mod_revision")?),
        "LEASE" => Operand::Lease(lease(&mut fields, "lease")?),
        "VALUE" => Operand::Value(value(&mut fields, "value")?),
        other => return Err(NotModelled(other.to_owned())),
    };
    let compare = Compare { key: key(&mut fields)?, relation, operand };
    fields.end().map(|()| compare)
}

fn watch(json: &Json) -> Read<Watch> {
    let mut fields = Fields::of(json)?;
    let filters = fields.list("filters", |json| Ok(json.clone()))?;
    let watch = Watch {
        keys: keys(&mut fields)?,
        from: not_zero(revision(&mut fields, "start_revision")?),
        no_put: filters.contains(&"NOPUT".into()),
        no_delete: filters.contains(&"NODELETE".into()),
        prev_kv: fields.flag("prev_kv"),
    };
    fields.end().map(|()| watch)
}

fn range_body(fields: &mut Fields) -> Read<Body> {
    Ok(Body::Range { kvs: fields.list("kvs", kv)?, more: fields.flag("more"), count: fields.number("count")? })
}

fn put_body(fields: &mut Fields) -> Read<Body> {
    Ok(Body::Put { prev_kv: fields.take("prev_kv").map(|json| kv(&json).map(Box::new)).transpose()? })
}

fn delete_body(fields: &mut Fields) -> Read<Body> {
    Ok(Body::Delete { deleted: fields.number("deleted")?, prev_kvs: fields.list("prev_kvs", kv)? })
}

fn op_response(json: &Json) -> Read<OpResponse> {
    let mut fields = Fields::of(json)?;
    for (name, body) in [
        ("response_range", range_body as fn(&mut Fields) -> Read<Body>),
        ("response_put", put_body),
        ("response_delete_range", delete_body),
    ] {
        if let Some(said) = fields.take(name) {
            let mut said = Fields::of(&said)?;
            let revision = revision(&mut said.inner("header")?, "revision")?;
            let response = OpResponse { revision, body: body(&mut said)? };
            return said.end().map(|()| response);
        }
    }
    Err(NotModelled(format!("answer {json}")))
}

fn kv(json: &Json) -> Read<KeyValue> {
    let mut fields = Fields::of(json)?;
    let kv = KeyValue {
        key: key(&mut fields)?,
        create_revision: revision(&mut fields, "create_revision")?,
        mod_revision: revision(&mut fields, "mod_revision")?,
        version: fields.number("version")?,
        value: value(&mut fields, "value")?,
        lease: lease(&mut fields, "lease")?,
    };
    fields.end().map(|()| kv)
}

fn event(json: &Json) -> Read<Event> {
    let mut fields = Fields::of(json)?;
    let is_delete = fields.text("type") == "DELETE";
    let changed = kv(&fields.take("kv").unwrap_or_default())?;
    let kind = if is_delete {
        EventKind::Delete { key: changed.key, mod_revision: changed.mod_revision }
    } else {
        EventKind::Put(changed)
    };
    let prev_kv = fields.take("prev_kv").map(|json| kv(&json)).transpose()?;
    fields.end().map(|()| Event { kind, prev_kv })
}
