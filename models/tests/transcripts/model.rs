//! The model of a server, stepped without a kernel on a clock that is handed to it.

use host::{CallId, ConnId, Context, Disk, Effect, MonoTime, NodeId, Operation, Origin, Service, Shortages, WallTime};
use models::domain::{Locks, Message, Record};
use models::lock::{Persistence, RedisServer};
use models::redis::{Command, Redis, Reply};

/// A server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Model {
    redis: Redis,
    disk: Disk<Record>,
    /// What its machine is short of.
    pub(crate) shortages: Shortages,
}

/// What a server says to a command: the reply, and what it pushes to whom, in RESP2.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Said {
    pub(crate) reply: Vec<u8>,
    pub(crate) pushes: Vec<(ConnId, Vec<u8>)>,
}

impl Model {
    /// An empty server that keeps so much.
    pub(crate) fn new(persistence: Persistence) -> Self {
        let redis = Redis::new(RedisServer { persistence, ..RedisServer::default() });
        Self { redis, disk: Disk::default(), shortages: Shortages::default() }
    }

    /// What it answers to a command while the clock reads so many ms, in RESP2.
    pub(crate) fn ask(&mut self, conn: ConnId, command: Command, now: i64) -> Vec<u8> {
        self.say(conn, command, now).reply
    }

    /// The same, and what it pushes to those that are subscribed.
    pub(crate) fn say(&mut self, conn: ConnId, command: Command, now: i64) -> Said {
        let from = Origin { conn, call: CallId::new(0), operation: Operation("any") };
        let (mut replies, mut pushes) = (Vec::new(), Vec::new());
        for effect in self.step(now, |redis, cx| redis.on_message(cx, from, command.into())) {
            match effect {
                Effect::Reply(to, Message::RedisReply(reply)) if to == from => replies.push(reply.to_resp()),
                Effect::Push(to, Message::RedisPush(said)) => {
                    let said = [Reply::Bulk("message".into()), Reply::Bulk(said.channel), Reply::Bulk(said.message)];
                    pushes.push((to, Reply::Array(said.into()).to_resp()));
                }
                // The server looks after its log; here its disk is at rest.
                Effect::SetTimer(..) => {}
                other => panic!("nobody owns a key here, so there is nothing to tell but replies: {other:?}"),
            }
        }
        let [reply] = <[_; 1]>::try_from(replies).expect("one reply to one command");
        Said { reply, pushes }
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
        cx.shortages = self.shortages;
        step(&mut self.redis, &mut cx);
        cx.disk.end_sync_aside();
        self.disk = cx.disk;
        cx.effects
    }
}
