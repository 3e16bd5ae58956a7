//! Results go to stdout, everything else to stderr; colour by one rule for both.

use std::fmt::Display;
use std::io::Write;
use std::panic::PanicHookInfo;

use anstyle::{AnsiColor, Effects, Style};

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

/// Prints results, in one piece: whether a reader that takes only the first line breaks the pipe must not hang
/// on how a text was put together.
pub(crate) fn print(text: impl Display) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let mut whole = anstream::AutoStream::new(Vec::new(), anstream::AutoStream::choice(&stdout));
    let written = write!(whole, "{text}").and_then(|()| stdout.write_all(&whole.into_inner()));
    written.and_then(|()| stdout.flush()).map_err(Failure::Stdout)
}

/// Prints a remark. If stderr is gone, there is nobody to tell.
pub(crate) fn remark(text: impl Display) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Says what went wrong.
pub(crate) fn complain(failure: &Failure) {
    match failure {
        // The loader draws its findings itself, each an error of its own.
        Failure::Scenario(errors) => remark(titles_filled(&errors.coloured())),
        other => {
            if let Failure::Scenarios { mistaken, .. } = other {
                mistaken.iter().for_each(|errors| remark(titles_filled(&errors.coloured()) + "\n"));
            }
            let text = format!("{ERROR}error{ERROR:#}: {other}");
            remark(text.lines().map(|line| wrapped(line, text_width(), "", "  ")).collect::<Vec<_>>().join("\n"));
        }
    }
}

/// The loader's errors with their messages as lines that fit. What they show of a file is not broken.
fn titles_filled(errors: &str) -> String {
    let is_title = |line: &str| anstream::adapter::strip_str(line).to_string().starts_with("error: ");
    let fit = |line| if is_title(line) { wrapped(line, text_width(), "", "  ") } else { line.to_owned() };
    errors.lines().map(fit).collect::<Vec<_>>().join("\n")
}

/// A paragraph as lines that fit the terminal.
pub(crate) fn filled(paragraph: &str) -> String {
    wrapped(paragraph, text_width(), "", "")
}

/// Sentences as lines that fit the terminal, the first of each marked; a newline ends each line.
pub(crate) fn points(sentences: &[String]) -> String {
    sentences.iter().map(|sentence| wrapped(sentence, text_width(), "  • ", "    ") + "\n").collect()
}

/// A name and what it stands for, which begins in that column; a newline ends each line.
pub(crate) fn definition(name: &str, column: usize, what: &str) -> String {
    wrapped(what, text_width(), &format!("{name:column$}"), &" ".repeat(column)) + "\n"
}

/// Text as lines of that width: `first` before the first of them, `others` before the others. Neither a
/// word is broken (`no-lost-update` is one, and so is a path), nor is a figure parted from its unit.
fn wrapped(text: &str, width: usize, first: &str, others: &str) -> String {
    let is_unit = |word: &str| word.trim_end_matches(|c: char| c.is_ascii_punctuation()) == "s";
    let mut whole = String::new();
    for word in text.split(' ') {
        if !whole.is_empty() {
            whole.push(if is_unit(word) { UNBROKEN } else { ' ' });
        }
        whole.push_str(word);
    }
    let options = textwrap::Options::new(width).initial_indent(first).subsequent_indent(others);
    let options = options.word_splitter(textwrap::WordSplitter::NoHyphenation).break_words(false);
    textwrap::fill(&whole, options).replace(UNBROKEN, " ")
}

/// How many columns a person has: those of the terminal; elsewhere what `COLUMNS` says, or 100.
#[expect(clippy::disallowed_methods, reason = "how wide a text is, is no result")]
pub(crate) fn width() -> usize {
    let terminal = console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    let columns = terminal.or_else(|| std::env::var("COLUMNS").ok()?.parse().ok());
    columns.filter(|columns| *columns >= NARROWEST).unwrap_or(WIDEST_TEXT)
}

/// How wide text is: nobody reads longer lines with ease.
fn text_width() -> usize {
    width().min(WIDEST_TEXT)
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

/// As `errors.coloured()` has it.
const ERROR: Style = AnsiColor::BrightRed.on_default().effects(Effects::BOLD);
const NARROWEST: usize = 40;
const WIDEST_TEXT: usize = 100;
/// A space at which no line ends.
const UNBROKEN: char = '\u{a0}';

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn a_figure_is_not_parted_from_its_unit() {
        assert_eq!(wrapped("released at 10.233 s; then", 20, "", ""), "released at\n10.233 s; then");
        assert_eq!(wrapped("released at 10.233 x; then", 20, "", ""), "released at 10.233\nx; then");
    }

    #[test]
    fn words_with_hyphens_are_words_and_long_ones_stay_whole() {
        assert_eq!(wrapped("breaks no-lost-update", 12, "- ", "  "), "- breaks\n  no-lost-update");
    }
}
