//! How a client reaches a ZooKeeper server: over ZooKeeper's own protocol, on one line, as its library does.
//!
//! | a connection there | here |
//! |---|---|
//! | many requests at a time, answered in their order | the same: each has its number (`xid`) |
//! | events, each before what has seen its change is answered | on the same line, in that order |
//! | is closed by the server, without a word or behind its last one | the line ends |
//! | runs into a timeout, or is dropped | the line is closed |
//!
//! What the library makes of that (pings, another server, watches set again), the model's own client does.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::net::Ipv4Addr;
use std::rc::Rc;

use host::{
    CallError, Calls, ConnectError, Connection, Domain, Duration, Either, Host, NodeId, Operation, Server, first,
};
use models::zookeeper::wire::{BadBytes, Said, Xid, cut_frame, frame};
use models::zookeeper::{SessionId, ZkEvent, ZkReply, ZkRequest};
use models::{Locks, Message};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::LiveHost;
use super::ear::Ear;
use super::path::Path;
use crate::line::{Report, Sends, Way};

/// A connection to a server.
pub struct ZkConnection {
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
    /// The session that is on it, once the server has said so.
    session: Cell<Option<SessionId>>,
    ear: Ear<ZkEvent>,
    /// What is to be sent, the oldest first, and not sent yet.
    outgoing: RefCell<Vec<u8>>,
    /// What was asked and is not answered, the oldest first.
    asked: RefCell<Vec<Asked>>,
}

/// What was asked, and who waits for the answer.
struct Asked {
    xid: Xid,
    request: ZkRequest,
    answers: oneshot::Sender<ZkReply>,
}

/// What has come.
enum Heard {
    Event(ZkEvent),
    Reply(Asked, ZkReply),
}

impl Calls<ZkRequest> for LiveHost {
    type Connection = ZkConnection;

    async fn connect(&self, server: Server<ZkRequest>, timeout: Duration) -> Result<ZkConnection, ConnectError> {
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
        let wire = Rc::new(Wire { host, server, stream, path, session: Cell::new(None), ear, outgoing, asked });
        let listening = Rc::clone(&wire);
        let hears = tokio::task::spawn_local(async move {
            if let Err(why) = listening.listen().await {
                listening.host.strand(format!("the model has no word for what {server:?} said: {why}")).await;
            }
            listening.close();
        });
        Ok(ZkConnection { wire, hears })
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
    async fn send(&self, request: ZkRequest) -> io::Result<oneshot::Receiver<ZkReply>> {
        let Operation(operation) = request.operation();
        self.path.pass(Way::Request, operation).await;
        let attempt = self.host.scope();
        if let Some(left) = attempt.and_then(|attempt| Locks::left(&Message::from(request.clone()), attempt)) {
            self.host.note(left);
        }
        // No two requests of a process have the same, on whichever connection: in a server's log it is known by that.
        let number = i32::try_from(self.host.number()).expect("few requests");
        let xid = Xid::of(&request, Xid(number + 1));
        if let Some(SessionId(session)) = self.session.get() {
            let (at, server, Xid(xid)) = (self.host.now(), self.server, xid);
            self.host.say(&Report::Sends(Sends { at, server, attempt, session, xid }));
        }
        let (answers, answer) = oneshot::channel();
        self.outgoing.borrow_mut().extend(frame(&request.to_bytes(xid)));
        self.asked.borrow_mut().push(Asked { xid, request, answers });
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
    async fn listen(&self) -> Result<(), BadBytes> {
        let Ok(stream) = self.stream() else { return Ok(()) };
        let (mut come, mut chunk) = (Vec::new(), [0; 4_096]);
        loop {
            while let Some((content, length)) = cut_frame(&come)? {
                self.take(content).await?;
                come.drain(..length);
            }
            if stream.readable().await.is_err() {
                return Ok(());
            }
            match stream.try_read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(length) => come.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Who is rid of a client need not read what that had sent.
                Err(_) => return Ok(()),
            }
        }
    }

    async fn take(&self, content: &[u8]) -> Result<(), BadBytes> {
        match self.read(content)? {
            Heard::Event(event) => {
                let Operation(operation) = Locks::operation(&Message::from(event));
                self.path.pass(Way::Push, operation).await;
                self.ear.hear(event);
            }
            Heard::Reply(asked, reply) => {
                if let (Some(SessionId(session)), Xid(xid)) = (self.session.get(), asked.xid) {
                    self.host.say(&Report::Heard { at: self.host.now(), session, xid });
                }
                if let ZkReply::Connected(connected) = &reply {
                    self.session.set(Some(connected.session.session));
                }
                let Operation(operation) = asked.request.operation();
                self.path.pass(Way::Reply, operation).await;
                // Who does not wait any more has left the rest to others.
                let _ = asked.answers.send(reply);
            }
        }
        Ok(())
    }

    fn read(&self, content: &[u8]) -> Result<Heard, BadBytes> {
        let mut asked = self.asked.borrow_mut();
        if asked.first().is_some_and(|asked| matches!(asked.request, ZkRequest::Connect(_))) {
            let reply = ZkReply::connected_from_bytes(content)?;
            return Ok(Heard::Reply(asked.remove(0), reply));
        }
        let place = |xid| asked.iter().position(|asked| asked.xid == xid);
        Ok(match Said::from_bytes(content, |xid| place(xid).map(|place| &asked[place].request))? {
            Said::Event(event) => Heard::Event(event),
            Said::Answer(xid, answer) => {
                let place = place(xid).expect("it was found there");
                Heard::Reply(asked.remove(place), ZkReply::Answer(Box::new(answer)))
            }
        })
    }
}

impl Connection<ZkRequest> for ZkConnection {
    fn is_open(&self) -> bool {
        !self.wire.ear.is_closed()
    }

    async fn call(&self, request: ZkRequest, timeout: Duration) -> Result<ZkReply, CallError> {
        let wire = &*self.wire;
        let answer = wire.ear.answered(&wire.host, wire.send(request), timeout).await;
        if answer.is_err() {
            self.close();
        }
        answer
    }

    async fn pushed(&self) -> Option<ZkEvent> {
        self.wire.ear.next().await
    }
}

impl ZkConnection {
    fn close(&self) {
        self.hears.abort();
        self.wire.close();
    }
}

impl Drop for ZkConnection {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for ZkConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ZkConnection({:?}, open: {})", self.wire.server, self.is_open())
    }
}
