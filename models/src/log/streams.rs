//! The connections between members (`rafthttp`): each dials each other, and reads there what that one writes, its *stream*.
//! Who has no stream to write to, because its reader has not dialled yet or again, uses the connection that it dialled
//! itself, as etcd uses its *pipeline* then.
//!
//! Times are on the monotonic clock, and looked at when the member ticks.

use host::{CallId, ConnId, Context, Duration, MonoTime, NodeId, Origin, Server};

use super::packet::{Letter, What};
use super::{Packet, Replicated};

/// One member's connections to the others.
#[derive(Debug)]
pub(super) struct Streams {
    /// All members; this one has no connection to itself.
    peers: Vec<Peer>,
}

#[derive(Debug)]
struct Peer {
    node: NodeId,
    /// What it writes is read there.
    reads: Way,
    /// When it was dialled last.
    dialled: MonoTime,
    /// When something came from it last.
    heard: MonoTime,
    /// What it is to read is written there.
    writes: Option<ConnId>,
    /// When something was written last.
    spoke: MonoTime,
    /// When it was sent a state, as long as it has not said that it has it.
    sent_state: Option<MonoTime>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Down,
    Opens(ConnId),
    Up(ConnId),
}

impl Way {
    const fn conn(self) -> Option<ConnId> {
        match self {
            Self::Down => None,
            Self::Opens(conn) | Self::Up(conn) => Some(conn),
        }
    }
}

impl Streams {
    /// No connections, yet.
    pub(super) fn new(members: &[NodeId], now: MonoTime) -> Self {
        let peer = |node: &NodeId| Peer {
            node: *node,
            reads: Way::Down,
            dialled: now,
            heard: now,
            writes: None,
            spoke: now,
            sent_state: None,
        };
        Self { peers: members.iter().map(peer).collect() }
    }

    /// Dials everybody.
    pub(super) fn start<L: Replicated>(&mut self, cx: &mut Context<L::Domain>) {
        let own = cx.node;
        for peer in self.peers.iter_mut().filter(|peer| peer.node != own) {
            peer.dial::<L>(cx);
        }
    }

    /// Time has passed: who is silent is dialled again, and who might take this one to be silent is told that it is not.
    pub(super) fn tick<L: Replicated>(&mut self, cx: &mut Context<L::Domain>) {
        let own = cx.node;
        for peer in self.peers.iter_mut().filter(|peer| peer.node != own) {
            let patience = match peer.reads {
                Way::Down => DIAL_AGAIN,
                Way::Opens(_) => DIAL_TIMEOUT,
                Way::Up(_) => READ_TIMEOUT,
            };
            let since = if let Way::Up(_) = peer.reads { peer.heard } else { peer.dialled };
            if cx.mono - since >= patience {
                if let Some(conn) = peer.reads.conn() {
                    cx.close(conn);
                }
                peer.dial::<L>(cx);
            }
            if cx.mono - peer.spoke >= SAY_ALIVE {
                peer.write::<L>(cx, Packet::Alive);
            }
        }
    }

    /// A connection is open. Whether it is one of these.
    pub(super) fn opened<L: Replicated>(&mut self, cx: &mut Context<L::Domain>, conn: ConnId) -> bool {
        let opened = self.peers.iter_mut().find(|peer| peer.reads == Way::Opens(conn));
        if let Some(peer) = opened {
            (peer.reads, peer.heard) = (Way::Up(conn), cx.mono);
            cx.request(conn, NOT_ANSWERED, L::message(Packet::Stream { reader: cx.node }));
            return true;
        }
        false
    }

    /// Something comes on a stream. Whether this member reads it.
    pub(super) fn hear(&mut self, now: MonoTime, conn: ConnId) -> bool {
        let heard = self.peers.iter_mut().find(|peer| peer.reads == Way::Up(conn));
        if let Some(peer) = heard {
            peer.heard = now;
            return true;
        }
        false
    }

    /// A member reads on that connection from now on. Who, counted from 0, if it is one.
    pub(super) fn attach<L: Replicated>(
        &mut self,
        cx: &mut Context<L::Domain>,
        from: Origin,
        reader: NodeId,
    ) -> Option<usize> {
        let at = self.peers.iter().position(|peer| peer.node == reader)?;
        let peer = &mut self.peers[at];
        if let Some(old) = peer.writes.replace(from.conn) {
            cx.close(old);
        }
        // It may have been silent for long.
        peer.write::<L>(cx, Packet::Alive);
        Some(at)
    }

