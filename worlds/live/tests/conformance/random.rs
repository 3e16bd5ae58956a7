//! Random commands to the model and to a real server: every reply equal, whatever is published to whom, and in the end every
//! key.
//!
//! Once on a clock that stands still until the sequence moves it, where every reply is one value, and the clock may be set
//! back; once on the machine's own clock, where a reply lies in the window of its own stamps (see `belief`).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fencepost_live::resp::Connection;
use fencepost_live::servers::redis::RedisServer;
use host::ConnId;
use libtest_mimic::Failed;
use models::lock::Persistence;
use models::lock::switch::Choice;
use models::redis::{Command, Script, Value};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestCaseError;

use crate::belief::{Belief, Heard};
use crate::common::{Named, runner, why};
use crate::format::{Ask, End, Format, Header, Row, START, Transcript};
use crate::model::Said;
use crate::sequence::{CONNECTIONS, Of, Step, looks, looks_at_the_fair_lock, sequences, touches};
use crate::{COUNTS, count, transcripts};

pub(crate) const TRIALS: [Named; 5] = [
    ("random commands on a stopped clock", || all_are_answered_alike(&STOPPED, 300)),
    ("random commands on the machine's clock", || all_are_answered_alike(&OWN, 300)),
    ("random commands and restarts, nothing kept", || all_are_answered_alike(&restarts(3, "none"), 40)),
    ("random commands and restarts, snapshots", || all_are_answered_alike(&restarts(4, "save"), 40)),
    ("random commands and restarts, a log", || all_are_answered_alike(&restarts(5, "aof-always"), 40)),
];

/// What is tried, and on what.
struct Try {
    seed: u8,
    of: Of,
    clock: Clock,
    /// What survives the server's process, by the word of scenario files.
    keeps: &'static str,
}

const STOPPED: Try =
    Try { seed: 1, of: Of { settable: true, ears: true, restarts: false }, clock: Clock::Stopped, keeps: "none" };
const OWN: Try =
    Try { seed: 2, of: Of { settable: false, ears: true, restarts: false }, clock: Clock::Own, keeps: "none" };

const fn restarts(seed: u8, keeps: &'static str) -> Try {
    Try { seed, of: Of { settable: true, ears: true, restarts: true }, clock: Clock::Stopped, keeps }
}

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

/// In how many tries a sequence that fails is made smaller.
const TRIES: u32 = 2_000;

fn all_are_answered_alike(what: &Try, cases: u32) -> Result<(), Failed> {
    let settings = transcripts::settings(what.keeps)?;
    let server = RefCell::new(match what.clock {
        Clock::Stopped => RedisServer::start_stopped_at(settings, START)?,
        Clock::Own => RedisServer::start(settings)?,
    });
    let place = Persistence::WORDS.iter().position(|known| known.name == what.keeps).ok_or("no such persistence")?;
    let keeps = Persistence::ALL[place];
    let played = runner(what.seed, cases, TRIES).run(&sequences(LENGTH, what.of), |steps| {
        Session::new(&server, keeps).play(&steps).map_err(TestCaseError::fail)
    });
    played.map_err(|error| {
        count(&COUNTS.different, 1);
        why(error)
    })
}

