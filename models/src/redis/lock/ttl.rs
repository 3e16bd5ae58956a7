//! The length of a lease, as Redis is told it and as the client counts it.

use host::{Duration, MonoTime};

/// The clock drift for which a lease of that length makes allowance.
#[must_use]
pub fn drift(ttl: Duration) -> Duration {
    ttl / 100 + Duration::from_millis(2)
}

/// The length of a lease, in the whole milliseconds that Redis is told.
#[derive(Clone, Copy)]
pub(in crate::redis) struct Ttl {
    pub(in crate::redis) px: i64,
    /// Less the allowance for drift.
    promised: Duration,
}

impl Ttl {
    pub(in crate::redis) fn of(ttl: Duration) -> Self {
        Self::of_px(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX))
    }

    /// # Panics
    /// If the length is negative: no lease is.
    pub(in crate::redis) fn of_px(px: i64) -> Self {
        let told = Duration::from_millis(u64::try_from(px).expect("no lease has a negative length"));
        Self { px, promised: told.saturating_sub(drift(told)) }
    }

    /// The promised end of a lease for which the client asked at `asked_at` or later.
    pub(in crate::redis) fn deadline(self, asked_at: MonoTime) -> MonoTime {
        asked_at + self.promised
    }
}