    /// A connection is gone. Of whom, counted from 0, if it was one of these.
    pub(super) fn lost<L: Replicated>(&mut self, cx: &mut Context<L::Domain>, conn: ConnId) -> Option<usize> {
        let at = self.peer(conn)?;
        let peer = &mut self.peers[at];
        if peer.writes == Some(conn) {
            peer.writes = None;
        } else {
            peer.reads = Way::Down;
            if cx.mono - peer.dialled >= DIAL_AGAIN {
                peer.dial::<L>(cx);
            }
        }
        Some(at)
    }

    /// Tells who sent something on that connection that it has come.
    pub(super) fn confirm<L: Replicated>(&self, cx: &mut Context<L::Domain>, conn: ConnId) {
        if self.peers.iter().any(|peer| peer.writes == Some(conn)) {
            cx.push(conn, L::message(Packet::Taken));
        } else {
            cx.request(conn, NOT_ANSWERED, L::message(Packet::Taken));
        }
    }

    /// Whose connection that is, counted from 0, if it is one of these.
    pub(super) fn peer(&self, conn: ConnId) -> Option<usize> {
        self.peers.iter().position(|peer| peer.writes == Some(conn) || peer.reads.conn() == Some(conn))
    }

    /// A state that was sent has come. To whom, counted from 0.
    pub(super) fn taken(&mut self, conn: ConnId) -> Option<usize> {
        let at = self.peer(conn)?;
        self.peers[at].sent_state = None;
        Some(at)
    }

    /// Somebody who was sent a state and has not said for too long that it has come, counted from 0; once.
    pub(super) fn overdue(&mut self, now: MonoTime) -> Option<usize> {
        let is_overdue = |peer: &Peer| peer.sent_state.is_some_and(|sent| now - sent >= STATE_TIMEOUT);
        let at = self.peers.iter().position(is_overdue)?;
        self.peers[at].sent_state = None;
        Some(at)
    }

    /// Says something to a member, counted from 0. Whether there is a connection.
    pub(super) fn say<L: Replicated>(&mut self, cx: &mut Context<L::Domain>, to: usize, packet: Packet<L>) -> bool {
        self.peers[to].write(cx, packet)
    }

    /// How many others there is a connection with, either way.
    pub(super) fn up(&self, own: NodeId) -> usize {
        let is_up = |peer: &&Peer| peer.node != own && (peer.writes.is_some() || matches!(peer.reads, Way::Up(_)));
        self.peers.iter().filter(is_up).count()
    }

    /// Whether everybody is connected both ways.
    pub(super) fn all_up(&self, but: NodeId) -> bool {
        let is_up = |peer: &Peer| peer.writes.is_some() && matches!(peer.reads, Way::Up(_));
        self.peers.iter().all(|peer| peer.node == but || is_up(peer))
    }
}

impl Peer {
    fn dial<L: Replicated>(&mut self, cx: &mut Context<L::Domain>) {
        self.reads = Way::Opens(cx.connect::<Packet<L>>(Server::on(self.node)));
        self.dialled = cx.mono;
    }

    fn write<L: Replicated>(&mut self, cx: &mut Context<L::Domain>, packet: Packet<L>) -> bool {
        if matches!(&packet, Packet::Letter(Letter { what: What::Snapshot(_), .. })) {
            self.sent_state = Some(cx.mono);
        }
        match (self.writes, self.reads) {
            (Some(conn), _) => cx.push(conn, L::message(packet)),
            (None, Way::Up(conn)) => cx.request(conn, NOT_ANSWERED, L::message(packet)),
            (None, _) => return false,
        }
        self.spoke = cx.mono;
        true
    }
}

/// `rafthttp.ConnReadTimeout`: a stream on which nothing came for so long is broken.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// A third of it: a writer that has nothing to say says so.
const SAY_ALIVE: Duration = Duration::from_nanos(1_666_666_667);
/// `peerDialTimeout`: a second, and an election timeout (of a second).
const DIAL_TIMEOUT: Duration = Duration::from_secs(2);
/// `snapResponseReadTimeout`: a state that was sent and not confirmed for so long is lost.
const STATE_TIMEOUT: Duration = Duration::from_secs(5);
/// `dialRetryFrequency`: dialled at most so often.
const DIAL_AGAIN: Duration = Duration::from_millis(100);
/// What members send each other is not answered: all of it has one number.
const NOT_ANSWERED: CallId = CallId::new(0);
