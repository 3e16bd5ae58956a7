//! The members of an etcd cluster: what they tell, who of them leads, and how they start again. Of the servers of a ZooKeeper
//! ensemble: what they are asked, and who of them leads.

use std::io;
use std::sync::mpsc::Sender;
use std::time::Duration;

use host::{MonoTime, NodeId, SimTime};
use models::etcd::wire::Json;
use models::etcd::{self, Body, Keys, Push, Range, Reply, Revision, Rpc, Watch};
use models::lock::ServerKind;
use models::zookeeper::SessionId;
use spec::{Entry, Note};

use super::lives::Runs;
use super::{Coordinator, Event};
use crate::changes;
use crate::gateway::{Gateway, Lines};
use crate::line::{Asks, Sends};
use crate::now;
use crate::revisions::{Asked, Told};
use crate::servers::etcd::EtcdMember;
use crate::servers::zookeeper::{Role, Status};

/// A member that was started again, and whoever listens to it.
pub(crate) type MemberAgain = io::Result<Box<EtcdMember>>;

/// Listens to all that a member tells, from the beginning of its log.
pub(super) fn listen(member: &EtcdMember) -> io::Result<Lines> {
    member.gateway().watch(&[Watch::of(Keys::Under("".into()), Some(Revision(1)))])
}

/// Passes on what a member tells, to its end.
pub(super) fn attend(node: NodeId, life: u32, lines: &Lines, tell: &Sender<Event>) {
    loop {
        match lines.next(BETWEEN_LOOKS) {
            Ok(Some(said)) => {
                if tell.send(Event::Revised(node, now::monotonic(), said)).is_err() {
                    return;
                }
            }
            Ok(None) => {}
            Err(_) => break,
        }
    }
    let _ = tell.send(Event::Hushed(node, life, None));
}

impl Coordinator {
    /// A member tells of changes to keys.
    pub(super) fn revised(&mut self, node: NodeId, heard: MonoTime, said: &Json) {
        let push = match Push::from_json(node, said) {
            Ok(Some(push)) => push,
            Ok(None) => return,
            Err(why) => return self.doubt(format!("{} tells what nobody understands: {why}", self.name(node))),
        };
        let Some(last) = push.events.last().map(etcd::Event::revision) else { return };
        let told = self.told_upto.entry(node).or_default();
        *told = last.max(*told);
        if self.fenced.get(&node).is_some_and(|fence| *fence <= last) {
            self.fences.remove(&node);
        }
        self.revisions.push(Told { at: self.when(heard), member: node, events: push.events.to_vec() });
    }

    /// A client asks a member.
    pub(super) fn asks(&mut self, node: NodeId, life: u32, asks: &Asks) {
        self.meet(asks.server);
        self.messages += 1;
        match Asked::of(asks) {
            Ok(asked) => {
                self.calls.insert((node, life, asks.call), self.asked.len());
                self.asked.push(asked);
            }
            Err(why) => self.doubt(format!("{} asks what nobody understands: {why}", self.name(node))),
        }
    }

    /// A client was answered by a member.
    pub(super) fn replied(
        &mut self,
        (node, life, call): (NodeId, u32, u64),
        at: SimTime,
        (status, body): (u16, &Json),
    ) {
        self.messages += 1;
        let Some(place) = self.calls.remove(&(node, life, call)) else { return };
        let asked = &mut self.asked[place];
        // If nobody understands it the client cannot go on, and says so.
        asked.answer = Reply::from_json(&asked.rpc, node, status, body).ok().map(|reply| (at, reply));
    }

    /// A client asks a server of an ensemble.
    pub(super) fn sends(&mut self, sends: &Sends) {
        self.meet(sends.server);
        self.messages += 1;
        let Sends { at, attempt, session, xid, .. } = *sends;
        self.sent_to_ensemble.insert((SessionId(session), xid), changes::Asked { at, attempt, answered: None });
    }

    /// A server of an ensemble has answered.
    pub(super) fn heard_from_ensemble(&mut self, at: SimTime, session: SessionId, xid: i32) {
        self.messages += 1;
        if let Some(asked) = self.sent_to_ensemble.get_mut(&(session, xid)) {
            asked.answered = Some(at);
        }
    }

