//! Durations that are drawn anew each time they are spent: latencies, think times, retry delays.
//!
//! Sampling is a pure function of 64-bit words, in integers only: `ln` and `exp` differ in their last
//! bit between maths libraries, and one bit is another run. Logarithms and powers of two are computed
//! in fixed point by squaring and by square roots, exact to about one part in 2^30.

use crate::time::{Duration, nanos};

/// A duration, or a distribution of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Span {
    /// Always the same.
    Fixed(Duration),
    /// Uniform from `from` to `to`, both included, to the nanosecond.
    Uniform {
        /// The shortest.
        from: Duration,
        /// The longest.
        to: Duration,
    },
    /// Exponential.
    Exponential {
        /// The mean.
        mean: Duration,
    },
    /// Pareto: `P(longer than x) = (min / x)^alpha`, cut off at `cap`.
    Pareto {
        /// The shortest.
        min: Duration,
        /// The tail's exponent, in thousandths: 1,200 for 1.2. Never zero.
        alpha_milli: u32,
        /// No draw is longer.
        cap: Duration,
    },
    /// Log-normal, as latencies in data centres are; made by [`Span::lognormal`].
    Lognormal {
        /// Half of all draws are longer.
        median: Duration,
        /// The binary logarithm of the factor by which a draw of one standard deviation is longer, in 32
        /// fractional bits.
        sigma: u64,
    },
}

impl Span {
    /// The log-normal distribution with that median, of which one draw in ten thousand is longer than `rare`.
    ///
    /// # Panics
    /// If the median is zero, or `rare` is shorter.
    #[must_use]
    pub fn lognormal(median: Duration, rare: Duration) -> Self {
        let [low, high] = [median, rare].map(|duration| nanos(duration).checked_sub(1).expect("it takes some time"));
        let ratio = minus_log2(low).checked_sub(minus_log2(high)).expect("what is rare is longer than the median");
        Self::Lognormal { median, sigma: (ratio << Z_FRACTION) / Z_ONE_IN_10_000 }
    }

    /// Draws one, taking words from `word`. A fixed span takes none.
    ///
    /// # Panics
    /// If a uniform span's `from` is after its `to`; the scenario loader refuses such spans.
    pub fn sample(&self, word: impl FnMut() -> u64) -> Duration {
        Duration::from_nanos(self.sample_nanos(word))
    }

    /// The same so many times as long, and no longer than `cap`: what is drawn stays drawn, between bounds
    /// that have grown. (Of an exponential one the mean is no longer than that, of a
    /// log-normal one the median.)
    #[must_use]
    pub fn times(self, factor: u64, cap: Duration) -> Self {
        let grown = |duration| Duration::from_nanos(nanos(duration).saturating_mul(factor)).min(cap);
        match self {
            Self::Fixed(duration) => Self::Fixed(grown(duration)),
            Self::Uniform { from, to } => Self::Uniform { from: grown(from), to: grown(to) },
            Self::Exponential { mean } => Self::Exponential { mean: grown(mean) },
            Self::Pareto { min, alpha_milli, cap } => Self::Pareto { min: grown(min), alpha_milli, cap: grown(cap) },
            Self::Lognormal { median, sigma } => Self::Lognormal { median: grown(median), sigma },
        }
    }

    /// The longest that can be drawn, if there is a bound.
    #[must_use]
    pub const fn longest(&self) -> Option<Duration> {
        match self {
            Self::Fixed(duration) => Some(*duration),
            Self::Uniform { to, .. } => Some(*to),
            Self::Exponential { .. } | Self::Lognormal { .. } => None,
            Self::Pareto { cap, .. } => Some(*cap),
        }
    }

    /// The shortest that can be drawn.
    #[must_use]
    pub const fn shortest(&self) -> Duration {
        match self {
            Self::Fixed(duration) => *duration,
            Self::Uniform { from, .. } => *from,
            Self::Exponential { .. } | Self::Lognormal { .. } => Duration::ZERO,
            Self::Pareto { min, .. } => *min,
        }
    }

