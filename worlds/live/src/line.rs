//! The line between the coordinator and a client's process: JSON Lines, both ways, over one Unix socket, which is the
//! client's standard input.
//!
//! A line is written in one piece before the program goes on, so that what was said is on its way whatever becomes of
//! the process in the next instant.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use host::{AttemptId, Cue, MonoTime, Name, NodeId, SimTime};
use models::etcd::wire::Json;
use models::resource::{Op, OpReply};
use serde::{Deserialize, Serialize};
use spec::{Note, ObjectName, OpId, Version};

/// What the coordinator tells a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    /// What it is to play. It answers that it is ready.
    Prepare(Box<Part>),
    /// The play begins.
    Begin {
        /// What the monotonic clock read as the run began.
        zero: MonoTime,
        /// By how many ns its wall clock is ahead of the machine's.
        ahead: i64,
        /// How many attempts its earlier lives have opened.
        attempts: u32,
        /// The cues that have come already.
        come: Vec<Cue>,
    },
    /// It may go on behind the point at which it waits.
    Leave {
        /// Which wait.
        wait: u64,
    },
    /// A cue has come.
    Cue(Cue),
    /// Its wall clock is stepped by so many ns.
    Step(i64),
    /// From now on messages of its are lost or late.
    Meddle(Meddling),
    /// What that strike did to messages is over.
    LeaveBe {
        /// Which strike.
        strike: usize,
    },
    /// One more fault makes that part of it hang, or one less.
    Hang {
        /// The part's name.
        part: String,
        /// One more.
        hangs: bool,
    },
    /// Whoever waits and may be interrupted is.
    Interrupt {
        /// By which strike.
        strike: usize,
    },
    /// The guarded resource's answer.
    Answer {
        /// To which operation.
        call: u64,
        /// What it says.
        reply: OpReply,
    },
}

/// What a client's process is to play.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Part {
    /// The scenario's file, for messages.
    pub(crate) file: String,
    /// Its text.
    pub(crate) text: String,
    /// What is laid over it.
    pub(crate) set: Vec<String>,
    /// Which of its cells.
    pub(crate) cell: usize,
    pub(crate) seat: Seat,
}

/// Who a client's process is, and what it must know of its world.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Seat {
    pub(crate) seed: u64,
    /// Which node.
    pub(crate) node: NodeId,
    /// Which life of its process, from 0.
    pub(crate) life: u32,
    /// Where the lock servers listen.
    pub(crate) ports: BTreeMap<NodeId, u16>,
    /// The points at which it waits for leave.
    pub(crate) awaited: Vec<String>,
}

/// What a client tells the coordinator.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Report {
    /// It has read its part.
    Ready,
    /// Into the history.
    Note { at: SimTime, note: Note },
    /// It is at a point for which somebody waits, and waits for leave.
    Reached { at: SimTime, point: String, wait: u64 },
    /// It is about to send a command to a lock server.
    Calls(Call),
    /// The reply is there. `served`: the server ran the command then, rather than queue or reject it.
    Answered { at: SimTime, call: u64, served: bool },
    /// It is about to ask a member of an etcd cluster.
    Asks(Asks),
    /// The member's answer is there.
    Replied {
        /// When.
        at: SimTime,
        /// To which question.
        call: u64,
        /// As HTTP has it.
        status: u16,
        /// What it says.
        body: Json,
    },
    /// It has asked a server of a ZooKeeper ensemble something in its session.
    Sends(Sends),
    /// The server's answer is there.
    Heard {
        /// When.
        at: SimTime,
        /// In which session.
        session: u64,
        /// To which request.
        xid: i32,
    },
    /// It states something to a PostgreSQL server.
    States(States),
    /// The server's answer is there.
    Stated {
        /// When.
        at: SimTime,
        /// To which statement.
        call: u64,
        /// What it is.
        answer: Answered,
    },
    /// A message has met that strike.
    Met { strike: usize },
    /// It asks the guarded resource.
    Operates { call: u64, attempt: Option<AttemptId>, op: Op },
    /// So many waited when the interrupt came.
    Interrupted { strike: usize, waited: u32 },
    /// It cannot go on; not the lock's fault.
    Stranded { why: String },
    /// Its script has come to its end.
    Finished,
}

/// What a PostgreSQL server has answered, as far as its log does not say it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Answered {
    /// The statement was done, and the answer is not no, nor that there is no such row.
    pub(crate) is_done: bool,
    /// The version of the row, if it is one.
    pub(crate) version: Option<i64>,
}

/// A command on its way to a lock server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Call {
    /// When it was about to be sent.
    pub(crate) at: SimTime,
    /// Its number, unique in its client's process.
    pub(crate) call: u64,
    pub(crate) server: NodeId,
    /// From which port: by this the server knows the connection.
    pub(crate) port: u16,
    /// On whose behalf.
    pub(crate) attempt: Option<AttemptId>,
    /// The key of which it makes its attempt the owner, if it takes it.
    pub(crate) takes: Option<Name>,
    /// The command, as the server will tell of it.
    pub(crate) text: String,
}

/// What a fault does to messages between a client and some servers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Meddling {
    pub(crate) strike: usize,
    pub(crate) servers: Vec<NodeId>,
    pub(crate) way: Way,
    /// To those that ask for this, or answer it; `None`: to all.
    pub(crate) operation: Option<String>,
    /// To the how-manieth of them, from 1; `None`: to every one.
    pub(crate) nth: Option<u32>,
    /// By how much they are late; `None`: they are lost.
    pub(crate) late: Option<Duration>,
}

impl Meddling {
    /// Whether nothing passes that way.
    pub(crate) const fn is_cut(&self) -> bool {
        self.operation.is_none() && self.nth.is_none() && self.late.is_none()
    }
}

/// Which way a message goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Way {
    /// From client to server.
    Request,
    /// From server to client, in answer.
    Reply,
    /// From server to client, unasked.
    Push,
}

/// A question to a member of an etcd cluster.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Asks {
    /// When it was about to be sent.
    pub(crate) at: SimTime,
    /// Its number, unique in its client's process.
    pub(crate) call: u64,
    pub(crate) server: NodeId,
    /// On whose behalf.
    pub(crate) attempt: Option<AttemptId>,
    /// Where it is posted, and what.
    pub(crate) path: String,
    pub(crate) body: Json,
    /// Which operation on which object it is, based on which version: that is not sent.
    pub(crate) errand: Option<(OpId, ObjectName, Option<Version>)>,
}

/// A request to a server of a ZooKeeper ensemble.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Sends {
    /// When it was about to be sent.
    pub(crate) at: SimTime,
    pub(crate) server: NodeId,
    /// On whose behalf.
    pub(crate) attempt: Option<AttemptId>,
    /// In which session, and with which number: by these the servers' logs know it.
    pub(crate) session: u64,
    pub(crate) xid: i32,
}

/// A statement on its way to a PostgreSQL server, or to a pooler before one.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct States {
    /// When it was about to be sent.
    pub(crate) at: SimTime,
    /// Its number, unique in its client's process: with its node, it stands before the statement.
    pub(crate) call: u64,
    pub(crate) server: NodeId,
    /// On whose behalf.
    pub(crate) attempt: Option<AttemptId>,
    /// The lock of whose key it is, if it asks for one.
    pub(crate) lock: Option<Name>,
}

/// Writes one line.
///
/// # Errors
/// If the other end is gone.
pub(crate) fn say<T: Serialize>(line: &mut (impl Write + ?Sized), what: &T) -> io::Result<()> {
    let mut text = serde_json::to_string(what)?;
    text.push('\n');
    line.write_all(text.as_bytes())
}
