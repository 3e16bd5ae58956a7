//! **token-order**: if one holder's promise was over before another's began, the later one has the higher
//! token; and no two have the same.
//!
//! Promises that overlap may have their tokens in either order. What counts is the promised window, from
//! the grant as the client sees it: a resource that compares tokens trusts that whoever comes later has the
//! higher one.
//!
//! Source: Kleppmann, "How to do distributed locking", 2016: a number that increases every time a client
//! acquires the lock.

use crate::grants::{Claim, ClaimId, LockId};
use crate::history::Token;
use crate::judge::{Case, Finding};
use crate::level::Level;
use crate::property::{Check, Facts};
use crate::verdict::Evidence;
use crate::windows::Stretch;

pub(super) const FACTS: Facts = Facts {
    name: "token-order",
    statement: "who holds the lock later has the higher token",
    level: Level::Token,
    check: Check::Looks(check),
};

/// Broken when the later of the two is granted, which was in the right.
fn check(case: &Case<'_>) -> Finding {
    let tickets = tickets(case);
    if tickets.len() < 2 {
        return Finding::Holds;
    }
    if case.servers_are_silent() {
        return Finding::unwitnessed();
    }
    let pairs = [duplicate(&tickets), inversion(tickets)];
    let first = pairs.into_iter().flatten().min_by_key(|[_, later]| later.window.entry);
    let evidence = first.map(|[earlier, later]| Evidence {
        at: case.history.entries[later.window.entry].at,
        attempts: [later, earlier].map(|ticket| case.grants[ticket.window.claim].attempt).to_vec(),
        entries: [earlier, later].map(|ticket| ticket.window.entry).to_vec(),
        overlap: None,
    });
    evidence.into()
}

/// A token, and the whole time from the first promise made with it to the end of the last.
#[derive(Clone, Copy)]
struct Ticket {
    token: Token,
    window: Stretch,
}

impl Ticket {
    fn lock(&self) -> LockId {
        self.window.lock
    }
}

/// All tokens, in the order in which clients were granted them.
fn tickets(case: &Case<'_>) -> Vec<Ticket> {
    let ticket = |(_, claim): (ClaimId, &Claim)| {
        let token = claim.granted?.token?;
        let mut windows = case.promised.of_claim(claim);
        let last = windows.next()?;
        let first = windows.last().unwrap_or(last);
        Some(Ticket { token, window: Stretch { to: last.to, ..*first } })
    };
    case.grants.taken().filter_map(ticket).collect()
}

/// The first two that have the same token.
fn duplicate(tickets: &[Ticket]) -> Option<[Ticket; 2]> {
    let mut by_token = tickets.to_vec();
    by_token.sort_unstable_by_key(|ticket| (ticket.lock(), ticket.token, ticket.window.entry));
    let twins = by_token.windows(2).filter(|pair| (pair[0].lock(), pair[0].token) == (pair[1].lock(), pair[1].token));
    twins.min_by_key(|pair| pair[1].window.entry).map(|pair| [pair[0], pair[1]])
}

