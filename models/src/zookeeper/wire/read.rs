//! What is read: requests, replies, events.

use super::jute::{Read, Reader, not_modelled};
use super::{ALL, SYNC_CONNECTED, Said, WORLD, Xid, code};
use crate::zookeeper::Value;
use crate::zookeeper::answer::{Answer, Body, Connected, EventKind, OpResult, Stat, ZkEvent, ZkReply};
use crate::zookeeper::api::{Connect, Create, Credentials, Delete, Mode, Multi, Op, SetData, SetWatches, ZkRequest};
use crate::zookeeper::error::ZkError;
use crate::zookeeper::path::{Millis, NodeName, Path, SessionId, Zxid};

pub(super) fn connect(content: &[u8]) -> Read<Connect> {
    let mut from = Reader::new(content);
    protocol(&mut from)?;
    let last_seen = Zxid(from.long()?);
    let timeout = Millis(from.count()?);
    let session = credentials(&mut from)?;
    from.end_of_greeting()?;
    Ok(Connect { last_seen, timeout, session })
}

pub(super) fn connected(content: &[u8]) -> Read<ZkReply> {
    let mut from = Reader::new(content);
    protocol(&mut from)?;
    let timeout = Millis(from.count()?);
    let session = credentials(&mut from)?;
    from.end_of_greeting()?;
    match (timeout, session) {
        (Millis(0), None) => Ok(ZkReply::Expired),
        (_, Some(session)) => Ok(ZkReply::Connected(Box::new(Connected { timeout, session }))),
        (Millis(timeout), None) => not_modelled(format!("no session of {timeout} ms")),
    }
}

fn protocol(from: &mut Reader<'_>) -> Read<()> {
    match from.int()? {
        0 => Ok(()),
        version => not_modelled(format!("version {version} of the protocol")),
    }
}

fn credentials(from: &mut Reader<'_>) -> Read<Option<Credentials>> {
    let session = session(from)?;
    let password = from.bytes()?;
    let Ok(password) = <[u8; 16]>::try_from(password) else {
        return not_modelled(format!("a password of {} bytes", password.len()));
    };
    let whole = u128::from_be_bytes(password);
    let halves = ((whole >> 64) as u64, whole as u64);
    Ok(session.map(|session| Credentials { session, password: halves }))
}

/// 0 is none.
fn session(from: &mut Reader<'_>) -> Read<Option<SessionId>> {
    Ok(Some(SessionId(from.long()?)).filter(|session| session.0 != 0))
}

pub(super) fn request(content: &[u8]) -> Read<(Xid, ZkRequest)> {
    let mut from = Reader::new(content);
    let xid = Xid(from.int()?);
    let asked = match from.int()? {
        code::PING => ZkRequest::Ping,
        code::CLOSE_SESSION => ZkRequest::CloseSession,
        of @ (code::CREATE_2 | code::CREATE_CONTAINER) => ZkRequest::Create(Box::new(create(&mut from, of)?)),
        code::DELETE => ZkRequest::Delete(delete(&mut from)?),
        code::EXISTS => ZkRequest::Exists { path: path(&mut from)?, watch: from.flag()? },
        code::GET_DATA => ZkRequest::GetData { path: path(&mut from)?, watch: from.flag()? },
        code::SET_DATA => ZkRequest::SetData(Box::new(set_data(&mut from)?)),
        code::GET_CHILDREN_2 => ZkRequest::GetChildren { path: path(&mut from)?, watch: from.flag()? },
        code::SYNC => ZkRequest::Sync { path: path(&mut from)? },
        code::MULTI => ZkRequest::Multi(Box::new(Multi { ops: ops(&mut from)?, errand: None })),
        code::SET_WATCHES => ZkRequest::SetWatches(Box::new(SetWatches {
            since: Zxid(from.long()?),
            data: from.list(path)?,
            exist: from.list(path)?,
            child: from.list(path)?,
        })),
        other => return not_modelled(format!("operation {other}")),
    };
    from.end()?;
    Ok((xid, asked))
}

