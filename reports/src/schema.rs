//! JSON Schemas of what is written here, for editors, validators and other programs.
//!
//! Draft 7, since that is the newest that editors' TOML and JSON plug-ins agree on. Schemas describe;
//! they do not forbid keys that they do not know, as readers do not.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::check::CheckReport;
use crate::result::SweepReport;
use crate::trace::{TraceEvent, TraceFooter, TraceHeader};

/// The schema of `fencepost.result/1`.
#[must_use]
pub fn result_schema() -> String {
    pretty(generator().into_root_schema_for::<SweepReport>())
}

/// The schema of `fencepost.check/1`.
#[must_use]
pub fn check_schema() -> String {
    pretty(generator().into_root_schema_for::<CheckReport>())
}

/// The schema of one line of `fencepost.trace/1`: a header, an event, or a footer.
#[must_use]
pub fn trace_schema() -> String {
    let mut generator = generator();
    let kinds = [
        kind_of_line::<TraceHeader>(&mut generator),
        kind_of_line::<TraceEvent>(&mut generator),
        kind_of_line::<TraceFooter>(&mut generator),
    ];
    pretty(json_schema!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "TraceLine",
        "description": "One line of a trace: the first is a header, the last a footer, the others are events.",
        "oneOf": kinds,
        "definitions": generator.take_definitions(true),
    }))
}

fn generator() -> SchemaGenerator {
    SchemaSettings::draft07().for_serialize().into_generator()
}

fn kind_of_line<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// # Panics
/// Never: a schema is JSON already.
fn pretty(schema: Schema) -> String {
    let mut value = schema.to_value();
    // Whether the library keeps the order of insertion depends on what else is compiled with it.
    value.sort_all_objects();
    let mut json = serde_json::to_string_pretty(&value).expect("a schema is JSON already");
    json.push('\n');
    json
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::result::to_json;
    use crate::testing::{gc_pause, longest_belief_overlap, small_trace};

    /// The schema's definition of that name allows the value: its keys and its required ones.
    #[track_caller]
    fn expect_described(schema: &Value, value: &Value) {
        let keys = |of: &Value| of.as_object().map(|map| map.keys().cloned().collect::<BTreeSet<_>>());
        let described = keys(&schema["properties"]).expect("an object is described");
        let required: BTreeSet<String> =
            serde_json::from_value(schema["required"].clone()).expect("some keys are always there");
        let found = keys(value).expect("an object was written");
        assert!(found.is_subset(&described), "described {described:?}, written {found:?}");
        assert!(required.is_subset(&found), "required {required:?}, written {found:?}");
    }

    fn parsed(json: &str) -> Value {
        serde_json::from_str(json).expect("it is JSON")
    }

    #[test]
    fn what_is_written_as_a_result_is_described() {
        let (schema, written) = (parsed(&result_schema()), parsed(&to_json(&gc_pause())));
        expect_described(&schema, &written);
        let definitions = &schema["definitions"];
        let cell = &written["cells"][0];
        expect_described(&definitions["CellReport"], cell);
        expect_described(&definitions["PropertyReport"], &cell["properties"]["effect-order"]);
        expect_described(&definitions["Spread"], &cell["grant_overlap_ms"]);
        let figure = serde_json::to_value(longest_belief_overlap()).expect("it can be written");
        expect_described(&definitions["FigureReport"], &figure);
        expect_described(&definitions["Wanted"], &figure["expected"]);
        expect_described(&definitions["Seen"], &figure["seen"]);
    }

    #[test]
    fn every_kind_of_line_of_a_trace_is_described() {
        let schema = parsed(&trace_schema());
        let lines: Vec<Value> = small_trace().lines().map(parsed).collect();
        let kinds = ["TraceHeader", "TraceEvent", "TraceEvent", "TraceFooter"];
        assert_eq!(lines.len(), kinds.len());
        for (kind, line) in kinds.iter().zip(&lines) {
            expect_described(&schema["definitions"][kind], line);
        }
        let verdict = &lines[3]["verdicts"]["effect-order"];
        expect_described(&schema["definitions"]["TraceVerdict"], verdict);
    }

    #[test]
    fn a_line_is_of_one_kind_only() {
        let schema = parsed(&trace_schema());
        let kinds = schema["oneOf"].as_array().expect("a list of kinds");
        assert_eq!(kinds.len(), 3);
        let definitions = &schema["definitions"];
        for line in small_trace().lines().map(parsed) {
            let has_required = |kind: &&str| {
                let required = definitions[*kind]["required"].as_array().expect("some keys are required");
                required.iter().all(|key| line.get(key.as_str().expect("a key is a string")).is_some())
            };
            let fitting: Vec<_> =
                ["TraceHeader", "TraceEvent", "TraceFooter"].into_iter().filter(|kind| has_required(kind)).collect();
            assert_eq!(fitting.len(), 1, "{line} is {fitting:?}");
        }
    }

    #[test]
    fn schemas_are_draft_7() {
        for schema in [result_schema(), check_schema(), trace_schema()] {
            assert_eq!(parsed(&schema)["$schema"], "http://json-schema.org/draft-07/schema#");
            assert!(schema.ends_with("}\n") && !schema.contains("$defs"), "{schema}");
        }
    }
}
