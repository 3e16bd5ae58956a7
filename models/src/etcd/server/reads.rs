//! Linearizable reads: the member asks the leader how far the log is, and answers once it has come so far.
//!
//! Source: `linearizableReadLoop` in `etcdserver/v3_server.go` of etcd 3.4.23: one question is open at a time, and what
//! comes meanwhile waits for the next; a new leader makes the open one fail.

use host::{AttemptId, Context};
use spec::Note;

use super::{Etcd, EtcdLog, For, Overdue};
use crate::domain::Locks;
use crate::etcd::answer::{Body, version_found};
use crate::etcd::api::{Range, Txn};
use crate::etcd::store::Applied;
use crate::etcd::{EtcdError, Reply};
use crate::log::{Member, Ticket};

/// What a client wants to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Query {
    Range(Box<Range>),
    Txn(Box<Txn>, Option<AttemptId>),
}

/// Who waits for an answer.
#[derive(Default, Debug)]
pub(super) struct Reads {
    /// For whom the leader is asked.
    asked: Option<(Ticket, Vec<(For, Query)>)>,
    /// For whom it will be asked next.
    next: Vec<(For, Query)>,
}

impl Etcd {
    pub(super) fn read(&mut self, cx: &mut Context<Locks>, whom: For, query: Query) {
        self.reads.next.push((whom, query));
        self.ask_leader(cx);
    }

    pub(super) fn answer_query(&mut self, cx: &mut Context<Locks>, whom: For, query: &Query) {
        let outcome = match query {
            Query::Range(range) => self.store.read(range),
            Query::Txn(txn, attempt) => {
                let outcome = self.store.read_txn(txn);
                note_read(cx, txn, &outcome, *attempt);
                outcome
            }
        };
        self.answer(cx, whom, outcome);
    }

    /// What was applied so far answers this.
    pub(super) fn readable(&mut self, cx: &mut Context<Locks>, ticket: Ticket) {
        if self.confirmed(cx, ticket) {
            return;
        }
        if let Some((_, asked)) = self.reads.asked.take_if(|(asked, _)| *asked == ticket) {
            for (whom, query) in asked {
                self.answer_query(cx, whom, &query);
            }
            self.ask_leader(cx);
        }
    }

    /// That question is answered by nobody.
    pub(super) fn give_up_read(&mut self, cx: &mut Context<Locks>, ticket: Ticket, error: EtcdError) {
        if let Some((_, asked)) = self.reads.asked.take_if(|(asked, _)| *asked == ticket) {
            self.fail(cx, asked, error);
            self.ask_leader(cx);
        }
    }

    /// Nor is any that is open.
    pub(super) fn fail_reads(&mut self, cx: &mut Context<Locks>, error: EtcdError) {
        if let Some((_, asked)) = self.reads.asked.take() {
            self.fail(cx, asked, error);
            self.ask_leader(cx);
        }
    }

    fn ask_leader(&mut self, cx: &mut Context<Locks>) {
        if self.reads.asked.is_some() || self.reads.next.is_empty() {
            return;
        }
        let ticket = Member::<EtcdLog>::read(&mut self.member, cx);
        self.reads.asked = Some((ticket, std::mem::take(&mut self.reads.next)));
        self.wait(cx, Overdue::Read(ticket));
    }

    fn fail(&mut self, cx: &mut Context<Locks>, asked: Vec<(For, Query)>, error: EtcdError) {
        for (whom, _) in asked {
            self.tell(cx, whom, Reply::Failed(error));
        }
    }
}

/// For the history: an object is read, or is not.
fn note_read(cx: &mut Context<Locks>, txn: &Txn, outcome: &Applied, attempt: Option<AttemptId>) {
    let (Some(errand), Ok((_, Body::Txn { succeeded, responses }))) = (txn.errand, outcome) else { return };
    cx.note(if *succeeded {
        Note::Read { attempt, op: errand.op, object: errand.object, version: version_found(responses) }
    } else {
        Note::Refused { attempt, op: errand.op, object: errand.object }
    });
}
