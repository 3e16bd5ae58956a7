//! Locks and their switches.

use models::lock::redlock::{Ask, MajorityToken};
use models::lock::switch::{Switch, Takes};
use models::lock::{LOCKS, Lock, LockFacts, RedissonLock, RedlockLock, Renew, Service, Stops, TtlClock};

use super::*;

/// A file with that lock, and one of its switches set, or none.
fn set(lock: &LockFacts, switch: &Switch, value: Option<&str>) -> String {
    let (name, path) = (lock.name, switch.path);
    // What is said of a renewal is said of one that there is.
    let base = if path.starts_with("renew.") && path != "renew.every" {
        format!("lock.{name}.renew.every = \"3s\"")
    } else if path == "wait.timeout" {
        format!("lock.{name}.wait.replicas = 1")
    } else if (name, path) == ("postgres", "on-timeout") {
        format!("lock.{name}.client-timeout = \"1s\"")
    } else if value.is_none() {
        format!("lock = \"{name}\"")
    } else {
        String::new()
    };
    let own = value.map(|value| format!("lock.{name}.{path} = \"{value}\"")).unwrap_or_default();
    top(&format!("{base}\n{own}"))
}

#[test]
fn every_switch_takes_its_words_and_the_first_is_what_holds_without() {
    for lock in LOCKS {
        for switch in lock.switches {
            let words = match switch.takes {
                Takes::Words(words) => words,
                Takes::Duration { .. } | Takes::Span { .. } => {
                    accept(&set(lock, switch, Some("4s")));
                    continue;
                }
                Takes::Number { least, most, .. } => {
                    for (number, fits) in [(least, true), (most, true), (most + 1, false)] {
                        let text = set(lock, switch, Some("0")).replace("\"0\"", &number.to_string());
                        assert_eq!(load("test.toml", &text, &[]).is_ok(), fits, "{text}");
                    }
                    continue;
                }
            };
            let read: Vec<Lock> = words.iter().map(|word| cell(&set(lock, switch, Some(word.name))).lock).collect();
            for (i, one) in read.iter().enumerate() {
                assert!(!read[..i].contains(one), "{} {} {}", lock.name, switch.path, words[i].name);
            }
            assert_eq!(cell(&set(lock, switch, None)).lock, read[0], "{} {}", lock.name, switch.path);
        }
    }
}

/// What must be said for that setting of servers to mean anything.
fn beside(service: &str, path: &str) -> &'static str {
    match (service, path) {
        ("postgres", "lag" | "synchronous") => "service.postgres.standbys = 1",
        ("postgres", "pooler.mode") => "service.postgres.pooler.size = 20",
        ("postgres", path) if path.starts_with("pooler.") => "service.postgres.pooler.mode = \"transaction\"",
        _ => "",
    }
}

#[test]
fn every_switch_of_a_server_takes_its_words() {
    for lock in LOCKS {
        for switch in lock.service {
            let (name, path) = (lock.service_name, switch.path);
            let beside = beside(name, path);
            let with = |setting: &str| cell(&top(&format!("lock = {:?}\n{beside}\n{setting}", lock.name))).service;
            let (set, without) = (|value: String| with(&format!("service.{name}.{path} = {value}")), with(""));
            match switch.takes {
                Takes::Words(words) => {
                    for word in words {
                        assert_eq!(
                            set(format!("{:?}", word.name)) == without,
                            *word == words[0],
                            "{path}: {}",
                            word.name
                        );
                    }
                }
                Takes::Duration { default, .. } | Takes::Span { default, .. } => {
                    assert_eq!(set(format!("{default:?}")), without, "{path}");
                    assert_ne!(set("\"7s\"".to_owned()), without, "{path}");
                }
                Takes::Number { default, .. } => {
                    assert_eq!(set(default.to_owned()), without, "{path}");
                    let other = match default {
                        "0" => "1",
                        "3" => "5",
                        _ => "3",
                    };
                    assert_ne!(set(other.to_owned()), without, "{path}");
                }
            }
            if beside.is_empty() {
                assert_eq!(without, Service::by_default(Some(name)), "{path}");
            }
        }
    }
    assert_eq!(cell(&top("lock = \"redis\"")).service, Service::default());
    let monotonic = cell(&top("lock = \"redis\"\nservice.redis.ttl-clock = \"monotonic\"")).service;
    assert_eq!(monotonic.redis().ttl_clock, TtlClock::Monotonic);
    suggest(
        &top("lock = \"redis\"\nservice.«redys» = {}"),
        "unknown word `redys`: the service is one of `redis`, `redis-sentinel`, `etcd`, `zookeeper`, `postgres`",
        "redis",
    );
    refuse(
        &top("lock = \"etcd\"\nservice.etcd.members = «2»"),
        "an even number of members bears no more deaths than one less: take 1, 3 or 5",
    );
    let lease = |ttl: &str| top(&format!("lock = {{ etcd = «{{}}» }}\nttl = \"{ttl}\""));
    refuse(&lease("none"), "this lock has a lease, always, and `ttl` is \"none\"");
    refuse(&lease("2500ms"), "this lock takes leases in whole seconds, and `ttl` is none such");
    refuse(
        &top("lock.etcd-key = { as = \"patroni\", «on-timeout» = \"go-on\" }"),
        "who polls is through with each try at once, and knows no timeout: `on-timeout` is for who watches",
    );
    for lock in ["zookeeper", "curator", "zookeeper-herd"] {
        refuse(
            &top(&format!("lock = {{ {lock} = «{{}}» }}\nttl = \"none\"")),
            "this lock hangs on a session, which ends, and `ttl` is \"none\"",
        );
    }
    let election = |keys: &str| top(&format!("ttl = \"15s\"\nlock.kubernetes-lease = «{{ {keys} }}»"));
    refuse(
        &election("renew-deadline = \"15s\""),
        "client-go wants a lease (`ttl`) that is longer than `renew-deadline`",
    );
    refuse(
        &election("retry-period = \"9s\""),
        "client-go wants a `renew-deadline` that is longer than 1.2 times `retry-period`",
    );
    refuse(&lease("1s"), "etcd raises leases of less than 2 s to 2 s, so that `ttl` would not be what it says");
}

