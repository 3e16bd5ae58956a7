//! How long sessions live: what the leader counts, or a server alone.
//!
//! Source: `SessionTrackerImpl.java` and `ExpiryQueue.java` of ZooKeeper 3.8.0.
//!
//! * **Clock**: the monotonic one, in whole milliseconds (`Time.currentElapsedTime`).
//! * A session whose client was heard ends with the first whole tick after its timeout: so it lives for more than the timeout, and
//!   up to a tick longer. Whole ticks are counted from when the machine began, so that they differ from one server to another.
//! * A new leader gives each session its whole timeout.
//! * A session is another server's as soon as its client goes on there: what the former one still has of it is refused.

use std::collections::BTreeMap;

use host::{ConnId, Duration, MonoTime, nanos};

use super::error::ZkError;
use super::path::{Millis, SessionId};

/// Through whom the leader hears of a session's client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Via {
    /// The client is at the leader itself.
    Itself,
    /// At one who follows, on that connection.
    Learner(ConnId),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tracked {
    timeout: Millis,
    /// In ms of this process: always whole ticks.
    ends: u64,
    is_closing: bool,
    via: Option<Via>,
}

/// The sessions that a leader keeps.
#[derive(Clone, Debug)]
pub struct Tracker {
    /// `tickTime`, in ms.
    tick: u64,
    /// How long before the process began its machine had, as far as that matters: less than a tick, in ms.
    phase: u64,
    sessions: BTreeMap<SessionId, Tracked>,
    /// The next whole tick at which sessions may end.
    next: u64,
}

impl Tracker {
    /// Of one who begins to lead, with these sessions: each has all of its time. `word`: drawn, for where ticks begin.
    #[must_use]
    pub fn new(tick: Duration, word: u64, sessions: &BTreeMap<SessionId, Millis>, now: MonoTime) -> Self {
        let tick = millis(tick).max(1);
        let mut tracker = Self { tick, phase: word % tick, sessions: BTreeMap::new(), next: 0 };
        tracker.next = tracker.whole_tick(tracker.ms(now));
        for (session, timeout) in sessions {
            tracker.track(*session, *timeout, None, now);
        }
        tracker
    }

    /// A session is about to begin.
    pub fn track(&mut self, session: SessionId, timeout: Millis, via: Option<Via>, now: MonoTime) {
        let ends = self.end(timeout, now);
        self.sessions.insert(session, Tracked { timeout, ends, is_closing: false, via });
    }

    /// Its client was heard. Whether there is such a session.
    pub fn touch(&mut self, session: SessionId, timeout: Millis, now: MonoTime) -> bool {
        let ends = self.end(timeout, now);
        match self.sessions.get_mut(&session) {
            Some(tracked) if !tracked.is_closing => {
                (tracked.timeout, tracked.ends) = (timeout, ends);
                true
            }
            _ => false,
        }
    }

    /// Its client goes on there.
    pub fn move_to(&mut self, session: SessionId, via: Via) {
        if let Some(tracked) = self.sessions.get_mut(&session) {
            tracked.via = Some(via);
        }
    }

    /// Whether something is to be done in that session, of which the leader hears so.
    ///
    /// # Errors
    /// [`ZkError::SessionExpired`] or [`ZkError::SessionMoved`].
    pub fn check(&mut self, session: SessionId, via: Via) -> Result<(), ZkError> {
        let tracked = self.sessions.get_mut(&session).filter(|tracked| !tracked.is_closing);
        let tracked = tracked.ok_or(ZkError::SessionExpired)?;
        if *tracked.via.get_or_insert(via) == via { Ok(()) } else { Err(ZkError::SessionMoved) }
    }

    /// It is about to end.
    pub fn close(&mut self, session: SessionId) {
        if let Some(tracked) = self.sessions.get_mut(&session) {
            tracked.is_closing = true;
        }
    }