/// The questions of the committed random transcript; their answers are the server's to write.
pub(crate) fn transcript() -> Result<Transcript, Failed> {
    const SEQUENCES: usize = 8;
    // What is published has no place in a transcript.
    let of = Of { settable: true, ears: false, restarts: false };
    let mut runner = runner(3, 1, TRIES);
    let mut rows = Vec::new();
    for number in 1..=SEQUENCES {
        rows.push(Row::About(format!("random commands, {number} of {SEQUENCES}")));
        let steps = sequences(LENGTH, of).new_tree(&mut runner).map_err(|why| why.to_string())?.current();
        let mut now = START;
        for step in steps {
            rows.push(match step {
                Step::Wait(millis) => {
                    now += millis;
                    Row::Wait(millis)
                }
                Step::Close(conn) => Row::Close(conn.to_string()),
                Step::Restart(end) => Row::Restart(end),
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

/// How often the server is asked whether it has noticed that somebody is gone.
const MOST_LOOKS: usize = 10_000;

/// One sequence, put to the server and to the model.
struct Session<'s> {
    server: &'s RefCell<RedisServer>,
    keeps: Persistence,
    /// The last is whose that looks at what all have done.
    connections: [Option<(ConnId, Connection)>; CONNECTIONS + 1],
    /// Those that have subscribed.
    ears: BTreeSet<usize>,
    opened: u32,
    belief: Belief,
    /// What a stopped clock reads.
    stopped_at: i64,
    /// What was asked and answered since the server was empty.
    log: String,
}

impl<'s> Session<'s> {
    fn new(server: &'s RefCell<RedisServer>, keeps: Persistence) -> Self {
        Self {
            server,
            keeps,
            connections: [const { None }; CONNECTIONS + 1],
            ears: BTreeSet::new(),
            opened: 0,
            belief: Belief::new(keeps),
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
                Step::Wait(millis) => {
                    // What has run out, the server takes away some time or other: once it is asked, at the latest. On a clock
                    // that is set back, one that it had not yet looked at would live again.
                    if *millis < 0 {
                        self.look(touches())?;
                    }
                    self.wait(*millis).map_err(broken)?;
                }
                Step::Close(conn) => {
                    let now = self.now();
                    let listened = self.ears.remove(conn);
                    if let Some((id, _)) = self.connections[*conn].take() {
                        self.belief.close(id, now);
                    }
                    if listened {
                        self.await_silence().map_err(broken)?;
                    }
                    writeln!(self.log, "{conn} closes").map_err(|error| error.to_string())?;
                }
                Step::Restart(end) => self.restart(*end).map_err(broken)?,
                Step::Ask(conn, question) => {
                    let command = self.ask(*conn, &question.args(self.now()))?;
                    if matches!(command, Command::Eval(Script::Fair(_))) {
                        self.look(looks_at_the_fair_lock())?;
                    }
                }
            }
        }
        self.look(looks())
    }

    /// Looks at what is there.
    fn look(&mut self, looks: Vec<Command>) -> Result<(), String> {
        looks.into_iter().try_for_each(|look| self.ask(CONNECTIONS, &look.to_args()).map(drop))
    }

    fn ask(&mut self, conn: usize, args: &[Value]) -> Result<Command, String> {
        let command = Command::from_args(args).map_err(|error| error.to_string())?;
        let words: Vec<&[u8]> = args.iter().map(Value::as_bytes).collect();
        let id = self.connection(conn).map_err(|error| error.to_string())?;
        let from = self.now();
        let asked = self.connections[conn].as_mut().map(|(_, connection)| connection.ask(&words));
        let reply = asked.transpose().map_err(|error| format!("{}{conn} {command}: {error}", self.log))?;
        let reply = reply.unwrap_or_default();
        let window = from..=self.now();
        if matches!(command, Command::Subscribe { .. }) {
            self.ears.insert(conn);
        }
        let pushes = self.hear(&command).map_err(|error| format!("{}what was published: {error}", self.log))?;
        let said = Said { reply, pushes };
        count(&COUNTS.replies, 1);
        count(&COUNTS.random, 1);
        let text = String::from_utf8_lossy(&said.reply).into_owned();
        writeln!(self.log, "{conn} at {window:?}: {command} => {text:?} {:?}", said.pushes)
            .map_err(|error| error.to_string())?;
        match self.belief.hear(id, &command, window, &said) {
            Ok(Heard::Agreed) => {}
            Ok(Heard::Followed) => count(&COUNTS.followed, 1),
            Ok(Heard::Cut) => {
                count(&COUNTS.cut, 1);
                self.begin_anew().map_err(|error| error.to_string())?;
            }
            Err(instead) => return Err(format!("{}the model would have said {instead:?}", self.log)),
        }
        Ok(command)
    }

    /// What those that have subscribed hear of a command, in the order in which they came to the server. An answer to a
    /// question of their own comes behind all of it.
    fn hear(&mut self, command: &Command) -> std::io::Result<Vec<(ConnId, Vec<u8>)>> {
        let mut pushes = Vec::new();
        if !matches!(command, Command::Publish { .. } | Command::Eval(_) | Command::Exec) {
            return Ok(pushes);
        }
        for ear in &self.ears {
            let Some((id, connection)) = &mut self.connections[*ear] else { continue };
            connection.send(&["PING"])?;
            loop {
                let heard = connection.receive()?;
                if heard == b"*2\r\n$4\r\npong\r\n$0\r\n\r\n" {
                    break;
                }
                pushes.push((*id, heard));
            }
        }
        Ok(pushes)
    }

    /// The server's process ends, and starts again.
    fn restart(&mut self, end: End) -> std::io::Result<()> {
        self.connections = [const { None }; CONNECTIONS + 1];
        self.ears.clear();
        let mut server = self.server.borrow_mut();
        match end {
            End::Kill => server.kill()?,
            End::Shutdown => server.shut_down()?,
        };
        server.start_again()?;
        drop(server);
        self.belief.restart(end, self.now());
        self.log += &format!("{end:?}\n");
        Ok(())
    }

    fn connection(&mut self, conn: usize) -> std::io::Result<ConnId> {
        if let Some((id, _)) = &self.connections[conn] {
            return Ok(*id);
        }
        self.opened += 1;
        let id = ConnId::new(self.opened);
        self.connections[conn] = Some((id, self.server.borrow().connect()?));
        Ok(id)
    }

    /// From here on the server is empty, and nobody is connected.
    fn begin_anew(&mut self) -> std::io::Result<()> {
        self.connections = [const { None }; CONNECTIONS + 1];
        self.ears.clear();
        self.await_silence()?;
        self.server.borrow().connect()?.ask(&["FLUSHALL"])?;
        self.belief = Belief::new(self.keeps);
        self.log.clear();
        Ok(())
    }

    /// Waits until the server has noticed that those are gone who had subscribed: it counts them until then.
    fn await_silence(&self) -> std::io::Result<()> {
        let mut connection = self.server.borrow().connect()?;
        for _ in 0..MOST_LOOKS {
            let listed = connection.ask(&["CLIENT", "LIST", "TYPE", "PUBSUB"])?;
            if listed.windows(4).filter(|word| word == b" fd=").count() == self.ears.len() {
                return Ok(());
            }
        }
        Err(std::io::Error::other("the server still counts a subscriber that is gone"))
    }

    /// What the client's clock reads: the server's, if that stands still.
    fn now(&self) -> i64 {
        if self.server.borrow().clock().is_some() {
            return self.stopped_at;
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn wait(&mut self, millis: i64) -> std::io::Result<()> {
        let is_stopped = self.server.borrow().clock().is_some();
        match (is_stopped, u64::try_from(millis)) {
            (true, _) => self.wait_until(self.stopped_at + millis),
            (false, Ok(millis)) => {
                // A key's life is over when the server's clock says so, and no sooner.
                sleep(Duration::from_millis(millis));
                Ok(())
            }
            (false, Err(_)) => Ok(()),
        }
    }

    /// Sets the clock, if it stands still.
    fn wait_until(&mut self, millis: i64) -> std::io::Result<()> {
        self.stopped_at = millis;
        self.server.borrow().clock().map_or(Ok(()), |clock| clock.set(millis))
    }
}
