//! **effect-order**: over accepted operations, reads and marks included, in the order in which they were
//! applied, the grant index never falls.
//!
//! The order is that of grant points, not of tokens: tokens are under test. It is kept for each lock,
//! over all objects that its holders touch. A claim that was never granted ranks below every grant,
//! so its operation breaks the property once any grant has had an effect. An observer, that is
//! somebody who acts outside any attempt or never asks for a lock, stands outside the history.
//!
//! A mark counts as an operation although it changes no data: by it a holder tells the resource that
//! nothing older may follow, and an older holder's that is accepted later takes the place of the newer.
//! Side effects count as well: nothing can refuse one, and it is out of turn all the same.
//! An operation that a check let pass counts when it is carried out, not before.
//!
//! Operations that were applied after a newer grant merely *existed*, whether or not it has had an
//! effect, are counted apart and break nothing by that alone.
//!
//! Source: mutual exclusion at the resource, in the form that fencing gives it (Kleppmann, "How to do
//! distributed locking", 2016): what is applied forms disjoint runs in the order of grants.

use crate::grants::{ClaimId, Rank};
use crate::history::{Mode, Note};
use crate::judge::Case;
use crate::level::Level;
use crate::property::{Check, Facts};
use crate::verdict::{Evidence, Measures};

pub(super) const FACTS: Facts = Facts {
    name: "effect-order",
    statement: "nothing of an older grant may be applied after something of a newer one",
    level: Level::Effect,
    check: Check::Counts(check),
};

/// Broken at the first operation that comes after one of a newer grant. The newer one was in the
/// right.
fn check(case: &Case<'_>, measures: &mut Measures) -> Option<Evidence> {
    let mut newest = case.grants.newest();
    let mut highest = vec![Highest::default(); case.grants.locks()];
    let mut broken = None;
    for mention in &case.grants.mentions.acting {
        let (i, entry) = (mention.entry, &case.history.entries[mention.entry]);
        let (Note::Read { .. } | Note::Wrote { .. } | Note::Marked { .. } | Note::Effected { .. }) = entry.note else {
            continue;
        };
        measures.effects += 1;
        let Some(claim) = mention.claim else { continue };
        let (rank, lock) = (case.grants[claim].rank, case.grants[claim].lock);
        let newer = newest.before(i, lock);
        if rank < newer && !case.grants.is_shared_with(newer, claim) {
            measures.after_newer_grant += 1;
        }
        match highest[lock.index()].take(Applied { claim, rank, entry: i }, case.grants[claim].mode) {
            None => {}
            Some(newer) => {
                measures.stale_effects += 1;
                broken.get_or_insert_with(|| Evidence {
                    at: entry.at,
                    attempts: [newer.claim, claim].map(|claim| case.grants[claim].attempt).to_vec(),
                    entries: vec![newer.entry, i],
                    overlap: None,
                });
            }
        }
    }
    broken
}

/// What has had an effect of the newest grant of all, and of those that shared with nobody.
#[derive(Clone, Copy, Default)]
struct Highest {
    of_all: Option<Applied>,
    exclusive: Option<Applied>,
}

impl Highest {
    /// Takes in an operation of a grant in that mode, or gives back the newer one after which it comes. Those that share are in
    /// no order among themselves.
    fn take(&mut self, applied: Applied, mode: Mode) -> Option<Applied> {
        let before = if mode == Mode::Exclusive { self.of_all } else { self.exclusive };
        let newer = before.filter(|newest| applied.rank < newest.rank);
        if newer.is_none() {
            if mode == Mode::Exclusive {
                self.exclusive = Some(applied);
            }
            if self.of_all.is_none_or(|highest| highest.rank <= applied.rank) {
                self.of_all = Some(applied);
            }
        }
        newer
    }
}

/// The last operation of a grant that has had an effect.
#[derive(Clone, Copy)]
struct Applied {
    claim: ClaimId,
    rank: Rank,
    entry: usize,
}

#[cfg(test)]
mod tests {
    use crate::Property::EffectOrder;
    use crate::testing::{Story, ms};