    /// Who leads now. Of several that say so it is the one in the latest term; one that stands still says nothing, and is
    /// the leader as long as nobody else is.
    pub(super) fn find_leader(&mut self) -> Option<NodeId> {
        let of = |node: &super::Node| match &node.runs {
            Runs::Member(Some(member)) => {
                let leads_in = || member.status().ok().and_then(|status| status.leads_in());
                Some(member.answers().then(leads_in))
            }
            Runs::ZooKeeper(server) => {
                let leads = |status: &Status| status.role != Role::Follower;
                let leads_in = || server.status().ok().filter(leads).map(|status| status.zxid.epoch());
                Some(server.answers().then(leads_in))
            }
            _ => None,
        };
        let said: Vec<_> = self.nodes.iter().map(of).collect();
        if said.iter().all(Option::is_none) {
            return self.leader;
        }
        let leads = said.iter().enumerate().filter_map(|(node, said)| Some(((*said)???, super::id(node))));
        let stands = |node: &NodeId| matches!(said[node.index()], Some(None));
        self.leader = leads.max().map(|(_, node)| node).or_else(|| self.leader.filter(stands));
        self.leader
    }

    /// An operator makes a standby the primary. (The one that it followed is not told.)
    pub(super) fn promote(&mut self, node: NodeId) {
        let Runs::Postgres(server) = &self.nodes[node.index()].runs else { return };
        let promoted = server.promote();
        let primary = self.kinds.iter().position(|kind| *kind == ServerKind::Postgres).map(super::id);
        if let Err(error) = promoted {
            return self.doubt(format!("{} could not be promoted: {error}", self.name(node)));
        }
        if let Some(instead_of) = primary {
            let note = Note::Promoted { authority: node, instead_of };
            self.notes.push(Entry { at: self.now(), node, note });
        }
        self.leader = Some(node);
    }

    /// A member starts again; the run's end waits for it.
    pub(super) fn start_member_again(&mut self, node: NodeId, life: u32, mut member: Box<EtcdMember>) {
        let (tell, zero) = (self.tell.clone(), self.zero);
        self.pending += 1;
        std::thread::spawn(move || {
            let up = member.start_again().and_then(|()| listen(&member));
            let at = now::since(zero);
            match up {
                Ok(lines) => {
                    let _ = tell.send(Event::MemberAgain(node, life, at, Ok(member)));
                    // The kernel takes the member for this thread's child: it lives no longer.
                    attend(node, life, &lines, &tell);
                }
                Err(error) => _ = tell.send(Event::MemberAgain(node, life, at, Err(error))),
            }
        });
    }

    /// A member is up again.
    pub(super) fn member_is_again(&mut self, node: NodeId, life: u32, at: SimTime, again: MemberAgain) {
        self.pending -= 1;
        match again {
            Ok(member) => self.lives_again(node, life, at, Runs::Member(Some(member))),
            Err(error) => self.doubt(format!("a member did not start again: {error}")),
        }
    }

    /// Waits for all that each member that lives has to tell.
    pub(super) fn fence_members(&mut self) {
        for index in 0..self.nodes.len() {
            let (node, state) = (super::id(index), &mut self.nodes[index]);
            let Runs::Member(Some(member)) = &mut state.runs else { continue };
            if !state.is_alive {
                continue;
            }
            match member.resume().and_then(|()| revision_of(member.gateway())) {
                Ok(revision) if self.told_upto.get(&node).is_some_and(|told| *told >= revision) => {}
                Ok(Revision(0 | 1)) => {}
                Ok(revision) => {
                    self.fenced.insert(node, revision);
                    self.fences.insert(node);
                }
                Err(error) => self.doubts.push(format!("{} did not tell all: {error}", self.nodes[index].name)),
            }
        }
    }
}

/// The revision that a member has come to, whatever the others have.
fn revision_of(gateway: &Gateway) -> io::Result<Revision> {
    let rpc = Rpc::from(Range { serializable: true, count_only: true, ..Range::of(Keys::Under("".into())) });
    let (path, body) = rpc.to_json();
    let (status, said) = gateway.post(path, &body)?;
    let reply = Reply::from_json(&rpc, NodeId::default(), status, &said).map_err(io::Error::other)?;
    match reply.into_result() {
        Ok(response) if matches!(response.body, Body::Range { .. }) => Ok(response.header.revision),
        other => Err(io::Error::other(format!("{other:?}"))),
    }
}

/// It waits for the next line anyway; this only bounds each wait.
const BETWEEN_LOOKS: Duration = Duration::from_secs(3_600);
