//! The second world: fencepost's recipes, services, scripted clients and checkers on the simulator
//! [madsim](https://docs.rs/madsim), which somebody else has written.
//!
//! It is a check on our own kernel. The same cell is played on both; if a lock's promise is broken on one and
//! holds on the other, one of the two kernels does something that no network, scheduler or crash would do.
//! What the two share is above them (models, clients, the plan of faults, the judge) or is plain data; how time
//! passes, who runs when, how bytes travel and what a crash leaves is madsim's here.
//!
//! It exists with `--cfg madsim` only, as the simulator itself does:
//! `RUSTFLAGS="--cfg madsim" cargo test -p fencepost-madsim`.
//!
//! # What differs from our kernel
//!
//! | here | on our kernel |
//! |---|---|
//! | one clock for all nodes; wall clocks differ by what they are ahead from the start | clocks of each machine, which step, drift and stand still |
//! | no wait is shorter than 1 ms, and each ends 50 ns late | to the nanosecond |
//! | each poll of a task takes 50 to 100 ns, drawn; of the tasks that are ready, a drawn one runs | no time between events, in the order of insertion |
//! | a second connection that is opened within 1 ms after the first, on the same link, takes 1 ms more | the link's latency, there and back |
//! | what follows a message on its connection arrives 1 ms after it, or later | it may arrive at once |
//! | a send leaves in the step that decides it | up to 20 us later |
//! | when a process runs again, its tasks do so in any order | its own work first, then its socket, then its timers |
//! | a kill runs the `Drop` code of what was killed; whatever that does is ignored, and counted | the same |
//! | a run in which nothing can happen any more goes on to its horizon | it ends there, and says so |
//!
//! # Why verdicts can be compared all the same
//!
//! A scenario makes a claim about what follows from a fault of seconds, placed at a milestone that both worlds
//! pass; it holds for any network and any scheduler within the file's words, and so for some ms more or less.
//! Where a claim does hang on a clock of its own, or on less than a millisecond, this world refuses it
//! ([`refusals`]). What may not be compared is a time, a hash or a seed: each world draws for itself.
//!
//! # Code map
//!
//! | file | what |
//! |---|---|
//! | [`kernel`](MadSim) | a world, built and run |
//! | [`refusal`](refusals) | the table of faults: how each is played, or why not |
//! | `world`, `node` | the state of a run |
//! | `process` | what a program sees: `Host`, `Stage`, `Calls` |
//! | `lives` | processes as madsim nodes: they start, stand still, die, start again |
//! | `service` | services, stepped inside tasks |
//! | `connections`, `wire`, `socket` | connections from the client's end; what is sent; what arrives |
//! | `moments`, `faults`, `matching` | when faults strike, what they do, faults of single messages |
#![cfg(madsim)]

mod connections;
mod faults;
mod kernel;
mod lives;
mod matching;
mod moments;
mod node;
mod process;
mod refusal;
mod service;
mod socket;
mod wire;
mod world;

pub use kernel::MadSim;
pub use process::{MadConnection, MadHost, MadTask};
pub use refusal::{Refusal, refusals};
