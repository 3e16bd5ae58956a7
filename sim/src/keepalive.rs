//! Whether the other side of a connection is there still, although it says nothing: what the machine of a service
//! that [wants to know](host::Context::keep_alive) finds out.
//!
//! It does as Linux does. Once nothing has come for `idle`, not even the acknowledgement of something sent, it asks; the other
//! *machine* answers, if it runs and no cut is between the two, whatever its process does. A machine that does not know the
//! connection (the process died, or power was lost since) resets it. As long as something that was sent is not
//! acknowledged it does not ask, but sends that again, at longer and longer intervals, and gives up after the last:
//! of the settings only the user timeout matters then.
//!
//! A question is answered in the instant in which it is asked: only what is in force then matters, not what begins while
//! question and answer are on their way. Acknowledgements come back whatever is cut the other way.

use host::{ConnId, Domain, Duration, KeepAlive, NodeId, Part, SimTime};

use crate::connections::{Connection, Side};
use crate::core::{About, Core};
use crate::event::{Event, PacketId, Step};
use crate::outcome::RecordKind;
use crate::packets::{Header, PacketKind};
use crate::timers::TimerPurpose;

/// What a machine knows of the other side of a connection on which it has an eye.
pub(crate) struct Watch {
    how: KeepAlive,
    /// When the other side was last heard.
    heard: SimTime,
    phase: Phase,
    timer: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Until it has been silent for long enough.
    Listens,
    /// It has asked so often since it last heard something.
    Asks(u16),
    /// Something is not acknowledged since then: it has sent it again so often.
    Resends { times: u32, since: SimTime },
}

/// What comes back.
enum Answer {
    Here,
    /// Its machine does not know the connection.
    Unknown,
    Nothing,
}

impl<D: Domain> Core<D> {
    /// From now on the machine of that service finds out whether the other side is there. Nothing happens if the service's end
    /// is closed.
    pub(crate) fn keep_alive(&mut self, node: NodeId, conn: ConnId, how: KeepAlive) {
        let conn = conn.index();
        let ends = &self.connections.all[conn].ends;
        let side = if ends[Side::Client as usize].node == node { Side::Client } else { Side::Server };
        if ends[side as usize].open {
            self.cease_to_watch(conn, side);
            let timer = self.arm_after(node, TimerPurpose::KeepAlive { conn: index(conn), side }, how.idle);
            let watch = Watch { how, heard: self.now, phase: Phase::Listens, timer };
            self.connections.all[conn].watches[side as usize] = Some(Box::new(watch));
        }
    }

    /// That end is closed, or has a new watch.
    pub(crate) fn cease_to_watch(&mut self, conn: usize, side: Side) {
        if let Some(watch) = self.connections.all[conn].watches[side as usize].take() {
            self.disarm(watch.timer);
        }
    }

    /// The time has come to ask, to ask again, or to give up.
    pub(crate) fn ask_whether_there(&mut self, conn: usize, side: Side) {
        let Connection { ends, ways, watches, half_open, .. } = &mut self.connections.all[conn];
        let node = ends[side as usize].node;
        let [came, went] = [side.other(), side].map(|side| ways[side as usize].last());
        // Who has forgotten the connection acknowledges nothing.
        let last = if *half_open == Some(side.other()) { came } else { came.max(went) };
        let watch = watches[side as usize].as_mut().expect("who is not watched has no timer");
        if last > watch.heard {
            (watch.heard, watch.phase) = (last, Phase::Listens);
        }
        let Watch { how, heard, phase, .. } = **watch;
        let machine = self.node(node);
        let since = |then: SimTime| machine.clock().mono_at(self.now) - machine.mono_at(then);
        let silent = since(heard);
        let waited = if let Phase::Resends { since: first, .. } = phase { since(first) } else { silent };
        if phase == Phase::Listens && silent < how.idle {
            return self.go_on_watching(conn, side, heard, phase, how.idle.saturating_sub(silent));
        }
        self.events += 1;
        let purpose = TimerPurpose::KeepAlive { conn: index(conn), side };
        self.trace(node, RecordKind::Timer, purpose.digest(), About::default(), || purpose.name().to_owned());
        let is_over = match phase {
            Phase::Listens => false,
            Phase::Asks(_) | Phase::Resends { .. } if how.user_timeout > Duration::ZERO => waited >= how.user_timeout,
            Phase::Asks(asked) => asked >= how.count,
            Phase::Resends { times, .. } => times == MOST_RESENDS,
        };
        if is_over {
            return self.give_up(conn, side, phase);
        }
        match (self.answer_of_machine(conn, side), phase) {
            (Answer::Here, _) => self.go_on_watching(conn, side, self.now, Phase::Listens, how.idle),
            (Answer::Unknown, _) => self.give_up(conn, side, Phase::Listens),
            (Answer::Nothing, Phase::Listens) => self.go_on_watching(conn, side, heard, Phase::Asks(1), how.interval),
            (Answer::Nothing, Phase::Asks(asked)) => {
                self.go_on_watching(conn, side, heard, Phase::Asks(asked + 1), how.interval);
            }
            (Answer::Nothing, Phase::Resends { times, since }) => {
                let phase = Phase::Resends { times: times + 1, since };
                self.go_on_watching(conn, side, heard, phase, until_resent(times + 1, how, waited));
            }
        }
    }

