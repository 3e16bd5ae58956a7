//! The timeouts of a backend, all of which one alarm serves.
//!
//! Source: `timeout.c` of PostgreSQL 15. A timeout has its end by the wall clock. The alarm is set to the first of them, and counts down by
//! itself; whatever it was set for, when it rings all are over whose end the wall clock has passed, the first of them first. One that is
//! over is found as well whenever another is set or taken off.
//!
//! So a clock that is set back keeps each from its end for as long, and one that is set ahead ends all at the next alarm. As measured on a
//! server of 15.20 whose clock was set in the first second of a wait: of a `statement_timeout` or `lock_timeout` of 300 s, with the clock an
//! hour ahead, one second is left, as then it is looked for a deadlock; set ahead after that, nothing shortens one of 4 s, unless
//! `client_connection_check_interval` rings; one of 2 s, with the clock 2 s back, takes 4 s. An `idle_session_timeout` is alone: it may be late, never early.
//!
//! Left out: when the last timeout is taken off, a real alarm rings all the same, and finds nothing, or what was set since.

use host::{Context, Deadline, Duration, TimerId, nanos};

use super::super::api::Setting;
use super::super::key::Pid;
use super::Postgres;
use crate::domain::Locks;

/// What a backend can have a timeout for, in the order in which those of one end are over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timeout {
    Deadlock,
    Lock,
    Statement,
    /// `idle_session_timeout`, or within a transaction the other.
    Idle,
    Check,
}

impl Timeout {
    pub(super) const ALL: [Self; 5] = [Self::Deadlock, Self::Lock, Self::Statement, Self::Idle, Self::Check];
}

/// By the wall clock, in ns.
#[derive(Clone, Default, Debug)]
pub(super) struct Timeouts {
    /// When each is over.
    ends: [Option<i64>; Timeout::ALL.len()],
    /// When the alarm should ring, if it has been set.
    alarm: Option<i64>,
}

/// An alarm that has not rung for so long after it should have is taken to be lost.
const LOST_AFTER: i64 = 10_000_000;
/// What is over is found by an alarm that rings after this.
const AT_ONCE: Duration = Duration::from_micros(1);

impl Timeouts {
    /// The first end.
    fn first(&self) -> Option<(i64, Timeout)> {
        let ends = Timeout::ALL.into_iter().filter_map(|timeout| Some((self.ends[timeout as usize]?, timeout)));
        ends.min_by_key(|(end, timeout)| (*end, *timeout as usize))
    }

    /// How long from now the alarm is to ring. `None`: as it was set, if it was.
    fn set_alarm(&mut self, now: i64) -> Option<Duration> {
        let (end, _) = self.first()?;
        self.alarm = self.alarm.filter(|due| now <= due.saturating_add(LOST_AFTER) && now <= end);
        if self.alarm.is_some_and(|due| due <= end) {
            return None;
        }
        self.alarm = Some(end);
        let left = u64::try_from(end.saturating_sub(now)).unwrap_or(0);
        Some(Duration::from_nanos(left).max(AT_ONCE))
    }
}

const fn alarm(pid: Pid) -> TimerId {
    TimerId(pid.0)
}

impl Postgres {
    /// Sets a timeout to what the session has set. Zero is none.
    pub(super) fn arm_for(&mut self, cx: &mut Context<Locks>, pid: Pid, timeout: Timeout, setting: Setting) {
        let server = self.settings.timeouts;
        let backend = self.backend(pid);
        let after = backend.settings.get(setting, &server);
        if after == Duration::ZERO {
            return;
        }
        let end = cx.wall.as_nanos().saturating_add_unsigned(nanos(after));
        backend.timeouts.ends[timeout as usize] = Some(end);
        self.set_alarm(cx, pid);
    }

    pub(super) fn disarm(&mut self, cx: &mut Context<Locks>, pid: Pid, timeout: Timeout) {
        let Some(backend) = self.backends.get_mut(&pid) else { return };
        if backend.timeouts.ends[timeout as usize].take().is_none() {
            return;
        }
        if backend.timeouts.first().is_some() {
            self.set_alarm(cx, pid);
        } else if backend.timeouts.alarm.take().is_some() {
            cx.cancel_timer(alarm(pid));
        }
    }

    fn set_alarm(&mut self, cx: &mut Context<Locks>, pid: Pid) {
        let now = cx.wall.as_nanos();
        let Some(backend) = self.backends.get_mut(&pid) else { return };
        if let Some(left) = backend.timeouts.set_alarm(now) {
            cx.set_timer(alarm(pid), Deadline::Mono(cx.mono + left));
        }
    }

    /// A backend's alarm rings.
    pub(super) fn on_alarm(&mut self, cx: &mut Context<Locks>, pid: Pid) {
        let now = cx.wall.as_nanos();
        if let Some(backend) = self.backends.get_mut(&pid) {
            backend.timeouts.alarm = None;
        }
        while let Some(backend) = self.backends.get_mut(&pid)
            && let Some((end, timeout)) = backend.timeouts.first()
            && end <= now
        {
            backend.timeouts.ends[timeout as usize] = None;
            self.is_over(cx, pid, timeout);
        }
        self.set_alarm(cx, pid);
    }
}
