//! How a server that is not alone serves: what clients, replicas and primaries send, and what follows from each step.

use host::{Context, Origin, TimerId};

use super::wait::Queued;
use super::{CRON, Info, Link, OUTPUT, Role, WAITING};
use crate::domain::Locks;
use crate::redis::execute::Step;
use crate::redis::{Command, Redis, RedisError, Reply, Value};

impl Redis {
    /// A request has come, of a client or of a replica.
    pub(in crate::redis) fn take_in(&mut self, cx: &mut Context<Locks>, from: Origin, command: Command) {
        let Some(replication) = &mut self.replication else { return };
        match command {
            Command::Psync { history, offset, replica } => {
                replication.attach(cx, from.conn, replica, (history, offset));
            }
            Command::ReplconfAck { offset } => replication.acknowledge(cx, from.conn, offset),
            command => {
                let queued = Queued { from, attempt: cx.attempt, command };
                if let Some(request) = replication.waits.queue(queued) {
                    self.answer(cx, request);
                }
            }
        }
        self.come_to_rest(cx);
    }

    /// Answers a request, unless its answer has to wait.
    fn answer(&mut self, cx: &mut Context<Locks>, Queued { from, attempt, command }: Queued) {
        let asked_for = std::mem::replace(&mut cx.attempt, attempt);
        let reply = match command {
            Command::Wait { replicas, timeout } if !self.transactions.queues(from.conn) => {
                self.replication.as_mut().and_then(|replication| replication.wait(cx, from, replicas, timeout))
            }
            command => {
                let mut step = self.step(cx);
                step.asking = Some(from.conn);
                Some(step.serve(from.conn, command).unwrap_or_else(Reply::Error))
            }
        };
        if let Some(reply) = reply {
            cx.reply(from, reply);
        }
        cx.attempt = asked_for;
        self.propagate(cx);
        if let Some(replication) = &mut self.replication {
            replication.served(from.conn);
        }
    }

    pub(in crate::redis) fn on_replication_timer(&mut self, cx: &mut Context<Locks>, timer: TimerId) {
        let Some(replication) = &mut self.replication else { return };
        match timer {
            CRON => replication.cron(cx, &self.keys),
            OUTPUT => replication.feeds.flush(cx),
            // Whose time it is, is looked at below.
            WAITING => {}
            other => unreachable!("{other:?} is nobody's"),
        }
        self.come_to_rest(cx);
    }

    /// What follows from a step: replicas are told what has changed, and who has waited for long enough is answered.
    pub(in crate::redis) fn come_to_rest(&mut self, cx: &mut Context<Locks>) {
        self.propagate(cx);
        while let Some(replication) = &mut self.replication {
            let queued = replication.end_waits(cx);
            if queued.is_empty() {
                break;
            }
            for request in queued {
                // What was asked first may have to wait again.
                if let Some(request) =
                    self.replication.as_mut().and_then(|replication| replication.waits.queue(request))
                {
                    self.answer(cx, request);
                }
            }
        }
        self.await_expiry(cx);
    }

    fn propagate(&mut self, cx: &mut Context<Locks>) {
        if let Some(replication) = &mut self.replication {
            replication.propagate(cx, &self.keys);
        }
    }
}

impl Step<'_> {
    /// Serves a command that is about the server and its peers.
    pub(in crate::redis) fn about_replication(&mut self, command: Command) -> Reply {
        let Some(replication) = self.replication.as_deref_mut() else {
            // A server that was always alone has no replicas, and is not asked for the rest.
            return match command {
                Command::Wait { timeout: ..0, .. } => Reply::Error(RedisError::NegativeTimeout),
                Command::Wait { .. } => Reply::Int(0),
                _ => Reply::Ok,
            };
        };
        match command {
            Command::Info => Reply::Info(Box::new(replication.info(self.cx))),
            Command::Role => role(&replication.info(self.cx)),
            Command::Wait { timeout: ..0, .. } => Reply::Error(RedisError::NegativeTimeout),
            Command::Wait { .. } => self.asking.map_or(Reply::Int(0), |conn| replication.acked(conn)),
            Command::ReplicaOf { primary: Some(primary) } => {
                replication.demote(self.cx, self.keys, primary);
                Reply::Ok
            }
            Command::ReplicaOf { primary: None } => {
                replication.promote(self.cx, self.keys, self.now);
                Reply::Ok
            }
            Command::ConfigRewrite => {
                replication.rewrite_config(self.cx);
                Reply::Ok
            }
            Command::ClientKill => {
                let count = self.asking.map_or(0, |conn| replication.kill_clients(self.cx, self.transactions, conn));
                Reply::Int(i64::try_from(count).unwrap_or(i64::MAX))
            }
            other => unreachable!("{other} is not about the server"),
        }
    }

    /// An operator makes a replica the primary: `REPLICAOF NO ONE`.
    pub(in crate::redis) fn promote(&mut self) {
        if let Some(replication) = self.replication.as_deref_mut() {
            replication.promote(self.cx, self.keys, self.now);
        }
    }
}

/// What `ROLE` answers.
fn role(info: &Info) -> Reply {
    let offset = Reply::Int(i64::try_from(info.offset).unwrap_or(i64::MAX));
    let bulk = |text: &str| Reply::Bulk(Value::from(text));
    let number = |node: &host::NodeId| Reply::Int(i64::try_from(node.index()).unwrap_or(i64::MAX));
    Reply::Array(match &info.role {
        Role::Primary { replicas } => {
            vec![bulk("master"), offset, Reply::Array(replicas.iter().map(number).collect())]
        }
        Role::Replica { of, link } => {
            let state = if *link == Link::Up { "connected" } else { "connect" };
            vec![bulk("slave"), number(of), bulk(state), offset]
        }
    })
}
