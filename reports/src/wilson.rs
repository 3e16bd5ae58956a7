//! How sure a share is: the score interval of Wilson ("Probable inference, the law of succession, and
//! statistical inference", 1927), at 95 %, in whole parts per million.
//!
//! With `k` of `n` seeds and `z = 1.96` it is
//!
//! ```text
//! (k + z²/2 ± z·√(k(n - k)/n + z²/4)) / (n + z²)
//! ```
//!
//! Unlike the textbook's `p ± z·√(p(1 - p)/n)` it is right for few seeds, and for none or all of them.
//! Here everything is multiplied by 10⁸ and whole; the bounds are rounded outwards.

/// Between which shares the true one lies, in 95 of 100 such samples: `k` of `n` seeds.
///
/// # Panics
/// If `k` is more than `n`, or there is no seed.
#[must_use]
pub fn wilson(k: u64, n: u64) -> (u32, u32) {
    assert!(k <= n && n > 0, "{k} of {n} is no share");
    let (k, n) = (u128::from(k), u128::from(n));
    let middle = WHOLE * k + Z_SQUARED / 2;
    let spread = ((Z_SQUARED * k * (n - k) / n + Z_SQUARED * Z_SQUARED / (4 * WHOLE)) * WHOLE).isqrt();
    let below = WHOLE * n + Z_SQUARED;
    let least = middle.saturating_sub(spread + 1) * MILLION / below;
    let most = ((middle + spread + 1) * MILLION).div_ceil(below).min(MILLION);
    let ppm = |share: u128| u32::try_from(share).expect("a share is at most a million ppm");
    (ppm(least), ppm(most))
}

const MILLION: u128 = 1_000_000;
/// By what everything is multiplied.
const WHOLE: u128 = 100_000_000;
/// `z²`, for 95 %: 1.96².
const Z_SQUARED: u128 = 384_160_000;

#[cfg(test)]
mod tests {
    use super::wilson;

    #[test]
    fn the_interval_is_that_of_the_textbooks() {
        // Worked out with 50 decimals; rounded outwards.
        for ((k, n), interval) in [
            ((0, 10), (0, 277_541)),
            ((10, 10), (722_459, 1_000_000)),
            ((1, 10), (17_875, 404_157)),
            ((50, 100), (403_829, 596_171)),
            ((312, 1_000), (284_049, 341_390)),
            ((0, 1_000), (0, 3_827)),
        ] {
            assert_eq!(wilson(k, n), interval, "{k}/{n}");
        }
    }

    #[test]
    fn as_many_seeds_as_there_can_be_are_no_overflow() {
        let (least, most) = wilson(500_000_000, 1_000_000_000);
        assert!((499_960..500_000).contains(&least) && (500_000..500_040).contains(&most), "{least} to {most}");
    }

    #[test]
    fn the_share_lies_within() {
        for n in 1..40 {
            for k in 0..=n {
                let (least, most) = wilson(k, n);
                let (least, most) = (u64::from(least) * n, u64::from(most) * n);
                assert!(least <= k * 1_000_000 && k * 1_000_000 <= most, "{k}/{n}");
            }
        }
    }
}
