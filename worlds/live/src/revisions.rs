//! From what the members of an etcd cluster told of their revisions, and what clients said they had asked and been
//! answered, to who owned which key when.
//!
//! The order is the log's: each revision is one entry of it, and every member tells all of them, one after the other. A
//! revision happened no later than anybody heard of it, and no earlier than it was asked for. The first member to tell of
//! one speaks for the cluster; who makes something else of it disagrees.
//!
//! Members name no attempts. Whose a revision is says the answer that has its number; without an answer, that it is what
//! somebody had asked for; and if nobody had, and all that went hung on one lease, the lease was over. Where two could
//! have been it, nobody knows. Who then owns which lock is the model's own rule
//! ([`models::etcd::owners`]).

mod doers;

use std::collections::BTreeMap;

use host::{AttemptId, Name, NodeId, SimTime};
use models::etcd::answer::version_found;
use models::etcd::owners::{Owners, Passed, found_own};
use models::etcd::{Body, Compare, Errand, Event, EventKind, Key, KeyValue, LeaseId, Op, Reply, Revision, Rpc, Txn};
use spec::{Cause, Entry, Note, Version};

use self::doers::{Doer, Doers};
use crate::line::Asks;

/// What a member told, and when that was heard.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) at: SimTime,
    pub(crate) member: NodeId,
    pub(crate) events: Vec<Event>,
}

/// What a client has asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) at: SimTime,
    pub(crate) attempt: Option<AttemptId>,
    pub(crate) rpc: Rpc,
    /// When the answer was there, if one came, and what it was.
    pub(crate) answer: Option<(SimTime, Reply)>,
}

impl Asked {
    /// What a client said that it asks.
    ///
    /// # Errors
    /// If the model does not know that.
    pub(crate) fn of(asks: &Asks) -> Result<Self, String> {
        let mut rpc = Rpc::from_json(&asks.path, &asks.body).map_err(|why| why.to_string())?;
        if let Rpc::Txn(txn) = &mut rpc {
            let Txn { compare, success, .. } = &mut **txn;
            for Compare { key, .. } in compare {
                let put = success.iter().find_map(|op| if let Op::Put(put) = op { Some(put) } else { None });
                *key = in_halves(*key, put.filter(|put| put.key == *key).and_then(|put| put.lease));
            }
            txn.errand = asks.errand.map(|(op, object, based_on)| Errand { op, object, based_on });
        }
        Ok(Self { at: asks.at, attempt: asks.attempt, rpc, answer: None })
    }

    /// Which operation on an object in the cluster it is.
    fn errand(&self) -> Option<Errand> {
        if let Rpc::Txn(txn) = &self.rpc { txn.errand } else { None }
    }

    /// What was done, and as of which revision.
    fn done(&self) -> Option<(SimTime, Revision, &Body)> {
        match &self.answer {
            Some((at, Reply::Done(response))) => Some((*at, response.header.revision, &response.body)),
            _ => None,
        }
    }
}

/// Who owned what, and what cannot be known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Account {
    pub(crate) entries: Vec<Entry>,
    pub(crate) doubts: Vec<String>,
}

/// Makes up the account of a cluster, which the history calls so.
pub(crate) fn account(cluster: NodeId, told: &[Told], asked: &[Asked]) -> Account {
    let mut ledger = Ledger { cluster, ..Ledger::default() };
    let mut steps = ledger.steps(told, asked);
    date(&mut steps, asked);
    ledger.walk(&steps, asked);
    ledger.account
}

/// Something that may change who owns a lock.
#[derive(Clone, Debug)]
struct Step<'a> {
    at: SimTime,
    /// Not before somebody asked for it, if anybody did.
    asked: Option<&'a Asked>,
    /// Who told of it first; of what changed nothing, the cluster.
    by: NodeId,
    revision: Revision,
    /// None: a transaction found its key there already, or only read an object.
    events: Vec<EventKind>,
    found: Option<Key>,
    cause: Cause,
    /// Nobody was answered: the lease may as well have been over.
    is_guess: bool,
}

#[derive(Default)]
struct Ledger {
    cluster: NodeId,
    owners: Owners,
    /// Of each prefix the keys, in the order in which they were created.
    queues: BTreeMap<Name, BTreeMap<Revision, Key>>,
    /// When each key was created, and on which lease it hangs.
    created: BTreeMap<Key, (Revision, Option<LeaseId>)>,
    account: Account,
}

