//! What takes time: how long sessions live, with a client that is silent, a leader that dies or stands still, a server that
//! starts again, a wall clock that is set.
//!
//! The model's bounds are those of its own tests (`models/src/zookeeper/server/tests.rs`, `tracker.rs`); here the real
//! servers are held to them, by the client's own stamps.

use std::thread::sleep;
use std::time::{Duration, Instant};

use fencepost_live::jute::Connection;
use fencepost_live::servers::zookeeper::{ZkEnsemble, ZkServer, ZkSettings};
use libtest_mimic::Failed;
use models::zookeeper::{
    Answer, Body, Connect, Connected, Credentials, Millis, Mode, Path, SetData, Stat, ZkError, ZkReply, ZkRequest, Zxid,
};

use crate::common::{Named, Outcome};
use crate::{COUNTS, count};

pub(crate) const TRIALS: [Named; 7] = [
    ("a silent session ends within a tick after its timeout", a_silent_session_ends_within_a_tick),
    ("a silent session of who follows ends half a tick later at most", a_silent_session_of_who_follows),
    ("a killed leader takes no session with it", a_killed_leader_takes_no_session_with_it),
    ("a leader that stands still is left after its sync limit", a_leader_that_stands_still_is_left),
    ("a server that starts again gives sessions all of their time", a_server_that_starts_again),
    ("a wall clock that is set moves no session", a_wall_clock_that_is_set_moves_no_session),
    ("a session that goes on elsewhere is torn from where it was", a_session_that_goes_on_elsewhere),
];

const TICK: Duration = Duration::from_secs(2);
/// How much later than it should something may happen, for a machine that is busy.
const BUSY: Duration = Duration::from_millis(1_500);
/// Between two looks.
const A_WHILE: Duration = Duration::from_millis(10);
/// How long anything may take.
const LONG: Duration = Duration::from_secs(40);
/// A session that does not end meanwhile.
const LASTING: Millis = Millis(40_000);

/// A client in its session.
struct Client {
    connection: Connection,
    session: Connected,
}

fn begun(server: &ZkServer, timeout: Millis, session: Option<Credentials>) -> Result<Option<Client>, Failed> {
    let mut connection = server.connect()?;
    let connect = Connect { last_seen: Zxid::default(), timeout, session };
    Ok(match connection.begin(&connect)? {
        Some(ZkReply::Connected(session)) => Some(Client { connection, session: *session }),
        _ => None,
    })
}

fn client(server: &ZkServer, timeout: Millis) -> Result<Client, Failed> {
    Ok(begun(server, timeout, None)?.ok_or("no session begins")?)
}

impl Client {
    /// The answer. `None`: the server hangs up.
    fn ask(&mut self, request: ZkRequest) -> Result<Option<Answer>, Failed> {
        count(&COUNTS.replies, 1);
        Ok(self.connection.ask(request)?.1)
    }

    fn body(&mut self, request: ZkRequest) -> Result<Body, Failed> {
        let answer = self.ask(request)?.ok_or("the server hangs up")?;
        answer.outcome.map_err(|error| error.to_string().into())
    }

    fn create(&mut self, path: &str, mode: Mode) -> Result<(Path, Stat), Failed> {
        match self.body(ZkRequest::create(path.into(), "".into(), mode))? {
            Body::Created { path, stat } => Ok((path, stat)),
            other => Err(other.to_string().into()),
        }
    }

    /// Whether the node is there, once this server has what was agreed upon.
    fn sees(&mut self, path: &str) -> Result<bool, Failed> {
        self.body(ZkRequest::Sync { path: Path::ROOT })?;
        let answer = self.ask(ZkRequest::Exists { path: path.into(), watch: false })?.ok_or("the server hangs up")?;
        match answer.outcome {
            Ok(_) => Ok(true),
            Err(ZkError::NoNode) => Ok(false),
            Err(error) => Err(error.to_string().into()),
        }
    }

