//! From a run or a sweep to bytes.
//!
//! Everything here is a pure function: the same input gives the same bytes on every machine. Nothing
//! here plays a run, reads a file or knows a terminal, and nothing judges: verdicts come from `spec`.
//!
//! | file | what | for |
//! |---|---|---|
//! | [`result`] | a sweep as one JSON object | programs |
//! | [`csv`](mod@csv) | a sweep as a table of values | spreadsheets, and whoever computes with it |
//! | [`plot`] | a sweep as a picture | people |
//! | [`check`] | many sweeps together | both |
//! | [`figure`] | what is expected to be some number, and what it came to | both |
//! | [`frontier`] | where something turns along an axis | both |
//! | [`table`] | a sweep as a table | people |
//! | [`trace`] | a run as JSON Lines | replay, and other tools |
//! | [`mod@story`] | a violation in a few sentences | people |
//! | [`mod@timeline`] | a run's whole history, a line each | people who want to see it all |
//! | [`schema`] | JSON Schemas of the two formats | editors and validators |
//! | [`run`] | what a story and a timeline are told from | |
//!
//! Keys come in the order of struct fields and maps keep the order of insertion, so that no JSON
//! library and no feature of one can reorder them. 64-bit seeds and hashes are strings: a reader in
//! JavaScript would round them. No figure is a float (but for the size of letters in a picture).

pub mod check;
pub mod csv;
mod facts;
pub mod figure;
pub mod frontier;
pub mod plot;
pub mod result;
pub mod run;
pub mod schema;
pub mod story;
pub mod table;
#[cfg(test)]
mod testing;
pub mod timeline;
pub mod trace;
mod wilson;
mod words;

pub use csv::csv;
pub use figure::FigureReport;
pub use frontier::{FrontierReport, FrontierWanted};
pub use result::{CellReport, PropertyReport, Spread, Standing, SweepReport, to_json};
pub use run::{Failed, JudgedRun, ServerError, StruckFault};
pub use schema::{check_schema, result_schema, trace_schema};
pub use story::{holds_story, short_story, story};
pub use timeline::timeline;
pub use trace::{Difference, Trace, TraceError, TraceEvent, TraceFooter, TraceHeader, TraceVerdict};
pub use wilson::wilson;

/// A 64-bit hash as every report writes it: 16 hexadecimal digits.
#[must_use]
pub fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_small_hash_keeps_its_leading_zeros() {
        assert_eq!(super::hex(0x2a), "000000000000002a");
        assert_eq!(super::hex(u64::MAX), "ffffffffffffffff");
    }
}
