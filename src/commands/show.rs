//! `show`: a scenario's file, to read and to start one's own from; and what can be set about a lock.

use fencepost::exit::Exit;
use models::lock::switch::{Switch, Takes};
use models::lock::{LOCKS, LockFacts};
use scenarios::catalogue;

use super::{Failure, is_path, not_a_path};
use crate::output::{definition, filled, print};

pub(crate) fn run(name: &str, lock: Option<&str>) -> Result<Exit, Failure> {
    match (name, lock) {
        ("lock", Some(lock)) => print(described(known(lock)?))?,
        ("lock", None) => return Err(Failure::NotThere(format!("which lock? There are {}", names()))),
        (file, None) if is_path(file) => {
            let message = format!("`show` prints the catalogue's scenarios, by name, and {file} is a path");
            return Err(not_a_path(Failure::NotThere(message), file));
        }
        (lock, None) if known(lock).is_ok() => {
            return Err(Failure::NotThere(format!(
                "there is no scenario `{lock}`; of the lock tells `show lock {lock}`"
            )));
        }
        (scenario, None) => print(catalogue::find(scenario)?.text)?,
        (scenario, Some(other)) => {
            let message = format!("`show {scenario} {other}` is nothing: show a scenario, or `lock` and its name");
            return Err(Failure::NotThere(message));
        }
    }
    Ok(Exit::AsExpected)
}

fn known(name: &str) -> Result<&'static LockFacts, Failure> {
    let known = LOCKS.iter().find(|lock| lock.name == name);
    known.ok_or_else(|| Failure::NotThere(format!("there is no lock `{name}`; there are {}", names())))
}

fn names() -> String {
    let names: Vec<_> = LOCKS.iter().map(|lock| format!("`{}`", lock.name)).collect();
    names.join(", ")
}

/// A lock's switches, and those of its servers, by the paths by which scenario files and `--set` know them.
fn described(lock: &LockFacts) -> String {
    let mut text = filled(&format!("{}: {}", lock.name, lock.title)) + "\n";
    for (place, switches) in
        [(format!("lock.{}", lock.name), lock.switches), (format!("service.{}", lock.service_name), lock.service)]
    {
        for switch in switches {
            text.push('\n');
            text.push_str(&setting(&format!("{place}.{}", switch.path), switch));
        }
    }
    let points = lock.points.iter().map(|point| point.0);
    let requests = lock.operations.iter().map(|operation| operation.0);
    for (title, names) in [("points", points.collect::<Vec<_>>()), ("requests", requests.collect())] {
        if !names.is_empty() {
            text.push('\n');
            text.push_str(&definition(&format!("its {title}"), COLUMN, &names.join(" ")));
        }
    }
    text
}

fn setting(path: &str, switch: &Switch) -> String {
    let head = filled(path) + "\n" + &definition("", 2, switch.about);
    let lines = match switch.takes {
        Takes::Words(words) => {
            let name = |i: usize, name| if i == 0 { format!("  {name} (default)") } else { format!("  {name}") };
            let named = words.iter().enumerate().map(|(i, word)| (name(i, word.name), word.meaning, word.source));
            named.map(line).collect::<String>()
        }
        Takes::Number { least, most, default, source } => {
            line((format!("  {least} to {most}"), &format!("Default: {default}"), source))
        }
        Takes::Duration { default, source } => {
            line(("  a duration".to_owned(), &format!("Default: {default}"), source))
        }
        Takes::Span { default, source } => {
            line(("  a duration, fixed or drawn".to_owned(), &format!("Default: {default}"), source))
        }
    };
    head + &lines
}

fn line((name, meaning, source): (String, &str, &str)) -> String {
    definition(&name, COLUMN, meaning) + &definition("", COLUMN, source)
}

/// Where the meanings begin.
const COLUMN: usize = 34;
