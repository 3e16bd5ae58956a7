//! Who looks for a leader, who follows, who leads, and what they ask of each other.
//!
//! Source: `QuorumPeer.java`, `Leader.lead`, `LearnerHandler.java`, `Learner.java`, `Follower.followLeader`, `FastLeaderElection.java`
//! of ZooKeeper 3.8.0.
//!
//! | the source's rule | here |
//! |---|---|
//! | a leader looks each whole tick whether it has heard from a majority within `syncLimit` ticks, and gives up else (`lead`, `synced`) | `look_at_quorum` |
//! | it pings who follows each half tick; they answer with the sessions that they have heard of since | `look_at_quorum`, `leader_says` |
//! | who follows gives up on a leader whose connection is gone, or that was silent for `syncLimit` ticks (`syncWithLeader`) | `quorum_loses`, `look_at_quorum` |
//! | who gives up closes the connections of its clients, and takes none until it has a leader | `part` |
//! | who looks stands once it has heard what it can for 200 ms (`finalizeWait`) | `look_again` |
//! | who has been elected and is followed by no majority within `initLimit` (10) ticks gives up | `look_at_quorum` |
//! | who follows serves once it has what was agreed upon when it came (`UPTODATE`) | `serve_if_up_to_date` |
//! | `sync` is answered at once if nothing of the leader's is open, else with the last of it (`processSync`): no majority is asked | `say_how_far` |
//! | a session is another member's once its client goes on there | [`tracker`](crate::zookeeper::tracker) |
//!
//! Who has been elected, and what is agreed upon, [`log`](crate::log) says.

use std::collections::BTreeMap;

use host::{CallId, ConnId, Context, Deadline, Duration, MonoTime, NodeId, Server, nanos, span};
use spec::Note;

use super::{BETWEEN_LOOKS, CONTAINERS, Command, EXPIRY, QUORUM, STAND, ZooKeeper, set};
use crate::domain::Locks;
use crate::zookeeper::learner::{FromLeader, Ticket, ToLeader};
use crate::zookeeper::path::{Millis, SessionId};
use crate::zookeeper::tracker::{Tracker, Via};
use crate::zookeeper::tree::Change;

/// What a member does.
#[derive(Debug)]
pub(super) enum Role {
    /// It looks for a leader.
    Looking,
    Following(Following),
    Leading(Leading),
}

#[derive(Debug)]
pub(super) struct Following {
    leader: NodeId,
    conn: ConnId,
    /// When its leader was heard last.
    heard: MonoTime,
    /// What it must have applied before it serves.
    up_to: Option<u64>,
    serves: bool,
}

#[derive(Debug)]
pub(super) struct Leading {
    /// `None`: not all of its predecessors' changes are applied.
    tracker: Option<Tracker>,
    /// Whole ticks.
    tick: u64,
    /// The next half tick is no whole one.
    is_half: bool,
    learners: BTreeMap<ConnId, Learner>,
    /// How many changes it has proposed, and how many of these are agreed upon.
    proposed: u64,
    settled: u64,
    /// Who asked how far the log is, and is told once so many are settled.
    syncs: Vec<(u64, Option<ConnId>, Ticket)>,
}

/// One who follows.
#[derive(Debug)]
struct Learner {
    /// The last whole tick at which it counts, if it says nothing more.
    until: u64,
}

impl Following {
    /// Asks the leader something.
    fn ask(&self, cx: &mut Context<Locks>, what: ToLeader) {
        cx.request(self.conn, NOT_ANSWERED, what);
    }
}

impl ZooKeeper {
    /// Whether clients are served here.
    pub(super) const fn serves(&self) -> bool {
        match &self.role {
            Role::Looking => false,
            Role::Following(following) => following.serves,
            Role::Leading(leading) => leading.tracker.is_some(),
        }
    }

    /// The log has another leader, or none.
    pub(super) fn leader_changed(&mut self, cx: &mut Context<Locks>, leader: Option<NodeId>) {
        match leader {
            None => {
                self.part(cx);
                self.look_again(cx);
            }
            Some(leader) if leader == cx.node => {
                self.part(cx);
                let (learners, syncs) = (BTreeMap::new(), Vec::new());
                self.role = Role::Leading(Leading {
                    tracker: None,
                    tick: 0,
                    is_half: true,
                    learners,
                    proposed: 0,
                    settled: 0,
                    syncs,
                });
                set(cx, QUORUM, cx.mono + self.servers.tick * INIT_LIMIT);
            }
            Some(leader) => {
                if matches!(&self.role, Role::Following(following) if following.leader == leader) {
                    return;
                }
                self.part(cx);
                let conn = cx.connect::<ToLeader>(Server::on(leader));
                self.role = Role::Following(Following { leader, conn, heard: cx.mono, up_to: None, serves: false });
                set(cx, QUORUM, cx.mono + self.patience());
            }
        }
    }