    /// It has ended.
    pub fn forget(&mut self, session: SessionId) {
        self.sessions.remove(&session);
    }

    /// The sessions whose time is over; from now on they are about to end.
    pub fn over(&mut self, now: MonoTime) -> Vec<SessionId> {
        let now = self.ms(now);
        if now < self.next {
            return Vec::new();
        }
        self.next = self.whole_tick(now);
        let is_over = |tracked: &Tracked| !tracked.is_closing && tracked.ends <= now;
        let over: Vec<_> = self.sessions.iter().filter(|(_, tracked)| is_over(tracked)).map(|(id, _)| *id).collect();
        over.iter().for_each(|session| self.close(*session));
        over
    }

    /// When to look again.
    #[must_use]
    pub fn next(&self) -> MonoTime {
        MonoTime::from_nanos((self.next - self.phase) * NANOS_PER_MILLI)
    }

    fn end(&self, timeout: Millis, now: MonoTime) -> u64 {
        self.whole_tick(self.ms(now) + u64::from(timeout.0))
    }

    /// `roundToNextInterval`
    const fn whole_tick(&self, ms: u64) -> u64 {
        (ms / self.tick + 1) * self.tick
    }

    const fn ms(&self, now: MonoTime) -> u64 {
        now.as_nanos() / NANOS_PER_MILLI + self.phase
    }
}

const NANOS_PER_MILLI: u64 = 1_000_000;

fn millis(duration: Duration) -> u64 {
    nanos(duration) / NANOS_PER_MILLI
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: SessionId = SessionId(0xa);

    fn at(ms: u64) -> MonoTime {
        MonoTime::from_nanos(ms * NANOS_PER_MILLI)
    }

    fn tracker(word: u64) -> Tracker {
        let mut tracker = Tracker::new(Duration::from_secs(2), word, &BTreeMap::new(), at(0));
        tracker.track(A, Millis(5_000), Some(Via::Itself), at(0));
        tracker
    }

    /// The ms at which the session is found to be over, if it is looked for when the tracker says.
    fn over(tracker: &mut Tracker) -> u64 {
        loop {
            let next = tracker.next();
            if tracker.over(next) == [A] {
                return next.as_nanos() / NANOS_PER_MILLI;
            }
        }
    }

    #[test]
    fn a_session_ends_at_a_whole_tick_after_its_timeout() {
        assert_eq!(over(&mut tracker(0)), 6_000);
        assert_eq!(over(&mut tracker(999)), 5_001, "1 ms after its timeout is the least");
        assert_eq!(over(&mut tracker(1_000)), 7_000, "and a whole tick the most");
        let mut touched = tracker(0);
        assert!(touched.touch(A, Millis(5_000), at(1_500)));
        assert_eq!(over(&mut touched), 8_000);
        assert!(!touched.touch(A, Millis(5_000), at(8_000)), "it is about to end");
    }

    #[test]
    fn who_begins_to_lead_gives_each_session_all_of_its_time() {
        let sessions = BTreeMap::from([(A, Millis(5_000))]);
        assert_eq!(over(&mut Tracker::new(Duration::from_secs(2), 0, &sessions, at(10_000))), 16_000);
    }

    #[test]
    fn a_session_is_where_its_client_went_on() {
        let mut tracker = tracker(0);
        let other = Via::Learner(ConnId::new(3));
        assert_eq!(tracker.check(A, Via::Itself), Ok(()));
        assert_eq!(tracker.check(A, other), Err(ZkError::SessionMoved));
        tracker.move_to(A, other);
        assert_eq!(tracker.check(A, Via::Itself), Err(ZkError::SessionMoved));
        assert_eq!(tracker.check(A, other), Ok(()));
        tracker.close(A);
        assert_eq!(tracker.check(A, other), Err(ZkError::SessionExpired));
        assert_eq!(tracker.check(SessionId(1), other), Err(ZkError::SessionExpired));
    }
}
