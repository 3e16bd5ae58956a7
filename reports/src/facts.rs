//! What a history shows of one attempt and of one operation: the raw material of stories.
//!
//! Nothing is inferred here beyond reading clocks: what the history does not show is `None`.

use std::collections::BTreeMap;

use host::{AttemptId, MonoTime, NodeId, SimTime};
use spec::{Activity, History, LockName, Mode, Note, OpId, Token, Version};

/// What became of one attempt, as far as it had come by some instant.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) attempt: AttemptId,
    pub(crate) asked: Option<SimTime>,
    /// Which lock it asked for.
    pub(crate) lock: Option<LockName>,
    /// Whether it asked to have the lock together with all others that ask so.
    pub(crate) shares: bool,
    pub(crate) granted: Option<Granted>,
    /// Whether any server had named it as the owner when it was granted.
    pub(crate) was_owner: bool,
    /// The last time that it extended its lease, and to when.
    pub(crate) extended: Option<(SimTime, MonoTime)>,
    pub(crate) told_of_loss: Option<SimTime>,
    pub(crate) releasing: Option<SimTime>,
    /// When its client's process died.
    pub(crate) died: Option<SimTime>,
}

/// The moment at which a client took the lock to be its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Granted {
    pub(crate) at: SimTime,
    pub(crate) token: Option<Token>,
    pub(crate) until: Option<MonoTime>,
}

impl Claim {
    /// The attempt as it stood at `by`.
    pub(crate) fn of(history: &History, attempt: AttemptId, by: SimTime) -> Self {
        let mut claim = Self {
            attempt,
            asked: None,
            lock: None,
            shares: false,
            granted: None,
            was_owner: false,
            extended: None,
            told_of_loss: None,
            releasing: None,
            died: None,
        };
        for entry in history.entries.iter().take_while(|entry| entry.at <= by) {
            claim.take(entry.at, &entry.note);
        }
        if let (Some(granted), Some(client)) = (claim.granted, history.nodes.get(attempt.client().index())) {
            let is_death =
                |(at, activity): &&(SimTime, Activity)| *activity == Activity::Dead && granted.at <= *at && *at <= by;
            claim.died = client.activity.iter().find(is_death).map(|(at, _)| *at);
        }
        claim
    }

