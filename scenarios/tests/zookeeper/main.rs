//! What ZooKeeper's client library does on the kernel: when it gives a connection up, and when it says so.

mod client;
mod world;
