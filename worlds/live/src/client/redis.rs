//! How a client reaches a Redis server: by the `redis` crate, as a real one does, on a connection whose port the server
//! tells when it is asked what it has run.

use std::fmt;

use host::{CallError, Calls, ConnectError, Connection, Duration, Host, Name, NodeId, Server};
use models::redis::{Command, FairScript, Published, Reply, Script};
use models::script::points;
use redis::Value;

use super::LiveHost;
use super::wire::Wire;
use crate::line::{Call, Report};
use crate::witness::as_told;

/// A connection to a Redis server.
pub struct RedisConnection {
    host: LiveHost,
    server: NodeId,
    wire: Wire,
}

impl Calls<Command> for LiveHost {
    type Connection = RedisConnection;

    async fn connect(&self, server: Server<Command>, timeout: Duration) -> Result<RedisConnection, ConnectError> {
        let server = server.node();
        let Some(listens) = self.port(server) else { self.strand(format!("nobody listens for {server:?}")).await };
        let wire = Wire::open(self, listens, timeout).await?;
        Ok(RedisConnection { host: self.clone(), server, wire })
    }
}

impl Connection<Command> for RedisConnection {
    fn is_open(&self) -> bool {
        self.wire.is_open()
    }

    async fn call(&self, command: Command, timeout: Duration) -> Result<Reply, CallError> {
        if let Command::Subscribe { channel } = command {
            self.wire.subscribe(channel.as_bytes(), timeout).await?;
            return Ok(Reply::Array(vec![Reply::Bulk("subscribe".into()), Reply::Bulk(channel), Reply::Int(1)]));
        }
        let (host, call) = (&self.host, self.host.number());
        let args = command.to_args();
        let args: Vec<&[u8]> = args.iter().map(models::redis::Value::as_bytes).collect();
        host.say(&Report::Calls(Call {
            at: host.now(),
            call,
            server: self.server,
            port: self.wire.port,
            attempt: host.scope(),
            takes: takes(&command),
            text: as_told(args.iter().copied()),
        }));
        let answer = self.wire.ask(&args, timeout).await?;
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

    async fn pushed(&self) -> Option<Published> {
        let (channel, message) = self.wire.hear().await?;
        Some(Published { channel: channel.as_slice().into(), message: message.as_slice().into() })
    }
}

impl fmt::Debug for RedisConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisConnection({:?}, port {})", self.server, self.wire.port)
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