    /// Who was granted the same lock last before that attempt was.
    pub(crate) fn before(history: &History, attempt: AttemptId) -> Option<AttemptId> {
        let mut locks = BTreeMap::new();
        let mut last = BTreeMap::new();
        for entry in &history.entries {
            match entry.note {
                Note::Attempting { attempt, lock, .. } => {
                    locks.insert(attempt, lock);
                }
                Note::Granted { attempt: granted, .. } => {
                    let before = last.insert(locks.get(&granted).copied(), granted);
                    if granted == attempt {
                        return before;
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Whom a server that the attempt counted had as the owner of its lock when it was granted that.
    pub(crate) fn owner_then(history: &History, attempt: AttemptId) -> Option<(NodeId, AttemptId)> {
        let (mut locks, mut owners) = (BTreeMap::new(), BTreeMap::new());
        for entry in &history.entries {
            match entry.note {
                Note::Attempting { attempt, lock, .. } => _ = locks.insert(attempt, lock),
                Note::Owner { authority, key, attempt: Some(owner), .. } => _ = owners.insert((authority, key), owner),
                Note::Owner { authority, key, attempt: None, .. } => _ = owners.remove(&(authority, key)),
                Note::Granted { attempt: granted, counted, .. } if granted == attempt => {
                    let is_of_it = |((server, _), owner): &(&(NodeId, LockName), &AttemptId)| {
                        counted.contains(*server) && locks.get(*owner) == locks.get(&attempt)
                    };
                    return owners.iter().find(is_of_it).map(|((server, _), owner)| (*server, *owner));
                }
                _ => {}
            }
        }
        None
    }

    fn take(&mut self, at: SimTime, note: &Note) {
        let own = self.attempt;
        match *note {
            Note::Attempting { attempt, lock, mode, .. } if attempt == own => {
                (self.asked, self.lock) = (self.asked.or(Some(at)), Some(lock));
                self.shares = mode == Mode::Shared;
            }
            Note::Owner { attempt, .. } if attempt == Some(own) => self.was_owner |= self.granted.is_none(),
            Note::Granted { attempt, token, until, .. } if attempt == own => {
                self.granted = self.granted.or(Some(Granted { at, token, until }));
            }
            Note::Renewed { attempt, until } if attempt == own => self.extended = Some((at, until)),
            Note::ToldOfLoss { attempt } if attempt == own => self.told_of_loss = self.told_of_loss.or(Some(at)),
            Note::Releasing { attempt } if attempt == own => self.releasing = self.releasing.or(Some(at)),
            _ => {}
        }
    }

    /// When, in true time, its own clock reaches the end of its lease. `None`: it has no lease, or its
    /// clock stands still for ever.
    pub(crate) fn deadline(&self, history: &History) -> Option<SimTime> {
        let until = self.extended.map(|(_, until)| until).or(self.granted?.until)?;
        Some(history.when(self.attempt.client(), until)).filter(|at| *at != SimTime::NEVER)
    }
}

/// One operation that reached the resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation<'h> {
    /// When the resource answered.
    pub(crate) at: SimTime,
    /// Its place in the history.
    pub(crate) entry: usize,
    pub(crate) attempt: Option<AttemptId>,
    pub(crate) op: OpId,
    pub(crate) object: &'h str,
    pub(crate) answer: Answer,
}

/// What the resource made of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Read(Version),
    Wrote { based_on: Option<Version>, replaced: Version },
    Marked,
    Effected,
    Refused,
}

impl<'h> Operation<'h> {
    /// The operation that the resource answered in that entry.
    pub(crate) fn at(history: &'h History, entry: usize) -> Option<Self> {
        let noted = history.entries.get(entry)?;
        let (attempt, op, object, answer) = match &noted.note {
            Note::Read { attempt, op, object, version } => (attempt, op, object, Answer::Read(*version)),
            Note::Wrote { attempt, op, object, based_on, replaced } => {
                (attempt, op, object, Answer::Wrote { based_on: *based_on, replaced: *replaced })
            }
            Note::Marked { attempt, op, object } => (attempt, op, object, Answer::Marked),
            Note::Effected { attempt, op, effect } => (attempt, op, effect, Answer::Effected),
            Note::Refused { attempt, op, object } => (attempt, op, object, Answer::Refused),
            _ => return None,
        };
        Some(Self { at: noted.at, entry, attempt: *attempt, op: *op, object, answer })
    }

    /// All operations that reached the resource, in order.
    pub(crate) fn all(history: &'h History) -> impl DoubleEndedIterator<Item = Self> {
        (0..history.entries.len()).filter_map(|entry| Self::at(history, entry))
    }

    /// When its client decided on it, and when it left, if both are known.
    pub(crate) fn departure(&self, history: &History) -> Option<(SimTime, SimTime)> {
        let own = self.attempt?;
        let (mut checked, mut left) = (None, None);
        for entry in &history.entries[..self.entry] {
            match entry.note {
                Note::Checked { attempt, op } if attempt == own && op == self.op => checked = Some(entry.at),
                Note::Left { attempt, op } if attempt == own && op == self.op => left = Some(entry.at),
                _ => {}
            }
        }
        checked.zip(left)
    }

    /// How many operations of the same attempt the resource accepted before it.
    pub(crate) fn accepted_before(&self, history: &'h History) -> u64 {
        let is_accepted = |one: &Self| one.attempt == self.attempt && one.answer != Answer::Refused;
        Self::all(history).take_while(|one| one.entry < self.entry).filter(is_accepted).count() as u64
    }

    /// Who wrote the version that it read or replaced: the last writer of the object before it.
    pub(crate) fn predecessor(&self, history: &'h History) -> Option<Self> {
        let is_write = |before: &Self| matches!(before.answer, Answer::Wrote { .. }) && before.object == self.object;
        Self::all(history).take_while(|before| before.entry < self.entry).filter(is_write).last()
    }

    /// What it is, as far as the answer shows.
    pub(crate) const fn noun(&self) -> &'static str {
        match self.answer {
            Answer::Read(_) => "read",
            Answer::Wrote { .. } => "write",
            Answer::Marked => "mark",
            Answer::Effected => "side effect",
            Answer::Refused => "operation",
        }
    }
}
