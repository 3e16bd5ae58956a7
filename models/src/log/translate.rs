//! From `raft`'s messages to letters, and back. `raft` knows entries and states by their places; letters have them whole.

use raft::eraftpb::{Entry as RaftEntry, Message, MessageType};

use super::Replicated;
use super::entry::{Place, Ticket};
use super::packet::{Ballot, Candidacy, Letter, What};
use super::store::{Store, raft_entry, raft_snapshot};

/// What `raft` says, in full.
pub(super) fn letter<L: Replicated>(store: &Store<L>, message: &Message) -> Letter<L> {
    let at = Place { index: message.index, term: message.log_term };
    let commit = message.commit;
    let committed = Place { index: commit, term: message.commit_term };
    let candidacy = Candidacy { last: at, commit: committed };
    let ballot = Ballot { granted: !message.reject, commit: committed };
    let what = match message.msg_type {
        MessageType::MsgAppend => {
            let places = message.entries.iter().map(|entry| Place { index: entry.index, term: entry.term });
            let entries = places.map(|place| store.entry(place).clone()).collect();
            What::Append { after: at, commit, entries }
        }
        MessageType::MsgAppendResponse => {
            let refused = message.reject.then_some(Place { index: message.reject_hint, term: message.log_term });
            What::AppendReply { index: message.index, commit, refused }
        }
        MessageType::MsgHeartbeat => What::Heartbeat { commit, read: Ticket::read(&message.context) },
        MessageType::MsgHeartbeatResponse => What::HeartbeatReply { commit, read: Ticket::read(&message.context) },
        MessageType::MsgRequestVote => What::Vote(candidacy),
        MessageType::MsgRequestVoteResponse => What::VoteReply(ballot),
        MessageType::MsgRequestPreVote => What::PreVote(candidacy),
        MessageType::MsgRequestPreVoteResponse => What::PreVoteReply(ballot),
        MessageType::MsgSnapshot => What::Snapshot(store.snapshot().expect("raft was given one").clone()),
        MessageType::MsgReadIndex => What::ReadIndex { read: asked(message) },
        MessageType::MsgReadIndexResp => What::ReadIndexReply { index: message.index, read: asked(message) },
        other => unreachable!("{other:?} is not sent"),
    };
    Letter { from: message.from, term: message.term, what }
}

/// What a letter says, for `raft`: the store is told what the entries and the state in it are.
pub(super) fn message<L: Replicated>(store: &mut Store<L>, members: u64, letter: Letter<L>) -> Message {
    let Letter { from, term, what } = letter;
    let mut message = Message { from, term, ..Message::default() };
    let (kind, read) = match what {
        What::Append { after, commit, entries } => {
            place(&mut message, after);
            message.commit = commit;
            message.entries = entries.iter().map(|entry| raft_entry(entry.place)).collect::<Vec<_>>().into();
            for entry in entries {
                if let Some(proposal) = entry.proposal {
                    store.expect_entry(entry.place, proposal);
                }
            }
            (MessageType::MsgAppend, None)
        }
        What::AppendReply { index, commit, refused } => {
            (message.index, message.commit, message.reject) = (index, commit, refused.is_some());
            if let Some(hint) = refused {
                (message.reject_hint, message.log_term) = (hint.index, hint.term);
            }
            (MessageType::MsgAppendResponse, None)
        }
        What::Heartbeat { commit, read } => {
            message.commit = commit;
            (MessageType::MsgHeartbeat, read)
        }
        What::HeartbeatReply { commit, read } => {
            message.commit = commit;
            (MessageType::MsgHeartbeatResponse, read)
        }
        What::Vote(candidacy) => (stand(&mut message, candidacy, MessageType::MsgRequestVote), None),
        What::PreVote(candidacy) => (stand(&mut message, candidacy, MessageType::MsgRequestPreVote), None),
        What::VoteReply(ballot) => (answer(&mut message, ballot, MessageType::MsgRequestVoteResponse), None),
        What::PreVoteReply(ballot) => (answer(&mut message, ballot, MessageType::MsgRequestPreVoteResponse), None),
        What::Snapshot(snapshot) => {
            message.set_snapshot(raft_snapshot(snapshot.place, members));
            store.expect_snapshot(snapshot);
            (MessageType::MsgSnapshot, None)
        }
        What::ReadIndex { read } => {
            message.entries = vec![ask(read)].into();
            (MessageType::MsgReadIndex, None)
        }
        What::ReadIndexReply { index, read } => {
            message.index = index;
            message.entries = vec![ask(read)].into();
            (MessageType::MsgReadIndexResp, None)
        }
    };
    message.msg_type = kind;
    if let Some(read) = read {
        message.context = read.bytes().to_vec().into();
    }
    message
}

impl Ticket {
    /// As `raft` passes it on: it looks at the bytes only to compare them.
    pub(super) fn bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.member.to_le_bytes());
        bytes[8..].copy_from_slice(&self.number.to_le_bytes());
        bytes
    }

    /// What was passed on, if there was something.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (member, number) = bytes.split_first_chunk()?;
        let number = number.first_chunk()?;
        Some(Self { member: u64::from_le_bytes(*member), number: u64::from_le_bytes(*number) })
    }
}

fn ask(read: Ticket) -> RaftEntry {
    RaftEntry { data: read.bytes().to_vec().into(), ..RaftEntry::default() }
}

fn asked(message: &Message) -> Ticket {
    Ticket::read(&message.entries[0].data).expect("a read has a ticket")
}

const fn place(message: &mut Message, at: Place) {
    (message.index, message.log_term) = (at.index, at.term);
}

const fn stand(message: &mut Message, candidacy: Candidacy, kind: MessageType) -> MessageType {
    place(message, candidacy.last);
    (message.commit, message.commit_term) = (candidacy.commit.index, candidacy.commit.term);
    kind
}

const fn answer(message: &mut Message, ballot: Ballot, kind: MessageType) -> MessageType {
    message.reject = !ballot.granted;
    (message.commit, message.commit_term) = (ballot.commit.index, ballot.commit.term);
    kind
}
