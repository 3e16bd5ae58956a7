//! Faults of links and of single messages.

use host::{Duration, Operation, Span};

use super::*;
use crate::cell::{Direction, Held, Link, MessageMatch, What};

#[test]
fn a_cut_goes_both_ways_or_one_way() {
    let both = Link::Between(nodes(&["A"]), nodes(&["redis-1", "resource"]));
    assert_eq!(
        what("cut = { between = [\"A\", [\"redis-1\", \"resource\"]] }"),
        What::Cut { link: both, held: Held::Dropped }
    );
    let one = Link::OneWay { from: nodes(&["A", "B"]), to: nodes(&["resource"]) };
    assert_eq!(
        what("cut = { from = \"clients\", to = \"resource\", held = \"linger\" }"),
        What::Cut { link: one, held: Held::Linger }
    );
}

#[test]
fn a_slow_link_and_a_reset_name_their_links_too() {
    let link = || Link::Between(nodes(&["A"]), nodes(&["redis-1"]));
    let by = Span::Fixed(Duration::from_secs(1));
    assert_eq!(what("slow = { between = [\"A\", \"redis-1\"], by = \"1s\" }"), What::Slow { link: link(), by });
    assert_eq!(what("reset = { between = [\"A\", \"redis-1\"] }"), What::Reset(link()));
    refuse(
        &faulty("reset = { «from» = \"A\", between = [\"A\", \"redis-1\"] }"),
        "unknown field `from`, expected `between`",
    );
}

#[test]
fn a_half_open_connection_has_one_side_that_believes() {
    let what = what("half-open = { forgets = \"redis-1\", believes = \"clients\" }");
    assert_eq!(what, What::HalfOpen { forgets: nodes(&["redis-1"]), believes: nodes(&["A", "B"]) });
    refuse(&faulty("half-open = «{ forgets = \"A\" }»"), "missing `believes`");
    refuse(
        &faulty("half-open = «{ forgets = \"A\", believes = \"B\" }»"),
        "this can never apply: nothing passes between these nodes",
    );
    refuse(
        &faulty("half-open = { forgets = \"A\", believes = \"redis-1\" }\n«for» = \"1s\""),
        "`half-open` is an instant: it has no length",
    );
}

#[test]
fn a_link_without_two_sides_is_refused() {
    refuse(&faulty("cut = «{}»"), "a link is missing: `between = [X, Y]`, or `from` and `to`");
    refuse(&faulty("cut = «{ from = \"A\" }»"), "a link is missing: `between = [X, Y]`, or `from` and `to`");
    refuse(
        &faulty("cut = { between = [\"A\", \"redis-1\"], «to» = \"A\" }"),
        "a link is `between` two sides, or goes `from` one `to` the other",
    );
    refuse(&faulty("cut = { between = «[\"A\"]» }"), "`between` is a list of two sides, not a list");
    refuse(&faulty("cut = { between = [\"A\", «\"redis-2\"»] }"), "this cell has no node `redis-2`");
    refuse(
        &faulty("cut = { between = [\"A\", \"redis-1\"], held = «\"lost\"» }"),
        "unknown word `lost`: what becomes of held bytes is `dropped` or `linger`",
    );
}

#[test]
fn a_link_over_which_nothing_passes_cannot_fail() {
    let nothing = "this can never apply: nothing passes between these nodes";
    refuse(&faulty("cut = «{ between = [\"A\", \"B\"] }»"), nothing);
    refuse(&faulty("cut = «{ from = \"redis-1\", to = \"resource\" }»"), nothing);
    refuse(&faulty("slow = «{ between = [\"clients\", \"clients\"], by = \"1s\" }»"), nothing);
    refuse(&faulty("reset = «{ between = [\"redis-1\", \"resource\"] }»"), nothing);
    let idle = "[client.C]\ndo = [{ sleep = \"1s\" }]\n[fault.f]\n";
    refuse(&file(&format!("{idle}cut = «{{ between = [\"C\", [\"redis-1\", \"resource\"]] }}»\n")), nothing);
    accept(&file(&format!("{idle}cut = {{ between = [\"clients\", \"resource\"] }}\n")));
    let lock_only = "[client.C]\ndo = [\"acquire\"]\n[fault.f]\n";
    refuse(&file(&format!("{lock_only}cut = «{{ from = \"C\", to = \"resource\" }}»\n")), nothing);
    accept(&file(&format!("{lock_only}cut = {{ from = \"redis-1\", to = \"C\" }}\n")));
}

#[test]
fn a_message_is_known_by_its_operation_its_client_and_its_number() {
    let matched = |nth| MessageMatch {
        direction: Direction::Reply,
        operation: Operation("set"),
        of: nodes(&["A", "B"]),
        server: None,
        nth,
    };
    assert_eq!(what("drop = { reply = \"set\" }"), What::Drop(matched(Some(1))));
    assert_eq!(what("drop = { reply = \"set\", nth = 3 }"), What::Drop(matched(Some(3))));
    let by = Span::Fixed(Duration::from_secs(1));
    assert_eq!(
        what("delay = { reply = \"set\", nth = \"every\", of = \"clients\", by = \"1s\" }"),
        What::Delay { message: matched(None), by }
    );
    let What::Drop(message) = what("drop = { request = \"write\", of = \"B\", server = \"resource\" }") else {
        panic!("a drop");
    };
    assert_eq!((message.direction, message.of), (Direction::Request, nodes(&["B"])));
    assert_eq!(message.server, nodes(&["resource"]).pop());
}

#[test]
fn a_message_that_is_never_sent_cannot_be_lost() {
    let never = |operation: &str| format!("this can never apply: no such client ever sends `{operation}`");
    refuse(&faulty("drop = { request = «\"renew\"» }"), &never("renew"));
    let quiet = "[client.C]\ndo = [\"acquire\", \"read\"]\n[fault.f]\n";
    refuse(&file(&format!("{quiet}drop = {{ request = «\"write\"», of = \"C\" }}\n")), &never("write"));
    accept(&file(&format!("{quiet}drop = {{ request = \"write\" }}\n")));
    accept(&file(&format!("{quiet}drop = {{ request = \"release\", of = \"C\" }}\n")));
    accept(&faulty("drop = { request = \"renew\" }").replace("lock = \"redis\"", "lock.redis.renew.every = \"1s\""));
    refuse(&faulty("drop = { «push» = \"set\" }"), "this can never apply: no server of this lock pushes anything");
    refuse(
        &faulty("drop = { request = \"set\", server = «\"resource\"» }"),
        "this can never apply: `resource` is not asked for `set`",
    );
    refuse(
        &faulty("drop = { request = \"write\", server = «\"redis-1\"» }"),
        "this can never apply: `redis-1` is not asked for `write`",
    );
}

#[test]
fn a_message_that_is_not_said_clearly_is_refused() {
    refuse(&faulty("drop = «{}»"), "missing `request`, `reply` or `push`: which message is meant");
    refuse(
        &faulty("drop = { request = \"set\", «reply» = \"set\" }"),
        "one message is a `request`, a `reply` or a `push`, and no two of them",
    );
    suggest(&faulty("drop = { request = «\"relase\"» }"), "unknown word `relase`", "release");
    refuse(
        &faulty("drop = { request = \"set\", of = «\"redis-1\"» }"),
        "messages are told apart by the client: `of` names clients",
    );
    refuse(
        &faulty("drop = { request = \"set\", nth = «\"all\"» }"),
        "`nth` is a whole number or \"every\", not a string",
    );
    refuse(&faulty("delay = «{ request = \"set\" }»"), "missing `by`");
}
