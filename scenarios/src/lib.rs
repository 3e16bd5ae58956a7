//! Scenario files, their loader and the runner.

pub mod cell;
