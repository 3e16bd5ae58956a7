//! Linearizable reads: the member asks the leader how far the log is, and answers once it has come so far.
//!
//! Source: `linearizableReadLoop` in `etcdserver/v3_server.go` of etcd 3.4.23: one question is open at a time, and what
//! comes meanwhile waits for the next; a new leader makes the open one fail.

use host::{Context, Origin};

use super::{Etcd, EtcdLog, Overdue};
use crate::domain::Locks;
use crate::etcd::api::{Range, Txn};
use crate::etcd::{EtcdError, Reply};
use crate::log::{Member, Ticket};

/// What a client wants to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Query {
    Range(Box<Range>),
    Txn(Box<Txn>),
}

/// Who waits for an answer.
#[derive(Default, Debug)]
pub(super) struct Reads {
    /// For whom the leader is asked.
    asked: Option<(Ticket, Vec<(Origin, Query)>)>,
    /// For whom it will be asked next.
    next: Vec<(Origin, Query)>,
}

impl Etcd {
    pub(super) fn read(&mut self, cx: &mut Context<Locks>, from: Origin, query: Query) {
        self.reads.next.push((from, query));
        self.ask_leader(cx);
    }

    pub(super) fn answer_query(&self, cx: &mut Context<Locks>, from: Origin, query: &Query) {
        let outcome = match query {
            Query::Range(range) => self.store.read(range),
            Query::Txn(txn) => self.store.read_txn(txn),
        };
        self.answer(cx, from, outcome);
    }

    /// What was applied so far answers this.
    pub(super) fn readable(&mut self, cx: &mut Context<Locks>, ticket: Ticket) {
        if self.confirmed(cx, ticket) {
            return;
        }
        if let Some((_, asked)) = self.reads.asked.take_if(|(asked, _)| *asked == ticket) {
            for (from, query) in asked {
                self.answer_query(cx, from, &query);
            }
            self.ask_leader(cx);
        }
    }

    /// That question is answered by nobody.
    pub(super) fn give_up_read(&mut self, cx: &mut Context<Locks>, ticket: Ticket, error: EtcdError) {
        if let Some((_, asked)) = self.reads.asked.take_if(|(asked, _)| *asked == ticket) {
            fail(cx, asked, error);
            self.ask_leader(cx);
        }
    }

    /// Nor is any that is open.
    pub(super) fn fail_reads(&mut self, cx: &mut Context<Locks>, error: EtcdError) {
        if let Some((_, asked)) = self.reads.asked.take() {
            fail(cx, asked, error);
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
}

fn fail(cx: &mut Context<Locks>, asked: Vec<(Origin, Query)>, error: EtcdError) {
    for (from, _) in asked {
        cx.reply(from, Reply::Failed(error));
    }
}
