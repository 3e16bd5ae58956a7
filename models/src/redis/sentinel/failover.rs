//! The steps of a failover, in the order of `sentinelFailoverStateMachine`.

use std::cmp::Reverse;

use host::{Context, NodeId};

use super::ask::Told;
use super::instance::{Instance, Kind, Reconf};
use super::vote::desync;
use super::watch::make_replica_of;
use super::{ELECTION_TIMEOUT, INFO_PERIOD, PING_PERIOD, RECONF_TIMEOUT, Sentinel, now};
use crate::domain::Locks;

/// A failover, if one goes on, and what is remembered of the last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Failover {
    pub(super) state: State,
    /// Since when the state is that.
    since: i64,
    pub(super) epoch: u64,
    /// When the last try began, or another's for whom this Sentinel has voted.
    pub(super) started_at: Option<i64>,
    /// The replica that is to be the primary.
    pub(super) promoted: Option<NodeId>,
}

/// `SENTINEL_FAILOVER_STATE_…`
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum State {
    #[default]
    None,
    /// Until this Sentinel is elected.
    WaitStart,
    SelectReplica,
    SendNoOne,
    /// Until the replica says that it is a primary.
    WaitPromotion,
    /// The other replicas are told.
    ReconfReplicas,
    /// Done: the primary is another now.
    UpdateConfig,
}

impl Failover {
    pub(super) const fn enter(&mut self, state: State, now: i64) {
        (self.state, self.since) = (state, now);
    }

    /// `sentinelAbortFailover`
    const fn abort(&mut self, now: i64) {
        self.enter(State::None, now);
        self.promoted = None;
    }
}

impl Sentinel {
    /// `sentinelGetCurrentMasterAddress`: once the promoted replica has said so itself, it is the primary.
    pub(super) fn current_primary(&self) -> NodeId {
        match self.failover.promoted {
            Some(promoted) if self.failover.state >= State::ReconfReplicas => promoted,
            _ => self.primary.node,
        }
    }

    /// `sentinelStartFailoverIfNeeded`
    pub(super) fn start_failover_if_needed(&mut self, cx: &mut Context<Locks>) -> bool {
        let now = now(cx);
        let is_recent = |at| now - at < self.failover_timeout() * 2;
        let may_start = self.objectively_down
            && self.failover.state == State::None
            && !self.failover.started_at.is_some_and(is_recent);
        if may_start {
            self.memory.epoch += 1;
            self.failover.epoch = self.memory.epoch;
            self.failover.started_at = Some(now + desync(cx));
            self.failover.enter(State::WaitStart, now);
            self.remember(cx);
        }
        may_start
    }

    pub(super) fn go_on_with_failover(&mut self, cx: &mut Context<Locks>) {
        match self.failover.state {
            State::None | State::UpdateConfig => {}
            State::WaitStart => self.wait_to_be_elected(cx),
            State::SelectReplica => self.select(cx),
            State::SendNoOne => self.send_no_one(cx),
            State::WaitPromotion => {
                if now(cx) - self.failover.since > self.failover_timeout() {
                    self.abort(cx);
                }
            }
            State::ReconfReplicas => self.reconfigure(cx),
        }
    }

    fn abort(&mut self, cx: &Context<Locks>) {
        self.failover.abort(now(cx));
        for replica in self.replicas.values_mut() {
            replica.reconf = Reconf::No;
        }
    }

    fn wait_to_be_elected(&mut self, cx: &mut Context<Locks>) {
        let now = now(cx);
        if self.leader(cx, self.failover.epoch) == Some(self.id) {
            return self.failover.enter(State::SelectReplica, now);
        }
        let patience = ELECTION_TIMEOUT.min(self.failover_timeout());
        if self.failover.started_at.is_some_and(|at| now - at > patience) {
            self.abort(cx);
        }
    }

    fn select(&mut self, cx: &Context<Locks>) {
        match self.best_replica(now(cx)) {
            Some(replica) => {
                self.failover.promoted = Some(replica);
                self.failover.enter(State::SendNoOne, now(cx));
            }
            None => self.abort(cx),
        }
    }

