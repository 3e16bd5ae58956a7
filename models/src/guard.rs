//! How the guarded resource decides whether to accept an operation.

/// The resource's check. The names are those of the literature.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Guard {
    /// It accepts everything.
    #[default]
    Open,
    /// It refuses reads and writes whose token is below the highest seen; both raise the highest
    /// seen. (Kleppmann's rule, 2016, with the reads fenced too.)
    FenceRw,
}

impl Guard {
    /// All of them, in the order of documentation.
    pub const ALL: [Self; 2] = [Self::Open, Self::FenceRw];

    /// Its name in scenario files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::FenceRw => "fence_rw",
        }
    }

    /// Whether it compares tokens: then every operation must carry one.
    #[must_use]
    pub const fn checks_tokens(self) -> bool {
        match self {
            Self::Open => false,
            Self::FenceRw => true,
        }
    }
}
