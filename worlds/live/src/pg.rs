//! A connection to PostgreSQL: statements go out as simple queries, and what is said to them comes back field by field.
//!
//! Frames are the business of `postgres-protocol`; here is what of them belongs together, up to `ReadyForQuery`.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use fallible_iterator::FallibleIterator;
use models::postgres::wire::{Failure, Said};
use models::postgres::{Database, PgReply, PgRequest, Pid};
use postgres_protocol::message::backend::{DataRowBody, ErrorFields, Message};
use postgres_protocol::message::frontend;

/// Longer than any healthy server takes: who hears nothing for so long gives up.
const PATIENCE: Duration = Duration::from_secs(30);
/// The user in whose name all is done.
pub(crate) const USER: &str = "postgres";

/// What begins a connection, as bytes.
///
/// # Errors
/// If the name of the database has a zero byte in it.
pub(crate) fn startup(database: Database) -> io::Result<BytesMut> {
    let mut out = BytesMut::new();
    let parameters = [("user", USER), ("database", database.0.as_str()), ("client_encoding", "UTF8")];
    frontend::startup_message(parameters, &mut out)?;
    Ok(out)
}

/// A statement, as bytes.
///
/// # Errors
/// If it has a zero byte in it.
pub(crate) fn query(sql: &str) -> io::Result<BytesMut> {
    let mut out = BytesMut::new();
    frontend::query(sql, &mut out)?;
    Ok(out)
}

/// What comes from a server, put together.
#[derive(Default, Debug)]
pub(crate) struct Hearing {
    come: BytesMut,
    said: Said,
}

impl Hearing {
    /// So many bytes have come.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.come.extend_from_slice(bytes);
    }

    /// The next thing that is said to the end, if it is there.
    ///
    /// # Errors
    /// If what has come is not the protocol, or a part of it that nobody has asked for.
    pub(crate) fn next(&mut self) -> io::Result<Option<Said>> {
        while let Some(message) = Message::parse(&mut self.come)? {
            match message {
                // A pooler makes one up, of all 32 bits.
                Message::BackendKeyData(key) => {
                    self.said.row = Some(vec![Some(key.process_id().cast_unsigned().to_string())]);
                }
                Message::DataRow(row) => self.said.row = Some(columns(&row)?),
                Message::CommandComplete(done) => self.said.tag = Some(done.tag()?.to_owned()),
                Message::ErrorResponse(error) => self.said.error = Some(failure(error.fields())?),
                Message::NoticeResponse(notice) => {
                    let notice = failure(notice.fields())?;
                    if notice.severity == "WARNING" && self.said.warning.is_none() {
                        self.said.warning = Some(notice.code);
                    }
                }
                Message::ReadyForQuery(ready) => {
                    self.said.status = Some(ready.status());
                    return Ok(Some(std::mem::take(&mut self.said)));
                }
                Message::AuthenticationOk
                | Message::ParameterStatus(_)
                | Message::RowDescription(_)
                | Message::EmptyQueryResponse => {}
                _ => return Err(io::Error::new(ErrorKind::InvalidData, "a message that nobody has asked for")),
            }
        }
        Ok(None)
    }

    /// What was said last, before the server hung up. `None`: nothing.
    pub(crate) fn last(&mut self) -> Option<Said> {
        let last = std::mem::take(&mut self.said);
        (last != Said::default()).then_some(last)
    }
}

fn columns(row: &DataRowBody) -> io::Result<Vec<Option<String>>> {
    let text = |range: Option<std::ops::Range<usize>>| {
        let bytes = range.map(|range| row.buffer()[range].to_vec());
        bytes.map(String::from_utf8).transpose().map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
    };
    row.ranges().map(text).collect()
}

fn failure(mut fields: ErrorFields<'_>) -> io::Result<Failure> {
    let (mut severity, mut code) = (String::new(), String::new());
    while let Some(field) = fields.next()? {
        let value = || String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'V' => severity = value(),
            b'C' => code = value(),
            _ => {}
        }
    }
    Ok(Failure { severity, code })
}

/// What a session was told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// What was asked; `None`: nothing was.
    pub request: Option<PgRequest>,
    /// What was said. `None`: the server has hung up without a word.
    pub reply: Option<PgReply>,
}

/// A session.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    hearing: Hearing,
    /// What was asked and is not answered, in order.
    asked: VecDeque<PgRequest>,
    pid: Option<Pid>,
    is_over: bool,
}