    /// `sentinelSelectSlave`: of those that are in good touch, the one with the most of the stream, as far as its last
    /// `INFO` knew; then the one with the smallest run identity.
    fn best_replica(&self, now: i64) -> Option<NodeId> {
        let info_age = if self.primary.is_down { PING_PERIOD * 5 } else { INFO_PERIOD * 3 };
        let primary_down_for = self.primary.down_since.filter(|_| self.primary.is_down).map_or(0, |since| now - since);
        let longest = primary_down_for + self.down_after() * 10;
        let is_good = |replica: &&Instance| {
            !replica.is_down
                && replica.link.is_connected()
                && now - replica.link.available_at <= PING_PERIOD * 5
                && replica.info_at.is_some_and(|at| now - at <= info_age)
                && replica.replica.link_down_for <= longest
        };
        let best = |replica: &&Instance| (Reverse(replica.replica.offset), replica.replica.run);
        self.replicas.values().filter(is_good).min_by_key(best).map(|replica| replica.node)
    }

    fn send_no_one(&mut self, cx: &mut Context<Locks>) {
        let now = now(cx);
        let timeout = self.failover_timeout();
        let promoted = self.failover.promoted.and_then(|node| self.replicas.get_mut(&node));
        match promoted.filter(|replica| replica.link.is_connected()) {
            Some(replica) => {
                make_replica_of(cx, replica, None);
                self.failover.enter(State::WaitPromotion, now);
            }
            None if now - self.failover.since > timeout => self.abort(cx),
            None => {}
        }
    }

    /// `sentinelFailoverReconfNextSlave` and `sentinelFailoverDetectEnd`
    fn reconfigure(&mut self, cx: &mut Context<Locks>) {
        let (now, timeout) = (now(cx), self.failover_timeout());
        let Some(promoted) = self.failover.promoted else { return };
        let is_busy = |replica: &&Instance| matches!(replica.reconf, Reconf::Sent(_) | Reconf::InProgress);
        let mut busy = self.replicas.values().filter(is_busy).count();
        for replica in self.replicas.values_mut().filter(|replica| replica.node != promoted) {
            if busy >= self.settings.parallel_syncs {
                break;
            }
            match replica.reconf {
                Reconf::Sent(at) if now - at > RECONF_TIMEOUT => replica.reconf = Reconf::Done,
                Reconf::No if replica.link.is_connected() => {
                    make_replica_of(cx, replica, Some(promoted));
                    replica.reconf = Reconf::Sent(now);
                    busy += 1;
                }
                _ => {}
            }
        }
        if self.replicas.get(&promoted).is_none_or(|replica| replica.is_down) {
            return;
        }
        let is_left =
            |replica: &&mut Instance| replica.node != promoted && !replica.is_down && replica.reconf != Reconf::Done;
        if now - self.failover.since > timeout {
            for replica in self.replicas.values_mut().filter(is_left) {
                make_replica_of(cx, replica, Some(promoted));
            }
        } else if self.replicas.values_mut().any(|mut replica| is_left(&mut replica)) {
            return;
        }
        self.failover.enter(State::UpdateConfig, now);
    }

    /// `sentinelFailoverSwitchToPromotedSlave`
    pub(super) fn switch_when_done(&mut self, cx: &mut Context<Locks>) {
        if self.failover.state == State::UpdateConfig
            && let Some(promoted) = self.failover.promoted
        {
            self.switch_to(cx, promoted);
            self.remember(cx);
        }
    }

    /// `sentinelResetMasterAndChangeAddress`: everything about primary and replicas begins anew, with another primary.
    pub(super) fn switch_to(&mut self, cx: &mut Context<Locks>, primary: NodeId) {
        let (now, from) = (now(cx), self.primary.node);
        self.primary.link.close(cx);
        let mut replicas: Vec<NodeId> = self.replicas.keys().copied().chain([from]).collect();
        replicas.retain(|node| *node != primary);
        for replica in self.replicas.values_mut() {
            replica.link.close(cx);
        }
        let new = |node: NodeId| (node, Instance::new(Kind::Replica, node, now));
        self.replicas = replicas.into_iter().map(new).collect();
        self.primary = Instance::new(Kind::Primary, primary, now);
        self.objectively_down = false;
        self.failover = Failover::default();
        for subscriber in &self.subscribers {
            cx.push(*subscriber, Told::SwitchMaster { from, to: primary });
        }
    }
}
