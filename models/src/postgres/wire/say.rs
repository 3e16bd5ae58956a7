//! Statements as text.

use host::Name;

use super::COLUMNS;
use crate::postgres::api::{Advise, PgRequest, Scope, Wait};
use crate::postgres::key::{Pid, Strength};
use crate::postgres::row::{Assign, Condition, Delete, Insert, Instant, OnConflict, Select, Table, Update, VersionTo};

pub(super) fn statement(request: &PgRequest) -> Option<String> {
    let fixed = |text: &str| text.to_owned();
    Some(match request {
        PgRequest::Startup(_) => return None,
        PgRequest::Begin => fixed("BEGIN"),
        PgRequest::Commit => fixed("COMMIT"),
        PgRequest::Rollback => fixed("ROLLBACK"),
        PgRequest::Savepoint(name) => format!("SAVEPOINT {}", identifier(name)),
        PgRequest::RollbackTo(name) => format!("ROLLBACK TO SAVEPOINT {}", identifier(name)),
        PgRequest::ReleaseSavepoint(name) => format!("RELEASE SAVEPOINT {}", identifier(name)),
        PgRequest::Advise(advise) => format!("SELECT {}({})", function(advise), advise.key),
        PgRequest::Unlock { key, strength: Strength::Exclusive } => format!("SELECT pg_advisory_unlock({key})"),
        PgRequest::Unlock { key, strength: Strength::Shared } => format!("SELECT pg_advisory_unlock_shared({key})"),
        PgRequest::UnlockAll => fixed("SELECT pg_advisory_unlock_all()"),
        PgRequest::DiscardAll => fixed("DISCARD ALL"),
        PgRequest::NextVal(name) => format!("SELECT nextval({})", literal(&identifier(name))),
        PgRequest::XactId => fixed("SELECT pg_current_xact_id()"),
        PgRequest::XactIdIfAssigned => fixed("SELECT pg_current_xact_id_if_assigned()"),
        PgRequest::Set { setting, to, local } => {
            format!("SET {}{} = {}", if *local { "LOCAL " } else { "" }, setting.name(), to.as_millis())
        }
        PgRequest::Select(select) => self::select(select),
        PgRequest::Insert(insert) => self::insert(insert),
        PgRequest::Update(update) => self::update(update),
        PgRequest::Delete(delete) => self::delete(delete),
        PgRequest::Cancel(Pid(pid)) => format!("SELECT pg_cancel_backend({pid})"),
        PgRequest::Terminate(Pid(pid)) => format!("SELECT pg_terminate_backend({pid})"),
        PgRequest::IsInRecovery => fixed("SELECT pg_is_in_recovery()"),
        PgRequest::One => fixed("SELECT 1"),
        PgRequest::Checkpoint => fixed("CHECKPOINT"),
        PgRequest::CreateIndex => fixed("CREATE INDEX CONCURRENTLY ON locks (version)"),
    })
}

/// One of the eight that take an advisory lock.
const fn function(advise: &Advise) -> &'static str {
    match (advise.is_try, advise.scope, advise.strength) {
        (false, Scope::Session, Strength::Exclusive) => "pg_advisory_lock",
        (false, Scope::Session, Strength::Shared) => "pg_advisory_lock_shared",
        (false, Scope::Transaction, Strength::Exclusive) => "pg_advisory_xact_lock",
        (false, Scope::Transaction, Strength::Shared) => "pg_advisory_xact_lock_shared",
        (true, Scope::Session, Strength::Exclusive) => "pg_try_advisory_lock",
        (true, Scope::Session, Strength::Shared) => "pg_try_advisory_lock_shared",
        (true, Scope::Transaction, Strength::Exclusive) => "pg_try_advisory_xact_lock",
        (true, Scope::Transaction, Strength::Shared) => "pg_try_advisory_xact_lock_shared",
    }
}

fn select(select: &Select) -> String {
    let Select { row, for_update, errand: _ } = select;
    let locking = match for_update {
        None => "",
        Some(Wait::Wait) => " FOR UPDATE",
        Some(Wait::NoWait) => " FOR UPDATE NOWAIT",
        Some(Wait::SkipLocked) => " FOR UPDATE SKIP LOCKED",
    };
    format!("SELECT {COLUMNS} FROM {}{}{locking}", row.table.name(), only(row.table, Some(row.name), &[]))
}

