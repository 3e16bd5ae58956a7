//! On which level a property speaks: what must be so for it to be kept, whatever the lock.
//!
//! The levels are the properties' own; what each *rests on*, that is what a lock must be promised by its
//! environment to keep it, is the lock's claim (`Lock::needs` in `models`). So a new property says on which
//! level it speaks and no lock need be asked again; and a new lock answers for every level and so for every
//! property. Only a new level asks all locks.

/// What must be so for a property to be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// The lock's own steps are right: whom it asks, what it compares, whose turn it says it is.
    Conduct,
    /// Tokens are in the order of grants: all that a check at the resource can go by.
    Fence,
    /// Tokens are in the order of promised windows.
    Token,
    /// What the service promises to one it has not promised to another.
    Grant,
    /// A holder keeps what it was promised for as long as it was promised, or knows better.
    Tenure,
    /// Who takes the lock to be its own is the only one.
    Belief,
    /// What holders do takes effect in their order, though it may be late on its way.
    Effect,
    /// What is left behind is given to others again.
    Return,
}

impl Level {
    /// All of them.
    pub const ALL: [Self; 8] =
        [Self::Conduct, Self::Fence, Self::Token, Self::Grant, Self::Tenure, Self::Belief, Self::Effect, Self::Return];
}
