//! Random statements: what they are made of.
//!
//! Few keys, few rows and few sessions, so that they meet. Whom an operator cancels or terminates is told by the session's place.

use models::postgres::{
    Advise, AdvisoryKey, Assign, Condition, Delete, Insert, Instant, OnConflict, PgRequest, Pid, RowKey, Scope, Select,
    Strength, Table, Update, Value, VersionTo, Wait,
};
use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any};
use proptest::prop_oneof;
use proptest::sample::select;

/// How many sessions there are, beside an operator's.
pub(crate) const SESSIONS: usize = 5;

/// The row that is only locked and never written: however many wait for it, they are served in the order of asking.
pub(crate) const QUEUE: (Table, &str) = (Table::Locks, "queue");

/// One thing that happens.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Step {
    /// A session asks, and begins before if there is none.
    Ask(usize, PgRequest),
    /// An operator cancels what that session asks.
    Cancel(usize),
    /// An operator ends that session.
    Terminate(usize),
    /// That session's client closes the connection.
    Close(usize),
    /// The server dies, and starts again.
    Kill,
    /// The server is asked to end, and starts again.
    Stop,
}

/// So many steps; `restarts`: some way in, the server dies, and later it is asked to end.
pub(crate) fn sequences(length: usize, restarts: bool) -> impl Strategy<Value = Vec<Step>> {
    let session = || 0..SESSIONS;
    let step = prop_oneof![
        94 => (session(), requests()).prop_map(|(session, request)| Step::Ask(session, request)),
        2 => session().prop_map(Step::Cancel),
        1 => session().prop_map(Step::Terminate),
        3 => session().prop_map(Step::Close),
    ];
    vec(step, length).prop_map(move |mut steps| {
        if restarts {
            steps.insert(length / 3, Step::Kill);
            steps.insert(2 * length / 3, Step::Stop);
        }
        steps
    })
}

fn requests() -> BoxedStrategy<PgRequest> {
    let savepoint = || select(vec!["s", "s", "t"]);
    prop_oneof![
        30 => advice().prop_map(|advise| PgRequest::Advise(Box::new(advise))),
        11 => (keys(), strengths()).prop_map(|(key, strength)| PgRequest::Unlock { key, strength }),
        2 => Just(PgRequest::UnlockAll),
        1 => Just(PgRequest::DiscardAll),
        9 => Just(PgRequest::Begin),
        6 => Just(PgRequest::Commit),
        4 => Just(PgRequest::Rollback),
        4 => savepoint().prop_map(|name| PgRequest::Savepoint(name.into())),
        3 => savepoint().prop_map(|name| PgRequest::RollbackTo(name.into())),
        2 => savepoint().prop_map(|name| PgRequest::ReleaseSavepoint(name.into())),
        3 => Just(PgRequest::NextVal("fence".into())),
        3 => Just(PgRequest::XactId),
        2 => Just(PgRequest::XactIdIfAssigned),
        1 => select(vec![PgRequest::One, PgRequest::IsInRecovery, PgRequest::Checkpoint]),
        8 => waits().prop_map(|wait| reads(RowKey { table: QUEUE.0, name: QUEUE.1.into() }, Some(wait))),
        3 => rows().prop_map(|row| reads(row, None)),
        7 => (rows(), waits()).prop_map(|(row, wait)| reads(row, Some(wait))),
        9 => inserts().prop_map(|insert| PgRequest::Insert(Box::new(insert))),
        11 => (rows(), sets(), conditions()).prop_map(|(row, set, only_if)| {
            PgRequest::Update(Box::new(Update { row, set, only_if, errand: None }))
        }),
        4 => (rows(), conditions()).prop_map(|(row, only_if)| PgRequest::Delete(Box::new(Delete { row, only_if }))),
    ]
    .boxed()
}

fn advice() -> impl Strategy<Value = Advise> {
    let scopes = select(vec![Scope::Session, Scope::Transaction]);
    let all = (keys(), strengths(), scopes, proptest::bool::weighted(0.4));
    all.prop_map(|(key, strength, scope, is_try)| Advise { key, strength, scope, is_try, lock: None })
}