    #[test]
    fn an_operation_after_one_of_a_newer_grant_breaks_it() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100).read(0);
        story.at(110).client(2).takes(200).wrote(None, 0);
        story.at(120).client(1).wrote(None, 1);
        let broken = story.broken(EffectOrder);
        assert_eq!((broken.at, broken.overlap), (ms(120), None));
        assert_eq!(broken.attempts, [story.attempt(2), story.attempt(1)]);
        assert_eq!(broken.entries, [story.last_but(1), story.last_but(0)]);
        let measures = story.judged().measures;
        assert_eq!((measures.stale_effects, measures.after_newer_grant, measures.effects), (1, 1, 3));
    }

    #[test]
    fn an_operation_after_a_newer_grant_that_has_had_no_effect_breaks_nothing() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100).read(0);
        story.at(110).client(2).takes(200);
        story.at(120).client(1).wrote(None, 0);
        story.at(130).client(2).read(1);
        story.holds(EffectOrder);
        let measures = story.judged().measures;
        assert_eq!((measures.stale_effects, measures.after_newer_grant), (0, 1));
    }

    #[test]
    fn those_that_share_are_in_no_order_but_to_who_does_not() {
        let shared = |story: &mut Story| {
            story.at(10).client(1).asks_to_share("orders").names_owner(1, "orders").granted(900);
            story.at(20).client(2).asks_to_share("orders").names_owner(1, "orders/shared").granted(900);
            story.at(30).client(2).read(0);
            story.at(40).client(1).read(0);
        };
        let mut story = Story::new();
        shared(&mut story);
        story.holds(EffectOrder);
        assert_eq!(story.judged().measures.after_newer_grant, 0);
        story.at(50).client(3).takes(900).wrote(None, 0);
        story.holds(EffectOrder);
        story.at(60).client(1).read(1);
        assert_eq!(story.broken(EffectOrder).attempts, [story.attempt(3), story.attempt(1)]);
        let mut story = Story::new();
        story.at(5).client(3).takes(900);
        shared(&mut story);
        story.at(50).client(3).wrote(None, 0);
        assert_eq!(story.broken(EffectOrder).attempts, [story.attempt(2), story.attempt(3)]);
    }

    #[test]
    fn reads_count_on_either_side() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(110).client(2).takes(200).read(0);
        story.at(120).client(1).read(0);
        assert_eq!(story.broken(EffectOrder).at, ms(120));
    }

    #[test]
    fn marks_count_on_either_side() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(110).client(2).takes(200).marked();
        story.at(120).client(1).read(0);
        assert_eq!(story.broken(EffectOrder).at, ms(120));
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(110).client(2).takes(200).read(0);
        story.at(120).client(1).marked();
        assert_eq!(story.broken(EffectOrder).at, ms(120));
    }

    #[test]
    fn side_effects_count_on_either_side() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(110).client(2).takes(200).effected("charge");
        story.at(120).client(1).read(0);
        assert_eq!(story.broken(EffectOrder).at, ms(120));
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(110).client(2).takes(200).read(0);
        story.at(120).client(1).effected("charge");
        assert_eq!(story.broken(EffectOrder).at, ms(120));
    }

    #[test]
    fn what_a_check_let_pass_counts_when_it_is_carried_out() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(110).client(2).takes(200).passed();
        story.at(120).client(1).read(0);
        story.holds(EffectOrder);
        story.at(130).client(2).wrote(None, 0);
        story.at(140).client(1).passed();
        story.holds(EffectOrder);
        assert_eq!(story.judged().measures.effects, 2);
        story.at(150).client(1).wrote(None, 1);
        assert_eq!(story.broken(EffectOrder).at, ms(150));
    }

    #[test]
    fn refused_operations_have_no_effect() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(110).client(2).takes(200).refused();
        story.at(120).client(1).read(0);
        story.at(130).client(2).read(0);
        story.at(140).client(1).refused();
        story.holds(EffectOrder);
    }

    #[test]
    fn every_stale_effect_is_counted_against_the_newest_that_had_one() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(110).client(2).takes(200);
        story.at(210).client(3).takes(300).read(0);
        story.at(220).client(1).read(0).read(0);
        story.at(230).client(2).read(0);
        assert_eq!(story.judged().measures.stale_effects, 3);
        assert_eq!(story.broken(EffectOrder).attempts, [story.attempt(3), story.attempt(1)]);
    }

    #[test]
    fn a_claim_without_a_grant_ranks_below_every_grant() {
        let mut story = Story::new();
        // Its client takes itself to be granted, but no server has made it the owner.
        story.at(10).client(1).asks("orders").granted(100).read(0);
        story.at(20).client(2).takes(200);
        story.holds(EffectOrder);
        story.at(30).client(2).read(0);
        story.at(40).client(1).read(0);
        assert_eq!(story.broken(EffectOrder).at, ms(40));
    }

    #[test]
    fn the_grant_point_orders_and_not_when_the_client_learns_of_it() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders").owned_by(1);
        story.at(20).client(2).takes(200).read(0);
        story.at(30).client(1).granted(100).read(0);
        assert_eq!(story.broken(EffectOrder).at, ms(30));
    }

    #[test]
    fn somebody_who_never_asks_for_the_lock_stands_outside() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100).read(0);
        story.at(20).observer().wrote(None, 0);
        story.at(30).client(1).read(1);
        story.holds(EffectOrder);
        let measures = story.judged().measures;
        assert_eq!((measures.effects, measures.after_newer_grant), (3, 0));
    }

    #[test]
    fn the_order_is_kept_for_each_lock_over_all_its_objects() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(20).client(2).takes_lock("parcels", 100).read(0);
        story.at(30).client(1).read(0);
        story.holds(EffectOrder);
        story.at(110).client(3).takes(200).on("another").read(0);
        story.at(120).client(1).read(0);
        assert_eq!(story.broken(EffectOrder).at, ms(120));
    }
}
