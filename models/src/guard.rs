//! How the guarded resource decides whether to accept an operation.
//!
//! A check is a pure function of the operation and of the object's barrier, so that a test can lay a
//! broken one beside the real ones: any function of that shape is a [`Check`].

use spec::Token;

use crate::resource::Op;

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

/// A rule by which a resource accepts or refuses.
pub trait Check: 'static {
    /// Judges one operation on an object whose highest token so far is `barrier`.
    fn judge(&self, op: &Op, barrier: Option<Token>) -> Ruling;
}

/// What a check says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ruling {
    /// The operation is carried out.
    Accept {
        /// The object's barrier from here on.
        barrier: Option<Token>,
    },
    /// It is not, and nothing changes.
    Refuse,
}

impl Check for Guard {
    fn judge(&self, op: &Op, barrier: Option<Token>) -> Ruling {
        match self {
            Self::Open => Ruling::Accept { barrier },
            Self::FenceRw => match op.token() {
                // Equal is enough: a holder's second operation carries the token of its first.
                Some(token) if barrier.is_none_or(|barrier| token >= barrier) => {
                    Ruling::Accept { barrier: Some(token) }
                }
                // A token that was not given cannot be compared, so that the operation is not let in.
                _ => Ruling::Refuse,
            },
        }
    }
}

impl<F: Fn(&Op, Option<Token>) -> Ruling + 'static> Check for F {
    fn judge(&self, op: &Op, barrier: Option<Token>) -> Ruling {
        self(op, barrier)
    }
}
