//! Every check against the table of the module's documentation.

use spec::OpId;

use super::*;
use crate::resource::Work;

const VERSION: Version = Version(7);
const BARRIER: Token = Token(34);

const READ: Action = Action::Read;
const MARK: Action = Action::Mark;
const FRESH: Action = Action::Write { based_on: Some(VERSION) };
const STALE: Action = Action::Write { based_on: Some(Version(6)) };
const BLIND: Action = Action::Write { based_on: None };

/// What becomes of the barrier, if the operation passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Then {
    Kept,
    Recorded,
    Refused,
}
use Then::{Kept, Recorded, Refused};

fn op(action: Action, token: Option<u64>) -> Op {
    Op { id: OpId(0), object: "account".into(), token: token.map(Token), takes: Work::NONE, action }
}

fn judged(guard: Guard, action: Action, token: Option<u64>, barrier: Option<Token>) -> Then {
    let op = op(action, token);
    match guard.judge(&op, Seen { version: VERSION, barrier }) {
        Ruling::Refuse => Refused,
        Ruling::Accept { barrier: after } if after == op.token && after != barrier => Recorded,
        Ruling::Accept { barrier: after } => {
            assert_eq!(after, barrier);
            Kept
        }
    }
}

/// With a token below the barrier, equal to it, and above it.
fn around(guard: Guard, action: Action) -> [Then; 3] {
    [33, 34, 35].map(|token| judged(guard, action, Some(token), Some(BARRIER)))
}

#[test]
fn each_check_lets_pass_and_records_what_its_row_says() {
    // A token that equals the barrier cannot be seen to be recorded.
    let (all, recorded) = ([Kept; 3], [Recorded, Kept, Recorded]);
    let (not_below, not_below_recorded) = ([Refused, Kept, Kept], [Refused, Kept, Recorded]);
    let above_recorded = [Refused, Refused, Recorded];
    let equal = [Refused, Kept, Refused];
    #[rustfmt::skip]
    let table = [
        (Guard::Open,    all,                all,                all),
        (Guard::FenceW,  not_below_recorded, all,                not_below_recorded),
        (Guard::FenceLe, above_recorded,     all,                above_recorded),
        (Guard::FenceRc, not_below_recorded, not_below,          not_below_recorded),
        (Guard::FenceRw, not_below_recorded, not_below_recorded, not_below_recorded),
        (Guard::Mark,    not_below_recorded, not_below,          not_below_recorded),
        (Guard::Unique,  recorded,           all,                equal),
        (Guard::Version, all,                all,                all),
        (Guard::OwnerKey, [Refused; 3],      [Refused; 3],       [Refused; 3]),
    ];
    assert_eq!(table.map(|(guard, ..)| guard), Guard::ALL);
    for (guard, mark, read, write) in table {
        assert_eq!([MARK, READ, FRESH].map(|action| around(guard, action)), [mark, read, write], "{guard:?}");
    }
}

#[test]
fn only_compare_and_set_looks_at_versions() {
    for guard in Guard::ALL {
        let passes = [STALE, BLIND].map(|action| judged(guard, action, Some(34), Some(BARRIER)) != Refused);
        let expected = match guard {
            Guard::Version => [false, false],
            // It refuses an equal token, whatever the version.
            Guard::FenceLe => [false, false],
            // There is no key to look at.
            Guard::OwnerKey => [false, false],
            _ => [true, true],
        };
        assert_eq!(passes, expected, "{guard:?}");
    }
}

#[test]
fn the_first_token_passes_whatever_it_is() {
    for guard in [Guard::FenceW, Guard::FenceLe, Guard::FenceRc, Guard::FenceRw, Guard::Mark] {
        assert_eq!(judged(guard, FRESH, Some(0), None), Recorded, "{guard:?}");
    }
    assert_eq!(judged(Guard::Unique, FRESH, Some(0), None), Refused, "nobody has marked");
}

#[test]
fn what_compares_tokens_lets_nothing_without_one_pass() {
    for guard in Guard::ALL {
        for barrier in [None, Some(BARRIER)] {
            let pass = [MARK, READ, FRESH].map(|action| judged(guard, action, None, barrier) != Refused);
            let expected = match guard {
                Guard::Open | Guard::Version => [true, true, true],
                Guard::FenceW | Guard::FenceLe | Guard::Unique => [false, true, false],
                Guard::FenceRc | Guard::FenceRw | Guard::Mark | Guard::OwnerKey => [false, false, false],
            };
            assert_eq!(pass, expected, "{guard:?}, {barrier:?}");
        }
    }
}

#[test]
fn what_a_check_is_said_to_do_is_what_it_does() {
    for guard in Guard::ALL {
        let thens: Vec<Then> = [MARK, READ, FRESH, STALE].iter().flat_map(|action| around(guard, *action)).collect();
        assert_eq!(guard.refuses(), thens.contains(&Refused), "{guard:?}");
        assert_eq!(guard.keeps_barrier(), thens.contains(&Recorded), "{guard:?}");
        let [low, _, high] = around(guard, FRESH);
        assert_eq!(guard.orders_tokens(), (low == Refused) && (high != Refused), "{guard:?}");
    }
}

#[test]
fn effects_pass_everywhere_and_a_number_marks_where_marks_have_an_order() {
    for guard in Guard::ALL {
        assert_eq!(around(guard, Action::Effect { key: None }), [Kept; 3], "{guard:?}");
        let marks = guard.takes_marks() && guard.orders_tokens();
        let expected = if marks { [Refused, Kept, Recorded] } else { [Kept; 3] };
        assert_eq!(around(guard, Action::Ticket), expected, "{guard:?}");
    }
}
