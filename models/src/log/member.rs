//! One member of a replicated log.

use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;

use host::{ConnId, Context, Deadline, Duration, Fold, MonoTime, NodeId, Origin, TimerId, nanos, span};
use raft::eraftpb::{Entry as RaftEntry, Message, MessageType};
use raft::{INVALID_ID, RawNode, SnapshotStatus, StateRole, Storage};

use super::entry::{Applied, Hard, Place, Proposal, Snapshot, Ticket};
use super::packet::Packet;
use super::store::Store;
use super::streams::Streams;
use super::ticker::Ticker;
use super::{Replicated, Settings, TICK, translate};

/// What has come of what a member was handed, for the server around it, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event<L: Replicated> {
    /// It knows of another leader now, or of none, or of another term.
    Leader {
        /// Who leads.
        leader: Option<NodeId>,
        /// In which term.
        term: u64,
    },
    /// It led, and does no more. (Comes before the [`Leader`](Self::Leader) that says so.)
    Deposed,
    /// An entry is committed: apply it.
    Applied(Applied<L>),
    /// It leads, and has applied the entry with which it began to: all of its predecessors' entries are applied.
    /// (Comes behind that entry.)
    Leads {
        /// In which term.
        term: u64,
    },
    /// It was too far behind: this is the state now, whatever it was before.
    Restored(Snapshot<L>),
    /// What was applied so far answers this read: it is no older than when the read was [asked for](Member::read).
    Readable(Ticket),
}

/// One member of a replicated log, as part of a server.
pub struct Member<L: Replicated> {
    settings: Settings,
    /// Itself, counted from 1.
    id: u64,
    raft: Option<RawNode<Store<L>>>,
    streams: Streams,
    ticker: Ticker,
    luck: Luck,
    /// Whether it has yet to stand at once, as the first.
    stands_first: bool,
    events: VecDeque<Event<L>>,
    /// The index of the last entry that was handed out.
    applied: Place,
    /// How far it knew the log to be committed when it started.
    known: u64,
    /// The first ticket of this life, and the next one.
    tickets: (u64, u64),
    /// What waits for a leader.
    queued: VecDeque<Rc<Proposal<L>>>,
    /// Reads that wait for an entry to be applied.
    reads: Vec<(u64, Ticket)>,
    /// What the server was last told.
    told: Standing,
}

/// What a member knows of who leads.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Standing {
    leads: bool,
    leader: u64,
    term: u64,
}

