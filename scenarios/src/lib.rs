//! Scenario files, their loader and the runner.
//!
//! | file | what |
//! |---|---|
//! | [`catalogue`] | the files that come with fencepost |
//! | [`language`] | from a file's text to checked cells |
//! | [`cell`] | what a file means: worlds, faults, expectations, as plain data |
//! | [`contender`] | which lock the clients use: ours, or a user's own |
//! | [`kernel`] | what a kernel must offer for cells to be played on it |
//! | [`profile`] | what environments are like |
//! | `draw` | what a seed draws of a plan |
//! | `world` | from a cell to a simulated world |
//! | [`run`] | one run: played, judged, checked for faults that never landed |
//! | [`figure`] | what may be expected to be some number |
//! | [`frontier`] | where something turns along an axis, and what arithmetic says of it |
//! | [`mod@play`] | a scenario over its cells |
//! | [`sweep`](mod@sweep) | a cell over many seeds, in parallel |
//! | [`mod@tally`] | what a cell's runs add up to, held against what it expects |
//! | [`selection`] | which cells somebody means |
//! | [`report`] | what the reports are written from |
//! | `rules` | what runs are judged by |
//! | `fencing` | what the guarded resource protects by itself |
//! | `landed` | whether a fault hit something in use |

pub mod catalogue;
pub mod cell;
pub mod contender;
mod discipline;
mod draw;
mod fencing;
pub mod figure;
pub mod frontier;
pub mod kernel;
mod landed;
pub mod language;
pub mod play;
pub mod profile;
pub mod report;
mod rules;
pub mod run;
mod said;
pub mod selection;
pub mod sweep;
pub mod tally;
mod world;

pub use cell::{Cell, Expected, Scenario};
pub use contender::{Bench, Contender, LabHost};
pub use kernel::{Kernel, LocksHost};
pub use play::{Played, most_cells, play};
pub use run::{Player, Run};
pub use selection::{Unselected, selected};
pub use sweep::{Progress, sweep, tally};
pub use tally::{Standing, Tally};