fn insert(insert: &Insert) -> String {
    let Insert { row, set, on_conflict, errand: _ } = insert;
    let columns: String = set.iter().map(|assign| format!(", {}", column(assign))).collect();
    // There is no version before the first.
    let first = |assign: &Assign| match assign {
        Assign::Version(VersionTo::Next) => "1".to_owned(),
        other => value(row.table, other),
    };
    let values: String = set.iter().map(|assign| format!(", {}", first(assign))).collect();
    let conflict = match on_conflict {
        OnConflict::Fail => String::new(),
        OnConflict::Nothing => " ON CONFLICT (name) DO NOTHING".to_owned(),
        OnConflict::Update { set, only_if } => {
            format!(" ON CONFLICT (name) DO UPDATE SET {}{}", assigned(row.table, set), only(row.table, None, only_if))
        }
    };
    let (table, name) = (row.table.name(), literal(&row.name));
    format!("INSERT INTO {table} (name{columns}) VALUES ({name}{values}){conflict} RETURNING {COLUMNS}")
}

fn update(update: &Update) -> String {
    let Update { row, set, only_if, errand: _ } = update;
    let (set, only) = (assigned(row.table, set), only(row.table, Some(row.name), only_if));
    format!("UPDATE {} SET {set}{only} RETURNING {COLUMNS}", row.table.name())
}

fn delete(delete: &Delete) -> String {
    let Delete { row, only_if } = delete;
    format!("DELETE FROM {}{} RETURNING {COLUMNS}", row.table.name(), only(row.table, Some(row.name), only_if))
}

fn assigned(table: Table, set: &[Assign]) -> String {
    let set: Vec<String> = set.iter().map(|assign| format!("{} = {}", column(assign), value(table, assign))).collect();
    set.join(", ")
}

const fn column(assign: &Assign) -> &'static str {
    match assign {
        Assign::Owner(_) => "owner",
        Assign::Ends(_) => "ends",
        Assign::Version(_) => "version",
        Assign::Value(_) => "value",
    }
}

fn value(table: Table, assign: &Assign) -> String {
    match assign {
        Assign::Owner(None) => "NULL".to_owned(),
        Assign::Owner(Some(text)) | Assign::Value(text) => literal(&String::from_utf8_lossy(text.as_bytes())),
        Assign::Ends(when) => instant(*when),
        Assign::Version(VersionTo::Next) => format!("{}.version + 1", table.name()),
        Assign::Version(VersionTo::Number(number)) => number.to_string(),
    }
}

/// `WHERE …`, of a row with that name if it must have one.
fn only(table: Table, name: Option<Name>, only_if: &[Condition]) -> String {
    let table = table.name();
    let name = name.map(|name| format!("{table}.name = {}", literal(&name)));
    let conditions = only_if.iter().map(|condition| match condition {
        Condition::OwnerIs(owner) => {
            format!("{table}.owner = {}", literal(&String::from_utf8_lossy(owner.as_bytes())))
        }
        Condition::Unowned => format!("{table}.owner IS NULL"),
        Condition::EndsBy(when) => format!("{table}.ends <= {}", instant(*when)),
        Condition::EndsAfter(when) => format!("{table}.ends > {}", instant(*when)),
        Condition::VersionIs(number) => format!("{table}.version = {number}"),
        Condition::VersionBelow(number) => format!("{table}.version < {number}"),
    });
    let all: Vec<String> = name.into_iter().chain(conditions).collect();
    if all.is_empty() { String::new() } else { format!(" WHERE {}", all.join(" AND ")) }
}

fn instant(when: Instant) -> String {
    let after = |clock: &str, micros| format!("(extract(epoch from {clock}()) * 1000000)::bigint + {micros}");
    match when {
        Instant::At(micros) => micros.to_string(),
        Instant::AfterNow(micros) => after("now", micros),
        Instant::AfterClock(micros) => after("clock_timestamp", micros),
    }
}

/// As a string. (`standard_conforming_strings` is on, as it is by default: a backslash is one.)
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// As a name, which keeps its case and may be a key word.
pub(super) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