    /// As [`sample`](Self::sample), in ns.
    pub fn sample_nanos(&self, mut word: impl FnMut() -> u64) -> u64 {
        match *self {
            Self::Fixed(duration) => nanos(duration),
            Self::Uniform { from, to } => uniform(nanos(from), nanos(to), word),
            Self::Exponential { mean } => {
                // -ln u = -log2 u * ln 2, ln 2 in 32 fractional bits.
                let minus_ln = (u128::from(minus_log2(word())) * LN_2) >> FRACTION;
                scale(nanos(mean), minus_ln)
            }
            Self::Pareto { min, alpha_milli, cap } => {
                let exponent = u128::from(minus_log2(word())) * 1_000 / u128::from(alpha_milli);
                let whole = u32::try_from(exponent >> FRACTION).unwrap_or(u32::MAX);
                let factor = exp2_fraction((exponent & MASK) as u64);
                let drawn = if whole >= 62 { u64::MAX } else { scale(nanos(min), factor << whole) };
                drawn.min(nanos(cap))
            }
            Self::Lognormal { median, sigma } => {
                let (is_longer, z) = normal(word());
                let exponent = (u128::from(sigma) * u128::from(z)) >> Z_FRACTION;
                let (whole, fraction) = ((exponent >> FRACTION) as u32, (exponent & MASK) as u64);
                let factor = match (is_longer, fraction) {
                    (true, _) => exp2_fraction(fraction) << whole.min(62),
                    (false, 0) => (1 << FRACTION) >> whole.min(62),
                    // 2^-e as 2^(1 - fraction) / 2^(whole + 1).
                    (false, _) => exp2_fraction((1 << FRACTION) - fraction) >> (whole + 1).min(62),
                };
                scale(nanos(median), factor)
            }
        }
    }
}

/// Uniform in `from..=to`, without bias: multiply, and reject the few low products that would favour
/// some values.
///
/// # Panics
/// If `from > to`.
pub fn uniform(from: u64, to: u64, mut word: impl FnMut() -> u64) -> u64 {
    let Some(count) = to.checked_sub(from).expect("from is not after to").checked_add(1) else { return word() };
    loop {
        let product = u128::from(word()) * u128::from(count);
        let low = product as u64;
        // What is below is rejected; it is less than `count`, so that most draws are spared the division.
        if low >= count || low >= count.wrapping_neg() % count {
            return from + (product >> 64) as u64;
        }
    }
}

const FRACTION: u32 = 32;
const MASK: u128 = (1 << FRACTION) - 1;
/// ln 2 in 32 fractional bits: 0.693147180559945.
const LN_2: u128 = 2_977_044_472;
/// `ROOTS[i]` is 2^(2^-(i+1)) in 63 fractional bits, each the square root of the one before.
const ROOTS: [u128; FRACTION as usize] = {
    let mut roots = [0; FRACTION as usize];
    let mut previous: u128 = 2 << 63;
    let mut i = 0;
    while i < roots.len() {
        previous = (previous << 63).isqrt();
        roots[i] = previous;
        i += 1;
    }
    roots
};

/// A draw of the standard normal distribution: whether it is above the mean, and how far from it in standard
/// deviations, in 16 fractional bits. The quantile is interpolated in the logarithm of the tail, where it is
/// nearly straight; no draw is farther than 5.2.
fn normal(word: u64) -> (bool, u64) {
    // In steps of half a bit, and how far between two of them.
    let tail = u128::from(minus_log2(word << 1)) << 1;
    let (step, between) = ((tail >> FRACTION) as usize, (tail & MASK) as u64);
    let z = match QUANTILES.get(step..step + 2) {
        Some(&[from, to]) => from + ((u128::from(to - from) * u128::from(between)) >> FRACTION) as u64,
        _ => QUANTILES[QUANTILES.len() - 1],
    };
    (word >> 63 == 1, z)
}

