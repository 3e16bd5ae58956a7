//! A server's log, as it is in its files: all that was agreed upon, in order, and whose request it was.
//!
//! Source: `FileTxnLog.java`, `SerializeUtils.deserializeTxn`, and the second half of `zookeeper.jute` of ZooKeeper 3.8.0; `log.txt`
//! is what such a server has written. A file has a head, then entries, each with a checksum before it and a mark behind it, then
//! zeros. What is behind the last mark was being written when the server ended.
//!
//! Read over: checksums, access rights, the digest of the whole tree with each entry. A sequential node is there under the name
//! that it got, like any other. Of what could not be done, only why not.

use host::WallTime;

use super::jute::{BadBytes, Read, Reader, not_modelled};
use super::read::{known_error, path};
use super::{Xid, code};
use crate::zookeeper::Value;
use crate::zookeeper::api::{Create, Delete, Mode, Multi, Op, SetData};
use crate::zookeeper::error::ZkError;
use crate::zookeeper::path::{Millis, Path, SessionId, Zxid};
use crate::zookeeper::tree::{Applied, Change, Tree};

/// What was agreed upon.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Logged {
    /// Its number.
    pub zxid: Zxid,
    /// When the leader had it put there, on its wall clock, in ms.
    pub at: WallTime,
    /// Whose request it was: the session. (A server's own are those of session 0, and the end of a session that of the session.)
    pub session: SessionId,
    /// The number of the request in its connection. (0: nobody's.)
    pub xid: Xid,
    /// What it changes, or why nothing.
    pub change: Result<Change, ZkError>,
}

impl Logged {
    /// What comes of it, in the tree as it was before; what could not be done counts, and does nothing.
    pub fn apply(&self, tree: &mut Tree) -> Applied {
        while tree.zxid().epoch() < self.zxid.epoch() {
            tree.begin_epoch();
        }
        match &self.change {
            Ok(change) => tree.apply(change, None),
            Err(error) => tree.apply(&Change::Reap { path: Path::ROOT }, Some(*error)),
        }
    }
}

/// All that is in a log's file.
///
/// # Errors
/// If it is no such file, or has something that the model does not know.
pub fn read_log(file: &[u8]) -> Result<Vec<Logged>, BadBytes> {
    let mut from = Reader::new(file);
    let (magic, version, _database) = (from.int()?, from.int()?, from.long()?);
    if (magic, version) != (MAGIC, VERSION) {
        return not_modelled(format!("a file that begins with {magic:x}, version {version}"));
    }
    let mut all = Vec::new();
    while let Some(entry) = entry(&mut from) {
        all.push(logged(entry)?);
    }
    Ok(all)
}

/// `ZKLG`
const MAGIC: i32 = i32::from_be_bytes(*b"ZKLG");
const VERSION: i32 = 2;
/// Behind every entry that is whole.
const MARK: u8 = b'B';

/// The next entry, if there is one and it is whole.
fn entry<'b>(from: &mut Reader<'b>) -> Option<&'b [u8]> {
    let _checksum = from.long().ok()?;
    let entry = from.bytes().ok()?;
    (!entry.is_empty() && from.byte().ok()? == MARK).then_some(entry)
}

fn logged(entry: &[u8]) -> Result<Logged, BadBytes> {
    let mut from = Reader::new(entry);
    let (session, xid, zxid) = (SessionId(from.long()?), Xid(from.int()?), Zxid(from.long()?));
    let at = WallTime::from_millis(from.long()?.cast_signed());
    let of = from.int()?;
    Ok(Logged { zxid, at, session, xid, change: change(&mut from, session, of)? })
}

fn change(from: &mut Reader<'_>, session: SessionId, of: i32) -> Read<Result<Change, ZkError>> {
    Ok(Ok(match of {
        code::ERROR => return Ok(Err(known_error(from.int()?)?)),
        code::CREATE_SESSION => Change::Open { session, timeout: Millis(from.count()?) },
        // What is deleted with it follows from what is there.
        code::CLOSE_SESSION => Change::Close { session },
        code::DELETE_CONTAINER => Change::Reap { path: path(from)? },
        code::MULTI => return multi(from, session),
        other => Change::One { session, op: op(from, other)? },
    }))
}

fn op(from: &mut Reader<'_>, of: i32) -> Read<Op> {
    Ok(match of {
        code::CREATE | code::CREATE_2 | code::CREATE_CONTAINER => {
            let (path, data) = (path(from)?, Value::from(from.bytes()?));
            let _rights = from.list(|from| Ok((from.int()?, from.text()?, from.text()?)))?;
            let mode = match of {
                code::CREATE_CONTAINER => Mode::Container,
                _ if from.flag()? => Mode::Ephemeral,
                _ => Mode::Persistent,
            };
            let _created_below = from.int()?;
            Op::Create(Create { path, data, mode })
        }
        code::DELETE => Op::Delete(Delete { path: path(from)?, version: None }),
        code::SET_DATA => {
            let (path, data) = (path(from)?, Value::from(from.bytes()?));
            let _version = from.int()?;
            Op::SetData(SetData { path, data, version: None })
        }
        code::CHECK => Op::Check { path: checked(from)?, version: None },
        other => return not_modelled(format!("operation {other} in a log")),
    })
}

