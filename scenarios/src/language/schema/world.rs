//! Values, and the world: lock, servers, resource, network, clocks.

use models::guard::{Act, Guard, Max, Reach};
use models::lock::switch::{Switch, Takes};
use models::lock::{LOCKS, LockFacts};

use super::super::store::PLACES;
use super::json::{Json, any_of, described, integer, list, object, one_key, pattern, reference, string, truth, words};
use crate::profile::Profile;

pub(super) fn duration() -> Json {
    pattern("One whole number and one unit of ns us ms s min h, as in \"1500ms\".", "^[0-9]+(ns|us|ms|s|min|h)$")
}

pub(super) fn signed_duration() -> Json {
    pattern("A duration with or without a sign, as in \"-10s\".", "^[+-]?[0-9]+(ns|us|ms|s|min|h)$")
}

pub(super) fn span() -> Json {
    let (from, to) = (reference("duration"), reference("duration"));
    let pareto = vec![
        ("min", described("The least.", reference("duration"))),
        (
            "alpha",
            pattern("The exponent, as in \"1.2\": the smaller, the longer the tail.", "^[0-9]+(\\.[0-9]{1,3})?$"),
        ),
        ("cap", described("The most.", reference("duration"))),
    ];
    any_of(
        "A duration, or a distribution from which it is drawn anew each time.",
        [
            reference("duration"),
            object("Uniform.", vec![("from", from), ("to", to)]),
            object("Exponential.", vec![("mean", reference("duration"))]),
            object("Pareto.", vec![("pareto", object("Pareto.", pareto))]),
        ],
    )
}

pub(super) fn name(what: &str) -> Json {
    pattern(what, "^[a-z0-9]+(-[a-z0-9]+)*$")
}

pub(super) fn nodes() -> Json {
    any_of(
        "Nodes: A, worker-1, redis-1, resource; groups clients, servers, replicas, sentinels; roles holder, primary, leader, any.",
        [string(""), list("", string(""))],
    )
}

pub(super) fn profile() -> Json {
    words("Latencies and faults drawn from what such an environment does.", Profile::ALL.map(Profile::name))
}

pub(super) fn ttl() -> Json {
    let none = words("", ["none"]);
    any_of("The length of the lease; none: it does not expire. Default: 10s.", [reference("duration"), none])
}

pub(super) fn lock() -> Json {
    let switches = |lock: &'static LockFacts| (lock.name, of_switches(lock.title, lock.switches.iter().collect()));
    let names = words("", LOCKS.iter().map(|lock| lock.name));
    any_of("The lock: a recipe, with its switches.", [names, one_key("", LOCKS.iter().map(switches).collect())])
}

pub(super) fn service() -> Json {
    // What can be set about the servers of some lock can, for one with fewer switches, not be set at all.
    let mut services: Vec<(&'static str, Vec<&'static Switch>)> = Vec::new();
    for lock in LOCKS.iter().filter(|lock| !lock.service.is_empty()) {
        match services.iter_mut().find(|(name, _)| *name == lock.service_name) {
            Some((_, all)) => {
                let more = lock.service.iter().filter(|switch| all.iter().all(|other| other.path != switch.path));
                let more: Vec<_> = more.collect();
                all.extend(more);
            }
            None => services.push((lock.service_name, lock.service.iter().collect())),
        }
    }
    let described = |(name, switches)| (name, of_switches("Its lock servers.", switches));
    one_key("How the lock servers are set.", services.into_iter().map(described).collect())
}

/// A table of switches; those with a dot in their path are below one another.
fn of_switches(what: &str, switches: Vec<&'static Switch>) -> Json {
    let mut keys: Vec<(&'static str, Json)> = Vec::new();
    for switch in &switches {
        let Some((section, _)) = switch.path.split_once('.') else {
            keys.push((switch.path, of_switch(switch)));
            continue;
        };
        if keys.iter().all(|(key, _)| *key != section) {
            let below = switches.iter().filter_map(|switch| {
                let (own, key) = switch.path.split_once('.')?;
                (own == section).then(|| (key, of_switch(switch)))
            });
            keys.push((section, object("", below.collect())));
        }
    }
    object(what, keys)
}

fn of_switch(switch: &Switch) -> Json {
    match switch.takes {
        Takes::Words(all) => {
            let meanings: Vec<_> = all.iter().map(|word| format!("{}: {}", word.name, word.meaning)).collect();
            words(&format!("{}. {}", switch.about, meanings.join("; ")), all.iter().map(|word| word.name))
        }
        Takes::Number { least, most, default, .. } => {
            integer(&format!("{} Default: {default}.", switch.about), least, most)
        }
        Takes::Duration { default, .. } => {
            described(&format!("{}. Default: {default}.", switch.about), reference("duration"))
        }
        Takes::Span { default, .. } => described(&format!("{}. Default: {default}.", switch.about), reference("span")),
    }
}

pub(super) fn resource() -> Json {
    let check = || words("When an operation is refused.", Guard::ALL.map(Guard::name));
    let table = object(
        "",
        vec![
            ("check", check()),
            ("act", words("Whether check and act are one step.", Act::ALL.map(Act::name))),
            ("max", words("Whether the highest token survives a crash.", Max::ALL.map(Max::name))),
            ("barrier", words("For what a token is the highest.", Reach::ALL.map(Reach::name))),
            ("lives-in", words("Where the objects are: in a store of their own, or where the locks are.", PLACES)),
            ("migrates", truth("In PostgreSQL: an index is made before each write (`CREATE INDEX CONCURRENTLY`).")),
            ("objects", list("What the resource has; then a step may name nothing else.", string(""))),
        ],
    );
    any_of("The guarded resource. Default: open.", [check(), table])
}

pub(super) fn network() -> Json {
    let latency = |what: &str| described(what, reference("span"));
    object(
        "One-way latencies, and how long a client waits for an answer.",
        vec![
            ("client-server", latency("Between a client and a lock server. Default: 1ms.")),
            ("client-resource", latency("Between a client and the resource. Default: 2ms.")),
            ("server-server", latency("Between two lock servers. Default: 1ms.")),
            ("call-timeout", described("How long a client waits. Default: 1s.", reference("duration"))),
        ],
    )
}

pub(super) fn node() -> Json {
    object(
        "",
        vec![
            ("rate-ppm", integer("By how many ppm its clocks run fast.", -999_999, 1_000_000)),
            ("wall-offset", described("By how much its wall clock is ahead.", reference("signed-duration"))),
        ],
    )
}

pub(super) fn bounds() -> Json {
    let within = |what: &str| described(what, reference("duration"));
    object(
        "Within what something must have happened; a property without its bound is not judged.",
        vec![
            ("progress", within("progress: somebody waits at most so long for a lock that nobody uses.")),
            ("inform", within("holder-informed: a client goes on at most so long in a lock that it has lost.")),
            ("leak", within("no-leak: after so long in nobody's use at the end of the run a lock is lost for good.")),
            ("overtakes", integer("fairness: somebody who waits is overtaken at most so often.", 0, u32::MAX)),
        ],
    )
}
