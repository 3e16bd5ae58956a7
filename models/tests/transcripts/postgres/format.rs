//! Transcripts of PostgreSQL: what a real server was asked in SQL, what it answered, who waits, and what others were told because
//! of it.
//!
//! JSON Lines. The first line is the [`Header`], each other line one [`Row`]. An `about` begins anew, on a new primary whose tables
//! are empty. Sessions have names, which stand in a statement, in braces, for the numbers of their backends. Nobody looks for deadlocks within
//! an hour, unless a session sets its own `deadlock_timeout`.
//!
//! After each row everybody goes on until all wait or are idle. What is told at once to several has no order, so it is written by
//! names. Numbers of transactions are told by how far they are from the first in the subject, and instants by which of them they
//! are. `just transcripts` asks a real server the same questions and writes down its answers; to ask more, add rows without a reply.

use std::collections::BTreeMap;

use models::postgres::{Database, Outcome, PgReply, PgRequest, Pid, Row as Columns, Status};
use serde::{Deserialize, Serialize};

/// The first line.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    /// The format.
    pub(crate) transcript: Format,
    /// The server and its version.
    pub(crate) server: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(crate) enum Format {
    #[serde(rename = "fencepost.transcript-postgres/1")]
    One,
}

/// What was told to whom: in the order in which it was, by names.
pub(crate) type Then = BTreeMap<String, String>;

/// Any other line.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Row {
    /// A new subject, on a new server.
    About(String),
    /// A session begins.
    Begin(Begin),
    /// A statement, and what is answered to it.
    Ask(Ask),
    /// That session's client closes its connection.
    Close(Event),
    /// Time passes until that session is told something.
    Until(Event),
    /// Time passes until the backend of that session, whose client has closed the connection, is gone.
    Gone(Event),
    /// Something becomes of the servers.
    Server(Server),
}

/// How a session begins.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Begin {
    /// Its name. One of that name before it is forgotten.
    pub(crate) on: String,
    /// On which server.
    #[serde(default, skip_serializing_if = "is_primary")]
    pub(crate) at: At,
    /// In which database, if it is not `postgres`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) database: Option<String>,
    /// What the server makes of it.
    #[serde(default)]
    pub(crate) reply: String,
    /// What was told because of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) then: Then,
}

/// A statement, and what is answered to it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ask {
    /// In which session.
    pub(crate) on: String,
    /// The statement.
    pub(crate) say: String,
    /// The answer, or [`WAITS`].
    #[serde(default)]
    pub(crate) reply: String,
    /// What was told beside that because of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) then: Then,
}

/// What befalls a session.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Event {
    /// Which.
    pub(crate) on: String,
    /// What was told because of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) then: Then,
}

/// What befalls the servers.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    /// What.
    pub(crate) does: Does,
    /// Why the model tells its clients something else then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unmodelled: Option<String>,
    /// What was told because of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) then: Then,
}

/// What befalls the servers.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Does {
    /// The primary gets a standby.
    Standby,
    /// The standby takes in all that the primary has.
    CatchUp,
    /// The standby is promoted.
    Promote,
    /// The primary dies, all its processes at once.
    Kill,
    /// The primary is asked to end, and rolls back what is open.
    Fast,
    /// The primary is asked to end at once.
    Immediate,
    /// A process of the primary dies, so that it begins anew by itself.
    Crash,
    /// The primary starts again.
    Start,
    /// The primary's wall clock is set, an hour ahead of where it was at first.
    Ahead,
    /// The primary's wall clock is set, two seconds behind where it was at first.
    Behind,
}

impl Does {
    /// By how many ms the primary's wall clock is ahead of where it was at first from then on, if it is set.
    pub(crate) const fn ahead(self) -> Option<i64> {
        match self {
            Self::Ahead => Some(3_600_000),
            Self::Behind => Some(-2_000),
            _ => None,
        }
    }
}

/// A server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum At {
    #[default]
    Primary,
    Standby,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_primary(at: &At) -> bool {
    *at == At::Primary
}

/// Instead of an answer: there is none, once everybody is idle or waits.
const WAITS: &str = "waits";
/// Instead of an answer: the connection is closed without a word.
const HUNG_UP: &str = "hung up";
/// Instead of an answer: there is nobody at that place.
const REFUSED: &str = "refused";
/// Between what one session is told.
const BETWEEN: &str = " | ";

/// A transcript, with the number of the line on which each row stands being its index and two.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Transcript {
    pub(crate) header: Header,
    pub(crate) rows: Vec<Row>,
}

impl Transcript {
    /// Reads one; the error names the line.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().enumerate();
        let named = |at: usize, error: &serde_json::Error| format!("line {}: {error}", at + 1);
        let (_, header) = lines.next().ok_or("an empty transcript")?;
        let header = serde_json::from_str(header).map_err(|error| named(0, &error))?;
        let row = |(at, line): (usize, &str)| serde_json::from_str(line).map_err(|error| named(at, &error));
        Ok(Self { header, rows: lines.map(row).collect::<Result<_, _>>()? })
    }
}

/// The statement, with `pid` telling the numbers of backends by the names of their sessions.
fn request(say: &str, pid: impl Fn(&str) -> Option<Pid>) -> Result<PgRequest, String> {
    let mut sql = say.to_owned();
    while let Some((before, (name, after))) =
        sql.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        let pid = pid(name).ok_or_else(|| format!("there is no session {name}"))?;
        sql = format!("{before}{pid}{after}");
    }
    PgRequest::from_sql(&sql).map_err(|error| error.to_string())
}

