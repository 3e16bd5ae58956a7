//! Tests of the language, by topic. A refusal is tested with its place: the text that a mistake
//! points at stands between `«` and `»`.

mod bounds;
mod clients;
mod examples;
mod expectations;
mod faults;
mod figures;
mod frontier;
mod inside;
mod links;
mod locks;
mod matrix;
mod mutations;
mod one_pass;
mod overrides;
mod rendering;
mod resource;
mod schema;
mod sentinel;
mod suggestions;
mod top;
mod values;

use std::ops::Range;

use super::{LoadError, LoadErrors, Override, load};
use crate::cell::{Cell, NodeRef, Scenario, What};

/// The required keys of the top level, but for the lock.
const HEAD: &str = "name = \"test\"\ntitle = \"a test\"\nsource = \"a test\"\n";

/// A file with a Redis lock, two clients, and these tables.
fn file(tables: &str) -> String {
    format!("{HEAD}lock = \"redis\"\n[client.A]\n[client.B]\n{tables}")
}

/// A file with two clients and these keys of the top level (the lock's among them).
fn top(keys: &str) -> String {
    format!("{HEAD}{keys}\n[client.A]\n[client.B]\n")
}

/// A file with this one fault, among two clients.
fn faulty(keys: &str) -> String {
    file(&format!("[fault.f]\n{keys}\n"))
}

/// What that fault does.
fn what(keys: &str) -> What {
    cell(&faulty(keys)).faults.remove(0).what
}

/// Nodes by their names.
fn nodes(names: &[&str]) -> Vec<NodeRef> {
    names.iter().map(|name| NodeRef::Named((*name).to_owned())).collect()
}

fn accept(text: &str) -> Scenario {
    load("test.toml", text, &[]).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The only cell of a file.
fn cell(text: &str) -> Cell {
    let mut scenario = accept(text);
    assert_eq!(scenario.cells.len(), 1);
    scenario.cells.remove(0)
}

/// The mistakes that are found in the text without its marks.
fn mistakes(marked: &str) -> LoadErrors {
    match load("test.toml", &marked.replace(['«', '»'], ""), &[]) {
        Ok(_) => panic!("nothing wrong was found in:\n{marked}"),
        Err(errors) => errors,
    }
}

/// The text is refused for this one reason, at the marks.
#[track_caller]
fn refuse(marked: &str, message: &str) -> LoadError {
    refuse_all(marked, &[message]).remove(0)
}

/// The text is refused for these reasons, each at its marks.
#[track_caller]
fn refuse_all(marked: &str, messages: &[&str]) -> Vec<LoadError> {
    let errors = mistakes(marked);
    let expected: Vec<_> =
        marks(marked).into_iter().zip(messages.iter().map(|message| (*message).to_owned())).collect();
    let found: Vec<_> = errors.errors().iter().map(|error| (error.span.clone(), error.message.clone())).collect();
    assert_eq!(found, expected, "{errors}");
    errors.errors().to_vec()
}

/// The marked text is refused, and this is meant instead.
#[track_caller]
fn suggest(marked: &str, message: &str, meant: &str) {
    assert_eq!(refuse(marked, message).help, Some(format!("did you mean `{meant}`?")));
}

/// Where the marks stand, in bytes of the text without them.
fn marks(marked: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let (mut at, mut start) = (0, None);
    for letter in marked.chars() {
        match letter {
            '«' => start = Some(at),
            '»' => spans.push(start.take().expect("a mark opens before it closes")..at),
            _ => at += letter.len_utf8(),
        }
    }
    spans
}

fn set(arguments: &[&str]) -> Vec<Override> {
    arguments.iter().map(|argument| Override::new(*argument)).collect()
}
