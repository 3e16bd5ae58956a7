//! What a backend keeps of its session: its settings, its transaction and savepoints, and how often it has which advisory lock.
//!
//! Source: `xact.c`, `guc.c`, and `LOCALLOCK` in `lock.c` of PostgreSQL 15.
//!
//! | | at the end of a savepoint that failed | at the end of the transaction | at the end of the session |
//! |---|---|---|---|
//! | an advisory lock of the session | stays | stays | goes |
//! | one of the transaction | goes, if it was taken since | goes | goes |
//! | a setting | as before, if it was set since | as before, if that failed or it was `LOCAL` | |

use std::collections::{BTreeMap, BTreeSet};

use host::{AttemptId, Duration, Name};

use super::api::{Scope, Setting};
use super::key::{AdvisoryKey, Strength, Xid};
use super::row::RowKey;
use crate::etcd::Errand;
use crate::lock::PgTimeouts;

/// A transaction, with its savepoints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Transaction {
    /// It was begun by `BEGIN`.
    pub(super) is_block: bool,
    /// When it began, by the server's wall clock, in µs: `now()`.
    pub(super) began: i64,
    /// The transaction itself, and behind it its savepoints.
    pub(super) levels: Vec<Level>,
    /// It was begun on a standby, and writes nothing, whatever has become of that.
    pub(super) only_reads: bool,
    /// Nothing more is done in it.
    pub(super) has_failed: bool,
    /// It has something to write down.
    pub(super) has_written: bool,
    /// What it does to objects once it commits, for the history.
    pub(super) effects: Vec<Effect>,
}

/// A write to an object that is in the server's own store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Effect {
    /// At which level of the transaction.
    pub(super) level: usize,
    pub(super) attempt: Option<AttemptId>,
    pub(super) errand: Errand,
    /// The version that it overwrites.
    pub(super) replaced: i64,
}

/// A transaction without its savepoints, or a savepoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Level {
    pub(super) savepoint: Option<Name>,
    /// Its own number, once it has one, and those of the savepoints that were released in it.
    pub(super) xids: Vec<Xid>,
    /// The rows that it has locked or written.
    pub(super) touched: BTreeSet<RowKey>,
    /// The settings, as they were when it began.
    pub(super) before: Settings,
}

/// Settings of a session.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Settings {
    session: BTreeMap<Setting, Duration>,
    local: BTreeMap<Setting, Duration>,
}

/// How often a session has an advisory lock in a mode.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Count {
    session: u32,
    /// By level of the transaction.
    levels: BTreeMap<usize, u32>,
}

/// Which advisory locks a session has.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Advisory(BTreeMap<(AdvisoryKey, Strength), Count>);

impl Settings {
    /// What counts now.
    pub(super) fn get(&self, setting: Setting, server: &PgTimeouts) -> Duration {
        let own = self.local.get(&setting).or_else(|| self.session.get(&setting));
        own.copied().unwrap_or(match setting {
            Setting::DeadlockTimeout => server.deadlock,
            Setting::LockTimeout => server.lock,
            Setting::StatementTimeout => server.statement,
            Setting::IdleSessionTimeout => server.idle_session,
            Setting::IdleInTransactionSessionTimeout => server.idle_in_transaction,
            Setting::ClientConnectionCheckInterval => server.connection_check,
        })
    }

    pub(super) fn set(&mut self, setting: Setting, to: Duration, local: bool) {
        if local {
            self.local.insert(setting, to);
        } else {
            self.local.remove(&setting);
            self.session.insert(setting, to);
        }
    }

    /// The transaction is over, and was not in vain.
    pub(super) fn end_local(&mut self) {
        self.local.clear();
    }
}

impl Transaction {
    pub(super) fn new(only_reads: bool, began: i64, settings: &Settings) -> Self {
        let (is_block, has_failed, has_written) = (false, false, false);
        let (levels, effects) = (vec![Level::new(None, settings)], Vec::new());
        Self { is_block, began, levels, only_reads, has_failed, has_written, effects }
    }

    /// The transaction's number, if it has one.
    pub(super) fn xid(&self) -> Option<Xid> {
        self.levels[0].xids.first().copied()
    }

    /// The savepoint of that name: the last, if there are several.
    pub(super) fn savepoint(&self, name: Name) -> Option<usize> {
        self.levels.iter().rposition(|level| level.savepoint == Some(name))
    }

    /// What was done since that savepoint is of the level before it.
    pub(super) fn release(&mut self, savepoint: usize) {
        for level in self.levels.split_off(savepoint) {
            let before = &mut self.levels[savepoint - 1];
            // A savepoint that has a number is in a transaction that has one.
            before.xids.extend(level.xids);
            before.touched.extend(level.touched);
        }
        for effect in &mut self.effects {
            effect.level = effect.level.min(savepoint - 1);
        }
    }
}

