//! The guarded resource, and the operations on it.

use std::num::NonZeroU32;

use models::guard::{Act, Guard, Manner, Max, Reach};
use models::resource::Key;
use models::script::{Step, Use};

use super::*;

/// A file with that resource and a client with those steps.
fn with(resource: &str, steps: &str) -> String {
    format!("{HEAD}lock = \"redis\"\nresource = {resource}\n[client.A]\ndo = [\"acquire\", {steps}]\n")
}

/// The checks of a resource that is nobody's store of locks.
fn of_its_own() -> impl Iterator<Item = Guard> {
    Guard::ALL.into_iter().filter(|guard| *guard != Guard::OwnerKey)
}

fn steps(text: &str) -> Vec<Step> {
    cell(text).clients.remove(0).script.threads.remove(0)
}

#[test]
fn a_resource_is_a_check_or_a_table() {
    for guard in of_its_own() {
        let [word, table] = [format!("{:?}", guard.name()), format!("{{ check = {:?} }}", guard.name())]
            .map(|resource| cell(&with(&resource, "\"read\"")).resource);
        assert_eq!((word.guard, word.manner), (guard, Manner::default()));
        assert_eq!(table, word);
    }
}

#[test]
fn how_a_check_is_applied_is_said_beside_it() {
    let slow = "{ write = { takes = \"5ms\" } }";
    let all = "{ check = \"fence_rw\", act = \"record-then-act\", max = \"volatile\", barrier = \"whole\" }";
    let manner = cell(&with(all, slow)).resource.manner;
    assert_eq!(manner, Manner { act: Act::RecordThenAct, max: Max::Volatile, barrier: Reach::Whole });
    refuse(
        &with("{ check = \"fence_rw\", act = «\"atomc\"» }", slow),
        "unknown word `atomc`: `act` is one of `atomic`, `check-then-act`, `record-then-act`",
    );
}

#[test]
fn what_there_is_nothing_to_apply_to_is_refused() {
    let slow = "{ write = { takes = \"5ms\" } }";
    let act = "«act» = \"check-then-act\"";
    refuse(
        &with(&format!("{{ check = \"open\", {act} }}"), slow),
        "`act` cannot apply: the check `open` checks nothing",
    );
    refuse(
        &with("{ check = \"version\", act = «\"record-then-act\"» }", slow),
        "`record-then-act` cannot apply: the check `version` records no tokens",
    );
    for check in ["open", "version"] {
        for key in ["«max» = \"volatile\"", "«barrier» = \"whole\""] {
            let name = if key.contains("max") { "max" } else { "barrier" };
            let message = format!("`{name}` cannot apply: the check `{check}` records no tokens");
            refuse(&with(&format!("{{ check = {check:?}, {key} }}"), slow), &message);
        }
    }
}

#[test]
fn a_check_before_the_act_makes_a_difference_only_where_something_takes_time() {
    let resource = "{ check = \"fence_rw\", act = «\"check-then-act\"» }";
    let message = "`check-then-act` cannot apply: nothing takes the resource any time, as `{ write = { takes = \"5ms\" } }` would";
    refuse(&with(resource, "\"read\", \"write\""), message);
    let repeated = "{ repeat = { times = 2, do = [{ read = { takes = \"5ms\" } }] } }";
    accept(&with(&resource.replace(['«', '»'], ""), repeated));
    // Who knows what a step that could not be read would have taken.
    refuse(&with(&resource.replace(['«', '»'], ""), "«\"wriet\"»"), "unknown word `wriet`");
}

#[test]
fn an_operation_takes_time_that_may_be_drawn() {
    let [fixed, drawn]: [Step; 2] = steps(&with(
        "\"open\"",
        "{ write = { takes = \"5ms\" } }, { read = { object = \"x\", takes = { mean = \"1ms\" } } }",
    ))
    .drain(1..)
    .collect::<Vec<_>>()
    .try_into()
    .expect("two");
    let millis = host::Duration::from_millis;
    assert_eq!(fixed, Step::Write(Use { takes: host::Span::Fixed(millis(5)), ..Use::of("object".into()) }));
    assert_eq!(drawn, Step::Read(Use { object: "x".into(), takes: host::Span::Exponential { mean: millis(1) } }));
    refuse(
        &with("\"open\"", "{ write = { takes = «\"80min\"» } }"),
        "an operation takes at most 4294967295us, a little more than 71 min",
    );
}

