use serde_json::json;

use super::*;
use crate::etcd::{Compare, Delete, EtcdError, Op, Operand, Order, Put, Range, Relation, Revision, SortBy, Txn, Watch};

fn requests() -> Vec<Rpc> {
    let (key, lease) = (Key::from("L/64"), crate::etcd::LeaseId::new(100));
    let compare = |operand| Compare { key, relation: Relation::NotEqual, operand };
    let operands = [
        Operand::Create(Revision(0)),
        Operand::Mod(Revision(7)),
        Operand::Version(1),
        Operand::Lease(lease),
        Operand::Lease(None),
        Operand::Value("v".into()),
    ];
    let txn = Txn {
        compare: operands.map(compare).to_vec(),
        success: vec![Op::Put(Put::new(key, "".into(), lease)), Op::Range(Range::first_created("L/".into()))],
        failure: vec![Op::Delete(Delete::one(key)), Op::Range(Range::last_created_by("L/".into(), Revision(4)))],
        errand: None,
    };
    let id = lease.expect("not 0");
    let between = Keys::Between("a".into(), "c".into());
    let sorted = Range { sort: Some((SortBy::Value, Order::Descending)), limit: Some(3), ..Range::of(between) };
    vec![
        sorted.into(),
        Range { revision: Some(Revision(9)), serializable: true, count_only: true, ..Range::of(Keys::One(key)) }.into(),
        Range::of(Keys::Under("".into())).into(),
        Put { prev_kv: true, ..Put::new(key, "v".into(), None) }.into(),
        Delete { keys: Keys::Under("L/".into()), prev_kv: true }.into(),
        txn.into(),
        Rpc::LeaseGrant { ttl: -5, id: lease },
        Rpc::LeaseGrant { ttl: 60, id: None },
        Rpc::LeaseRevoke { id },
        Rpc::LeaseKeepAlive { id },
        Rpc::LeaseTimeToLive { id, keys: true },
        Watch { no_put: true, prev_kv: true, ..Watch::of(Keys::One(key), Some(Revision(3))) }.into(),
        Rpc::WatchCancel { id: crate::etcd::WatchId(2) },
        Rpc::Lock { name: "M".into(), lease },
        Rpc::Unlock { key },
    ]
}

#[test]
fn what_is_said_is_what_is_read() {
    for rpc in requests() {
        let (path, body) = rpc.to_json();
        assert_eq!(Rpc::from_json(path, &body), Ok(rpc.clone()), "{rpc}: {body}");
    }
}

#[test]
fn what_the_model_does_not_know_is_named() {
    let unknown = |path, body| Rpc::from_json(path, &body).expect_err("it is not modelled").0;
    assert_eq!(unknown("/v3/kv/put", json!({"key": "YQ==", "ignore_value": true})), "ignore_value: true");
    assert_eq!(unknown("/v3/kv/compaction", json!({})), "/v3/kv/compaction");
    assert_eq!(unknown("/v3/kv/range", json!({"key": "YQ==", "range_end": "AA=="})), "a range without end");
    assert_eq!(unknown("/v3/lease/revoke", json!({"ID": "0"})), "lease 0");
    assert_eq!(unknown("/v3/lease/grant", json!({"TTL": "many"})), "TTL: not such a number");
}

#[test]
fn errors_have_the_status_of_their_code() {
    for error in EtcdError::ALL {
        let (status, body) = Reply::Failed(error).to_json();
        let read = Reply::from_json(&Rpc::LeaseGrant { ttl: 1, id: None }, NodeId::new(0), status, &body);
        assert_eq!(read, Ok(Reply::Failed(error)), "{body}");
        assert_ne!(status, 200);
    }
    let in_a_stream = json!({"error": {"grpc_code": 14, "http_code": 503, "message": "etcdserver: no leader"}});
    let keep = Rpc::LeaseKeepAlive { id: crate::etcd::LeaseId::new(1).expect("not 0") };
    let read = Reply::from_json(&keep, NodeId::new(0), 503, &in_a_stream);
    assert_eq!(read, Ok(Reply::Failed(EtcdError::NoLeader)));
}
