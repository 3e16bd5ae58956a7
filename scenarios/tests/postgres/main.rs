//! Advisory locks as programs use them, on the kernel, before the model's server: what becomes of a statement that is given up, of a session
//! that is lost, and of a connection that goes back to its pool.

mod advisory;
mod pool;
mod world;
