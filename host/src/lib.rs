//! What a program and a service may do.
//!
//! fencepost runs two kinds of code, one for each side of a connection, because that is how the real
//! ones are written:
//!
//! * a lock **recipe** (and the client around it) is an `async fn` over a [`Host`]: it reads its own
//!   clocks, sleeps, draws, connects and [calls](Calls), spawns tasks, and notes what it believes;
//! * a lock **service** is a [`Service`]: a state machine that reacts to messages and timers and puts
//!   its effects into a [`Context`].
//!
//! Neither can learn the true time: [`SimTime`] belongs to the kernel and to the checkers, and no
//! method of `Host` or `Context` returns it.
//!
//! | file | what |
//! |---|---|
//! | [`time`] | true time, the clocks' readings, durations |
//! | [`ids`] | nodes, attempts, connections, calls, servers |
//! | [`name`] | names, interned |
//! | [`ratio`] | parts per million |
//! | [`program`] | `Host`, `Calls`, `Connection`, `Task`, program points |
//! | [`join`] | waiting for several things: `first`, `all`, `until` |
//! | [`bell`] | waiting for another task of the same process |
//! | [`span`] | durations that are drawn anew each time |
//! | [`service`] | `Service`, `Context`, `Effect`, `Domain` |
//! | [`clock`] | a machine's clocks as straight pieces |
//! | [`run`] | what processes were doing, how a run ended |
//! | [`disk`] | what survives a crash |
//! | [`shortage`] | what a machine may run out of |
//! | [`digest`] | the stable fold behind every trace hash |

pub mod bell;
pub mod clock;
pub mod digest;
pub mod disk;
pub mod ids;
pub mod join;
pub mod name;
pub mod program;
pub mod ratio;
pub mod run;
pub mod service;
pub mod shortage;
pub mod span;
pub mod time;

pub use bell::{Bell, Rung};
pub use clock::{Clock, Segment, Ticking};
pub use digest::{Digest, Fold};
pub use disk::Disk;
pub use ids::{AttemptId, CallId, ConnId, NodeId, Operation, Origin, Part, Point, Server, TimerId};
pub use join::{Either, all, first, until};
pub use name::Name;
pub use program::{CallError, Calls, ConnectError, Connection, Cue, Host, Purpose, Request, Stage, Task};
pub use ratio::Ppm;
pub use run::{Activity, Ending, Noted};
pub use service::{Context, Domain, Effect, KeepAlive, Never, Service, Words};
pub use shortage::{Shortage, Shortages};
pub use span::Span;
pub use time::{Deadline, Duration, MonoTime, SimTime, WallTime, nanos};
