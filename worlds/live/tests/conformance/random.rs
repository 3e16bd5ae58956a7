//! Random commands to the model and to a real server: every reply equal.
//!
//! Once on a clock that stands still until the sequence moves it, where every reply is one value, and the clock may be set
//! back; once on the machine's own clock, where a reply lies in the window of its own stamps (see `belief`).

use std::fmt::Write;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fencepost_live::resp::Connection;
use fencepost_live::servers::redis::{KEEPS_NOTHING, RedisServer};
use host::ConnId;
use libtest_mimic::Failed;
use models::redis::{Command, Value};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, RngSeed, TestCaseError, TestError, TestRng, TestRunner};

use crate::belief::{Belief, Heard};
use crate::format::{Ask, Format, Header, Row, START, Transcript};
use crate::sequence::{CONNECTIONS, Step, sequences};
use crate::{COUNTS, Named, count};

pub(crate) const TRIALS: [Named; 2] = [
    ("random commands on a stopped clock", || all_are_answered_alike(Clock::Stopped, 300)),
    ("random commands on the machine's clock", || all_are_answered_alike(Clock::Own, 300)),
];

/// How many steps a sequence has.
const LENGTH: usize = 80;

/// On which clock the server runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Clock {
    /// One that stands still until it is set.
    Stopped,
    /// The machine's.
    Own,
}

impl Clock {
    const fn seed(self) -> u8 {
        match self {
            Self::Stopped => 1,
            Self::Own => 2,
        }
    }
}

fn runner(seed: u8, cases: u32) -> TestRunner {
    let config = Config {
        cases,
        max_local_rejects: 65_536,
        max_global_rejects: 1_024,
        max_flat_map_regens: 1_000_000,
        failure_persistence: None,
        source_file: None,
        test_name: None,
        max_shrink_time: 60_000,
        max_shrink_iters: 2_000,
        max_default_size_range: 100,
        verbose: 0,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(seed.into()),
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]))
}

fn all_are_answered_alike(clock: Clock, cases: u32) -> Result<(), Failed> {
    let server = match clock {
        Clock::Stopped => RedisServer::start_stopped_at(KEEPS_NOTHING, START)?,
        Clock::Own => RedisServer::start(KEEPS_NOTHING)?,
    };
    let played = runner(clock.seed(), cases).run(&sequences(LENGTH, clock == Clock::Stopped), |steps| {
        Session::new(&server).play(&steps).map_err(TestCaseError::fail)
    });
    played.map_err(|error| {
        count(&COUNTS.different, 1);
        match error {
            // The log is that of the shortest sequence that was found.
            TestError::Fail(why, _) => why.to_string().into(),
            TestError::Abort(why) => why.to_string().into(),
        }
    })
}

/// The questions of the committed random transcript; their answers are the server's to write.
pub(crate) fn transcript() -> Result<Transcript, Failed> {
    const SEQUENCES: usize = 8;
    let mut runner = runner(3, 1);
    let mut rows = Vec::new();
    for number in 1..=SEQUENCES {
        rows.push(Row::About(format!("random commands, {number} of {SEQUENCES}")));
        let steps = sequences(LENGTH, true).new_tree(&mut runner).map_err(|why| why.to_string())?.current();
        let mut now = START;
        for step in steps {
            rows.push(match step {
                Step::Wait(millis) => {
                    now += millis;
                    Row::Wait(millis)
                }
                Step::Close(conn) => Row::Close(conn.to_string()),
                Step::Ask(conn, question) => {
                    let text = |value: &Value| String::from_utf8_lossy(value.as_bytes()).into_owned();
                    let say = question.args(now).iter().map(text).collect();
                    Row::Ask(Ask { on: conn.to_string(), say, reply: String::new(), unmodelled: None })
                }
            });
        }
    }
    let header = Header { transcript: Format::One, server: String::new(), persistence: "none".to_owned() };
    Ok(Transcript { header, rows })
}