    fn go_on_watching(&mut self, conn: usize, side: Side, heard: SimTime, phase: Phase, wait: Duration) {
        let node = self.connections.all[conn].ends[side as usize].node;
        let next = self.arm_after(node, TimerPurpose::KeepAlive { conn: index(conn), side }, wait);
        let watch = self.connections.all[conn].watches[side as usize].as_mut().expect("it is watched");
        let how = watch.how;
        let before = std::mem::replace(&mut **watch, Watch { how, heard, phase, timer: next });
        self.disarm(before.timer);
    }

    /// What the other side's machine says to a question. What is in its way has met something.
    fn answer_of_machine(&mut self, conn: usize, side: Side) -> Answer {
        let (own, other) = self.route(conn, side);
        if let Some(cut) = self.cut_between(own, other).or_else(|| self.cut_between(other, own)) {
            self.faults.strikes[cut.strike].met += 1;
            return Answer::Nothing;
        }
        if !self.is_on_the_network(other) {
            self.count_met(other);
            return Answer::Nothing;
        }
        let end = self.connections.all[conn].ends[side.other() as usize];
        if end.open && self.is_life(other, end.life) { Answer::Here } else { Answer::Unknown }
    }

    fn is_on_the_network(&self, node: NodeId) -> bool {
        let machine = self.node(node);
        machine.is_powered() && machine.standing.machine() == 0
    }

    /// The machine takes the connection to be gone. Its process learns it when it attends to it; the other side, if it can
    /// be told (a machine that has sent in vain says nothing more), or when it sends something.
    fn give_up(&mut self, conn: usize, side: Side, phase: Phase) {
        self.cease_to_watch(conn, side);
        let (own, other) = self.route(conn, side);
        self.connections.all[conn].half_open = Some(side);
        let says_so = matches!(phase, Phase::Asks(_));
        if says_so && self.cut_between(own, other).is_none() && self.is_on_the_network(other) {
            self.send_from_machine(conn, side, PacketKind::Reset);
        }
        self.queue.push(self.now, Event::Gone { conn: index(conn), side });
    }

    /// A process learns that its machine has given a connection up.
    pub(crate) fn admit_gone(&mut self, conn: u32, side: Side) -> Step {
        let id = conn as usize;
        let node = self.connections.all[id].ends[side as usize].node;
        let is_news = |core: &Self| {
            let end = core.connections.all[id].ends[side as usize];
            end.open && core.is_life(node, end.life)
        };
        let event = Event::Gone { conn, side };
        // A fault may strike before this step.
        if !is_news(self) || !self.takes_in(node, Part::REQUESTS, event) || !is_news(self) {
            return Step::None;
        }
        self.events += 1;
        self.lose_end(id, side);
        Step::Closed { node, conn: ConnId::new(conn) }
    }

    /// A packet does not get to the other machine for now, or never: its sender's machine will send it again.
    #[cold]
    pub(crate) fn is_not_acknowledged(&mut self, id: PacketId) {
        let Header { conn, from: side, .. } = *self.packets.header(id);
        if let Some(watch) = &self.connections.all[conn].watches[side as usize]
            && !matches!(watch.phase, Phase::Resends { .. })
        {
            let (heard, how) = (watch.heard, watch.how);
            let phase = Phase::Resends { times: 0, since: self.now };
            self.go_on_watching(conn, side, heard, phase, until_resent(0, how, Duration::ZERO));
        }
    }
}

/// How long a machine waits for an acknowledgement before it sends again: doubled each time, but no longer than to the user timeout.
///
/// Source: `TCP_RTO_MIN` and `TCP_RTO_MAX` of Linux (the time of a round trip is small beside the first), `tcp_clamp_rto_to_user_timeout`.
fn until_resent(times: u32, how: KeepAlive, waited: Duration) -> Duration {
    let longest = Duration::from_secs(120);
    let wait = (Duration::from_millis(200) * (1 << times.min(10))).min(longest);
    if how.user_timeout == Duration::ZERO { wait } else { wait.min(how.user_timeout.saturating_sub(waited)) }
}

/// `net.ipv4.tcp_retries2`: after so many times, and one more wait, it gives up: 924.6 s after it first sent.
const MOST_RESENDS: u32 = 15;

fn index(conn: usize) -> u32 {
    u32::try_from(conn).expect("a run has fewer than 2^32 connections")
}
