//! What travels, as bytes: how a client says a command, what a server makes of its arguments, and how it answers.
//!
//! The simulator carries commands and replies as they are. These are for the real server, which must be told the same
//! and whose answers are held against the model's, byte for byte.
//!
//! Source: <https://redis.io/docs/latest/develop/reference/protocol-spec/>, RESP2.

mod lua;
mod read;
mod say;

pub use read::NotModelled;

use super::Reply;

impl Reply {
    /// The reply in RESP2, as a server sends it.
    #[must_use]
    pub fn to_resp(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write_resp(&mut out);
        out
    }

    fn write_resp(&self, out: &mut Vec<u8>) {
        let mut line = |text: String| {
            out.extend_from_slice(text.as_bytes());
            out.extend_from_slice(b"\r\n");
        };
        match self {
            Self::Ok => line("+OK".to_owned()),
            Self::Queued => line("+QUEUED".to_owned()),
            Self::Nil => line("$-1".to_owned()),
            Self::NilArray => line("*-1".to_owned()),
            Self::Int(number) => line(format!(":{number}")),
            Self::Error(error) => line(format!("-{error}")),
            Self::Pong => line("+PONG".to_owned()),
            Self::Info(info) => Self::Bulk(info.to_string().as_str().into()).write_resp(out),
            Self::Bulk(value) => {
                line(format!("${}", value.as_bytes().len()));
                out.extend_from_slice(value.as_bytes());
                out.extend_from_slice(b"\r\n");
            }
            Self::Array(replies) => {
                line(format!("*{}", replies.len()));
                replies.iter().for_each(|reply| reply.write_resp(out));
            }
        }
    }
}

#[cfg(test)]
mod tests;
