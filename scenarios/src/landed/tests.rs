//! Near misses: each fault where it hits something in use, and just beside it.

use crate::language::load;
use crate::{Contender, Player};

const A_HOLDS: &str = "[client.A]\ndo = [\"acquire\", \"hold\"]\n";
const A_WORKS_FOR_5_S: &str = "[client.A]\ndo = [\"acquire\", { sleep = \"5s\" }, \"release\", { sleep = \"10s\" }]\n";
/// Its section is over at once, and its lease is left to run out at 10 s.
const A_LEAVES_ITS_LEASE: &str = "[client.A]\ndo = [\"acquire\"]\n[client.B]\ndo = [{ at = \"20s\" }, \"acquire\"]\n";
const RENEWED: &str = "[lock.redis]\nrenew = { every = \"3s\" }\n";

/// Whether the fault `f` landed in that world.
#[track_caller]
fn lands(world: &str, fault: &str) -> bool {
    let lock = if world.contains("[lock") { "" } else { "lock = \"redis\"\n" };
    let text = format!(
        "name = \"landed\"\ntitle = \"landed\"\nsource = \"own\"\nhorizon = \"40s\"\n{lock}{world}\n[fault.f]\n{fault}"
    );
    let scenario = load("landed.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let contender = Contender::built_in(&scenario.cells[0].lock);
    let player = Player::new(&scenario.cells[0], &contender);
    let run = player.play(0);
    let f = player.fault_names().position(|name| name == "f").expect("the fault is there");
    assert!(run.strikes.iter().any(|strike| strike.fault == f), "it strikes");
    run.landed[f]
}

#[track_caller]
fn all_land(world: &str, faults: &[&str]) {
    for fault in faults {
        assert!(lands(world, fault), "{fault}");
    }
}

#[track_caller]
fn none_lands(world: &str, faults: &[&str]) {
    for fault in faults {
        assert!(!lands(world, fault), "{fault}");
    }
}

/// `what` at a milestone of A's.
fn at_point(what: &str, point: &str, length: &str) -> String {
    format!("{what}\nwhen = {{ client = \"A\", point = \"{point}\" }}\nfor = \"{length}\"")
}

#[test]
fn an_attempt_is_open_from_its_first_milestone_to_just_before_its_last() {
    for point in ["attempting", "owner", "granted", "ended", "releasing"] {
        assert!(lands(A_WORKS_FOR_5_S, &at_point("pause = \"A\"", point, "1s")), "{point}");
    }
    for point in ["started", "released"] {
        assert!(!lands(A_WORKS_FOR_5_S, &at_point("pause = \"A\"", point, "1s")), "{point}");
    }
}

#[test]
fn a_pause_that_ends_as_the_attempt_begins_has_missed_it() {
    let world = "[client.A]\ndo = [{ at = \"2s\" }, \"acquire\", \"release\"]\n";
    none_lands(world, &["pause = \"A\"\nat = \"1s\"\nfor = \"500ms\"", "pause = \"A\"\nat = \"1s\"\nfor = \"1500ms\""]);
}

#[test]
fn between_two_tries_nothing_is_open() {
    let world = format!("{A_HOLDS}[client.B]\nretry = {{ delay = \"1s\" }}\ndo = [{{ at = \"1s\" }}, \"acquire\"]\n");
    let denied = |plus: &str, length: &str| {
        let when = format!("when = {{ client = \"B\", point = \"denied\", plus = \"{plus}\" }}");
        lands(&world, &format!("pause = \"B\"\n{when}\nfor = \"{length}\""))
    };
    assert!(!denied("100ms", "200ms"));
    assert!(denied("1001ms", "200ms"), "just after the next try has begun");
}

#[test]
fn with_its_client_an_attempt_is_over() {
    let world = format!(
        "{A_HOLDS}[client.B]\ndo = [{{ at = \"20s\" }}, \"acquire\"]\n[fault.death]\nkill = \"A\"\nat = \"1s\"\n"
    );
    none_lands(
        &world,
        &[
            "pause = \"A\"\nat = \"5s\"\nfor = \"1s\"",
            "kill = \"A\"\nat = \"5s\"\nfor = \"1s\"",
            "pause = \"redis-1\"\nat = \"5s\"\nfor = \"1s\"",
        ],
    );
    assert!(lands(A_HOLDS, "kill = \"A\"\nat = \"1s\""), "the kill that ends it has hit it");
}

#[test]
fn a_server_is_in_use_while_what_it_served_is_open() {
    let pause = |at: &str| format!("pause = \"redis-1\"\nat = \"{at}\"\nfor = \"1s\"");
    all_land(A_WORKS_FOR_5_S, &[&pause("2s")]);
    none_lands(A_WORKS_FOR_5_S, &[&pause("6s"), &at_point("kill = \"redis-1\"", "released", "10ms")]);
    let resource = "pause = \"resource\"\nat = \"2s\"\nfor = \"1s\"";
    assert!(!lands(A_WORKS_FOR_5_S, resource), "A never spoke to it");
    assert!(lands("[client.A]\ndo = [\"acquire\", \"read\", { sleep = \"5s\" }, \"release\"]\n", resource));
}

#[test]
fn the_memory_of_a_server_is_in_use_while_it_keeps_a_lease_and_no_longer() {
    let kill = |at: &str| format!("kill = \"redis-1\"\nat = \"{at}\"\nfor = \"10ms\"");
    all_land(A_LEAVES_ITS_LEASE, &[&kill("5s")]);
    none_lands(A_LEAVES_ITS_LEASE, &[&kill("15s")]);
    assert!(!lands(A_LEAVES_ITS_LEASE, "pause = \"redis-1\"\nat = \"5s\"\nfor = \"1s\""), "a pause takes no memory");
}

#[test]
fn a_counter_of_tokens_is_in_use_from_the_first_one_on() {
    let kill = "kill = \"redis-1\"\nat = \"8s\"\nfor = \"10ms\"";
    assert!(!lands(A_WORKS_FOR_5_S, kill));
    assert!(lands(&format!("resource = \"fence_rw\"\n{A_WORKS_FOR_5_S}"), kill));
    let later = "resource = \"fence_rw\"\n[client.A]\ndo = [{ at = \"9s\" }, \"acquire\", \"release\"]\n";
    assert!(!lands(later, kill));
}

#[test]
fn a_server_that_is_dead_when_it_is_wanted_is_hit() {
    let world = "[client.A]\ndo = [{ at = \"2s\" }, { acquire = { wait = \"0s\" } }, \"read\", \"release\"]\n";
    let kill = |what: &str, node: &str, at: &str| format!("{what} = \"{node}\"\nat = \"{at}\"\nfor = \"1s\"");
    for what in ["kill", "power-off"] {
        all_land(world, &[&kill(what, "redis-1", "1500ms"), &kill(what, "resource", "1500ms")]);
        none_lands(world, &[&kill(what, "redis-1", "500ms"), &kill(what, "resource", "500ms")]);
        none_lands(world, &[&kill(what, "redis-1", "3s"), &kill(what, "resource", "3s")]);
    }
    // It speaks to the resource within its lease, but not while that is dead.
    let silent = "[client.A]\ndo = [\"acquire\", { sleep = \"5s\" }, \"read\", \"release\"]\n";
    assert!(!lands(silent, &kill("kill", "resource", "2s")));
}

#[test]
fn a_dead_standby_is_missed_by_a_commit_that_waits_for_it() {
    let world = |lock: &str, synchronous: &str| {
        format!(
            "ttl = \"none\"\n[lock.{lock}]\n[service.postgres]\nstandbys = 1\nsynchronous = \"{synchronous}\"\n{A_WORKS_FOR_5_S}"
        )
    };
    for what in ["kill", "shutdown", "power-off"] {
        let dies = |at: &str| format!("{what} = \"standby-1\"\nat = \"{at}\"");
        // Its transaction commits at 5 s.
        assert!(lands(&world("postgres-row", "standby"), &dies("3s")), "{what}");
        assert!(!lands(&world("postgres-row", "standby"), &dies("6s")), "{what}: all is committed");
        // To one whose machine is off the log is sent, and meets it.
        let is_sent = what == "power-off";
        assert_eq!(lands(&world("postgres-row", "local"), &dies("3s")), is_sent, "{what}: nobody waits for it");
        assert!(!lands(&world("postgres", "standby"), &dies("3s")), "{what}: an advisory lock is not written down");
    }
}

#[test]
fn a_step_hits_a_lease_that_lives() {
    let step = |at: &str| format!("step-clock = {{ node = \"redis-1\", by = \"+10s\" }}\nat = \"{at}\"");
    // The server keeps the key until 10.0 s, longer than it was promised.
    all_land(A_LEAVES_ITS_LEASE, &[&step("5s"), &step("9950ms")]);
    none_lands(A_LEAVES_ITS_LEASE, &[&step("1ms"), &step("10050ms"), &step("15s")]);
    none_lands(A_WORKS_FOR_5_S, &[&step("6s")]);
    let made = "step-clock = { node = \"redis-1\", by = \"+10s\" }\nwhen = { client = \"A\", point = \"owner\" }";
    assert!(lands(A_LEAVES_ITS_LEASE, made), "in the instant in which the key is made");
    let after = |fault: &str| format!("{A_LEAVES_ITS_LEASE}[fault.e]\n{fault}");
    let earlier_step = after("step-clock = { node = \"redis-1\", by = \"+20s\" }\nat = \"2s\"\n");
    let amnesia = after("kill = \"redis-1\"\nat = \"2s\"\nfor = \"10ms\"\n");
    none_lands(&earlier_step, &[&step("3s")]);
    none_lands(&amnesia, &[&step("3s")]);
    let set_back = after("step-clock = { node = \"redis-1\", by = \"-10s\" }\nat = \"2s\"\n");
    all_land(&set_back, &[&step("15s")]);
}

#[test]
fn a_step_hits_a_promise_that_is_counted_on_the_wall_clock() {
    let step = |at: &str| format!("step-clock = {{ node = \"A\", by = \"-1s\" }}\nat = \"{at}\"");
    let world = format!("{A_WORKS_FOR_5_S}[lock.redis]\nclock = \"wall\"\n");
    all_land(&world, &[&step("2s")]);
    none_lands(&world, &[&step("6s")]);
}

#[test]
fn a_step_of_the_clock_of_a_server_of_sessions_hits_who_waits_and_what_is_idle() {
    let step = |at: &str| format!("step-clock = {{ node = \"pg-1\", by = \"1h\" }}\nat = \"{at}\"");
    let b_waits = "[client.B]\ndo = [{ at = \"2s\" }, \"acquire\", \"release\"]\n";
    let world = |keys: &str, b: &str| format!("ttl = \"none\"\n[lock.postgres]\n{keys}\n{A_WORKS_FOR_5_S}{b}");
    all_land(&world("", b_waits), &[&step("3s")]);
    none_lands(&world("", b_waits), &[&step("1s"), &step("7s")]);
    none_lands(&world("wait = \"poll\"", b_waits), &[&step("3s")]);
    none_lands(&world("", ""), &[&step("3s")]);
    all_land(&world("[service.postgres]\nidle-session-timeout = \"20s\"", ""), &[&step("3s")]);
}

#[test]
fn the_death_of_a_pooler_hits_the_sessions_that_go_through_it() {
    let pooled = |b: &str| {
        format!("ttl = \"none\"\n[lock.postgres]\n[service.postgres.pooler]\nmode = \"session\"\n{A_WORKS_FOR_5_S}{b}")
    };
    for what in ["kill", "shutdown"] {
        let dies = |at: &str| format!("{what} = \"pgbouncer-1\"\nat = \"{at}\"\nfor = \"1s\"");
        assert!(lands(&pooled(""), &dies("3s")), "{what}: A's session has the lock");
        assert!(!lands(&pooled(""), &dies("7s")), "{what}: A is through");
    }
}

#[test]
fn a_promotion_hits_whoever_asks_later_where_owners_are_sessions() {
    let standby = "[service.postgres]\nstandbys = 1\n";
    let promote = |at: &str| format!("promote = \"standby-1\"\nat = \"{at}\"");
    let world = format!("ttl = \"none\"\n[lock.postgres]\n{standby}{A_WORKS_FOR_5_S}");
    assert!(lands(&world, &promote("3s")), "A has it");
    assert!(!lands(&world, &promote("8s")), "all is over");
    let later = "[client.B]\ndo = [{ at = \"9s\" }, \"acquire\", \"release\"]\n";
    assert!(lands(&format!("{world}{later}"), &promote("8s")), "B asks");
}

#[test]
fn a_step_of_a_standby_hits_the_leases_that_it_takes_over() {
    let holds = "[lock.lease-row]\nclock = \"store\"\n[service.postgres]\nstandbys = 1\n[client.A]\ndo = [\"acquire\", \"hold\"]\n";
    let step = "step-clock = { node = \"standby-1\", by = \"1s\" }\nat = \"2s\"";
    let promoted = format!("{holds}[fault.up]\npromote = \"standby-1\"\nat = \"5s\"\n");
    assert!(lands(&promoted, step));
    assert!(!lands(holds, step), "nobody asks it");
}

#[test]
fn a_step_of_a_client_s_clock_hits_who_asks_after_it() {
    let step = |at: &str| format!("step-clock = {{ node = \"A\", by = \"-20s\" }}\nat = \"{at}\"");
    let world = |again: &str| {
        format!(
            "[lock.lease-row]\nclock = \"client\"\n[client.A]\ndo = [\"acquire\", {{ sleep = \"8s\" }}, \"release\"{again}]\n\
                 [client.B]\ndo = [{{ at = \"1s\" }}, \"acquire\", {{ sleep = \"3s\" }}, \"release\"]\n"
        )
    };
    assert!(!lands(&world(""), &step("2s")), "A reads no clock for it");
    assert!(lands(&world(", \"acquire\", \"release\""), &step("2s")), "it asks again");
}

#[test]
fn a_rate_hits_a_lease_on_the_server_and_a_promise_on_the_client() {
    let rate = |node: &str, at: &str| {
        format!("clock-rate = {{ node = \"{node}\", ppm = 100 }}\nat = \"{at}\"\nfor = \"10ms\"")
    };
    all_land(A_LEAVES_ITS_LEASE, &[&rate("redis-1", "5s"), &rate("A", "5s"), &rate("redis-1", "9950ms")]);
    none_lands(A_LEAVES_ITS_LEASE, &[&rate("A", "9950ms"), &rate("redis-1", "15s"), &rate("A", "15s")]);
    none_lands(A_WORKS_FOR_5_S, &[&rate("A", "6s")]);
    let lapsed = "[client.A]\npolicy = \"naive\"\ndo = [\"acquire\", { sleep = \"20s\" }, \"release\"]\n";
    none_lands(lapsed, &[&rate("A", "12s")]);
    none_lands(&format!("ttl = \"none\"\n{A_WORKS_FOR_5_S}"), &[&rate("A", "2s")]);
    let at_once = "[client.A]\ndo = [\"acquire\", \"release\"]\n";
    assert!(lands(at_once, &at_point("clock-rate = { node = \"A\", ppm = 100 }", "granted", "1s")));
    assert!(!lands(at_once, &at_point("clock-rate = { node = \"A\", ppm = 100 }", "released", "1s")));
}

#[test]
fn a_machine_that_stands_still_takes_its_clocks_with_it() {
    // A's section is over, its promise is not.
    all_land(A_LEAVES_ITS_LEASE, &["machine-sleep = \"A\"\nat = \"5s\"\nfor = \"1s\""]);
    all_land(A_LEAVES_ITS_LEASE, &["vm-stop = \"A\"\nat = \"5s\"\nfor = \"1s\""]);
    all_land(A_LEAVES_ITS_LEASE, &["vm-stop = \"redis-1\"\nat = \"5s\"\nfor = \"1s\""]);
    // A lease is counted on the wall clock, which runs on in sleep.
    none_lands(A_LEAVES_ITS_LEASE, &["machine-sleep = \"redis-1\"\nat = \"5s\"\nfor = \"1s\""]);
    none_lands(A_LEAVES_ITS_LEASE, &["vm-stop = \"redis-1\"\nat = \"15s\"\nfor = \"1s\""]);
    none_lands(A_LEAVES_ITS_LEASE, &["machine-sleep = \"A\"\nat = \"15s\"\nfor = \"1s\""]);
}

#[test]
fn a_throttle_hits_what_is_open_while_the_process_stands() {
    let throttle =
        |at: &str| format!("throttle = {{ node = \"A\", run = \"1s\", stop = \"1s\" }}\nat = \"{at}\"\nfor = \"3s\"");
    all_land(A_WORKS_FOR_5_S, &[&throttle("2s")]);
    // It first stands at 5.5 s, when A is through.
    none_lands(A_WORKS_FOR_5_S, &[&throttle("4500ms")]);
}

#[test]
fn the_stall_of_a_renewal_needs_a_lease_to_renew() {
    let world = format!("{A_WORKS_FOR_5_S}[client.B]\ndo = [{{ at = \"1s\" }}, \"acquire\"]\n{RENEWED}");
    let stall = |part: &str, at: &str| format!("stall = \"{part}\"\nat = \"{at}\"\nfor = \"2s\"");
    all_land(&world, &[&stall("A/renewal", "2s"), &stall("A/worker", "2s")]);
    // B waits until 5 s; A is through then.
    none_lands(&world, &[&stall("B/renewal", "2s"), &stall("A/renewal", "6s")]);
    // It is over as soon as one fails: at 4 s, when the answer to that of 3 s is given up.
    let failed = format!("{world}[fault.lost]\ndrop = {{ request = \"renew\" }}\n");
    all_land(&failed, &[&stall("A/renewal", "3500ms")]);
    none_lands(&failed, &[&stall("A/renewal", "4500ms")]);
}

#[test]
fn a_shutdown_hits_what_a_kill_would_hit() {
    let shutdown = |at: &str| format!("shutdown = \"redis-1\"\nat = \"{at}\"\nfor = \"10ms\"");
    all_land(A_LEAVES_ITS_LEASE, &[&shutdown("5s")]);
    none_lands(A_LEAVES_ITS_LEASE, &[&shutdown("15s")]);
}

#[test]
fn an_eviction_hits_a_key_that_is_there() {
    let evict = |key: &str, at: &str| format!("evict = {{ key = \"{key}\" }}\nat = \"{at}\"");
    all_land(A_LEAVES_ITS_LEASE, &[&evict("orders", "5s"), &evict("orders", "9950ms")]);
    none_lands(A_LEAVES_ITS_LEASE, &[&evict("orders", "1ms"), &evict("orders", "15s")]);
    let two = "[client.A]\ndo = [\"acquire\", \"hold\"]\n[client.B]\ndo = [{ at = \"20s\" }, { acquire = { key = \"stock\" } }]\n";
    all_land(two, &[&evict("orders", "5s"), &evict("stock", "25s")]);
    none_lands(two, &[&evict("stock", "5s"), &evict("orders", "25s")]);
    let fenced = format!("resource = \"fence_rw\"\n{A_LEAVES_ITS_LEASE}");
    all_land(&fenced, &[&evict("token", "5s"), &evict("token", "15s")]);
    none_lands(&fenced, &[&evict("token", "1ms"), &evict("orders", "15s")]);
}

#[test]
fn a_shortage_hits_a_server_that_is_in_use() {
    let short =
        |at: &str| format!("disk = {{ node = \"redis-1\", fails = \"out-of-memory\" }}\nat = \"{at}\"\nfor = \"1s\"");
    all_land(A_WORKS_FOR_5_S, &[&short("2s")]);
    none_lands(A_WORKS_FOR_5_S, &[&short("6s")]);
    all_land(A_LEAVES_ITS_LEASE, &[&short("19500ms")]);
    none_lands(A_LEAVES_ITS_LEASE, &[&short("15s")]);
}

#[test]
fn a_slow_disk_hits_a_sync() {
    let slow = |at: &str| format!("disk = {{ node = \"resource\", slow = \"10ms\" }}\nat = \"{at}\"\nfor = \"1s\"");
    let world = "[client.A]\ndo = [\"acquire\", { sleep = \"2s\" }, \"write\", { sleep = \"2s\" }, \"read\"]\n";
    all_land(world, &[&slow("1500ms")]);
    none_lands(world, &[&slow("500ms"), &slow("3500ms")]);
}

#[test]
fn a_half_open_connection_was_open() {
    let half = |at: &str| format!("half-open = {{ forgets = \"redis-1\", believes = \"A\" }}\nat = \"{at}\"");
    all_land(A_WORKS_FOR_5_S, &[&half("2s")]);
    // Clients are connected from the start to their end.
    let over = "[client.A]\ndo = [\"acquire\", \"release\"]\n[client.B]\ndo = [{ at = \"5s\" }, \"acquire\"]\n";
    none_lands(over, &[&half("2s")]);
}

#[test]
fn a_link_fault_needs_a_message() {
    let cut = |link: &str, at: &str| format!("cut = {{ {link} }}\nat = \"{at}\"\nfor = \"1s\"");
    let (redis, resource) = ("between = [\"A\", \"redis-1\"]", "between = [\"A\", \"resource\"]");
    let world = "[client.A]\ndo = [\"acquire\", \"read\", { sleep = \"5s\" }, \"release\", { sleep = \"10s\" }]\n";
    all_land(world, &[&cut(redis, "4500ms")]);
    none_lands(world, &[&cut(redis, "2s"), &cut(redis, "6s"), &cut(resource, "4500ms")]);
}

#[test]
fn a_cancel_lands_while_its_caller_acquires_or_waits_to_try_again() {
    let cancel = |when: &str| format!("cancel = \"B\"\n{when}");
    let world = format!("{A_WORKS_FOR_5_S}[client.B]\ndo = [{{ at = \"1s\" }}, \"acquire\", {{ sleep = \"1s\" }}]\n");
    let point = |point: &str| cancel(&format!("when = {{ client = \"B\", point = \"{point}\" }}"));
    for when in [cancel("at = \"1100ms\""), cancel("at = \"2s\""), point("attempting"), point("denied"), point("owner")]
    {
        assert!(lands(&world, &when), "{when}");
    }
    for when in [cancel("at = \"500ms\""), cancel("at = \"6s\""), point("granted"), point("started")] {
        assert!(!lands(&world, &when), "{when}");
    }
}

#[test]
fn a_clock_on_which_a_machine_waits_for_a_restart_is_in_use() {
    let kill = |clock: &str| {
        format!(
            "[client.A]\ndo = [{{ at = \"9s\" }}, \"acquire\", \"release\"]\n[fault.k]\nkill = \"redis-1\"\nat = \"1s\"\nfor = \"4s\"\n{clock}"
        )
    };
    let jump = |at: &str| format!("step-clock = {{ node = \"redis-1\", by = \"1s\" }}\nat = {at:?}");
    assert!(lands(&kill("on-clock = \"wall\""), &jump("2s")));
    assert!(lands(&kill("on-clock = \"monotonic\""), &jump("2s")), "the twin's hit the same, to no effect");
    assert!(!lands(&kill("on-clock = \"wall\""), &jump("500ms")), "it lives");
    assert!(!lands(&kill("on-clock = \"wall\""), &jump("7s")), "it is back");
    assert!(!lands(&kill(""), &jump("2s")), "no clock of its own brings it back");
}

#[test]
fn what_strikes_any_member_strikes_the_cluster_and_members_that_talk_are_no_use_of_it() {
    let cluster = "[lock.etcd]\n[client.A]\ndo = [{ at = \"5s\" }, \"acquire\", { sleep = \"5s\" }, \"release\", { at = \"30s\" }, { sleep = \"1s\" }]\n";
    let struck = |what: &str, at: &str| format!("{what}\nat = \"{at}\"\nfor = \"500ms\"");
    for what in ["kill = \"leader\"", "pause = \"leader\"", "pause = \"etcd-3\"", "kill = \"etcd-2\""] {
        all_land(cluster, &[&struck(what, "7s")]);
        none_lands(cluster, &[&struck(what, "3s"), &struck(what, "20s")]);
    }
}

#[test]
fn a_backup_knows_of_no_session() {
    let restore = |lock: &str, when: &str| {
        let world = format!("[lock.{lock}]\n{A_WORKS_FOR_5_S}");
        lands(&world, &format!("restore = {{ as-of = \"1s\" }}\nat = \"{when}\"\nfor = \"1s\""))
    };
    assert!(restore("postgres", "2s"), "its session had the lock");
    assert!(!restore("postgres", "7s"), "it has given it back");
    let aof = "[lock.redis]\n[service.redis]\npersistence = \"aof-always\"\n";
    let restored = |at: &str| format!("restore = {{ as-of = \"{at}\" }}\nat = \"2s\"\nfor = \"1s\"");
    assert!(!lands(&format!("{aof}{A_WORKS_FOR_5_S}"), &restored("1s")), "the backup has its key");
    assert!(lands(&format!("{aof}{A_WORKS_FOR_5_S}"), &restored("0s")), "the backup is of before");
}