    /// When the node is gone: it was there at the first instant, and was not at the second.
    fn gone(&mut self, path: &str) -> Result<(Instant, Instant), Failed> {
        let (began, mut there) = (Instant::now(), Instant::now());
        while began.elapsed() < LONG {
            let asked = Instant::now();
            if !self.sees(path)? {
                return Ok((there, Instant::now()));
            }
            there = asked;
            sleep(A_WHILE);
        }
        Err(format!("{path} stays").into())
    }
}

fn is_between(what: &str, (there, gone): (Instant, Instant), first: Instant, last: Instant) -> Outcome {
    if gone >= first && there <= last {
        count(&COUNTS.ended, 1);
        return Ok(());
    }
    count(&COUNTS.different, 1);
    let (early, late) = (first.saturating_duration_since(gone), there.saturating_duration_since(last));
    Err(format!("{what}: {early:?} too early, or {late:?} too late").into())
}

/// A session with a node of its own, whose client says nothing any more: when it did last, at the earliest and at the latest.
fn silent(server: &ZkServer, path: &str, timeout: Millis) -> Result<(Client, Instant, Instant), Failed> {
    let mut client = client(server, timeout)?;
    let from = Instant::now();
    client.create(path, Mode::Ephemeral)?;
    Ok((client, from, Instant::now()))
}

/// Its client hears of it only when it asks again: its connection is closed, and the session is no more.
fn is_over(server: &ZkServer, mut late: Client) -> Outcome {
    let answer = late.ask(ZkRequest::Ping).unwrap_or(None);
    let again = begun(server, LASTING, Some(late.session.session))?;
    if answer.is_none() && again.is_none() { Ok(()) } else { Err(format!("it goes on: {answer:?}").into()) }
}

/// `ExpiryQueue`: at the first whole tick of the leader's clock behind its time.
fn a_silent_session_ends_within_a_tick() -> Outcome {
    let ensemble = ZkEnsemble::start(1, ZkSettings::SHIPPED)?;
    let server = ensemble.server(0);
    let mut other = client(server, LASTING)?;
    for (path, timeout) in [("/a", 4_000), ("/b", 5_000), ("/c", 6_700)] {
        let (late, from, to) = silent(server, path, Millis(timeout))?;
        let whole = Duration::from_millis(timeout.into());
        is_between(path, other.gone(path)?, from + whole, to + whole + TICK + BUSY)?;
        is_over(server, late)?;
    }
    Ok(())
}

/// Who follows tells its leader whom it has heard when that asks, every half tick.
fn a_silent_session_of_who_follows() -> Outcome {
    let ensemble = ZkEnsemble::start(3, ZkSettings::SHIPPED)?;
    let leader = ensemble.wait_until_served()?;
    let (follower, other) = (ensemble.server((leader + 1) % 3), ensemble.server((leader + 2) % 3));
    let mut watching = client(other, LASTING)?;
    let whole = Duration::from_secs(4);
    let mut late = client(follower, Millis(4_000))?;
    late.create("/e", Mode::Ephemeral)?;
    // What changes something the leader hears of at once; what does not, from who follows alone.
    sleep(Duration::from_millis(1_300));
    let from = Instant::now();
    late.body(ZkRequest::Ping)?;
    let to = Instant::now();
    is_between("/e", watching.gone("/e")?, from + whole, to + whole + TICK + TICK / 2 + BUSY)?;
    is_over(other, late)
}

