//! A TOML text as a tree in which every key and every value knows its place.
//!
//! The tree is our own rather than the parser's, for three reasons: a place also says in *which* text
//! it is (the file or a `--set` argument), tables keep the order of the text, and a value can be
//! written out again (as an option's label). What TOML has and scenarios do not (floats, dates) is
//! kept as [`Value::Other`], to be refused where it is read.

use std::fmt::Write as _;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::error::Sink;

/// A place in one of the texts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Site {
    /// Which text: 0 is the file, the others are the `--set` arguments in their order.
    pub(super) text: usize,
    /// Its first byte.
    pub(super) start: usize,
    /// The byte after its last.
    pub(super) end: usize,
}

impl Site {
    /// The beginning of the file: the place of what is missing from it.
    pub(super) const FILE: Self = Self { text: 0, start: 0, end: 0 };

    fn new(text: usize, span: Range<usize>) -> Self {
        Self { text, start: span.start, end: span.end }
    }
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) site: Site,
    pub(super) value: Value,
}

/// A TOML value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Truth(bool),
    List(Vec<Node>),
    Table(Table),
    /// Something that no scenario has a use for: its kind, with an article, and its text.
    Other(&'static str, String),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    /// The key's place; the value has its own.
    pub(super) site: Site,
    pub(super) node: Node,
}

/// A table, in the order of the text.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub(super) entries: Vec<Entry>,
}

/// Reads a whole text. Syntax errors go into the sink; the tree is then of no use. In what is no TOML at all
/// the parser finds something wrong with every line: the first few are enough.
pub(super) fn parse(sink: &Sink, text: usize, source: &str) -> Option<Table> {
    let (table, errors) = DeTable::parse_recoverable(source);
    for error in errors.iter().take(MOST_ERRORS) {
        let span = error.span().unwrap_or_default();
        let help = source.get(span.clone()).and_then(|key| word_and_table(key, error.message()));
        sink.error_with(Site::new(text, span), error.message(), help);
    }
    errors.is_empty().then(|| Table::from_toml(text, table.get_ref()))
}

/// What to do about a name that is a word above and a table below.
fn word_and_table(key: &str, message: &str) -> Option<String> {
    let is_both = message.starts_with("cannot extend value of type string");
    (is_both && matches!(key, "lock" | "resource"))
        .then(|| format!("`{key} = \"…\"` stands above: leave it out, since the table says which by itself"))
}

impl Table {
    /// The table that every name without switches is short for.
    pub(super) const EMPTY: &'static Self = &Self { entries: Vec::new() };

    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.key == key)
    }

    /// The table below that key, if there is one.
    pub(super) fn table(&self, key: &str) -> Option<&Self> {
        self.get(key).and_then(|entry| entry.node.as_table())
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.key.as_str())
    }

    /// The file that says nothing but that `path` is `node`.
    pub(super) fn nested(path: &[String], site: Site, node: &Node) -> Self {
        let Some((first, rest)) = path.split_first() else { return Self::default() };
        let node = if rest.is_empty() {
            node.clone()
        } else {
            Node { site, value: Value::Table(Self::nested(rest, site, node)) }
        };
        Self { entries: vec![Entry { key: first.clone(), site, node }] }
    }

    fn from_toml(text: usize, table: &DeTable<'_>) -> Self {
        let mut entries: Vec<_> = table
            .iter()
            .map(|(key, value)| Entry {
                key: key.get_ref().clone().into_owned(),
                site: Site::new(text, key.span()),
                node: Node { site: Site::new(text, value.span()), value: Value::from_toml(text, value.get_ref()) },
            })
            .collect();
        entries.sort_by_key(|entry| entry.site.start);
        Self { entries }
    }
}

impl Node {
    pub(super) fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(super) fn as_list(&self) -> Option<&[Self]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// What it is, with an article, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Text(_) => "a string",
            Value::Integer(_) => "an integer",
            Value::Truth(_) => "a truth value",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
            Value::Other(kind, _) => kind,
        }
    }

    /// Its text as TOML, on one line: two values are equal if they are written equally.
    pub(super) fn written(&self) -> String {
        match &self.value {
            Value::Text(text) => format!("{text:?}"),
            Value::Integer(number) => number.to_string(),
            Value::Truth(truth) => truth.to_string(),
            Value::List(items) => {
                let items: Vec<_> = items.iter().map(Self::written).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Table(table) if table.entries.is_empty() => "{}".to_owned(),
            Value::Table(table) => {
                let mut entries: Vec<_> = table.entries.iter().collect();
                entries.sort_by(|a, b| a.key.cmp(&b.key));
                let mut text = String::new();
                for (i, entry) in entries.into_iter().enumerate() {
                    let comma = if i == 0 { "{ " } else { ", " };
                    write!(text, "{comma}{} = {}", entry.key, entry.node.written()).expect("a string takes all");
                }
                text + " }"
            }
            Value::Other(_, text) => text.clone(),
        }
    }

    /// Its text as a person would say it: a string without its quotes.
    pub(super) fn label(&self) -> String {
        self.as_text().map_or_else(|| self.written(), str::to_owned)
    }
}

impl Value {
    fn from_toml(text: usize, value: &DeValue<'_>) -> Self {
        match value {
            DeValue::String(string) => Self::Text(string.clone().into_owned()),
            DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
                .map_or_else(|_| Self::Other("an integer beyond 64 bits", integer.to_string()), Self::Integer),
            DeValue::Float(float) => Self::Other("a float", float.as_str().to_owned()),
            DeValue::Boolean(truth) => Self::Truth(*truth),
            DeValue::Datetime(datetime) => Self::Other("a date", datetime.to_string()),
            DeValue::Array(items) => Self::List(
                items
                    .iter()
                    .map(|item| Node {
                        site: Site::new(text, item.span()),
                        value: Self::from_toml(text, item.get_ref()),
                    })
                    .collect(),
            ),
            DeValue::Table(table) => Self::Table(Table::from_toml(text, table)),
        }
    }
}

/// How many syntax errors of one text are told.
const MOST_ERRORS: usize = 3;
