//! Reading a table key by key, so that nothing in it can be overlooked.
//!
//! [`table`] hands out [`Fields`]; every key that is asked for is known, and when the reading is over
//! every key that nobody asked for is refused. Readers have one shape, `fn(&Sink, &Node) -> Option<T>`:
//! `None` means that a mistake is in the sink (`Some` does not mean that none is: a value with an
//! unknown field beside it is still known). They read on after a mistake, so that one pass finds all.

use super::error::Sink;
use super::suggest::{expected, nearest, no_such_word};
use super::tree::{Entry, Node, Site, Table, Value};

/// The keys of one table, while they are being read.
pub(super) struct Fields<'t> {
    pub(super) sink: &'t Sink,
    /// The table's place: its key, or its word if it is written as one.
    pub(super) site: Site,
    table: &'t Table,
    known: Vec<&'static str>,
    /// Keys of the language that nothing can use yet: neither unknown nor offered.
    later: Vec<&'static str>,
    /// Keys that must be there and are not.
    missing: Vec<&'static str>,
    /// Whether the keys are names of the user's own, so that none is unknown here.
    own: bool,
}

/// Reads the table at `node`; `what` says what it is, with an article.
pub(super) fn table<'t, T>(
    sink: &'t Sink,
    node: &'t Node,
    what: &str,
    read: impl FnOnce(&mut Fields<'t>) -> Option<T>,
) -> Option<T> {
    match &node.value {
        Value::Table(table) => fields(sink, node.site, table, read),
        _ => wrong_type(sink, node, &format!("{what} is a table")),
    }
}

/// Reads a table that is known to be one.
pub(super) fn fields<'t, T>(
    sink: &'t Sink,
    site: Site,
    table: &'t Table,
    read: impl FnOnce(&mut Fields<'t>) -> Option<T>,
) -> Option<T> {
    let mut fields =
        Fields { sink, site, table, known: Vec::new(), later: Vec::new(), missing: Vec::new(), own: false };
    let value = read(&mut fields);
    fields.finish();
    #[cfg(test)]
    if value.is_some() && !fields.own {
        asked::keys(&fields.known);
    }
    value
}

impl<'t> Fields<'t> {
    /// The entry of that key, whatever it is.
    pub(super) fn get(&mut self, key: &'static str) -> Option<&'t Entry> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        self.table.get(key)
    }

    /// A key that may be missing.
    pub(super) fn maybe<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&'t Sink, &'t Node) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.get(key) {
            Some(entry) => read(self.sink, &entry.node).map(Some),
            None => Some(None),
        }
    }

    /// A key with a default.
    pub(super) fn or<T>(
        &mut self,
        key: &'static str,
        default: T,
        read: impl FnOnce(&'t Sink, &'t Node) -> Option<T>,
    ) -> Option<T> {
        self.maybe(key, read).map(|value| value.unwrap_or(default))
    }

    /// A key that must be there.
    pub(super) fn need<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&'t Sink, &'t Node) -> Option<T>,
    ) -> Option<T> {
        let Some(entry) = self.get(key) else {
            self.missing.push(key);
            return None;
        };
        read(self.sink, &entry.node)
    }

    /// Keys of the language that nothing can use yet: refused, each at its place.
    pub(super) fn not_yet(&mut self, keys: &[&'static str]) -> Option<()> {
        self.later.extend(keys);
        let mut fine = Some(());
        for entry in keys.iter().filter_map(|key| self.table.get(key)) {
            fine = not_supported(self.sink, entry.site, &entry.key);
        }
        fine
    }

    /// Whether that key is there, without asking for it.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.get(key).is_some()
    }

    /// All entries of a table whose keys are names that the reader checks itself.
    pub(super) fn entries(&mut self) -> &'t [Entry] {
        self.own = true;
        &self.table.entries
    }

    /// The keys that nobody has asked for so far.
    pub(super) fn unknown(&self) -> impl Iterator<Item = &'t Entry> {
        self.table
            .entries
            .iter()
            .filter(|_| !self.own)
            .filter(|entry| !self.known.iter().chain(&self.later).any(|known| *known == entry.key))
    }

    /// Whether an unknown key is nearly one of these: then that is the mistake, and not that they are
    /// missing.
    pub(super) fn misspelt(&self, keys: &[&str]) -> bool {
        self.unknown().any(|entry| nearest(&entry.key, keys.iter().copied()).is_some())
    }

    /// Reports the keys that nobody asked for, and those that somebody asked for in vain.
    fn finish(&self) {
        for entry in self.unknown() {
            let meant = nearest(&entry.key, self.known.iter().chain(&self.later).copied());
            let message = format!("unknown field `{}`", entry.key);
            no_such_word(self.sink, entry.site, &message, meant, ", expected", &self.known);
        }
        for key in self.missing.iter().filter(|key| !self.misspelt(&[**key])) {
            self.sink.error(self.site, format!("missing `{key}`"));
        }
    }
}

/// What a choice says: a word, or a table with one key.
#[derive(Clone, Copy)]
pub(super) struct Choice<'t> {
    pub(super) name: &'static str,
    /// The name's place.
    pub(super) site: Site,
    /// What is below the name; `None` for a word, which is short for its empty table.
    pub(super) node: Option<&'t Node>,
}