    /// It neither follows nor leads any more: whoever was connected is told.
    pub(super) fn part(&mut self, cx: &mut Context<Locks>) {
        match std::mem::replace(&mut self.role, Role::Looking) {
            Role::Looking => {}
            Role::Following(following) => cx.close(following.conn),
            Role::Leading(leading) => leading.learners.keys().for_each(|conn| cx.close(*conn)),
        }
        for timer in [EXPIRY, QUORUM, STAND, CONTAINERS] {
            cx.cancel_timer(timer);
        }
        self.hang_up_all(cx);
    }

    /// It gives up on its leader, or on leading.
    fn look(&mut self, cx: &mut Context<Locks>) {
        self.part(cx);
        self.member.look(cx);
        self.look_again(cx);
    }

    /// Stands for election in a while.
    pub(super) fn look_again(&mut self, cx: &mut Context<Locks>) {
        if matches!(self.role, Role::Looking) && !self.is_alone() {
            set(cx, STAND, cx.mono + Duration::from_nanos(span::uniform(FINALIZE.0, FINALIZE.1, || cx.random())));
        }
    }

    pub(super) fn stand(&mut self, cx: &mut Context<Locks>) {
        if matches!(self.role, Role::Looking) {
            self.member.stand(cx);
            self.look_again(cx);
        }
    }

    /// It leads, and has applied what its predecessors had agreed upon.
    pub(super) fn begin_to_lead(&mut self, cx: &mut Context<Locks>) {
        let tracker = Tracker::new(self.servers.tick, self.phase, self.tree.sessions(), cx.mono);
        let index = self.member.applied().index;
        let half = self.servers.tick / 2;
        // One that leads as the world begins has led for long, and its ticks are anywhere.
        let first = if self.is_beginning { span::uniform(1, nanos(half), || cx.random()) } else { nanos(half) };
        let Role::Leading(leading) = &mut self.role else { return };
        set(cx, EXPIRY, tracker.next());
        leading.tracker = Some(tracker);
        set(cx, QUORUM, cx.mono + Duration::from_nanos(first));
        cx.set_timer(CONTAINERS, Deadline::Wall(cx.wall + BETWEEN_LOOKS));
        for conn in leading.learners.keys() {
            cx.push(*conn, FromLeader::UpToDate { index });
        }
        self.welcome_early(cx);
    }

    /// The connection to the leader is open.
    pub(super) fn leader_found(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        if let Role::Following(following) = &mut self.role
            && following.conn == conn
        {
            following.heard = cx.mono;
            following.ask(cx, ToLeader::Follow);
        }
    }

    /// Somebody who follows says something.
    pub(super) fn learner_says(&mut self, cx: &mut Context<Locks>, conn: ConnId, what: ToLeader) {
        let index = self.member.applied().index;
        let sync_limit = u64::from(self.servers.sync_limit);
        let Role::Leading(leading) = &mut self.role else {
            cx.close(conn);
            return;
        };
        let until = leading.tick + sync_limit;
        leading.learners.entry(conn).or_insert(Learner { until }).until = until;
        let Some(tracker) = &mut leading.tracker else { return };
        match what {
            ToLeader::Follow => cx.push(conn, FromLeader::UpToDate { index }),
            ToLeader::Request { ticket, session, change } => {
                self.decide(cx, Via::Learner(conn), ticket, session, change);
            }
            ToLeader::Sync { ticket } => self.say_how_far(cx, Some(conn), ticket),
            ToLeader::Revalidate { ticket, session, timeout } => {
                let is_valid = tracker.touch(session, timeout, cx.mono);
                if is_valid {
                    tracker.move_to(session, Via::Learner(conn));
                }
                cx.push(conn, FromLeader::Validated { ticket, is_valid });
            }
            ToLeader::Touched(sessions) => {
                for (session, timeout) in sessions {
                    self.keep_alive(cx, session, timeout);
                }
            }
        }
    }

    /// The leader says something.
    pub(super) fn leader_says(&mut self, cx: &mut Context<Locks>, conn: ConnId, what: FromLeader) {
        let Role::Following(following) = &mut self.role else { return };
        if following.conn != conn {
            return;
        }
        following.heard = cx.mono;
        match what {
            FromLeader::UpToDate { index } => {
                following.up_to = Some(index);
                self.serve_if_up_to_date(cx);
            }
            FromLeader::Ping => {
                let touched = std::mem::take(&mut self.clients.touched);
                following.ask(cx, ToLeader::Touched(touched.into_iter().collect()));
            }
            FromLeader::Synced { ticket, index } => self.synced(cx, ticket, index),
            FromLeader::Validated { ticket, is_valid } => self.validated(cx, ticket, is_valid),
        }
    }