impl Ledger {
    /// The revisions in their order, and between them what found its key there.
    fn steps<'a>(&mut self, told: &[Told], asked: &'a [Asked]) -> Vec<Step<'a>> {
        let revisions = self.revisions(told);
        let mut doers = Doers::new(asked);
        let mut steps = Vec::new();
        for (revision, (at, by, events)) in revisions {
            let (asked, cause, is_guess) = match doers.of(revision, at, &events) {
                Ok(Some(Doer { asked, is_guess })) => (Some(asked), Cause::Request(asked.attempt), is_guess),
                Ok(None) => (None, Cause::Expiry, false),
                Err(why) => {
                    self.doubt(why);
                    (None, Cause::Request(None), false)
                }
            };
            steps.push(Step { at, asked, by, revision, events, found: None, cause, is_guess });
        }
        let last = steps.last().map_or(Revision(1), |step| step.revision);
        if let Some(more) = asked.iter().filter_map(Asked::done).map(|(_, revision, _)| revision).max()
            && more > last
        {
            self.doubt(format!("a member answered of revision {more}, and nobody told of it"));
        }
        steps.extend(asked.iter().filter_map(|asked| self.found(asked)));
        // What found its key there comes after the revision of which it was answered.
        steps.sort_by_key(|step| (step.revision, step.events.is_empty(), step.at));
        steps
    }

    /// What each revision was, who told of it first, and when that was heard.
    fn revisions(&mut self, told: &[Told]) -> BTreeMap<Revision, (SimTime, NodeId, Vec<EventKind>)> {
        let mut revisions: BTreeMap<Revision, (SimTime, NodeId, Vec<EventKind>)> = BTreeMap::new();
        let mut leases: BTreeMap<String, LeaseId> = BTreeMap::new();
        for Told { at, member, events } in told {
            for events in events.chunk_by(|one, next| one.revision() == next.revision()) {
                let events: Vec<EventKind> = events.iter().map(|event| halved(&event.kind, &mut leases)).collect();
                match revisions.get(&events[0].revision()) {
                    None => _ = revisions.insert(events[0].revision(), (*at, *member, events)),
                    Some((_, _, first)) if *first == events => {}
                    Some((_, _, first)) => {
                        let keys = first.iter().chain(&events).map(EventKind::key).filter(|key| key.lease().is_some());
                        for key in keys.map(|key| lock_of(key.stem())) {
                            let note = Note::Disagreed { member: *member, key, attempt: None };
                            self.account.entries.push(Entry { at: *at, node: *member, note });
                        }
                    }
                }
            }
        }
        // A cluster begins at 1.
        let missing = (2..).map(Revision).zip(revisions.keys()).find(|(next, told)| next != *told);
        if let Some((missing, _)) = missing {
            self.doubt(format!("nobody told of revision {missing}"));
        }
        revisions
    }

    /// What found its key there, and now stands behind it; or an operation on an object that changed nothing.
    fn found<'a>(&self, asked: &'a Asked) -> Option<Step<'a>> {
        let (at, revision, body) = asked.done()?;
        let found = match (&asked.rpc, body) {
            (Rpc::Txn(txn), Body::Txn { succeeded: false, .. }) => found_own(txn, &[]),
            (Rpc::Lock { .. }, Body::Lock { key }) => Some(*key),
            _ => None,
        };
        let is_idle = matches!(body, Body::Txn { responses, .. } if !doers::has_written(responses));
        if found.is_none() && !(is_idle && asked.errand().is_some()) {
            return None;
        }
        let (by, events, cause) = (self.cluster, Vec::new(), Cause::Request(asked.attempt));
        Some(Step { at, asked: Some(asked), by, revision, events, found, cause, is_guess: false })
    }

    fn walk(&mut self, steps: &[Step<'_>], asked: &[Asked]) {
        let kept = |asked: &&Asked| matches!(asked.done(), Some((_, _, Body::LeaseKeepAlive { ttl: 1.., .. })));
        let mut kept: Vec<&Asked> = asked.iter().filter(kept).collect();
        kept.sort_by_key(|asked| asked.at);
        let mut kept = kept.into_iter().peekable();
        for step in steps {
            while let Some(asked) = kept.next_if(|asked| asked.at < step.at) {
                self.extend(asked);
            }
            self.take(step);
        }
        kept.for_each(|asked| self.extend(asked));
    }

    fn take(&mut self, step: &Step<'_>) {
        let attempt = if let Cause::Request(attempt) = step.cause { attempt } else { None };
        if step.is_guess {
            let deleted = step.events.iter().filter(|event| matches!(event, EventKind::Delete { .. }));
            let mut owners = deleted.filter_map(|event| self.owners.owned_by(&event.key()));
            if let Some((lock, _)) = owners.find(|(_, owner)| Some(*owner) != attempt) {
                self.doubt(format!("nobody knows whether the owner of {lock} lost it to {attempt:?} or to its lease"));
            }
        }
        step.events.iter().for_each(|event| self.change(event));
        let queues = &self.queues;
        let first = |stem: Name| queues.get(&stem)?.first_key_value().map(|(_, key)| *key);
        let found = step.found.map(|key| self.created.get_key_value(&key).map_or(key, |(own, _)| *own));
        for Passed { lock, to, is_over } in self.owners.take(&step.events, found, attempt, first) {
            let cause = if is_over { Cause::Expiry } else { step.cause };
            let note = Note::Owner { authority: self.cluster, key: lock, attempt: to, cause };
            self.account.entries.push(Entry { at: step.at, node: step.by, note });
        }
        if let Some((asked, errand)) = step.asked.and_then(|asked| Some((asked, asked.errand()?))) {
            let note = acted(step, asked, errand);
            self.account.entries.push(Entry { at: step.at, node: step.by, note });
        }
    }

    fn change(&mut self, event: &EventKind) {
        match event {
            EventKind::Put(kv) => {
                self.queues.entry(kv.key.stem()).or_default().insert(kv.create_revision, kv.key);
                self.created.insert(kv.key, (kv.create_revision, kv.lease));
            }
            EventKind::Delete { key, .. } => {
                if let (Some((created, _)), Some(queue)) = (self.created.remove(key), self.queues.get_mut(&key.stem()))
                {
                    queue.remove(&created);
                }
            }
        }
    }

    /// Its lease was kept alive: as early as it was asked for, so that nobody is promised more than was given.
    fn extend(&mut self, asked: &Asked) {
        let Rpc::LeaseKeepAlive { id } = asked.rpc else { return };
        let own = self.created.iter().filter(|(_, (_, lease))| *lease == Some(id));
        for (key, attempt) in own.filter_map(|(key, _)| self.owners.owned_by(key)) {
            let note = Note::Extended { authority: self.cluster, key, attempt, by: Some(attempt) };
            self.account.entries.push(Entry { at: asked.at, node: self.cluster, note });
        }
    }

    fn doubt(&mut self, why: String) {
        self.account.doubts.push(why);
    }
}

