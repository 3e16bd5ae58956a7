//! The third world: real lock servers.
//!
//! Nothing here simulates. What the simulator's models say is held against what real servers do: same requests, same
//! replies, byte for byte (`tests/conformance`); and the catalogue's cells are played on real servers by real processes,
//! with the same recipes, scripts and judge, in real time ([`play`]). Its members are built and run when they are asked
//! for, since they need servers installed.
//!
//! | file | what |
//! |---|---|
//! | [`servers`] | starting real servers in folders of their own, stopping them, leaving nothing behind |
//! | [`servers::redis`], [`servers::sentinel`] | redis-server; Sentinel |
//! | [`servers::etcd`] | etcd, one member or several |
//! | [`servers::zookeeper`] | ZooKeeper, one server or several |
//! | [`servers::postgres`] | PostgreSQL, a primary or its standby |
//! | [`servers::pgbouncer`] | a pooler before PostgreSQL |
//! | [`mod@clock`] | a server's own wall clock: one that stands still until it is set, or one that is ahead |
//! | [`resp`] | a connection to Redis that keeps replies as they came |
//! | [`gateway`] | what an etcd server is asked over HTTP |
//! | [`jute`] | a connection to ZooKeeper |
//! | [`pg`] | a connection to PostgreSQL |
//! | [`run`] | one run: servers, processes, faults, the guarded resource |
//! | [`client`] | a client's process: `Host`, `Stage`, `Calls` over tokio, the `redis` crate, HTTP for etcd, ZooKeeper's and PostgreSQL's own protocols |
//! | `line` | what the two say to each other |
//! | `witness`, `ledger` | what a server tells of itself; who owned which key when |
//! | `revisions` | the same of an etcd cluster, from what its members tell |
//! | `changes` | the same of a ZooKeeper ensemble, from what its servers have written down |
//! | `backends` | the same of PostgreSQL servers, from what they have logged |
//! | [`record`] | a history as JSON Lines, written and read |
//! | [`refusals`] | the table of faults: how each is played, or why not |
//! | `now` | what the machine's clocks read |
//!
//! # What differs from the simulator
//!
//! | here | in the simulator |
//! |---|---|
//! | real time: no two runs are equal | a run is a function of scenario and seed |
//! | the network is the loopback, unless the file has one so slow that it is a part of the claim | as the file says |
//! | a wait ends up to two ms late, and later on a busy machine | to the ns |
//! | a restarted process is up some 100 ms later | at once |
//! | after a pause at a point, a process first does what its timers are late with, and goes on behind the point when it is given leave | it goes on first |
//! | a restarted client draws anew | it draws on |
//! | who is promoted is found out some ms later, as its clients are sent away | at once |
//! | replicas are sent a snapshot without the five seconds' wait for others | as if in touch for long |
//! | a key that has expired is found up to some 100 ms late | at once |
//! | a client asks a member of etcd over its JSON gateway, each open request on a line of its own | on one stream |
//! | a cut, lost or late message between a client and a member is so at the client's end | on the way |
//! | which server of a ZooKeeper ensemble leads at first is theirs to say | the first |
//! | of what becomes of advisory locks, the time is known to the ms, and by who asked and was answered | to the ns |
//! | a PostgreSQL server that is killed is back after some 100 ms more, and takes up nothing else meanwhile | at once |
//! | of what happens in an ensemble, the time is known to the ms, and by who asked and was answered | to the ns |
//!
//! The seed decides what is drawn: the owner values, the delays between tries, how long a fault lasts. It does not decide
//! who comes first.

mod backends;
mod changes;
pub mod client;
pub mod clock;
pub mod gateway;
pub mod jute;
mod ledger;
mod line;
mod now;
pub mod pg;
pub mod record;
mod refusal;
pub mod resp;
mod revisions;
pub mod run;
pub mod servers;
mod witness;

pub use refusal::{Refusal, refusals};
pub use run::{Played, Source, play};