    /// Who follows serves once it has what its leader had when it came.
    pub(super) fn serve_if_up_to_date(&mut self, cx: &mut Context<Locks>) {
        let applied = self.member.applied().index;
        if let Role::Following(following) = &mut self.role
            && !following.serves
            && following.up_to.is_some_and(|index| index <= applied)
        {
            following.serves = true;
            self.welcome_early(cx);
        }
    }

    /// A connection is gone. Whether it was one between members.
    pub(super) fn quorum_loses(&mut self, cx: &mut Context<Locks>, conn: ConnId) -> bool {
        match &mut self.role {
            Role::Following(following) if following.conn == conn => {
                self.look(cx);
                true
            }
            Role::Leading(leading) => leading.learners.remove(&conn).is_some(),
            Role::Following(_) | Role::Looking => false,
        }
    }

    /// Half a tick is over; or the leader was silent for long.
    pub(super) fn look_at_quorum(&mut self, cx: &mut Context<Locks>) {
        let (majority, half) = (self.members.len() / 2 + 1, self.servers.tick / 2);
        let patience = self.patience();
        match &mut self.role {
            Role::Looking => {}
            Role::Following(following) => {
                let until = following.heard + patience;
                if until <= cx.mono {
                    self.look(cx);
                } else {
                    set(cx, QUORUM, until);
                }
            }
            Role::Leading(Leading { tracker: None, .. }) => self.look(cx),
            Role::Leading(leading) => {
                if !leading.is_half {
                    leading.tick += 1;
                    let synced = leading.learners.values().filter(|learner| leading.tick <= learner.until).count();
                    if synced + 1 < majority {
                        self.look(cx);
                        return;
                    }
                }
                leading.is_half = !leading.is_half;
                leading.learners.keys().for_each(|conn| cx.push(*conn, FromLeader::Ping));
                set(cx, QUORUM, cx.mono + half);
            }
        }
    }

    /// After so long without a word of each other, a leader and who follows it part.
    fn patience(&self) -> Duration {
        self.servers.tick * u32::from(self.servers.sync_limit)
    }

    /// A client of this member wants something agreed upon.
    pub(super) fn submit(&mut self, cx: &mut Context<Locks>, ticket: Ticket, session: SessionId, change: Change) {
        match &self.role {
            Role::Looking => {}
            Role::Following(following) => following.ask(cx, ToLeader::Request { ticket, session, change }),
            Role::Leading(_) => self.decide(cx, Via::Itself, ticket, session, change),
        }
    }

    /// The leader has it agreed upon, or that it is not to be done.
    fn decide(&mut self, cx: &mut Context<Locks>, via: Via, ticket: Ticket, session: SessionId, change: Change) {
        let Role::Leading(Leading { tracker: Some(tracker), .. }) = &mut self.role else { return };
        let refused = match &change {
            Change::Open { timeout, .. } => {
                tracker.track(session, *timeout, Some(via), cx.mono);
                None
            }
            Change::Close { .. } => {
                tracker.close(session);
                None
            }
            Change::One { .. } | Change::Multi { .. } | Change::Reap { .. } => tracker.check(session, via).err(),
        };
        self.propose(cx, Command { change, refused, ticket: Some(ticket) });
    }

    fn propose(&mut self, cx: &mut Context<Locks>, command: Command) {
        if let Role::Leading(leading) = &mut self.role {
            leading.proposed += 1;
            self.member.propose(cx, command);
        }
    }

    /// One of its proposals is agreed upon, and applied.
    pub(super) fn settled(&mut self, cx: &mut Context<Locks>) {
        let index = self.member.applied().index;
        let Role::Leading(leading) = &mut self.role else { return };
        leading.settled += 1;
        let settled = leading.settled;
        let told: Vec<_> = leading.syncs.extract_if(.., |(after, ..)| *after <= settled).collect();
        for (_, whom, ticket) in told {
            match whom {
                Some(conn) => cx.push(conn, FromLeader::Synced { ticket, index }),
                None => self.synced(cx, ticket, index),
            }
        }
    }

    /// A client of this member wants to see what was agreed upon by now.
    pub(super) fn ask_how_far(&mut self, cx: &mut Context<Locks>, ticket: Ticket) {
        match &self.role {
            Role::Looking => {}
            Role::Following(following) => following.ask(cx, ToLeader::Sync { ticket }),
            Role::Leading(_) => self.say_how_far(cx, None, ticket),
        }
    }