pub(super) fn path(from: &mut Reader<'_>) -> Read<Path> {
    let text = from.text()?;
    // What has no slash before it would get one.
    if text.starts_with('/') { Ok(Path::from(text)) } else { not_modelled(format!("a path without a root: {text:?}")) }
}

/// -1: it does not matter.
fn version(from: &mut Reader<'_>) -> Read<Option<i32>> {
    Ok(Some(from.int()?).filter(|version| *version != -1))
}

fn create(from: &mut Reader<'_>, of: i32) -> Read<Create> {
    let path = path(from)?;
    let data = Value::from(from.bytes()?);
    let rights = from.list(|from| Ok((from.int()?, from.text()?, from.text()?)))?;
    if rights != [(ALL, WORLD.0, WORLD.1)] {
        return not_modelled(format!("access control: {rights:?}"));
    }
    let mode = match (from.int()?, of) {
        (0, code::CREATE_2) => Mode::Persistent,
        (1, code::CREATE_2) => Mode::Ephemeral,
        (2, code::CREATE_2) => Mode::PersistentSequential,
        (3, code::CREATE_2) => Mode::EphemeralSequential,
        (4, code::CREATE_CONTAINER) => Mode::Container,
        (other, of) => return not_modelled(format!("a node of kind {other} by operation {of}")),
    };
    Ok(Create { path, data, mode })
}

fn delete(from: &mut Reader<'_>) -> Read<Delete> {
    Ok(Delete { path: path(from)?, version: version(from)? })
}

fn set_data(from: &mut Reader<'_>) -> Read<SetData> {
    Ok(SetData { path: path(from)?, data: Value::from(from.bytes()?), version: version(from)? })
}

/// Up to the header that says that it was the last: what kind of operation, and how it ended.
fn each_op<T>(from: &mut Reader<'_>, mut read: impl FnMut(&mut Reader<'_>, i32, i32) -> Read<T>) -> Read<Vec<T>> {
    let mut all = Vec::new();
    loop {
        let (of, is_last, error) = (from.int()?, from.flag()?, from.int()?);
        if is_last {
            return Ok(all);
        }
        all.push(read(from, of, error)?);
    }
}

fn ops(from: &mut Reader<'_>) -> Read<Vec<Op>> {
    each_op(from, |from, of, _| match of {
        code::CREATE_2 | code::CREATE_CONTAINER => Ok(Op::Create(create(from, of)?)),
        code::DELETE => Ok(Op::Delete(delete(from)?)),
        code::SET_DATA => Ok(Op::SetData(set_data(from)?)),
        code::CHECK => Ok(Op::Check { path: path(from)?, version: version(from)? }),
        other => not_modelled(format!("operation {other} in a multi")),
    })
}

pub(super) fn said<'r>(content: &[u8], asked: impl FnOnce(Xid) -> Option<&'r ZkRequest>) -> Read<Said> {
    let mut from = Reader::new(content);
    let (xid, zxid, error) = (Xid(from.int()?), Zxid(from.long()?), from.int()?);
    if xid == Xid::EVENT {
        let event = event(&mut from)?;
        from.end()?;
        return Ok(Said::Event(event));
    }
    let Some(asked) = asked(xid) else { return not_modelled(format!("an answer to nothing, number {}", xid.0)) };
    let outcome = match error {
        0 => Ok(body(&mut from, asked)?),
        error => Err(known_error(error)?),
    };
    from.end()?;
    Ok(Said::Answer(xid, Answer { zxid, outcome }))
}

pub(super) fn known_error(error: i32) -> Read<ZkError> {
    ZkError::of_code(error).map_or_else(|| not_modelled(format!("error {error}")), Ok)
}

