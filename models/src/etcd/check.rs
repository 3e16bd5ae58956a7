//! What a server refuses before anything is proposed or read.
//!
//! Source: `etcdserver/api/v3rpc/key.go` of etcd 3.4.23.

use std::collections::BTreeSet;

use super::api::{Op, Rpc, Txn};
use super::error::EtcdError;
use super::key::{Key, Keys};

/// As many compares, or operations of a branch, may a transaction have.
const MOST_OPS: usize = 128;

/// Looks at the form of a request.
///
/// # Errors
/// What is wrong with it.
pub fn check(rpc: &Rpc) -> Result<(), EtcdError> {
    match rpc {
        Rpc::Range(range) => has_key(&range.keys),
        Rpc::Put(put) => has_bytes(put.key),
        Rpc::Delete(delete) => has_key(&delete.keys),
        Rpc::Unlock { key } if key.is_empty() => Err(EtcdError::LockEmptyKey),
        Rpc::Txn(txn) => check_txn(txn),
        // A watch without a key is one from the first key on; a lease's number is any but 0.
        Rpc::Watch(_)
        | Rpc::WatchCancel { .. }
        | Rpc::LeaseGrant { .. }
        | Rpc::LeaseRevoke { .. }
        | Rpc::LeaseKeepAlive { .. }
        | Rpc::LeaseTimeToLive { .. }
        | Rpc::Lock { .. }
        | Rpc::Unlock { .. } => Ok(()),
    }
}

const fn has_bytes(key: Key) -> Result<(), EtcdError> {
    if key.is_empty() { Err(EtcdError::EmptyKey) } else { Ok(()) }
}

const fn has_key(keys: &Keys) -> Result<(), EtcdError> {
    match keys {
        Keys::One(key) | Keys::Between(key, _) => has_bytes(*key),
        // All keys are under no prefix, and are asked for as all from the first one on.
        Keys::Under(_) => Ok(()),
    }
}

fn check_txn(txn: &Txn) -> Result<(), EtcdError> {
    let most = txn.compare.len().max(txn.success.len()).max(txn.failure.len());
    if most > MOST_OPS {
        return Err(EtcdError::TooManyOps);
    }
    txn.compare.iter().try_for_each(|compare| has_bytes(compare.key))?;
    for op in txn.success.iter().chain(&txn.failure) {
        match op {
            Op::Range(range) => has_key(&range.keys)?,
            Op::Put(put) => has_bytes(put.key)?,
            Op::Delete(delete) => has_key(&delete.keys)?,
        }
    }
    changes_once(&txn.success)?;
    changes_once(&txn.failure)
}

/// No key is put twice, nor put and deleted, in whatever order. But all keys may be deleted, and some of them put: the end
/// of all keys is taken for the first one there, and nothing is between that and itself.
fn changes_once(ops: &[Op]) -> Result<(), EtcdError> {
    let mut puts = BTreeSet::new();
    for op in ops {
        let Op::Put(put) = op else { continue };
        let is_deleted =
            |op: &Op| matches!(op, Op::Delete(delete) if !delete.keys.are_all() && delete.keys.contains(&put.key));
        if !puts.insert(put.key) || ops.iter().any(is_deleted) {
            return Err(EtcdError::DuplicateKey);
        }
    }
    Ok(())
}
