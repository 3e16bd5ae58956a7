//! Lock services, lock recipes, the guarded resource, and the client around a lock.
//!
//! This crate knows `host` and `spec` and nothing below them: a model cannot learn the true time.

pub mod guard;
pub mod lock;
pub mod script;
