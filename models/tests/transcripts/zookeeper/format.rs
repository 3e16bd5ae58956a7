//! Transcripts of ZooKeeper: what a real server was asked over its own protocol, what it answered, and what it told before.
//!
//! JSON Lines. The first line is the [`Header`], each other line one [`Row`]. An `about` begins anew, on a new server that is
//! alone. Clients have names, by which their sessions are called. `just transcripts` asks a real server the same questions and
//! writes down its answers; to ask more, add rows without a reply.

use models::zookeeper::{
    Answer, Body, Create, Delete, Mode, Multi, Op, OpResult, SessionId, SetData, SetWatches, Stat, ZkEvent, ZkReply,
    ZkRequest, Zxid,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

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
    #[serde(rename = "fencepost.transcript-zookeeper/1")]
    One,
}

/// Any other line.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Row {
    /// A new subject, on a new server.
    About(String),
    /// A client connects, to begin a session or to go on with the one that it has.
    Begin(Begin),
    /// A question and its answer.
    Ask(Ask),
    /// That client's connection is lost.
    Lose(String),
    /// Time passes until that client's session has ended by itself.
    Expire(String),
    /// Time passes until that container, which nobody uses, is gone.
    Reap(String),
}

/// How a connection begins.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Begin {
    /// Whose.
    pub(crate) on: String,
    /// How long the session is to live, in ms.
    pub(crate) timeout: u32,
    /// The newest change that the client says it has seen; if it is not said here, the one that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seen: Option<u64>,
    /// It does not know the password of its session.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) forgot: bool,
    /// What the server makes of it.
    #[serde(default)]
    pub(crate) reply: String,
}

/// A question and its answer.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ask {
    /// Whose connection.
    pub(crate) on: String,
    /// What.
    pub(crate) say: Say,
    /// What the server told on that connection before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) told: Vec<String>,
    /// The answer.
    #[serde(default)]
    pub(crate) reply: Json,
}

/// A request.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Say {
    Create {
        path: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        data: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        mode: String,
    },
    Delete {
        path: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<i32>,
    },
    Set {
        path: String,
        #[serde(default)]
        data: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<i32>,
    },
    Check {
        path: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<i32>,
    },
    Exists {
        path: String,
        #[serde(default, skip_serializing_if = "is_false")]
        watch: bool,
    },
    Get {
        path: String,
        #[serde(default, skip_serializing_if = "is_false")]
        watch: bool,
    },
    Children {
        path: String,
        #[serde(default, skip_serializing_if = "is_false")]
        watch: bool,
    },
    Sync {
        path: String,
    },
    Multi(Vec<Self>),
    /// Watches are set again.
    Watch {
        since: u64,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        data: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        exist: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        child: Vec<String>,
    },
    Ping,
    Close,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

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
        let rows = lines.map(|(at, line)| serde_json::from_str(line).map_err(|error| named(at, &error)));
        Ok(Self { header, rows: rows.collect::<Result<_, _>>()? })
    }
}

impl Say {
    /// The request.
    pub(crate) fn request(&self) -> Result<ZkRequest, String> {
        let path = |text: &String| text.as_str().into();
        let paths = |texts: &[String]| texts.iter().map(|text| text.as_str().into()).collect();
        Ok(match self {
            Self::Create { .. } | Self::Delete { .. } | Self::Set { .. } => match self.op()? {
                Op::Create(create) => ZkRequest::Create(Box::new(create)),
                Op::Delete(delete) => ZkRequest::Delete(delete),
                Op::SetData(set) => ZkRequest::SetData(Box::new(set)),
                Op::Check { .. } => return Err("a check outside a multi".to_owned()),
            },
            Self::Check { .. } => return Err("a check outside a multi".to_owned()),
            Self::Exists { path: text, watch } => ZkRequest::Exists { path: path(text), watch: *watch },
            Self::Get { path: text, watch } => ZkRequest::GetData { path: path(text), watch: *watch },
            Self::Children { path: text, watch } => ZkRequest::GetChildren { path: path(text), watch: *watch },
            Self::Sync { path: text } => ZkRequest::Sync { path: path(text) },
            Self::Multi(ops) => {
                let ops = ops.iter().map(Self::op).collect::<Result<_, _>>()?;
                ZkRequest::Multi(Box::new(Multi { ops, errand: None }))
            }
            Self::Watch { since, data, exist, child } => ZkRequest::SetWatches(Box::new(SetWatches {
                since: Zxid(*since),
                data: paths(data),
                exist: paths(exist),
                child: paths(child),
            })),
            Self::Ping => ZkRequest::Ping,
            Self::Close => ZkRequest::CloseSession,
        })
    }

