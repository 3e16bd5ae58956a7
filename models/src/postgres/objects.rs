//! Objects that are in the database: reading and writing them on the connection, and in the transaction, of who has the lock.
//!
//! Source: <https://www.postgresql.org/docs/15/explicit-locking.html#LOCKING-ROWS>; optimistic locking by a version column, as JPA's `@Version`
//! and `ActiveRecord`'s `lock_version` have it.
//!
//! Nobody has to compare tokens here: who has lost its session has lost its connection, on which it would write, and what its transaction
//! had written. A statement outside a transaction counts when it is answered, one within when that is committed.

use spec::Version;

use super::client::{Session, Way};
use super::{Assign, Condition, Insert, OnConflict, Outcome, PgHost, PgRequest, Select, Update, VersionTo, names};
use crate::etcd::Errand;
use crate::guard::Guard;
use crate::resource::{Action, Op, OpReply};

/// Does an operation on an object, as its check says. `None`: no clear answer.
pub(super) async fn operate<H: PgHost>(session: &Session<H>, way: &Way, op: &Op) -> Option<OpReply> {
    let guard = way.objects?;
    if way.migrates && matches!(op.action, Action::Write { .. }) {
        session.ask_patiently(PgRequest::CreateIndex).await.ok()?;
    }
    let row = names::object(op.object);
    let errand = |based_on| Some(Errand { op: op.id, object: op.object, based_on });
    let set = vec![Assign::Version(VersionTo::Next)];
    let request = match op.action {
        Action::Read => PgRequest::Select(Box::new(Select { row, for_update: None, errand: errand(None) })),
        Action::Write { based_on } => match based_on.filter(|_| guard == Guard::Version) {
            // One that was not there when it was read has no version.
            Some(Version(0)) => {
                let on_conflict = OnConflict::Nothing;
                PgRequest::Insert(Box::new(Insert { row, set, on_conflict, errand: errand(based_on) }))
            }
            Some(Version(known)) => {
                let only_if = vec![Condition::VersionIs(known.cast_signed())];
                PgRequest::Update(Box::new(Update { row, set, only_if, errand: errand(based_on) }))
            }
            None => {
                let on_conflict = OnConflict::Update { set: set.clone(), only_if: Vec::new() };
                PgRequest::Insert(Box::new(Insert { row, set, on_conflict, errand: errand(based_on) }))
            }
        },
        // The loader refuses what only a resource of its own can do.
        Action::Mark | Action::Ticket | Action::Effect { .. } => return None,
    };
    let is_read = matches!(op.action, Action::Read);
    match session.ask(request).await.ok()? {
        Outcome::Row(Some(row)) => Some(OpReply::Version(Version(row.version.cast_unsigned()))),
        Outcome::Row(None) if is_read => Some(OpReply::Version(Version(0))),
        Outcome::Row(None) => Some(OpReply::Refused),
        _ => None,
    }
}
