//! Random statements of several sessions, to the model and to a real server: every reply equal, and who waits.
//!
//! Where a real server is free to do one thing or another, nothing is asked:
//!
//! * Those that wait for a row that was *written* run for it once it is theirs (of three, in one of ten cases another is first than who
//!   came first), so one at most does; however many wait for the row that is only ever locked. So it is with inserts of one key.
//! * Who is to have the next number of two that are let go on at once is open: who has waited for a row is not asked for its number.
//! * One session alone looks for deadlocks: so it is known who finds one.
//! * The model has one set of tables and one sequence, whatever the database: a session in another one asks for neither.
//! * What is written and not committed may be lost in a crash or not: before one, an operator commits something, with which all is on disk.

use std::cell::RefCell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use fencepost_live::servers::postgres::PgTemplate;
use models::postgres::{PgRequest, RowKey, Wait};
use proptest::test_runner::TestCaseError;

use crate::common::{Named, Outcome, runner, why};
use crate::format::{Ask, At, Begin, Does, Event, Row, Server, Words, play};
use crate::model::Model;
use crate::real::Real;
use crate::sequence::{QUEUE, ROWS, SESSIONS, Step, cancel, sequences, terminate};
use crate::{COUNTS, count};

pub(crate) const TRIALS: [Named; 2] = [
    ("random statements", || all_are_answered_alike(Mix { restarts: false, seed: 1 }, 150)),
    ("random statements to a server that dies and starts again", || {
        all_are_answered_alike(Mix { restarts: true, seed: 2 }, 25)
    }),
];

#[derive(Clone, Copy, Debug)]
struct Mix {
    restarts: bool,
    seed: u8,
}

/// How many steps a sequence has.
const LENGTH: usize = 90;
/// The session that looks for deadlocks.
const LOOKS: usize = 0;
/// The session that is in another database.
const ELSEWHERE: usize = SESSIONS - 1;
/// An operator, who locks nothing.
const OPERATOR: &str = "Z";

fn all_are_answered_alike(mix: Mix, cases: u32) -> Outcome {
    let template = PgTemplate::new()?;
    // The same server for all sequences. After a difference both begin anew.
    let both = RefCell::new(None);
    let played = runner(mix.seed, cases, 40).run(&sequences(LENGTH, mix.restarts), |steps| {
        let own = both.borrow_mut().take();
        let own = own.map_or_else(|| Both::new(&template).map_err(|error| TestCaseError::fail(error.to_string())), Ok);
        let mut own = own?;
        match own.play(&steps) {
            Ok(()) => both.borrow_mut().replace(own),
            Err(why) => return Err(TestCaseError::fail(format!("{}\n{why}", own.log.join("\n")))),
        };
        Ok(())
    });
    played.map_err(why).inspect_err(|_| count(&COUNTS.different, 1))
}

/// A real server and the model of it.
struct Both<'t> {
    real: Real<'t>,
    model: Model,
    words: [Words; 2],
    sessions: BTreeMap<usize, Session>,
    has_operator: bool,
    log: Vec<String>,
}

/// What is known of a session.
#[derive(Default)]
struct Session {
    /// It has asked, and waits.
    waits: Option<Waits>,
    /// The status of its last answer.
    status: Option<char>,
    /// The rows that its transaction has.
    rows: BTreeSet<RowKey>,
    /// It has waited for a row since its transaction began.
    has_waited: bool,
}

/// What for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waits {
    /// For a row that is written.
    Row,
    /// For the row that is only locked.
    Queue,
    /// For an advisory lock.
    Key,
}

type Played<T = ()> = Result<T, String>;

impl<'t> Both<'t> {
    fn new(template: &'t PgTemplate) -> std::io::Result<Self> {
        let (real, model, words) = (Real::new(template, false)?, Model::new(), Default::default());
        Ok(Self { real, model, words, sessions: BTreeMap::new(), has_operator: false, log: Vec::new() })
    }

