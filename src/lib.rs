//! fencepost: a deterministic simulator and fault-injection testbed for distributed locks.
//!
//! The binary `fencepost` plays scenarios; this library lets a test play them against a lock of your
//! own:
//!
//! ```
//! use fencepost::{Property, Trial};
//!
//! let verdict = Trial::of("gc-pause").expect("it is in the catalogue").seeds(0..10).run();
//! let fenced = verdict.cell(&[("resource", "fence_rw")]);
//! assert!(fenced.holds(Property::EffectOrder));
//! ```
//!
//! A whole lock of one's own, judged under `gc-pause` from a plain `#[test]`, is in
//! `examples/my_lock.rs`.

pub mod exit;
mod trial;

pub use host::{Calls, Connection, Duration, Host, MonoTime, Purpose, Server, first};
pub use models::guard::{Check, Guard, Ruling, Seen};
pub use models::recipe::{Acquired, Lease, LockHost, Recipe, Release, Renewal};
pub use models::redis::{self, RedisHost};
pub use models::resource::{Action, Op};
pub use scenarios::{Bench, LabHost};
pub use spec::{Authorities, LockName, Property, Token};
pub use trial::{BrokenRun, CellVerdict, Trial, TrialError, TrialVerdict};
