//! How long to wait before each next try: a script's retry, counted down and grown.

use host::Duration;

use crate::script::Retry;

/// The delays between the tries of one step.
pub(super) struct Backoff {
    retry: Retry,
    /// How many times as long as at first the next delay is.
    grown: u64,
    left: Option<u32>,
}

impl Backoff {
    pub(super) const fn new(retry: Retry) -> Self {
        Self { retry, grown: 1, left: retry.times }
    }

    /// The next delay, drawn from `word`. `None`: there is no next try.
    pub(super) fn next(&mut self, word: impl FnMut() -> u64) -> Option<Duration> {
        if self.left == Some(0) {
            return None;
        }
        self.left = self.left.map(|left| left - 1);
        let Some(growth) = self.retry.growth else { return Some(self.retry.delay.sample(word)) };
        let delay = self.retry.delay.times(self.grown, growth.cap);
        self.grown = self.grown.saturating_mul(growth.factor.into());
        Some(delay.sample(word))
    }
}

#[cfg(test)]
mod tests {
    use host::Span;

    use super::*;
    use crate::script::Growth;

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn delays(retry: Retry) -> Vec<u128> {
        let mut backoff = Backoff::new(retry);
        std::iter::from_fn(|| backoff.next(|| u64::MAX)).take(6).map(|delay| delay.as_millis()).collect()
    }

    #[test]
    fn a_fixed_delay_stays_and_is_counted() {
        let retry = Retry { delay: Span::Fixed(millis(100)), growth: None, times: Some(3) };
        assert_eq!(delays(retry), [100, 100, 100]);
        assert_eq!(delays(Retry { times: Some(0), ..retry }), [0; 0]);
        assert_eq!(delays(Retry { times: None, ..retry }).len(), 6);
    }

    #[test]
    fn a_delay_grows_to_its_cap() {
        let growth = Some(Growth { factor: 3, cap: millis(1_000) });
        let retry = Retry { delay: Span::Fixed(millis(50)), growth, times: None };
        assert_eq!(delays(retry), [50, 150, 450, 1_000, 1_000, 1_000]);
    }

    #[test]
    fn a_drawn_delay_grows_as_a_whole_so_that_it_is_still_drawn_at_its_cap() {
        let growth = Some(Growth { factor: 2, cap: millis(300) });
        let delay = Span::Uniform { from: millis(0), to: millis(100) };
        let mut backoff = Backoff::new(Retry { delay, growth, times: None });
        let mut drawn = |word: u64| backoff.next(|| word).map(|delay| delay.as_millis());
        assert_eq!([drawn(u64::MAX), drawn(u64::MAX), drawn(u64::MAX)], [Some(100), Some(200), Some(300)]);
        assert_eq!([drawn(1 << 40), drawn(1 << 63)], [Some(0), Some(150)]);
    }

    #[test]
    fn a_delay_may_have_grown_for_ever() {
        let growth = Some(Growth { factor: u32::MAX, cap: millis(7) });
        let mut backoff = Backoff::new(Retry { delay: Span::Fixed(millis(1)), growth, times: None });
        let last = (0..100).map(|_| backoff.next(|| 0)).last();
        assert_eq!(last, Some(Some(millis(7))));
    }
}