/// Puts answers into words that are the same in every run.
#[derive(Default, Debug)]
pub(crate) struct Words {
    first: Option<i64>,
    instants: Vec<i64>,
}

impl Words {
    /// What that session was told first.
    fn first(&mut self, heard: &mut Heard, on: &str) -> Option<String> {
        let own = heard.get_mut(on).filter(|own| !own.is_empty())?;
        let told = own.remove(0);
        Some(self.say(&told))
    }

    fn rest(&mut self, heard: Heard) -> Then {
        let say = |(name, told): (String, Vec<Told>)| (name, told.iter().map(|told| self.say(told)).collect());
        then(heard.into_iter().map(say).collect())
    }

    fn say(&mut self, (request, reply): &Told) -> String {
        reply.as_ref().map_or_else(|| HUNG_UP.to_owned(), |reply| self.told(request.as_ref(), reply))
    }

    /// What was told in answer to that, or to nothing that was asked.
    fn told(&mut self, request: Option<&PgRequest>, reply: &PgReply) -> String {
        let said = match (&reply.outcome, request) {
            (Ok(Outcome::Started(_)), _) => "backend".to_owned(),
            (Ok(Outcome::Number(Some(number))), Some(PgRequest::XactId | PgRequest::XactIdIfAssigned)) => {
                format!("xact {:+}", number - *self.first.get_or_insert(*number))
            }
            (Ok(Outcome::Row(Some(row))), _) => self.row(row),
            (outcome, _) => outcome.as_ref().map_or_else(ToString::to_string, ToString::to_string),
        };
        let warning = reply.warning.map_or_else(String::new, |warning| format!(" (warning {warning})"));
        let status = match reply.status {
            _ if reply.is_fatal() => "",
            Status::Idle => ", I",
            Status::InTransaction => ", T",
            Status::Failed => ", E",
        };
        format!("{said}{warning}{status}")
    }

    fn row(&mut self, row: &Columns) -> String {
        let shown = row.to_string();
        // Between 2017 and 2049 it was read from a clock.
        if !(1_500_000_000_000_000..2_500_000_000_000_000).contains(&row.ends) {
            return shown;
        }
        let at = self.instants.iter().position(|known| *known == row.ends).unwrap_or_else(|| {
            self.instants.push(row.ends);
            self.instants.len() - 1
        });
        shown.replacen(&format!("ends {}", row.ends), &format!("ends time-{}", at + 1), 1)
    }
}

/// What one session was told: what it had asked, if it had, and what was answered. No answer: the connection was closed without a word.
pub(crate) type Told = (Option<PgRequest>, Option<PgReply>);

/// What sessions were told, by their names.
pub(crate) type Heard = BTreeMap<String, Vec<Told>>;

/// Who is asked: a real server or the model, with their sessions. Everything goes on until all wait or are idle.
pub(crate) trait Side {
    /// A session begins. If it has heard nothing, there is nobody.
    fn begin(&mut self, on: &str, at: At, database: Database) -> Result<Heard, String>;
    /// The number of a session's backend.
    fn pid(&self, on: &str) -> Option<Pid>;
    /// A session asks that.
    fn ask(&mut self, on: &str, request: PgRequest) -> Result<Heard, String>;
    /// A session's client closes the connection.
    fn close(&mut self, on: &str) -> Result<Heard, String>;
    /// Time passes until that session is told something.
    fn until(&mut self, on: &str) -> Result<Heard, String>;
    /// Time passes until the backend of that session is gone.
    fn gone(&mut self, on: &str) -> Result<Heard, String>;
    /// That befalls the servers.
    fn server(&mut self, does: Does) -> Result<Heard, String>;
}

/// Plays a row, and writes down what is answered. (With a subject the side begins anew: not here.)
pub(crate) fn play(side: &mut impl Side, words: &mut Words, row: &mut Row) -> Result<(), String> {
    match row {
        Row::About(_) => {}
        Row::Begin(Begin { on, at, database, reply, then }) => {
            let database = database.as_deref().map_or_else(Database::default, |name| Database(name.into()));
            let mut heard = side.begin(on, *at, database)?;
            *reply = words.first(&mut heard, on).unwrap_or_else(|| REFUSED.to_owned());
            *then = words.rest(heard);
        }
        Row::Ask(Ask { on, say, reply, then }) => {
            let request = request(say, |name| side.pid(name))?;
            let mut heard = side.ask(on, request)?;
            *reply = words.first(&mut heard, on).unwrap_or_else(|| WAITS.to_owned());
            *then = words.rest(heard);
        }
        Row::Close(Event { on, then }) => *then = words.rest(side.close(on)?),
        Row::Until(Event { on, then }) => *then = words.rest(side.until(on)?),
        Row::Gone(Event { on, then }) => *then = words.rest(side.gone(on)?),
        Row::Server(Server { does, then, .. }) => *then = words.rest(side.server(*does)?),
    }
    Ok(())
}

/// What several were told.
fn then(told: BTreeMap<String, Vec<String>>) -> Then {
    told.into_iter().filter(|(_, all)| !all.is_empty()).map(|(name, all)| (name, all.join(BETWEEN))).collect()
}
