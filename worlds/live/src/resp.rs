//! A connection to Redis that keeps replies as they came.
//!
//! Requests are arrays of bulk strings; a reply is the bytes of one value of RESP2, so that two replies can be compared to
//! the byte. `redis-protocol` finds where a value ends; the `redis` crate's parser would not do, to which a null string
//! and a null array are one.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use redis_protocol::resp2::decode::decode;
use redis_protocol::resp2::types::OwnedFrame;

/// Longer than any healthy server takes: who hears nothing for so long gives up.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection.
#[derive(Debug)]
pub struct Connection<S = TcpStream> {
    stream: S,
    /// What has come in, and was not asked for yet.
    read: Vec<u8>,
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
        Ok(Self { stream, read: Vec::new() })
    }
}

impl Connection<UnixStream> {
    /// Connects to a server by its socket.
    ///
    /// # Errors
    /// If nobody listens there.
    pub fn open_socket(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream, read: Vec::new() })
    }
}

impl<S: Read + Write> Connection<S> {
    /// Sends a command, and waits for its reply.
    ///
    /// # Errors
    /// If the connection breaks, or what comes is not RESP2.
    pub fn ask<A: AsRef<[u8]>>(&mut self, args: &[A]) -> io::Result<Vec<u8>> {
        self.send(args)?;
        self.receive()
    }

    /// Sends a command that is answered with a list of strings.
    ///
    /// # Errors
    /// If the connection breaks, or what comes is no such list.
    pub fn ask_for_list<A: AsRef<[u8]>>(&mut self, args: &[A]) -> io::Result<Vec<Vec<u8>>> {
        let reply = self.ask(args)?;
        let string = |frame| match frame {
            OwnedFrame::BulkString(string) => Some(string),
            _ => None,
        };
        let list = match decode(&reply) {
            Ok(Some((OwnedFrame::Array(list), _))) => list.into_iter().map(string).collect(),
            _ => None,
        };
        list.ok_or_else(|| io::Error::other(format!("no list: {}", String::from_utf8_lossy(&reply))))
    }

    /// Sends a command.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn send<A: AsRef<[u8]>>(&mut self, args: &[A]) -> io::Result<()> {
        let mut request = format!("*{}\r\n", args.len()).into_bytes();
        for arg in args {
            let arg = arg.as_ref();
            request.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
            request.extend_from_slice(arg);
            request.extend_from_slice(b"\r\n");
        }
        self.stream.write_all(&request)
    }

    /// Waits for a reply.
    ///
    /// # Errors
    /// If the connection breaks, or what comes is not RESP2.
    pub fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut chunk = [0; 4_096];
        loop {
            let bad = |error| io::Error::new(io::ErrorKind::InvalidData, format!("not RESP2: {error}"));
            if let Some((_, length)) = decode(&self.read).map_err(bad)? {
                return Ok(self.read.drain(..length).collect());
            }
            match self.stream.read(&mut chunk)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                length => self.read.extend_from_slice(&chunk[..length]),
            }
        }
    }
}
