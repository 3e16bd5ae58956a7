//! How a client reaches a PostgreSQL server, or a pooler before one: over the database's own protocol, as its library does.
//!
//! | a connection there | here |
//! |---|---|
//! | one statement after the other, answered in their order | the same |
//! | what the server says unasked, before it hangs up | on the same line |
//! | is closed by the server, without a word or behind its last one | the line ends |
//! | runs into a timeout, or is dropped | the line is closed; what is asked goes on as far as the server is concerned |
//!
//! Before each statement its number stands in a comment, by which the server's log tells whose it was.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::Ipv4Addr;
use std::rc::Rc;

use host::{
    CallError, Calls, ConnectError, Connection, Domain, Duration, Either, Host, NodeId, Operation, Server, first,
};
use models::postgres::wire::Said;
use models::postgres::{Outcome, PgPush, PgReply, PgRequest};
use models::{Locks, Message};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::LiveHost;
use super::ear::Ear;
use super::path::Path;
use crate::backends::tagged;
use crate::line::{Answered, Report, States, Way};
use crate::pg::{Hearing, query, startup};

/// A connection to a server.
pub struct PgConnection {
    wire: Rc<Wire>,
    /// Hears what the server says, to the end of the line.
    hears: JoinHandle<()>,
}

/// Both ends of it hold that.
struct Wire {
    host: LiveHost,
    server: NodeId,
    /// Nothing, once it is closed.
    stream: RefCell<Option<Rc<TcpStream>>>,
    path: Path,
    ear: Ear<PgPush>,
    /// What is to be sent, the oldest first, and not sent yet.
    outgoing: RefCell<Vec<u8>>,
    /// What was asked and is not answered, the oldest first.
    asked: RefCell<VecDeque<Asked>>,
}

/// What was asked, and who waits for the answer.
struct Asked {
    call: u64,
    request: PgRequest,
    answers: oneshot::Sender<PgReply>,
}

impl Calls<PgRequest> for LiveHost {
    type Connection = PgConnection;

    async fn connect(&self, server: Server<PgRequest>, timeout: Duration) -> Result<PgConnection, ConnectError> {
        let server = server.node();
        let Some(listens) = self.port(server) else { self.strand(format!("nobody listens for {server:?}")).await };
        let opens = async {
            let path = Path::open(self, server).await;
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, listens)).await?;
            stream.set_nodelay(true)?;
            io::Result::Ok((path, stream))
        };
        let (path, stream) = match first(opens, self.sleep(timeout)).await {
            Either::Left(opened) => opened.map_err(|_| ConnectError::Refused)?,
            Either::Right(()) => return Err(ConnectError::TimedOut),
        };
        let (host, ear) = (self.clone(), Ear::new());
        let (outgoing, asked, stream) = (RefCell::default(), RefCell::default(), RefCell::new(Some(Rc::new(stream))));
        let wire = Rc::new(Wire { host, server, stream, path, ear, outgoing, asked });
        let listening = Rc::clone(&wire);
        let hears = tokio::task::spawn_local(async move {
            if let Err(why) = listening.listen().await {
                listening.host.strand(format!("the model has no word for what {server:?} said: {why}")).await;
            }
            listening.close();
        });
        Ok(PgConnection { wire, hears })
    }
}

impl Wire {
    /// Nobody is answered any more.
    fn close(&self) {
        self.ear.close();
        self.asked.borrow_mut().clear();
        self.stream.replace(None);
    }