#[test]
fn only_a_check_that_knows_marks_is_marked() {
    for guard in of_its_own() {
        let text = |mark: &str| with(&format!("{:?}", guard.name()), mark);
        if guard.takes_marks() {
            assert_eq!(steps(&text("{ mark = \"x\" }"))[1], Step::Mark(Use::of("x".into())));
        } else {
            let message = format!("`mark` cannot apply: the resource's check `{}` knows no marks", guard.name());
            refuse(&text("«\"mark\"»"), &message);
        }
    }
}

#[test]
fn a_resource_that_lists_its_objects_has_no_others() {
    let objects = "{ check = \"open\", objects = [\"account\", \"stock\"] }";
    accept(&with(objects, "{ read = \"stock\" }"));
    suggest(&with(objects, "{ read = «\"acount\"» }"), "the resource has no object `acount`", "account");
    refuse(
        &with(objects, "{ write = { object = «\"parcel\"» } }"),
        "the resource has no object `parcel`; it has: `account`, `stock`",
    );
    refuse(&with(objects, "«\"read\"»"), "the resource has no object `object`; it has: `account`, `stock`");
    let scriptless = format!("{HEAD}lock = \"redis\"\nresource = {objects}\n[client.«A»]\n");
    refuse(&scriptless, "the resource has no object `object`; it has: `account`, `stock`");
    refuse(&with("{ objects = «[]» }", "\"read\""), "a resource has at least one object");
}

#[test]
fn a_fence_wants_a_lock_with_tokens_and_a_unique_mark_and_a_version_do_not() {
    let none = |guard: Guard| {
        with(&format!("{:?}", guard.name()), "\"read\"").replace("\"redis\"", "{ redis = { token = «\"none\"» } }")
    };
    for guard in of_its_own() {
        if guard.orders_tokens() {
            refuse(
                &none(guard),
                "the resource checks tokens, and this lock would give none: its operations would carry no token",
            );
        } else {
            accept(&none(guard).replace(['«', '»'], ""));
        }
    }
}

#[test]
fn a_point_at_the_resource_is_one_that_somebody_reaches() {
    let at = |resource: &str, steps: &str, point: &str| {
        let fault = format!("[fault.f]\npause = \"A\"\nwhen = {{ point = {point} }}\n");
        format!("{}{fault}", with(resource, steps))
    };
    for point in ["about-to-mark", "marked"] {
        accept(&at("\"mark\"", "\"mark\"", &format!("{point:?}")));
        let message = format!("no client ever reaches the point `{point}` in this cell");
        refuse(&at("\"mark\"", "\"read\"", &format!("«{point:?}»")), &message);
    }
    let slow = "{ write = { takes = \"5ms\" } }";
    let apart = "{ check = \"fence_w\", act = \"check-then-act\" }";
    accept(&at(apart, slow, "\"check-passed\""));
    let never = "no client ever reaches the point `check-passed` in this cell";
    refuse(&at("\"fence_w\"", slow, "«\"check-passed\"»"), never);
}

#[test]
fn a_number_is_drawn_at_the_resource() {
    assert_eq!(
        steps(&with("\"open\"", "\"ticket\", { ticket = \"x\" }"))[1..],
        [Step::Ticket(Use::of("object".into())), Step::Ticket(Use::of("x".into())),]
    );
    let message = "to draw a number takes the resource no time: leave out `takes`";
    refuse(&with("\"open\"", "{ «ticket» = { takes = \"1ms\" } }"), message);
}

#[test]
fn without_tokens_from_the_lock_each_client_draws_one_first() {
    let none = |resource: &str, steps: &str| with(resource, steps).replace("\"redis\"", "«\"none\"»");
    let fine = |text: &str| accept(&text.replace(['«', '»'], ""));
    let message =
        "the resource orders operations by their tokens, and this lock gives none: each client draws a `ticket` first";
    refuse(&none("\"fence_rw\"", "\"read\", \"write\""), message);
    refuse(&none("\"mark\"", "\"read\", \"ticket\", \"write\""), message);
    fine(&none("\"fence_rw\"", "\"ticket\", \"read\", \"write\""));
    for check in ["open", "unique", "version"] {
        fine(&none(&format!("{check:?}"), "\"read\", \"write\""));
    }
}

