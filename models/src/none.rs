//! No lock: whoever asks is let in, at once and for as long as it likes.
//!
//! It is what the debate compares locks with: if the resource protects itself, the same must come out. It has no
//! server, gives no token and promises nothing, so that whatever breaks is its own fault.

use host::Host;
use spec::LockName;

use crate::lock::LockFacts;
use crate::recipe::{Acquired, Lease, Recipe, Release};

/// What the loader must know of it.
pub(crate) const FACTS: LockFacts = LockFacts {
    name: "none",
    title: "no lock: everybody is let in, for comparison",
    groups: &[],
    points: &[],
    operations: &[],
    pushes: &[],
    has_token: false,
    elects: false,
    switches: &[],
    service_name: "none",
    service: &[],
};

/// The lock that everybody gets.
#[derive(Clone, Copy, Debug)]
pub struct NoLock;

impl<H: Host> Recipe<H> for NoLock {
    type Proof = ();

    async fn acquire(&self, _: &H, _: LockName) -> Acquired<()> {
        Acquired::Granted(Lease::until_released(()))
    }

    async fn release(&self, _: &H, _: LockName, _: &Lease<()>) -> Release {
        Release::Confirmed
    }
}
