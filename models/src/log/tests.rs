//! What members say to each other, in `raft`'s words and in ours, and what is read back from a disk.

use std::collections::BTreeSet;
use std::rc::Rc;

use host::{AttemptId, Digest, Disk, NodeId};

use super::entry::{Place, Snapshot};
use super::packet::{Ballot, Candidacy, Letter, What};
use super::store::Store;
use super::{Entry, Packet, Proposal, Replicated, Ticket, Written, translate};
use crate::domain::{Locks, Message, Record};

/// A log of numbers that never leaves this file.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Numbers {}

impl Replicated for Numbers {
    type Domain = Locks;
    type Command = u64;
    type Image = u64;

    fn message(packet: Packet<Self>) -> Message {
        unreachable!("{packet} is not sent")
    }
    fn record(written: Written<Self>) -> Record {
        unreachable!("{written:?} is not written")
    }
    fn written(_: &Record) -> Option<&Written<Self>> {
        None
    }
}

const fn at(index: u64, term: u64) -> Place {
    Place { index, term }
}

const fn ticket(member: u64, number: u64) -> Ticket {
    Ticket { member, number }
}

fn entry(index: u64, term: u64, command: Option<u64>) -> Entry<Numbers> {
    let attempt = Some(AttemptId::new(NodeId::new(9), std::num::NonZeroU32::MIN));
    let proposal = command.map(|command| Rc::new(Proposal { command, ticket: ticket(2, command), attempt }));
    Entry { place: at(index, term), proposal }
}

/// One of everything, and what differs from it in one field.
fn said() -> Vec<What<Numbers>> {
    let candidacy =
        |index, term, commit, commit_term| Candidacy { last: at(index, term), commit: at(commit, commit_term) };
    let ballot = |granted, commit, term| Ballot { granted, commit: at(commit, term) };
    let append = |index, term, commit, entries: &[Entry<Numbers>]| What::Append {
        after: at(index, term),
        commit,
        entries: entries.to_vec(),
    };
    let snapshot = |index, term, image| What::Snapshot(Snapshot { place: at(index, term), image: Rc::new(image) });
    let all = [entry(1, 1, None), entry(2, 1, Some(7))];
    vec![
        append(0, 0, 1, &all),
        append(0, 0, 2, &all),
        append(0, 0, 1, &all[..1]),
        append(1, 1, 1, &all[1..]),
        append(1, 1, 1, &[]),
        append(1, 2, 1, &[]),
        What::AppendReply { index: 3, commit: 2, refused: None },
        What::AppendReply { index: 4, commit: 2, refused: None },
        What::AppendReply { index: 3, commit: 3, refused: None },
        What::AppendReply { index: 3, commit: 2, refused: Some(at(2, 1)) },
        What::AppendReply { index: 3, commit: 2, refused: Some(at(1, 1)) },
        What::AppendReply { index: 3, commit: 2, refused: Some(at(2, 2)) },
        What::Heartbeat { commit: 3, read: None },
        What::Heartbeat { commit: 4, read: None },
        What::Heartbeat { commit: 3, read: Some(ticket(1, 5)) },
        What::Heartbeat { commit: 3, read: Some(ticket(2, 5)) },
        What::Heartbeat { commit: 3, read: Some(ticket(1, 6)) },
        What::HeartbeatReply { commit: 3, read: None },
        What::HeartbeatReply { commit: 4, read: None },
        What::HeartbeatReply { commit: 3, read: Some(ticket(1, 5)) },
        What::Vote(candidacy(4, 3, 2, 1)),
        What::Vote(candidacy(5, 3, 2, 1)),
        What::Vote(candidacy(4, 4, 2, 1)),
        What::Vote(candidacy(4, 3, 3, 1)),
        What::Vote(candidacy(4, 3, 2, 2)),
        What::PreVote(candidacy(4, 3, 2, 1)),
        What::VoteReply(ballot(true, 0, 0)),
        What::VoteReply(ballot(false, 0, 0)),
        What::VoteReply(ballot(false, 2, 1)),
        What::VoteReply(ballot(false, 2, 2)),
        What::PreVoteReply(ballot(true, 0, 0)),
        snapshot(2, 1, 7),
        snapshot(3, 1, 7),
        snapshot(2, 2, 7),
        snapshot(2, 1, 8),
        What::ReadIndex { read: ticket(1, 5) },
        What::ReadIndex { read: ticket(1, 6) },
        What::ReadIndexReply { index: 2, read: ticket(1, 5) },
        What::ReadIndexReply { index: 3, read: ticket(1, 5) },
        What::ReadIndexReply { index: 2, read: ticket(2, 5) },
    ]
}

#[test]
fn every_field_of_a_packet_counts_in_its_digest() {
    let letter = |from, term, what| Packet::Letter(Letter { from, term, what });
    let mut packets: Vec<Packet<Numbers>> = said().into_iter().map(|what| letter(1, 2, what)).collect();
    packets.extend([letter(2, 2, said()[0].clone()), letter(1, 3, said()[0].clone())]);
    packets.extend([Packet::Alive, Packet::Taken]);
    packets.extend([0, 1].map(|node| Packet::Stream { reader: NodeId::new(node) }));
    let proposal = |command| entry(1, 1, Some(command)).proposal.expect("it has one");
    packets.extend([7, 8].map(|command| Packet::Propose(proposal(command))));
    let nobodys = Proposal { attempt: None, ..(*proposal(7)).clone() };
    packets.push(Packet::Propose(Rc::new(nobodys)));
    let digests: BTreeSet<u64> = packets.iter().map(Digest::digested).collect();
    assert_eq!(digests.len(), packets.len());
    // Faults tell all kinds apart.
    let operations: BTreeSet<_> = packets.iter().map(Packet::operation).collect();
    assert_eq!(operations.len(), 15);
}

#[test]
fn a_letter_comes_through_rafts_own_message_as_it_was() {
    for what in said() {
        let mut store = Store::<Numbers>::read(&Disk::default(), 3);
        if let What::Append { entries, after, .. } = &what {
            // Who sends them has them, and what is before them.
            (1..=after.index).for_each(|index| store.put(entry(index, 1, None)));
            entries.iter().for_each(|entry| store.put(entry.clone()));
        }
        let letter = Letter { from: 2, term: 5, what };
        let message = translate::message(&mut store, 3, letter.clone());
        if let What::Snapshot(snapshot) = &letter.what {
            store.snapshot = Some(snapshot.clone());
        }
        assert_eq!(translate::letter(&store, &message), letter);
    }
}

#[test]
fn an_entry_takes_its_place_and_voids_what_was_behind_it() {
    let mut store = Store::<Numbers>::read(&Disk::default(), 3);
    for index in 1..=3 {
        store.put(entry(index, 1, Some(index)));
    }
    store.put(entry(2, 2, None));
    assert_eq!([1, 2, 3].map(|index| store.term_at(index)), [Some(1), Some(2), None]);
}
