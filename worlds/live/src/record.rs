//! A history as JSON Lines: a line that says of what, one for each node, one for each note, and how it ended.

use host::{Ending, SimTime};
use serde::Serialize;
use spec::{Entry, History, NodeHistory};

/// What the lines say of their run.
#[derive(Clone, Debug, Serialize)]
pub struct About {
    /// The format: [`SCHEMA`].
    pub schema: &'static str,
    /// The version of fencepost.
    pub engine: &'static str,
    /// The scenario's name.
    pub scenario: String,
    /// The lock.
    pub lock: String,
    /// The cell's options, axis and option.
    pub params: Vec<(String, String)>,
    /// The seed, as text: not every reader of JSON keeps 64 bits.
    pub seed: String,
    /// What it was played on.
    pub servers: String,
}

/// The format and its version.
pub const SCHEMA: &str = "fencepost.history/1";

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Line<'h> {
    History(&'h About),
    Node(&'h NodeHistory),
    End {
        at: SimTime,
        horizon: SimTime,
        ending: Ending,
    },
    #[serde(untagged)]
    Entry(&'h Entry),
}

/// The lines.
///
/// # Panics
/// Never: all of it is plain data.
#[must_use]
pub fn lines(about: &About, history: &History) -> String {
    let end = Line::End { at: history.end, horizon: history.horizon, ending: history.ending };
    let nodes = history.nodes.iter().map(Line::Node);
    let entries = history.entries.iter().map(Line::Entry);
    let all = [Line::History(about)].into_iter().chain(nodes).chain(entries).chain([end]);
    all.map(|line| serde_json::to_string(&line).expect("it is plain data") + "\n").collect()
}
