//! What servers answered with an error: read back from a recorded run, for whoever reads of it.
//!
//! A history says what became of a try: it was denied, or nobody knows. Why, the server has said in its answer, which is in the
//! trace as the model words it. Only PostgreSQL's answers are read here. In a run that was not recorded nobody finds anything.

use std::collections::{BTreeMap, BTreeSet};

use host::NodeId;
use models::postgres::{PgError, PgPush, SqlState};
use reports::{Failed, ServerError};
use sim::{Record, RecordKind};
use spec::Note;

use crate::run::Run;

/// The errors that reached clients, in order.
pub(crate) fn errors(run: &Run) -> Vec<ServerError> {
    let is_asking = |note: &Note| matches!(note, Note::Attempting { .. });
    let clients: BTreeSet<NodeId> =
        run.history.entries.iter().filter(|entry| is_asking(&entry.note)).map(|entry| entry.node).collect();
    let wordings = wordings();
    let mut open: BTreeMap<(NodeId, NodeId), Open> = BTreeMap::new();
    let mut errors = Vec::new();
    for record in run.records.iter().filter(|record| clients.contains(&record.node)) {
        let (Some(server), false) = (record.peer, ON_CONNECTIONS.contains(&record.text.as_str())) else { continue };
        let said = wordings.get(&record.text);
        let open = open.entry((record.node, server)).or_default();
        let asked = match record.kind {
            RecordKind::Leave => {
                open.asks(record);
                continue;
            }
            RecordKind::Arrive => open.is_answered(),
            _ => continue,
        };
        let Some((state, is_fatal)) = said else { continue };
        errors.push(ServerError {
            at: record.at,
            client: record.node,
            server,
            failed: if *is_fatal { Failed::Session } else { Failed::Statement(asked) },
            why: words(*state),
            code: state.code(),
        });
    }
    errors
}

/// Every error and whether the session is over with it, by how the trace words it.
fn wordings() -> BTreeMap<String, (SqlState, bool)> {
    let of = |state: SqlState| {
        let (error, fatal, unasked) = (PgError::error(state), PgError::fatal(state), PgPush(state));
        [(error.to_string(), (state, false)), (fatal.to_string(), (state, true)), (unasked.to_string(), (state, true))]
    };
    SqlState::ALL.iter().copied().flat_map(of).collect()
}

/// Packets of a connection that are neither a statement nor an answer.
const ON_CONNECTIONS: [&str; 4] = ["connect", "accept", "close", "reset"];

/// The statements of a client that a server has not answered yet. `None`: one of which nobody can tell which it is: a trace does not
/// say on which connection something came, and so an answer to one of several may be that to each of them.
#[derive(Default)]
struct Open(Vec<Option<String>>);

impl Open {
    fn asks(&mut self, record: &Record) {
        self.0.push(Some(in_short(&record.text)));
    }

    /// Something was answered: what it was, if that is known.
    fn is_answered(&mut self) -> Option<String> {
        let last = self.0.pop()?;
        if self.0.is_empty() {
            return last;
        }
        self.0.fill(None);
        None
    }
}

/// A statement without the number of an advisory lock, which says nothing to a person.
fn in_short(statement: &str) -> String {
    let is_number = |word: &&str| word.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    let words: Vec<&str> = statement.split(' ').filter(|word| !is_number(word)).collect();
    words.join(" ")
}

