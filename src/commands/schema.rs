//! `schema`: the JSON Schema of what fencepost reads or writes.

use fencepost::exit::Exit;

use super::Failure;
use crate::args::SchemaOf;
use crate::output::print;

pub(crate) fn run(format: SchemaOf) -> Result<Exit, Failure> {
    print(match format {
        SchemaOf::Scenario => scenarios::language::schema(),
        SchemaOf::Result => reports::result_schema(),
        SchemaOf::Check => reports::check_schema(),
        SchemaOf::Trace => reports::trace_schema(),
    })?;
    Ok(Exit::AsExpected)
}
