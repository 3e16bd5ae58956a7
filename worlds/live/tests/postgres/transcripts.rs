//! The committed transcripts: asked again, the server answers as it is written.

use std::{env, fs};

use fencepost_live::servers::postgres::{PgServer, PgTemplate};

use crate::common::{Outcome, first_difference, folder, lines};
use crate::format::{Row, Transcript, Words, play};
use crate::real::Real;
use crate::{COUNTS, count};

/// The service whose transcripts these are.
pub(crate) const SERVICE: &str = "postgres";

/// Asks a real server what the transcript asks, and compares, or writes down, its answers.
pub(crate) fn are_as_committed(name: &str) -> Outcome {
    let path = folder(SERVICE).join(name);
    let committed = Transcript::parse(&fs::read_to_string(&path)?)?;
    let mut asked = committed.clone();
    let template = PgTemplate::new()?;
    let sets_clock = |row: &Row| matches!(row, Row::Server(server) if server.does.ahead().is_some());
    let has_clock = committed.rows.iter().any(sets_clock);
    let (mut real, mut words) = (None, Words::default());
    for (i, row) in asked.rows.iter_mut().enumerate() {
        if let Row::About(_) = row {
            // The old one ends before the new one begins.
            drop(real.take());
            (real, words) = (Some(Real::new(&template, has_clock)?), Words::default());
        } else {
            let real = real.as_mut().ok_or("a transcript begins with a subject")?;
            play(real, &mut words, row).map_err(|error| format!("{name}:{}: {error}", i + 2))?;
            count(&COUNTS.replies, 1);
        }
    }
    asked.header.server = PgServer::version()?;
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, lines(&asked.header, &asked.rows)?)?;
        return Ok(());
    }
    first_difference(name, &committed.rows, &asked.rows).inspect_err(|_| count(&COUNTS.different, 1))
}
