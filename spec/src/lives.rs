//! The life of each claim: when it asked, as the repetition of which other try, and since when there was
//! nothing left of it but, at most, its key at a server.
//!
//! A claim's *section* lasts from the moment at which its client takes the lock to be its own until the
//! client is through with it or dead. A claim is *over* with its section, or, if it has none, when it was
//! denied, has failed or was given up, or when its client died. What is over neither uses a lock nor waits
//! for one.

use host::SimTime;

use crate::grants::{ClaimId, Deaths, Grants};
use crate::history::{History, Note, Thread};

/// What became of one claim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Life {
    /// When it asked; `NEVER` if its client took the lock to be its own without asking.
    pub(crate) asked: SimTime,
    /// Index of the note with which it asked.
    pub(crate) entry: usize,
    /// In which of its client's threads.
    pub(crate) thread: Thread,
    /// The try that it repeats.
    pub(crate) after: Option<ClaimId>,
    /// When its section began; `NEVER` if it has none.
    pub(crate) entered: SimTime,
    /// Since when it is over; `NEVER` if it is not.
    pub(crate) over: SimTime,
    /// When its client gave up waiting, with this as its last try; `NEVER` if it did not.
    pub(crate) gave_up: SimTime,
    /// When its client died after it had begun; `NEVER` if it did not.
    pub(crate) died: SimTime,
}

impl Life {
    /// Whether the client is in this section at that instant.
    pub(crate) fn is_inside(&self, at: SimTime) -> bool {
        self.entered <= at && at < self.over
    }
}

/// The life of every claim, by claim.
pub(crate) fn lives(history: &History, grants: &Grants) -> Vec<Life> {
    let mut lives: Vec<_> = grants
        .claims()
        .map(|(_, claim)| Life {
            asked: SimTime::NEVER,
            entry: 0,
            thread: Thread::default(),
            after: None,
            entered: claim.granted.map_or(SimTime::NEVER, |granted| granted.at),
            over: SimTime::NEVER,
            gave_up: SimTime::NEVER,
            died: SimTime::NEVER,
        })
        .collect();
    for mention in &grants.mentions.asking {
        let entry = &history.entries[mention.entry];
        let life = &mut lives[mention.claim.index()];
        match entry.note {
            Note::Attempting { after, thread, .. } if life.asked == SimTime::NEVER => {
                (life.asked, life.entry, life.thread) = (entry.at, mention.entry, thread);
                life.after = after.and_then(|after| grants.of_attempt(after));
            }
            Note::Attempting { .. } | Note::Granted { .. } => {}
            Note::GaveUp { .. } => {
                life.gave_up = life.gave_up.min(entry.at);
                life.over = life.over.min(entry.at);
            }
            _ => life.over = life.over.min(entry.at),
        }
    }
    let deaths = Deaths::of(history);
    for ((_, claim), life) in grants.claims().zip(&mut lives) {
        let began = life.asked.min(life.entered);
        life.died = deaths.next(claim.attempt.client(), began);
        life.over = life.over.min(life.died);
    }
    lives
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Story, ms};

    fn of(story: &Story) -> Vec<Life> {
        lives(&story.history, &Grants::of(&story.history, 1))
    }

    #[test]
    fn a_section_lasts_from_the_grant_to_its_end() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders").owned_by(1);
        story.at(12).client(1).granted(100);
        story.at(50).client(1).ended();
        let life = of(&story)[0];
        assert_eq!((life.asked, life.entered, life.over), (ms(10), ms(12), ms(50)));
        assert_eq!([11, 12, 49, 50].map(|at| life.is_inside(ms(at))), [false, true, true, false]);
    }

    #[test]
    fn a_death_ends_what_had_begun_and_not_what_begins_afterwards() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(20).client(1).dies();
        story.at(30).client(1).restarts();
        story.at(40).client(1).asks("orders").denied();
        story.at(50).client(2).takes(200);
        let lives = of(&story);
        assert_eq!([lives[0].over, lives[1].over, lives[2].over], [ms(20), ms(40), SimTime::NEVER]);
        assert_eq!([lives[0].died, lives[1].died], [ms(20), SimTime::NEVER]);
    }

    #[test]
    fn a_try_knows_which_one_it_repeats() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders").denied();
        story.at(20).client(1).asks_again("orders").failed().gives_up();
        let lives = of(&story);
        assert_eq!((lives[0].after, lives[1].after.map(ClaimId::index)), (None, Some(0)));
        assert_eq!([lives[0].gave_up, lives[1].gave_up], [SimTime::NEVER, ms(20)]);
    }
}