/// The first that has a lower token than one whose promise was over before.
fn inversion(mut begun: Vec<Ticket>) -> Option<[Ticket; 2]> {
    let mut ended = begun.clone();
    begun.sort_unstable_by_key(|ticket| (ticket.lock(), ticket.window.from, ticket.window.entry));
    ended.sort_unstable_by_key(|ticket| (ticket.lock(), ticket.window.to, ticket.window.entry));
    let mut ended = ended.into_iter().peekable();
    let mut highest: Option<Ticket> = None;
    let mut first: Option<[Ticket; 2]> = None;
    for later in begun {
        let is_over = |one: &Ticket| (one.lock(), one.window.to) <= (later.lock(), later.window.from);
        while let Some(one) = ended.next_if(is_over) {
            // One of another lock makes way for the first of this.
            if highest.is_none_or(|highest| (highest.lock(), highest.token) < (one.lock(), one.token)) {
                highest = Some(one);
            }
        }
        if let Some(earlier) = highest.filter(|one| one.lock() == later.lock() && one.token > later.token)
            && first.is_none_or(|[_, first]| later.window.entry < first.window.entry)
        {
            first = Some([earlier, later]);
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use crate::Property::TokenOrder;
    use crate::testing::{Story, ms};

    #[test]
    fn a_lower_token_after_a_higher_one_breaks_it() {
        let mut story = Story::new();
        story.at(10).client(1).takes_with(100, 34);
        story.at(100).client(2).takes_with(200, 33);
        let broken = story.broken(TokenOrder);
        assert_eq!(broken.at, ms(100));
        assert_eq!(broken.attempts, [story.attempt(2), story.attempt(1)]);
        assert_eq!(broken.entries, [2, 5], "the two `granted` notes");
    }

    #[test]
    fn the_same_token_twice_breaks_it() {
        let mut story = Story::new();
        story.at(10).client(1).takes_with(100, 33);
        story.at(50).client(2).takes_with(200, 33);
        assert_eq!(story.broken(TokenOrder).at, ms(50), "even while both are promised");
    }

    #[test]
    fn promises_that_overlap_may_have_their_tokens_in_any_order() {
        let mut story = Story::new();
        story.at(10).client(1).takes_with(100, 34);
        story.just_before(100).client(2).takes_with(200, 33);
        story.holds(TokenOrder);
    }

    #[test]
    fn a_promise_that_was_given_back_is_over() {
        let mut story = Story::new();
        story.at(10).client(1).takes_with(100, 34);
        story.at(20).client(1).ended().releasing();
        story.at(30).client(2).takes_with(200, 33);
        assert_eq!(story.broken(TokenOrder).at, ms(30));
    }

    #[test]
    fn a_renewed_promise_is_not_over() {
        let mut story = Story::new();
        story.at(10).client(1).takes_with(100, 34);
        story.at(50).client(1).renewed(150);
        story.at(120).client(2).takes_with(200, 33);
        story.holds(TokenOrder);
    }

    #[test]
    fn a_promise_that_lapsed_and_was_renewed_is_over_with_its_last_window() {
        let mut story = Story::new();
        story.at(10).client(1).takes_with(100, 34);
        story.at(120).client(1).renewed(200);
        story.at(150).client(2).takes_with(250, 33);
        story.holds(TokenOrder);
    }

    #[test]
    fn where_no_server_says_who_owns_what_it_cannot_be_said() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders").granted(20).with_token(2);
        story.at(30).client(2).asks("orders").granted(40).with_token(1);
        story.undecided(TokenOrder);
    }

    #[test]
    fn the_highest_token_of_all_that_are_over_counts() {
        let mut story = Story::new();
        story.at(10).client(1).takes_with(20, 40);
        story.at(20).client(2).takes_with(30, 41);
        story.at(30).client(3).takes_with(40, 42);
        story.holds(TokenOrder);
        story.at(40).client(4).takes_with(50, 41);
        assert_eq!(story.broken(TokenOrder).attempts[1], story.attempt(2), "the twin is the plainer case");
        let mut story = Story::new();
        story.at(10).client(1).takes_with(20, 42);
        story.at(20).client(2).takes_with(30, 43);
        story.at(30).client(3).takes_with(40, 41);
        assert_eq!(story.broken(TokenOrder).attempts, [story.attempt(3), story.attempt(2)]);
    }

    #[test]
    fn locks_count_their_grants_apart() {
        let mut story = Story::new();
        story.at(10).client(1).takes_with(20, 42);
        story.at(30).client(2).takes_lock("parcels", 40).with_token(1);
        story.at(50).client(2).takes_lock("parcels", 60).with_token(42);
        story.holds(TokenOrder);
    }

    #[test]
    fn a_lock_without_tokens_breaks_nothing() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(100).client(2).takes(200);
        story.holds(TokenOrder);
    }
}
