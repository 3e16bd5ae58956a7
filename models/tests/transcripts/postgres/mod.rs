//! The model of PostgreSQL held against the committed answers of a real server.

mod format;
mod model;

use std::fs;
use std::path::{Path, PathBuf};

use format::{Row, Server, Transcript, Words, play};
use model::Model;

fn transcripts() -> Vec<(PathBuf, Transcript)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts/postgres");
    let files = fs::read_dir(&folder).expect("the folder of transcripts");
    let paths = files.map(|file| file.expect("a readable folder").path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a readable transcript");
        let transcript = Transcript::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path, transcript)
    };
    paths.into_iter().map(read).collect()
}

/// Plays a row on the model, and says what it should have answered and did not.
fn replay(model: &mut Model, words: &mut Words, row: &Row) -> Result<(), String> {
    let mut told = row.clone();
    play(model, words, &mut told)?;
    let is_known = matches!(row, Row::Server(Server { unmodelled: Some(why), .. }) if !why.is_empty());
    if told == *row || is_known { Ok(()) } else { Err(format!("\n  the server {row:?}\n  the model  {told:?}")) }
}

#[test]
fn the_model_of_postgres_answers_as_the_real_server_did() {
    let (mut held, mut subjects) = (0, 0);
    let mut differences = Vec::new();
    for (path, transcript) in transcripts() {
        let (mut model, mut words, mut differs) = (Model::new(), Words::default(), false);
        for (i, row) in transcript.rows.iter().enumerate() {
            if let Row::About(_) = row {
                (model, words, differs) = (Model::new(), Words::default(), false);
                subjects += 1;
            } else if !differs {
                match replay(&mut model, &mut words, row) {
                    Ok(()) => held += 1,
                    // One difference leads to others.
                    Err(why) => {
                        differences.push(format!("{}:{}: {why}", path.display(), i + 2));
                        differs = true;
                    }
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(held > 1_000 && subjects > 100, "only {held} answers about {subjects} subjects");
}