/// Reads a choice among `names`; those in `later` belong to the language but to nothing that exists.
pub(super) fn choice<'t>(
    sink: &'t Sink,
    node: &'t Node,
    what: &str,
    names: &[&'static str],
    later: &[&str],
) -> Option<Choice<'t>> {
    let (name, site, below) = match &node.value {
        Value::Text(word) => (word, node.site, None),
        Value::Table(table) => match table.entries.as_slice() {
            [] => {
                sink.error(node.site, format!("{what} is missing, expected {}", expected(names.iter().copied())));
                return None;
            }
            [entry] => (&entry.key, entry.site, Some(&entry.node)),
            [first, second, ..] => {
                let message = format!("{what} is one thing, but here are `{}` and `{}`", first.key, second.key);
                let help = "drop one; if the matrix is to choose, say none at the top and one in each option";
                sink.error_with(second.site, message, Some(help.to_owned()));
                return None;
            }
        },
        _ => return wrong_type(sink, node, &format!("{what} is a word or a table with one key")),
    };
    #[cfg(test)]
    asked::keys(names);
    if let Some(name) = names.iter().copied().find(|known| known == name) {
        return Some(Choice { name, site, node: below });
    }
    if later.contains(&name.as_str()) {
        return not_supported(sink, site, name);
    }
    unknown_word(sink, site, what, name, names)
}

impl<'t> Choice<'t> {
    /// Reads what is below the name as a table.
    pub(super) fn table<T>(&self, sink: &'t Sink, read: impl FnOnce(&mut Fields<'t>) -> Option<T>) -> Option<T> {
        match self.node {
            Some(node) => table(sink, node, &format!("`{}`", self.name), read),
            None => fields(sink, self.site, Table::EMPTY, read),
        }
    }

    /// Makes sure that there is nothing below the name.
    pub(super) fn bare<T>(&self, sink: &'t Sink, value: T) -> Option<T> {
        self.table(sink, |_| Some(value))
    }

    /// Reads what is below the name as a value.
    pub(super) fn value<T>(
        &self,
        sink: &'t Sink,
        what: &str,
        read: impl FnOnce(&'t Sink, &'t Node) -> Option<T>,
    ) -> Option<T> {
        let Some(node) = self.node else {
            sink.error(self.site, format!("`{}` needs {what}", self.name));
            return None;
        };
        read(sink, node)
    }
}

/// A word out of a list.
pub(super) fn word<'t>(sink: &'t Sink, node: &'t Node, what: &str, names: &[&'static str]) -> Option<&'static str> {
    #[cfg(test)]
    asked::words(names);
    let Some(found) = node.as_text() else { return wrong_type(sink, node, &format!("{what} is a word")) };
    names.iter().copied().find(|name| *name == found).or_else(|| unknown_word(sink, node.site, what, found, names))
}

/// A word that stands for one of these.
pub(super) fn one_of<T: Copy>(sink: &Sink, node: &Node, what: &str, words: &[(&'static str, T)]) -> Option<T> {
    let names: Vec<_> = words.iter().map(|(name, _)| *name).collect();
    let name = word(sink, node, what, &names)?;
    words.iter().find(|(other, _)| *other == name).map(|(_, meant)| *meant)
}

/// Reports a word that is none of `names`.
pub(super) fn unknown_word<T>(sink: &Sink, site: Site, what: &str, found: &str, names: &[&str]) -> Option<T> {
    let meant = nearest(found, names.iter().copied());
    no_such_word(sink, site, &format!("unknown word `{found}`"), meant, &format!(": {what} is"), names);
    None
}

/// Reports a part of the language that nothing can use yet.
pub(super) fn not_supported<T>(sink: &Sink, site: Site, name: &str) -> Option<T> {
    sink.error(site, format!("`{name}` is not supported yet"));
    None
}

/// Reports a value of the wrong type.
pub(super) fn wrong_type<T>(sink: &Sink, node: &Node, wanted: &str) -> Option<T> {
    sink.error(node.site, format!("{wanted}, not {}", node.kind()));
    None
}

/// Reads every item of a list, all of them even if one is wrong.
pub(super) fn list<'t, T>(
    sink: &'t Sink,
    node: &'t Node,
    what: &str,
    mut read: impl FnMut(&'t Sink, &'t Node) -> Option<T>,
) -> Option<Vec<T>> {
    let Some(items) = node.as_list() else { return wrong_type(sink, node, &format!("{what} is a list")) };
    let read: Vec<_> = items.iter().map(|item| read(sink, item)).collect();
    read.into_iter().collect()
}

/// What has been asked for: which keys of one table, which words of one place. For the test that holds the
/// schema against the reader.
#[cfg(test)]
pub(super) mod asked {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    /// A set of names that belong together.
    pub(in crate::language) type Names = BTreeSet<&'static str>;

    thread_local! {
        static KEYS: RefCell<BTreeSet<Names>> = const { RefCell::new(BTreeSet::new()) };
        static WORDS: RefCell<BTreeSet<Names>> = const { RefCell::new(BTreeSet::new()) };
    }

    pub(super) fn keys(keys: &[&'static str]) {
        KEYS.with_borrow_mut(|all| all.insert(keys.iter().copied().collect()));
    }

    pub(super) fn words(words: &[&'static str]) {
        WORDS.with_borrow_mut(|all| all.insert(words.iter().copied().collect()));
    }

    /// All keys and all words that were asked for on this thread, and forgets them.
    pub(in crate::language) fn take() -> (BTreeSet<Names>, BTreeSet<Names>) {
        (KEYS.take(), WORDS.take())
    }
}