    fn say_how_far(&mut self, cx: &mut Context<Locks>, whom: Option<ConnId>, ticket: Ticket) {
        let index = self.member.applied().index;
        let Role::Leading(leading) = &mut self.role else { return };
        match whom {
            _ if leading.settled < leading.proposed => leading.syncs.push((leading.proposed, whom, ticket)),
            Some(conn) => cx.push(conn, FromLeader::Synced { ticket, index }),
            None => self.synced(cx, ticket, index),
        }
    }

    /// A client wants to go on with its session here.
    pub(super) fn revalidate(&mut self, cx: &mut Context<Locks>, ticket: Ticket, session: SessionId, timeout: Millis) {
        match &mut self.role {
            Role::Leading(Leading { tracker: Some(tracker), .. }) => {
                let is_valid = tracker.touch(session, timeout, cx.mono);
                if is_valid {
                    tracker.move_to(session, Via::Itself);
                }
                self.validated(cx, ticket, is_valid);
            }
            Role::Following(following) => following.ask(cx, ToLeader::Revalidate { ticket, session, timeout }),
            Role::Leading(_) | Role::Looking => {}
        }
    }

    /// A client of this member was heard. Whether there is such a session, as far as the member knows.
    pub(super) fn touch(&mut self, cx: &mut Context<Locks>, session: SessionId, timeout: Millis) -> bool {
        match &mut self.role {
            Role::Leading(_) => self.keep_alive(cx, session, timeout),
            Role::Following(_) => {
                self.clients.touched.insert(session, timeout);
                true
            }
            Role::Looking => false,
        }
    }

    /// A client was heard, wherever. Whether there is such a session.
    fn keep_alive(&mut self, cx: &mut Context<Locks>, session: SessionId, timeout: Millis) -> bool {
        let Role::Leading(Leading { tracker: Some(tracker), .. }) = &mut self.role else { return false };
        let is_there = tracker.touch(session, timeout, cx.mono);
        if is_there {
            let authority = self.ensemble();
            let hangs_on = |path| self.tree.stat(path).is_ok_and(|stat| stat.owner == Some(session));
            for (key, attempt) in self.owners.all().filter(|(_, path, _)| hangs_on(path)).map(|(key, _, by)| (key, by))
            {
                // Whoever the message was sent for: a session is its owner's.
                cx.note(Note::Extended { authority, key, attempt, by: Some(attempt) });
            }
        }
        is_there
    }

    /// A session has ended.
    pub(super) fn forget(&mut self, session: SessionId) {
        if let Role::Leading(Leading { tracker: Some(tracker), .. }) = &mut self.role {
            tracker.forget(session);
        }
    }

    /// Sessions may be over.
    pub(super) fn expire(&mut self, cx: &mut Context<Locks>) {
        let Role::Leading(Leading { tracker: Some(tracker), .. }) = &mut self.role else { return };
        let over = tracker.over(cx.mono);
        set(cx, EXPIRY, tracker.next());
        for session in over {
            self.propose(cx, Command { change: Change::Close { session }, refused: None, ticket: None });
        }
    }

    /// It may have stood still: either it looks first which sessions are over, or it reads first.
    pub(super) fn expire_before_it_reads(&mut self, cx: &mut Context<Locks>) {
        let Role::Leading(Leading { tracker: Some(tracker), .. }) = &self.role else { return };
        let due = tracker.next();
        if due >= cx.mono || self.reads_first == Some(due) {
            return;
        }
        if cx.random().is_multiple_of(2) {
            self.expire(cx);
        } else {
            self.reads_first = Some(due);
        }
    }

    /// Containers that nobody uses any more are deleted.
    pub(super) fn look_at_containers(&mut self, cx: &mut Context<Locks>) {
        let unused: Vec<_> = self.tree.unused_containers().collect();
        for path in unused {
            self.propose(cx, Command { change: Change::Reap { path }, refused: None, ticket: None });
        }
        cx.set_timer(CONTAINERS, Deadline::Wall(cx.wall + BETWEEN_LOOKS));
    }
}

/// `initLimit`
const INIT_LIMIT: u32 = 10;
/// For how long who looks for a leader listens before it stands: `finalizeWait`, and up to as long again, since not all begin at
/// once. In ns.
const FINALIZE: (u64, u64) = (200_000_000, 400_000_000);
/// What members say to each other is not answered: all of it has one number.
const NOT_ANSWERED: CallId = CallId::new(0);
