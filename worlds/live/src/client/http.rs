//! HTTP to the gateway of an etcd server: a line, on which one request is open at a time.

use std::io;
use std::net::Ipv4Addr;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use models::etcd::wire::Json;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// An open line, or one that was.
pub(super) struct Line {
    sender: SendRequest<Full<Bytes>>,
    /// What reads and writes; it ends when the line does.
    driver: JoinHandle<()>,
}

/// An answer that is being read, line by line.
pub(super) struct Answer {
    pub(super) status: u16,
    body: Incoming,
    /// What has come and was not taken.
    read: Vec<u8>,
}

impl Line {
    /// Opens a line to who listens there.
    pub(super) async fn open(listens: u16) -> io::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, listens)).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        let driver = tokio::task::spawn_local(async move { _ = connection.await });
        Ok(Self { sender, driver })
    }

    pub(super) fn is_open(&self) -> bool {
        !self.driver.is_finished() && !self.sender.is_closed()
    }

    /// Posts this; the answer has begun.
    pub(super) async fn post(&mut self, path: &str, body: &Json) -> io::Result<Answer> {
        let request = Request::builder().method(Method::POST).uri(path).header(HOST, "127.0.0.1");
        let request = request.header(CONTENT_TYPE, "application/json").body(Full::from(body.to_string()));
        self.sender.ready().await.map_err(io::Error::other)?;
        let response = self.sender.send_request(request.map_err(io::Error::other)?).await.map_err(io::Error::other)?;
        Ok(Answer { status: response.status().as_u16(), body: response.into_body(), read: Vec::new() })
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Answer {
    /// The next line. `None`: that was all.
    pub(super) async fn line(&mut self) -> io::Result<Option<Json>> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            match self.body.frame().await {
                Some(frame) => {
                    if let Ok(data) = frame.map_err(io::Error::other)?.into_data() {
                        self.read.extend_from_slice(&data);
                    }
                }
                None if self.read.trim_ascii().is_empty() => return Ok(None),
                None => return Ok(Some(serde_json::from_slice(&std::mem::take(&mut self.read))?)),
            }
        }
    }

    /// Its first line, once all of it has come: the line is free then.
    pub(super) async fn whole(mut self) -> io::Result<(u16, Json)> {
        let first = self.line().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        while self.line().await?.is_some() {}
        Ok((self.status, first))
    }
}
