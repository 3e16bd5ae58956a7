//! How a run is judged.
//!
//! A [`Judge`] indexes a history once and hands the index to one check per property, and to the ledger
//! of assumptions. Every check is one walk over the notes that it is about, or one sort of what it found there.
//!
//! It decides nothing about faults: whether one landed, so that a verdict is worth anything, is for
//! whoever planned the run to say.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use host::{Clock, NodeId, SimTime};

use crate::assumption::{Assumption, ledger};
use crate::grants::{ClaimId, Grants};
use crate::history::{Ending, History, Note};
use crate::lives::{Life, lives};
use crate::mentions::Owning;
use crate::owners::Owners;
use crate::property::Property;
use crate::queue::{Wait, waits};
use crate::rules::Rules;
use crate::verdict::{Evidence, Judgement, Measures, Verdict};
use crate::windows::Promised;

/// Judges one run; who judges many keeps a [`Judge`].
///
/// # Panics
/// As [`Judge::judge`].
#[must_use]
pub fn judge(history: &History, rules: &Rules, properties: &[Property]) -> Judgement {
    Judge::default().judge(history, rules, properties)
}

/// Who judges one run after the other. It learns nothing from them: it only keeps the room that its index takes.
#[derive(Default, Debug)]
pub struct Judge {
    index: Index,
}

impl Judge {
    /// Judges a run: a verdict for each of `properties`, the figures, and the assumptions that were
    /// broken.
    ///
    /// Most properties are safety properties over what happened: a run to its horizon decides them, and only one
    /// that was cut off by its event budget leaves those that it has not broken inconclusive. Those that say that
    /// something happens within a bound are judged as if time had run to the horizon, also if the run came to rest
    /// before; a stretch that is younger than the bound at the horizon is inconclusive. A property that needs a
    /// bound and has none is not judged.
    ///
    /// # Panics
    /// If the history breaks its own promises: it names a node that it does not list, or a lock server
    /// whose id is above 63.
    pub fn judge(&mut self, history: &History, rules: &Rules, properties: &[Property]) -> Judgement {
        let case = Case::with(std::mem::take(&mut self.index), history, rules);
        let given = case.grants.given() as u64;
        let mut measures = Measures { given, grant_margin: case.promised.margin, ..Measures::default() };
        let mut is_asked = [false; Property::ALL.len()];
        for property in properties {
            is_asked[*property as usize] = true;
        }
        let mut verdicts = BTreeMap::new();
        for (property, is_asked) in Property::ALL.into_iter().zip(is_asked) {
            if let Some(found) = property.check(&case, &mut measures, is_asked)
                && is_asked
            {
                verdicts.insert(property, verdict(history, found));
            }
        }
        let broken_assumptions = ledger::measure(&case);
        let outside = verdicts
            .iter()
            .filter_map(|(property, verdict)| Some((*property, verdict.evidence()?.at)))
            .map(|(property, at)| (property, excuses(rules, property, at, &broken_assumptions)))
            .collect();
        self.index = Index { grants: case.grants, promised: case.promised };
        Judgement { verdicts, measures, broken_assumptions, outside }
    }
}

/// What most checks look at, and what is kept from run to run.
#[derive(Default, Debug)]
struct Index {
    grants: Grants,
    promised: Promised,
}

/// A history with its index and what it is judged by: what every check is given.
pub(crate) struct Case<'h> {
    pub(crate) history: &'h History,
    pub(crate) rules: &'h Rules,
    pub(crate) grants: Grants,
    pub(crate) promised: Promised,
    // What not every run needs is worked out when it is first asked for.
    lives: OnceCell<Vec<Life>>,
    owners: OnceCell<Owners>,
    waits: OnceCell<Vec<Wait>>,
}

impl<'h> Case<'h> {
    #[cfg(test)]
    pub(crate) fn new(history: &'h History, rules: &'h Rules) -> Self {
        Self::with(Index::default(), history, rules)
    }

    fn with(index: Index, history: &'h History, rules: &'h Rules) -> Self {
        let Index { mut grants, mut promised } = index;
        grants.fill(history, rules.quorum, rules.is_in_sessions);
        promised.fill(history, rules, &grants);
        let (lives, owners, waits) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Self { history, rules, grants, promised, lives, owners, waits }
    }

