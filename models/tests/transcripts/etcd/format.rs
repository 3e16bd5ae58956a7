//! Transcripts of etcd: what a real server was asked over its gateway, and what it answered.
//!
//! JSON Lines. The first line is the [`Header`], each other line one [`Row`]. An `about` begins anew, on a new cluster of
//! one member. Bytes are text here and not base64. Who answered, and in which term, is left out, and so are numbers that
//! a server makes up: `<lease>`. `just transcripts` asks a real server the same questions and writes down its answers; to
//! ask more, add rows without a reply.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

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
    #[serde(rename = "fencepost.transcript-etcd/1")]
    One,
}

/// Any other line.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Row {
    /// A new subject, on a new server.
    About(String),
    /// A question and its answer.
    Ask(Ask),
    /// A question that is not answered at once.
    Begin {
        /// By that name.
        name: String,
        /// Where it is posted.
        post: String,
        /// What.
        body: Json,
    },
    /// The answer to it.
    End {
        /// By that name.
        name: String,
        /// Its status.
        #[serde(default)]
        status: u16,
        /// Its body.
        #[serde(default)]
        reply: Json,
    },
    /// Time passes until that lease has ended by itself.
    Ends(u64),
    /// The server's process is killed, and starts again.
    Restart,
}

/// A question and its answer.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ask {
    /// Where it is posted.
    pub(crate) post: String,
    /// What.
    pub(crate) body: Json,
    /// The status of the answer.
    #[serde(default)]
    pub(crate) status: u16,
    /// Its body.
    #[serde(default)]
    pub(crate) reply: Json,
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

/// What is bytes on the wire.
const BYTES: [&str; 5] = ["key", "value", "range_end", "name", "keys"];

/// A body as it is posted: text becomes base64.
pub(crate) fn posted(body: &Json) -> Json {
    each_text(body, false, &|name, text| if BYTES.contains(&name) { STANDARD.encode(text) } else { text.to_owned() })
}

/// A body as it is written down: base64 becomes text, and what a server has made up becomes a word.
pub(crate) fn written(body: &Json) -> Json {
    each_text(body, true, &|name, text| {
        if BYTES.contains(&name) {
            let bytes = STANDARD.decode(text).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let made_up =
                text.rsplit_once('/').filter(|(_, digits)| u64::from_str_radix(digits, 16).is_ok_and(is_made_up));
            return made_up.map_or_else(|| text.clone(), |(queue, _)| format!("{queue}/<lease>"));
        }
        if text.parse().is_ok_and(is_made_up) { "<lease>".to_owned() } else { text.to_owned() }
    })
}

/// Whether a number is one of those that servers make up: nobody who asks chooses one so large, but the lifetime that is
/// too long.
const fn is_made_up(number: u64) -> bool {
    number > 1 << 40
}

fn each_text(json: &Json, sort: bool, change: &dyn Fn(&str, &str) -> String) -> Json {
    fn walk(name: &str, json: &Json, sort: bool, change: &dyn Fn(&str, &str) -> String) -> Json {
        match json {
            Json::String(text) => Json::String(change(name, text)),
            Json::Object(fields) => {
                let changed = fields.iter().map(|(name, json)| (name.clone(), walk(name, json, sort, change)));
                Json::Object(changed.collect())
            }
            Json::Array(items) => {
                let mut items: Vec<Json> = items.iter().map(|json| walk(name, json, sort, change)).collect();
                if sort && name == "keys" {
                    // Go hands a map's keys out in any order.
                    items.sort_by_key(Json::to_string);
                }
                Json::Array(items)
            }
            other => other.clone(),
        }
    }
    walk("", json, sort, change)
}
