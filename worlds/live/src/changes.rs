//! From what the servers of a ZooKeeper ensemble have written down, and what clients said they had asked, to who owned which lock
//! when.
//!
//! Each server's log has every change in the order of its number, with the session and the number of the request that asked for
//! it, so that nobody has to guess whose it was: a client's process gives no two of its requests one number. What a majority has
//! written down counts. The end of a session that nobody asked for is its time being over. Who then owns which lock is the model's own
//! rule ([`models::zookeeper::owners`]), over the model's own tree.
//!
//! A log says when a change was proposed by the leader's wall clock, in ms. It happened no earlier than it was asked for, and no
//! later than it was answered.

use std::collections::BTreeMap;

use host::{AttemptId, NodeId, Segment, SimTime};
use models::zookeeper::owners::Owners;
use models::zookeeper::tree::{Change, Tree};
use models::zookeeper::wire::Logged;
use models::zookeeper::{SessionId, Zxid};
use spec::{Cause, Entry, Note};

use crate::revisions::Account;

/// What a client has asked in a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) at: SimTime,
    pub(crate) attempt: Option<AttemptId>,
    /// When the answer was there, if one came.
    pub(crate) answered: Option<SimTime>,
}

/// Everything that was asked, by session and number.
pub(crate) type AllAsked = BTreeMap<(SessionId, i32), Asked>;

/// Makes up the account of an ensemble, which the history calls so. `machine`: what the machine's clocks read as the run began.
pub(crate) fn account(ensemble: NodeId, machine: Segment, logs: &[(NodeId, Vec<Logged>)], asked: &AllAsked) -> Account {
    let mut account = Account::default();
    let (mut tree, mut owners, mut last) = (Tree::default(), Owners::default(), SimTime::ZERO);
    for logged in agreed(logs, &mut account) {
        let doer = asked.get(&(logged.session, logged.xid.0));
        let done = logged.apply(&mut tree);
        if done.zxid != logged.zxid {
            account.doubts.push(format!("the ensemble's log has no change before {}", logged.zxid));
            return account;
        }
        let is_over = matches!(logged.change, Ok(Change::Close { .. })) && doer.is_none();
        let attempt = doer.and_then(|doer| doer.attempt);
        let cause = if is_over { Cause::SessionEnd } else { Cause::Request(attempt) };
        last = last.max(when(&logged, machine, doer));
        for (key, attempt) in owners.take(&done.happened, attempt, &tree) {
            let note = Note::Owner { authority: ensemble, key, attempt, cause };
            account.entries.push(Entry { at: last, node: ensemble, note });
        }
    }
    account
}

/// What a majority has written down, in order. Who has written something else there disagrees.
fn agreed(logs: &[(NodeId, Vec<Logged>)], account: &mut Account) -> Vec<Logged> {
    let mut all: BTreeMap<Zxid, Vec<&Logged>> = BTreeMap::new();
    for (_, log) in logs {
        for logged in log {
            all.entry(logged.zxid).or_default().push(logged);
        }
    }
    let mut agreed = Vec::new();
    for (zxid, told) in all {
        let same = told.iter().filter(|other| is_same(other, told[0])).count();
        if same < told.len() {
            account.doubts.push(format!("servers of the ensemble have different changes {zxid}"));
        }
        if told.len() > logs.len() / 2 {
            agreed.push(told[0].clone());
        }
    }
    agreed
}

/// Whether two servers tell of one change.
fn is_same(one: &Logged, other: &Logged) -> bool {
    // Of what could not be done they may say why in different words.
    (one.session, one.xid) == (other.session, other.xid) && one.change.is_ok() == other.change.is_ok()
}

