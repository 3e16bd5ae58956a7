//! One log, several members: whoever applies an entry first speaks for the cluster, and the others must agree.

use host::NodeId;

use crate::history::{Entry, Note};

/// An entry of the log that was applied: where it is in the log, and who applied it first.
struct Spoken {
    index: u64,
    speaker: NodeId,
    /// What that member said of it, one after the other, by their places in the history.
    notes: Vec<usize>,
}

/// Has the members of a cluster speak as one: of each entry of the log that changes an owner or an object the first member to
/// apply it says so for the cluster, which is called by `cluster`. What the others say after it is left as it is, if it is the
/// same; else it becomes [`Note::Disagreed`].
pub fn speak_as_one(entries: &mut [Entry], cluster: NodeId) {
    act_as_one(entries, cluster);
    let mut spoken: Vec<Spoken> = Vec::new();
    for place in 0..entries.len() {
        // The cluster was put back to what it was: what comes after that in its log comes anew.
        if matches!(entries[place].note, Note::DiskLost { authority } if authority == cluster) {
            spoken.clear();
        }
        let Note::Applied { member, index, key, attempt, cause, .. } = entries[place].note else { continue };
        let found = spoken.binary_search_by_key(&index, |spoken| spoken.index);
        let agrees = match found {
            // It is the first to speak of what comes next.
            Err(next) if next == spoken.len() => {
                spoken.push(Spoken { index, speaker: member, notes: vec![place] });
                None
            }
            // Those before it found nothing there.
            Err(_) => Some(false),
            Ok(one) => {
                let is_same = |note: &usize| match entries[*note].note {
                    Note::Owner { key: first, attempt: owner, cause: why, .. } => {
                        (first, owner, why) == (key, attempt, cause)
                    }
                    _ => false,
                };
                let is_known = spoken[one].notes.iter().any(is_same);
                // Who spoke first may have more to say, and may say it again when it is back from the dead.
                if is_known || spoken[one].speaker != member || one + 1 != spoken.len() {
                    Some(is_known)
                } else {
                    spoken[one].notes.push(place);
                    None
                }
            }
        };
        match agrees {
            None => entries[place].note = Note::Owner { authority: cluster, key, attempt, cause },
            Some(true) => {}
            Some(false) => entries[place].note = Note::Disagreed { member, key, attempt },
        }
    }
}

/// The same for operations on objects. What is applied anew is no operation anew.
fn act_as_one(entries: &mut [Entry], cluster: NodeId) {
    let mut reached = 0;
    for entry in entries {
        if matches!(entry.note, Note::DiskLost { authority } if authority == cluster) {
            reached = 0;
        }
        let Note::Acted { index, attempt, op, object, based_on, replaced, .. } = entry.note else { continue };
        if index > reached {
            reached = index;
            entry.note = match replaced {
                Some(replaced) => Note::Wrote { attempt, op, object, based_on, replaced },
                None => Note::Refused { attempt, op, object },
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use host::{AttemptId, SimTime};

    use super::*;
    use crate::history::Cause;

    const CLUSTER: NodeId = NodeId::new(0);

    fn attempt(number: u32) -> Option<AttemptId> {
        Some(AttemptId::new(NodeId::new(9), NonZeroU32::new(number).expect("they begin at 1")))
    }

    /// Members, each with an index and the attempt that it made of it, one after the other.
    fn heard(said: &[(u16, u64, u32)]) -> Vec<&'static str> {
        let applied = |&(member, index, owner): &(u16, u64, u32)| Note::Applied {
            member: NodeId::new(member),
            index,
            leads: false,
            key: "orders".into(),
            attempt: attempt(owner),
            cause: Cause::Expiry,
        };
        let mut entries: Vec<_> = said
            .iter()
            .map(|said| Entry { at: SimTime::ZERO, node: NodeId::new(said.0), note: applied(said) })
            .collect();
        speak_as_one(&mut entries, CLUSTER);
        let word = |entry: &Entry| match entry.note {
            Note::Owner { authority: CLUSTER, .. } => "owner",
            Note::Disagreed { .. } => "disagrees",
            _ => "",
        };
        entries.iter().map(word).collect()
    }

    #[test]
    fn an_object_is_written_once() {
        let acted = |(index, replaced): (u64, Option<u64>)| Note::Acted {
            index,
            leads: false,
            attempt: attempt(1),
            op: crate::OpId(0),
            object: "account".into(),
            based_on: None,
            replaced: replaced.map(crate::Version),
        };
        let said = [(5, Some(0)), (5, Some(0)), (7, None), (7, None), (5, Some(0))];
        let mut entries: Vec<_> =
            said.map(|said| Entry { at: SimTime::ZERO, node: CLUSTER, note: acted(said) }).into_iter().collect();
        speak_as_one(&mut entries, CLUSTER);
        let words: Vec<_> = entries
            .iter()
            .map(|entry| match entry.note {
                Note::Wrote { .. } => "wrote",
                Note::Refused { .. } => "refused",
                _ => "",
            })
            .collect();
        assert_eq!(words, ["wrote", "", "refused", "", ""]);
    }

    #[test]
    fn the_first_speaks_for_all() {
        assert_eq!(heard(&[(1, 5, 1), (0, 5, 1), (2, 5, 1), (2, 7, 2), (1, 7, 2)]), ["owner", "", "", "owner", ""]);
    }

    #[test]
    fn an_entry_may_change_several_owners() {
        assert_eq!(
            heard(&[(1, 5, 1), (1, 5, 2), (0, 5, 1), (0, 5, 2), (0, 5, 3)]),
            ["owner", "owner", "", "", "disagrees"]
        );
    }

    #[test]
    fn who_starts_again_may_say_again_what_it_said_first() {
        assert_eq!(
            heard(&[(1, 5, 1), (1, 6, 2), (1, 5, 1), (1, 6, 2), (1, 5, 3)]),
            ["owner", "owner", "", "", "disagrees"]
        );
    }

    #[test]
    fn who_makes_something_else_of_an_entry_disagrees() {
        assert_eq!(heard(&[(1, 5, 1), (0, 5, 2)]), ["owner", "disagrees"]);
    }

    #[test]
    fn so_does_who_finds_an_owner_where_others_found_none() {
        assert_eq!(heard(&[(1, 5, 1), (1, 7, 2), (0, 6, 3), (0, 7, 2)]), ["owner", "owner", "disagrees", ""]);
    }
}
