//! What a client was granted in one round, and in whose name it acts.
//!
//! The one rule: it acts in the name of the last grant that it holds; when it holds nothing, in the name
//! of the last that it held.

use host::AttemptId;
use spec::{OpId, Token};

use super::section::Section;
use crate::recipe::{LockHost, Recipe};
use crate::script::{Handle, Step};

/// The grants of one round: those that are held, in the order of the grants, or else the last that was.
pub(super) struct Claims<H: LockHost, L: Recipe<H>>(Vec<Claim<H, L>>);

/// One grant.
pub(super) struct Claim<H: LockHost, L: Recipe<H>> {
    pub(super) attempt: AttemptId,
    /// What the client shows the resource: its lock's token, or one of its own.
    pub(super) token: Option<Token>,
    handle: Handle,
    /// How many operations were sent in its name.
    operations: u32,
    /// `None`: it is held no more.
    section: Option<Section<H, L>>,
}

impl<H: LockHost, L: Recipe<H>> Claims<H, L> {
    pub(super) const NONE: Self = Self(Vec::new());

    /// A lock was granted, and is called by that handle, which is free.
    pub(super) fn add(&mut self, handle: Handle, section: Section<H, L>) {
        let (attempt, token) = (section.attempt(), section.token());
        self.0.retain(|claim| claim.section.is_some());
        self.0.push(Claim { attempt, token, handle, operations: 0, section: Some(section) });
    }

    /// What is held under that handle.
    pub(super) fn get(&self, handle: Handle) -> Option<&Section<H, L>> {
        self.0.iter().find(|claim| claim.handle == handle).and_then(|claim| claim.section.as_ref())
    }

    /// What is held of the grant in whose name the client acts.
    pub(super) fn current_section(&self) -> Option<&Section<H, L>> {
        self.0.last()?.section.as_ref()
    }

    /// All that is held.
    pub(super) fn held(&self) -> impl Iterator<Item = &Section<H, L>> {
        self.0.iter().filter_map(|claim| claim.section.as_ref())
    }

    /// Whether something was granted, and nothing is held any more.
    pub(super) fn are_all_given_back(&self) -> bool {
        !self.0.is_empty() && self.held().next().is_none()
    }

    /// Takes what is held under that handle: it is held no more.
    pub(super) fn take(&mut self, handle: Handle) -> Option<Section<H, L>> {
        let place = self.0.iter().position(|claim| claim.handle == handle && claim.section.is_some())?;
        self.take_at(place)
    }

    /// Takes what was granted last of all that is held.
    pub(super) fn take_last(&mut self) -> Option<Section<H, L>> {
        let place = self.0.iter().rposition(|claim| claim.section.is_some())?;
        self.take_at(place)
    }

    fn take_at(&mut self, place: usize) -> Option<Section<H, L>> {
        // The last of all keeps its name.
        if self.0.len() == 1 { self.0[place].section.take() } else { self.0.remove(place).section }
    }

    /// The grant in whose name the client acts.
    pub(super) fn current(&self) -> Option<&Claim<H, L>> {
        self.0.last()
    }

    /// The grant in whose name the client acts.
    pub(super) fn current_mut(&mut self) -> Option<&mut Claim<H, L>> {
        self.0.last_mut()
    }

    /// The attempt in whose name that step is done: its handle's, if it is about one that is held.
    pub(super) fn in_whose_name(&self, step: &Step) -> Option<AttemptId> {
        let own = match step {
            Step::Extend { handle, .. } | Step::Release { handle, .. } => self.get(*handle).map(Section::attempt),
            // Who takes a lock away does so in nobody's name; what is repeated is done in the name of each step.
            Step::Reap { .. } | Step::Repeat { .. } => return None,
            _ => None,
        };
        own.or_else(|| self.current().map(|claim| claim.attempt))
    }
}

impl<H: LockHost, L: Recipe<H>> Claim<H, L> {
    /// The number of the next operation in its name.
    pub(super) const fn next_operation(&mut self) -> OpId {
        let next = OpId(self.operations);
        self.operations += 1;
        next
    }
}
