//! One run: a cell and a seed, played, judged, and checked for faults that never landed.

use std::cell::RefCell;
use std::collections::BTreeMap;

use host::{Clock, Ending, NodeId, SimTime};
use models::Nudge;
use sim::{Bounds, Fault, Outcome, Record, Strike};
use spec::{Entry, History, Judge, Judgement, NodeHistory, Note, Property, Verdict, speak_as_one};

use crate::cell::Cell;
use crate::contender::Contender;
use crate::figure::Counted;
use crate::kernel::Kernel;
use crate::landed::{Stays, moves_a_restart};
use crate::rules::counted;
use crate::world::World;

/// A cell, ready to be played with any seed.
pub struct Player<'c> {
    cell: &'c Cell,
    world: World<'c>,
    judge: RefCell<Judge>,
}

impl std::fmt::Debug for Player<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Player").field("cell", &self.cell.params).finish_non_exhaustive()
    }
}

/// What a run was.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its seed.
    pub seed: u64,
    /// What happened.
    pub history: History,
    /// What is said of it. A property that held although a placed fault never landed is vacuous.
    pub judgement: Judgement,
    /// Every time a fault struck.
    pub strikes: Vec<Strike>,
    /// For each fault of the cell, whether it landed.
    pub landed: Vec<bool>,
    /// The trace hash.
    pub hash: u64,
    /// How many events there were.
    pub events: u64,
    /// What the kernel counted beside.
    pub counted: Counted,
    /// For each milestone of which the cell expects something, in the order of its figures, when a client
    /// came there, if one did.
    pub reached: Vec<Option<SimTime>>,
    /// How many of them reached a program or a service.
    pub application_events: u64,
    /// How often the code of a dead process tried to have an effect. None ever has one.
    pub ignored_dead_effects: u32,
    /// How many steps each node took.
    pub steps: Vec<u32>,
    /// Every event, if the run was recorded.
    pub records: Vec<Record>,
}

impl<'c> Player<'c> {
    /// Gets a cell ready, to be played by that lock.
    #[must_use]
    pub fn new(cell: &'c Cell, contender: &'c Contender) -> Self {
        Self { cell, world: World::of(cell, contender), judge: RefCell::default() }
    }

    /// Plays one seed.
    #[must_use]
    pub fn play(&self, seed: u64) -> Run {
        self.run(seed, false, &[])
    }

    /// Plays one seed with more faults than the cell has, at places for which scenario files have no
    /// word: before a node's nth step. Whether those landed is for the caller to judge.
    #[must_use]
    pub fn play_with(&self, seed: u64, more: &[Fault<Nudge>]) -> Run {
        self.run(seed, false, more)
    }

    /// The node of that name.
    ///
    /// # Panics
    /// If the cell has none.
    #[must_use]
    pub fn node(&self, name: &str) -> NodeId {
        self.world.nodes().named(name)
    }

    /// Plays one seed and keeps every event. The trace hash is the same.
    #[must_use]
    pub fn record(&self, seed: u64) -> Run {
        self.run(seed, true, &[])
    }

    /// Builds the cell's world, with what this seed draws of its plan, on a kernel that may be another than
    /// ours; its clients use the cell's own lock.
    pub fn build_on<K: Kernel>(&self, kernel: &mut K, seed: u64) {
        self.world.build_anywhere(kernel, seed);
    }

    /// How far a run of the cell may go.
    #[must_use]
    pub const fn bounds(&self) -> Bounds {
        Bounds { horizon: self.cell.horizon, events: EVENT_BUDGET }
    }

    /// Judges what a kernel has played.
    #[must_use]
    pub fn conclude(&self, seed: u64, outcome: Outcome<Note>) -> Run {
        let steps = outcome.nodes.iter().map(|node| node.steps).collect();
        let Outcome { notes, nodes, strikes, end, ending, hash, events, application_events, .. } = outcome;
        let counted = Counted { messages: outcome.messages, syncs: outcome.syncs };
        let reached = outcome.cues.get(self.cell.cues.len()..).unwrap_or_default().to_vec();
        let mut history =
            history(notes, nodes, |node| self.world.lease_clock(node), end, ending, SimTime::ZERO + self.cell.horizon);
        let rules = &self.world.rules;
        if let Some(cluster) = self.cluster() {
            speak_as_one(&mut history.entries, cluster);
        }
        let mut judgement = self.judge.borrow_mut().judge(&history, rules, &Property::ALL);
        let landed = self.landed(&history, &strikes);
        self.mark_vacuous(&mut judgement, &landed);
        Run {
            seed,
            history,
            judgement,
            strikes,
            landed,
            hash,
            events,
            counted,
            reached,
            application_events,
            ignored_dead_effects: outcome.ignored_dead_effects,
            steps,
            records: outcome.records,
        }
    }

