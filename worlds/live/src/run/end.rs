//! The end of a run: what is still to be heard, and the account of all.

use host::{Ending, NodeId, SimTime};
use models::lock::ServerKind;
use sim::{NodeOutcome, Outcome};
use spec::{Entry, Note};

use super::lives::{Node, Runs};
use super::{Coordinator, Event, PATIENCE, id};
use crate::ledger::owners;
use crate::line::Report;
use crate::{backends, changes, now, revisions};

impl Coordinator {
    /// Ends everything, hears what is still to be heard, and makes up the account.
    pub(super) fn conclude(mut self, (ending, end): (Ending, SimTime)) -> (Outcome<Note>, Vec<String>) {
        let strikes = self.strikes_until(end);
        // Whoever was not through with its script is not to be missed.
        self.unfinished.clear();
        for node in &mut self.nodes {
            node.activity.retain(|(at, _)| *at <= end);
            if let Runs::Client(client) = &mut node.runs {
                drop(client.take());
            }
        }
        self.set_fences();
        self.fence_members();
        self.drain();
        let drift =
            now::wall().as_nanos() - self.clocks.wall - (now::monotonic().as_nanos() - self.clocks.mono).cast_signed();
        if drift.unsigned_abs() > MOST_DRIFT {
            self.doubt(format!("the machine's clock was set by {} ms meanwhile", drift / 1_000_000));
        }
        let mut notes = std::mem::take(&mut self.notes);
        notes.extend(self.accounts());
        notes.retain(|entry| entry.at <= end);
        notes.sort_by_key(|entry| entry.at);
        let machine = self.clocks;
        let outcome = |node: Node| {
            let clocks = node.clocks(machine, end);
            NodeOutcome { name: node.name, clocks, activity: node.activity, steps: 0 }
        };
        let outcome = Outcome {
            notes,
            nodes: self.nodes.into_iter().map(outcome).collect(),
            strikes,
            end,
            ending,
            hash: 0,
            events: self.events,
            application_events: self.events,
            messages: self.messages,
            syncs: self.desk.syncs(),
            cues: self.cues.into_iter().map(|come| come.filter(|come| *come <= end)).collect(),
            ignored_dead_effects: 0,
            records: Vec::new(),
        };
        (outcome, self.doubts)
    }

    /// Hears what clients had still said, and what servers have still to tell.
    fn drain(&mut self) {
        let is_client = |node: &Node| matches!(node.runs, Runs::Client(_));
        loop {
            let talks = self.listening.iter().any(|(node, _)| is_client(&self.nodes[node.index()]));
            if !talks && self.fences.is_empty() {
                return;
            }
            match self.next(PATIENCE) {
                // What would have an effect has none any more.
                Some(Event::Said(_, _, Report::Ready | Report::Operates { .. } | Report::Reached { .. })) => {}
                Some(event) => self.take(event),
                None => return self.doubt("somebody did not tell all".to_owned()),
            }
        }
    }

    /// What the servers' own accounts come to, the primary's before those of its replicas.
    fn accounts(&mut self) -> Vec<Entry> {
        let (mut entries, mut stream) = (Vec::new(), None);
        for (server, kind) in self.kinds.iter().enumerate() {
            let (node, clocks) = (id(server), self.nodes[server].clocks(self.clocks, SimTime::NEVER));
            let copies = match kind {
                ServerKind::Sentinel | ServerKind::Etcd | ServerKind::ZooKeeper => continue,
                ServerKind::Postgres | ServerKind::PgStandby | ServerKind::PgBouncer => continue,
                ServerKind::Replica => stream.as_ref(),
                _ => None,
            };
            let account = owners(node, &clocks, (&self.heard[server], &self.sent), copies);
            entries.extend(account.entries);
            self.doubts.extend(account.doubts);
            if *kind == ServerKind::Primary {
                stream = Some(account.stream);
            }
        }
        if let Some(cluster) = self.kinds.iter().position(|kind| *kind == ServerKind::Etcd) {
            let account = revisions::account(id(cluster), &self.revisions, &self.asked);
            entries.extend(account.entries);
            self.doubts.extend(account.doubts);
        }
        if let Some(ensemble) = self.kinds.iter().position(|kind| *kind == ServerKind::ZooKeeper) {
            let account = self.account_of_ensemble(id(ensemble));
            entries.extend(account.entries);
            self.doubts.extend(account.doubts);
        }
        for server in 0..self.nodes.len() {
            let Runs::Postgres(running) = &self.nodes[server].runs else { continue };
            match running.log() {
                Ok(log) => {
                    let account = backends::account(id(server), self.clocks, &log, &self.stated);
                    entries.extend(account.entries);
                    self.doubts.extend(account.doubts);
                }
                Err(error) => self.doubts.push(format!("a log cannot be read: {error}")),
            }
        }
        entries
    }

    /// What the servers of a ZooKeeper ensemble have written down, and what it comes to.
    fn account_of_ensemble(&mut self, ensemble: NodeId) -> revisions::Account {
        let mut logs = Vec::new();
        for (node, state) in self.nodes.iter().enumerate() {
            let Runs::ZooKeeper(server) = &state.runs else { continue };
            match server.logged() {
                Ok(logged) => logs.push((id(node), logged)),
                Err(error) => self.doubts.push(format!("the log of {} cannot be read: {error}", state.name)),
            }
        }
        changes::account(ensemble, self.clocks, &logs, &self.sent_to_ensemble)
    }
}

/// By how many ns the wall clock may have run differently from the monotonic one, slewed by the machine's time service.
const MOST_DRIFT: u64 = 50_000_000;