/// The next leader begins another epoch, knows all sessions, and gives each all of its time.
fn a_killed_leader_takes_no_session_with_it() -> Outcome {
    let mut ensemble = ZkEnsemble::start(3, ZkSettings::SHIPPED)?;
    let leader = ensemble.wait_until_served()?;
    let (one, two) = ((leader + 1) % 3, (leader + 2) % 3);
    let mut holder = client(ensemble.server(one), Millis(6_000))?;
    holder.create("/L", Mode::Persistent)?;
    let (path, before) = holder.create("/L/lock-", Mode::EphemeralSequential)?;
    let killed = Instant::now();
    ensemble.server_mut(leader).kill()?;
    // Who followed it serves nobody until there is another.
    while holder.ask(ZkRequest::Ping)?.is_some() {
        sleep(A_WHILE);
    }
    let lost = killed.elapsed();
    let mut again = None;
    while again.is_none() {
        if killed.elapsed() > LONG {
            return Err("no other leader comes".into());
        }
        again = begun(ensemble.server(two), Millis(6_000), Some(holder.session.session)).unwrap_or(None);
        sleep(A_WHILE);
    }
    let mut holder = again.ok_or("it goes on")?;
    let back = killed.elapsed();
    let (next, after) = holder.create("/L/lock-", Mode::EphemeralSequential)?;
    let from = Instant::now();
    println!("a leader is killed: connections lost after {lost:?}, served again after {back:?}");
    if !holder.sees(&path.to_string())? || next != Path::from("/L/lock-0000000001") {
        return Err(format!("{path} is gone, or {next} is not the next").into());
    }
    // The first change of an epoch is the second number in it at least: a leader begins with none.
    if (before.czxid.epoch(), after.czxid) != (1, Zxid::new(2, 1)) {
        return Err(format!("{} and {}", before.czxid, after.czxid).into());
    }
    let mut watching = client(ensemble.server(one), LASTING)?;
    let whole = Duration::from_secs(6);
    is_between("a new leader", watching.gone("/L/lock-0000000001")?, from + whole, from + whole + 2 * TICK + BUSY)
}

/// With a short tick, so that nobody has to wait: who follows gives its leader up after five of them.
fn a_leader_that_stands_still_is_left() -> Outcome {
    let tick = Duration::from_millis(500);
    let mut ensemble = ZkEnsemble::start(3, ZkSettings { tick: Millis(500), ..ZkSettings::SHIPPED })?;
    let leader = ensemble.wait_until_served()?;
    let one = (leader + 1) % 3;
    let mut holder = client(ensemble.server(one), Millis(10_000))?;
    holder.create("/e", Mode::Ephemeral)?;
    ensemble.server_mut(leader).pause()?;
    let paused = Instant::now();
    // What it has, who follows serves until then, and nothing that all must agree on.
    let mut there = paused;
    while let Some(answer) = holder.ask(ZkRequest::Exists { path: "/e".into(), watch: false })? {
        answer.outcome.map_err(|error| error.to_string())?;
        there = Instant::now();
        sleep(A_WHILE);
    }
    let left = Instant::now();
    // The last word of the leader may be half a tick old.
    is_between("its follower", (there, left), paused + 5 * tick - tick / 2, paused + 5 * tick + BUSY)?;
    let next = ensemble.wait_until_served()?;
    let mut holder =
        begun(ensemble.server(one), LASTING, Some(holder.session.session))?.ok_or("its session is over")?;
    let (_, stat) = holder.create("/f", Mode::Persistent)?;
    if next == leader || stat.czxid.epoch() != 2 || !holder.sees("/e")? {
        return Err(format!("{next} leads, and {} is the number of a change", stat.czxid).into());
    }
    ensemble.server_mut(leader).resume()?;
    let resumed = Instant::now();
    while ensemble.server(leader).status().is_err() || ensemble.server(leader).status()?.zxid.epoch() != 2 {
        if resumed.elapsed() > LONG {
            return Err("who led does not follow".into());
        }
        sleep(A_WHILE);
    }
    if holder.sees("/e")? { Ok(()) } else { Err("it has ended a session".into()) }
}

fn a_server_that_starts_again() -> Outcome {
    let mut ensemble = ZkEnsemble::start(1, ZkSettings::SHIPPED)?;
    let (_late, begun_at, _) = silent(ensemble.server(0), "/e", Millis(4_000))?;
    sleep(Duration::from_secs(3));
    ensemble.server_mut(0).kill()?;
    let started = Instant::now();
    ensemble.server_mut(0).start_again()?;
    ensemble.wait_until_served()?;
    let served = Instant::now();
    let mut other = client(ensemble.server(0), LASTING)?;
    let whole = Duration::from_secs(4);
    let (there, gone) = other.gone("/e")?;
    is_between("/e", (there, gone), started + whole, served + whole + TICK + BUSY)?;
    if gone > begun_at + whole { Ok(()) } else { Err("nothing was added".into()) }
}

