//! What is said: requests, replies, events.

use super::jute::Writer;
use super::{ALL, SYNC_CONNECTED, WORLD, Xid, code};
use crate::zookeeper::answer::{Answer, Body, Connected, EventKind, OpResult, Stat, ZkEvent, ZkReply};
use crate::zookeeper::api::{Connect, Create, Delete, Mode, Multi, Op, SetData, ZkRequest};
use crate::zookeeper::error::ZkError;
use crate::zookeeper::path::{Millis, Path};

pub(super) fn request(request: &ZkRequest, xid: Xid) -> Vec<u8> {
    let mut out = Writer::default();
    if !matches!(request, ZkRequest::Connect(_)) {
        out.int(xid.0);
        out.int(op_code(request));
    }
    match request {
        ZkRequest::Connect(wanted) => connect(&mut out, wanted),
        ZkRequest::Ping | ZkRequest::CloseSession => {}
        ZkRequest::Create(wanted) => create(&mut out, wanted),
        ZkRequest::Delete(wanted) => delete(&mut out, wanted),
        ZkRequest::Exists { path, watch }
        | ZkRequest::GetData { path, watch }
        | ZkRequest::GetChildren { path, watch } => {
            out.text(path);
            out.flag(*watch);
        }
        ZkRequest::SetData(wanted) => set_data(&mut out, wanted),
        ZkRequest::Sync { path } => out.text(path),
        ZkRequest::Multi(wanted) => multi(&mut out, wanted),
        ZkRequest::SetWatches(wanted) => {
            out.long(wanted.since.0);
            [&wanted.data, &wanted.exist, &wanted.child].into_iter().for_each(|paths| out.texts(paths));
        }
    }
    out.0
}

const fn op_code(request: &ZkRequest) -> i32 {
    match request {
        ZkRequest::Connect(_) => 0,
        ZkRequest::Ping => code::PING,
        ZkRequest::CloseSession => code::CLOSE_SESSION,
        ZkRequest::Create(create) => create_code(create),
        ZkRequest::Delete(_) => code::DELETE,
        ZkRequest::Exists { .. } => code::EXISTS,
        ZkRequest::GetData { .. } => code::GET_DATA,
        ZkRequest::SetData(_) => code::SET_DATA,
        ZkRequest::GetChildren { .. } => code::GET_CHILDREN_2,
        ZkRequest::Sync { .. } => code::SYNC,
        ZkRequest::Multi(_) => code::MULTI,
        ZkRequest::SetWatches(_) => code::SET_WATCHES,
    }
}

const fn create_code(create: &Create) -> i32 {
    if matches!(create.mode, Mode::Container) { code::CREATE_CONTAINER } else { code::CREATE_2 }
}

fn connect(out: &mut Writer, wanted: &Connect) {
    out.int(0);
    out.long(wanted.last_seen.0);
    out.int(millis(wanted.timeout));
    let (session, password) = wanted.session.map_or((0, (0, 0)), |known| (known.session.0, known.password));
    out.long(session);
    out.bytes(&password_bytes(password));
    // It may be served by nobody who only reads.
    out.flag(false);
}

fn password_bytes((first, second): (u64, u64)) -> [u8; 16] {
    (u128::from(first) << 64 | u128::from(second)).to_be_bytes()
}

fn millis(Millis(millis): Millis) -> i32 {
    i32::try_from(millis).unwrap_or(i32::MAX)
}

/// A version that does not matter is -1.
fn version(version: Option<i32>) -> i32 {
    version.unwrap_or(-1)
}

fn create(out: &mut Writer, create: &Create) {
    out.text(create.path);
    out.bytes(create.data.as_bytes());
    out.length(1);
    out.int(ALL);
    out.text(WORLD.0);
    out.text(WORLD.1);
    out.int(match create.mode {
        Mode::Persistent => 0,
        Mode::Ephemeral => 1,
        Mode::PersistentSequential => 2,
        Mode::EphemeralSequential => 3,
        Mode::Container => 4,
    });
}

fn delete(out: &mut Writer, delete: &Delete) {
    out.text(delete.path);
    out.int(version(delete.version));
}

fn set_data(out: &mut Writer, set: &SetData) {
    out.text(set.path);
    out.bytes(set.data.as_bytes());
    out.int(version(set.version));
}

/// `MultiHeader`
fn op_header(out: &mut Writer, of: i32, error: i32) {
    out.int(of);
    out.flag(false);
    out.int(error);
}

fn last_header(out: &mut Writer) {
    out.int(-1);
    out.flag(true);
    out.int(-1);
}

