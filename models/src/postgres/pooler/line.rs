//! One connection to the server.

use host::{ConnId, WallTime};

use super::super::answer::Status;
use super::super::key::Database;

/// A connection to the server.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) database: Database,
    pub(super) state: State,
    /// When it was begun to open it.
    pub(super) since: WallTime,
    /// The server owes an answer on it.
    pub(super) is_busy: bool,
    /// Where its session was after the last answer.
    pub(super) status: Status,
}

/// Who has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// It is opened, and a backend is to serve it.
    Starting,
    /// Nobody, since then.
    Free(WallTime),
    /// It has been idle for long: before a client gets it, the server is asked whether it is there.
    Tested,
    /// A client.
    Of(ConnId),
    /// Its client has left; what is the session's is thrown away.
    Resetting,
}

impl Line {
    pub(super) const fn new(database: Database, since: WallTime) -> Self {
        Self { database, state: State::Starting, since, is_busy: false, status: Status::Idle }
    }
}
