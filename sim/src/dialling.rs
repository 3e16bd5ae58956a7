//! Connections that services open: a service is a client of other services here, without tasks that wait.
//!
//! The rules of the network are those of every connection. What comes back is handed to the service as a step of
//! its own: it has opened, a reply, a push, or it is gone.

use host::{AttemptId, CallId, ConnId, Domain, NodeId};

use crate::connections::{End, Side, conn_id};
use crate::core::Core;
use crate::event::Step;
use crate::links::Sending;
use crate::packets::{Content, PacketKind};

impl<D: Domain> Core<D> {
    /// A service sends a request on a connection that it has opened.
    pub(crate) fn ask(
        &mut self,
        node: NodeId,
        conn: ConnId,
        attempt: Option<AttemptId>,
        call: CallId,
        message: D::Message,
    ) {
        let (conn, from) = (conn.index(), Side::Client);
        let End { node: dialler, open, .. } = self.connections.all[conn].ends[from as usize];
        assert_eq!(dialler, node, "a service asks on connections of its own");
        if open {
            let content = Content { operation: D::operation(&message), message, call: Some(call) };
            self.decide_apart(Sending { conn, from, kind: PacketKind::Request, attempt, content: Some(content) });
        }
    }

    /// A service closes its end of a connection, or gives up opening it.
    pub(crate) fn hang_up(&mut self, node: NodeId, conn: ConnId) {
        let conn = conn.index();
        if self.connections.all[conn].ends[Side::Client as usize].node == node {
            self.close(conn);
        } else if self.connections.all[conn].ends[Side::Server as usize].open {
            self.lose_end(conn, Side::Server);
            let (from, kind) = (Side::Server, PacketKind::Close);
            self.decide_apart(Sending { conn, from, kind, attempt: None, content: None });
        }
    }

    /// What is no message has come to a service on a connection that it has opened, or one after its end was closed.
    pub(crate) fn receive_at_dialler(&mut self, conn: usize, kind: PacketKind, end: End) -> Step {
        let (node, id) = (end.node, conn_id(conn));
        let is_opening = self.connections.all[conn].opening();
        self.receive_at_client(conn, kind, None, end);
        let is_open = self.is_open(conn);
        match kind {
            PacketKind::Accept if is_opening && is_open => Step::Opened { node, conn: id },
            PacketKind::Reset | PacketKind::Close if is_opening || end.open && !is_open => {
                Step::Closed { node, conn: id }
            }
            _ => Step::None,
        }
    }

    /// A service begins to lead, or ceases to.
    pub(crate) fn lead(&mut self, node: NodeId, leads: bool) {
        let last = self.nodes.iter().filter_map(|node| node.leads).max().unwrap_or(0);
        self.node_mut(node).leads = leads.then_some(last + 1);
    }
}