#[test]
fn a_lock_on_several_servers_has_five_or_as_many_as_it_is_told() {
    let names = |service: &str| {
        let text = top(&format!("lock = \"redlock\"\n{service}")) + "[fault.f]\nkill = \"servers\"\n";
        let What::Kill(nodes) = cell(&text).faults.remove(0).what else { panic!("{text}") };
        nodes
    };
    assert_eq!(names(""), nodes(&["redis-1", "redis-2", "redis-3", "redis-4", "redis-5"]));
    assert_eq!(names("service.redis.nodes = 3"), nodes(&["redis-1", "redis-2", "redis-3"]));
    for bad in ["0", "10"] {
        let text = top(&format!("lock = \"redlock\"\nservice.redis.nodes = «{bad}»"));
        refuse(&text, &format!("{bad} lies outside 1 to 9"));
    }
    refuse(&top("lock = \"redis\"\nservice.redis.«nodes» = 3"), "this lock has one server, whatever `nodes` says");
    let own = |servers: &str| format!("{HEAD}lock = \"redlock\"\n[client.A]\nservers = {servers}\n");
    let list = cell(&own("[\"redis-4\", \"redis-1\"]")).clients.remove(0).servers;
    assert_eq!(list, Some(vec!["redis-4".to_owned(), "redis-1".to_owned()]), "in its own order");
    assert_eq!(cell(&own("\"servers\"")).clients.remove(0).servers.map(|list| list.len()), Some(5));
}

#[test]
fn a_library_decides_what_is_not_said() {
    let redlock = |keys: &str| match cell(&top(keys)).lock {
        Lock::Redlock(lock) => lock,
        other => panic!("{other:?}"),
    };
    let ms = host::Duration::from_millis;
    assert_eq!(redlock("lock = \"redlock\""), RedlockLock::default());
    let redsync = redlock("ttl = \"8s\"\nlock.redlock.as = \"redsync\"");
    assert_eq!((redsync.node_timeout, redsync.drift(ms(8_000))), (ms(400), ms(80)));
    let patient = redlock("lock.redlock = { as = \"redsync\", node-timeout = \"50ms\", drift = \"none\" }");
    assert_eq!((patient.node_timeout, patient.drift(ms(8_000)), patient.ask), (ms(50), ms(0), Ask::Parallel));
    let py = redlock("network = { call-timeout = \"3s\" }\nlock.redlock.as = \"redlock-py\"");
    assert_eq!(py.node_timeout, ms(3_000), "it has none of its own");
    refuse(&top("ttl = \"none\"\nlock = «\"redlock\"»"), "this lock has a lease, always, and `ttl` is \"none\"");
    let token = |resource: &str| redlock(&format!("resource = \"{resource}\"\nlock = \"redlock\"")).token;
    assert_eq!([token("open"), token("fence_rw")], [MajorityToken::None, MajorityToken::WriteBack]);
}

