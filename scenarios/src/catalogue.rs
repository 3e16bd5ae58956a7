//! The catalogue: the scenario files that an installed binary brings along.
//!
//! The files are `catalogue/<topic>/<name>.toml`, embedded as text. They are read by
//! [`language::load`](crate::language::load) like anybody's own; that each of them loads is a test.

use include_dir::{Dir, include_dir};

/// One file of the catalogue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Entry {
    /// The scenario's name, which is the file's stem.
    pub name: &'static str,
    /// The folder it lies in.
    pub topic: &'static str,
    /// What it says.
    pub text: &'static str,
    /// Where it lies, below `catalogue/`.
    pub file: &'static str,
}

/// Somebody asked for a scenario that the catalogue does not have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown scenario `{name}`{}", suggestion.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default())]
pub struct UnknownScenario {
    /// What was asked for.
    pub name: String,
    /// A name that is nearly the same.
    pub suggestion: Option<&'static str>,
}

/// Every file, in the order of the names.
#[must_use]
pub fn all() -> Vec<Entry> {
    let mut entries: Vec<_> = CATALOGUE.dirs().flat_map(Dir::files).filter_map(entry).collect();
    entries.sort();
    entries
}

/// The file of that name.
///
/// # Errors
/// If there is none; the error suggests the name that is nearest.
pub fn find(name: &str) -> Result<Entry, UnknownScenario> {
    let entries = all();
    if let Some(entry) = entries.iter().find(|entry| entry.name == name) {
        return Ok(*entry);
    }
    let near = entries.iter().map(|entry| (strsim::osa_distance(name, entry.name), entry.name)).min();
    let suggestion = near.filter(|(distance, _)| *distance <= name.chars().count() / 3).map(|(_, name)| name);
    Err(UnknownScenario { name: name.to_owned(), suggestion })
}

static CATALOGUE: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/catalogue");

fn entry(file: &'static include_dir::File<'static>) -> Option<Entry> {
    let path = file.path();
    Some(Entry {
        name: path.file_stem()?.to_str()?,
        topic: path.parent()?.to_str()?,
        text: file.contents_utf8()?,
        file: path.to_str()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::load;

    #[test]
    fn every_file_loads() {
        for entry in all() {
            if let Err(errors) = load(entry.file, entry.text, &[]) {
                panic!("{errors}");
            }
        }
    }

    #[test]
    fn a_file_is_called_what_its_scenario_is_called() {
        for entry in all() {
            let scenario = load(entry.file, entry.text, &[]).expect("every file loads");
            assert_eq!(scenario.name, entry.name, "{}", entry.file);
        }
    }

    #[test]
    fn no_name_is_used_twice() {
        let names: Vec<_> = all().into_iter().map(|entry| entry.name).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    }

    #[test]
    fn every_file_in_the_folder_is_embedded() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("catalogue");
        let mut files = Vec::new();
        for topic in std::fs::read_dir(folder).expect("the folder is there") {
            let topic = topic.expect("it can be read").path();
            for file in std::fs::read_dir(topic).expect("a topic is a folder") {
                files.push(file.expect("it can be read").path());
            }
        }
        assert_eq!(files.len(), all().len(), "{files:?}");
        assert!(!files.is_empty());
    }

    #[test]
    fn a_slip_in_a_name_is_met_with_the_right_one() {
        assert_eq!(find("gc-pause").map(|entry| entry.topic), Ok("debate"));
        let error = find("gc-pasue").expect_err("there is no such scenario");
        assert_eq!(error.to_string(), "unknown scenario `gc-pasue` (did you mean `gc-pause`?)");
        let error = find("nonsense").expect_err("there is no such scenario");
        assert_eq!(error.to_string(), "unknown scenario `nonsense`");
    }
}
