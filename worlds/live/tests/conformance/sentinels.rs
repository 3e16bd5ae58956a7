//! Three Sentinels, a primary and a replica: item 21, how long a switch takes, how long an old primary stays one, and a
//! primary that dies while they only look on. The model's tests (`models/src/redis/sentinel/tests.rs`) hold the model to
//! the same windows: they follow from Sentinel's timers.

use std::thread::sleep;
use std::time::{Duration, Instant};

use fencepost_live::servers::redis::RedisServer;
use fencepost_live::servers::sentinel::Sentinel;
use libtest_mimic::Failed;

use crate::common::{Named, Outcome};
use crate::processes::is;
use crate::replicas::{pair, wait_until};

pub(crate) const TRIALS: [Named; 2] = [
    ("a primary that stands still is replaced, and demoted when it is back", a_switch_and_a_zombie),
    ("a primary that dies while Sentinels look on is never replaced", a_death_in_tilt),
];

struct Trio {
    primary: RedisServer,
    replica: RedisServer,
    sentinels: Vec<Sentinel>,
}

impl Trio {
    fn start() -> Result<Self, Failed> {
        let (primary, replica) = pair()?;
        let settings = [("down-after-milliseconds", "2000"), ("failover-timeout", "10000")];
        let sentinels = (0..3).map(|_| Sentinel::start(primary.port(), 2, &settings)).collect::<Result<Vec<_>, _>>()?;
        let trio = Self { primary, replica, sentinels };
        wait_until("the Sentinels have found each other and the replica", || {
            let mut line = trio.sentinels[0].connect()?;
            let info = line.ask(&["INFO", "sentinel"])?;
            Ok(String::from_utf8_lossy(&info).contains("slaves=1,sentinels=3"))
        })?;
        Ok(trio)
    }

    /// Whether all Sentinels say that the replica is the primary.
    fn has_switched(&self) -> std::io::Result<bool> {
        let new = self.replica.port().to_string();
        for sentinel in &self.sentinels {
            let addr = sentinel.connect()?.ask(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster"])?;
            if !String::from_utf8_lossy(&addr).contains(&new) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn lies(what: &str, time: Duration, from: u64, to: u64) -> Outcome {
    if (Duration::from_millis(from)..=Duration::from_millis(to)).contains(&time) {
        return Ok(());
    }
    Err(format!("{what} took {} ms, not {from} to {to}", time.as_millis()).into())
}

fn a_switch_and_a_zombie() -> Outcome {
    let trio = Trio::start()?;
    let mut line = trio.sentinels[0].connect()?;
    is(&line.ask(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "other"])?, "*-1\r\n")?;
    let reached = "+OK 3 usable Sentinels. Quorum and failover authorization can be reached\r\n";
    is(&line.ask(&["SENTINEL", "CKQUORUM", "mymaster"])?, reached)?;
    trio.primary.pause()?;
    let since = Instant::now();
    wait_until("they switch", || trio.has_switched())?;
    // As the model's test argues; an election that is split takes ten seconds and twice the timeout more.
    lies("the switch", since.elapsed(), 2_000, 40_000)?;
    trio.primary.resume()?;
    let since = Instant::now();
    let mut old = trio.primary.connect()?;
    is(&old.ask(&["SET", "written-by-nobody", "1"])?, "+OK\r\n")?;
    wait_until("the old primary is demoted", || {
        let role = trio.primary.connect()?.ask(&["ROLE"])?;
        Ok(String::from_utf8_lossy(&role).contains("slave"))
    })?;
    lies("the demotion", since.elapsed(), 8_000, 18_500)
}

fn a_death_in_tilt() -> Outcome {
    let mut trio = Trio::start()?;
    for sentinel in &trio.sentinels {
        sentinel.pause()?;
    }
    sleep(Duration::from_secs(3));
    for sentinel in &trio.sentinels {
        sentinel.resume()?;
    }
    sleep(Duration::from_secs(1));
    trio.primary.kill()?;
    // Thirty seconds of TILT, and a try or two.
    for _ in 0..65 {
        sleep(Duration::from_secs(1));
        if trio.has_switched()? {
            return Err("they have switched".into());
        }
    }
    let info = trio.sentinels[0].connect()?.ask(&["INFO", "sentinel"])?;
    if String::from_utf8_lossy(&info).contains("status=odown") {
        Ok(())
    } else {
        Err("they do not find it down".into())
    }
}
