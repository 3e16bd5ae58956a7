//! A connection to ZooKeeper, as its clients' library has one: one request after the other, and what is told in between.
//!
//! It adds no new connection for one that is lost, and pings only while it waits for an answer that does not come: a library
//! does so when it has heard nothing for a third of the session.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use models::zookeeper::wire::{BadBytes, Said, Xid, cut_frame, frame};
use models::zookeeper::{Answer, Connect, ZkEvent, ZkReply, ZkRequest};

/// Longer than any healthy server takes: who hears nothing for so long gives up.
const PATIENCE: Duration = Duration::from_secs(20);
/// So often it pings meanwhile, who waits for an answer.
const PINGS: u32 = 10;

/// A connection.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    /// What has come in, and was not asked for yet.
    read: Vec<u8>,
    /// What was asked and is not answered.
    asked: BTreeMap<Xid, ZkRequest>,
    next: Xid,
    /// What has come last.
    last: Vec<u8>,
}

impl Connection {
    /// Connects to a server on this machine.
    ///
    /// # Errors
    /// If nobody listens there.
    pub fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream, read: Vec::new(), asked: BTreeMap::new(), next: Xid(1), last: Vec::new() })
    }

    /// Begins a session, or goes on with one. `None`: the server has hung up without a word.
    ///
    /// # Errors
    /// If the connection breaks, or what comes is no answer.
    pub fn begin(&mut self, connect: &Connect) -> io::Result<Option<ZkReply>> {
        let content = ZkRequest::Connect(Box::new(connect.clone())).to_bytes(self.next);
        self.stream.write_all(&frame(&content))?;
        self.frame()?.map(|content| ZkReply::connected_from_bytes(&content)).transpose().map_err(bad)
    }

    /// Sends a request.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn send(&mut self, request: ZkRequest) -> io::Result<Xid> {
        let xid = Xid::of(&request, self.next);
        if xid == self.next {
            self.next.0 += 1;
        }
        let content = request.to_bytes(xid);
        self.asked.insert(xid, request);
        self.stream.write_all(&frame(&content))?;
        Ok(xid)
    }

    /// Waits for what the server says next. `None`: it has hung up.
    ///
    /// # Errors
    /// If the connection breaks, or what comes is not known.
    pub fn receive(&mut self) -> io::Result<Option<Said>> {
        let Some(content) = self.frame()? else { return Ok(None) };
        let said = Said::from_bytes(&content, |xid| self.asked.get(&xid)).map_err(bad)?;
        if let Said::Answer(xid, _) = &said {
            self.asked.remove(xid);
        }
        Ok(Some(said))
    }

    /// Sends a request, and waits for its answer and what is told before that. No answer: the server has hung up.
    ///
    /// # Errors
    /// If the connection breaks, or what comes is not known.
    pub fn ask(&mut self, request: ZkRequest) -> io::Result<(Vec<ZkEvent>, Option<Answer>)> {
        let asked = match self.send(request) {
            Err(error) if is_hung_up(&error) => return Ok((Vec::new(), None)),
            sent => sent?,
        };
        self.stream.set_read_timeout(Some(PATIENCE / PINGS))?;
        let answered = self.wait_for(asked);
        self.stream.set_read_timeout(Some(PATIENCE))?;
        answered
    }

    fn wait_for(&mut self, asked: Xid) -> io::Result<(Vec<ZkEvent>, Option<Answer>)> {
        let (mut events, mut pings) = (Vec::new(), 0);
        loop {
            match self.receive() {
                Ok(Some(Said::Event(event))) => events.push(event),
                Ok(Some(Said::Answer(xid, answer))) if xid == asked => return Ok((events, Some(answer))),
                Ok(Some(Said::Answer(..))) => {}
                Ok(None) => return Ok((events, None)),
                Err(error) if is_silent(&error) && pings < PINGS => {
                    pings += 1;
                    self.send(ZkRequest::Ping)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// What the server said last, as it came: with what the model reads over.
    #[must_use]
    pub fn last_content(&self) -> &[u8] {
        &self.last
    }

    /// The content of the next frame. `None`: there is none any more.
    fn frame(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut chunk = [0; 4_096];
        loop {
            if let Some((content, length)) = cut_frame(&self.read).map_err(bad)? {
                let content = content.to_vec();
                self.read.drain(..length);
                self.last.clone_from(&content);
                return Ok(Some(content));
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => return Ok(None),
                Ok(length) => self.read.extend_from_slice(&chunk[..length]),
                Err(error) if is_hung_up(&error) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}

/// A server that is rid of a client does not read what that had sent, or sends.
fn is_hung_up(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

/// Nothing came in time.
fn is_silent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn bad(error: BadBytes) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}