#[test]
fn every_setting_of_a_switch_is_explained_and_has_a_source() {
    for switch in LOCKS.iter().flat_map(|lock| lock.switches.iter().chain(lock.service)) {
        assert!(switch.about.ends_with('.'), "{}", switch.path);
        if let Takes::Words(words) = switch.takes {
            for word in words {
                assert!(!word.meaning.is_empty() && !word.meaning.ends_with('.'), "{}", word.name);
                assert!(!word.source.is_empty(), "{}", word.name);
            }
        }
    }
}

#[test]
fn what_means_nothing_is_refused() {
    refuse(
        &top("ttl = \"none\"\nlock.redis = { take = «\"set-then-expire\"» }"),
        "there is nothing that expires: `ttl` is \"none\"",
    );
    accept(&top("ttl = \"none\"\nlock.redis = { take = \"one-command\" }"));
    let always = "this lock has a lease, always, and `ttl` is \"none\"";
    refuse(&top("ttl = \"none\"\nlock = «\"redisson\"»"), always);
    let no_token = "the resource checks tokens, and this lock would give none: its operations would carry no token";
    refuse(&top("resource = \"fence_rw\"\nlock = «\"redisson\"»"), no_token);
    refuse(
        &top("lock.redisson = { «token» = \"none\" }"),
        "unknown field `token`, expected one of `resend`, `waits`, `order`, `told`, `slot`, `renew`",
    );
}

#[test]
fn redisson_renews_every_third_of_its_lease_unless_it_is_told_otherwise() {
    let renew = |keys: &str| match cell(&top(keys)).lock {
        Lock::Redisson(RedissonLock { renew, .. }) => renew,
        other => panic!("{other:?}"),
    };
    let every = |ms| Renew::every(host::Duration::from_millis(ms));
    assert_eq!(renew("lock = \"redisson\"\nttl = \"30s\""), every(10_000));
    assert_eq!(renew("lock.redisson.renew.every = \"2s\""), every(2_000));
    let stops = Renew { stops: Stops::AfterRelease, ..every(1_000) };
    assert_eq!(renew("ttl = \"3s\"\nlock.redisson.renew.stops = \"after-release\""), stops);
}

#[test]
fn what_a_lock_sends_and_where_it_passes_follows_from_how_it_is_set() {
    let fault = |lock: &str, fault: &str| {
        top(lock).replace("[client.A]\n[client.B]\n", &format!("[client.A]\n[client.B]\n[fault.f]\n{fault}\n"))
    };
    let never = |name: &str| format!("this can never apply: no such client ever sends `{name}`");
    let (plain, two_steps) = ("lock = \"redis\"", "lock.redis.release = \"check-then-delete\"");
    refuse(&fault(plain, "drop = { request = «\"get\"» }"), &never("get"));
    accept(&fault(two_steps, "drop = { request = \"get\" }"));
    let pause = |point: &str| format!("pause = \"A\"\nwhen = {{ client = \"A\", point = {point} }}\nfor = \"1s\"");
    refuse(&fault(plain, &pause("«\"redis:read\"»")), "client `A` never reaches the point `redis:read` in this cell");
    accept(&fault(two_steps, &pause("\"redis:read\"")));
    accept(&fault("lock.redis.token = \"incr-before-set\"", &pause("\"redis:counted\"")));
    accept(&fault("lock.redis.take = \"set-then-expire\"", &pause("\"redis:taken\"")));
    refuse(
        &fault("lock.redis.extend = \"release-then-take\"", &pause("«\"redis:dropped\"»")),
        "client `A` never reaches the point `redis:dropped` in this cell",
    );
    let renewed = "lock.redis.extend = \"release-then-take\"\nlock.redis.renew.every = \"1s\"";
    accept(&fault(renewed, &pause("\"redis:dropped\"")));
}

#[test]
fn a_role_may_be_any_client_each_with_a_lock_of_its_own() {
    let mixed = |own: &str, fault: &str| {
        let fault = format!("[fault.f]\n{fault}\nwhen = {{ point = \"granted\" }}\n");
        top("lock = \"redis\"").replace("[client.B]\n", &format!("[client.B]\n{own}\n{fault}"))
    };
    let step = |node: &str| format!("step-clock = {{ node = {node}, by = \"-1s\" }}");
    let (wall, boot) = ("lock.redis.clock = \"wall\"", "lock.redis.clock = \"boottime\"");
    let never = |clock: &str| {
        format!("this can never apply: a client counts its lease on its {clock} clock, which never steps")
    };
    accept(&mixed(wall, &step("\"holder\"")));
    refuse(&mixed(boot, &step("«\"holder\"»")), &never("monotonic"));
    refuse(&mixed(boot, &step("«\"B\"»")), &never("boot-time"));
    refuse(&mixed(wall, &step("«\"A\"»")), &never("monotonic"));
    let stall = |part: &str| format!("stall = {part}\nfor = \"1s\"");
    accept(&mixed("lock.redis.renew.every = \"1s\"", &stall("\"holder/renewal\"")));
    refuse(
        &mixed("", &stall("«\"holder/renewal\"»")),
        "this lock does not renew in the background, so there is no part `renewal`",
    );
    // What one client's lock sends, and where it passes, can be meant of that one and of a role.
    let two_steps = "lock.redis.release = \"check-then-delete\"";
    let drops = |of: &str| format!("drop = {{ request = \"get\", of = \"{of}\" }}");
    accept(&mixed(two_steps, &drops("holder")));
    accept(&mixed(two_steps, &drops("B")));
    let never = "this can never apply: no such client ever sends `get`";
    refuse(&mixed(two_steps, &drops("A").replace("\"get\"", "«\"get\"»")), never);
    accept(&mixed(two_steps, "pause = \"A\"\nfor = \"1s\"").replace("point = \"granted\"", "point = \"redis:read\""));
}

