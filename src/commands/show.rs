//! `show`: a scenario's file, to read and to start one's own from.

use fencepost::exit::Exit;
use scenarios::catalogue;

use super::Failure;
use crate::output::print;

pub(crate) fn run(name: &str) -> Result<Exit, Failure> {
    let entry = catalogue::find(name)?;
    print(entry.text)?;
    Ok(Exit::AsExpected)
}
