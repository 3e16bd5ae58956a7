//! A history as JSON Lines, written and read: what a judge needs, whoever made it.
//!
//! | line | says |
//! |---|---|
//! | `{"history":{…}}`, the first | of what: the format, the scenario and its options, the seed, the servers |
//! | `{"node":{…}}`, one each, by id | a name, its clocks as straight pieces, when its process ran, its lease's clock |
//! | `{"at":…,"node":…,"note":{…}}`, one each, in order | what was noted, when in true time in ns, and by which node |
//! | `{"end":{…}}`, the last | when it ended, when it would have had to, and how |
//!
//! What a note may be says [`spec::Note`]: its name in kebab case, with what belongs to it.

use std::fmt;

use host::{Ending, SimTime};
use serde::{Deserialize, Serialize};
use spec::{Entry, History, NodeHistory};

/// What the lines say of their run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct About {
    /// The format: [`SCHEMA`].
    pub schema: String,
    /// The version of fencepost.
    pub engine: String,
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

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line<A, N, E> {
    History(A),
    Node(N),
    End {
        at: SimTime,
        horizon: SimTime,
        ending: Ending,
    },
    #[serde(untagged)]
    Entry(E),
}

/// The lines.
///
/// # Panics
/// Never: all of it is plain data.
#[must_use]
pub fn lines(about: &About, history: &History) -> String {
    let end =
        Line::<&About, &NodeHistory, &Entry>::End { at: history.end, horizon: history.horizon, ending: history.ending };
    let nodes = history.nodes.iter().map(Line::Node);
    let entries = history.entries.iter().map(Line::Entry);
    let all = [Line::History(about)].into_iter().chain(nodes).chain(entries).chain([end]);
    all.map(|line| serde_json::to_string(&line).expect("it is plain data") + "\n").collect()
}

/// Why something is no history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoHistory {
    /// On which line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub why: String,
}

impl fmt::Display for NoHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for NoHistory {}

/// Reads such lines.
///
/// # Errors
/// If they are of another format, or not whole.
pub fn read(text: &str) -> Result<(About, History), NoHistory> {
    let (mut about, mut nodes, mut entries, mut end) = (None, Vec::new(), Vec::new(), None);
    let mut last = SimTime::ZERO;
    for (line, said) in (1..).zip(text.lines()) {
        let wrong = |why: &str| NoHistory { line, why: why.to_owned() };
        let said: Line<About, NodeHistory, Entry> =
            serde_json::from_str(said).map_err(|error| wrong(&format!("not a line of a history: {error}")))?;
        match said {
            _ if end.is_some() => return Err(wrong("something follows the end")),
            Line::History(of) if about.is_some() => return Err(wrong(&format!("another history, of {}", of.scenario))),
            Line::History(of) if of.schema != SCHEMA => {
                return Err(wrong(&format!("it is of the format {}, not {SCHEMA}", of.schema)));
            }
            Line::History(of) => about = Some(of),
            _ if about.is_none() => return Err(wrong("the first line says of what the history is")),
            Line::Node(_) if !entries.is_empty() => return Err(wrong("nodes come before what they noted")),
            Line::Node(node) => nodes.push(node),
            Line::Entry(Entry { node, .. }) if node.index() >= nodes.len() => return Err(wrong("nobody is that node")),
            Line::Entry(Entry { at, .. }) if at < last => return Err(wrong("it is noted after what came later")),
            Line::Entry(entry) => {
                last = entry.at;
                entries.push(entry);
            }
            Line::End { at, .. } if at < last => return Err(wrong("it ends before what was noted last")),
            Line::End { at, horizon, ending } => end = Some((at, horizon, ending)),
        }
    }
    let line = text.lines().count() + 1;
    let about = about.ok_or_else(|| NoHistory { line, why: "it is empty".to_owned() })?;
    let (end, horizon, ending) = end.ok_or_else(|| NoHistory { line, why: "the end is missing".to_owned() })?;
    Ok((about, History { entries, nodes, end, horizon, ending }))
}

#[cfg(test)]
mod tests {
    use host::{AttemptId, Clock, NodeId, Ppm, Segment, Ticking};
    use spec::Note;

    use super::*;

    fn about() -> About {
        let [schema, engine, scenario, lock] = [SCHEMA, "0", "gc-pause", "redis"].map(str::to_owned);
        let params = vec![("resource".to_owned(), "open".to_owned())];
        About { schema, engine, scenario, lock, params, seed: u64::MAX.to_string(), servers: "redis 7".to_owned() }
    }

    fn history() -> History {
        let (since, rate, ticking) = (SimTime::ZERO, Ppm::ZERO, Ticking::All);
        let clocks = vec![Segment { since, mono: 5, boot: 7, wall: -9, rate, ticking }];
        let activity = vec![(SimTime::from_nanos(3), host::Activity::Paused)];
        let node = |name: &str| NodeHistory {
            name: name.into(),
            clocks: clocks.clone(),
            activity: activity.clone(),
            lease_clock: Clock::Wall,
        };
        let attempt = AttemptId::new(NodeId::new(1), std::num::NonZeroU32::MIN);
        let noted = |at, node, note| Entry { at: SimTime::from_nanos(at), node: NodeId::new(node), note };
        let entries =
            vec![noted(4, 1, Note::GaveUp { attempt }), noted(4, 0, Note::DiskLost { authority: NodeId::new(0) })];
        let (end, horizon) = (SimTime::from_nanos(9), SimTime::from_nanos(10));
        History { entries, nodes: vec![node("redis-1"), node("c1")], end, horizon, ending: Ending::Quiet }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(read(&lines(&about(), &history())), Ok((about(), history())));
    }

    #[test]
    fn what_is_no_history_is_an_error_at_its_line() {
        let text = lines(&about(), &history());
        let all: Vec<&str> = text.lines().collect();
        let found = |lines: &[&str]| read(&lines.join("\n")).map(|_| ()).map_err(|error| error.to_string());
        let said = |line: usize, why: &str| Err(format!("line {line}: {why}"));
        assert_eq!(found(&[]), said(1, "it is empty"));
        assert_eq!(found(&all[1..]), said(1, "the first line says of what the history is"));
        assert_eq!(found(&all[..5]), said(6, "the end is missing"));
        assert_eq!(found(&[all[0], all[1], all[3]]), said(3, "nobody is that node"));
        assert_eq!(found(&[&all[..], &all[..1]].concat()), said(7, "something follows the end"));
        let other = all[0].replace("history/1", "history/2");
        assert_eq!(found(&[&other]), said(1, "it is of the format fencepost.history/2, not fencepost.history/1"));
        let earlier = all[4].replace("\"at\":4", "\"at\":3");
        assert_eq!(found(&[all[0], all[1], all[2], all[3], &earlier]), said(5, "it is noted after what came later"));
        assert!(found(&[all[0], "{\"nod\":1}"]).is_err_and(|why| why.starts_with("line 2: not a line of a history")));
    }
}
