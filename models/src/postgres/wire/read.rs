//! Answers from what a server has said.

use super::{BadText, Said};
use crate::postgres::answer::{Outcome, PgReply, Status, Tag};
use crate::postgres::api::PgRequest;
use crate::postgres::error::{PgError, SqlState};
use crate::postgres::key::Pid;
use crate::postgres::row::Row;

pub(super) fn reply(request: &PgRequest, said: &Said) -> Result<PgReply, BadText> {
    let outcome = match &said.error {
        Some(failure) => {
            let fatal = match failure.severity.as_str() {
                "ERROR" => false,
                "FATAL" | "PANIC" => true,
                other => return Err(BadText::new(format!("a severity that is not known: {other}"))),
            };
            Err(PgError { state: SqlState::from_code(&failure.code)?, fatal })
        }
        None => match over(said)? {
            Some(error) => Err(error),
            None => Ok(outcome(request, said)?),
        },
    };
    let warning = if said.is_over() { None } else { said.warning.as_deref() };
    let warning = warning.map(SqlState::from_code).transpose()?;
    let status = match said.status {
        Some(b'I') | None => Status::Idle,
        Some(b'T') => Status::InTransaction,
        Some(b'E') => Status::Failed,
        Some(other) => return Err(BadText::new(format!("a status that is not known: {other:#x}"))),
    };
    Ok(PgReply { outcome, warning, status })
}

/// Who has to end at once says why in a warning, and nothing after it (`quickdie`).
fn over(said: &Said) -> Result<Option<PgError>, BadText> {
    let why = said.warning.as_deref().filter(|_| said.is_over());
    Ok(why.map(SqlState::from_code).transpose()?.map(PgError::fatal))
}

fn outcome(request: &PgRequest, said: &Said) -> Result<Outcome, BadText> {
    Ok(match request {
        PgRequest::Startup(_) => {
            let pid = column(said, 0)?.and_then(|text| text.parse().ok());
            Outcome::Started(Pid(pid.ok_or_else(|| odd(request, said))?))
        }
        PgRequest::Advise(advise) if advise.is_try => boolean(request, said)?,
        PgRequest::Advise(_) | PgRequest::UnlockAll => match column(said, 0)? {
            Some("") => Outcome::Void,
            _ => return Err(odd(request, said)),
        },
        PgRequest::Unlock { .. } | PgRequest::Cancel(_) | PgRequest::Terminate(_) | PgRequest::IsInRecovery => {
            boolean(request, said)?
        }
        PgRequest::NextVal(_) | PgRequest::XactId | PgRequest::XactIdIfAssigned | PgRequest::One => {
            Outcome::Number(column(said, 0)?.map(number).transpose()?)
        }
        PgRequest::Select(_) | PgRequest::Insert(_) | PgRequest::Update(_) | PgRequest::Delete(_) => {
            Outcome::Row(row(said)?.map(Box::new))
        }
        PgRequest::Begin
        | PgRequest::Commit
        | PgRequest::Rollback
        | PgRequest::Savepoint(_)
        | PgRequest::RollbackTo(_)
        | PgRequest::ReleaseSavepoint(_)
        | PgRequest::DiscardAll
        | PgRequest::Set { .. }
        | PgRequest::Checkpoint
        | PgRequest::CreateIndex => {
            let tag = Tag::ALL.iter().find(|tag| Some(tag.text()) == said.tag.as_deref());
            Outcome::Done(*tag.ok_or_else(|| odd(request, said))?)
        }
    })
}

fn column(said: &Said, at: usize) -> Result<Option<&str>, BadText> {
    let columns = said.row.as_ref().ok_or_else(|| BadText::new("no row"))?;
    columns.get(at).map(Option::as_deref).ok_or_else(|| BadText::new(format!("no column {at}")))
}

fn boolean(request: &PgRequest, said: &Said) -> Result<Outcome, BadText> {
    match column(said, 0)? {
        Some("t") => Ok(Outcome::Bool(true)),
        Some("f") => Ok(Outcome::Bool(false)),
        _ => Err(odd(request, said)),
    }
}

fn number(text: &str) -> Result<i64, BadText> {
    text.parse().map_err(|_| BadText::new(format!("no number: {text}")))
}

fn row(said: &Said) -> Result<Option<Row>, BadText> {
    if said.row.is_none() {
        return Ok(None);
    }
    let there = |at| column(said, at)?.ok_or_else(|| BadText::new("NULL where it cannot be"));
    Ok(Some(Row {
        owner: column(said, 0)?.map(Into::into),
        ends: number(there(1)?)?,
        version: number(there(2)?)?,
        value: there(3)?.into(),
    }))
}

fn odd(request: &PgRequest, said: &Said) -> BadText {
    BadText::new(format!("no answer to {request}: {said:?}"))
}
