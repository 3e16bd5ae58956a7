//! The model of a server, stepped without a kernel on a clock that is handed to it.

use host::{CallId, ConnId, Context, Disk, Effect, MonoTime, NodeId, Operation, Origin, Service, WallTime};
use models::domain::{Locks, Message, Record};
use models::lock::{Persistence, RedisServer};
use models::redis::{Command, Redis};

/// A server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Model {
    redis: Redis,
    disk: Disk<Record>,
}

impl Model {
    /// An empty server that keeps so much.
    pub(crate) fn new(persistence: Persistence) -> Self {
        let redis = Redis::new(RedisServer { persistence, ..RedisServer::default() });
        Self { redis, disk: Disk::default() }
    }

    /// What it answers to a command while the clock reads so many ms, in RESP2.
    pub(crate) fn ask(&mut self, conn: ConnId, command: Command, now: i64) -> Vec<u8> {
        let from = Origin { conn, call: CallId::new(0), operation: Operation("any") };
        let mut replies = Vec::new();
        for effect in self.step(now, |redis, cx| redis.on_message(cx, from, command.into())) {
            match effect {
                Effect::Reply(to, Message::RedisReply(reply)) if to == from => replies.push(reply.to_resp()),
                // The server looks after its log; here its disk is at rest.
                Effect::SetTimer(..) => {}
                other => panic!("nobody owns a key here, so there is nothing to tell but replies: {other:?}"),
            }
        }
        let [reply] = <[_; 1]>::try_from(replies).expect("one reply to one command");
        reply
    }

    /// The connection is closed.
    pub(crate) fn close(&mut self, conn: ConnId, now: i64) {
        self.step(now, |redis, cx| redis.on_close(cx, conn));
    }

    /// One step of it.
    pub(crate) fn step<T>(
        &mut self,
        now: i64,
        step: impl FnOnce(&mut Redis, &mut Context<Locks>) -> T,
    ) -> Vec<Effect<Message, spec::Note>> {
        let mut cx = Context::at(NodeId::new(0), MonoTime::from_nanos(0), WallTime::from_millis(now));
        std::mem::swap(&mut self.disk, &mut cx.disk);
        step(&mut self.redis, &mut cx);
        cx.disk.end_sync_aside();
        self.disk = cx.disk;
        cx.effects
    }
}
