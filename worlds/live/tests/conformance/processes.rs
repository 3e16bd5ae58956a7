//! What needs signals: a server that stands still.
//!
//! (What a killed server keeps is in the transcripts.)

use fencepost_live::servers::redis::{KEEPS_NOTHING, RedisServer};
use libtest_mimic::Failed;

use crate::common::Named;
use crate::format::START;
use crate::{COUNTS, count};

pub(crate) const TRIALS: [Named; 1] =
    [("a lease runs out while its server stands still", a_lease_runs_out_while_its_server_stands_still)];

/// Time counts while the process does not run: what asked meanwhile is served late, and finds the key gone.
fn a_lease_runs_out_while_its_server_stands_still() -> Result<(), Failed> {
    let server = RedisServer::start_stopped_at(KEEPS_NOTHING, START)?;
    let clock = server.clock().ok_or("it has a clock that stands still")?;
    let (mut a, mut b) = (server.connect()?, server.connect()?);
    is(&a.ask(&["SET", "L", "A", "NX", "PX", "300"])?, "+OK\r\n")?;
    is(&b.ask(&["SET", "L", "B", "NX", "PX", "5000"])?, "$-1\r\n")?;
    server.pause()?;
    b.send(&["SET", "L", "B", "NX", "PX", "5000"])?;
    clock.set(START + 600)?;
    server.resume()?;
    is(&b.receive()?, "+OK\r\n")?;
    is(&a.ask(&["GET", "L"])?, "$1\r\nB\r\n")?;
    is(&a.ask(&["PTTL", "L"])?, ":5000\r\n")
}

pub(crate) fn is(reply: &[u8], expected: &str) -> Result<(), Failed> {
    count(&COUNTS.replies, 1);
    if reply == expected.as_bytes() {
        return Ok(());
    }
    count(&COUNTS.different, 1);
    Err(format!("expected {expected:?}, got {:?}", String::from_utf8_lossy(reply)).into())
}
