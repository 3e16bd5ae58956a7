//! `list`: what comes with fencepost.

use fencepost::exit::Exit;
use scenarios::catalogue;
use scenarios::language::load;
use serde::Serialize;

use super::Failure;
use crate::args::{Format, ListArgs};
use crate::output::{definition, print};

/// One scenario, as `--format json` lists it.
#[derive(Serialize)]
struct Listed {
    name: String,
    topic: &'static str,
    title: String,
    source: Vec<String>,
    cells: usize,
    seeds: u64,
}

pub(crate) fn run(args: &ListArgs) -> Result<Exit, Failure> {
    let mut all = Vec::new();
    for entry in catalogue::all() {
        let scenario = load(entry.file, entry.text, &[])?;
        all.push(Listed {
            name: scenario.name,
            topic: entry.topic,
            title: scenario.title,
            source: scenario.source,
            cells: scenario.cells.len(),
            seeds: scenario.seeds,
        });
    }
    match args.format {
        Format::Json => {
            let json = serde_json::to_string_pretty(&all).expect("strings and integers can be written");
            print(format_args!("{json}\n"))?;
        }
        Format::Text => {
            let longest = all.iter().map(|one| one.name.len()).max().unwrap_or(0);
            print(all.iter().map(|one| definition(&one.name, longest + 2, &one.title)).collect::<String>())?;
        }
    }
    Ok(Exit::AsExpected)
}
