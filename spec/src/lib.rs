//! What a lock promises, and how a run is judged.
//!
//! This crate reads histories and nothing else: it never sees a model, so that a judgement cannot
//! borrow the opinion of what it judges. A history says what clients did and believed, what services
//! did, and what reached the guarded resource; the properties are statements over it.

pub mod assumption;
pub mod history;
pub mod property;
pub mod rules;
pub mod verdict;

pub use assumption::Assumption;
pub use history::{
    Activity, Authorities, Ending, Entry, History, LockName, NodeHistory, Note, ObjectName, OpId, Segment, Ticking,
    Token, Version,
};
pub use property::Property;
pub use rules::{Policy, Rules};
pub use verdict::{Evidence, Judgement, Measures, Verdict};