    /// For each strike of a run, whether it hit something in use.
    #[must_use]
    pub fn landed_strikes(&self, run: &Run) -> Vec<bool> {
        self.landings(&run.history, &run.strikes)
    }

    /// The names of the faults, in the order of their indices.
    pub fn fault_names(&self) -> impl Iterator<Item = &str> {
        self.cell.faults.iter().map(|fault| fault.name.as_str())
    }

    fn run(&self, seed: u64, recording: bool, more: &[Fault<Nudge>]) -> Run {
        self.conclude(seed, self.world.play(seed, recording, more, self.bounds()))
    }

    fn landed(&self, history: &History, strikes: &[Strike]) -> Vec<bool> {
        let mut landed = vec![false; self.cell.faults.len()];
        for (strike, hit) in strikes.iter().zip(self.landings(history, strikes)) {
            if let Some(landed) = landed.get_mut(strike.fault) {
                *landed |= hit;
            }
        }
        landed
    }

    /// For each strike, whether it hit something in use.
    fn landings(&self, history: &History, strikes: &[Strike]) -> Vec<bool> {
        if strikes.is_empty() {
            return Vec::new();
        }
        let stays = Stays::of(history, self.cluster(), counted(self.cell));
        let hit = |strike: &Strike| {
            let fault = self.cell.faults.get(strike.fault);
            fault.is_some_and(|fault| {
                stays.landed(&fault.what, strike, self.world.nodes())
                    || moves_a_restart(&fault.what, strike, strikes, &self.cell.faults)
            })
        };
        strikes.iter().map(hit).collect()
    }

    /// The cluster in whose name its members speak, if that is what the lock servers are.
    fn cluster(&self) -> Option<NodeId> {
        let rules = &self.world.rules;
        rules.authorities.first().copied().filter(|_| rules.is_logged)
    }

    fn mark_vacuous(&self, judgement: &mut Judgement, landed: &[bool]) {
        let missed: Vec<String> = self.cell.missed(landed).map(|fault| fault.name.clone()).collect();
        if missed.is_empty() {
            return;
        }
        for verdict in judgement.verdicts.values_mut() {
            if !matches!(verdict, Verdict::Broken(_)) {
                *verdict = Verdict::Vacuous(missed.clone());
            }
        }
    }
}

impl Run {
    /// The gravest property that was broken: the one that is worth a story.
    #[must_use]
    pub fn gravest_broken(&self) -> Option<Property> {
        let verdicts = &self.judgement.verdicts;
        Property::gravest(|one| verdicts.get(&one).is_some_and(Verdict::is_broken))
    }

    /// The name of a node.
    #[must_use]
    pub fn name(&self, node: NodeId) -> &str {
        &self.history.nodes[node.index()].name
    }

    /// Which properties were broken.
    #[must_use]
    pub fn broken(&self) -> BTreeMap<Property, SimTime> {
        let broken = |(property, verdict): (&Property, &Verdict)| match verdict {
            Verdict::Broken(evidence) => Some((*property, evidence.at)),
            _ => None,
        };
        self.judgement.verdicts.iter().filter_map(broken).collect()
    }
}

fn history(
    entries: Vec<Entry>,
    nodes: Vec<sim::NodeOutcome>,
    lease_clock: impl Fn(NodeId) -> Clock,
    end: SimTime,
    ending: Ending,
    horizon: SimTime,
) -> History {
    let nodes = nodes.into_iter().enumerate().map(|(index, node)| NodeHistory {
        name: node.name,
        clocks: node.clocks,
        activity: node.activity,
        lease_clock: lease_clock(NodeId::new(u16::try_from(index).expect("a world has few nodes"))),
    });
    History { entries, nodes: nodes.collect(), end, ending, horizon }
}

/// A run of this many events is not a run of a lock any more, but a loop.
const EVENT_BUDGET: u64 = 5_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::language::load;

    #[test]
    fn of_all_that_is_broken_the_gravest_is_told() {
        let entry = catalogue::find("gc-pause").expect("it is in the catalogue");
        let scenario = load(entry.file, entry.text, &[]).expect("every file loads");
        let gravest = |resource: &str| {
            let has = |cell: &&Cell| cell.params.iter().any(|(_, option)| option == resource);
            let cell = scenario.cells.iter().find(has).expect("the scenario has such a cell");
            let contender = Contender::built_in(&cell.lock);
            let run = Player::new(cell, &contender).play(0);
            (run.broken().len(), run.gravest_broken())
        };
        assert_eq!(gravest("open"), (3, Some(Property::NoLostUpdate)), "the belief is broken first");
        assert_eq!(gravest("fence_rw"), (1, Some(Property::BeliefExclusion)));
    }
}
