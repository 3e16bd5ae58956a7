//! The third world: real lock servers.
//!
//! Nothing here simulates. What the simulator's models say is held against what real servers do: same requests, same
//! replies, byte for byte (`tests/conformance`). Its members are built and run when they are asked for, since they
//! need servers installed: `just conformance`.
//!
//! | file | what |
//! |---|---|
//! | [`servers`] | starting real servers in folders of their own, stopping them, leaving nothing behind |
//! | [`servers::redis`] | redis-server |
//! | [`clock`] | a wall clock that stands still for a server, until it is set |
//! | [`resp`] | a connection to Redis that keeps replies as they came |

pub mod clock;
pub mod resp;
pub mod servers;
