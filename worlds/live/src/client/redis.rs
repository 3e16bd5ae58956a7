//! How a client reaches a Redis server: by the `redis` crate, as a real one does, on a connection whose port the server
//! tells when it is asked what it has run.
//!
//! The crate's own time limits are off: the limit is the call's, and a call that has run into it costs the connection.

use std::cell::RefCell;
use std::fmt;
use std::net::Ipv4Addr;
use std::rc::Rc;

use host::{CallError, Calls, ConnectError, Connection, Duration, Either, Host, Name, NodeId, Server, first};
use models::redis::{Command, FairScript, Published, Reply, Script};
use models::script::points;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, RedisConnectionInfo, Value};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::LiveHost;
use crate::line::{Call, Report};
use crate::witness::as_told;

/// A connection to a Redis server.
pub struct RedisConnection {
    host: LiveHost,
    server: NodeId,
    port: u16,
    connection: MultiplexedConnection,
    /// What reads and writes; it ends when the connection does.
    driver: Rc<RefCell<JoinHandle<()>>>,
}

impl Calls<Command> for LiveHost {
    type Connection = RedisConnection;

    async fn connect(&self, server: Server<Command>, timeout: Duration) -> Result<RedisConnection, ConnectError> {
        let server = server.node();
        let Some(listens) = self.port(server) else { self.strand(format!("nobody listens for {server:?}")).await };
        let opens = async {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, listens)).await.ok()?;
            stream.set_nodelay(true).ok()?;
            let port = stream.local_addr().ok()?.port();
            let info = RedisConnectionInfo::default().set_skip_set_lib_name();
            let config = AsyncConnectionConfig::new().set_response_timeout(None);
            let (connection, driver) = MultiplexedConnection::new_with_config(&info, stream, config).await.ok()?;
            let driver = Rc::new(RefCell::new(tokio::task::spawn_local(driver)));
            Some(RedisConnection { host: self.clone(), server, port, connection, driver })
        };
        match first(opens, self.sleep(timeout)).await {
            Either::Left(opened) => opened.ok_or(ConnectError::Refused),
            Either::Right(()) => Err(ConnectError::TimedOut),
        }
    }
}

impl RedisConnection {
    fn close(&self) {
        self.driver.borrow().abort();
    }
}

impl Connection<Command> for RedisConnection {
    fn is_open(&self) -> bool {
        !self.driver.borrow().is_finished()
    }

    async fn call(&self, command: Command, timeout: Duration) -> Result<Reply, CallError> {
        let (host, call) = (&self.host, self.host.number());
        let args = command.to_args();
        let mut packed = Cmd::new();
        args.iter().for_each(|arg| _ = packed.arg(arg.as_bytes()));
        host.say(&Report::Calls(Call {
            at: host.now(),
            call,
            server: self.server,
            port: self.port,
            attempt: host.scope(),
            takes: takes(&command),
            text: as_told(args.iter().map(models::redis::Value::as_bytes)),
        }));
        let mut connection = self.connection.clone();
        let answer = match first(connection.send_packed_command(&packed), host.sleep(timeout)).await {
            Either::Left(Ok(answer)) => answer,
            Either::Left(Err(_)) => return Err(CallError::Closed),
            Either::Right(()) => {
                self.close();
                return Err(CallError::TimedOut);
            }
        };
        let at = host.now();
        let reply = match read(answer, &command) {
            Ok(reply) => reply,
            Err(said) => host.strand(format!("the model has no word for what {:?} said: {said}", self.server)).await,
        };
        let served = !matches!(reply, Reply::Queued | Reply::Error(_));
        host.say(&Report::Answered { at, call, served });
        if takes(&command).is_some() && is_taken(&command, &reply) {
            host.point(points::OWNER).await;
        }
        Ok(reply)
    }

    /// Nothing comes: locks that listen are refused.
    async fn pushed(&self) -> Option<Published> {
        std::future::pending().await
    }
}

impl Drop for RedisConnection {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for RedisConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisConnection({:?}, port {})", self.server, self.port)
    }
}

/// The key that the command makes its attempt the owner of, if it takes it.
fn takes(command: &Command) -> Option<Name> {
    match command {
        Command::Set { key, .. } | Command::Setnx { key, .. } => Some(*key),
        Command::Eval(
            Script::LockWithToken { key, .. } | Script::ExtendOrCreate { key, .. } | Script::HashLock { key, .. },
        ) => Some(*key),
        Command::Eval(Script::Fair(script)) => match &**script {
            FairScript::Lock { key, .. } => Some(*key),
            FairScript::Unlock { .. } | FairScript::Leave { .. } => None,
        },
        _ => None,
    }
}

/// Whether the reply says that the key is the asking attempt's now. (The history has this from the server itself; here it
/// is for the milestone, which a client passes when it hears of it.)
fn is_taken(command: &Command, reply: &Reply) -> bool {
    match (command, reply) {
        (Command::Set { get: false, .. } | Command::Eval(Script::ExtendOrCreate { .. }), Reply::Ok)
        | (Command::Setnx { .. }, Reply::Int(1))
        | (Command::Eval(Script::LockWithToken { .. }), Reply::Int(_))
        | (Command::Eval(Script::HashLock { .. } | Script::Fair(_)), Reply::Nil) => true,
        (Command::Set { get: true, only, .. }, Reply::Nil | Reply::Bulk(_)) => match only {
            None => true,
            Some(models::redis::SetIf::Nx) => *reply == Reply::Nil,
            Some(models::redis::SetIf::Xx) => *reply != Reply::Nil,
        },
        _ => false,
    }
}

/// The reply in the model's words; else what it was.
fn read(answer: Value, command: &Command) -> Result<Reply, String> {
    Ok(match answer {
        Value::Okay => Reply::Ok,
        Value::SimpleString(text) if text == "QUEUED" => Reply::Queued,
        // To the crate, a null string and a null array are one.
        Value::Nil if *command == Command::Exec => Reply::NilArray,
        Value::Nil => Reply::Nil,
        Value::Int(number) => Reply::Int(number),
        Value::BulkString(bytes) => Reply::Bulk(bytes.as_slice().into()),
        Value::Array(answers) => {
            Reply::Array(answers.into_iter().map(|answer| read(answer, command)).collect::<Result<_, _>>()?)
        }
        Value::ServerError(error) => {
            let text = format!("{} {}", error.code(), error.details().unwrap_or_default());
            Reply::Error(models::redis::RedisError::said(&text).ok_or(text)?)
        }
        other => return Err(format!("{other:?}")),
    })
}
