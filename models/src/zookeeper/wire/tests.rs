use super::*;
use crate::zookeeper::{
    Body, Connected, Create, Credentials, Delete, EventKind, Guid, Millis, Mode, Multi, NodeName, Op, OpResult, Path,
    SessionId, SetData, SetWatches, Stat, ZkError, Zxid,
};

const XID: Xid = Xid(7);

fn path() -> Path {
    Path::below("/locks".into(), NodeName::with_guid("_c_".into(), Guid(0xab), "-lock-".into()).numbered(12))
}

fn session() -> Credentials {
    Credentials { session: SessionId(0x1000_2b3c_4d5e_0001), password: (u64::MAX, 3) }
}

fn stat() -> Stat {
    let owner = Some(session().session);
    let [czxid, mzxid, pzxid] = [Zxid::new(1, 2), Zxid::new(2, 3), Zxid::new(3, 4)];
    Stat { czxid, mzxid, pzxid, version: -5, cversion: 6, owner, data_length: 7, children: 8 }
}

fn connects() -> [Connect; 2] {
    [
        Connect { last_seen: Zxid::default(), timeout: Millis(6_000), session: None },
        Connect { last_seen: Zxid::new(3, 9), timeout: Millis(0), session: Some(session()) },
    ]
}

fn requests() -> Vec<ZkRequest> {
    let path = path();
    let create = |mode| Create { path, data: "v".into(), mode };
    let modes =
        [Mode::Persistent, Mode::PersistentSequential, Mode::Ephemeral, Mode::EphemeralSequential, Mode::Container];
    let delete = |version| Delete { path: Path::ROOT, version };
    let set = SetData { path, data: "".into(), version: Some(3) };
    let mut ops: Vec<Op> = modes.into_iter().map(|mode| Op::Create(create(mode))).collect();
    ops.extend([
        Op::Delete(delete(Some(i32::MIN))),
        Op::SetData(set.clone()),
        Op::Check { path, version: None },
        Op::Check { path, version: Some(0) },
    ]);
    let watches = SetWatches { since: Zxid::new(1, 1), data: vec![path], exist: vec![], child: vec![Path::ROOT, path] };
    let mut all: Vec<ZkRequest> = modes.into_iter().map(|mode| ZkRequest::Create(Box::new(create(mode)))).collect();
    all.extend([
        ZkRequest::Ping,
        ZkRequest::CloseSession,
        ZkRequest::Delete(delete(None)),
        ZkRequest::Exists { path, watch: true },
        ZkRequest::GetData { path, watch: false },
        ZkRequest::SetData(Box::new(set)),
        ZkRequest::GetChildren { path: Path::ROOT, watch: true },
        ZkRequest::Sync { path },
        ZkRequest::Multi(Box::new(Multi { ops, errand: None })),
        ZkRequest::Multi(Box::new(Multi { ops: vec![], errand: None })),
        ZkRequest::SetWatches(Box::new(watches)),
    ]);
    all
}

/// What may be answered, and to what.
fn answers() -> Vec<(ZkRequest, Result<Body, ZkError>)> {
    let (path, stat) = (path(), stat());
    let multi = || ZkRequest::Multi(Box::new(Multi { ops: vec![], errand: None }));
    let results = vec![OpResult::Created { path }, OpResult::Deleted, OpResult::Set { stat }, OpResult::Checked];
    let failed = |at| Body::MultiFailed { at, error: ZkError::BadVersion, of: 3 };
    let set = SetData { path, data: "".into(), version: None };
    let mut all = vec![
        (ZkRequest::Ping, Ok(Body::Nothing)),
        (ZkRequest::create(path, "".into(), Mode::Container), Ok(Body::Created { path, stat })),
        (ZkRequest::Delete(Delete { path, version: None }), Ok(Body::Deleted)),
        (ZkRequest::Exists { path, watch: true }, Ok(Body::Exists { stat: Stat { owner: None, ..stat } })),
        (ZkRequest::GetData { path, watch: true }, Ok(Body::Data { data: "data".into(), stat })),
        (ZkRequest::SetData(Box::new(set)), Ok(Body::Set { stat })),
        (
            ZkRequest::GetChildren { path, watch: true },
            Ok(Body::Children { names: vec![path.name(), "b".into()], stat }),
        ),
        (ZkRequest::Sync { path }, Ok(Body::Synced { path })),
        (multi(), Ok(Body::Multi { results })),
        (multi(), Ok(Body::Multi { results: vec![] })),
    ];
    all.extend((0..3).map(|at| (multi(), Ok(failed(at)))));
    all.extend(ZkError::ALL.map(|error| (ZkRequest::CloseSession, Err(error))));
    all
}

fn events() -> [ZkEvent; 4] {
    [EventKind::Created, EventKind::Deleted, EventKind::DataChanged, EventKind::ChildrenChanged]
        .map(|kind| ZkEvent { kind, path: path() })
}

#[test]
fn what_is_asked_is_what_is_read() {
    for request in requests() {
        let content = request.to_bytes(XID);
        assert_eq!(ZkRequest::from_bytes(&content), Ok((XID, request)), "{content:?}");
    }
    for connect in connects() {
        let content = ZkRequest::Connect(Box::new(connect.clone())).to_bytes(XID);
        assert_eq!(Connect::from_bytes(&content), Ok(connect));
    }
}

