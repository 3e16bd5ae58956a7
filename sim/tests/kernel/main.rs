//! The kernel's contracts, each shown on a small probe: an effect when something is on, and its
//! absence when it is off.

mod again;
mod bells;
mod cancels;
mod counts;
mod crashes;
mod dialling;
mod half_open;
mod hash;
mod keepalive;
mod links;
mod lives;
mod moments;
mod probe;
mod process_faults;
mod running;
mod service_faults;
mod shutdown;
mod tasks;
mod waiting;
mod wire;
mod world;
