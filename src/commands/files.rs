//! Files with a whole result: `--csv` and `--plot`.

use std::fs::File;
use std::path::Path;

use reports::SweepReport;
use reports::plot::Overlapping;

use super::Failure;
use crate::args::ScenarioArgs;

/// Whether the files can be written, asked before anything is played: nobody wants to hear it after an hour.
pub(super) fn open(args: &ScenarioArgs) -> Result<(), Failure> {
    for path in [&args.csv, &args.plot].into_iter().flatten() {
        // What is there stays, until there is something to write.
        File::options().create(true).append(true).open(path).map_err(failed(path))?;
    }
    Ok(())
}

/// Writes what was asked for.
pub(super) fn write(args: &ScenarioArgs, report: &SweepReport, overlaps: &[Overlapping]) -> Result<(), Failure> {
    let csv = args.csv.as_ref().map(|path| (path, reports::csv(report)));
    let plot = args.plot.as_ref().map(|path| (path, reports::plot::svg(report, overlaps)));
    for (path, text) in [csv, plot].into_iter().flatten() {
        std::fs::write(path, text).map_err(failed(path))?;
    }
    Ok(())
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::WriteFile { path: path.to_owned(), error }
}