/// What an operation on an object came to.
fn acted(step: &Step<'_>, asked: &Asked, Errand { op, object, based_on }: Errand) -> Note {
    let attempt = asked.attempt;
    let put = step.events.iter().find_map(|event| if let EventKind::Put(kv) = event { Some(kv.version) } else { None });
    match (put, asked.done()) {
        (Some(put), _) => Note::Wrote { attempt, op, object, based_on, replaced: Version(put - 1) },
        (None, Some((.., Body::Txn { succeeded: true, responses }))) => {
            Note::Read { attempt, op, object, version: version_found(responses) }
        }
        (None, _) => Note::Refused { attempt, op, object },
    }
}

/// When each step happened. At the latest it was when somebody heard of it, or was answered of a later revision; and not
/// before it was asked for, nor before what it follows.
fn date(steps: &mut [Step<'_>], asked: &[Asked]) {
    let mut answers: Vec<(Revision, SimTime)> =
        asked.iter().filter_map(Asked::done).map(|(at, revision, _)| (revision, at)).collect();
    answers.sort_unstable();
    let mut latest = SimTime::NEVER;
    for step in steps.iter_mut().rev() {
        // What changed nothing comes after the revision of which it was answered.
        let is_later =
            |revision: Revision| revision > step.revision || !step.events.is_empty() && revision == step.revision;
        while let Some((_, at)) = answers.pop_if(|(revision, _)| is_later(*revision)) {
            latest = latest.min(at);
        }
        latest = latest.min(step.at);
        step.at = latest;
    }
    let mut earliest = SimTime::ZERO;
    for step in steps {
        earliest = earliest.max(step.asked.map_or(SimTime::ZERO, |asked| asked.at)).max(step.at);
        step.at = earliest;
    }
}

/// The event, with the key of a lock in its two halves.
fn halved(kind: &EventKind, leases: &mut BTreeMap<String, LeaseId>) -> EventKind {
    match kind {
        EventKind::Put(kv) => {
            if let Some(lease) = kv.lease {
                leases.insert(kv.key.to_string(), lease);
            }
            EventKind::Put(KeyValue { key: in_halves(kv.key, kv.lease), ..kv.clone() })
        }
        EventKind::Delete { key, mod_revision } => {
            let lease = leases.get(&key.to_string()).copied();
            EventKind::Delete { key: in_halves(*key, lease), mod_revision: *mod_revision }
        }
    }
}

/// A key below a lock's name that ends with the number of its lease.
fn in_halves(key: Key, lease: Option<LeaseId>) -> Key {
    let text = key.to_string();
    let stem = lease.and_then(|lease| text.strip_suffix(&lease.to_string())).filter(|stem| stem.ends_with('/'));
    stem.zip(lease).map_or(key, |(stem, lease)| Key::under(stem.into(), lease))
}

fn lock_of(stem: Name) -> Name {
    Name::from(stem.trim_end_matches('/'))
}

#[cfg(test)]
mod tests;