#[test]
fn what_is_answered_is_what_is_read() {
    for (asked, outcome) in answers() {
        let answer = Answer { zxid: Zxid::new(1, 5), outcome };
        let content = ZkReply::Answer(Box::new(answer.clone())).to_bytes(XID);
        let read = Said::from_bytes(&content, |xid| (xid == XID).then_some(&asked));
        assert_eq!(read, Ok(Said::Answer(XID, answer)), "{content:?}");
    }
    for event in events() {
        assert_eq!(Said::from_bytes(&event.to_bytes(), |_| None), Ok(Said::Event(event)));
    }
    let begun = ZkReply::Connected(Box::new(Connected { timeout: Millis(4_000), session: session() }));
    for reply in [begun, ZkReply::Expired] {
        assert_eq!(ZkReply::connected_from_bytes(&reply.to_bytes(XID)), Ok(reply));
    }
}

/// How a content is read, whatever comes of it.
type Reads = Box<dyn Fn(&[u8]) -> Result<(), BadBytes>>;

/// Every content there is here, and how it is read.
fn contents() -> Vec<(Vec<u8>, Reads)> {
    let mut all: Vec<(Vec<u8>, Reads)> = Vec::new();
    for request in requests() {
        all.push((request.to_bytes(XID), Box::new(|content| ZkRequest::from_bytes(content).map(drop))));
    }
    for connect in connects() {
        let content = ZkRequest::Connect(Box::new(connect)).to_bytes(XID);
        all.push((content, Box::new(|content| Connect::from_bytes(content).map(drop))));
    }
    for (asked, outcome) in answers() {
        let content = ZkReply::Answer(Box::new(Answer { zxid: Zxid(1), outcome })).to_bytes(XID);
        all.push((content, Box::new(move |content| Said::from_bytes(content, |_| Some(&asked)).map(drop))));
    }
    for event in events() {
        all.push((event.to_bytes(), Box::new(|content| Said::from_bytes(content, |_| None).map(drop))));
    }
    let expired = ZkReply::Expired.to_bytes(XID);
    all.push((expired, Box::new(|content| ZkReply::connected_from_bytes(content).map(drop))));
    all
}

#[test]
fn what_is_cut_short_or_too_long_is_an_error() {
    for (content, read) in contents() {
        assert_eq!(read(&content), Ok(()));
        for length in 0..content.len() {
            // Of a greeting the last byte may be missing: older ones have none.
            let is_older = length + 1 == content.len() && content[..4] == [0; 4];
            assert_eq!(read(&content[..length]).is_err(), !is_older, "{length} of {content:?}");
        }
        let longer = [&content[..], &[0]].concat();
        assert_eq!(read(&longer), Err(BadBytes::Long(1)), "{longer:?}");
    }
}

#[test]
fn whatever_is_sent_is_read_or_is_an_error() {
    for (content, read) in contents() {
        for at in 0..content.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut other = content.clone();
                other[at] = byte;
                // Never a panic, nor memory for a list that is not there.
                let _ = read(&other);
            }
        }
    }
}

#[test]
fn what_the_model_does_not_know_is_named() {
    let mut rights = ZkRequest::create(path(), "".into(), Mode::Persistent).to_bytes(XID);
    let at = rights.windows(5).position(|word| word == b"world").expect("its rights are in it");
    rights[at] = b'W';
    let error = ZkRequest::from_bytes(&rights).expect_err("access control").to_string();
    assert_eq!(error, r#"not modelled: access control: [(31, "World", "anyone")]"#);
    let mut other = ZkRequest::Ping.to_bytes(Xid::PING);
    other[7] = 6;
    assert_eq!(ZkRequest::from_bytes(&other), Err(BadBytes::NotModelled("operation 6".to_owned())));
    let unasked = ZkReply::Answer(Box::new(Answer { zxid: Zxid(1), outcome: Ok(Body::Nothing) })).to_bytes(Xid(3));
    let error = Said::from_bytes(&unasked, |_| None).expect_err("nobody has asked");
    assert_eq!(error, BadBytes::NotModelled("an answer to nothing, number 3".to_owned()));
}

/// As ZooKeeper 3.8.0 has answered.
#[test]
fn a_node_created_in_a_multi_has_no_stat_but_a_container() {
    let asked = ZkRequest::Multi(Box::new(Multi { ops: vec![], errand: None }));
    let header = [0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0];
    let end = [0xff, 0xff, 0xff, 0xff, 1, 0xff, 0xff, 0xff, 0xff];
    for (of, stat) in [(1, &[][..]), (15, &[0; 68])] {
        let result = [&[0, 0, 0, of, 0, 0, 0, 0, 0, 0, 0, 0, 2, b'/', b'm'], stat].concat();
        let read = Said::from_bytes(&[&header[..], &result, &end].concat(), |_| Some(&asked));
        let outcome = Ok(Body::Multi { results: vec![OpResult::Created { path: "/m".into() }] });
        assert_eq!(read, Ok(Said::Answer(XID, Answer { zxid: Zxid(4), outcome })));
    }
}

#[test]
fn a_frame_is_there_once_all_of_it_is() {
    let come = [frame(b"one"), frame(b"")].concat();
    assert_eq!(cut_frame(&come), Ok(Some((&b"one"[..], 7))));
    assert_eq!(cut_frame(&come[7..]), Ok(Some((&b""[..], 4))));
    for length in 0..7 {
        assert_eq!(cut_frame(&come[..length]), Ok(None));
    }
    assert_eq!(cut_frame(&[0xff; 4]), Err(BadBytes::Length(-1)));
    assert_eq!(cut_frame(&[0x7f, 0, 0, 0, 1]), Err(BadBytes::Length(0x7f00_0000)));
}

#[test]
fn bytes_are_as_the_source_has_them() {
    let exists = ZkRequest::Exists { path: "/a".into(), watch: true };
    assert_eq!(exists.to_bytes(XID), [0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0, 2, b'/', b'a', 1]);
    let ping = frame(&ZkRequest::Ping.to_bytes(Xid::of(&ZkRequest::Ping, XID)));
    assert_eq!(ping, [0, 0, 0, 8, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 11]);
}
