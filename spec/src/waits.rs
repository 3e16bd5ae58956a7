//! How long clients waited for a lock, and for how long nobody had it whom somebody wanted it from.
//!
//! A client *waits* from its first try until it is granted the lock, gives up or dies, also while it sleeps
//! between a denied try and the next. It is *inside* from its grant to the end of its section, or its death.
//! An *outage* of a lock is a stretch during which some client waits for it and none is inside: the lock is
//! free and nobody gets it, or a dead holder still has it. A holder that stands still is inside: it may go on.
//!
//! Two figures, which are worked out only where something is expected of them. They judge nothing.

use std::collections::BTreeMap;

use host::{AttemptId, Duration, NodeId, SimTime};

use crate::history::{Activity, History, LockName, Note};

/// The longest of a run; stretches that the run's end cut off count as far as they came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waits {
    /// The longest that any client waited for a lock.
    pub longest: Duration,
    /// The longest outage of any lock.
    pub outage: Duration,
}

impl Waits {
    /// Those of that run.
    #[must_use]
    pub fn of(history: &History) -> Self {
        let mut walk =
            Walk { waiting: BTreeMap::new(), inside: BTreeMap::new(), out: BTreeMap::new(), longest: Self::default() };
        let mut deaths = deaths(history).into_iter().peekable();
        for entry in &history.entries {
            while let Some(death) = deaths.next_if(|death| death.precedes(entry.at)) {
                walk.dies(death.node, death.at);
            }
            walk.take(entry.at, &entry.note);
        }
        for death in deaths {
            walk.dies(death.node, death.at);
        }
        walk.finish(history.end)
    }
}

struct Death {
    at: SimTime,
    node: NodeId,
    /// The process was started again in the same instant: what it did then, its new life did.
    reborn: bool,
}

impl Death {
    fn precedes(&self, at: SimTime) -> bool {
        if self.reborn { self.at <= at } else { self.at < at }
    }
}

fn deaths(history: &History) -> Vec<Death> {
    let mut deaths = Vec::new();
    for (index, node) in history.nodes.iter().enumerate() {
        for (i, (at, _)) in node.activity.iter().enumerate().filter(|(_, (_, doing))| *doing == Activity::Dead) {
            let reborn = node.activity.get(i + 1).is_some_and(|(next, _)| next == at);
            deaths.push(Death { at: *at, node: NodeId::new(u16::try_from(index).expect("nodes are few")), reborn });
        }
    }
    deaths.sort_by_key(|death| death.at);
    deaths
}

struct Walk {
    /// By its latest try: for which lock, and since when.
    waiting: BTreeMap<AttemptId, (LockName, SimTime)>,
    inside: BTreeMap<AttemptId, LockName>,
    /// Since when nobody has the lock whom somebody wants it from.
    out: BTreeMap<LockName, SimTime>,
    longest: Waits,
}

impl Walk {
    fn take(&mut self, at: SimTime, note: &Note) {
        match note {
            Note::Attempting { attempt, lock, after, .. } => {
                let before = after.and_then(|before| self.waiting.remove(&before));
                let since = before.map_or(at, |(_, since)| since);
                self.waiting.insert(*attempt, (*lock, since));
                self.look(*lock, at);
            }
            Note::Granted { attempt, .. } => {
                if let Some(lock) = self.stops_waiting(*attempt, at) {
                    self.inside.insert(*attempt, lock);
                    self.look(lock, at);
                }
            }
            Note::GaveUp { attempt } => {
                if let Some(lock) = self.stops_waiting(*attempt, at) {
                    self.look(lock, at);
                }
            }
            Note::Ended { attempt } => {
                if let Some(lock) = self.inside.remove(attempt) {
                    self.look(lock, at);
                }
            }
            _ => {}
        }
    }

    fn dies(&mut self, node: NodeId, at: SimTime) {
        let waiting: Vec<_> = self.waiting.keys().filter(|attempt| attempt.client() == node).copied().collect();
        let mut locks: Vec<_> = waiting.into_iter().filter_map(|attempt| self.stops_waiting(attempt, at)).collect();
        self.inside.retain(|attempt, lock| {
            let stays = attempt.client() != node;
            if !stays {
                locks.push(*lock);
            }
            stays
        });
        for lock in locks {
            self.look(lock, at);
        }
    }

    fn stops_waiting(&mut self, attempt: AttemptId, at: SimTime) -> Option<LockName> {
        let (lock, since) = self.waiting.remove(&attempt)?;
        self.longest.longest = self.longest.longest.max(at.since(since));
        Some(lock)
    }

    /// Looks whether the lock is out, and since when, after something has changed.
    fn look(&mut self, lock: LockName, at: SimTime) {
        let is_wanted = self.waiting.values().any(|(wanted, _)| *wanted == lock);
        if is_wanted && !self.inside.values().any(|held| *held == lock) {
            self.out.entry(lock).or_insert(at);
        } else if let Some(since) = self.out.remove(&lock) {
            self.longest.outage = self.longest.outage.max(at.since(since));
        }
    }

    fn finish(mut self, end: SimTime) -> Waits {
        for (_, since) in self.waiting.values() {
            self.longest.longest = self.longest.longest.max(end.since(*since));
        }
        for since in self.out.values() {
            self.longest.outage = self.longest.outage.max(end.since(*since));
        }
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Story;

    /// The longest wait and the longest outage, in ms; the run ends at 10 s.
    fn waits(story: &Story) -> (u128, u128) {
        let Waits { longest, outage } = Waits::of(&story.history);
        (longest.as_millis(), outage.as_millis())
    }

    #[test]
    fn a_client_waits_from_its_first_try_to_its_grant() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders");
        story.at(20).client(1).asks_again("orders");
        story.at(50).client(1).granted(100).ended();
        assert_eq!(waits(&story), (40, 40));
    }

    #[test]
    fn somebody_who_is_inside_is_no_outage_even_if_it_stands_still() {
        let mut story = Story::new();
        story.at(10).client(1).takes(9_000).pauses();
        story.at(20).client(2).asks("orders");
        story.at(500).client(1).resumes().ended();
        story.at(530).client(2).granted(9_000).ended();
        assert_eq!(waits(&story), (510, 30));
    }

    #[test]
    fn the_dead_neither_wait_nor_are_inside() {
        let mut story = Story::new();
        story.at(10).client(1).takes(9_000);
        story.at(20).client(2).asks("orders");
        story.at(100).client(1).dies();
        story.at(160).client(2).dies();
        assert_eq!(waits(&story), (140, 60));
    }

    #[test]
    fn who_gives_up_waits_no_longer_and_who_never_gets_it_waits_to_the_end() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders");
        story.at(60).client(1).gives_up();
        assert_eq!(waits(&story), (50, 50));
        let mut story = Story::new();
        story.at(10).client(1).asks("orders");
        assert_eq!(waits(&story), (9_990, 9_990));
    }

    #[test]
    fn what_a_reborn_process_does_in_the_instant_of_its_death_is_its_new_lifes() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders");
        story.at(50).client(1).dies().restarts();
        story.at(50).client(1).asks("orders");
        story.at(80).client(1).granted(100).ended();
        assert_eq!(waits(&story), (40, 40));
    }

    #[test]
    fn each_lock_is_out_for_itself() {
        let mut story = Story::new();
        story.at(10).client(1).takes(9_000);
        story.at(20).client(2).asks("parcels");
        story.at(90).client(2).granted(9_000);
        assert_eq!(waits(&story), (70, 70));
    }

    #[test]
    fn nobody_waits_in_an_empty_history() {
        assert_eq!(Waits::of(&Story::new().history), Waits::default());
    }
}