const Z_FRACTION: u32 = 16;
/// The standard normal quantile of 1 - 1/10,000 in 16 fractional bits: 3.719016.
const Z_ONE_IN_10_000: u64 = 243_729;
/// `QUANTILES[i]` is the standard normal quantile of 1 - 2^-(i/2 + 1), in 16 fractional bits.
const QUANTILES: [u64; 45] = [
    0, 24_625, 44_203, 60_799, 75_389, 88_523, 100_540, 111_671, 122_076, 131_874, 141_156, 149_992, 158_437, 166_537,
    174_330, 181_847, 189_113, 196_152, 202_983, 209_622, 216_085, 222_384, 228_531, 234_536, 240_408, 246_155,
    251_785, 257_304, 262_719, 268_035, 273_257, 278_390, 283_438, 288_405, 293_295, 298_111, 302_857, 307_535,
    312_148, 316_699, 321_190, 325_623, 330_000, 334_324, 338_597,
];

/// `value * factor`, the factor in 32 fractional bits; saturates.
fn scale(value: u64, factor: u128) -> u64 {
    u64::try_from((u128::from(value)).saturating_mul(factor) >> FRACTION).unwrap_or(u64::MAX)
}

/// `-log2 u` in 32 fractional bits, for `u = (word + 1) / 2^64`.
fn minus_log2(word: u64) -> u64 {
    let n = u128::from(word) + 1;
    let whole = n.ilog2();
    // The mantissa in 63 fractional bits, in [1, 2): squaring doubles its logarithm, and each time
    // it passes 2 the next bit of the logarithm is a one.
    let mut mantissa: u128 = if whole >= 63 { n >> (whole - 63) } else { n << (63 - whole) };
    let mut fraction = 0_u64;
    for _ in 0..FRACTION {
        mantissa = (mantissa * mantissa) >> 63;
        fraction <<= 1;
        if mantissa >= 2 << 63 {
            mantissa >>= 1;
            fraction |= 1;
        }
    }
    (64 << FRACTION) - ((u64::from(whole) << FRACTION) | fraction)
}