    /// The clock on which that client counts its leases, or that lock server those that it gave.
    pub(crate) fn lease_clock(&self, node: NodeId) -> Clock {
        self.history.nodes[node.index()].lease_clock
    }

    /// The clock on which that node counts leases of others.
    pub(crate) fn counting_clock(&self, node: NodeId) -> Clock {
        if self.rules.counters.is_empty() { self.lease_clock(node) } else { self.rules.counters_on }
    }

    /// What became of each claim, by claim.
    pub(crate) fn lives(&self) -> &[Life] {
        self.lives.get_or_init(|| lives(self.history, &self.grants))
    }

    /// Who owned which lock when.
    pub(crate) fn owners(&self) -> &Owners {
        self.owners.get_or_init(|| Owners::of(self))
    }

    /// Who waited for which lock when.
    pub(crate) fn waits(&self) -> &[Wait] {
        self.waits.get_or_init(|| waits(self))
    }

    /// Until when it is known what happened, and what did not.
    pub(crate) fn liveness_end(&self) -> SimTime {
        match self.history.ending {
            Ending::Budget => self.history.end,
            Ending::Quiet | Ending::Horizon | Ending::Stuck => self.history.horizon,
        }
    }

    /// Whether clients counted grants of servers of which none says who owns what: the history was taken
    /// where nobody could look inside them.
    pub(crate) fn servers_are_silent(&self) -> bool {
        let says = |said: &Owning| matches!(self.history.entries[said.entry].note, Note::Owner { .. });
        self.grants.any_counted() && !self.grants.mentions.owning.iter().any(says)
    }

    /// Whether the claim's promised window is open at that instant.
    pub(crate) fn is_promised(&self, claim: ClaimId, at: SimTime) -> bool {
        self.promised.of_claim(&self.grants[claim]).any(|window| window.from <= at && at < window.to)
    }
}

/// What a check finds.
#[derive(Debug)]
pub(crate) enum Finding {
    Holds,
    Broken(Evidence),
    /// Neither can be said, and this is why.
    Undecided(String),
}

impl Finding {
    /// Something was so for less than the bound when the run ended.
    pub(crate) fn too_late_to_say(what: &str) -> Self {
        Self::Undecided(format!("when the run ended {what}, for less than the bound so far"))
    }

    /// Nobody looked inside the servers.
    pub(crate) fn unwitnessed() -> Self {
        Self::Undecided("no lock server says who owns what".to_owned())
    }
}

impl From<Option<Evidence>> for Finding {
    fn from(broken: Option<Evidence>) -> Self {
        broken.map_or(Self::Holds, Self::Broken)
    }
}

fn verdict(history: &History, found: Finding) -> Verdict {
    match (found, history.ending) {
        (Finding::Broken(evidence), _) => Verdict::Broken(evidence),
        (_, Ending::Budget) => Verdict::Inconclusive(format!("the event budget was spent at {}", history.end)),
        (Finding::Undecided(why), _) => Verdict::Inconclusive(why),
        (Finding::Holds, Ending::Quiet | Ending::Horizon | Ending::Stuck) => Verdict::Holds,
    }
}

