//! Transcripts: what a real server was asked, and what it answered.
//!
//! JSON Lines. The first line is the [`Header`], each other line one [`Row`]. Time stands still but for `wait`, so that
//! every reply, of a time to live as well, is one text. An `about` begins anew: no keys, no connections, the
//! clock at [`START`]. `just transcripts` asks a real server the same questions and writes down its answers; to ask
//! more, add rows with an empty reply.

use serde::{Deserialize, Serialize};

/// What the clock reads at the beginning, in ms since 1970.
pub(crate) const START: i64 = 1_700_000_000_000;

/// The first line.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    /// The format.
    pub(crate) transcript: Format,
    /// The server and its version.
    pub(crate) server: String,
    /// What survives the server's process, by the word of scenario files.
    pub(crate) persistence: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(crate) enum Format {
    #[serde(rename = "fencepost.transcript/1")]
    One,
}

/// Any other line.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Row {
    /// A new subject, on an empty server.
    About(String),
    /// The clock runs on by so many ms; below zero, it is set back.
    Wait(i64),
    /// The connection is closed.
    Close(String),
    /// The server's process ends, and starts again.
    Restart(End),
    /// From now on, the server's machine is short of that.
    Short(Of),
    /// A question and its answer.
    Ask(Ask),
}

/// What a machine may be short of.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Of {
    /// It has all that it needs.
    Nothing,
    /// Its disk cannot be written, as the server has found out.
    Disk,
    /// The memory that the server may use is used up.
    Memory,
}

/// How a process ends.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum End {
    /// It is killed.
    Kill,
    /// It is asked to end.
    Shutdown,
}

/// A question and its answer.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ask {
    /// Whose connection.
    pub(crate) on: String,
    /// The command's name and its arguments.
    pub(crate) say: Vec<String>,
    /// The answer in RESP2, as it came.
    pub(crate) reply: String,
    /// Why the model is not asked, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unmodelled: Option<String>,
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

/// The reply without what a real server appends to errors of scripts: the script's digest and line.
pub(crate) fn without_script(reply: &str) -> String {
    let lines = reply.split_inclusive("\r\n").map(|line| {
        let (text, end) = line.strip_suffix("\r\n").map_or((line, ""), |text| (text, "\r\n"));
        let says = text.split_once(" script: ").filter(|(error, digest)| {
            let is_digest = digest.get(..40).is_some_and(|digest| digest.bytes().all(|byte| byte.is_ascii_hexdigit()));
            error.starts_with('-') && is_digest && digest[40..].starts_with(", on @user_script:")
        });
        format!("{}{end}", says.map_or(text, |(error, _)| error))
    });
    lines.collect()
}
