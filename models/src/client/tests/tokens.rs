//! What a client shows the resource.

use super::*;

fn mark() -> Step {
    Step::Mark(Use::of("account".into()))
}

/// Somebody else asks the resource, with that token.
fn rival(bench: &Bench, action: Action, token: u64) -> OpReply {
    let op = Op { id: OpId(0), object: "account".into(), token: Some(Token(token)), takes: Work::NONE, action };
    bench.serve(Some(attempt(9)), RESOURCE, op)
}

#[test]
fn who_has_no_token_marks_with_a_number_of_its_own() {
    let bench = Bench::new(Guard::Unique);
    Setup::of([mark(), read(), write()]).play(&bench);
    assert_eq!([times(&bench, "Marked"), times(&bench, "Wrote")], [1, 1]);
}

#[test]
fn a_number_of_one_s_own_is_nobody_else_s() {
    let bench = Bench::new(Guard::Unique);
    bench.at(points::ABOUT_TO_WRITE, |bench| assert_eq!(rival(bench, Action::Mark, 1), OpReply::Done));
    Setup::of([mark(), read(), write()]).play(&bench);
    assert_eq!([times(&bench, "Refused"), times(&bench, "Wrote")], [1, 0]);
}

#[test]
fn who_has_a_token_marks_with_that() {
    let bench = Bench::new(Guard::Mark);
    bench.at(points::ABOUT_TO_WRITE, |bench| assert_eq!(rival(bench, Action::Mark, 2), OpReply::Done));
    Setup::of([acquire(), mark(), write()]).play(&bench);
    // The lock's first token is 1: a number drawn at random would be above 2.
    assert_eq!([times(&bench, "Marked"), times(&bench, "Refused")], [2, 1]);
}

#[test]
fn a_number_that_was_drawn_is_the_token_from_there_on() {
    let bench = Bench::new(Guard::FenceRw);
    for _ in 0..4 {
        rival(&bench, Action::Ticket, 0);
    }
    bench.at(points::ABOUT_TO_WRITE, |bench| assert!(matches!(rival(bench, Action::Read, 3), OpReply::Version(_))));
    let drawn = [acquire(), Step::Ticket(Use::of("account".into())), write()];
    Setup::of(drawn).play(&bench);
    assert_eq!(times(&bench, "Wrote"), 1, "5 is not below 3");
    let bench = Bench::new(Guard::FenceRw);
    bench.at(points::ABOUT_TO_WRITE, |bench| assert!(matches!(rival(bench, Action::Read, 3), OpReply::Version(_))));
    Setup::of([acquire(), write()]).play(&bench);
    assert_eq!(times(&bench, "Wrote"), 0, "the lock's 1 is");
}

#[test]
fn effects_and_marks_pass_their_milestones() {
    let bench = Bench::new(Guard::Mark);
    let mail = Step::Effect { about: Use::of("mail".into()), key: None };
    Setup::of([acquire(), mark(), Step::Ticket(Use::of("account".into())), mail]).play(&bench);
    let passed = ["about-to-mark", "Marked", "about-to-ticket", "Marked", "about-to-effect", "Effected"];
    let seen: Vec<String> = bench.log().into_iter().filter(|event| passed.contains(&event.as_str())).collect();
    // The lock's token and the first number are both 1: to mark with an equal one records nothing new.
    assert_eq!(seen, ["about-to-mark", "Marked", "about-to-ticket", "about-to-effect", "Effected"]);
}