/// The assumptions that the property needs and that were broken by `at`.
fn excuses(rules: &Rules, property: Property, at: SimTime, broken: &BTreeMap<Assumption, SimTime>) -> Vec<Assumption> {
    let needs = rules.needs.get(&property).map_or(&[][..], Vec::as_slice);
    needs.iter().copied().filter(|need| broken.get(need).is_some_and(|since| *since <= at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Assumption::{NoStep, PauseWithinValidity, ResourceChecksTokens};
    use crate::Property::{BeliefExclusion, EffectOrder, GrantExclusion};
    use crate::testing::{Story, ms};

    /// The classic: the holder stands still past its lease, and writes after its successor has.
    fn gc_pause() -> Story {
        let mut story = Story::new();
        story.at(10).client(1).takes(100).read(0).checked();
        story.at(20).client(1).pauses();
        story.at(105).server(1).frees();
        story.at(110).client(2).takes(200).read(0).wrote(Some(0), 0);
        story.at(120).client(2).ended().releasing();
        story.at(130).client(1).resumes().left().wrote(Some(0), 1).ended();
        story
    }

    #[test]
    fn a_pause_breaks_belief_and_effects_and_leaves_the_grants_apart() {
        let story = gc_pause();
        let judgement = story.judged();
        let verdicts = judgement.verdicts.iter();
        let broken: Vec<_> = verdicts.filter(|(_, verdict)| verdict.is_broken()).map(|(one, _)| *one).collect();
        assert_eq!(broken, [BeliefExclusion, EffectOrder, Property::NoLostUpdate]);
        assert_eq!(
            judgement.measures,
            Measures {
                grant_overlap: host::Duration::ZERO,
                belief_overlap: host::Duration::from_millis(10),
                grant_margin: Some(5_000_000),
                stale_effects: 1,
                after_newer_grant: 1,
                lost_updates: 1,
                refused: 0,
                effects: 4,
                given: 2,
            }
        );
    }

    #[test]
    fn only_what_was_asked_for_is_judged_and_everything_is_measured() {
        let story = gc_pause();
        let judgement = judge(&story.history, &story.rules, &[GrantExclusion]);
        assert_eq!(judgement.verdicts.into_iter().collect::<Vec<_>>(), [(GrantExclusion, Verdict::Holds)]);
        assert_eq!(judgement.measures.stale_effects, 1);
        assert!(judgement.outside.is_empty());
    }

    #[test]
    fn a_run_that_spent_its_budget_decides_only_what_it_broke() {
        let mut story = gc_pause();
        story.history.ending = Ending::Budget;
        story.history.end = ms(12_004);
        let judgement = story.judged();
        let why = Verdict::Inconclusive("the event budget was spent at 12.004000000s".to_owned());
        assert_eq!(judgement.verdicts[&GrantExclusion], why);
        assert!(judgement.verdicts[&EffectOrder].is_broken());
        for ending in [Ending::Horizon, Ending::Quiet, Ending::Stuck] {
            story.history.ending = ending;
            story.holds(GrantExclusion);
        }
    }

    #[test]
    fn a_broken_property_names_the_broken_assumptions_on_which_it_rests() {
        let mut story = gc_pause();
        story.rules.needs.insert(BeliefExclusion, vec![PauseWithinValidity, NoStep]);
        story.rules.needs.insert(EffectOrder, vec![ResourceChecksTokens]);
        story.rules.needs.insert(GrantExclusion, vec![NoStep]);
        let judgement = story.judged();
        assert_eq!(judgement.outside[&BeliefExclusion], [PauseWithinValidity]);
        assert_eq!(judgement.outside[&EffectOrder], [ResourceChecksTokens]);
        assert!(judgement.outside[&Property::NoLostUpdate].is_empty(), "it needs nothing: the lock is to blame");
        assert!(!judgement.outside.contains_key(&GrantExclusion), "it was not broken");
    }

    #[test]
    fn what_breaks_after_the_property_is_no_excuse() {
        let mut story = Story::new();
        story.declare(NoStep);
        story.at(10).client(1).takes(100);
        story.at(60).client(2).takes(160);
        story.at(61).server(1).steps(10_000);
        let judgement = story.judged();
        assert_eq!(judgement.broken_assumptions[&NoStep], ms(61));
        assert!(judgement.outside[&GrantExclusion].is_empty());
    }

    #[test]
    fn what_was_judged_before_leaves_nothing_behind() {
        let mut lapsed = Story::new();
        lapsed.at(10).client(3).takes(100).checked();
        lapsed.at(20).client(4).takes_lock("parcels", 100);
        lapsed.at(90).client(4).renewed(180);
        lapsed.at(120).client(3).renewed(200);
        lapsed.at(150).client(4).refused().does("mail").does("mail");
        lapsed.broken(Property::RightfulAccepted);
        let mut kept = Story::new();
        kept.at(10).client(1).asks("orders");
        kept.at(15).client(2).takes_lock("parcels", 100);
        kept.at(20).client(1).owned_by(1).granted(100);
        let stories = [gc_pause(), kept, lapsed, Story::new(), gc_pause()];
        let mut judge = Judge::default();
        for Story { history, rules, .. } in &stories {
            let mut fresh = Judge::default();
            assert_eq!(judge.judge(history, rules, &Property::ALL), fresh.judge(history, rules, &Property::ALL));
            assert_eq!(format!("{judge:?}"), format!("{fresh:?}"));
        }
    }

    #[test]
    fn an_empty_history_breaks_nothing() {
        let judgement = Story::new().judged();
        assert!(judgement.verdicts.values().all(|verdict| *verdict == Verdict::Holds));
        assert_eq!(judgement.measures, Measures::default());
    }
}
