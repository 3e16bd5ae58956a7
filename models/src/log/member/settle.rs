//! What follows from a step of a member: `raft`'s rules of a `Ready`.

use std::rc::Rc;

use host::Context;
use raft::eraftpb::{Entry as RaftEntry, Message, MessageType};
use raft::{INVALID_ID, SnapshotStatus, StateRole};

use super::{Event, Member, STARTED, Standing, seat};
use crate::log::entry::{Applied, Hard, Place, Proposal, Ticket};
use crate::log::packet::Packet;
use crate::log::{Replicated, translate};

impl<L: Replicated> Member<L> {
    /// All that follows from what the member was handed: what is decided is written, handed out and sent.
    pub(super) fn settle(&mut self, cx: &mut Context<L::Domain>) {
        if self.owes_tick && !cx.disk.is_syncing() {
            self.owes_tick = false;
            self.raft().tick();
        }
        let mut said = Vec::new();
        let mut syncs = false;
        loop {
            self.luck.rule(self.raft.as_mut().expect(STARTED));
            self.submit(cx);
            // Mostly, nothing but words: they rest on nothing that has yet to be written, and need no `Ready`.
            let node = self.raft();
            let words = std::mem::take(&mut node.raft.msgs);
            if !node.has_ready() {
                add(&mut said, words);
                break;
            }
            node.raft.msgs = words;
            syncs |= self.attend(cx, &mut said);
        }
        if syncs {
            // Whatever is said in this step rests on it.
            cx.disk.sync();
        }
        self.raft().mut_store().forget_unwanted();
        self.send(cx, &said);
        said.clear();
        let words = &mut self.raft().raft.msgs;
        if words.is_empty() {
            // Their room is used again.
            *words = said;
        }
    }

    /// Does what `raft` wants done, and adds what it says. Whether that must be synced before.
    fn attend(&mut self, cx: &mut Context<L::Domain>, said: &mut Vec<Message>) -> bool {
        let mut ready = self.raft().ready();
        if ready.ss().is_some() || ready.hs().is_some() {
            self.tell_standing(cx);
        }
        add(said, ready.take_messages());
        if !ready.snapshot().is_empty() {
            let metadata = ready.snapshot().get_metadata();
            let place = Place { index: metadata.index, term: metadata.term };
            let snapshot = self.raft().mut_store().restore(cx, place);
            self.applied = place;
            self.events.push_back(Event::Restored(snapshot));
        }
        let committed = ready.take_committed_entries();
        self.hand_out(committed);
        let entries = ready.take_entries();
        self.raft().mut_store().append(cx, entries);
        if let Some(hard) = ready.hs() {
            let hard = Hard { term: hard.term, vote: hard.vote, commit: hard.commit };
            self.raft().mut_store().set_hard(cx, hard);
        }
        add(said, ready.take_persisted_messages());
        for state in ready.take_read_states() {
            self.reads.extend(Ticket::read(&state.request_ctx).map(|ticket| (state.index, ticket)));
        }
        let syncs = ready.must_sync();
        let mut light = self.raft().advance_append(ready);
        if let Some(commit) = light.commit_index() {
            let hard = Hard { commit, ..self.raft().store().hard() };
            self.raft().mut_store().set_hard(cx, hard);
        }
        add(said, light.take_messages());
        let committed = light.take_committed_entries();
        self.hand_out(committed);
        self.raft().advance_apply();
        self.answer_reads();
        syncs
    }

    /// What `raft` knows of who leads may have changed.
    fn tell_standing(&mut self, cx: &mut Context<L::Domain>) {
        let raft = &self.raft().raft;
        let now = Standing { leads: raft.state == StateRole::Leader, leader: raft.leader_id, term: raft.term };
        let before = std::mem::replace(&mut self.told, now);
        if before.leads != now.leads {
            cx.lead(now.leads);
        }
        if before.leads && (!now.leads || now.term != before.term) {
            self.events.push_back(Event::Deposed);
        }
        if (before.leader, before.term) != (now.leader, now.term) {
            self.events.push_back(Event::Leader { leader: self.leader(), term: now.term });
        }
    }

    fn hand_out(&mut self, committed: Vec<RaftEntry>) {
        for entry in committed {
            let place = Place { index: entry.index, term: entry.term };
            let entry = self.raft().store().entry(place).clone();
            self.applied = place;
            let begins = entry.proposal.is_none() && self.told.leads && place.term == self.told.term;
            let ticket = entry.proposal.as_ref().map(|proposal| proposal.ticket).filter(|ticket| self.is_own(*ticket));
            self.events.push_back(Event::Applied(Applied { entry, ticket, again: place.index <= self.known }));
            if begins {
                self.events.push_back(Event::Leads { term: place.term });
            }
        }
    }

    /// Reads whose index is applied can be answered.
    fn answer_reads(&mut self) {
        let applied = self.applied.index;
        let own = self.tickets;
        let events = &mut self.events;
        let id = self.id;
        self.reads.retain(|(index, ticket)| {
            let is_answered = *index <= applied;
            if is_answered && ticket.member == id && (own.0..own.1).contains(&ticket.number) {
                events.push_back(Event::Readable(*ticket));
            }
            !is_answered
        });
    }

    /// Proposals that waited for a leader go on, if there is one.
    fn submit(&mut self, cx: &mut Context<L::Domain>) {
        while let Some(proposal) = self.queued.pop_front() {
            if let Err(proposal) = self.forward(cx, proposal) {
                self.queued.push_front(proposal);
                return;
            }
        }
    }

    /// To the log, if this member leads; to who does; or back.
    pub(super) fn forward(
        &mut self,
        cx: &mut Context<L::Domain>,
        proposal: Rc<Proposal<L>>,
    ) -> Result<(), Rc<Proposal<L>>> {
        let node = self.raft();
        match node.raft.leader_id {
            INVALID_ID => Err(proposal),
            leader if leader == node.raft.id => {
                let message = Message {
                    msg_type: MessageType::MsgPropose,
                    from: leader,
                    entries: vec![RaftEntry::default()].into(),
                    ..Message::default()
                };
                node.raft.step(message).expect("a leader that hands nothing over takes every proposal");
                let place = Place { index: node.raft.raft_log.last_index(), term: node.raft.term };
                node.mut_store().expect_entry(place, proposal);
                Ok(())
            }
            leader => {
                self.streams.say(cx, seat(leader), Packet::Propose(proposal));
                Ok(())
            }
        }
    }

    /// Sends what `raft` said, member by member: in which order it goes through them is nobody's business.
    fn send(&mut self, cx: &mut Context<L::Domain>, said: &[Message]) {
        for to in 1..=self.settings.members.len() as u64 {
            for message in said.iter().filter(|message| message.to == to) {
                let letter = translate::letter(self.raft().store(), message);
                if !self.streams.say(cx, seat(to), Packet::Letter(letter)) {
                    self.give_up_on(seat(to));
                }
            }
        }
    }

    /// What was said to that member last may never arrive.
    pub(super) fn give_up_on(&mut self, member: usize) {
        let id = member as u64 + 1;
        self.raft().report_unreachable(id);
        self.raft().report_snapshot(id, SnapshotStatus::Failure);
    }
}

/// Adds to what was said: mostly, all of it is said at once.
fn add(said: &mut Vec<Message>, mut more: Vec<Message>) {
    if said.is_empty() {
        *said = more;
    } else {
        said.append(&mut more);
    }
}