/// Sessions are counted on the monotonic clock. (When a node was created is told on the other.)
fn a_wall_clock_that_is_set_moves_no_session() -> Outcome {
    const HOUR: i64 = 3_600_000_000_000;
    let ensemble = ZkEnsemble::start(1, ZkSettings { own_clocks: true, ..ZkSettings::SHIPPED })?;
    let server = ensemble.server(0);
    let mut kept = client(server, Millis(4_000))?;
    kept.create("/kept", Mode::Ephemeral)?;
    let first = created(&mut kept)?;
    server.set_ahead(HOUR)?;
    keep(&mut kept, Duration::from_secs(3))?;
    kept.body(ZkRequest::SetData(Box::new(SetData { path: "/kept".into(), data: "".into(), version: None })))?;
    kept.create("/ahead", Mode::Ephemeral)?;
    kept.body(ZkRequest::Exists { path: "/ahead".into(), watch: false })?;
    let ahead = created(&mut kept)? - first;
    if !(3_600_000..3_700_000).contains(&ahead) {
        return Err(format!("the clock was not set: {ahead} ms").into());
    }
    let (late, from, to) = silent(server, "/late", Millis(4_000))?;
    server.set_ahead(0)?;
    let mut there = from;
    let gone = loop {
        keep(&mut kept, Duration::from_millis(50))?;
        let asked = Instant::now();
        if !kept.sees("/late")? {
            break Instant::now();
        }
        there = asked;
    };
    let whole = Duration::from_secs(4);
    is_between("/late", (there, gone), from + whole, to + whole + TICK + BUSY)?;
    is_over(server, late)?;
    if kept.sees("/kept")? { Ok(()) } else { Err("a session that was kept alive has ended".into()) }
}

/// Says that it is there for so long.
fn keep(client: &mut Client, duration: Duration) -> Outcome {
    let began = Instant::now();
    while began.elapsed() < duration {
        client.body(ZkRequest::Ping)?;
        sleep(A_WHILE);
    }
    Ok(())
}

/// When the node that was asked about, or created, last was created: `ctime`, in ms since 1970. The model reads it over.
fn created(client: &mut Client) -> Result<i64, Failed> {
    // The last of it is a `Stat`, of 68 bytes; `ctime` is its third number.
    let content = client.connection.last_content();
    let stat = content.len().checked_sub(68).map(|at| &content[at..]).ok_or("no stat")?;
    let bytes = stat[16..24].try_into().map_err(|_| "no time")?;
    Ok(i64::from_be_bytes(bytes))
}

/// Its former server answers what it has, and does not know; the leader does, and has the connection torn down.
fn a_session_that_goes_on_elsewhere() -> Outcome {
    let ensemble = ZkEnsemble::start(3, ZkSettings::SHIPPED)?;
    let leader = ensemble.wait_until_served()?;
    let (one, two) = (ensemble.server((leader + 1) % 3), ensemble.server((leader + 2) % 3));
    let mut before = client(one, LASTING)?;
    let (_, stat) = before.create("/e", Mode::Ephemeral)?;
    let mut after = begun(two, LASTING, Some(before.session.session))?.ok_or("its session is over")?;
    if !before.sees("/e")? || !after.sees("/e")? {
        return Err("its node is gone".into());
    }
    match before.ask(ZkRequest::create("/x".into(), "".into(), Mode::Persistent))? {
        None => {}
        Some(answer) => return Err(format!("it is answered: {answer}").into()),
    }
    let (_, next) = after.create("/y", Mode::Ephemeral)?;
    if after.sees("/x")? || next.czxid != Zxid(stat.czxid.0 + 2) {
        return Err(format!("{} follows {}", next.czxid, stat.czxid).into());
    }
    Ok(())
}