/// `2^(fraction / 2^32)` in 32 fractional bits, in [1, 2).
fn exp2_fraction(fraction: u64) -> u128 {
    let mut power: u128 = 1 << 63;
    for (i, root) in ROOTS.iter().enumerate() {
        if fraction >> (FRACTION as usize - 1 - i) & 1 == 1 {
            power = (power * root) >> 63;
        }
    }
    power >> (63 - FRACTION)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A word stream for tests: splitmix64.
    fn words() -> impl FnMut() -> u64 {
        let mut state = 0_u64;
        move || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ (z >> 31)
        }
    }

    fn draws(span: Span, count: usize) -> Vec<u64> {
        let mut word = words();
        (0..count).map(|_| nanos(span.sample(&mut word))).collect()
    }

    #[test]
    fn logarithms_and_powers_of_two_are_exact_at_whole_numbers() {
        assert_eq!(minus_log2(u64::MAX), 0);
        assert_eq!(minus_log2((1 << 63) - 1), 1 << FRACTION);
        assert_eq!(minus_log2(0), 64 << FRACTION);
        assert_eq!(exp2_fraction(0), 1 << FRACTION);
        // The square root of two, in 32 fractional bits.
        assert_eq!(exp2_fraction(1 << 31), 6_074_000_999);
    }

    #[test]
    fn a_uniform_span_reaches_both_ends_and_no_further() {
        let all = draws(Span::Uniform { from: Duration::from_nanos(3), to: Duration::from_nanos(6) }, 1_000);
        assert_eq!((all.iter().min(), all.iter().max()), (Some(&3), Some(&6)));
    }

    #[test]
    fn a_word_that_would_favour_some_values_is_thrown_away() {
        // 2^64 = 3 * 6,148,914,691,236,517,205 + 1: one word too many, the lowest.
        let mut words = [0, 1].into_iter();
        assert_eq!(uniform(5, 7, || words.next().expect("two words are enough")), 5);
        assert_eq!(words.next(), None);
    }

    #[test]
    fn the_longest_that_can_be_drawn_is_known_where_there_is_one() {
        let [one, two] = [1, 2].map(Duration::from_secs);
        assert_eq!(Span::Fixed(one).longest(), Some(one));
        assert_eq!(Span::Uniform { from: one, to: two }.longest(), Some(two));
        assert_eq!(Span::Exponential { mean: one }.longest(), None);
        assert_eq!(Span::Pareto { min: one, alpha_milli: 1_000, cap: two }.longest(), Some(two));
    }

    #[test]
    fn the_shortest_that_can_be_drawn_is_known() {
        let [one, two] = [1, 2].map(Duration::from_secs);
        assert_eq!(Span::Fixed(one).shortest(), one);
        assert_eq!(Span::Uniform { from: one, to: two }.shortest(), one);
        assert_eq!(Span::Exponential { mean: one }.shortest(), Duration::ZERO);
        assert_eq!(Span::Pareto { min: one, alpha_milli: 1_000, cap: two }.shortest(), one);
        assert_eq!(Span::lognormal(one, two).shortest(), Duration::ZERO);
    }

    #[test]
    fn the_whole_range_of_words_is_uniform_too() {
        assert_eq!(uniform(0, u64::MAX, || 42), 42);
    }

    #[test]
    fn a_lognormal_span_has_its_median_and_its_tail() {
        let [median, rare] = [Duration::from_micros(150), Duration::from_millis(5)];
        let mut all = draws(Span::lognormal(median, rare), 100_000);
        all.sort_unstable();
        assert!(all[50_000].abs_diff(150_000) < 1_500, "{}", all[50_000]);
        // One in ten thousand is longer: ten of these, give or take three standard deviations.
        let longer = all.iter().filter(|drawn| **drawn > 5_000_000).count();
        assert!((1..=20).contains(&longer), "{longer}");
        // One standard deviation: a factor of 33.3^(1/3.719) = 2.567, either way.
        assert!(all[84_134].abs_diff(385_100) < 8_000, "{}", all[84_134]);
        assert!(all[15_866].abs_diff(58_420) < 1_200, "{}", all[15_866]);
    }

    #[test]
    fn a_lognormal_span_without_a_tail_is_fixed() {
        let one = Duration::from_millis(1);
        assert_eq!(draws(Span::lognormal(one, one), 100), vec![1_000_000; 100]);
    }

    #[test]
    fn an_exponential_span_has_its_mean() {
        let all = draws(Span::Exponential { mean: Duration::from_millis(1) }, 100_000);
        let mean = all.iter().sum::<u64>() / 100_000;
        assert!((990_000..1_010_000).contains(&mean), "{mean}");
    }

    #[test]
    fn a_pareto_span_has_its_tail() {
        let span = Span::Pareto { min: Duration::from_millis(5), alpha_milli: 500, cap: Duration::from_secs(60) };
        let all = draws(span, 100_000);
        assert!(all.iter().all(|d| (5_000_000..=60_000_000_000).contains(d)));
        // P(longer than 9.9 s) = (5 ms / 9.9 s)^0.5 = 2.25 %.
        let long = all.iter().filter(|d| **d > 9_900_000_000).count();
        assert!((2_100..2_400).contains(&long), "{long}");
    }

    #[test]
    fn sampling_is_written_down() {
        // Golden: a change here changes the meaning of every seed.
        let span = |s| draws(s, 3);
        let ms = Duration::from_millis;
        assert_eq!(span(Span::Uniform { from: ms(200), to: ms(400) }), [376_662_162, 286_305_599, 205_286_754]);
        assert_eq!(span(Span::Exponential { mean: ms(10) }), [1_240_781, 8_404_228, 36_331_128]);
        assert_eq!(
            span(Span::Pareto { min: ms(20), alpha_milli: 1_200, cap: ms(60_000) }),
            [22_178_663, 40_289_249, 412_949_918]
        );
        // Either side of the median, worked out beside this code too; `exp` and the normal quantile of a maths
        // library give the same to 2 %.
        let [median, rare] = [150, 5_000].map(Duration::from_micros);
        assert_eq!(Span::lognormal(median, rare), Span::Lognormal { median, sigma: 5_842_357_631 });
        assert_eq!(draws(Span::lognormal(median, rare), 6), [196_823, 129_035, 24_197, 159_487, 46_427, 98_860]);
    }
}
