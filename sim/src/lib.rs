//! The deterministic kernel: true time, one event queue, per-node clocks, a network of connections,
//! disks, faults, randomness, tasks, and the trace. No lock word in it.
//!
//! A run is a function of (world, seed, engine version). What makes it one:
//!
//! * one thread; equal times run in the order of insertion;
//! * every draw comes from a stream named for its purpose and entity ([`stream`]);
//! * integers only, and no collection whose order depends on the process;
//! * no system clock, no environment, and nobody is woken but by an event or by another task.
//!
//! | file | what |
//! |---|---|
//! | [`sim`](mod@sim) | a world, built and run: the loop |
//! | [`plan`] | faults and moments, as data |
//! | [`outcome`] | what a run leaves behind |
//! | [`process`] | what a program sees: `Host`, `Calls`, `Stage` |
//! | [`stream`] | randomness by purpose and entity |
//! | `core` and its parts | the kernel's state and rules |

mod admit;
mod bells;
mod callers;
mod calling;
mod calls;
mod connections;
mod core;
mod dialling;
mod event;
mod faults;
mod keepalive;
mod lifecycle;
mod links;
mod matching;
mod node;
pub mod outcome;
mod packets;
pub mod plan;
pub mod process;
mod queue;
pub mod sim;
pub mod stream;
mod tasks;
mod timers;
mod triggers;
mod wire;

pub use node::NodeSpec;
pub use outcome::{NodeOutcome, Noted, Outcome, Record, RecordKind, Strike};
pub use plan::{Cast, Direction, Fault, Held, Lasts, Link, MessageMatch, Target, What, When};
pub use process::{SimConnection, SimHost, SimTask};
pub use sim::{Bounds, ClientFactory, ServiceFactory, Sim};
pub use stream::{Entity, Stream, StreamPurpose};