#[test]
fn an_effect_has_a_name_and_may_have_a_key() {
    let [plain, named, keyed]: [Step; 3] = steps(&with(
        "\"open\"",
        "{ effect = \"mail\" }, { effect = { name = \"mail\" } }, { effect = { name = \"mail\", key = 17 } }",
    ))[1..]
        .to_vec()
        .try_into()
        .expect("three");
    assert_eq!(plain, Step::Effect { about: Use::of("mail".into()), key: None });
    assert_eq!(named, plain);
    assert_eq!(keyed, Step::Effect { about: Use::of("mail".into()), key: NonZeroU32::new(17).map(Key) });
    refuse(&with("\"open\"", "«\"effect\"»"), "missing `name`");
    refuse(&with("\"open\"", "{ effect = { name = \"mail\", key = «0» } }"), "0 lies outside 1 to 4294967295");
}

#[test]
fn objects_in_the_locks_own_store_are_read_and_written_behind_what_it_can_compare() {
    let etcd = |resource: &str, step: &str| with(resource, step).replace("lock = \"redis\"", "lock = \"etcd\"");
    for check in ["open", "version", "owner_key"] {
        let text = etcd(&format!("{{ check = {check:?}, lives-in = \"lock-service\" }}"), "\"read\"");
        assert!(cell(&text).resource.is_in_store, "{check}");
    }
    assert!(!cell(&etcd("{ check = \"open\", lives-in = \"own-store\" }", "\"read\"")).resource.is_in_store);
    let owner_key =
        "`owner_key` looks at a key of the lock's own store: `{ check = \"owner_key\", lives-in = \"lock-service\" }`";
    refuse(&etcd("«\"owner_key\"»", "\"read\""), owner_key);
    refuse(&etcd("{ check = «\"owner_key\"» }", "\"read\""), owner_key);
    let fenced = "{ check = «\"fence_rw\"», lives-in = \"lock-service\" }";
    refuse(
        &etcd(fenced, "\"read\""),
        "the lock's own store has no `fence_rw`: it compares nothing (`open`), versions or the `owner_key`",
    );
    let apart = "{ check = \"version\", «act» = \"check-then-act\", lives-in = \"lock-service\" }";
    refuse(&etcd(apart, "\"read\""), "`act` cannot apply: in the lock's own store an operation is one transaction");
    let open = "{ check = \"open\", lives-in = «\"lock-service\"» }";
    refuse(
        &with(open, "\"read\""),
        "of objects in the lock's own store only those of `etcd`, `zookeeper`, `curator`, `postgres` and `postgres-row` are \
         modelled: `lock = \"etcd\"`",
    );
    refuse(
        &with(open, "\"read\"").replace("\"redis\"", "\"lease-row\""),
        "of objects in the lock's own store only those of `etcd`, `zookeeper`, `curator`, `postgres` and `postgres-row` are \
         modelled: `lock = \"postgres\"`",
    );
    let migrates = |switches: &str, resource: &str| {
        with(resource, "\"write\"").replace("lock = \"redis\"", &format!("lock.{switches}"))
    };
    let kept = "{ lives-in = \"lock-service\", migrates = true }";
    assert!(cell(&migrates("postgres = {}", kept)).resource.migrates);
    for (lock, resource) in [
        ("postgres.scope = \"transaction\"", "{ lives-in = \"lock-service\", «migrates» = true }"),
        ("postgres = {}", "{ «migrates» = true }"),
        ("etcd = {}", "{ lives-in = \"lock-service\", «migrates» = true }"),
    ] {
        refuse(
            &migrates(lock, resource),
            "an index is made in PostgreSQL, outside a transaction: this needs `lock = \"postgres\"` with \
             `scope = \"session\"`, and objects that live in the `lock-service`",
        );
    }
    let postgres = with("{ check = \"owner_key\", lives-in = «\"lock-service\"» }", "\"read\"")
        .replace("\"redis\"", "\"postgres\"");
    refuse(
        &postgres,
        "PostgreSQL has no key to look at: who writes on the connection that has the lock has it (`open`)",
    );
    for step in ["{ effect = \"mail\" }", "{ write = { takes = \"5ms\" } }", "\"ticket\""] {
        refuse(&etcd(open, step), "in the lock's own store objects are read and written, which takes no time");
    }
}