    fn play(&mut self, steps: &[Step]) -> Played {
        self.end_all()?;
        for (table, name) in ROWS {
            self.operate(&format!("DELETE FROM {} WHERE {0}.name = '{name}' {RETURNING}", table.name()))?;
        }
        self.operate(&format!(
            "INSERT INTO {} (name) VALUES ('{}') ON CONFLICT (name) DO NOTHING {RETURNING}",
            QUEUE.0.name(),
            QUEUE.1
        ))?;
        for step in steps {
            match step {
                Step::Ask(session, request) => self.ask_one_that_is_free(*session, request)?,
                Step::Cancel(session) => self.interrupt(*session, cancel)?,
                Step::Terminate(session) => self.interrupt(*session, terminate)?,
                Step::Close(session) if self.sessions.remove(session).is_some() => {
                    self.both(Row::Close(Event { on: name(*session), then: BTreeMap::new() }))?;
                }
                Step::Close(_) => {}
                Step::Kill => self.restart(Does::Kill)?,
                Step::Stop => self.restart(Does::Fast)?,
            }
        }
        Ok(())
    }

    /// All sessions are over, those too that wait.
    fn end_all(&mut self) -> Played {
        for session in std::mem::take(&mut self.sessions).into_keys() {
            self.operate(&terminate(&name(session)))?;
        }
        Ok(())
    }

    fn restart(&mut self, how: Does) -> Played {
        // Of those that are asked to end at once, one that waits may be let in by another that is quicker.
        let waiting: Vec<usize> =
            self.sessions.iter().filter(|(_, session)| session.waits.is_some()).map(|(place, _)| *place).collect();
        for session in waiting.into_iter().filter(|_| how == Does::Fast) {
            self.operate(&terminate(&name(session)))?;
        }
        // With a commit all that was written before is on disk. A number that is only asked for after it may be or not.
        self.operate("SELECT pg_current_xact_id()")?;
        self.operate(&format!(
            "INSERT INTO objects (name) VALUES ('z') ON CONFLICT (name) DO UPDATE SET version = objects.version + 1 {RETURNING}"
        ))?;
        self.sessions.clear();
        self.has_operator = false;
        let does = |does| Row::Server(Server { does, unmodelled: None, then: BTreeMap::new() });
        self.both(does(how))?;
        self.both(does(Does::Start))
    }

    fn operate(&mut self, sql: &str) -> Played {
        if !std::mem::replace(&mut self.has_operator, true) {
            self.begin(OPERATOR, None)?;
        }
        self.say(OPERATOR, sql)
    }

    fn interrupt(&mut self, session: usize, sql: fn(&str) -> String) -> Played {
        if self.sessions.contains_key(&session) { self.operate(&sql(&name(session))) } else { Ok(()) }
    }

    /// That session asks, or the next that does not wait.
    fn ask_one_that_is_free(&mut self, session: usize, request: &PgRequest) -> Played {
        let waits = |session: &usize| self.sessions.get(session).is_some_and(|known| known.waits.is_some());
        let Some(session) = (session..session + SESSIONS).map(|place| place % SESSIONS).find(|place| !waits(place))
        else {
            return self.operate(&terminate(&name(session)));
        };
        if let Entry::Vacant(place) = self.sessions.entry(session) {
            place.insert(Session::default());
            self.begin(&name(session), (session == ELSEWHERE).then_some("other"))?;
            self.look(session)?;
        }
        let is_at_home = session != ELSEWHERE;
        let request = self.sessions[&session].instead(request, is_at_home);
        if self.is_open(session, &request) {
            return Ok(());
        }
        self.say(&name(session), &request.to_sql().ok_or("no statement")?)?;
        count(&COUNTS.random, 1);
        if request == PgRequest::DiscardAll { self.look(session) } else { Ok(()) }
    }

    fn look(&mut self, session: usize) -> Played {
        if session == LOOKS { self.say(&name(session), "SET deadlock_timeout = 10") } else { Ok(()) }
    }

    /// Whether a real server may do one thing or another then.
    fn is_open(&self, session: usize, request: &PgRequest) -> bool {
        let Some((row, may_wait)) = row(request) else { return false };
        let somebody_waits = self.sessions.values().any(|session| session.waits == Some(Waits::Row));
        let is_its_own = self.sessions[&session].rows.contains(&row);
        may_wait && somebody_waits && !is_queue(row) && !is_its_own
    }

    fn begin(&mut self, on: &str, database: Option<&str>) -> Played {
        let (on, database) = (on.to_owned(), database.map(str::to_owned));
        self.both(Row::Begin(Begin { on, at: At::Primary, database, reply: String::new(), then: BTreeMap::new() }))
    }