    fn stream(&self) -> io::Result<Rc<TcpStream>> {
        self.stream.borrow().clone().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Sends a request, and says who waits for its answer.
    async fn send(&self, request: PgRequest) -> io::Result<oneshot::Receiver<PgReply>> {
        let Operation(operation) = request.operation();
        self.path.pass(Way::Request, operation).await;
        let attempt = self.host.scope();
        if let Some(left) = attempt.and_then(|attempt| Locks::left(&Message::from(request.clone()), attempt)) {
            self.host.note(left);
        }
        let call = self.host.number();
        let bytes = match &request {
            PgRequest::Startup(database) => startup(*database)?,
            other => {
                let sql = other.to_sql().ok_or(io::ErrorKind::InvalidInput)?;
                query(&tagged(self.host.seat(), call, &sql))?
            }
        };
        let lock = match &request {
            PgRequest::Advise(advise) => advise.lock,
            _ => None,
        };
        self.host.say(&Report::States(States { at: self.host.now(), call, server: self.server, attempt, lock }));
        let (answers, answer) = oneshot::channel();
        self.outgoing.borrow_mut().extend(bytes);
        self.asked.borrow_mut().push_back(Asked { call, request, answers });
        let stream = self.stream()?;
        // Whoever comes to it first sends what has come together.
        while !self.outgoing.borrow().is_empty() {
            stream.writable().await?;
            let mut outgoing = self.outgoing.borrow_mut();
            match stream.try_write(&outgoing) {
                Ok(sent) => _ = outgoing.drain(..sent),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(answer)
    }

    /// Hears the server, to the end of the line.
    async fn listen(&self) -> io::Result<()> {
        let Ok(stream) = self.stream() else { return Ok(()) };
        let (mut hearing, mut chunk) = (Hearing::default(), [0; 4_096]);
        loop {
            while let Some(said) = hearing.next()? {
                self.take(&said).await?;
            }
            if stream.readable().await.is_err() {
                break;
            }
            match stream.try_read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => hearing.take(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Who is rid of a client need not read what that had sent.
                Err(_) => break,
            }
        }
        match hearing.last() {
            Some(said) => self.take(&said).await,
            None => Ok(()),
        }
    }

    async fn take(&self, said: &Said) -> io::Result<()> {
        let bad = |why| io::Error::new(io::ErrorKind::InvalidData, why);
        let asked = self.asked.borrow_mut().pop_front();
        let Some(Asked { call, request, answers }) = asked else {
            // It can only be why the session is over.
            let reply = PgReply::read(&PgRequest::One, said).map_err(bad)?;
            if let Err(error) = reply.outcome {
                let push = PgPush(error.state);
                let Operation(operation) = Locks::operation(&Message::from(push));
                self.path.pass(Way::Push, operation).await;
                self.ear.hear(push);
            }
            return Ok(());
        };
        let reply = PgReply::read(&request, said).map_err(bad)?;
        let is_done = match &reply.outcome {
            Ok(Outcome::Bool(yes)) => *yes,
            Ok(Outcome::Row(row)) => row.is_some(),
            outcome => outcome.is_ok(),
        };
        let version = match &reply.outcome {
            Ok(Outcome::Row(Some(row))) => Some(row.version),
            _ => None,
        };
        self.host.say(&Report::Stated { at: self.host.now(), call, answer: Answered { is_done, version } });
        let Operation(operation) = request.operation();
        self.path.pass(Way::Reply, operation).await;
        // Who does not wait any more has left the rest to others.
        let _ = answers.send(reply);
        Ok(())
    }
}

impl Connection<PgRequest> for PgConnection {
    fn is_open(&self) -> bool {
        !self.wire.ear.is_closed()
    }

    async fn call(&self, request: PgRequest, timeout: Duration) -> Result<PgReply, CallError> {
        let wire = &*self.wire;
        let answer = wire.ear.answered(&wire.host, wire.send(request), timeout).await;
        if answer.is_err() {
            self.close();
        }
        answer
    }

    async fn pushed(&self) -> Option<PgPush> {
        self.wire.ear.next().await
    }
}

impl PgConnection {
    fn close(&self) {
        self.hears.abort();
        self.wire.close();
    }
}

impl Drop for PgConnection {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for PgConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PgConnection({:?}, open: {})", self.wire.server, self.is_open())
    }
}