fn multi(out: &mut Writer, multi: &Multi) {
    for op in &multi.ops {
        let of = match op {
            Op::Create(create) => create_code(create),
            Op::Delete(_) => code::DELETE,
            Op::SetData(_) => code::SET_DATA,
            Op::Check { .. } => code::CHECK,
        };
        op_header(out, of, -1);
        match op {
            Op::Create(wanted) => create(out, wanted),
            Op::Delete(wanted) => delete(out, wanted),
            Op::SetData(wanted) => set_data(out, wanted),
            Op::Check { path, version: wanted } => {
                out.text(path);
                out.int(version(*wanted));
            }
        }
    }
    last_header(out);
}

pub(super) fn reply(reply: &ZkReply, xid: Xid) -> Vec<u8> {
    let mut out = Writer::default();
    match reply {
        ZkReply::Connected(begun) => connected(&mut out, Some(begun)),
        ZkReply::Expired => connected(&mut out, None),
        ZkReply::Answer(said) => answer(&mut out, said, xid),
    }
    out.0
}

/// No session is one of 0 ms.
fn connected(out: &mut Writer, begun: Option<&Connected>) {
    out.int(0);
    let (timeout, session, password) =
        begun.map_or((0, 0, (0, 0)), |begun| (millis(begun.timeout), begun.session.session.0, begun.session.password));
    out.int(timeout);
    out.long(session);
    out.bytes(&password_bytes(password));
    out.flag(false);
}

fn answer(out: &mut Writer, answer: &Answer, xid: Xid) {
    out.int(xid.0);
    out.long(answer.zxid.0);
    match &answer.outcome {
        Ok(found) => {
            out.int(0);
            body(out, found);
        }
        Err(error) => out.int(error.code()),
    }
}

fn body(out: &mut Writer, body: &Body) {
    match body {
        Body::Nothing | Body::Deleted => {}
        Body::Created { path, stat } => created(out, path, stat),
        Body::Exists { stat: found } | Body::Set { stat: found } => stat(out, found),
        Body::Data { data, stat: found } => {
            out.bytes(data.as_bytes());
            stat(out, found);
        }
        Body::Children { names, stat: found } => {
            out.texts(names);
            stat(out, found);
        }
        Body::Synced { path } => out.text(path),
        Body::Multi { results } => {
            results.iter().for_each(|result| op_result(out, result));
            last_header(out);
        }
        Body::MultiFailed { at, error, of } => {
            for place in 0..*of {
                // Whether it might have been done, is not told of what stands behind.
                let error = match place.cmp(at) {
                    std::cmp::Ordering::Less => 0,
                    std::cmp::Ordering::Equal => error.code(),
                    std::cmp::Ordering::Greater => ZkError::RuntimeInconsistency.code(),
                };
                op_header(out, code::ERROR, error);
                out.int(error);
            }
            last_header(out);
        }
    }
}

fn created(out: &mut Writer, path: &Path, created: &Stat) {
    out.text(path);
    stat(out, created);
}

fn op_result(out: &mut Writer, result: &OpResult) {
    let of = match result {
        OpResult::Created { .. } => code::CREATE,
        OpResult::Deleted => code::DELETE,
        OpResult::Set { .. } => code::SET_DATA,
        OpResult::Checked => code::CHECK,
    };
    op_header(out, of, 0);
    match result {
        OpResult::Created { path } => out.text(path),
        OpResult::Set { stat: found } => stat(out, found),
        OpResult::Deleted | OpResult::Checked => {}
    }
}

fn stat(out: &mut Writer, stat: &Stat) {
    out.long(stat.czxid.0);
    out.long(stat.mzxid.0);
    // When it was created, and changed.
    out.long(0);
    out.long(0);
    out.int(stat.version);
    out.int(stat.cversion);
    // The version of its access rights.
    out.int(0);
    out.long(stat.owner.map_or(0, |session| session.0));
    out.length(stat.data_length as usize);
    out.length(stat.children as usize);
    out.long(stat.pzxid.0);
}

pub(super) fn event(event: &ZkEvent) -> Vec<u8> {
    let mut out = Writer::default();
    out.int(Xid::EVENT.0);
    // It does not say which change it was.
    out.long(u64::MAX);
    out.int(0);
    out.int(match event.kind {
        EventKind::Created => 1,
        EventKind::Deleted => 2,
        EventKind::DataChanged => 3,
        EventKind::ChildrenChanged => 4,
    });
    out.int(SYNC_CONNECTED);
    out.text(event.path);
    out.0
}
