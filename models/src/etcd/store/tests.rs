use super::*;
use crate::etcd::Value;

fn put(key: &str, value: &str) -> Put {
    Put::new(key.into(), value.into(), None)
}

#[test]
fn one_count_of_revisions_for_all_keys_and_none_for_what_changes_nothing() {
    let mut store = Store::new(2);
    let mut revision = |change: Change| store.apply(&change).map(|(revision, _)| revision.0);
    let gone = || Change::Delete(Delete::one("gone".into()));
    assert_eq!(revision(Change::Put(put("a", "1"))), Ok(2));
    assert_eq!(revision(Change::Put(put("b", "1"))), Ok(3));
    assert_eq!(revision(gone()), Ok(3));
    assert_eq!(
        revision(Change::Txn(Txn { success: vec![Op::Delete(Delete::one("gone".into()))], ..Txn::default() })),
        Ok(3)
    );
    let both = vec![Op::Put(put("a", "2")), Op::Put(put("b", "2")), Op::Delete(Delete::one("gone".into()))];
    assert_eq!(revision(Change::Txn(Txn { success: both, ..Txn::default() })), Ok(4));
    assert_eq!(revision(Change::Grant { id: lease(7), ttl: 5 }), Ok(4));
    assert_eq!(revision(Change::Revoke { id: lease(7) }), Ok(4));
}

#[test]
fn a_key_hangs_on_the_lease_of_its_last_put_alone() {
    let mut store = Store::new(2);
    for id in [7, 8] {
        store.apply(&Change::Grant { id: lease(id), ttl: 5 }).expect("granted");
    }
    let mut on = |id: u64| store.apply(&Change::Put(Put { lease: LeaseId::new(id), ..put("a", "1") })).expect("put");
    on(7);
    on(8);
    assert_eq!(keys_of(&store), [vec![], vec!["a".into()]]);
    store.apply(&Change::Revoke { id: lease(7) }).expect("revoked");
    assert!(store.get(&"a".into()).is_some());
    store.apply(&Change::Put(put("a", "2"))).expect("put");
    assert_eq!(keys_of(&store), [Vec::<Key>::new()]);
    assert_eq!(
        store.apply(&Change::Put(Put { lease: LeaseId::new(7), ..put("a", "1") })),
        Err(EtcdError::LeaseNotFound)
    );
}

#[test]
fn what_hangs_on_a_revoked_lease_goes_in_one_revision() {
    let mut store = Store::new(2);
    store.apply(&Change::Grant { id: lease(7), ttl: 5 }).expect("granted");
    for key in ["b", "a"] {
        store.apply(&Change::Put(Put { lease: LeaseId::new(7), ..put(key, "1") })).expect("put");
    }
    let was = store.history().len();
    assert_eq!(store.apply(&Change::Revoke { id: lease(7) }).map(|(revision, _)| revision), Ok(Revision(4)));
    let gone: Vec<_> = store.history()[was..].iter().map(|kind| (kind.key(), kind.revision())).collect();
    assert_eq!(gone, [("a".into(), Revision(4)), ("b".into(), Revision(4))]);
}

#[test]
fn the_past_is_as_it_was() {
    let mut store = Store::new(2);
    for value in ["1", "2"] {
        store.apply(&Change::Put(put("a", value))).expect("put");
    }
    store.apply(&Change::Delete(Delete::one("a".into()))).expect("deleted");
    let at = |revision| {
        let range = Range { revision: Some(Revision(revision)), ..Range::of(Keys::One("a".into())) };
        store.read(&range).map(|(_, body)| match body {
            Body::Range { kvs, .. } => kvs.into_iter().map(|kv| kv.value).next(),
            _ => panic!("a range"),
        })
    };
    assert_eq!(at(1), Ok(None));
    assert_eq!(at(2), Ok(Some(Value::from("1"))));
    assert_eq!(at(3), Ok(Some(Value::from("2"))));
    assert_eq!([at(4), at(0)], [Ok(None), Ok(None)]);
    assert_eq!(at(5), Err(EtcdError::FutureRevision));
}

fn lease(number: u64) -> LeaseId {
    LeaseId::new(number).expect("not 0")
}

fn keys_of(store: &Store) -> Vec<Vec<Key>> {
    store.leases().values().map(|lease| lease.keys.iter().copied().collect()).collect()
}