fn event(from: &mut Reader<'_>) -> Read<ZkEvent> {
    let kind = match from.int()? {
        1 => EventKind::Created,
        2 => EventKind::Deleted,
        3 => EventKind::DataChanged,
        4 => EventKind::ChildrenChanged,
        other => return not_modelled(format!("an event of kind {other}")),
    };
    match from.int()? {
        SYNC_CONNECTED => Ok(ZkEvent { kind, path: path(from)? }),
        other => not_modelled(format!("an event in state {other}")),
    }
}

fn body(from: &mut Reader<'_>, asked: &ZkRequest) -> Read<Body> {
    Ok(match asked {
        ZkRequest::Connect(_) => return not_modelled("a session that begins under a number"),
        ZkRequest::Ping | ZkRequest::CloseSession | ZkRequest::SetWatches(_) => Body::Nothing,
        ZkRequest::Create(_) => Body::Created { path: path(from)?, stat: stat(from)? },
        ZkRequest::Delete(_) => Body::Deleted,
        ZkRequest::Exists { .. } => Body::Exists { stat: stat(from)? },
        ZkRequest::GetData { .. } => Body::Data { data: Value::from(from.bytes()?), stat: stat(from)? },
        ZkRequest::SetData(_) => Body::Set { stat: stat(from)? },
        ZkRequest::GetChildren { .. } => {
            Body::Children { names: from.list(|from| Ok(NodeName::from(from.text()?)))?, stat: stat(from)? }
        }
        ZkRequest::Sync { .. } => Body::Synced { path: path(from)? },
        ZkRequest::Multi(_) => results(from)?,
    })
}

/// What one operation of a multi came to, if it was done; or why it was not. (`None`: because of another.)
type Ended = Result<OpResult, Option<ZkError>>;

fn results(from: &mut Reader<'_>) -> Read<Body> {
    let ended = each_op(from, ended)?;
    let Some(at) = ended.iter().position(|ended| matches!(ended, Err(Some(_)))) else {
        let results: Result<Vec<OpResult>, _> = ended.into_iter().collect();
        return results
            .map_or_else(|_| not_modelled("a multi that fails for no reason"), |results| Ok(Body::Multi { results }));
    };
    let Err(Some(error)) = ended[at] else { unreachable!("it was found there") };
    let is_behind = |ended: &Ended| matches!(ended, Err(Some(ZkError::RuntimeInconsistency)));
    let is_before = |ended: &Ended| matches!(ended, Err(None));
    if ended[..at].iter().all(is_before) && ended[at + 1..].iter().all(is_behind) {
        return Ok(Body::MultiFailed { at, error, of: ended.len() });
    }
    not_modelled(format!("a multi of which some is done: {ended:?}"))
}

fn ended(from: &mut Reader<'_>, of: i32, error: i32) -> Read<Ended> {
    Ok(match of {
        code::CREATE => Ok(OpResult::Created { path: path(from)? }),
        code::CREATE_2 => {
            let path = path(from)?;
            stat(from)?;
            Ok(OpResult::Created { path })
        }
        code::DELETE => Ok(OpResult::Deleted),
        code::SET_DATA => Ok(OpResult::Set { stat: stat(from)? }),
        code::CHECK => Ok(OpResult::Checked),
        code::ERROR if from.int()? == error => match error {
            0 => Err(None),
            error => Err(Some(known_error(error)?)),
        },
        other => return not_modelled(format!("operation {other} in a multi, ended with {error}")),
    })
}

fn stat(from: &mut Reader<'_>) -> Read<Stat> {
    let (czxid, mzxid) = (Zxid(from.long()?), Zxid(from.long()?));
    let _created_and_changed = (from.long()?, from.long()?);
    let (version, cversion) = (from.int()?, from.int()?);
    let _version_of_rights = from.int()?;
    let owner = session(from)?;
    let (data_length, children) = (from.count()?, from.count()?);
    let pzxid = Zxid(from.long()?);
    Ok(Stat { czxid, mzxid, pzxid, version, cversion, owner, data_length, children })
}
