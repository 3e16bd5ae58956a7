//! What this world does with connections, processes and faults, seen by small programs of a client that calls
//! one Redis server.
#![cfg(madsim)]

mod connections;
mod faults;
mod moments;
mod probe;
mod processes;
mod runs;
