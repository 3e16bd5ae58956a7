//! How a Sentinel keeps in touch: pings, `INFO` and hellos, and what follows from what they say.

use host::{Context, NodeId};

use super::ask::{Ask, Hello};
use super::failover::State;
use super::instance::{Instance, Kind, Reconf};
use super::{HELLO, INFO, INFO_PERIOD, INFO_PERIOD_IN_TROUBLE, PING_PERIOD, PUBLISH_PERIOD, REPLICA_OF, Sentinel, now};
use crate::domain::Locks;
use crate::redis::Command;
use crate::redis::replication::{Info, Role};

impl Sentinel {
    pub(super) fn down_after(&self) -> i64 {
        millis(self.settings.down_after)
    }

    pub(super) fn failover_timeout(&self) -> i64 {
        millis(self.settings.failover_timeout)
    }

    /// `sentinelReconnectInstance` and `sentinelSendPeriodicCommands`
    pub(super) fn keep_in_touch(&mut self, cx: &mut Context<Locks>, kind: Kind, node: NodeId) {
        let (now, hello) = (now(cx), self.hello());
        let ping_period = self.down_after().min(PING_PERIOD);
        let in_trouble = self.objectively_down || self.failover.state != State::None;
        let Some(instance) = self.instance(kind, node) else { return };
        instance.link.reconnect(cx, node, kind, PING_PERIOD);
        if !instance.link.is_connected() || instance.link.is_congested() {
            return;
        }
        let often = kind == Kind::Replica && (in_trouble || instance.replica.link_down_for != 0);
        let info_period = if often { INFO_PERIOD_IN_TROUBLE } else { INFO_PERIOD };
        if kind != Kind::Sentinel && instance.info_at.is_none_or(|at| now - at > info_period) {
            instance.link.send(cx, INFO, Command::Info);
        }
        let pinged_long_ago = instance.link.pinged_at.is_none_or(|at| now - at > ping_period / 2);
        if now - instance.link.pong_at > ping_period && pinged_long_ago {
            instance.link.ping(cx, kind);
        }
        if now - instance.hello_at > PUBLISH_PERIOD {
            instance.hello_at = now;
            if kind == Kind::Sentinel {
                instance.link.send(cx, HELLO, Ask::Hello(hello));
            }
        }
    }

    fn hello(&self) -> Hello {
        Hello {
            from: self.id,
            epoch: self.memory.epoch,
            primary: self.current_primary(),
            config_epoch: self.memory.config_epoch,
        }
    }

    /// `sentinelForceHelloUpdateForMaster`: the next tick sends hellos.
    pub(super) fn hurry_hellos(&mut self) {
        for instance in self.all() {
            instance.hello_at = instance.hello_at.saturating_sub(PUBLISH_PERIOD + 1);
        }
    }

    /// `sentinelProcessHelloMessage`
    pub(super) fn hear(&mut self, cx: &mut Context<Locks>, hello: Hello) {
        let Hello { epoch, primary, config_epoch, .. } = hello;
        if epoch > self.memory.epoch {
            self.memory.epoch = epoch;
            self.remember(cx);
        }
        if config_epoch > self.memory.config_epoch {
            self.memory.config_epoch = config_epoch;
            if primary != self.primary.node {
                self.switch_to(cx, primary);
            }
            self.remember(cx);
        }
    }

    /// `sentinelRefreshInstanceInfo`
    pub(super) fn take_info(&mut self, cx: &mut Context<Locks>, kind: Kind, node: NodeId, info: &Info) {
        let now = now(cx);
        let Some(instance) = self.instance(kind, node) else { return };
        instance.read_info(now, info);
        let says_primary = instance.says_primary;
        if let (Kind::Primary, Role::Primary { replicas }) = (kind, &info.role) {
            self.meet_replicas(cx, replicas);
        }
        // What it acts upon, it does not while it is in TILT.
        if kind != Kind::Replica || self.is_tilted(cx) {
            return;
        }
        if says_primary {
            self.replica_says_primary(cx, node);
        } else {
            self.correct_replica(cx, node);
            self.watch_reconf(node);
        }
    }

    fn meet_replicas(&mut self, cx: &mut Context<Locks>, found: &[NodeId]) {
        let now = now(cx);
        let before = self.replicas.len();
        for replica in found {
            self.replicas.entry(*replica).or_insert_with(|| Instance::new(Kind::Replica, *replica, now));
        }
        if self.replicas.len() > before {
            self.remember(cx);
        }
    }

    /// A replica has become a primary: as the failover wanted it, or on its own, as a primary does that was down and
    /// knows of nothing. That one is made a replica, after a time in which better news may come.
    fn replica_says_primary(&mut self, cx: &mut Context<Locks>, node: NodeId) {
        let now = now(cx);
        if self.failover.promoted == Some(node) {
            if self.failover.state == State::WaitPromotion {
                self.memory.config_epoch = self.failover.epoch;
                self.failover.enter(State::ReconfReplicas, now);
                self.remember(cx);
                self.hurry_hellos();
            }
            return;
        }
        let (wait, looks_sane) = (PUBLISH_PERIOD * 4, self.primary_looks_sane(now));
        let primary = self.primary.node;
        let Some(replica) = self.replicas.get_mut(&node) else { return };
        if looks_sane && replica.not_down_for(now, wait) && now - replica.role_since > wait {
            // `+convert-to-slave`
            make_replica_of(cx, replica, Some(primary));
        }
    }

    /// A replica follows somebody else: `+fix-slave-config`.
    fn correct_replica(&mut self, cx: &mut Context<Locks>, node: NodeId) {
        let now = now(cx);
        let (wait, looks_sane) = (self.failover_timeout(), self.primary_looks_sane(now));
        let primary = self.primary.node;
        let Some(replica) = self.replicas.get_mut(&node) else { return };
        if replica.replica.of != Some(primary)
            && looks_sane
            && replica.not_down_for(now, wait)
            && now - replica.replica.of_since > wait
        {
            make_replica_of(cx, replica, Some(primary));
        }
    }

    fn watch_reconf(&mut self, node: NodeId) {
        let promoted = self.failover.promoted;
        let Some(replica) = self.replicas.get_mut(&node) else { return };
        if matches!(replica.reconf, Reconf::Sent(_)) && promoted.is_some() && replica.replica.of == promoted {
            replica.reconf = Reconf::InProgress;
        }
        if replica.reconf == Reconf::InProgress && replica.replica.link_up {
            replica.reconf = Reconf::Done;
        }
    }

    /// `sentinelMasterLooksSane`
    fn primary_looks_sane(&self, now: i64) -> bool {
        let primary = &self.primary;
        primary.says_primary
            && !primary.is_down
            && !self.objectively_down
            && primary.info_at.is_some_and(|at| now - at < INFO_PERIOD * 2)
    }
}

/// `sentinelSendSlaveOf`: a server is told whose replica it is (`None`: nobody's), writes that down, and sends its clients
/// away, in one transaction.
pub(super) fn make_replica_of(cx: &mut Context<Locks>, server: &mut Instance, primary: Option<NodeId>) {
    let steps =
        [Command::Multi, Command::ReplicaOf { primary }, Command::ConfigRewrite, Command::ClientKill, Command::Exec];
    for step in steps {
        server.link.send(cx, REPLICA_OF, step);
    }
}

fn millis(duration: host::Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
