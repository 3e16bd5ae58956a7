//! What a lock promises, and how a run is judged.
//!
//! This crate reads histories and nothing else: it never sees a model, so that a judgement cannot
//! borrow the opinion of what it judges. A history says what clients did and believed, what services
//! did, and what reached the guarded resource; the properties are statements over it.
//!
//! | file | what |
//! |---|---|
//! | [`history`] | what can be said of a run |
//! | [`rules`] | what it is judged by |
//! | [`property`] | what may be promised; below it, one file per property |
//! | [`level`] | on which level each property speaks |
//! | [`assumption`] | what a lock had been promised; below it, the ledger of a run |
//! | [`verdict`] | what a judge may say |
//! | [`waits`] | how long clients waited |
//! | [`mod@judge`] | how it comes to say it |

pub mod assumption;
mod claims;
mod grants;
pub mod history;
pub mod judge;
pub mod level;
mod lives;
mod log;
mod mentions;
mod overlap;
mod owners;
pub mod property;
mod queue;
pub mod rules;
#[cfg(test)]
mod testing;
pub mod verdict;
pub mod waits;
mod windows;

pub use assumption::Assumption;
pub use history::{
    Activity, Authorities, Cause, EffectName, Ending, Entry, History, LockName, Mode, NodeHistory, Note, ObjectName,
    OpId, Segment, Thread, Ticking, Token, Version,
};
pub use judge::{Judge, judge};
pub use level::Level;
pub use log::speak_as_one;
pub use property::Property;
pub use rules::{Bounds, Policy, Promise, Rules};
pub use verdict::{Evidence, Judgement, Measures, Verdict};
pub use waits::Waits;