/// When that happened, as far as is known.
fn when(logged: &Logged, machine: Segment, doer: Option<&Asked>) -> SimTime {
    let since = logged.at.as_nanos().saturating_sub(machine.wall);
    let proposed = SimTime::from_nanos(u64::try_from(since).unwrap_or(0));
    let Some(doer) = doer else { return proposed };
    proposed.max(doer.at).min(doer.answered.unwrap_or(SimTime::NEVER))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use host::{Ppm, Ticking, WallTime};
    use models::zookeeper::api::{Create, Mode, Op};
    use models::zookeeper::wire::Xid;
    use models::zookeeper::{Millis, ZkError};

    use super::*;

    const ENSEMBLE: NodeId = NodeId::new(0);
    const SESSION: SessionId = SessionId(7);

    fn machine() -> Segment {
        let (mono, boot, wall) = (0, 0, 1_000_000_000);
        Segment { since: SimTime::ZERO, mono, boot, wall, rate: Ppm::ZERO, ticking: Ticking::All }
    }

    fn ms(ms: u64) -> SimTime {
        SimTime::from_nanos(ms * 1_000_000)
    }

    fn attempt(nth: u32) -> AttemptId {
        AttemptId::new(NodeId::new(4), NonZeroU32::new(nth).expect("not 0"))
    }

    /// A log in which each change is so many ms after the run's beginning, asked for with that number.
    fn log(changes: &[(i64, i32, Result<Change, ZkError>)]) -> Vec<Logged> {
        let of = |(place, (at, xid, change)): (usize, &(i64, i32, Result<Change, ZkError>))| Logged {
            zxid: Zxid(place as u64 + 1),
            at: WallTime::from_millis(1_000 + at),
            session: SESSION,
            xid: Xid(*xid),
            change: change.clone(),
        };
        changes.iter().enumerate().map(of).collect()
    }

    fn create(path: &str, mode: Mode) -> Result<Change, ZkError> {
        let op = Op::Create(Create { path: path.into(), data: "".into(), mode });
        Ok(Change::One { session: SESSION, op })
    }

    fn changes() -> Vec<(i64, i32, Result<Change, ZkError>)> {
        vec![
            (0, 0, Ok(Change::Open { session: SESSION, timeout: Millis(4_000) })),
            (1, 1, create("/locks", Mode::Persistent)),
            (2, 2, create("/locks/orders", Mode::Persistent)),
            (3, 3, Err(ZkError::NodeExists)),
            (4, 4, create("/locks/orders/0000000000000001-lock-0000000000", Mode::Ephemeral)),
            (5_000, 0, Ok(Change::Close { session: SESSION })),
        ]
    }

    fn asked() -> AllAsked {
        let asked = Asked { at: ms(5), attempt: Some(attempt(1)), answered: Some(ms(6)) };
        BTreeMap::from([((SESSION, 4), asked)])
    }

    #[test]
    fn a_change_is_its_askers_and_the_end_of_a_session_nobodys() {
        let logs: Vec<_> = (0..3).map(|node| (NodeId::new(node), log(&changes()))).collect();
        let account = account(ENSEMBLE, machine(), &logs, &asked());
        assert_eq!(account.doubts, Vec::<String>::new());
        let owner = |at, attempt, cause| Entry {
            at,
            node: ENSEMBLE,
            note: Note::Owner { authority: ENSEMBLE, key: "orders".into(), attempt, cause },
        };
        let told = [
            owner(ms(5), Some(attempt(1)), Cause::Request(Some(attempt(1)))),
            owner(ms(5_000), None, Cause::SessionEnd),
        ];
        assert_eq!(account.entries, told, "not before it was asked");
    }

    #[test]
    fn what_no_majority_has_written_down_is_no_change_and_a_gap_is_a_doubt() {
        let whole = log(&changes());
        let logs = vec![
            (NodeId::new(0), whole.clone()),
            (NodeId::new(1), whole[..4].to_vec()),
            (NodeId::new(2), whole[..4].to_vec()),
        ];
        let found = account(ENSEMBLE, machine(), &logs, &asked());
        assert_eq!((found.entries, found.doubts), (Vec::new(), Vec::new()));
        let gap = vec![(NodeId::new(0), whole[1..].to_vec())];
        assert_eq!(account(ENSEMBLE, machine(), &gap, &asked()).doubts.len(), 1);
    }
}