impl<L: Replicated> Member<L> {
    /// A member that is set like this, and has not started.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let origin = MonoTime::from_nanos(0);
        Self {
            id: INVALID_ID,
            raft: None,
            streams: Streams::new(&[], origin),
            ticker: Ticker::new(settings.tick, settings.late, origin),
            luck: Luck::default(),
            stands_first: false,
            events: VecDeque::new(),
            applied: Place::default(),
            known: 0,
            tickets: (0, 0),
            queued: VecDeque::new(),
            reads: Vec::new(),
            told: Standing::default(),
            settings,
        }
    }

    /// The process has started: with what is on the disk.
    ///
    /// # Panics
    /// If the node is not among the members, or the settings are none: no heartbeats within an election timeout.
    pub fn start(&mut self, cx: &mut Context<L::Domain>) {
        *self = Self::new(self.settings.clone());
        let place = self.settings.members.iter().position(|member| *member == cx.node);
        self.id = place.expect("a member is in its own list") as u64 + 1;
        let store = Store::read(&cx.disk, self.settings.members.len());
        let is_new = store.hard() == Hard::default();
        self.known = store.hard().commit;
        self.luck = Luck::new(cx.random(), self.id, self.settings.election_ticks);
        let first = cx.random() >> 1;
        self.tickets = (first, first);
        if let Some(snapshot) = store.snapshot() {
            self.applied = snapshot.place;
            self.events.push_back(Event::Restored(snapshot.clone()));
        }
        self.raft = Some(self.algorithm(store));
        self.streams = Streams::new(&self.settings.members, cx.mono);
        self.streams.start::<L>(cx);
        // A process that starts with the world has been there for some time: members' ticks do not coincide.
        let tick = nanos(self.settings.tick);
        let first_tick = if is_new { span::uniform(1, tick, || cx.random()) } else { tick };
        let first_tick = cx.mono + Duration::from_nanos(first_tick);
        self.ticker = Ticker::new(self.settings.tick, self.settings.late, first_tick);
        cx.set_timer(TICK, Deadline::Mono(first_tick));
        self.stands_first = is_new && self.settings.first == Some(cx.node);
        self.stand_first(cx);
        self.settle(cx);
    }

    /// A timer is due. Whether it is the member's.
    pub fn on_timer(&mut self, cx: &mut Context<L::Domain>, timer: TimerId) -> bool {
        if timer != TICK {
            return false;
        }
        cx.set_timer(TICK, Deadline::Mono(self.ticker.next(cx.mono)));
        self.streams.tick::<L>(cx);
        self.raft().tick();
        self.settle(cx);
        true
    }

    /// A connection that this process dialled is open. Whether it is the member's.
    pub fn on_open(&mut self, cx: &mut Context<L::Domain>, conn: ConnId) -> bool {
        let is_own = self.streams.opened::<L>(cx, conn);
        self.stand_first(cx);
        is_own
    }

    /// A connection is gone. Whether it was the member's.
    pub fn on_close(&mut self, cx: &mut Context<L::Domain>, conn: ConnId) -> bool {
        let lost = self.streams.lost::<L>(cx, conn);
        if let Some(Some(reader)) = lost {
            self.give_up_on(reader);
            self.settle(cx);
        }
        lost.is_some()
    }

    /// Another member asks for something: for all there is to read.
    pub fn on_message(&mut self, cx: &mut Context<L::Domain>, from: Origin, packet: Packet<L>) {
        if let Packet::Stream { reader } = packet
            && let Some(reader) = self.streams.attach::<L>(cx, from, reader)
        {
            self.give_up_on(reader);
            self.stand_first(cx);
            self.settle(cx);
        }
    }

    /// Something comes from another member.
    pub fn on_push(&mut self, cx: &mut Context<L::Domain>, conn: ConnId, packet: Packet<L>) {
        if !self.streams.hear(cx.mono, conn) {
            return;
        }
        match packet {
            Packet::Stream { .. } | Packet::Alive => {}
            Packet::Propose(proposal) => _ = self.pass_on(cx, proposal),
            Packet::Letter(letter) => {
                let members = self.settings.members.len() as u64;
                let message = translate::message(self.raft().mut_store(), members, letter);
                self.raft().step(message).expect("members send each other what they can read");
                self.settle(cx);
            }
        }
    }

    /// Has something agreed upon: it becomes an entry, or is lost on the way to the leader, with whoever the leader is by
    /// then. As long as none is known, it waits (`node.propc`).
    pub fn propose(&mut self, cx: &mut Context<L::Domain>, command: L::Command) -> Ticket {
        let ticket = self.ticket();
        self.queued.push_back(Rc::new(Proposal { command, ticket, attempt: cx.attempt }));
        self.settle(cx);
        ticket
    }

    /// Nobody waits for it any more: if it still waits for a leader, it is not proposed.
    pub fn withdraw(&mut self, ticket: Ticket) {
        self.queued.retain(|proposal| proposal.ticket != ticket);
    }

    /// Asks for a linearizable read (`ReadIndex`): the leader makes sure, with a majority, that it is one. Never answered
    /// if there is none, if it has not yet committed an entry of its own, or if the question or its answer is lost.
    pub fn read(&mut self, cx: &mut Context<L::Domain>) -> Ticket {
        let ticket = self.ticket();
        self.raft().read_index(ticket.bytes().to_vec());
        self.settle(cx);
        ticket
    }

    /// Keeps this state, of all that was handed out, in place of the entries: but for the last `keep`, for who is a
    /// little behind.
    ///
    /// # Panics
    /// If there are events that were not taken out.
    pub fn compact(&mut self, cx: &mut Context<L::Domain>, image: L::Image, keep: u64) {
        assert!(self.events.is_empty(), "a state has all that was handed out");
        let snapshot = Snapshot { place: self.applied, image: Rc::new(image) };
        self.raft().mut_store().compact(cx, snapshot, keep);
    }

    /// What has come of it all, the oldest first. To be taken out until there is none.
    pub fn next_event(&mut self) -> Option<Event<L>> {
        self.events.pop_front()
    }

    /// Whether it takes itself to be the leader. (There may be a newer one.)
    #[must_use]
    pub const fn leads(&self) -> bool {
        self.told.leads
    }

    /// Who leads, as far as it knows.
    #[must_use]
    pub fn leader(&self) -> Option<NodeId> {
        self.node_of(self.told.leader)
    }

    /// The newest term that it knows of.
    #[must_use]
    pub const fn term(&self) -> u64 {
        self.told.term
    }

    /// The last entry that was handed out.
    #[must_use]
    pub const fn applied(&self) -> Place {
        self.applied
    }

    /// All that follows from what the member was handed: what is decided is written, handed out and sent.
    fn settle(&mut self, cx: &mut Context<L::Domain>) {
        let mut letters = Vec::new();
        let mut syncs = false;
        loop {
            self.luck.rule(self.raft.as_mut().expect(STARTED));
            self.submit(cx);
            if !self.raft().has_ready() {
                break;
            }
            syncs |= self.attend(cx, &mut letters);
        }
        if syncs {
            // Whatever is said in this step rests on it.
            cx.disk.sync();
        }
        self.raft().mut_store().forget_unwanted();
        self.send(cx, letters);
    }

    /// Does what `raft` wants done, and adds what it says. Whether that must be synced before.
    fn attend(&mut self, cx: &mut Context<L::Domain>, letters: &mut Vec<Message>) -> bool {
        let mut ready = self.raft().ready();
        if ready.ss().is_some() || ready.hs().is_some() {
            self.stand(cx);
        }
        letters.append(&mut ready.take_messages());
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
        letters.append(&mut ready.take_persisted_messages());
        for state in ready.take_read_states() {
            self.reads.extend(Ticket::read(&state.request_ctx).map(|ticket| (state.index, ticket)));
        }
        let syncs = ready.must_sync();
        let mut light = self.raft().advance_append(ready);
        if let Some(commit) = light.commit_index() {
            let hard = Hard { commit, ..self.raft().store().hard() };
            self.raft().mut_store().set_hard(cx, hard);
        }
        letters.append(&mut light.take_messages());
        let committed = light.take_committed_entries();
        self.hand_out(committed);
        self.raft().advance_apply();
        self.answer_reads();
        syncs
    }

    /// What `raft` knows of who leads may have changed.
    fn stand(&mut self, cx: &mut Context<L::Domain>) {
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

    /// Somebody else's proposal: if there is no leader, it is lost.
    fn pass_on(&mut self, cx: &mut Context<L::Domain>, proposal: Rc<Proposal<L>>) {
        _ = self.forward(cx, proposal);
        self.settle(cx);
    }

    /// To the log, if this member leads; to who does; or back.
    fn forward(&mut self, cx: &mut Context<L::Domain>, proposal: Rc<Proposal<L>>) -> Result<(), Rc<Proposal<L>>> {
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

    /// Sends what `raft` said, member by member.
    fn send(&mut self, cx: &mut Context<L::Domain>, mut letters: Vec<Message>) {
        letters.sort_by_key(|message| message.to);
        for message in letters {
            let letter = translate::letter(self.raft().store(), &message);
            if !self.streams.say(cx, seat(message.to), Packet::Letter(letter)) {
                self.give_up_on(seat(message.to));
            }
        }
    }

    /// What was said to that member last may never arrive.
    fn give_up_on(&mut self, member: usize) {
        let id = member as u64 + 1;
        self.raft().report_unreachable(id);
        self.raft().report_snapshot(id, SnapshotStatus::Failure);
    }

    /// Stands for election at once, if it is to, and can be heard.
    fn stand_first(&mut self, cx: &mut Context<L::Domain>) {
        if self.stands_first && self.streams.all_up(cx.node) {
            self.stands_first = false;
            if self.raft().raft.term == 0 {
                self.raft().campaign().expect("who follows nobody may stand");
            }
        }
    }

    fn algorithm(&self, store: Store<L>) -> RawNode<Store<L>> {
        let config = raft::Config {
            id: self.id,
            election_tick: self.settings.election_ticks,
            heartbeat_tick: self.settings.heartbeat_ticks,
            applied: self.applied.index,
            max_size_per_msg: raft::NO_LIMIT,
            max_inflight_msgs: MAX_INFLIGHT,
            check_quorum: true,
            pre_vote: self.settings.pre_vote,
            ..raft::Config::default()
        };
        let silent = slog::Logger::root(slog::Discard, slog::o!());
        RawNode::new(&config, store, &silent).expect("an election takes longer than a heartbeat")
    }

    fn raft(&mut self) -> &mut RawNode<Store<L>> {
        self.raft.as_mut().expect(STARTED)
    }

    const fn ticket(&mut self) -> Ticket {
        let number = self.tickets.1;
        self.tickets.1 += 1;
        Ticket { member: self.id, number }
    }

    const fn is_own(&self, ticket: Ticket) -> bool {
        ticket.member == self.id && self.tickets.0 <= ticket.number && ticket.number < self.tickets.1
    }

    fn node_of(&self, member: u64) -> Option<NodeId> {
        (member != INVALID_ID).then(|| self.settings.members[seat(member)])
    }
}

/// How long elections wait, in place of what `raft` draws: a function of who, when, and a word of the world's.
#[derive(Clone, Copy, Default, Debug)]
struct Luck {
    word: u64,
    member: u64,
    ticks: usize,
}

impl Luck {
    const fn new(word: u64, member: u64, ticks: usize) -> Self {
        Self { word, member, ticks }
    }

    /// Sets the timeout anew: `raft` may have drawn another.
    fn rule<S: Storage>(self, node: &mut RawNode<S>) {
        let mut fold = Fold::new(self.word);
        fold.pair(self.member, node.raft.term);
        fold.word(node.raft.state as u64);
        let ticks = self.ticks + usize::try_from(fold.value() % self.ticks as u64).expect("few ticks");
        node.raft.set_randomized_election_timeout(ticks);
    }
}

impl<L: Replicated> fmt::Debug for Member<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("id", &self.id)
            .field("standing", &self.told)
            .field("applied", &self.applied)
            .finish_non_exhaustive()
    }
}

/// Where a member is in the list of all.
fn seat(member: u64) -> usize {
    usize::try_from(member - 1).expect("few members")
}

const STARTED: &str = "the process has started";
/// `maxInflightMsgs`: so many appends to a member may be unanswered.
const MAX_INFLIGHT: usize = 512;
