//! A primary and a replica: items 14 to 16 and 18 of what every Redis with replicas answers. The model's tests
//! (`models/src/redis/replication/tests.rs`) hold the model to the same.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use fencepost_live::resp::Connection;
use fencepost_live::servers::redis::{KEEPS_NOTHING, RedisServer};
use libtest_mimic::Failed;

use crate::common::{Named, Outcome};
use crate::processes::is;

pub(crate) const TRIALS: [Named; 4] = [
    ("a replica refuses to write", a_replica_refuses_to_write),
    ("wait counts replicas", wait_counts_replicas),
    ("too few good replicas", too_few_good_replicas),
    ("a diverged primary loses its writes", a_diverged_primary_loses_its_writes),
];

/// A primary and its replica, in touch.
pub(crate) fn pair() -> Result<(RedisServer, RedisServer), Failed> {
    let (primary, replica) = (RedisServer::start(KEEPS_NOTHING)?, RedisServer::start(KEEPS_NOTHING)?);
    is(&replica.connect()?.ask(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()])?, "+OK\r\n")?;
    wait_until("the replica is in touch", || {
        let mut line = primary.connect()?;
        line.ask(&["SET", "in-touch", "1"])?;
        Ok(line.ask(&["WAIT", "1", "100"])? == b":1\r\n")
    })?;
    Ok((primary, replica))
}

/// Looks again and again, for a long time.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> io::Result<bool>) -> Outcome {
    let began = Instant::now();
    while began.elapsed() < LONG {
        if holds()? {
            return Ok(());
        }
        sleep(Duration::from_millis(20));
    }
    Err(format!("{what}: not within {} s", LONG.as_secs()).into())
}

const LONG: Duration = Duration::from_secs(90);
const RELEASE: &str =
    "if redis.call(\"get\",KEYS[1]) == ARGV[1] then return redis.call(\"del\",KEYS[1]) else return 0 end";

fn release(line: &mut Connection, value: &str) -> io::Result<Vec<u8>> {
    line.ask(&["EVAL", RELEASE, "1", "L", value])
}

fn begins(reply: &[u8], expected: &str) -> Outcome {
    // A script's digest and line are appended to what it was refused with.
    is(&reply[..reply.len().min(expected.len())], expected)
}

fn a_replica_refuses_to_write() -> Outcome {
    let (primary, replica) = pair()?;
    let (mut p, mut r) = (primary.connect()?, replica.connect()?);
    is(&p.ask(&["SET", "L", "A", "NX", "PX", "60000"])?, "+OK\r\n")?;
    is(&p.ask(&["WAIT", "1", "5000"])?, ":1\r\n")?;
    is(&r.ask(&["GET", "L"])?, "$1\r\nA\r\n")?;
    is(&r.ask(&["SET", "L", "B"])?, "-READONLY You can't write against a read only replica.\r\n")?;
    begins(&release(&mut r, "A")?, "-READONLY You can't write against a read only replica.")?;
    is(&release(&mut r, "B")?, ":0\r\n")?;
    begins(&r.ask(&["WAIT", "0", "0"])?, "-ERR WAIT cannot be used with replica instances.")
}

fn wait_counts_replicas() -> Outcome {
    let (primary, _replica) = pair()?;
    let mut line = primary.connect()?;
    is(&line.ask(&["SET", "L", "A", "NX", "PX", "60000"])?, "+OK\r\n")?;
    is(&line.ask(&["WAIT", "1", "5000"])?, ":1\r\n")?;
    is(&line.ask(&["WAIT", "2", "200"])?, ":1\r\n")?;
    is(&line.ask(&["WAIT", "1", "-1"])?, "-ERR timeout is negative\r\n")?;
    is(&line.ask(&["MULTI"])?, "+OK\r\n")?;
    is(&line.ask(&["WAIT", "2", "0"])?, "+QUEUED\r\n")?;
    // At once, without asking again: that the replica be heard of was streamed too, by the `WAIT` before, and until the
    // replica's next word, some time within a second, that part of the stream is not acknowledged.
    let executed = line.ask(&["EXEC"])?;
    is(&executed, if executed == b"*1\r\n:0\r\n" { "*1\r\n:0\r\n" } else { "*1\r\n:1\r\n" })
}

fn too_few_good_replicas() -> Outcome {
    let (primary, _replica) = pair()?;
    let mut line = primary.connect()?;
    is(&line.ask(&["SET", "L", "A"])?, "+OK\r\n")?;
    is(&line.ask(&["CONFIG", "SET", "min-replicas-to-write", "2"])?, "+OK\r\n")?;
    let refusal = "-NOREPLICAS Not enough good replicas to write.";
    begins(&line.ask(&["SET", "L", "B"])?, refusal)?;
    begins(&line.ask(&["PEXPIRE", "L", "10"])?, refusal)?;
    begins(&release(&mut line, "A")?, refusal)?;
    is(&line.ask(&["GET", "L"])?, "$1\r\nA\r\n")?;
    is(&release(&mut line, "B")?, ":0\r\n")
}

fn a_diverged_primary_loses_its_writes() -> Outcome {
    let (primary, replica) = pair()?;
    let (mut p, mut r) = (primary.connect()?, replica.connect()?);
    is(&r.ask(&["REPLICAOF", "NO", "ONE"])?, "+OK\r\n")?;
    is(&r.ask(&["SET", "n2", "x"])?, "+OK\r\n")?;
    is(&p.ask(&["SET", "n1", "y"])?, "+OK\r\n")?;
    is(&p.ask(&["REPLICAOF", "127.0.0.1", &replica.port().to_string()])?, "+OK\r\n")?;
    is(&p.ask(&["GET", "n1"])?, "$1\r\ny\r\n")?;
    wait_until("the new primary's keys are there", || Ok(p.ask(&["GET", "n2"])? == b"$1\r\nx\r\n"))?;
    is(&p.ask(&["GET", "n1"])?, "$-1\r\n")
}
