//! What a redis-server itself tells of what it has done: which connection's command it ran, when, and what that did to
//! which key.
//!
//! The server names no attempts, but connections, and whose those are the clients have said. So one connection to it, over
//! its socket, listens to two things at once, which RESP3 allows, and which so come in the order in which they happened:
//! `MONITOR`, a line for each command that was run, with the server's own reading of the clock, the port of its
//! connection, and `lua` instead of a port for a command that a script ran; and keyspace notifications, a word for each key
//! that was changed. As redis-server 7.0 tells it, the changes come before the line of the command that made them, and a
//! script's own line before those of its commands. A key that has expired or was evicted is told between any two.
//!
//! What it cannot witness: a command that the server rejects or only queues has no line; neither has what a killed server
//! had run and not yet told. The first changes nothing, the second is found out: an answer without a line. That a key
//! has expired is told when the server finds out, up to some hundred ms late; until then, and nobody can tell the
//! difference, it is its old owner's.

use std::fmt::Write as _;
use std::io::{self, Read, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use host::{Name, WallTime};
use redis_protocol::resp3::decode::complete::decode;
use redis_protocol::resp3::types::OwnedFrame;

/// One thing that a server tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    /// It ran a command.
    Ran {
        /// When, as its clock read.
        wall: WallTime,
        /// From which port it came. `None`: a script ran it.
        port: Option<u16>,
        /// Its name and arguments.
        text: String,
    },
    /// A key has changed.
    Changed {
        /// How: `set`, `expire`, `del`, `expired`, …
        how: String,
        /// Which.
        key: Name,
    },
    /// It has sent its clients away, and is a primary now, with these keys.
    Leads(Vec<Name>),
    /// It has sent its clients away, and is a replica now.
    Follows,
}

/// Who listens to a server.
#[derive(Debug)]
pub(crate) struct Witness {
    stream: UnixStream,
    read: Vec<u8>,
}

impl Witness {
    /// Begins to listen to the server behind that socket, which must be told to notify (`notify-keyspace-events EA`). Of
    /// all that the server does from here on, nothing is missed.
    ///
    /// # Errors
    /// If the server is not there, or is too old to do both at once.
    pub(crate) fn listen(socket: &Path) -> io::Result<Self> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"HELLO 3\r\nPSUBSCRIBE __keyevent@0__:*\r\nMONITOR\r\n")?;
        let mut witness = Self { stream, read: Vec::new() };
        // The last of the three is the one that says so.
        loop {
            match witness.frame()? {
                OwnedFrame::SimpleString { .. } => break,
                OwnedFrame::SimpleError { data, .. } => return Err(io::Error::other(data)),
                _ => {}
            }
        }
        witness.stream.set_read_timeout(None)?;
        Ok(witness)
    }

    /// The next thing that the server tells.
    ///
    /// # Errors
    /// If the server is gone, or is not to be understood.
    pub(crate) fn next(&mut self) -> io::Result<Told> {
        loop {
            let frame = self.frame()?;
            match &frame {
                OwnedFrame::SimpleString { data, .. } => {
                    let line = String::from_utf8_lossy(data);
                    return ran(&line).ok_or_else(|| unknown(&line));
                }
                OwnedFrame::Push { data, .. } => {
                    let [_, _, channel, key] = data.as_slice() else { continue };
                    let (Some(channel), Some(key)) = (text(channel), text(key)) else { return Err(unknown(&frame)) };
                    let how = channel.rsplit(':').next().unwrap_or_default().to_owned();
                    return Ok(Told::Changed { how, key: key.as_str().into() });
                }
                _ => return Err(unknown(&frame)),
            }
        }
    }

    fn frame(&mut self) -> io::Result<OwnedFrame> {
        let mut chunk = [0; 4_096];
        loop {
            if let Some((frame, length)) = decode(&self.read).map_err(|error| unknown(&error))? {
                self.read.drain(..length);
                return Ok(frame);
            }
            match self.stream.read(&mut chunk)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                length => self.read.extend_from_slice(&chunk[..length]),
            }
        }
    }
}

fn unknown(what: &impl std::fmt::Debug) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the server tells what nobody understands: {what:?}"))
}

fn text(frame: &OwnedFrame) -> Option<String> {
    match frame {
        OwnedFrame::BlobString { data, .. } | OwnedFrame::SimpleString { data, .. } => {
            String::from_utf8(data.clone()).ok()
        }
        _ => None,
    }
}

/// Reads a line of `MONITOR`: `1796055700.321320 [0 127.0.0.1:46672] "SET" "k" "v"`.
fn ran(line: &str) -> Option<Told> {
    let (clock, rest) = line.split_once(" [")?;
    let (whose, text) = rest.split_once("] ")?;
    let (seconds, micros) = clock.split_once('.')?;
    let [seconds, micros] = [seconds, micros].map(|number| i64::from_str(number).ok());
    let wall = WallTime::from_nanos((seconds? * 1_000_000 + micros?) * 1_000);
    let (_, from) = whose.split_once(' ')?;
    let port = match from {
        "lua" => None,
        // Behind the socket is only who looks after the server.
        from if from.starts_with("unix:") => Some(0),
        from => Some(from.rsplit(':').next()?.parse().ok()?),
    };
    Some(Told::Ran { wall, port, text: text.to_owned() })
}

/// A command as `MONITOR` tells of it: each argument in quotes, and escaped as Redis does.
pub(crate) fn as_told<'a>(args: impl Iterator<Item = &'a [u8]>) -> String {
    let mut told = String::new();
    for arg in args {
        told.push_str(if told.is_empty() { "\"" } else { " \"" });
        for byte in arg {
            match byte {
                b'\\' | b'"' => told.extend(['\\', char::from(*byte)]),
                b'\n' => told.push_str("\\n"),
                b'\r' => told.push_str("\\r"),
                b'\t' => told.push_str("\\t"),
                0x07 => told.push_str("\\a"),
                0x08 => told.push_str("\\b"),
                0x20..0x7f => told.push(char::from(*byte)),
                other => _ = write!(told, "\\x{other:02x}"),
            }
        }
        told.push('"');
    }
    told
}

/// Longer than any healthy server takes.
const PATIENCE: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_when_whose_and_what() {
        let line = r#"1796055700.321320 [0 127.0.0.1:46672] "SET" "k" "v""#;
        let wall = WallTime::from_nanos(1_796_055_700_321_320_000);
        let text = r#""SET" "k" "v""#.to_owned();
        assert_eq!(ran(line), Some(Told::Ran { wall, port: Some(46_672), text }));
        let port = |line| ran(line).map(|told| matches!(told, Told::Ran { port: None, .. }));
        assert_eq!(port(r#"1796055700.599172 [0 lua] "get" "k] x""#), Some(true));
        assert_eq!(port(r#"1796055700.599172 [0 unix:/tmp/s] "echo" "k""#), Some(false));
        assert_eq!(ran("OK"), None);
    }

    #[test]
    fn a_command_is_told_as_redis_does() {
        let args: [&[u8]; 3] = [b"SET", b"a \"b\"\\", b"\n\r\t\x07\x08\x00\xff~"];
        assert_eq!(as_told(args.into_iter()), r#""SET" "a \"b\"\\" "\n\r\t\a\b\x00\xff~""#);
    }
}
