//! Locks as programs use them, on the kernel, before the model's server: what becomes of a statement that is given up, of a session
//! that is lost, of a connection that goes back to its pool, and of a row.

mod advisory;
mod lease_row;
mod pool;
mod row_lock;
mod world;
