//! One member of a replicated log: what it is handed, and what it hands back. What follows from each step is in `settle`.

mod settle;

use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;

use host::{ConnId, Context, Deadline, Duration, MonoTime, NodeId, Origin, TimerId, nanos, span};
use raft::{INVALID_ID, RawNode, SnapshotStatus};

use super::entry::{Applied, Hard, Place, Proposal, Snapshot, Ticket};
use super::luck::Luck;
use super::packet::{Packet, What};
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
    /// A tick has come that was not attended to yet: the disk was waited for, and a ticker keeps one.
    owes_tick: bool,
    /// Until when it may go ahead, if it has not yet.
    head_start: Option<MonoTime>,
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
            owes_tick: false,
            head_start: None,
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
        self.told.term = store.hard().term;
        self.raft = Some(self.algorithm(store));
        self.streams = Streams::new(&self.settings.members, cx.mono);
        self.streams.start::<L>(cx);
        // A process that starts with the world has been there for some time: members' ticks do not coincide.
        let tick = nanos(self.settings.tick);
        let first_tick = if is_new { span::uniform(1, tick, || cx.random()) } else { tick };
        let first_tick = cx.mono + Duration::from_nanos(first_tick);
        self.ticker = Ticker::new(self.settings.tick, self.settings.late, first_tick);
        cx.set_timer(TICK, Deadline::Mono(first_tick));
        // A cluster that begins with a leader has been there for long, and did not start just now.
        let has_begun = is_new && self.settings.first.is_some();
        self.head_start = (self.settings.head_start && !has_begun).then_some(cx.mono + HEAD_START);
        self.go_ahead(cx);
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
        if !cx.disk.is_syncing() {
            self.streams.tick::<L>(cx);
            while let Some(peer) = self.streams.overdue(cx.mono) {
                self.give_up_on(peer);
            }
            self.go_ahead(cx);
        }
        self.owes_tick = true;
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
        let Some(peer) = self.streams.lost::<L>(cx, conn) else { return false };
        self.give_up_on(peer);
        self.settle(cx);
        true
    }

    /// A packet comes from another member, on a connection that it dialled.
    pub fn on_message(&mut self, cx: &mut Context<L::Domain>, from: Origin, packet: Packet<L>) {
        if let Packet::Stream { reader } = packet {
            if let Some(reader) = self.streams.attach::<L>(cx, from, reader) {
                self.give_up_on(reader);
                self.stand_first(cx);
                self.settle(cx);
            }
        } else {
            self.take_in(cx, from.conn, packet);
        }
    }

    /// A packet comes from another member, on a connection that this one dialled.
    pub fn on_push(&mut self, cx: &mut Context<L::Domain>, conn: ConnId, packet: Packet<L>) {
        if self.streams.hear(cx.mono, conn) {
            self.take_in(cx, conn, packet);
        }
    }

    fn take_in(&mut self, cx: &mut Context<L::Domain>, conn: ConnId, packet: Packet<L>) {
        match packet {
            Packet::Stream { .. } | Packet::Alive => return,
            Packet::Taken => {
                if let Some(peer) = self.streams.taken(conn) {
                    self.raft().report_snapshot(peer as u64 + 1, SnapshotStatus::Finish);
                }
            }
            Packet::Propose(proposal) => {
                // Without a leader it is lost: who forwards does not wait.
                let _ = self.forward(cx, proposal);
            }
            Packet::Letter(letter) => {
                if matches!(letter.what, What::Snapshot(_)) {
                    self.streams.confirm::<L>(cx, conn);
                }
                let members = self.settings.members.len() as u64;
                let message = translate::message(self.raft().mut_store(), members, letter);
                self.raft().step(message).expect("members send each other what they can read");
            }
        }
        self.settle(cx);
    }

    /// Has something agreed upon: it becomes an entry, or is lost on the way to the leader, with whoever the leader is by
    /// then. As long as none is known, it waits (`node.propc`).
    pub fn propose(&mut self, cx: &mut Context<L::Domain>, command: L::Command) -> Ticket {
        let ticket = self.ticket();
        self.queued.push_back(Rc::new(Proposal { command, ticket, attempt: cx.attempt }));
        self.settle(cx);
        ticket
    }

    /// Gives up on its leader, or on leading, and looks for one: for a server that has a rule of its own for when. What it
    /// proposed as the leader may yet be agreed upon.
    pub fn look(&mut self, cx: &mut Context<L::Domain>) {
        let term = self.raft().raft.term;
        self.raft().raft.become_follower(term, INVALID_ID);
        self.settle(cx);
    }

    /// Stands for election now, unless it leads: for a server that has a rule of its own for when.
    pub fn stand(&mut self, cx: &mut Context<L::Domain>) {
        self.raft().campaign().expect("who is among the members may stand");
        self.settle(cx);
    }

    /// Nobody waits for it any more: if it still waits for a leader, it is not proposed. Whether it did.
    pub fn withdraw(&mut self, ticket: Ticket) -> bool {
        let place = self.queued.iter().position(|proposal| proposal.ticket == ticket);
        place.and_then(|place| self.queued.remove(place)).is_some()
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

    /// Who has just started need not wait for a whole election timeout to find that nobody leads: `adjustTicks`, which looks
    /// for others every 50 ms, and this here every tick.
    fn go_ahead(&mut self, cx: &Context<L::Domain>) {
        let Some(until) = self.head_start else { return };
        let left = match (self.settings.members.len(), self.streams.up(cx.node)) {
            (1, _) => Some(1),
            (_, up) => (up > 1).then_some(2),
        };
        if let Some(left) = left {
            (left..self.settings.election_ticks).for_each(|_| _ = self.raft().tick());
        }
        if left.is_some() || cx.mono >= until {
            self.head_start = None;
        }
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
/// For so long after its start a member may go ahead (`rafthttp.ConnReadTimeout`).
const HEAD_START: Duration = Duration::from_secs(5);
/// `maxInflightMsgs`: so many appends to a member may be unanswered.
const MAX_INFLIGHT: usize = 512;
