//! Statements from their text, as [`say`](super::say) writes them.

use std::iter::Peekable;
use std::vec::IntoIter;

use host::{Duration, Name};

use super::BadText;
use crate::postgres::Value;
use crate::postgres::api::{Advise, PgRequest, Scope, Setting, Wait};
use crate::postgres::key::{AdvisoryKey, Pid, Strength};
use crate::postgres::row::{
    Assign, Condition, Delete, Insert, Instant, OnConflict, RowKey, Select, Table, Update, VersionTo,
};

pub(super) fn statement(text: &str) -> Result<PgRequest, BadText> {
    let mut tokens = Tokens { text, left: cut(text)?.into_iter().peekable() };
    let request = tokens.statement()?;
    match tokens.left.next() {
        None => Ok(request),
        Some(token) => Err(BadText::new(format!("{token:?} behind the end of a statement: {text}"))),
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Token {
    /// A key word, or a name without quotes; in lower case.
    Word(String),
    Number(i64),
    Text(String),
    Quoted(String),
    Sign(char),
}

fn cut(text: &str) -> Result<Vec<Token>, BadText> {
    let mut tokens = Vec::new();
    let mut left = text.chars().peekable();
    while let Some(first) = left.next() {
        let mut rest = |belongs: fn(char) -> bool| {
            let mut run = String::from(first);
            while let Some(next) = left.next_if(|next| belongs(*next)) {
                run.push(next);
            }
            run
        };
        tokens.push(match first {
            ' ' => continue,
            'a'..='z' | 'A'..='Z' | '_' => {
                Token::Word(rest(|next| next.is_ascii_alphanumeric() || next == '_').to_ascii_lowercase())
            }
            '0'..='9' | '-' => {
                let digits = rest(|next| next.is_ascii_digit());
                Token::Number(digits.parse().map_err(|_| BadText::new(format!("no number: {digits}")))?)
            }
            '\'' | '"' => {
                let mut inner = String::new();
                loop {
                    match left.next() {
                        Some(end) if end == first && left.next_if_eq(&first).is_none() => break,
                        Some(next) => inner.push(next),
                        None => return Err(BadText::new(format!("no end of quotes: {text}"))),
                    }
                }
                if first == '"' { Token::Quoted(inner) } else { Token::Text(inner) }
            }
            sign => Token::Sign(sign),
        });
    }
    Ok(tokens)
}

struct Tokens<'t> {
    text: &'t str,
    left: Peekable<IntoIter<Token>>,
}

impl Tokens<'_> {
    fn statement(&mut self) -> Result<PgRequest, BadText> {
        Ok(match self.word()?.as_str() {
            "begin" => PgRequest::Begin,
            "commit" => PgRequest::Commit,
            "checkpoint" => PgRequest::Checkpoint,
            "create" => {
                self.signs("index concurrently on locks (version)")?;
                PgRequest::CreateIndex
            }
            "savepoint" => PgRequest::Savepoint(self.quoted()?),
            "rollback" if self.takes("to") => {
                self.words("savepoint")?;
                PgRequest::RollbackTo(self.quoted()?)
            }
            "rollback" => PgRequest::Rollback,
            "release" => {
                self.words("savepoint")?;
                PgRequest::ReleaseSavepoint(self.quoted()?)
            }
            "discard" => {
                self.words("all")?;
                PgRequest::DiscardAll
            }
            "set" => self.set()?,
            "select" if self.left.peek() == Some(&Token::Number(1)) => {
                self.left.next();
                PgRequest::One
            }
            "select" if self.takes("owner") => {
                self.signs(", ends, version, value from")?;
                let (table, name) = self.table_and_name()?;
                let for_update = if self.takes("for") { Some(self.wait()?) } else { None };
                PgRequest::Select(Box::new(Select { row: RowKey { table, name }, for_update, errand: None }))
            }
            "select" => self.call()?,
            "insert" => PgRequest::Insert(Box::new(self.insert()?)),
            "update" => {
                let table = self.table()?;
                self.words("set")?;
                let set = self.assigned()?;
                let (name, only_if) = self.only(table)?;
                self.signs("returning owner, ends, version, value")?;
                let row = RowKey { table, name: name.ok_or_else(|| self.bad())? };
                PgRequest::Update(Box::new(Update { row, set, only_if, errand: None }))
            }
            "delete" => {
                self.words("from")?;
                let table = self.table()?;
                let (name, only_if) = self.only(table)?;
                self.signs("returning owner, ends, version, value")?;
                let row = RowKey { table, name: name.ok_or_else(|| self.bad())? };
                PgRequest::Delete(Box::new(Delete { row, only_if }))
            }
            _ => return Err(self.bad()),
        })
    }

    fn set(&mut self) -> Result<PgRequest, BadText> {
        let local = self.takes("local");
        let name = self.word()?;
        let setting = Setting::ALL.into_iter().find(|setting| setting.name() == name).ok_or_else(|| self.bad())?;
        self.signs("=")?;
        let to = Duration::from_millis(self.unsigned()?);
        Ok(PgRequest::Set { setting, to, local })
    }

    fn wait(&mut self) -> Result<Wait, BadText> {
        self.words("update")?;
        Ok(if self.takes("nowait") {
            Wait::NoWait
        } else if self.takes("skip") {
            self.words("locked")?;
            Wait::SkipLocked
        } else {
            Wait::Wait
        })
    }

    /// A function and what it is called with.
    fn call(&mut self) -> Result<PgRequest, BadText> {
        let function = self.word()?;
        self.signs("(")?;
        let request = match function.as_str() {
            "pg_advisory_unlock" => PgRequest::Unlock { key: self.key()?, strength: Strength::Exclusive },
            "pg_advisory_unlock_shared" => PgRequest::Unlock { key: self.key()?, strength: Strength::Shared },
            "pg_advisory_unlock_all" => PgRequest::UnlockAll,
            "pg_current_xact_id" => PgRequest::XactId,
            "pg_current_xact_id_if_assigned" => PgRequest::XactIdIfAssigned,
            "pg_is_in_recovery" => PgRequest::IsInRecovery,
            "pg_cancel_backend" => PgRequest::Cancel(self.pid()?),
            "pg_terminate_backend" => PgRequest::Terminate(self.pid()?),
            "nextval" => {
                let inner = self.string()?;
                match cut(&inner)?.as_slice() {
                    [Token::Quoted(name)] => PgRequest::NextVal(name.as_str().into()),
                    _ => return Err(self.bad()),
                }
            }
            _ => PgRequest::Advise(Box::new(self.advise(&function)?)),
        };
        self.signs(")")?;
        Ok(request)
    }

    /// `pg[_try]_advisory[_xact]_lock[_shared]`
    fn advise(&mut self, function: &str) -> Result<Advise, BadText> {
        let rest = function.strip_prefix("pg_").ok_or_else(|| self.bad())?;
        let (is_try, rest) = rest.strip_prefix("try_").map_or((false, rest), |rest| (true, rest));
        let rest = rest.strip_prefix("advisory_").ok_or_else(|| self.bad())?;
        let (scope, rest) =
            rest.strip_prefix("xact_").map_or((Scope::Session, rest), |rest| (Scope::Transaction, rest));
        let strength = match rest {
            "lock" => Strength::Exclusive,
            "lock_shared" => Strength::Shared,
            _ => return Err(self.bad()),
        };
        Ok(Advise { key: self.key()?, strength, scope, is_try, lock: None })
    }

    fn key(&mut self) -> Result<AdvisoryKey, BadText> {
        let first = self.number()?;
        if self.left.next_if_eq(&Token::Sign(',')).is_none() {
            return Ok(AdvisoryKey::Big(first));
        }
        let second = self.number()?;
        let half = |number: i64| i32::try_from(number).map_err(|_| self.bad());
        Ok(AdvisoryKey::Pair(half(first)?, half(second)?))
    }

    fn pid(&mut self) -> Result<Pid, BadText> {
        let number = self.number()?;
        u32::try_from(number).map(Pid).map_err(|_| self.bad())
    }

    fn insert(&mut self) -> Result<Insert, BadText> {
        self.words("into")?;
        let table = self.table()?;
        self.signs("(name")?;
        let mut columns = Vec::new();
        while self.left.next_if_eq(&Token::Sign(',')).is_some() {
            columns.push(self.word()?);
        }
        self.signs(") values (")?;
        let name = self.string()?.into();
        let mut set = Vec::new();
        for column in columns {
            self.signs(",")?;
            set.push(self.value(&column)?);
        }
        self.signs(")")?;
        let on_conflict = if self.takes("on") { self.on_conflict(table)? } else { OnConflict::Fail };
        self.signs("returning owner, ends, version, value")?;
        Ok(Insert { row: RowKey { table, name }, set, on_conflict, errand: None })
    }

    fn on_conflict(&mut self, table: Table) -> Result<OnConflict, BadText> {
        self.signs("conflict (name) do")?;
        if self.takes("nothing") {
            return Ok(OnConflict::Nothing);
        }
        self.signs("update set")?;
        let set = self.assigned()?;
        match self.only(table)? {
            (None, only_if) => Ok(OnConflict::Update { set, only_if }),
            (Some(_), _) => Err(self.bad()),
        }
    }

    fn assigned(&mut self) -> Result<Vec<Assign>, BadText> {
        let mut set = Vec::new();
        loop {
            let column = self.word()?;
            self.signs("=")?;
            set.push(self.value(&column)?);
            if self.left.next_if_eq(&Token::Sign(',')).is_none() {
                return Ok(set);
            }
        }
    }

    fn value(&mut self, column: &str) -> Result<Assign, BadText> {
        Ok(match column {
            "owner" if self.takes("null") => Assign::Owner(None),
            "owner" => Assign::Owner(Some(self.string()?.as_str().into())),
            "ends" => Assign::Ends(self.instant()?),
            "version" if matches!(self.left.peek(), Some(Token::Number(_))) => {
                Assign::Version(VersionTo::Number(self.number()?))
            }
            "version" => {
                self.table()?;
                self.signs(".version + 1")?;
                Assign::Version(VersionTo::Next)
            }
            "value" => Assign::Value(self.string()?.as_str().into()),
            _ => return Err(self.bad()),
        })
    }

    fn table_and_name(&mut self) -> Result<(Table, Name), BadText> {
        let table = self.table()?;
        match self.only(table)? {
            (Some(name), only_if) if only_if.is_empty() => Ok((table, name)),
            _ => Err(self.bad()),
        }
    }

    /// `WHERE …`: the name, if it is asked for one, and what else.
    fn only(&mut self, table: Table) -> Result<(Option<Name>, Vec<Condition>), BadText> {
        let (mut name, mut only_if) = (None, Vec::new());
        if !self.takes("where") {
            return Ok((name, only_if));
        }
        loop {
            if self.table()? != table {
                return Err(self.bad());
            }
            self.signs(".")?;
            match self.word()?.as_str() {
                "name" => {
                    self.signs("=")?;
                    name = Some(self.string()?.into());
                }
                column => {
                    let column = column.to_owned();
                    only_if.push(self.condition(&column)?);
                }
            }
            if !self.takes("and") {
                return Ok((name, only_if));
            }
        }
    }

    fn condition(&mut self, column: &str) -> Result<Condition, BadText> {
        if self.takes("is") {
            self.words("null")?;
            return if column == "owner" { Ok(Condition::Unowned) } else { Err(self.bad()) };
        }
        let mut sign = String::new();
        while let Some(Token::Sign(next)) = self.left.next_if(|next| matches!(next, Token::Sign('<' | '>' | '='))) {
            sign.push(next);
        }
        Ok(match (column, sign.as_str()) {
            ("owner", "=") => Condition::OwnerIs(Value::from(self.string()?.as_str())),
            ("ends", "<=") => Condition::EndsBy(self.instant()?),
            ("ends", ">") => Condition::EndsAfter(self.instant()?),
            ("version", "=") => Condition::VersionIs(self.number()?),
            ("version", "<") => Condition::VersionBelow(self.number()?),
            _ => return Err(self.bad()),
        })
    }

    fn instant(&mut self) -> Result<Instant, BadText> {
        if matches!(self.left.peek(), Some(Token::Number(_))) {
            return self.number().map(Instant::At);
        }
        self.signs("(extract(epoch from")?;
        let after = match self.word()?.as_str() {
            "now" => Instant::AfterNow,
            "clock_timestamp" => Instant::AfterClock,
            _ => return Err(self.bad()),
        };
        self.signs("()) * 1000000)::bigint +")?;
        self.number().map(after)
    }

    fn table(&mut self) -> Result<Table, BadText> {
        let name = self.word()?;
        Table::ALL.into_iter().find(|table| table.name() == name).ok_or_else(|| self.bad())
    }

    fn takes(&mut self, word: &str) -> bool {
        self.left.next_if(|next| matches!(next, Token::Word(is) if is == word)).is_some()
    }

    fn words(&mut self, word: &str) -> Result<(), BadText> {
        if self.takes(word) { Ok(()) } else { Err(self.bad()) }
    }

    /// All these tokens.
    fn signs(&mut self, text: &str) -> Result<(), BadText> {
        for token in cut(text)? {
            if self.left.next() != Some(token) {
                return Err(self.bad());
            }
        }
        Ok(())
    }

    fn word(&mut self) -> Result<String, BadText> {
        match self.left.next() {
            Some(Token::Word(word)) => Ok(word),
            _ => Err(self.bad()),
        }
    }

    fn quoted(&mut self) -> Result<Name, BadText> {
        match self.left.next() {
            Some(Token::Quoted(name)) => Ok(name.into()),
            _ => Err(self.bad()),
        }
    }

    fn string(&mut self) -> Result<String, BadText> {
        match self.left.next() {
            Some(Token::Text(text)) => Ok(text),
            _ => Err(self.bad()),
        }
    }

    fn number(&mut self) -> Result<i64, BadText> {
        match self.left.next() {
            Some(Token::Number(number)) => Ok(number),
            _ => Err(self.bad()),
        }
    }

    fn unsigned(&mut self) -> Result<u64, BadText> {
        let number = self.number()?;
        u64::try_from(number).map_err(|_| self.bad())
    }

    fn bad(&self) -> BadText {
        BadText::new(format!("no statement that is known: {}", self.text))
    }
}
