//! How a client reaches a member of an etcd cluster: over the member's JSON gateway.
//!
//! | a connection there | here |
//! |---|---|
//! | many requests at a time | so many lines of HTTP as are needed at a time, kept open and used again |
//! | a watch, whose events are pushed | a line of its own, on which the answer does not end |
//! | is closed, or reset | one of its lines is: the process at the other end is gone |
//! | runs into a timeout, or is dropped | all its lines are closed |
//!
//! What is asked and answered the coordinator is told: from whom it comes that a key is whose, members do not know.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::rc::Rc;

use host::{
    CallError, Calls, ConnectError, Connection, Domain, Duration, Either, Host, NodeId, Operation, Server, first,
};
use models::etcd::wire::Json;
use models::etcd::{Body, Errand, Push, Reply, Response, Rpc, WatchId};
use models::{Locks, Message};
use tokio::task::JoinHandle;

use super::LiveHost;
use super::ear::Ear;
use super::http::{Answer, Line};
use super::path::Path;
use crate::line::{Asks, Report, Way};

/// A connection to a member.
pub struct EtcdConnection {
    host: LiveHost,
    member: NodeId,
    /// Where the member listens.
    listens: u16,
    path: Rc<Path>,
    ear: Rc<Ear<Push>>,
    /// Lines on which nothing is open.
    idle: RefCell<Vec<Line>>,
    watches: RefCell<Vec<JoinHandle<()>>>,
}

impl Calls<Rpc> for LiveHost {
    type Connection = EtcdConnection;

    async fn connect(&self, member: Server<Rpc>, timeout: Duration) -> Result<EtcdConnection, ConnectError> {
        let member = member.node();
        let Some(listens) = self.port(member) else { self.strand(format!("nobody listens for {member:?}")).await };
        let opens = async {
            let path = Path::open(self, member).await;
            Line::open(listens).await.map(|line| (path, line))
        };
        let (path, line) = match first(opens, self.sleep(timeout)).await {
            Either::Left(opened) => opened.map_err(|_| ConnectError::Refused)?,
            Either::Right(()) => return Err(ConnectError::TimedOut),
        };
        let ear = Rc::new(Ear::new());
        let (host, path, idle) = (self.clone(), Rc::new(path), RefCell::new(vec![line]));
        Ok(EtcdConnection { host, member, listens, path, ear, idle, watches: RefCell::default() })
    }
}

impl EtcdConnection {
    fn close(&self) {
        self.ear.close();
        self.idle.borrow_mut().clear();
        self.watches.borrow_mut().drain(..).for_each(|watch| watch.abort());
    }

    async fn line(&self) -> io::Result<Line> {
        let idle = self.idle.borrow_mut().pop();
        match idle {
            Some(line) => Ok(line),
            None => Line::open(self.listens).await,
        }
    }

    /// The same on a way on which messages may be lost or late, and the coordinator is told.
    async fn ask_and_say(&self, rpc: &Rpc, call: u64) -> io::Result<(u16, Json)> {
        let Operation(operation) = rpc.operation();
        self.path.pass(Way::Request, operation).await;
        let (path, body) = rpc.to_json();
        let (at, server, attempt) = (self.host.now(), self.member, self.host.scope());
        if let Some(left) = attempt.and_then(|attempt| Locks::left(&Message::Etcd(rpc.clone()), attempt)) {
            self.host.note(left);
        }
        let errand = if let Rpc::Txn(txn) = rpc { txn.errand } else { None };
        let errand = errand.map(|Errand { op, object, based_on }| (op, object, based_on));
        self.host.say(&Report::Asks(Asks {
            at,
            call,
            server,
            attempt,
            path: path.to_owned(),
            body: body.clone(),
            errand,
        }));
        let answer = self.ask(rpc, path, &body).await?;
        self.path.pass(Way::Reply, operation).await;
        Ok(answer)
    }

    /// Asks, and waits for the answer: its status, and its first line.
    async fn ask(&self, rpc: &Rpc, path: &str, body: &Json) -> io::Result<(u16, Json)> {
        let mut line = self.line().await?;
        let mut answer = line.post(path, body).await?;
        if answer.status == 200 && matches!(rpc, Rpc::Watch(_)) {
            let created = answer.line().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
            self.listen(line, answer);
            return Ok((200, created));
        }
        let answered = answer.whole().await?;
        self.idle.borrow_mut().push(line);
        Ok(answered)
    }

    /// Hears what is told on that line, to its end.
    fn listen(&self, line: Line, mut answer: Answer) {
        let (host, member) = (self.host.clone(), self.member);
        let (path, ear) = (Rc::clone(&self.path), Rc::clone(&self.ear));
        let id = self.next_watch();
        let hears = async move {
            while let Ok(Some(said)) = answer.line().await {
                match Push::from_json(member, &said) {
                    Ok(Some(push)) => {
                        path.pass(Way::Push, EVENTS).await;
                        ear.hear(Push { watch: id, ..push });
                    }
                    Ok(None) => {}
                    Err(why) => host.strand(format!("{member:?} tells who watches: {why}")).await,
                }
            }
            drop(line);
            ear.close();
        };
        self.watches.borrow_mut().push(tokio::task::spawn_local(hears));
    }

    /// On the wire each watch is the first of its stream.
    fn next_watch(&self) -> WatchId {
        WatchId(self.watches.borrow().len() as u64)
    }

    fn read(&self, rpc: &Rpc, watch: WatchId, (status, body): (u16, &Json)) -> Result<Reply, String> {
        let reply = Reply::from_json(rpc, self.member, status, body).map_err(|why| why.to_string())?;
        Ok(match reply {
            Reply::Done(response) => match *response {
                Response { header, body: Body::WatchCreated { .. } } => {
                    Reply::Done(Box::new(Response { header, body: Body::WatchCreated { id: watch } }))
                }
                response => Reply::Done(Box::new(response)),
            },
            failed @ Reply::Failed(_) => failed,
        })
    }
}

impl Connection<Rpc> for EtcdConnection {
    fn is_open(&self) -> bool {
        !self.ear.is_closed() && self.idle.borrow().iter().all(Line::is_open)
    }

    async fn call(&self, rpc: Rpc, timeout: Duration) -> Result<Reply, CallError> {
        let (host, call) = (&self.host, self.host.number());
        if matches!(rpc, Rpc::WatchCancel { .. }) {
            host.strand("no client asks for a watch to be cancelled but by closing its connection".to_owned()).await;
        }
        if !self.is_open() {
            self.close();
            return Err(CallError::Closed);
        }
        let watch = self.next_watch();
        let asked = first(self.ask_and_say(&rpc, call), self.ear.closes());
        let (status, body) = match first(asked, host.sleep(timeout)).await {
            Either::Left(Either::Left(Ok(answer))) => answer,
            Either::Left(_) => {
                self.close();
                return Err(CallError::Closed);
            }
            Either::Right(()) => {
                self.close();
                return Err(CallError::TimedOut);
            }
        };
        let at = host.now();
        let reply = match self.read(&rpc, watch, (status, &body)) {
            Ok(reply) => reply,
            Err(why) => host.strand(format!("the model has no word for what {:?} said: {why}", self.member)).await,
        };
        host.say(&Report::Replied { at, call, status, body });
        Ok(reply)
    }

    async fn pushed(&self) -> Option<Push> {
        self.ear.next().await
    }
}

impl Drop for EtcdConnection {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for EtcdConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EtcdConnection({:?}, open: {})", self.member, self.is_open())
    }
}

/// The name by which faults know what is pushed.
const EVENTS: &str = "events";
