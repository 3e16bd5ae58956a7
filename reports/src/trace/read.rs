//! Reading a trace, and finding where two of them part.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::{SCHEMA, TraceEvent, TraceFooter, TraceHeader, digest};

/// A trace that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace<'t> {
    /// Its first line.
    pub header: TraceHeader,
    /// The lines between the first and the last, as they were written; each is a [`TraceEvent`].
    pub lines: Vec<&'t str>,
    /// Its last line.
    pub footer: TraceFooter,
    /// The digest of all bytes before the last line. The footer has another one if the file was
    /// changed after it was written.
    pub digest: String,
}

/// Why a text is no trace, and what to do.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TraceError {
    /// There is nothing in it.
    #[error("line 1: the file is empty; a trace begins with a header line, so record the run again")]
    Empty,
    /// It does not begin as a trace does.
    #[error("line 1: this is not the header of a trace ({problem}); give a file that `--out` has written")]
    NotATrace {
        /// What is wrong with the first line.
        problem: String,
    },
    /// It is in another format, or another version of it.
    #[error(
        "line 1: the file is in format `{found}`, and this program reads `{SCHEMA}`; use a program that reads it, or record the run again"
    )]
    OtherSchema {
        /// The format that it names.
        found: String,
    },
    /// A line is not what belongs there.
    #[error("line {line}, column {column}: {problem}; restore the line, or record the run again")]
    BadLine {
        /// The line's number, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// It ends before its footer.
    #[error("line {line}: the trace ends here without a footer; it was cut off, so record the run again")]
    NoFooter {
        /// The number of the last line, from 1.
        line: usize,
    },
    /// Lines were taken away or added.
    #[error("line {line}: the footer counts {promised} events, and the trace has {found}; record the run again")]
    WrongCount {
        /// The number of the footer's line, from 1.
        line: usize,
        /// How many events the footer counts.
        promised: u64,
        /// How many there are.
        found: u64,
    },
}

/// Reads a trace.
///
/// # Errors
/// [`TraceError`] says in which line the text ceases to be a trace, and what to do.
pub fn read(text: &str) -> Result<Trace<'_>, TraceError> {
    let all: Vec<&str> = text.lines().collect();
    let [first, rest @ ..] = all.as_slice() else { return Err(TraceError::Empty) };
    let header = read_header(first)?;
    let (last, lines) = rest.split_last().ok_or(TraceError::NoFooter { line: 1 })?;
    for (i, line) in lines.iter().enumerate() {
        parse::<TraceEvent>(line).map_err(|fault| fault.in_line(i + 2))?;
    }
    let footer = read_footer(last, all.len(), text.ends_with('\n'))?;
    if footer.events != lines.len() as u64 {
        let (line, promised, found) = (all.len(), footer.events, lines.len() as u64);
        return Err(TraceError::WrongCount { line, promised, found });
    }
    Ok(Trace { header, lines: lines.to_vec(), footer, digest: digest(before_last_line(text)) })
}

/// The first line in which two traces differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Its number, from 1.
    pub line: usize,
    /// The line in the recorded trace, if that has one.
    pub recorded: Option<String>,
    /// The line in the replayed trace, if that has one.
    pub replayed: Option<String>,
}

/// Where two traces part, byte by byte. `None`: they are equal.
#[must_use]
pub fn first_difference(recorded: &str, replayed: &str) -> Option<Difference> {
    let (mut before, mut after) = (recorded.split_inclusive('\n'), replayed.split_inclusive('\n'));
    for line in 1.. {
        match (before.next(), after.next()) {
            (None, None) => return None,
            (recorded, replayed) if recorded == replayed => {}
            (recorded, replayed) => {
                let shown = |line: &str| line.strip_suffix('\n').unwrap_or(line).to_owned();
                return Some(Difference { line, recorded: recorded.map(shown), replayed: replayed.map(shown) });
            }
        }
    }
    None
}

fn read_header(line: &str) -> Result<TraceHeader, TraceError> {
    #[derive(Deserialize)]
    struct Format {
        schema: String,
    }

    let not_a_trace = |fault: Flaw| TraceError::NotATrace { problem: fault.problem };
    // The schema first: another version may well lack a field that this one has.
    let found = parse::<Format>(line).map_err(not_a_trace)?.schema;
    if found != SCHEMA {
        return Err(TraceError::OtherSchema { found });
    }
    parse(line).map_err(|fault| fault.in_line(1))
}

fn read_footer(last: &str, line: usize, is_complete: bool) -> Result<TraceFooter, TraceError> {
    parse(last).map_err(|fault| {
        // A file that was cut off ends in the midst of a line, or after an event.
        let is_cut_off = !is_complete || parse::<TraceEvent>(last).is_ok();
        if is_cut_off { TraceError::NoFooter { line } } else { fault.in_line(line) }
    })
}

/// What is wrong with a line, and where in it.
struct Flaw {
    column: usize,
    problem: String,
}

impl Flaw {
    fn in_line(self, line: usize) -> TraceError {
        TraceError::BadLine { line, column: self.column, problem: self.problem }
    }
}

fn parse<T: DeserializeOwned>(line: &str) -> Result<T, Flaw> {
    serde_json::from_str(line).map_err(|error| {
        // The library counts lines within what it was given, which is always the first.
        let (said, place) = (error.to_string(), format!(" at line {} column {}", error.line(), error.column()));
        let problem = said.strip_suffix(&place).unwrap_or(&said).to_owned();
        Flaw { column: error.column().max(1), problem }
    })
}

/// All bytes of the text before its last line.
fn before_last_line(text: &str) -> &str {
    let whole = text.strip_suffix('\n').unwrap_or(text);
    whole.rfind('\n').map_or("", |end| &text[..=end])
}
