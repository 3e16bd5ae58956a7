//! The model's servers, stepped without a kernel, and clients that ask them as the real ones are asked.

use std::collections::BTreeMap;

use host::{NodeId, Service};
use models::domain::{Locks, Message};
use models::lock::ZkServers;
use models::zookeeper::server::ZooKeeper;
use models::zookeeper::{Answer, Connect, ZkEvent, ZkReply, ZkRequest};

use crate::rig::Rig;

/// An ensemble, or a server alone.
pub(crate) struct Model {
    rig: Rig,
    size: usize,
    /// The connection of each client, by its number.
    lines: BTreeMap<usize, usize>,
    told: BTreeMap<usize, Vec<Told>>,
}

/// What clients were told because of one request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Told {
    pub(crate) events: Vec<ZkEvent>,
    /// What a session takes with it goes in any order.
    pub(crate) in_order: bool,
}

/// No answer takes so many ms.
const LONG: u64 = 100;
/// Within so many ms there is another leader, and after so many more who was killed follows it.
const MOST: u64 = 10_000;
const AGAIN: u64 = 3_000;
/// After so many ms all members have what they agree on.
const SOON: u64 = 8;

impl Model {
    /// A new one; it serves.
    pub(crate) fn new(size: usize) -> Self {
        let count = u16::try_from(size).expect("few");
        let servers = ZkServers { members: count, ..ZkServers::default() };
        let members: Vec<_> = (0..count).map(NodeId::new).collect();
        let make = |_| -> Box<dyn Fn() -> Box<dyn Service<Locks>>> {
            let members = members.clone();
            Box::new(move || Box::new(ZooKeeper::new(&members, servers)))
        };
        let mut rig = Rig::new(7, (0..count).map(make).collect());
        rig.run(LONG);
        Self { rig, size, lines: BTreeMap::new(), told: BTreeMap::new() }
    }

    /// Which of its servers leads.
    pub(crate) fn leader(&self) -> usize {
        self.rig.leader.unwrap_or(0)
    }

    /// A client connects to a server, and says that. `None`: the server hangs up.
    pub(crate) fn connect(&mut self, client: usize, server: usize, connect: Connect) -> Option<ZkReply> {
        let line = self.rig.line(server);
        self.lines.insert(client, line);
        self.rig.tell(line, ZkRequest::Connect(Box::new(connect)));
        self.reply(line, true)
    }

    /// A client loses its connection, and what it was told and has not heard.
    pub(crate) fn lose(&mut self, client: usize) {
        self.told.remove(&client);
        if let Some(line) = self.lines.remove(&client) {
            self.rig.hang_up(line);
            self.rig.run(SOON);
        }
    }

    /// The client's connection is another's from now on, that only lingers.
    pub(crate) fn stay_behind(&mut self, client: usize, other: usize) {
        self.told.remove(&client);
        if let Some(line) = self.lines.remove(&client) {
            self.lines.insert(other, line);
        }
    }

    /// Whoever leads is killed, and starts again with what it has on its disk. All clients lose their connections.
    pub(crate) fn restart(&mut self) {
        self.told.clear();
        for line in std::mem::take(&mut self.lines).into_values() {
            self.rig.hang_up(line);
        }
        let leader = self.rig.leader.expect("one leads");
        self.rig.kill(leader);
        self.rig.leader = None;
        if self.size > 1 {
            self.rig.run_until(MOST, |rig| rig.leader.is_some()).expect("another leads");
        }
        self.rig.start(leader);
        self.rig.run(AGAIN);
        self.rig.pushes.clear();
        self.rig.replies.clear();
    }

    /// What is answered to a request. `None`: the server hangs up.
    pub(crate) fn ask(&mut self, client: usize, request: ZkRequest) -> Option<Answer> {
        let line = *self.lines.get(&client)?;
        let in_order = !matches!(request, ZkRequest::CloseSession);
        if !self.rig.is_open(line) {
            return None;
        }
        self.rig.tell(line, request);
        let reply = self.reply(line, in_order);
        reply.and_then(ZkReply::into_answer)
    }

    /// What the client was told since it was last asked that.
    pub(crate) fn take_told(&mut self, client: usize) -> Vec<Told> {
        self.told.remove(&client).unwrap_or_default()
    }

    /// So many ms pass, and those clients say that they are there.
    pub(crate) fn wait(&mut self, ms: u64, there: &[usize]) {
        for _ in 0..ms.div_ceil(1_000) {
            for client in there {
                self.ask(*client, ZkRequest::Ping);
            }
            self.rig.run(1_000);
            self.hear(true);
        }
    }

    fn reply(&mut self, line: usize, in_order: bool) -> Option<ZkReply> {
        for _ in 0..LONG {
            self.rig.run(1);
            if !self.rig.replies.is_empty() || !self.rig.is_open(line) {
                break;
            }
        }
        // Members that follow are told a little later, and the connection of a session that has ended is closed.
        self.rig.run(if self.size == 1 { 1 } else { SOON });
        self.hear(in_order);
        self.rig.replies.drain(..).find_map(|(_, of, reply)| match reply {
            Message::ZkReply(reply) if of == line => Some(reply),
            _ => None,
        })
    }

    /// Takes in what was told.
    fn hear(&mut self, in_order: bool) {
        let mut events: BTreeMap<usize, Vec<ZkEvent>> = BTreeMap::new();
        for (_, line, push) in self.rig.pushes.drain(..) {
            if let Message::ZkEvent(event) = push {
                events.entry(line).or_default().push(*event);
            }
        }
        for (client, line) in &self.lines {
            if let Some(events) = events.remove(line) {
                self.told.entry(*client).or_default().push(Told { events, in_order });
            }
        }
    }
}