/// One sequence, put to the server and to the model.
struct Session<'s> {
    server: &'s RedisServer,
    connections: [Option<(ConnId, Connection)>; CONNECTIONS],
    opened: u32,
    belief: Belief,
    /// What a stopped clock reads.
    stopped_at: i64,
    /// What was asked and answered since the server was empty.
    log: String,
}

impl<'s> Session<'s> {
    fn new(server: &'s RedisServer) -> Self {
        Self {
            server,
            connections: [const { None }; CONNECTIONS],
            opened: 0,
            belief: Belief::new(),
            stopped_at: START,
            log: String::new(),
        }
    }

    fn play(&mut self, steps: &[Step]) -> Result<(), String> {
        let broken = |error: std::io::Error| format!("{error}");
        self.wait_until(START).map_err(broken)?;
        self.begin_anew().map_err(broken)?;
        for step in steps {
            match step {
                Step::Wait(millis) => self.wait(*millis).map_err(broken)?,
                Step::Close(conn) => {
                    let now = self.now();
                    if let Some((id, _)) = self.connections[*conn].take() {
                        self.belief.close(id, now);
                    }
                    writeln!(self.log, "{conn} closes").map_err(|error| error.to_string())?;
                }
                Step::Ask(conn, question) => self.ask(*conn, &question.args(self.now()))?,
            }
        }
        Ok(())
    }

    fn ask(&mut self, conn: usize, args: &[Value]) -> Result<(), String> {
        let command = Command::from_args(args).map_err(|error| error.to_string())?;
        let words: Vec<&[u8]> = args.iter().map(Value::as_bytes).collect();
        let id = self.connection(conn).map_err(|error| error.to_string())?;
        let from = self.now();
        let asked = self.connections[conn].as_mut().map(|(_, connection)| connection.ask(&words));
        let reply = asked.transpose().map_err(|error| format!("{}{conn} {command}: {error}", self.log))?;
        let reply = reply.unwrap_or_default();
        let window = from..=self.now();
        count(&COUNTS.replies, 1);
        count(&COUNTS.random, 1);
        let said = String::from_utf8_lossy(&reply).into_owned();
        writeln!(self.log, "{conn} at {window:?}: {command} => {said:?}").map_err(|error| error.to_string())?;
        match self.belief.hear(id, &command, window, &reply) {
            Ok(Heard::Agreed) => {}
            Ok(Heard::Followed) => count(&COUNTS.followed, 1),
            Ok(Heard::Cut) => {
                count(&COUNTS.cut, 1);
                self.begin_anew().map_err(|error| error.to_string())?;
            }
            Err(instead) => return Err(format!("{}the model would have said {instead:?}", self.log)),
        }
        Ok(())
    }

    fn connection(&mut self, conn: usize) -> std::io::Result<ConnId> {
        if let Some((id, _)) = &self.connections[conn] {
            return Ok(*id);
        }
        self.opened += 1;
        let id = ConnId::new(self.opened);
        self.connections[conn] = Some((id, self.server.connect()?));
        Ok(id)
    }

    /// From here on the server is empty, and nobody is connected.
    fn begin_anew(&mut self) -> std::io::Result<()> {
        self.connections = [const { None }; CONNECTIONS];
        self.server.connect()?.ask(&["FLUSHALL"])?;
        self.belief = Belief::new();
        self.log.clear();
        Ok(())
    }

    /// What the client's clock reads: the server's, if that stands still.
    fn now(&self) -> i64 {
        if self.server.clock().is_some() {
            return self.stopped_at;
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn wait(&mut self, millis: i64) -> std::io::Result<()> {
        match (self.server.clock(), u64::try_from(millis)) {
            (Some(_), _) => self.wait_until(self.stopped_at + millis),
            (None, Ok(millis)) => {
                // A key's life is over when the server's clock says so, and no sooner.
                sleep(Duration::from_millis(millis));
                Ok(())
            }
            (None, Err(_)) => Ok(()),
        }
    }

    /// Sets the clock, if it stands still.
    fn wait_until(&mut self, millis: i64) -> std::io::Result<()> {
        self.stopped_at = millis;
        self.server.clock().map_or(Ok(()), |clock| clock.set(millis))
    }
}