impl Level {
    pub(super) fn new(savepoint: Option<Name>, settings: &Settings) -> Self {
        Self { savepoint, xids: Vec::new(), touched: BTreeSet::new(), before: settings.clone() }
    }
}

impl Count {
    fn is_none(&self) -> bool {
        self.session == 0 && self.levels.is_empty()
    }
}

impl Advisory {
    /// Whether the session has it in that mode.
    pub(super) fn has(&self, key: AdvisoryKey, mode: Strength) -> bool {
        self.0.contains_key(&(key, mode))
    }

    /// It has it once more.
    pub(super) fn add(&mut self, key: AdvisoryKey, mode: Strength, scope: Scope, level: usize) {
        let count = self.0.entry((key, mode)).or_default();
        match scope {
            Scope::Session => count.session += 1,
            Scope::Transaction => *count.levels.entry(level).or_default() += 1,
        }
    }

    /// The session gives it back once. `None`: it has none that it could. Otherwise whether that was the last.
    pub(super) fn unlock(&mut self, key: AdvisoryKey, mode: Strength) -> Option<bool> {
        let count = self.0.get_mut(&(key, mode)).filter(|count| count.session > 0)?;
        count.session -= 1;
        let is_last = count.is_none();
        if is_last {
            self.0.remove(&(key, mode));
        }
        Some(is_last)
    }

    /// The session gives back all of its own. Those that it has no longer.
    pub(super) fn unlock_all(&mut self) -> Vec<(AdvisoryKey, Strength)> {
        self.drop_those(|count| count.session = 0)
    }

    /// The transaction is over from that level on. Those that it has no longer.
    pub(super) fn end_levels(&mut self, from: usize) -> Vec<(AdvisoryKey, Strength)> {
        self.drop_those(|count| _ = count.levels.split_off(&from))
    }

    /// What was taken from that level on is of the one before it.
    pub(super) fn merge_levels(&mut self, from: usize) {
        for count in self.0.values_mut() {
            let taken: u32 = count.levels.split_off(&from).into_values().sum();
            if taken > 0 {
                *count.levels.entry(from - 1).or_default() += taken;
            }
        }
    }

    /// The session is over. All that it had.
    pub(super) fn all(&mut self) -> Vec<(AdvisoryKey, Strength)> {
        std::mem::take(&mut self.0).into_keys().collect()
    }

    fn drop_those(&mut self, change: impl Fn(&mut Count)) -> Vec<(AdvisoryKey, Strength)> {
        self.0.values_mut().for_each(change);
        let gone = self.0.iter().filter(|(_, count)| count.is_none()).map(|(which, _)| *which).collect();
        self.0.retain(|_, count| !count.is_none());
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::Strength::{Exclusive, Shared};
    use super::*;

    const KEY: AdvisoryKey = AdvisoryKey::Big(1);

    #[test]
    fn a_session_gives_back_as_often_as_it_took_and_only_its_own() {
        let mut advisory = Advisory::default();
        assert_eq!(advisory.unlock(KEY, Exclusive), None);
        advisory.add(KEY, Exclusive, Scope::Session, 0);
        advisory.add(KEY, Exclusive, Scope::Session, 0);
        assert_eq!([advisory.unlock(KEY, Shared), advisory.unlock(KEY, Exclusive)], [None, Some(false)]);
        assert_eq!([advisory.unlock(KEY, Exclusive), advisory.unlock(KEY, Exclusive)], [Some(true), None]);
        advisory.add(KEY, Exclusive, Scope::Transaction, 0);
        assert_eq!(advisory.unlock(KEY, Exclusive), None, "it is the transaction's");
        assert!(advisory.has(KEY, Exclusive));
    }

    #[test]
    fn what_a_savepoint_took_goes_with_it_or_is_the_transactions() {
        let mut advisory = Advisory::default();
        advisory.add(KEY, Exclusive, Scope::Transaction, 1);
        advisory.add(KEY, Exclusive, Scope::Session, 1);
        assert_eq!(advisory.end_levels(1), [], "the session has it still");
        advisory.add(KEY, Exclusive, Scope::Transaction, 2);
        advisory.unlock(KEY, Exclusive);
        advisory.merge_levels(1);
        assert_eq!(advisory.end_levels(1), []);
        assert_eq!(advisory.end_levels(0), [(KEY, Exclusive)]);
    }

    #[test]
    fn settings_of_a_transaction_are_gone_with_it() {
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        let (mut settings, server) = (Settings::default(), PgTimeouts::default());
        let get = |settings: &Settings| settings.get(Setting::LockTimeout, &server);
        settings.set(Setting::LockTimeout, second, false);
        settings.set(Setting::LockTimeout, minute, true);
        assert_eq!(get(&settings), minute);
        settings.end_local();
        assert_eq!(get(&settings), second);
        assert_eq!(settings.get(Setting::DeadlockTimeout, &server), second, "the server's own");
    }
}