    fn say(&mut self, on: &str, say: &str) -> Played {
        let (on, say) = (on.to_owned(), say.to_owned());
        self.both(Row::Ask(Ask { on, say, reply: String::new(), then: BTreeMap::new() }))
    }

    /// Plays a row on both sides, which must be told the same.
    fn both(&mut self, row: Row) -> Played {
        let (mut real, mut model) = (row.clone(), row);
        let told = play(&mut self.real, &mut self.words[0], &mut real);
        self.log.push(serde_json::to_string(&real).map_err(|error| error.to_string())?);
        told?;
        play(&mut self.model, &mut self.words[1], &mut model)?;
        count(&COUNTS.replies, 1);
        if real != model {
            return Err(format!("  the server {real:?}\n  the model  {model:?}"));
        }
        self.take_in(&real);
        Ok(())
    }

    fn take_in(&mut self, row: &Row) {
        let then = match row {
            Row::Ask(ask) => {
                if let Some(session) = self.session(&ask.on) {
                    session.asked(&ask.say);
                    session.heard(&ask.reply);
                }
                &ask.then
            }
            Row::Close(event) => &event.then,
            _ => return,
        };
        for (name, told) in then {
            if let Some(session) = self.session(name) {
                session.heard(told);
            }
        }
        self.sessions.retain(|_, session| session.status != Some(OVER));
    }

    fn session(&mut self, name: &str) -> Option<&mut Session> {
        let place = name.strip_prefix('S')?.parse().ok()?;
        self.sessions.get_mut(&place)
    }
}

/// Instead of a status: the session is over.
const OVER: char = '-';
const RETURNING: &str = "RETURNING owner, ends, version, value";

impl Session {
    /// What it asks instead: a transaction that has failed is mostly left, and of who has waited for a row nobody knows its number.
    fn instead(&self, request: &PgRequest, is_at_home: bool) -> PgRequest {
        match request {
            PgRequest::Select(_)
            | PgRequest::Insert(_)
            | PgRequest::Update(_)
            | PgRequest::Delete(_)
            | PgRequest::NextVal(_)
                if !is_at_home =>
            {
                PgRequest::One
            }
            PgRequest::Advise(_) | PgRequest::Select(_) | PgRequest::Update(_) if self.status == Some('E') => {
                PgRequest::Rollback
            }
            PgRequest::XactId | PgRequest::XactIdIfAssigned if self.has_waited => PgRequest::One,
            _ => request.clone(),
        }
    }

    fn asked(&mut self, sql: &str) {
        let request = PgRequest::from_sql(sql);
        let row = request.as_ref().ok().and_then(row);
        match row {
            Some((row, _)) => {
                self.waits = Some(if is_queue(row) { Waits::Queue } else { Waits::Row });
                self.rows.insert(row);
            }
            None => self.waits = Some(Waits::Key),
        }
        if matches!(request, Ok(PgRequest::RollbackTo(_))) {
            self.rows.clear();
        }
    }

    fn heard(&mut self, told: &str) {
        if told == "waits" {
            self.has_waited |= self.waits != Some(Waits::Key);
            return;
        }
        self.waits = None;
        let is_over = told.starts_with("fatal") || told == "hung up";
        self.status = if is_over { Some(OVER) } else { told.chars().last() };
        if self.status != Some('T') {
            self.rows.clear();
        }
        if self.status == Some('I') {
            self.has_waited = false;
        }
    }
}

fn name(session: usize) -> String {
    format!("S{session}")
}

/// Which row a statement would write or lock, and whether it would wait for it.
fn row(request: &PgRequest) -> Option<(RowKey, bool)> {
    match request {
        PgRequest::Select(select) => select.for_update.map(|wait| (select.row, wait == Wait::Wait)),
        PgRequest::Insert(insert) => Some((insert.row, true)),
        PgRequest::Update(update) => Some((update.row, true)),
        PgRequest::Delete(delete) => Some((delete.row, true)),
        _ => None,
    }
}

fn is_queue(row: RowKey) -> bool {
    row == RowKey { table: QUEUE.0, name: QUEUE.1.into() }
}
