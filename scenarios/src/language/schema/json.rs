//! The few kinds of schemas that the language needs.

pub(super) use serde_json::Value as Json;
use serde_json::{Map, json};

/// A table with these keys and no others.
pub(super) fn object(what: &str, keys: Vec<(&'static str, Json)>) -> Json {
    let properties: Map<String, Json> = keys.into_iter().map(|(key, schema)| (key.to_owned(), schema)).collect();
    described(what, json!({ "type": "object", "properties": properties, "additionalProperties": false }))
}

/// A table with exactly one of these keys.
pub(super) fn one_key(what: &str, keys: Vec<(&'static str, Json)>) -> Json {
    let mut choice = object(what, keys);
    choice["minProperties"] = json!(1);
    choice["maxProperties"] = json!(1);
    choice
}

/// A table whose keys are the user's own names.
pub(super) fn own_names(what: &str, below: Json) -> Json {
    described(what, json!({ "type": "object", "additionalProperties": below }))
}

pub(super) fn list(what: &str, item: Json) -> Json {
    described(what, json!({ "type": "array", "items": item }))
}

pub(super) fn any_of<const N: usize>(what: &str, schemas: [Json; N]) -> Json {
    described(what, json!({ "anyOf": values(schemas) }))
}

/// One of these words.
pub(super) fn words(what: &str, words: impl IntoIterator<Item = &'static str>) -> Json {
    described(what, json!({ "enum": values(words) }))
}

pub(super) fn string(what: &str) -> Json {
    described(what, json!({ "type": "string" }))
}

pub(super) fn pattern(what: &str, pattern: &str) -> Json {
    described(what, json!({ "type": "string", "pattern": pattern }))
}

pub(super) fn truth(what: &str) -> Json {
    described(what, json!({ "type": "boolean" }))
}

/// A whole number.
pub(super) fn whole(what: &str) -> Json {
    described(what, json!({ "type": "integer" }))
}

pub(super) fn integer<T: Into<i64>>(what: &str, least: T, most: T) -> Json {
    described(what, json!({ "type": "integer", "minimum": least.into(), "maximum": most.into() }))
}

/// One of the definitions.
pub(super) fn reference(name: &str) -> Json {
    json!({ "$ref": format!("#/definitions/{name}") })
}

/// The schema with a description. (Beside a reference it would be ignored: it is put around it.)
pub(super) fn described(what: &str, mut schema: Json) -> Json {
    if what.is_empty() {
        return schema;
    }
    if schema.get("$ref").is_some() {
        return json!({ "description": what, "allOf": [schema] });
    }
    schema["description"] = text(what);
    schema
}

pub(super) fn values<T: Into<Json>>(values: impl IntoIterator<Item = T>) -> Json {
    Json::Array(values.into_iter().map(Into::into).collect())
}

pub(super) fn text(text: &str) -> Json {
    Json::String(text.to_owned())
}

/// Indented and sorted: whether the library keeps another order depends on what else is compiled with it.
pub(super) fn pretty(mut schema: Json) -> String {
    schema.sort_all_objects();
    let mut text = serde_json::to_string_pretty(&schema).expect("it is JSON already");
    text.push('\n');
    text
}