fn checked(from: &mut Reader<'_>) -> Read<Path> {
    let path = path(from)?;
    let _version = from.int()?;
    Ok(path)
}

/// Each within bytes of its own. If one could not be done, none was: the others are there as they were asked, or, if the leader came
/// to write them only after it had done with them (`DataTree.processTxn`), under the code of an error, which they have not got.
fn multi(from: &mut Reader<'_>, session: SessionId) -> Read<Result<Change, ZkError>> {
    let all = from.list(|from| {
        let (of, content) = (from.int()?, from.bytes()?);
        let mut read = Reader::new(content);
        Ok(match of {
            code::ERROR if content.len() > size_of::<i32>() => Err(0),
            code::ERROR => Err(read.int()?),
            of => Ok(op(&mut read, of)?),
        })
    })?;
    let failed = all.iter().find_map(|op| op.as_ref().err().copied().filter(|error| *error != 0));
    if let Some(error) = failed {
        return Ok(Err(known_error(error)?));
    }
    Ok(Ok(Change::Multi { session, multi: Multi { ops: all.into_iter().flatten().collect(), errand: None } }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zookeeper::answer::Stat;

    /// What ZooKeeper 3.8.0 has written.
    fn file() -> Vec<u8> {
        let digits: Vec<u8> = include_str!("log.txt").bytes().filter(u8::is_ascii_hexdigit).collect();
        let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).expect("digits"), 16).expect("digits");
        digits.chunks(2).map(byte).collect()
    }

    #[test]
    fn a_servers_log_tells_what_it_was_asked() {
        let all = read_log(&file()).expect("it is a log");
        let told: Vec<(u64, i32)> = all.iter().map(|logged| (logged.zxid.0, logged.xid.0)).collect();
        let own = [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (6, 5), (7, 6), (8, 7), (9, 8), (10, 9)];
        assert_eq!(told, [&own[..], &[(11, 0), (12, 10)]].concat(), "the eleventh nobody has asked for");
        assert!(all.windows(2).all(|two| two[0].at <= two[1].at), "one clock");
        let session = all[0].session;
        assert_eq!(all[0].change, Ok(Change::Open { session, timeout: Millis(6_000) }));
        assert_eq!((&all[4].change, &all[6].change), (&Err(ZkError::NoNode), &Err(ZkError::NoNode)));
        assert_eq!(all[10].change, Ok(Change::Reap { path: "/C".into() }));
        assert_eq!((all[10].session, &all[11].change), (SessionId(0), &Ok(Change::Close { session })));
    }

    #[test]
    fn the_same_tree_comes_of_it() {
        let mut tree = Tree::default();
        for logged in read_log(&file()).expect("it is a log") {
            assert_eq!(logged.apply(&mut tree).zxid, logged.zxid);
        }
        let stat = |path: &str| tree.stat(&path.into());
        let zxid = |number| Zxid(number);
        let (czxid, mzxid, pzxid) = (zxid(2), zxid(6), zxid(12));
        let lock = Stat { czxid, mzxid, pzxid, version: 2, cversion: 4, owner: None, data_length: 0, children: 0 };
        assert_eq!(stat("/L"), Ok(lock), "two came, and went");
        assert_eq!((stat("/C"), stat("/q")), (Err(ZkError::NoNode), Err(ZkError::NoNode)));
        assert_eq!(stat("/D").map(|stat| stat.czxid), Ok(zxid(8)));
    }

    /// As a leader of three has written it.
    #[test]
    fn a_leader_may_write_that_what_was_not_done_has_failed() {
        let head = [&[0; 28][..], &[0, 0, 0, 14]].concat();
        let check = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 10, 0, 0, 0, 2, b'/', b'L', 0, 0, 0, 1];
        let failed = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 4, 0xff, 0xff, 0xff, 0x9b];
        let entry = [&head[..], &[0, 0, 0, 2], &check, &failed].concat();
        assert_eq!(logged(&entry).map(|logged| logged.change), Ok(Err(ZkError::NoNode)));
    }

    #[test]
    fn what_was_being_written_is_left_out() {
        let file = file();
        let whole = read_log(&file).expect("it is a log");
        for length in 16..file.len() {
            let some = read_log(&file[..length]).expect("it is a log");
            assert!(whole.starts_with(&some), "{length}");
        }
        assert!(read_log(&file[..10]).is_err() && read_log(b"ZKSNAP..........").is_err());
    }
}
