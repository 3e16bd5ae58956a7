//! Results go to stdout, everything else to stderr; colour by one rule for both.

use std::fmt::Display;
use std::io::Write;
use std::panic::PanicHookInfo;

use crate::args::Colour;
use crate::commands::Failure;

/// Decides about colour, for everything that is printed from here on.
pub(crate) fn set_colour(colour: Colour) {
    match colour {
        // NO_COLOR, CLICOLOR, CLICOLOR_FORCE and the terminal decide.
        Colour::Auto => {}
        Colour::Always => anstream::ColorChoice::Always.write_global(),
        Colour::Never => anstream::ColorChoice::Never.write_global(),
    }
}

/// Prints results.
pub(crate) fn print(text: impl Display) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    write!(stdout, "{text}").and_then(|()| stdout.flush()).map_err(Failure::Stdout)
}

/// Prints a remark. If stderr is gone, there is nobody to tell.
pub(crate) fn remark(text: impl Display) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Says what went wrong.
pub(crate) fn complain(failure: &Failure) {
    let text = failure.to_string();
    // The loader's findings begin with `error:` each.
    let text = text.trim_end();
    if text.starts_with("error") { remark(text) } else { remark(format_args!("error: {text}")) }
}

/// How many columns a person has: those of the terminal, or 100.
pub(crate) fn width() -> usize {
    let columns = console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    columns.filter(|columns| *columns >= NARROWEST).unwrap_or(WITHOUT_TERMINAL)
}

/// A panic is a bug of ours: says so in words, and what to report, instead of Rust's message.
pub(crate) fn explain_panics() {
    std::panic::set_hook(Box::new(|info: &PanicHookInfo<'_>| {
        let what = info.payload_as_str().unwrap_or("no further details");
        let place = info.location().map(|place| format!(" at {}:{}", place.file(), place.line())).unwrap_or_default();
        remark(format_args!(
            "internal error: {what}{place}\n\
             This is a bug in fencepost {}. Please report it with the command that you gave.",
            env!("CARGO_PKG_VERSION")
        ));
    }));
}

const NARROWEST: usize = 40;
const WITHOUT_TERMINAL: usize = 100;
