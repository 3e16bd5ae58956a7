//! Random requests: what they are made of.
//!
//! Few keys, which share prefixes, few leases and few values, so that they meet. Revisions are told by what they are to
//! the cluster then: the newest, the one before, one of a key, one that has not been.

use models::etcd::store::Store;
use models::etcd::{
    Compare, Delete, Key, Keys, LeaseId, Op, Operand, Order, Put, Range, Relation, Revision, Rpc, SortBy, Txn, Value,
    Watch,
};
use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any};
use proptest::sample::select;
use proptest::{option, prop_oneof};

/// How many clients there are.
pub(crate) const CLIENTS: usize = 4;

/// One thing that happens.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Step {
    /// A client asks. Its revisions are still [to be told](told).
    Ask(usize, Rpc),
    /// Time passes until every lease that lives for few seconds has ended.
    LetEnd,
}

/// So many requests, and at the end a watch on what has happened; `ends`: on the way, leases end by themselves.
pub(crate) fn sequences(length: usize, ends: bool) -> impl Strategy<Value = (Vec<Step>, Watch)> {
    let ask = || (0..CLIENTS, requests(ends)).prop_map(|(client, rpc)| Step::Ask(client, rpc));
    let steps = (vec(ask(), length / 2), vec(ask(), length / 2)).prop_map(move |(mut steps, rest)| {
        if ends {
            steps.push(Step::LetEnd);
        }
        steps.extend(rest);
        steps
    });
    (steps, watches())
}

fn requests(ends: bool) -> BoxedStrategy<Rpc> {
    // A lease that lives for two seconds, or for a minute.
    let ttl = if ends { vec![-5, 0, 1, 2, 2, 60] } else { vec![60, 61, 9_000_000_000, 9_000_000_001] };
    prop_oneof![
        20 => ranges().prop_map(Rpc::from),
        22 => puts().prop_map(Rpc::from),
        8 => deletes().prop_map(Rpc::from),
        25 => txns().prop_map(Rpc::from),
        12 => (leases(), select(ttl)).prop_map(|(id, ttl)| Rpc::LeaseGrant { ttl, id: Some(id) }),
        3 => leases().prop_map(|id| Rpc::LeaseRevoke { id }),
        4 => leases().prop_map(|id| Rpc::LeaseKeepAlive { id }),
        6 => (leases(), any::<bool>()).prop_map(|(id, keys)| Rpc::LeaseTimeToLive { id, keys }),
    ]
    .boxed()
}

fn keys() -> impl Strategy<Value = Key> {
    let queue = |lease: LeaseId| Key::under("L/".into(), lease);
    prop_oneof![
        4 => leases().prop_map(queue),
        6 => select(vec!["a", "ab", "b", "L", "L/64", "L0", "data"]).prop_map(Key::from),
        1 => Just(Key::from("")),
    ]
}

fn leases() -> impl Strategy<Value = LeaseId> {
    select(vec![1, 10, 0x64, 0xc8]).prop_map(|number| LeaseId::new(number).expect("not 0"))
}

fn values() -> impl Strategy<Value = Value> {
    select(vec!["", "v", "w", "vv"]).prop_map(Value::from)
}

fn ranged() -> impl Strategy<Value = Keys> {
    let between = select(vec![("L/", "L/7"), ("a", "b"), ("L", "a"), ("L/1", "L0"), ("a", "z")]);
    prop_oneof![
        4 => keys().prop_map(Keys::One),
        4 => select(vec!["L/", "L", "a", "L/1", ""]).prop_map(|prefix| Keys::Under(prefix.into())),
        2 => between.prop_map(|(first, end)| Keys::Between(first.into(), end.into())),
    ]
}

/// Words for revisions, until it is known what they are.
fn revisions() -> impl Strategy<Value = Revision> {
    (0..WORDS).prop_map(Revision)
}

const WORDS: u64 = 8;

/// The revision that the word means to the cluster as it is, for a key.
fn meant(word: Revision, key: Option<Key>, store: &Store) -> Revision {
    let now = store.revision().0;
    let kv = key.and_then(|key| store.get(&key));
    Revision(match word.0 {
        0 => 0,
        1 => now,
        2 => now - 1,
        3 => now.saturating_sub(5),
        4 => now + 1,
        5 => now.saturating_sub(12),
        6 => kv.map_or(now, |kv| kv.create_revision.0),
        _ => kv.map_or(now, |kv| kv.mod_revision.0),
    })
}

