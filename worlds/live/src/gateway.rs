//! The JSON gateway of an etcd server: requests by HTTP, watches as a stream of lines.

use std::io::{self, BufRead, BufReader};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use models::etcd::wire::{Json, forget_who};
use models::etcd::{Rpc, Watch};
use ureq::Agent;

/// How long a server may take to answer: longer than it waits for a majority.
const PATIENCE: Duration = Duration::from_secs(30);

/// One server's gateway. Its connections are kept open, and used again.
#[derive(Clone, Debug)]
pub struct Gateway {
    port: u16,
    agent: Agent,
}

/// What is said to who watches, line by line.
#[derive(Debug)]
pub struct Lines(Receiver<io::Result<Json>>);

impl Gateway {
    /// Of the server that listens for clients on that port of this machine.
    #[must_use]
    pub fn on(port: u16) -> Self {
        // What a server refuses, it says in the body.
        let config = Agent::config_builder().http_status_as_error(false).timeout_connect(Some(PATIENCE));
        Self { port, agent: config.timeout_recv_response(Some(PATIENCE)).build().into() }
    }

    /// Asks, and waits for the answer: its status, and its first line.
    ///
    /// # Errors
    /// If the server is not reached, or says nothing in time.
    pub fn post(&self, path: &str, body: &Json) -> io::Result<(u16, Json)> {
        let (status, reader) = self.open(path, body.to_string())?;
        let mut line = String::new();
        BufReader::new(reader).read_line(&mut line)?;
        Ok((status, serde_json::from_str(&line)?))
    }

    /// The same of a request, without who has answered it.
    ///
    /// # Errors
    /// As [`post`](Self::post).
    pub fn ask(&self, rpc: &Rpc) -> io::Result<(u16, Json)> {
        let (path, body) = rpc.to_json();
        let (status, mut said) = self.post(path, &body)?;
        forget_who(&mut said);
        Ok((status, said))
    }

    /// Watches, several times on one stream: the watches are numbered from 0. Returns once they are all there.
    ///
    /// # Errors
    /// If the server is not reached, or does not take them.
    pub fn watch(&self, watches: &[Watch]) -> io::Result<Lines> {
        let bodies = watches.iter().map(|watch| Rpc::from(watch.clone()).to_json().1.to_string()).collect();
        let (status, reader) = self.open("/v3/watch", bodies)?;
        if status != 200 {
            return Err(io::Error::other(format!("no watch: {status}")));
        }
        let (say, lines) = channel();
        // It ends with the server, or with the next line after nobody listens any more.
        thread::spawn(move || {
            for line in BufReader::new(reader).lines() {
                let line = line.and_then(|line| Ok(serde_json::from_str(&line)?));
                if say.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Lines(lines))
    }

    fn open(&self, path: &str, body: String) -> io::Result<(u16, impl io::Read + use<>)> {
        let url = format!("http://127.0.0.1:{}{path}", self.port);
        let request = self.agent.post(&url).content_type("application/json");
        let response = request.send(body).map_err(|error| match error {
            ureq::Error::Io(error) => error,
            other => io::Error::other(other),
        })?;
        Ok((response.status().as_u16(), response.into_body().into_reader()))
    }
}

impl Lines {
    /// The next line, without who says it. `None`: there is none within that time.
    ///
    /// # Errors
    /// If the stream is broken.
    pub fn next(&self, within: Duration) -> io::Result<Option<Json>> {
        match self.0.recv_timeout(within) {
            Ok(line) => {
                let mut said = line?;
                forget_who(&mut said);
                Ok(Some(said))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}
