use host::Duration;

use super::{Failure, Said, schema};
use crate::postgres::{
    Advise, AdvisoryKey, Assign, Condition, Database, Delete, Insert, Instant, OnConflict, Outcome, PgError, PgReply,
    PgRequest, Pid, Row, RowKey, Scope, Select, Setting, SqlState, Status, Strength, Table, Tag, Update, VersionTo,
    Wait,
};

fn row(table: Table, name: &str) -> RowKey {
    RowKey { table, name: name.into() }
}

fn advise(key: AdvisoryKey, strength: Strength, scope: Scope, is_try: bool) -> PgRequest {
    PgRequest::Advise(Box::new(Advise { key, strength, scope, is_try, lock: None }))
}

/// One of each kind, with all that a statement can have.
fn requests() -> Vec<PgRequest> {
    let keys = [AdvisoryKey::Big(i64::MIN), AdvisoryKey::Big(42), AdvisoryKey::Pair(i32::MIN, 7)];
    let mut all = vec![
        PgRequest::Begin,
        PgRequest::Commit,
        PgRequest::Rollback,
        PgRequest::Savepoint("end".into()),
        PgRequest::RollbackTo("a \"b\"".into()),
        PgRequest::ReleaseSavepoint("Ä".into()),
        PgRequest::UnlockAll,
        PgRequest::DiscardAll,
        PgRequest::NextVal("it's \"so\"".into()),
        PgRequest::XactId,
        PgRequest::XactIdIfAssigned,
        PgRequest::Cancel(Pid(7)),
        PgRequest::Terminate(Pid(u32::MAX)),
        PgRequest::IsInRecovery,
        PgRequest::One,
        PgRequest::Checkpoint,
        PgRequest::CreateIndex,
    ];
    for key in keys {
        for strength in [Strength::Exclusive, Strength::Shared] {
            all.push(PgRequest::Unlock { key, strength });
            for scope in [Scope::Session, Scope::Transaction] {
                all.extend([false, true].map(|is_try| advise(key, strength, scope, is_try)));
            }
        }
    }
    for (setting, local) in Setting::ALL.into_iter().zip([false, true].into_iter().cycle()) {
        all.push(PgRequest::Set { setting, to: Duration::from_millis(250), local });
    }
    for (table, for_update) in
        Table::ALL.into_iter().zip([None, Some(Wait::Wait), Some(Wait::NoWait), Some(Wait::SkipLocked)])
    {
        all.push(PgRequest::Select(Box::new(Select { row: row(table, "it's"), for_update, errand: None })));
    }
    all.extend(writes());
    all
}

fn assigns() -> Vec<Assign> {
    vec![
        Assign::Owner(Some("a\\'; DROP TABLE locks --".into())),
        Assign::Ends(Instant::AfterClock(-5)),
        Assign::Version(VersionTo::Next),
        Assign::Value("".into()),
    ]
}

fn conditions() -> Vec<Condition> {
    vec![
        Condition::OwnerIs("o'".into()),
        Condition::Unowned,
        Condition::EndsBy(Instant::AfterNow(0)),
        Condition::EndsAfter(Instant::At(-3)),
        Condition::VersionIs(7),
        Condition::VersionBelow(i64::MAX),
    ]
}

fn writes() -> Vec<PgRequest> {
    let key = row(Table::Leases, "a");
    let others = vec![
        Assign::Version(VersionTo::Number(3)),
        Assign::Owner(None),
        Assign::Ends(Instant::AfterNow(5_000_000)),
        Assign::Value("v".into()),
    ];
    let on_conflict = OnConflict::Update { set: assigns(), only_if: conditions() };
    let always = OnConflict::Update { set: others.clone(), only_if: vec![] };
    let insert = |set: &[Assign], on_conflict| {
        PgRequest::Insert(Box::new(Insert { row: key, set: set.to_vec(), on_conflict, errand: None }))
    };
    let update =
        |set: Vec<Assign>, only_if| PgRequest::Update(Box::new(Update { row: key, set, only_if, errand: None }));
    let delete = |only_if| PgRequest::Delete(Box::new(Delete { row: key, only_if }));
    vec![
        insert(&[], OnConflict::Fail),
        insert(&others, OnConflict::Nothing),
        insert(&others, on_conflict),
        insert(&others[..1], always),
        update(assigns(), conditions()),
        update(others, vec![]),
        delete(conditions()),
        delete(vec![]),
    ]
}