impl Connection {
    /// Begins a session with a server on this machine, and says what the server made of it. It is over if it was not let in.
    ///
    /// # Errors
    /// If nobody listens there, or the connection breaks.
    pub fn open(port: u16, database: Database) -> io::Result<(Self, Told)> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let asked = VecDeque::from([PgRequest::Startup(database)]);
        let mut connection = Self { stream, hearing: Hearing::default(), asked, pid: None, is_over: false };
        connection.stream.write_all(&startup(database)?)?;
        let told = connection.wait()?.ok_or(ErrorKind::UnexpectedEof)?;
        Ok((connection, told))
    }

    /// The number of its backend, if it was let in.
    #[must_use]
    pub const fn pid(&self) -> Option<Pid> {
        self.pid
    }

    /// Whether the server has ended it.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether something is asked and not answered.
    #[must_use]
    pub fn waits(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Sends a statement, without waiting for what was asked before.
    ///
    /// # Errors
    /// If the connection breaks, but for the server's hanging up.
    pub fn send(&mut self, request: PgRequest) -> io::Result<()> {
        let sql = request.to_sql().ok_or(ErrorKind::InvalidInput)?;
        self.asked.push_back(request);
        match self.stream.write_all(&query(&sql)?) {
            Err(error) if is_hung_up(&error) => Ok(()),
            sent => sent,
        }
    }

    /// Asks in SQL what the models have no word for, and waits for what is said.
    ///
    /// # Errors
    /// If the connection breaks, or something else is still asked.
    pub fn ask(&mut self, sql: &str) -> io::Result<Vec<Vec<Option<String>>>> {
        if self.waits() {
            return Err(io::Error::other("something else is asked"));
        }
        self.stream.write_all(&query(sql)?)?;
        let (mut rows, mut come) = (Vec::new(), BytesMut::new());
        let mut chunk = [0; 4_096];
        loop {
            let read = self.stream.read(&mut chunk)?;
            if read == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            come.extend_from_slice(&chunk[..read]);
            while let Some(message) = Message::parse(&mut come)? {
                match message {
                    Message::DataRow(row) => rows.push(columns(&row)?),
                    Message::ErrorResponse(error) => {
                        let Failure { code, .. } = failure(error.fields())?;
                        return Err(io::Error::other(format!("{sql}: error {code}")));
                    }
                    Message::ReadyForQuery(_) if !come.has_remaining() => return Ok(rows),
                    _ => {}
                }
            }
        }
    }

    /// What the session was told next. `None`: it was told already that it is over.
    ///
    /// # Errors
    /// If the connection breaks, or what comes is not known.
    pub fn wait(&mut self) -> io::Result<Option<Told>> {
        loop {
            if let Some(told) = self.take()? {
                return Ok(Some(told));
            }
            if self.is_over {
                return Ok(None);
            }
            self.read()?;
        }
    }

    /// What the session was told next, if it has come already.
    ///
    /// # Errors
    /// If the connection breaks, or what comes is not known.
    pub fn told(&mut self) -> io::Result<Option<Told>> {
        self.stream.set_nonblocking(true)?;
        let told = loop {
            match self.take() {
                Ok(None) if self.is_over => break Ok(None),
                Ok(None) => {}
                told => break told,
            }
            match self.read() {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break Ok(None),
                Err(error) => break Err(error),
            }
        };
        self.stream.set_nonblocking(false)?;
        told
    }

    /// Closes it without a word, as a client does that dies. What is asked is not taken back.
    ///
    /// # Errors
    /// If it is closed already.
    pub fn close(&mut self) -> io::Result<()> {
        self.stream.shutdown(std::net::Shutdown::Both)
    }

    fn take(&mut self) -> io::Result<Option<Told>> {
        let said = match self.hearing.next()? {
            Some(said) => Some(said),
            None if self.is_over => match (self.hearing.last(), self.asked.is_empty()) {
                (None, true) => return Ok(None),
                (said, _) => said,
            },
            None => return Ok(None),
        };
        let request = self.asked.pop_front();
        if self.is_over {
            self.asked.clear();
        }
        let read = |said| PgReply::read(request.as_ref().unwrap_or(&PgRequest::One), &said);
        let reply = said.map(read).transpose().map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        if let Some(Ok(models::postgres::Outcome::Started(pid))) = reply.as_ref().map(|reply| &reply.outcome) {
            self.pid = Some(*pid);
        }
        Ok(Some(Told { request, reply }))
    }

    fn read(&mut self) -> io::Result<()> {
        let mut chunk = [0; 4_096];
        match self.stream.read(&mut chunk) {
            Ok(0) => self.is_over = true,
            Ok(length) => self.hearing.take(&chunk[..length]),
            Err(error) if is_hung_up(&error) => self.is_over = true,
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// A server that is rid of a client does not read what that had sent, or sends.
fn is_hung_up(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}