    fn op(&self) -> Result<Op, String> {
        Ok(match self {
            Self::Create { path, data, mode } => {
                let mode = match mode.as_str() {
                    "" => Mode::Persistent,
                    "sequential" => Mode::PersistentSequential,
                    "ephemeral" => Mode::Ephemeral,
                    "ephemeral-sequential" => Mode::EphemeralSequential,
                    "container" => Mode::Container,
                    other => return Err(format!("no such mode: {other}")),
                };
                Op::Create(Create { path: path.as_str().into(), data: data.as_str().into(), mode })
            }
            Self::Delete { path, version } => Op::Delete(Delete { path: path.as_str().into(), version: *version }),
            Self::Set { path, data, version } => {
                let (path, data) = (path.as_str().into(), data.as_str().into());
                Op::SetData(SetData { path, data, version: *version })
            }
            Self::Check { path, version } => Op::Check { path: path.as_str().into(), version: *version },
            other => return Err(format!("no operation of a multi: {other:?}")),
        })
    }
}

/// What the server makes of a connection, as it is written down; whose session it is, the row says.
pub(crate) fn begun(reply: Option<&ZkReply>) -> String {
    match reply {
        Some(ZkReply::Connected(begun)) => format!("a session of {} ms", begun.timeout.0),
        Some(other) => other.to_string(),
        None => "nothing: it hangs up".to_owned(),
    }
}

/// Events as they are written down.
pub(crate) fn told(events: &[ZkEvent]) -> Vec<String> {
    events.iter().map(ToString::to_string).collect()
}

/// An answer as it is written down; sessions are called by whose they are. No answer: the server has hung up.
pub(crate) fn answered(answer: Option<&Answer>, name: &dyn Fn(SessionId) -> String) -> Json {
    let Some(answer) = answer else { return json!("nothing: it hangs up") };
    let mut said = match &answer.outcome {
        Ok(body) => found(body, name),
        Err(error) => json!({"error": error.to_string()}),
    };
    said["zxid"] = json!(answer.zxid.to_string());
    said
}

fn found(body: &Body, name: &dyn Fn(SessionId) -> String) -> Json {
    let stat = |stat: &Stat| written(stat, name);
    match body {
        Body::Nothing => json!({}),
        Body::Created { path, stat: is } => json!({"created": path.to_string(), "stat": stat(is)}),
        Body::Deleted => json!({"deleted": true}),
        Body::Exists { stat: is } | Body::Set { stat: is } => json!({"stat": stat(is)}),
        Body::Data { data, stat: is } => {
            json!({"data": String::from_utf8_lossy(data.as_bytes()), "stat": stat(is)})
        }
        Body::Children { names, stat: is } => {
            let mut names: Vec<String> = names.iter().map(ToString::to_string).collect();
            // A server has them in no order.
            names.sort();
            json!({"children": names, "stat": stat(is)})
        }
        Body::Synced { path } => json!({"synced": path.to_string()}),
        Body::Multi { results } => {
            let each = |result: &OpResult| match result {
                OpResult::Created { path } => json!({"created": path.to_string()}),
                OpResult::Deleted => json!({"deleted": true}),
                OpResult::Set { stat: is } => json!({"stat": stat(is)}),
                OpResult::Checked => json!({}),
            };
            json!({"multi": results.iter().map(each).collect::<Vec<_>>()})
        }
        Body::MultiFailed { at, error, of } => json!({"failed": at, "of": of, "error": error.to_string()}),
    }
}

fn written(stat: &Stat, name: &dyn Fn(SessionId) -> String) -> Json {
    let Stat { czxid, mzxid, pzxid, version, cversion, owner, data_length, children } = *stat;
    let mut written = json!({
        "czxid": czxid.to_string(),
        "mzxid": mzxid.to_string(),
        "pzxid": pzxid.to_string(),
        "version": version,
        "cversion": cversion,
        "length": data_length,
        "children": children,
    });
    if let Some(owner) = owner {
        written["owner"] = json!(name(owner));
    }
    written
}
