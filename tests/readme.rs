//! What the README shows is what happens, and what the documentation says of locks is so.

use std::fs;
use std::path::Path;
use std::process::Command;

use fencepost::Trial;
use models::lock::Lock;
use models::lock::postgres::{AdvisoryLock, LeaseRowLock, PgLock, RowLock};
use spec::Property;

fn readme() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("there is one")
}

/// The blocks of that language.
fn blocks(language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let text = readme();
    text.split(fence.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_output_of_the_first_command_is_as_shown() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .args(["scenario", "gc-pause"])
        .current_dir(folder.path())
        .env("NO_COLOR", "1")
        .output()
        .expect("it starts");
    let printed = String::from_utf8(output.stdout).expect("it is text");
    assert!(blocks("text").contains(&printed), "the README does not show this:\n{printed}");
}

#[test]
fn the_scenario_comes_out_as_it_says() {
    let scenarios = blocks("toml");
    assert_eq!(scenarios.len(), 1);
    for text in scenarios {
        let verdict = Trial::of_text(&text).expect("it can be understood").seeds(0..200).run();
        for cell in verdict.cells() {
            assert_eq!(cell.differences(), [""; 0]);
        }
    }
}

#[test]
fn what_locks_on_postgresql_rest_on_is_as_in_their_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/postgres.md");
    let text = fs::read_to_string(path).expect("there is one");
    let advisory = PgLock::Advisory(AdvisoryLock::default());
    let [row, lease] = [PgLock::Row(RowLock::default()), PgLock::Lease(LeaseRowLock::default())];
    let needs = |lock: PgLock, property: Property| {
        let needs = Lock::Postgres(lock).needs(property.level()).iter().map(|need| format!("`{need}`"));
        let needs: Vec<String> = needs.collect();
        if needs.is_empty() { "nothing".to_owned() } else { needs.join(", ") }
    };
    let mut table = "| property | `postgres`, `postgres-row` | `lease-row` |\n|---|---|---|\n".to_owned();
    for property in Property::ALL {
        let [advisory, row, lease] = [advisory, row, lease].map(|lock| needs(lock, property));
        assert_eq!(advisory, row, "they have one column");
        table += &format!("| `{property}` | {row} | {lease} |\n");
    }
    assert!(text.contains(&table), "docs/postgres.md should have this table:\n{table}");
}