/// Why, in words.
const fn words(state: SqlState) -> &'static str {
    match state {
        SqlState::Warning => "a warning",
        SqlState::UniqueViolation => "another row with that key is there",
        SqlState::ActiveSqlTransaction => "a transaction is under way",
        SqlState::ReadOnlySqlTransaction => "the server is a standby, which only reads",
        SqlState::NoActiveSqlTransaction => "no transaction is under way",
        SqlState::InFailedSqlTransaction => "its transaction had failed before",
        SqlState::IdleInTransactionSessionTimeout => {
            "idle in a transaction for longer than idle_in_transaction_session_timeout"
        }
        SqlState::InvalidSavepoint => "there is no such savepoint",
        SqlState::DeadlockDetected => "deadlock detected",
        SqlState::LockNotAvailable => "the lock was not to be had, at once or within lock_timeout",
        SqlState::QueryCanceled => "cancelled, by statement_timeout or as somebody asked",
        SqlState::AdminShutdown => "an operator ended it, or the server was to end",
        SqlState::CrashShutdown => "another process of the server had crashed",
        SqlState::CannotConnectNow => "the server was starting, or about to end",
        SqlState::IdleSessionTimeout => "idle for longer than idle_session_timeout",
        SqlState::ProtocolViolation => "the pooler gives no other reason",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::Contender;
    use crate::language::load;
    use crate::run::Player;

    /// What reached clients with an error: whom, what, why.
    fn told(text: &str, recorded: bool) -> Vec<String> {
        let head = "name = \"errors\"\ntitle = \"errors\"\nsource = \"own\"\nhorizon = \"20s\"\nttl = \"none\"\n";
        let scenario = load("errors.toml", &format!("{head}{text}"), &[]).unwrap_or_else(|errors| panic!("{errors}"));
        let [cell] = scenario.cells.as_slice() else { panic!("one cell") };
        let contender = Contender::built_in(&cell.lock);
        let player = Player::new(cell, &contender);
        let run = if recorded { player.record(0) } else { player.play(0) };
        let name = |node: NodeId| run.history.nodes[node.index()].name;
        let line = |error: ServerError| {
            let what = match error.failed {
                Failed::Statement(statement) => statement.unwrap_or_else(|| "a statement".to_owned()),
                Failed::Session => "the session".to_owned(),
            };
            format!("{} {}, {}: {what}", name(error.client), name(error.server), error.code)
        };
        errors(&run).into_iter().map(line).collect()
    }

    /// A makes an index while B waits for the lock.
    const MIGRATION: &str = r#"
        resource = { check = "open", lives-in = "lock-service", migrates = true }
        [lock.postgres]
        [client.A]
        do = [{ at = "1s" }, "acquire", { at = "4s" }, "write", "release"]
        [client.B]
        do = [{ at = "2s" }, "acquire", "release"]
    "#;

    #[test]
    fn a_migration_that_never_happened_has_its_reason() {
        assert_eq!(told(MIGRATION, true), ["A pg-1, 40P01: create index concurrently"]);
        assert!(told(MIGRATION, false).is_empty(), "who has not listened knows of nothing");
    }

    #[test]
    fn a_wait_that_the_server_gives_up_has_its_reason() {
        let text = r#"
            [lock.postgres]
            lock-timeout = "2s"
            [client.A]
            do = [{ at = "1s" }, "acquire", { sleep = "9s" }, "release"]
            [client.B]
            retry = { times = 1 }
            do = [{ at = "2s" }, "acquire", "release"]
        "#;
        let reached = told(text, true);
        assert!(!reached.is_empty() && reached.iter().all(|error| error == "B pg-1, 55P03: lock"), "{reached:?}");
    }

    #[test]
    fn a_session_that_is_ended_has_its_reason_whether_somebody_asked_something_or_not() {
        let text = r#"
            [lock.postgres]
            [client.A]
            do = [{ at = "1s" }, "acquire", { sleep = "9s" }, "release"]
            [client.B]
            do = [{ at = "2s" }, "acquire", "release"]
            [fault.f]
            shutdown = "pg-1"
            at = "3s"
        "#;
        assert_eq!(told(text, true), ["A pg-1, 57P01: the session", "B pg-1, 57P01: the session"]);
    }

    #[test]
    fn what_a_pooler_is_told_reaches_its_clients_by_the_pooler() {
        let text = r#"
            [lock.postgres]
            [service.postgres]
            pooler = { mode = "session" }
            [client.A]
            do = [{ at = "1s" }, "acquire", { sleep = "9s" }, "release"]
            [fault.f]
            shutdown = "pg-1"
            at = "3s"
        "#;
        // The pooler passes on what the server has said, and ends the session itself.
        assert_eq!(told(text, true), ["A pgbouncer-1, 57P01: the session", "A pgbouncer-1, 08P01: the session"]);
    }

    #[test]
    fn every_error_is_read_as_the_trace_words_it() {
        let wordings = wordings();
        assert_eq!(wordings.len(), 3 * SqlState::ALL.len(), "no two are worded alike");
        assert_eq!(wordings["error 40P01"], (SqlState::DeadlockDetected, false));
        assert_eq!(wordings["fatal 57P01"], (SqlState::AdminShutdown, true));
        assert_eq!(wordings["the session is over: 57P01"], (SqlState::AdminShutdown, true));
        assert!(!wordings.contains_key("no row"));
    }

    #[test]
    fn of_several_open_statements_nobody_knows_which_was_answered() {
        let asked = |open: &mut Open, what: &str| open.0.push(Some(what.to_owned()));
        let mut open = Open::default();
        asked(&mut open, "lock");
        assert_eq!(open.is_answered().as_deref(), Some("lock"));
        asked(&mut open, "lock");
        asked(&mut open, "select 1");
        assert_eq!([open.is_answered(), open.is_answered(), open.is_answered()], [None, None, None]);
        asked(&mut open, "unlock");
        assert_eq!(open.is_answered().as_deref(), Some("unlock"), "all that was unclear is answered");
    }

    #[test]
    fn the_number_of_an_advisory_lock_is_left_out() {
        assert_eq!(in_short("lock -3333935177229851469, shared"), "lock shared");
        assert_eq!(in_short("create index concurrently"), "create index concurrently");
    }
}
