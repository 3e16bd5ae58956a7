//! Whether a server is down: as this Sentinel sees it (subjectively), and as enough of them do (objectively).

use host::{Context, NodeId};

use super::ask::{Answer, Ask};
use super::failover::State;
use super::instance::Kind;
use super::{ASK_PERIOD, INFO_PERIOD, IS_DOWN, MIN_LINK_RECONNECT_PERIOD, Sentinel, now};
use crate::domain::Locks;

impl Sentinel {
    /// `sentinelCheckSubjectivelyDown`
    pub(super) fn look_whether_down(&mut self, cx: &mut Context<Locks>, kind: Kind, node: NodeId) {
        let (now, down_after) = (now(cx), self.down_after());
        let Some(instance) = self.instance(kind, node) else { return };
        let link = &instance.link;
        let silence = match link.unanswered_since {
            Some(since) => now - since,
            None if !link.is_connected() => now - link.available_at,
            None => 0,
        };
        // A connection that is there and says nothing may be half open: a new one may do better.
        let is_old = link.is_connected() && now - link.opened_at > MIN_LINK_RECONNECT_PERIOD;
        let unanswered = link.unanswered_since.is_some_and(|since| now - since > down_after / 2);
        if is_old && unanswered && now - link.pong_at > down_after / 2 {
            instance.link.close(cx);
        }
        let denies =
            kind == Kind::Primary && !instance.says_primary && now - instance.role_since > down_after + INFO_PERIOD * 2;
        let is_down = silence > down_after || denies;
        if is_down && !instance.is_down {
            instance.down_since = Some(now);
        }
        instance.is_down = is_down;
    }

    /// `sentinelCheckObjectivelyDown`
    pub(super) fn look_whether_objectively_down(&mut self, cx: &Context<Locks>) {
        let agree = 1 + self.others.values().filter(|other| other.finds_primary_down).count();
        let is_down = self.primary.is_down && agree >= self.settings.quorum;
        if is_down && !self.objectively_down {
            // The later of the two counts for `not_down_for`.
            self.primary.down_since = Some(now(cx));
        }
        self.objectively_down = is_down;
    }

    /// `sentinelAskMasterStateToOtherSentinels`: while this one finds the primary down, it asks the others what they
    /// think, and for their votes if it wants to be the one who acts.
    pub(super) fn ask_others(&mut self, cx: &mut Context<Locks>, at_once: bool) {
        let now = now(cx);
        let candidate = (self.failover.state != State::None).then_some(self.id);
        let (primary, epoch, is_down) = (self.primary.node, self.memory.epoch, self.primary.is_down);
        for other in self.others.values_mut() {
            let age = now - other.opinion_at;
            if age > ASK_PERIOD * 5 {
                (other.finds_primary_down, other.vote) = (false, None);
            }
            if is_down && other.link.is_connected() && (at_once || age >= ASK_PERIOD) {
                other.link.send(cx, IS_DOWN, Ask::IsDown { primary, epoch, candidate });
            }
        }
    }

    /// `SENTINEL IS-MASTER-DOWN-BY-ADDR`
    pub(super) fn is_down(
        &mut self,
        cx: &mut Context<Locks>,
        primary: NodeId,
        epoch: u64,
        candidate: Option<NodeId>,
    ) -> Answer {
        let is_it = self.primary.node == primary;
        let down = self.tilt.is_none() && is_it && self.primary.is_down;
        let vote = candidate.filter(|_| is_it).map(|candidate| self.vote(cx, epoch, candidate));
        Answer::Down { down, vote }
    }

    /// `SENTINEL CKQUORUM`
    pub(super) fn quorum(&self) -> Answer {
        let usable = 1 + self.others.values().filter(|other| !other.is_down).count();
        let majority = usable > self.settings.sentinels.len() / 2;
        Answer::Quorum { usable, quorum: usable >= self.settings.quorum, majority }
    }
}
