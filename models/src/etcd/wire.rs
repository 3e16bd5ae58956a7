//! Requests and answers as the JSON of etcd's gateway: how a client says it, and what a server says to it.
//!
//! Source: `rpc.proto` with its HTTP annotations, and what the gateway of etcd 3.4.23 answers. Bytes are base64; whole
//! numbers of 64 bits are strings; what is zero or empty is left out.

mod fields;
mod read;
mod say;

pub use fields::NotModelled;
pub use serde_json::Value as Json;

use host::NodeId;

use super::answer::{Header, Push, Reply};
use super::api::Rpc;
use super::key::{Key, Keys};

impl Rpc {
    /// Where it is posted, and what.
    #[must_use]
    pub fn to_json(&self) -> (&'static str, Json) {
        say::request(self)
    }

    /// What was posted there.
    ///
    /// # Errors
    /// If it is nothing that the model knows.
    pub fn from_json(path: &str, body: &Json) -> Result<Self, NotModelled> {
        read::request(path, body)
    }
}

impl Reply {
    /// The status and the body; without who says it, and in which term, which no two clusters have the same.
    #[must_use]
    pub fn to_json(&self) -> (u16, Json) {
        say::reply(self)
    }

    /// What a server has answered to such a request; by whom, the caller knows.
    ///
    /// # Errors
    /// If it is nothing that the model knows.
    pub fn from_json(rpc: &Rpc, from: NodeId, status: u16, body: &Json) -> Result<Self, NotModelled> {
        read::reply(rpc, from, status, body)
    }
}

impl Push {
    /// The body, as for replies.
    #[must_use]
    pub fn to_json(&self) -> Json {
        say::push(self)
    }

    /// What a server has said to who watches. `None`: not of events.
    ///
    /// # Errors
    /// If it is nothing that the model knows.
    pub fn from_json(from: NodeId, body: &Json) -> Result<Option<Self>, NotModelled> {
        read::push(from, body)
    }
}

/// What a server has said, without who says it, and in which term.
pub fn forget_who(body: &mut Json) {
    match body {
        Json::Object(fields) => {
            for name in ["cluster_id", "member_id", "raft_term"] {
                fields.remove(name);
            }
            fields.values_mut().for_each(forget_who);
        }
        Json::Array(items) => items.iter_mut().for_each(forget_who),
        _ => {}
    }
}

/// First key and end of a range, as bytes. No end: the key alone.
fn bounds(keys: &Keys) -> (Vec<u8>, Vec<u8>) {
    let text = |key: &Key| key.to_string().into_bytes();
    match keys {
        Keys::One(key) => (text(key), Vec::new()),
        Keys::Between(first, end) => (text(first), text(end)),
        // All keys: from the least one on.
        Keys::Under(prefix) if prefix.is_empty() => (vec![0], vec![0]),
        Keys::Under(prefix) => {
            let first = prefix.as_bytes().to_vec();
            let mut end = first.clone();
            // The last byte of a text is never the greatest.
            if let Some(last) = end.last_mut() {
                *last += 1;
            }
            (first, end)
        }
    }
}

/// Of a server of which nothing more is known.
fn header(member: NodeId, revision: u64, term: u64) -> Header {
    Header { member, revision: super::Revision(revision), term }
}

#[cfg(test)]
mod tests;
