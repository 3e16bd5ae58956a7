//! Faults: one *what*, one *when*, at most one *how long*.

use host::{Clock, Duration, Part, Point, Ppm, Span};

use super::*;
use crate::cell::{Fault, Lasts, Milestone, NodeRef, What, When};

fn fault(keys: &str) -> Fault {
    cell(&faulty(keys)).faults.remove(0)
}

fn named(name: &str) -> NodeRef {
    NodeRef::Named(name.to_owned())
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn nodes_are_a_name_a_list_or_a_group() {
    assert_eq!(fault("pause = \"A\"").what, What::Pause(vec![named("A")]));
    assert_eq!(fault("kill = [\"redis-1\", \"resource\"]").what, What::Kill(vec![named("redis-1"), named("resource")]));
    assert_eq!(fault("vm-stop = \"clients\"").what, What::VmStop(vec![named("A"), named("B")]));
    assert_eq!(fault("power-off = \"servers\"").what, What::PowerOff(vec![named("redis-1")]));
    assert_eq!(fault("shutdown = \"B\"").what, What::Shutdown(vec![named("B")]));
    assert_eq!(fault("machine-sleep = \"A\"").what, What::MachineSleep(vec![named("A")]));
    let text = file("[client.W]\ncount = 2\n[fault.f]\npause = \"W\"\n[fault.g]\npause = \"W-2\"\n");
    let faults = cell(&text).faults;
    assert_eq!(faults[0].what, What::Pause(vec![named("W-1"), named("W-2")]));
    assert_eq!(faults[1].what, What::Pause(vec![named("W-2")]));
}

#[test]
fn nodes_that_are_not_there_are_refused() {
    suggest(&faulty("pause = «\"clientss\"»"), "this cell has no node `clientss`", "clients");
    refuse(
        &faulty("pause = [\"A\", «\"redis-7\"»]").replace("redis-7", "sentinel-7"),
        "this cell has no node `sentinel-7`; it has: `A`, `B`, `redis-1`, `resource`",
    );
    refuse(&faulty("pause = «[]»"), "this names no node");
    refuse(&faulty("pause = [\"A\", «\"A\"»]"), "`A` is named twice");
    refuse(&faulty("pause = [\"A\", «\"clients\"»]"), "`A` is named twice");
    refuse(&faulty("pause = [«1»]"), "a node is named by a string, not an integer");
    refuse(&faulty("pause = «1»"), "nodes are a name or a list of names, not an integer");
    refuse(&faulty("pause = «\"follower\"»"), "`follower` is not supported yet");
    refuse(&faulty("pause = «\"leader\"»"), "this lock's servers have no leader");
}

#[test]
fn only_a_client_that_acquires_can_be_cancelled() {
    let faults = fault("cancel = \"A\"\nat = \"1s\"");
    assert_eq!((faults.what, faults.lasts), (What::Cancel(vec![named("A")]), Lasts::Instant));
    for node in ["redis-1", "resource"] {
        let text = faulty(&format!("cancel = «{node:?}»"));
        refuse(&text, "this can never apply: a server waits for nothing that could be abandoned");
    }
    let idle = "[client.C]\ndo = [\"read\"]\n[fault.f]\ncancel = «\"C\"»\n";
    refuse(&file(idle), "this can never apply: this client never acquires a lock");
    refuse(&faulty("cancel = \"A\"\n«for» = \"1s\""), "`cancel` is an instant: it has no length");
}

#[test]
fn a_node_that_could_not_be_read_is_one_mistake_and_not_two() {
    let lock = "unknown word `redlok`";
    let text = top("lock = «\"redlok\"»");
    refuse(&format!("{text}[fault.f]\nkill = [\"redis-1\", \"redlok-3\"]\n"), lock);
    refuse(&format!("{text}[fault.f]\nkill = \"servers\"\n"), lock);
    refuse_all(&format!("{text}[fault.f]\nkill = «\"resorce\"»\n"), &[lock, "this cell has no node `resorce`"]);
    let client = "`C D` is no name for a client: letters, digits, `-` and `_`";
    refuse(&file("[client.«\"C D\"»]\n[fault.f]\nkill = \"CD\"\n"), client);
}

#[test]
fn the_holder_is_whoever_reaches_the_milestone() {
    let fault = fault("pause = \"holder\"\nwhen = { point = \"about-to-write\" }\nfor = \"15s\"");
    assert_eq!(fault.what, What::Pause(vec![NodeRef::Holder]));
    let milestone = Milestone { client: None, point: Point("about-to-write"), nth: 1, plus: Duration::ZERO };
    assert_eq!(fault.when, When::Milestone(milestone));
    assert_eq!(fault.lasts, Lasts::For(Span::Fixed(seconds(15))));
    refuse(
        &faulty("pause = «\"holder\"»\nat = \"1s\""),
        "`holder` is whoever reaches a milestone, and no `when` names one here",
    );
}

#[test]
fn any_is_one_node_that_is_drawn() {
    let any = NodeRef::Any(["redis-1", "resource", "A", "B"].map(str::to_owned).to_vec());
    let drawn = fault("kill = \"any\"\nfor = \"1s\"");
    assert!(drawn.is_drawn());
    assert_eq!(drawn.what, What::Kill(vec![any]));
    let alone = "`any` is one node for faults of whole processes and machines, and stands alone";
    refuse(&faulty("kill = [\"A\", «\"any\"»]"), alone);
    refuse(&faulty("step-clock = { node = «\"any\"», by = \"1s\" }"), alone);
    refuse(&faulty("cut = { between = [«\"any\"», \"redis-1\"] }"), alone);
    assert!(!fault("kill = \"A\"").is_drawn());
}

#[test]
fn an_instant_may_be_drawn() {
    let drawn = fault("pause = \"A\"\nat = { from = \"1s\", to = \"3s\" }\nfor = \"1s\"");
    assert_eq!(drawn.when, When::Within { from: seconds(1), to: seconds(3) });
    assert!(drawn.is_drawn());
    refuse(
        &faulty("pause = \"A\"\nat = { from = \"1s\", to = «\"60s\"» }\nfor = \"1s\"")
            .replace("«\"60s\"»", "\"60s\"")
            .replace("at = {", "at = «{")
            .replace("60s\" }", "60s\" }»"),
        "this never happens: the run ends at 60s",
    );
    refuse(
        &faulty("pause = \"A\"\nat = «{ from = \"3s\", to = \"1s\" }»\nfor = \"1s\""),
        "`from` (3s) is after `to` (1s)",
    );
}

#[test]
fn a_fault_is_exactly_one_thing() {
    refuse(&faulty("pause = \"A\"\n«kill» = \"A\""), "a fault is one thing, and `f` already is `pause`");
    refuse(
        &file("[fault.«f»]\nat = \"1s\"\n"),
        "nothing goes wrong in the fault `f`, expected one of `pause`, `machine-sleep`, `vm-stop`, `kill`, \
         `shutdown`, `power-off`, `restore`, `cancel`, `stall`, `throttle`, `step-clock`, `clock-rate`, `disk`, `evict`, `promote`, \
         `cut`, `slow`, `reset`, `half-open`, `drop`, `delay`",
    );
    refuse(&file("[fault]\nf = «\"pause\"»\n"), "a fault is a table, not a string");
    refuse(&file("[fault.«\"a.b\"»]\npause = \"A\"\n"), "`a.b` is no name for a fault: letters, digits, `-` and `_`");
}

#[test]
fn a_fault_of_what_does_not_exist_yet_is_refused() {
    for what in ["end-session", "clone", "recycle-backend", "lag"] {
        refuse(&faulty(&format!("«{what}» = \"A\"")), &format!("`{what}` is not supported yet"));
    }
    refuse(&faulty("«change-leader» = {}"), "`change-leader` is not supported yet");
}

#[test]
fn a_fault_that_is_off_is_not_there() {
    assert!(cell(&faulty("pause = \"A\"\noff = true")).faults.is_empty());
    assert_eq!(cell(&faulty("pause = \"A\"\noff = false")).faults.len(), 1);
    let text = faulty("off = true").replace("fault.f", "fault.«f»");
    assert!(mistakes(&text).errors()[0].message.starts_with("nothing goes wrong in the fault `f`"));
}

#[test]
fn faults_are_in_the_order_of_their_names() {
    let faults = cell(&file("[fault.b]\npause = \"A\"\n[fault.a]\npause = \"B\"\n")).faults;
    assert_eq!(faults.iter().map(|fault| fault.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_fault_begins_at_an_instant_at_a_milestone_or_again_and_again() {
    assert_eq!(fault("pause = \"A\"").when, When::At(Duration::ZERO));
    assert_eq!(fault("pause = \"A\"\nat = \"3s\"").when, When::At(seconds(3)));
    let every = |times| When::Every { at: seconds(1), every: seconds(5), times };
    assert_eq!(fault("pause = \"A\"\nat = \"1s\"\nevery = \"5s\"\nfor = \"1s\"").when, every(None));
    assert_eq!(fault("pause = \"A\"\nat = \"1s\"\nevery = \"5s\"\ntimes = 2\nfor = \"1s\"").when, every(Some(2)));
    let when = fault("pause = \"A\"\nwhen = { client = \"B\", point = \"granted\", nth = 2, plus = \"1s\" }").when;
    let milestone = Milestone { client: Some("B".to_owned()), point: Point("granted"), nth: 2, plus: seconds(1) };
    assert_eq!(when, When::Milestone(milestone));
}

#[test]
fn two_beginnings_are_refused() {
    let when = "when = { point = \"granted\" }";
    refuse(
        &faulty(&format!("pause = \"A\"\n«at» = \"1s\"\n{when}")),
        "a fault begins once: `at` and `when` exclude each other",
    );
    refuse(
        &faulty(&format!("pause = \"A\"\n«every» = \"1s\"\nfor = \"1ms\"\n{when}")),
        "a fault begins once: `every` and `when` exclude each other",
    );
    refuse(
        &faulty("pause = \"A\"\n«times» = 2\nfor = \"1s\""),
        "`times` says how often `every` strikes, and there is no `every`",
    );
    refuse(&faulty("pause = \"A\"\nevery = «\"0s\"»\nfor = \"1s\""), "a duration of zero does nothing here");
}

#[test]
fn what_begins_at_the_horizon_never_begins() {
    refuse(&faulty("pause = \"A\"\nat = «\"60s\"»"), "this never happens: the run ends at 60s");
    refuse(
        &faulty("pause = \"A\"\nat = «\"61s\"»\nevery = \"1s\"\nfor = \"1s\""),
        "this never happens: the run ends at 60s",
    );
    refuse(
        &faulty("pause = \"A\"\nwhen = { point = \"granted\", plus = «\"60s\"» }"),
        "this never happens: the run ends at 60s",
    );
    fault("pause = \"A\"\nat = \"59999ms\"");
}

#[test]
fn a_fault_lasts_for_a_span_until_a_moment_or_to_the_end() {
    assert_eq!(fault("pause = \"A\"").lasts, Lasts::ToTheEnd);
    assert_eq!(
        fault("pause = \"A\"\nfor = { mean = \"1s\" }").lasts,
        Lasts::For(Span::Exponential { mean: seconds(1) })
    );
    assert_eq!(fault("pause = \"A\"\nat = \"1s\"\nuntil = \"2s\"").lasts, Lasts::Until(When::At(seconds(2))));
    let lasts = fault("pause = \"A\"\nuntil = { client = \"B\", point = \"granted\" }").lasts;
    assert!(matches!(lasts, Lasts::Until(When::Milestone(Milestone { client: Some(_), .. }))));
    assert_eq!(fault("kill = \"A\"\nfor = \"0s\"").lasts, Lasts::For(Span::Fixed(Duration::ZERO)));
}

#[test]
fn the_time_to_a_restart_may_be_counted_on_a_clock_of_its_machine() {
    for (word, clock) in [("wall", Clock::Wall), ("monotonic", Clock::Monotonic), ("boottime", Clock::Boottime)] {
        for what in ["kill", "shutdown", "power-off"] {
            let lasts = fault(&format!("{what} = \"redis-1\"\nfor = \"2s\"\non-clock = {word:?}")).lasts;
            assert_eq!(lasts, Lasts::By(clock, Span::Fixed(seconds(2))));
        }
    }
    refuse(
        &faulty("pause = \"A\"\nfor = \"2s\"\n«on-clock» = \"wall\""),
        "`pause` ends by itself: only the restart of a process is counted on a clock",
    );
    refuse(
        &faulty("kill = \"A\"\nuntil = \"2s\"\n«on-clock» = \"wall\""),
        "`on-clock` says how `for` is counted, and there is no `for`",
    );
    refuse(
        &faulty("kill = \"clients\"\nfor = \"2s\"\n«on-clock» = \"wall\""),
        "2 machines count each for itself: make it 2 faults",
    );
    suggest(
        &faulty("kill = \"A\"\nfor = \"2s\"\non-clock = «\"wal\"»"),
        "unknown word `wal`: a clock is one of `monotonic`, `boottime`, `wall`",
        "wall",
    );
}

#[test]
fn lengths_that_make_no_sense_are_refused() {
    refuse(
        &faulty("pause = \"A\"\nfor = \"1s\"\n«until» = \"2s\""),
        "a fault has one length: `for` and `until` exclude each other",
    );
    refuse(&faulty("pause = \"A\"\nfor = «\"0s\"»"), "a fault that lasts no time does nothing");
    refuse(&faulty("pause = \"A\"\nat = \"2s\"\nuntil = «\"2s\"»"), "this fault begins at 2s and cannot end before");
    refuse(&faulty("pause = \"A\"\nuntil = «2»"), "`until` is an instant or a milestone, not an integer");
    refuse(
        &file("[fault.f]\npause = \"A\"\nevery = \"1s\"\n").replace("[fault.f]", "«[fault.f]»"),
        "what happens `every` so often lasts `for` some time; without, the first lasts to the end",
    );
    refuse(
        &faulty("pause = \"A\"\nevery = \"1s\"\n«until» = \"2s\""),
        "what happens `every` so often lasts `for` some time, each time",
    );
}

#[test]
fn a_message_fault_may_strike_again_without_a_length() {
    let drop = fault("drop = { request = \"write\" }\nevery = \"1s\"");
    assert_eq!(drop.lasts, Lasts::ToTheEnd);
    assert_eq!(drop.when, When::Every { at: Duration::ZERO, every: seconds(1), times: None });
}

#[test]
fn an_instant_has_no_length() {
    let jump = "step-clock = { node = \"redis-1\", by = \"1s\" }";
    assert_eq!(fault(jump).lasts, Lasts::Instant);
    refuse(&faulty(&format!("{jump}\n«for» = \"1s\"")), "`step-clock` is an instant: it has no length");
    refuse(&faulty(&format!("{jump}\n«until» = \"1s\"")), "`step-clock` is an instant: it has no length");
    refuse(
        &faulty("reset = { between = [\"A\", \"redis-1\"] }\n«for» = \"1s\""),
        "`reset` is an instant: it has no length",
    );
    assert_eq!(fault(&format!("{jump}\nevery = \"1s\"")).lasts, Lasts::Instant);
}

#[test]
fn a_milestone_is_one_that_somebody_reaches() {
    let at = |point: &str| faulty(&format!("pause = \"A\"\nwhen = {{ point = {point} }}"));
    for point in ["renewing", "renewed", "renewal-failed", "told-of-loss", "refused"] {
        refuse(&at(&format!("«{point:?}»")), &format!("no client ever reaches the point `{point}` in this cell"));
    }
    for point in ["started", "denied", "checked", "about-to-read", "write-applied", "release-refused", "ended"] {
        accept(&at(&format!("{point:?}")));
    }
    accept(&at("\"renewed\"").replace("lock = \"redis\"", "lock.redis.renew.every = \"3s\""));
    accept(&at("\"refused\"").replace("lock = \"redis\"", "lock = \"redis\"\nresource = \"fence_rw\""));
    accept(&format!("{}[client.C]\ndo = [\"acquire\", \"extend\"]\n", at("\"renewed\"")));
}

#[test]
fn a_milestone_belongs_to_one_client_or_to_whoever_comes_first() {
    let of = |client: &str| {
        file(&format!(
            "[client.W]\ncount = 2\n[client.C]\ndo = [\"acquire\"]\n[fault.f]\npause = \"A\"\nwhen = {{ client = {client}, point = \"read-done\" }}\n"
        ))
    };
    accept(&of("\"W-2\""));
    let error = refuse(&of("«\"W\"»"), "`W` means 2 nodes, and this is about one");
    assert_eq!(error.help.as_deref(), Some("name one, as in `W-1`"));
    refuse(&of("«\"redis-1\"»"), "`redis-1` is not a client");
    refuse(
        &of("\"C\"").replace("\"read-done\"", "«\"read-done\"»"),
        "client `C` never reaches the point `read-done` in this cell",
    );
    refuse(&faulty("pause = \"A\"\nwhen = «{ client = \"A\" }»"), "missing `point`");
    refuse(&faulty("pause = \"A\"\nwhen = { point = \"granted\", nth = «0» }"), "0 lies outside 1 to 4294967295");
    refuse(&faulty("pause = \"A\"\nwhen = «\"granted\"»"), "a milestone is a table, not a string");
}

#[test]
fn a_stall_hangs_a_part_that_the_process_has() {
    let stall = |node: &str, part| What::Stall { node: named(node), part };
    assert_eq!(fault("stall = { node = \"A\", part = \"worker\" }").what, stall("A", Part::WORKER));
    assert_eq!(fault("stall = \"A/worker\"").what, stall("A", Part::WORKER));
    assert_eq!(fault("stall = \"redis-1/requests\"").what, stall("redis-1", Part::REQUESTS));
    let renewing = faulty("stall = \"A/renewal\"").replace("lock = \"redis\"", "lock.redis.renew.every = \"3s\"");
    assert_eq!(cell(&renewing).faults[0].what, stall("A", Part::RENEWAL));
    let none = "this lock does not renew in the background, so there is no part `renewal`";
    refuse(&faulty("stall = «\"A/renewal\"»"), none);
    refuse(&faulty("stall = { node = \"A\", part = «\"renewal\"» }"), none);
    refuse(
        &faulty("stall = { node = \"redis-1\", part = «\"worker\"» }"),
        "unknown word `worker`: a part of this process is `requests`",
    );
    let error = refuse(&faulty("stall = «\"A\"»"), "a stall acts on a part of a process");
    assert_eq!(error.help.as_deref(), Some("name it, as in `A/worker`"));
    refuse(
        &faulty("stall = { node = «\"clients\"», part = \"worker\" }"),
        "`clients` means 2 nodes, and this is about one",
    );
    refuse(&faulty("pause = «\"A/worker\"»"), "`A/worker` is a part of a process, and only a stall acts on one");
}

#[test]
fn a_throttle_runs_and_stops() {
    let what = fault("throttle = { node = \"A\", run = \"10ms\", stop = \"5ms\" }").what;
    let millis = Duration::from_millis;
    assert_eq!(what, What::Throttle { node: named("A"), run: millis(10), stop: millis(5) });
    refuse(
        &faulty("throttle = { node = \"A\", run = \"10ms\", stop = «\"0s\"» }"),
        "a duration of zero does nothing here",
    );
    refuse(&faulty("throttle = «{ node = \"A\", run = \"10ms\" }»"), "missing `stop`");
}

#[test]
fn only_a_clock_that_is_read_can_be_stepped() {
    let step = |node: &str| faulty(&format!("step-clock = {{ node = {node}, by = \"1s\" }}"));
    accept(&step("\"redis-1\""));
    let client = "this can never apply: a client counts its lease on its monotonic clock, which never steps";
    refuse(&step("«\"A\"»"), client);
    refuse(&step("«[\"redis-1\", \"A\"]»"), client);
    let counting_on =
        |clock: &str, step: String| step.replace("lock = \"redis\"", &format!("lock.redis.clock = {clock:?}"));
    accept(&counting_on("wall", step("\"A\"")));
    let boot = "this can never apply: a client counts its lease on its boot-time clock, which never steps";
    refuse(&counting_on("boottime", step("«\"A\"»")), boot);
    let row =
        |clock: &str, step: String| step.replace("lock = \"redis\"", &format!("lock.lease-row.clock = {clock:?}"));
    accept(&row("client", step("\"A\"")));
    refuse(&row("store", step("«\"A\"»")), client);
    refuse(&row("observed", step("«\"A\"»")), client);
    let none = "this can never apply: this lock has no lease, and a client counts its timeouts on its monotonic clock, which never steps";
    for lock in ["postgres", "postgres-row"] {
        refuse(&step("«\"A\"»").replace("\"redis\"", &format!("{lock:?}")), none);
    }
    refuse(&step("«\"resource\"»"), "this can never apply: the resource reads no clock");
    refuse(
        &step("«\"servers\"»").replace("lock = \"redis\"", "ttl = \"none\"\nlock = \"redis\""),
        "this can never apply: nothing expires on this lock's servers: `ttl` is \"none\"",
    );
    refuse(&faulty("step-clock = { node = \"redis-1\", by = «\"0s\"» }"), "a step of nothing is no step");
}

#[test]
fn a_clock_rate_changes_all_clocks_of_a_machine() {
    let what = fault("clock-rate = { node = [\"A\", \"redis-1\"], ppm = 500 }").what;
    assert_eq!(what, What::ClockRate { node: vec![named("A"), named("redis-1")], rate: Ppm::new(500) });
    refuse(
        &faulty("clock-rate = { node = «\"resource\"», ppm = 500 }"),
        "this can never apply: the resource reads no clock",
    );
    refuse(&faulty("clock-rate = { node = \"A\", ppm = «2_000_000» }"), "2000000 lies outside -999999 to 1000000");
}

#[test]
fn every_kind_has_a_reader() {
    for kind in super::super::what::WHATS {
        // Nothing that goes wrong is a number.
        assert_eq!(mistakes(&faulty(&format!("{} = 1", kind.name))).errors().len(), 1, "{}", kind.name);
    }
}

#[test]
fn a_backup_is_made_before_it_is_put_back_and_of_all_members_of_a_cluster() {
    let on = |lock: &str, fault: &str| {
        let text = format!("{HEAD}{lock}\n[client.A]\ndo = [\"acquire\"]\n[fault.f]\n{fault}\n");
        text.replace("\n\n", "\n")
    };
    let etcd = |fault: &str| on("lock = \"etcd\"", fault);
    let fault = cell(&etcd("restore = { as-of = \"4s\" }\nat = \"9s\"\nfor = \"1s\"")).faults.remove(0);
    let all = ["etcd-1", "etcd-2", "etcd-3"].map(named).to_vec();
    assert_eq!(fault.what, What::Restore { node: all, as_of: Duration::from_secs(4) });
    for (what, message) in [
        (
            "restore = «{ as-of = \"9s\" }»\nat = \"9s\"",
            "a backup is made before it is put back: `as-of` is earlier than `at`",
        ),
        (
            "restore = «{ as-of = \"1s\" }»\nwhen = { client = \"A\", point = \"granted\" }",
            "a backup is put back at a moment that is known: `at = \"10s\"`",
        ),
    ] {
        let error =
            load("test.toml", &etcd(&what.replace(['«', '»'], "")), &[]).expect_err("it is refused").to_string();
        assert!(error.contains(message), "{error}");
    }
    refuse(
        &etcd("restore = { as-of = \"1s\", node = «\"etcd-2\"» }\nat = \"9s\""),
        "a member that forgets what it had told the others breaks what they rest on: all members are restored, or none (leave out `node`)",
    );
    refuse(
        &on("lock = \"redis\"", "restore = «{ as-of = \"1s\" }»\nat = \"9s\""),
        "this can never apply: these servers keep nothing on a disk (`persistence`)",
    );
    accept(&on(
        "lock = \"redis\"\nservice.redis.persistence = \"aof-always\"",
        "restore = { as-of = \"1s\" }\nat = \"9s\"",
    ));
}

#[test]
fn who_looks_for_the_wrong_role_is_told_the_right_one() {
    let text = |lock: &str, role: &str| {
        format!("{HEAD}lock = \"{lock}\"\n[client.A]\ndo = [\"acquire\"]\n[fault.f]\nkill = «\"{role}\"»\n")
    };
    for (lock, wrong, right) in [("etcd", "primary", "leader"), ("redis-sentinel", "leader", "primary")] {
        let error = refuse(&text(lock, wrong), &format!("this lock's servers have no {wrong}"));
        assert_eq!(error.help, Some(format!("they have a `{right}`")));
    }
    let text = text("kubernetes-lease", "leader").replace("lock =", "ttl = \"15s\"\nlock =");
    let error = refuse(&text, "`leader` is the member of the cluster that leads, and not who is elected by this lock");
    assert!(error.help.is_some_and(|help| help.contains("`holder`")));
}