#[test]
fn what_is_said_is_read_again() {
    for request in requests() {
        let sql = request.to_sql().expect("a statement");
        assert_eq!(PgRequest::from_sql(&sql).as_ref(), Ok(&request), "{sql}");
    }
    assert_eq!(PgRequest::Startup(Database::default()).to_sql(), None);
}

#[test]
fn statements_are_as_the_documentation_has_them() {
    let said = |request: &PgRequest| request.to_sql().expect("a statement");
    let shared = advise(AdvisoryKey::Pair(0, 7), Strength::Shared, Scope::Transaction, true);
    assert_eq!(said(&shared), "SELECT pg_try_advisory_xact_lock_shared(0, 7)");
    assert_eq!(said(&PgRequest::NextVal("fence".into())), r#"SELECT nextval('"fence"')"#);
    let local = PgRequest::Set { setting: Setting::LockTimeout, to: Duration::from_millis(200), local: true };
    assert_eq!(said(&local), "SET LOCAL lock_timeout = 200");
    let update = PgRequest::Update(Box::new(Update {
        row: row(Table::Tokens, "it's"),
        set: vec![Assign::Version(VersionTo::Next), Assign::Ends(Instant::AfterNow(5))],
        only_if: vec![Condition::VersionBelow(9)],
        errand: None,
    }));
    assert_eq!(
        said(&update),
        "UPDATE tokens SET version = tokens.version + 1, ends = (extract(epoch from now()) * 1000000)::bigint + 5 \
         WHERE tokens.name = 'it''s' AND tokens.version < 9 RETURNING owner, ends, version, value"
    );
    let first = PgRequest::Insert(Box::new(Insert {
        row: row(Table::Tokens, "a"),
        set: vec![Assign::Version(VersionTo::Next)],
        on_conflict: OnConflict::Nothing,
        errand: None,
    }));
    assert_eq!(
        said(&first),
        "INSERT INTO tokens (name, version) VALUES ('a', 1) ON CONFLICT (name) DO NOTHING RETURNING owner, ends, version, value"
    );
}

#[test]
fn what_is_not_written_here_is_refused() {
    for text in [
        "",
        "VACUUM",
        "BEGIN; COMMIT",
        "SELECT 2",
        "SELECT pg_sleep(1)",
        "SELECT pg_advisory_lock(1, 4294967296)",
        "SELECT pg_advisory_lock(9223372036854775808)",
        "SELECT pg_terminate_backend(-1)",
        "SAVEPOINT 'a'",
        "SAVEPOINT \"a",
        "SET work_mem = 4",
        "SET lock_timeout = -1",
        "SELECT nextval('fence')",
        "UPDATE locks SET version = 1 WHERE leases.name = 'a' RETURNING owner, ends, version, value",
        "UPDATE locks SET version = 1 RETURNING owner, ends, version, value",
        "DELETE FROM locks WHERE locks.name = 'a'",
    ] {
        assert!(PgRequest::from_sql(text).is_err(), "{text}");
    }
}

fn said(columns: &[Option<&str>], tag: &str) -> Said {
    let row = columns.iter().map(|column| column.map(str::to_owned)).collect();
    Said { row: Some(row), tag: Some(tag.to_owned()), error: None, warning: None, status: Some(b'I') }
}

fn outcome(request: &PgRequest, said: &Said) -> Result<Outcome, PgError> {
    PgReply::read(request, said).expect("it is an answer").outcome
}

#[test]
fn answers_are_read_by_what_was_asked() {
    let key = AdvisoryKey::Big(1);
    let [lock, attempt] = [false, true].map(|is_try| advise(key, Strength::Exclusive, Scope::Session, is_try));
    assert_eq!(outcome(&lock, &said(&[Some("")], "SELECT 1")), Ok(Outcome::Void));
    assert_eq!(outcome(&attempt, &said(&[Some("f")], "SELECT 1")), Ok(Outcome::Bool(false)));
    assert_eq!(outcome(&PgRequest::One, &said(&[Some("1")], "SELECT 1")), Ok(Outcome::Number(Some(1))));
    assert_eq!(outcome(&PgRequest::XactIdIfAssigned, &said(&[None], "SELECT 1")), Ok(Outcome::Number(None)));
    let started = Said { row: Some(vec![Some("77".to_owned())]), status: Some(b'I'), ..Said::default() };
    assert_eq!(outcome(&PgRequest::Startup(Database::default()), &started), Ok(Outcome::Started(Pid(77))));
    let select = PgRequest::Select(Box::new(Select { row: row(Table::Locks, "a"), for_update: None, errand: None }));
    let found = Row { owner: None, ends: -1, version: 2, value: "v".into() };
    let columns = [None, Some("-1"), Some("2"), Some("v")];
    assert_eq!(outcome(&select, &said(&columns, "SELECT 1")), Ok(Outcome::Row(Some(Box::new(found)))));
    assert_eq!(outcome(&select, &Said { row: None, ..said(&[], "SELECT 0") }), Ok(Outcome::Row(None)));
    for tag in Tag::ALL {
        let done = Said { row: None, ..said(&[], tag.text()) };
        assert_eq!(outcome(&PgRequest::Begin, &done), Ok(Outcome::Done(tag)));
    }
}

#[test]
fn errors_warnings_and_the_status_are_read() {
    let failed = |severity: &str, code: &str, status| Said {
        error: Some(Failure { severity: severity.to_owned(), code: code.to_owned() }),
        status,
        ..Said::default()
    };
    let read = |said: &Said| PgReply::read(&PgRequest::One, said);
    let reply = read(&failed("ERROR", "25P02", Some(b'E'))).expect("it is an answer");
    assert_eq!(reply.outcome, Err(PgError::error(SqlState::InFailedSqlTransaction)));
    assert_eq!(reply.status, Status::Failed);
    let over = read(&failed("FATAL", "57P01", None)).expect("it is an answer");
    assert!(over.is_fatal() && over.status == Status::Idle);
    let at_once = read(&Said { warning: Some("57P02".to_owned()), ..Said::default() }).expect("it is an answer");
    assert_eq!((at_once.outcome, at_once.warning), (Err(PgError::fatal(SqlState::CrashShutdown)), None));
    for state in SqlState::ALL {
        assert_eq!(SqlState::from_code(state.code()), Ok(*state));
    }
    let warned = Said { warning: Some("25P01".to_owned()), status: Some(b'T'), ..said(&[Some("1")], "SELECT 1") };
    let reply = read(&warned).expect("it is an answer");
    assert_eq!((reply.warning, reply.status), (Some(SqlState::NoActiveSqlTransaction), Status::InTransaction));
    for odd in [
        failed("ERROR", "42P01", Some(b'I')),
        failed("NOTICE", "25P02", Some(b'I')),
        Said { status: Some(b'X'), ..said(&[Some("1")], "SELECT 1") },
        said(&[Some("one")], "SELECT 1"),
        said(&[], "SELECT 1"),
        Said::default(),
    ] {
        assert!(read(&odd).is_err(), "{odd:?}");
    }
}

#[test]
fn the_schema_has_every_table_and_the_sequence() {
    let all: Vec<String> = schema().collect();
    for table in Table::ALL {
        assert!(all.iter().any(|made| made.starts_with(&format!("CREATE TABLE {} (", table.name()))), "{all:?}");
    }
    assert_eq!(all.last().map(String::as_str), Some("CREATE SEQUENCE \"fence\""));
}