fn keys() -> impl Strategy<Value = AdvisoryKey> {
    let keys = [AdvisoryKey::Big(1), AdvisoryKey::Big(1), AdvisoryKey::Big(2), AdvisoryKey::Pair(0, 1)];
    select(keys.to_vec())
}

fn strengths() -> impl Strategy<Value = Strength> {
    select(vec![Strength::Exclusive, Strength::Exclusive, Strength::Shared])
}

fn waits() -> impl Strategy<Value = Wait> {
    select(vec![Wait::Wait, Wait::Wait, Wait::NoWait, Wait::SkipLocked])
}

/// The rows that are written.
pub(crate) const ROWS: [(Table, &str); 3] = [(Table::Leases, "a"), (Table::Leases, "b"), (Table::Tokens, "a")];

fn rows() -> impl Strategy<Value = RowKey> {
    select(ROWS.to_vec()).prop_map(|(table, name)| RowKey { table, name: name.into() })
}

fn reads(row: RowKey, for_update: Option<Wait>) -> PgRequest {
    PgRequest::Select(Box::new(Select { row, for_update, errand: None }))
}

fn inserts() -> impl Strategy<Value = Insert> {
    let on_conflict = prop_oneof![
        2 => Just(OnConflict::Fail),
        2 => Just(OnConflict::Nothing),
        3 => (sets(), conditions()).prop_map(|(set, only_if)| OnConflict::Update { set, only_if }),
    ];
    (rows(), sets(), on_conflict).prop_map(|(row, set, on_conflict)| Insert { row, set, on_conflict, errand: None })
}

/// Each column once at most, and one at least.
fn sets() -> impl Strategy<Value = Vec<Assign>> {
    let owner = select(vec![None, Some("x"), Some("y")]).prop_map(|owner| Assign::Owner(owner.map(Value::from)));
    let ends = instants().prop_map(Assign::Ends);
    let version = select(vec![VersionTo::Next, VersionTo::Next, VersionTo::Number(1)]).prop_map(Assign::Version);
    let value = select(vec!["", "v", "w"]).prop_map(|value| Assign::Value(value.into()));
    let all = (owner, ends, version, value, 1_u8..16);
    all.prop_map(|(owner, ends, version, value, which)| {
        let all = [owner, ends, version, value];
        all.into_iter().enumerate().filter(|(at, _)| which >> at & 1 == 1).map(|(_, assign)| assign).collect()
    })
}

/// Mostly none.
fn conditions() -> impl Strategy<Value = Vec<Condition>> {
    let condition = prop_oneof![
        select(vec!["x", "y"]).prop_map(|owner| Condition::OwnerIs(owner.into())),
        Just(Condition::Unowned),
        instants().prop_map(Condition::EndsBy),
        instants().prop_map(Condition::EndsAfter),
        (0_i64..3).prop_map(Condition::VersionIs),
        (0_i64..6).prop_map(Condition::VersionBelow),
    ];
    prop_oneof![2 => Just(Vec::new()), 3 => vec(condition, 1..3)]
}

/// Long ago, now, or in an hour: whichever clock is read, and however long it takes, they come in this order.
fn instants() -> impl Strategy<Value = Instant> {
    const HOUR: i64 = 3_600_000_000;
    let offset = select(vec![-HOUR, 0, 0, HOUR]);
    (offset, any::<u8>()).prop_map(|(offset, of)| match of % 3 {
        0 => Instant::At(offset.max(0) / HOUR),
        1 => Instant::AfterNow(offset),
        _ => Instant::AfterClock(offset),
    })
}

/// Whom an operator cancels.
pub(crate) fn cancel(name: &str) -> String {
    operate(name, PgRequest::Cancel(Pid(0)))
}

/// Whom an operator terminates.
pub(crate) fn terminate(name: &str) -> String {
    operate(name, PgRequest::Terminate(Pid(0)))
}

fn operate(name: &str, request: PgRequest) -> String {
    request.to_sql().map_or_else(String::new, |sql| sql.replace('0', &format!("{{{name}}}")))
}