fn ranges() -> impl Strategy<Value = Range> {
    let by = select(vec![SortBy::Key, SortBy::Version, SortBy::Create, SortBy::Create, SortBy::Mod, SortBy::Value]);
    let sort = option::of((by, select(vec![Order::Ascending, Order::Descending])));
    (
        ranged(),
        option::of(1_u64..4),
        option::weighted(0.3, revisions()),
        sort,
        option::weighted(0.2, revisions()),
        any::<bool>(),
        proptest::bool::weighted(0.1),
    )
        .prop_map(|(keys, limit, revision, sort, created_by, serializable, count_only)| Range {
            keys,
            limit,
            revision,
            sort,
            created_by,
            serializable,
            count_only,
        })
}

fn puts() -> impl Strategy<Value = Put> {
    (keys(), values(), option::weighted(0.6, leases()), any::<bool>()).prop_map(|(key, value, lease, prev_kv)| Put {
        key,
        value,
        lease,
        prev_kv,
    })
}

fn deletes() -> impl Strategy<Value = Delete> {
    // Seldom all there is.
    let keys = prop_oneof![8 => keys().prop_map(Keys::One), 1 => ranged()];
    (keys, any::<bool>()).prop_map(|(keys, prev_kv)| Delete { keys, prev_kv })
}

fn txns() -> BoxedStrategy<Txn> {
    let free = (vec(compares(), 0..3), vec(ops(), 0..4), vec(ops(), 0..4))
        .prop_map(|(compare, success, failure)| Txn { compare, success, failure, errand: None });
    prop_oneof![3 => free, 1 => leases().prop_map(enters)].boxed()
}

/// How a lock's queue is entered.
fn enters(lease: LeaseId) -> Txn {
    let (queue, key) = ("L/".into(), Key::under("L/".into(), lease));
    let first = || Op::Range(Range::first_created(queue));
    Txn {
        compare: vec![Compare { key, relation: Relation::Equal, operand: Operand::Version(0) }],
        success: vec![Op::Put(Put::new(key, "".into(), Some(lease))), first()],
        failure: vec![Op::Range(Range::of(Keys::One(key))), first()],
        errand: None,
    }
}

fn ops() -> impl Strategy<Value = Op> {
    prop_oneof![
        2 => ranges().prop_map(Op::Range),
        3 => puts().prop_map(Op::Put),
        1 => deletes().prop_map(Op::Delete),
    ]
}

fn compares() -> impl Strategy<Value = Compare> {
    let operand = prop_oneof![
        3 => revisions().prop_map(Operand::Create),
        3 => revisions().prop_map(Operand::Mod),
        2 => (0_u64..4).prop_map(Operand::Version),
        2 => option::of(leases()).prop_map(Operand::Lease),
        2 => values().prop_map(Operand::Value),
    ];
    let relation =
        select(vec![Relation::Equal, Relation::Equal, Relation::NotEqual, Relation::Greater, Relation::Less]);
    (keys(), relation, operand).prop_map(|(key, relation, operand)| Compare { key, relation, operand })
}

fn watches() -> impl Strategy<Value = Watch> {
    (ranged(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(keys, no_put, no_delete, prev_kv)| Watch {
        keys,
        from: None,
        no_put,
        no_delete,
        prev_kv,
    })
}

/// The request as it is asked of a cluster of so many members: its revisions told. With one member, reads may be served
/// from what it has.
///
/// One that does nothing is such a read too, whoever is asked: several members are not asked for that.
///
/// A transaction that would write, and reads a revision that has not been, is refused by the member that was asked, and done by
/// all others: they leave out what it reads (etcd#18667). It is put to one member alone.
pub(crate) fn told(rpc: &Rpc, store: &Store, members: usize) -> Rpc {
    let is_local = members == 1;
    let mut rpc = rpc.clone();
    match &mut rpc {
        Rpc::Range(range) => tell_range(range, store, is_local),
        Rpc::Txn(txn) => {
            for compare in &mut txn.compare {
                if let Operand::Create(revision) | Operand::Mod(revision) = &mut compare.operand {
                    *revision = meant(*revision, Some(compare.key), store);
                }
            }
            if !is_local && txn.success.is_empty() && txn.failure.is_empty() {
                txn.success.push(Op::Range(Range::of(Keys::Under("L/".into()))));
            }
            for op in txn.success.iter_mut().chain(&mut txn.failure) {
                if let Op::Range(range) = op {
                    tell_range(range, store, is_local);
                    range.revision = range.revision.filter(|revision| is_local || *revision <= store.revision());
                }
            }
        }
        _ => {}
    }
    rpc
}

fn tell_range(range: &mut Range, store: &Store, is_local: bool) {
    let key = match range.keys {
        Keys::One(key) => Some(key),
        _ => None,
    };
    let tell = |word: &mut Option<Revision>| {
        *word = word.map(|word| meant(word, key, store)).filter(|revision| revision.0 > 0);
    };
    tell(&mut range.revision);
    tell(&mut range.created_by);
    range.serializable &= is_local;
}