#[test]
fn redisson_s_waiters_have_a_queue_and_hear_of_releases_if_they_are_told_to() {
    let redisson = |switches: &str, fault: &str| {
        let fault = format!("[client.B]\n[fault.f]\n{fault}\n");
        top(&format!("lock.redisson = {{ {switches} }}")).replace("[client.B]\n", &fault)
    };
    let drop = |what: &str| format!("drop = {{ {what} }}");
    accept(&redisson("", &drop("push = \"message\", of = \"B\"")));
    refuse(
        &redisson("waits = \"retry\"", &drop("«push» = \"message\"")),
        "this can never apply: no server of this lock pushes anything",
    );
    refuse(&redisson("", &drop("push = «\"set\"»")), "unknown word `set`: what is pushed is `message`");
    let never = |name: &str| format!("this can never apply: no such client ever sends `{name}`");
    refuse(&redisson("", &drop("request = «\"leave\"»")), &never("leave"));
    accept(&redisson("order = \"queue\"", &drop("request = \"leave\"")));
    refuse(&redisson("waits = \"retry\"", &drop("request = «\"subscribe\"»")), &never("subscribe"));
}

#[test]
fn on_the_clock_of_a_database_waits_are_counted_and_leases_if_it_is_asked() {
    let step =
        |lock: &str, node: &str| top(&format!("{lock}\n[fault.f]\nstep-clock = {{ node = {node}, by = \"1s\" }}"));
    accept(&step("lock = \"postgres\"\nttl = \"none\"", "\"pg-1\""));
    accept(&step("lock.lease-row.clock = \"store\"", "\"pg-1\""));
    let never =
        "this can never apply: this lock's leases are counted by its clients alone: no server reads a clock for them";
    for clock in ["client", "observed"] {
        refuse(&step(&format!("lock.lease-row.clock = \"{clock}\""), "«\"pg-1\"»"), never);
    }
}

#[test]
fn what_cannot_be_of_postgresql_is_refused() {
    let servers = |keys: &str| top(&format!("lock = \"postgres\"\nservice.postgres.{keys}"));
    refuse(
        &servers("synchronous = «\"standby\"»"),
        "there is no standby to wait for: `standbys = 1`, or every commit waits for ever",
    );
    refuse(&servers("«lag» = \"1s\""), "there is no standby that could lag: `standbys = 1`");
    refuse(&servers("keepalive.idle = «\"1500ms\"»"), "this is taken in whole seconds");
    refuse(&servers("deadlock-timeout = «\"0s\"»"), "a duration of zero does nothing here");
    refuse(&servers("lock-timeout = «\"1500us\"»"), "PostgreSQL takes this in whole milliseconds");
    let lock = |keys: &str| top(&format!("lock.postgres = {{ {keys} }}"));
    refuse(
        &lock("wait = \"poll\", «lock-timeout» = \"1s\""),
        "who polls never waits for a lock in the server: there is nothing to time out",
    );
    refuse(
        &lock("«on-timeout» = \"returned\""),
        "this program waits as long as it takes: `on-timeout` is for who has a `client-timeout`",
    );
    refuse(
        &lock("scope = \"transaction\", «heartbeat» = \"1s\", on-loss = \"reconnect\""),
        "a transaction does not go on in another session: `on-loss = \"error\"`",
    );
    refuse(
        &lock("scope = \"transaction\", client-timeout = \"1s\", on-timeout = \"returned\", «pool» = 2"),
        "what goes back to a pool is in no transaction: `scope = \"session\"`",
    );
    refuse(
        &top("resource = \"fence_rw\"\nlock.postgres = { token = «\"none\"» }"),
        "the resource checks tokens, and this lock would give none: its operations would carry no token",
    );
}
