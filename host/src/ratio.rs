//! Rates as whole parts per million.

use core::fmt;

use serde::{Deserialize, Serialize};

/// A signed rate in parts per million: `Ppm::new(-200)` is a clock that loses 200 us a second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Ppm(i32);

impl Ppm {
    /// No deviation.
    pub const ZERO: Self = Self(0);
    /// One whole, in parts per million.
    pub const WHOLE: u64 = 1_000_000;

    /// # Panics
    /// Unless `-1_000_000 < ppm <= 1_000_000`: a clock that runs backwards or stands still is not a
    /// rate (a standing clock is a fault of its own). The scenario loader refuses such rates.
    #[must_use]
    pub const fn new(ppm: i32) -> Self {
        assert!(
            ppm > -1_000_000 && ppm <= 1_000_000,
            "a clock rate lies above -1,000,000 and at most at 1,000,000 ppm"
        );
        Self(ppm)
    }

    /// The deviation in parts per million.
    #[must_use]
    pub const fn get(self) -> i32 {
        self.0
    }

    /// How many millionths of a second such a clock counts in a true second; never zero.
    #[must_use]
    pub const fn per_million(self) -> u64 {
        Self::WHOLE.strict_add_signed(self.0 as i64)
    }
}

impl fmt::Display for Ppm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:+} ppm", self.0)
    }
}
