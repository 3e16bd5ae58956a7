//! Fields of JSON objects, as protobuf has them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json};

/// Something that etcd takes or says, and the model does not know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotModelled(pub String);

impl std::fmt::Display for NotModelled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not modelled: {}", self.0)
    }
}

impl std::error::Error for NotModelled {}

/// An object that is made.
#[derive(Default)]
pub(super) struct Object(Map<String, Json>);

impl Object {
    /// Whatever it is.
    pub(super) fn with(mut self, name: &str, value: impl Into<Json>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Bytes; left out if there are none.
    pub(super) fn bytes(self, name: &str, bytes: &[u8]) -> Self {
        if bytes.is_empty() { self } else { self.with(name, STANDARD.encode(bytes)) }
    }

    /// A number of 64 bits; left out if it is 0.
    pub(super) fn number(self, name: &str, number: impl Into<i128>) -> Self {
        let number = number.into();
        if number == 0 { self } else { self.with(name, number.to_string()) }
    }

    /// Left out if it is false.
    pub(super) fn flag(self, name: &str, flag: bool) -> Self {
        if flag { self.with(name, true) } else { self }
    }

    /// Left out if there are none.
    pub(super) fn list(self, name: &str, items: Vec<Json>) -> Self {
        if items.is_empty() { self } else { self.with(name, items) }
    }

    /// What the other has as well.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Bytes, by themselves.
    pub(super) fn encoded(bytes: &[u8]) -> Json {
        STANDARD.encode(bytes).into()
    }

    pub(super) fn json(self) -> Json {
        Json::Object(self.0)
    }
}

/// An object that is read: what is not asked for is not known.
pub(super) struct Fields(Map<String, Json>);

impl Fields {
    pub(super) fn of(json: &Json) -> Result<Self, NotModelled> {
        json.as_object().cloned().map(Self).ok_or_else(|| NotModelled(format!("no object: {json}")))
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Json> {
        self.0.remove(name)
    }

    /// An object within it; an empty one if it was left out.
    pub(super) fn inner(&mut self, name: &str) -> Result<Self, NotModelled> {
        self.take(name).map_or_else(|| Ok(Self(Map::new())), |json| Self::of(&json))
    }

    pub(super) fn bytes(&mut self, name: &str) -> Result<Vec<u8>, NotModelled> {
        match self.take(name) {
            None => Ok(Vec::new()),
            Some(Json::String(text)) => STANDARD.decode(&text).map_err(|why| NotModelled(format!("{name}: {why}"))),
            Some(other) => Err(NotModelled(format!("{name}: {other}"))),
        }
    }

    /// A number, in quotes or not.
    pub(super) fn number<T: TryFrom<i64>>(&mut self, name: &str) -> Result<T, NotModelled> {
        let number = match self.take(name) {
            None => Some(0),
            Some(Json::String(text)) => text.parse().ok(),
            Some(json) => json.as_i64(),
        };
        number
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| NotModelled(format!("{name}: not such a number")))
    }

    /// Bytes, by themselves.
    pub(super) fn decoded(json: &Json) -> Result<Vec<u8>, NotModelled> {
        let text = json.as_str().unwrap_or_default();
        STANDARD.decode(text).map_err(|why| NotModelled(format!("{json}: {why}")))
    }

    pub(super) fn flag(&mut self, name: &str) -> bool {
        self.take(name) == Some(Json::Bool(true))
    }

    pub(super) fn text(&mut self, name: &str) -> String {
        match self.take(name) {
            Some(Json::String(text)) => text,
            _ => String::new(),
        }
    }

    pub(super) fn list<T>(
        &mut self,
        name: &str,
        each: impl FnMut(&Json) -> Result<T, NotModelled>,
    ) -> Result<Vec<T>, NotModelled> {
        match self.take(name) {
            None => Ok(Vec::new()),
            Some(Json::Array(items)) => items.iter().map(each).collect(),
            Some(other) => Err(NotModelled(format!("{name}: {other}"))),
        }
    }

    /// There was nothing else.
    pub(super) fn end(self) -> Result<(), NotModelled> {
        match self.0.into_iter().next() {
            None => Ok(()),
            Some((name, value)) => Err(NotModelled(format!("{name}: {value}"))),
        }
    }
}
