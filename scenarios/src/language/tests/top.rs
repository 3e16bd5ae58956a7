//! The top level: header, lock, resource, network, nodes.

use host::{Duration, Ppm, Span};
use models::guard::Guard;
use models::lock::{LateGrant, Lock, RedisLock, Renew, TokenSource};

use super::*;
use crate::cell::{Fault, Profile};

fn redis(cell: &Cell) -> &RedisLock {
    let Lock::Redis(redis) = &cell.lock else { panic!("{:?}", cell.lock) };
    redis
}

#[test]
fn the_defaults_are_those_of_the_language() {
    let scenario = accept(&file(""));
    assert_eq!(scenario.seeds, 100);
    assert_eq!(scenario.source, ["a test"]);
    assert!(scenario.axes.is_empty());
    let cell = &scenario.cells[0];
    let millis = |millis| Span::Fixed(Duration::from_millis(millis));
    assert_eq!(cell.horizon, Duration::from_secs(60));
    assert_eq!(cell.ttl, Some(Duration::from_secs(10)));
    assert_eq!((cell.network.client_server, cell.network.client_resource), (millis(1), millis(2)));
    assert_eq!((cell.network.server_server, cell.network.call_timeout), (millis(1), Duration::from_secs(1)));
    assert_eq!(cell.resource.guard, Guard::Open);
    assert_eq!(*redis(cell), RedisLock::default());
    assert!(cell.nodes.is_empty() && cell.faults.is_empty() && cell.expectations.is_empty());
}

#[test]
fn a_scenario_keeps_its_text() {
    let text = file("");
    assert_eq!(&*accept(&text).text, text);
}

#[test]
fn a_file_says_what_it_is_and_cites_its_source() {
    refuse("«»title = \"t\"\nsource = \"s\"\nlock = \"redis\"\n[client.A]\n", "missing `name`");
    refuse("«»name = \"t\"\nsource = \"s\"\nlock = \"redis\"\n[client.A]\n", "missing `title`");
    refuse("«»name = \"t\"\ntitle = \"s\"\nlock = \"redis\"\n[client.A]\n", "missing `source`");
    let source =
        |source: &str| format!("name = \"t\"\ntitle = \"t\"\nsource = {source}\nlock = \"redis\"\n[client.A]\n");
    refuse(&source("«[]»"), "a scenario cites where its claim comes from");
    refuse(&source("«\" \"»"), "this says nothing");
    refuse(&source("[\"a\", «1»]"), "this is a string, not an integer");
    assert_eq!(accept(&source("[\"a\", \"b\"]")).source, ["a", "b"]);
}

#[test]
fn a_name_is_kebab_case() {
    for name in ["Gc-pause", "gc_pause", "gc--pause", "-gc", "gc-", "gc pause", "gç"] {
        let text = format!("name = «{name:?}»\ntitle = \"t\"\nsource = \"s\"\nlock = \"redis\"\n[client.A]\n");
        refuse(&text, &format!("`{name}` is not kebab-case: lower-case words and digits with `-` between them"));
    }
}

#[test]
fn an_unknown_key_of_the_top_level_is_refused() {
    suggest(&top("lock = \"redis\"\n«horizn» = \"60s\""), "unknown field `horizn`", "horizon");
}

#[test]
fn a_profile_gives_other_defaults_and_faults_of_its_own() {
    let lan = cell(&top("lock = \"redis\"\nprofile = \"lan\"\nnetwork = { client-server = \"3ms\" }"));
    assert_eq!(lan.profile, Some(Profile::Lan));
    let own = Span::Fixed(Duration::from_millis(3));
    assert_eq!((lan.network.client_server, lan.network.client_resource), (own, Profile::Lan.latency()));
    let names: Vec<_> = lan.faults.iter().map(|fault| fault.name.as_str()).collect();
    assert_eq!(names, ["lan:young-collection", "lan:drift-fast", "lan:drift-slow"]);
    assert!(lan.faults.iter().all(Fault::is_drawn));
    let plain = cell(&top("lock = \"redis\""));
    assert_eq!((plain.profile, plain.faults.len()), (None, 0));
    refuse(
        &top("lock = \"redis\"\nprofile = «\"wan\"»"),
        "unknown word `wan`: the profile is one of `calm`, `lan`, `cloud`, `hostile`",
    );
}

#[test]
fn what_nothing_can_use_yet_is_refused_and_not_ignored() {
    for key in ["stock", "replicas", "merge"] {
        let text = top(&format!("lock = \"redis\"\nresource = {{ check = \"open\", «{key}» = 1 }}"));
        refuse(&text, &format!("`{key}` is not supported yet"));
    }
}

#[test]
fn a_number_of_seeds_is_at_least_one() {
    refuse(&top("lock = \"redis\"\nseeds = «0»"), "0 lies outside 1 to 4294967295");
    refuse(&top("lock = \"redis\"\nseeds = «-1»"), "-1 lies outside 1 to 4294967295");
    assert_eq!(accept(&top("lock = \"redis\"\nseeds = 1")).seeds, 1);
}

#[test]
fn a_ttl_is_whole_milliseconds_or_none() {
    assert_eq!(cell(&top("lock = \"redis\"\nttl = \"none\"")).ttl, None);
    assert_eq!(cell(&top("lock = \"redis\"\nttl = \"3ms\"")).ttl, Some(Duration::from_millis(3)));
    refuse(&top("lock = \"redis\"\nttl = «\"0s\"»"), "a duration of zero does nothing here");
    refuse(&top("lock = \"redis\"\nttl = «\"1500us\"»"), "a lease is a whole number of milliseconds");
}

#[test]
fn a_lock_is_a_name_or_a_table_with_one_name() {
    let text = top("[lock.redis]\ntoken = \"incr-in-script\"\nrenew = { every = \"3s\" }\nlate-grant = \"kept\"");
    let renew = Some(Renew::every(Duration::from_secs(3)));
    let (token, late_grant) = (TokenSource::IncrInScript, LateGrant::Kept);
    let expected = RedisLock { token, renew, late_grant, ..RedisLock::default() };
    assert_eq!(*redis(&cell(&text)), expected);
    assert_eq!(*redis(&cell(&top("[lock.redis]"))), RedisLock::default());
    refuse(
        &top("lock = «{}»"),
        "the lock is missing, expected one of `redis`, `redisson`, `redis-sentinel`, `redlock`, `etcd`, `etcd-v3lock`, `etcd-key`, `kubernetes-lease`, `zookeeper`, `curator`, `zookeeper-herd`, `postgres`, `postgres-row`, `lease-row`, `none`",
    );
    refuse(&top("[lock.redis]\n[lock.«redlock»]"), "the lock is one thing, but here are `redis` and `redlock`");
    refuse(&top("lock = «1»"), "the lock is a word or a table with one key, not an integer");
    refuse(&top("lock.redis = «\"yes\"»"), "`redis` is a table, not a string");
    suggest(&top("lock = «\"reids\"»"), "unknown word `reids`", "redis");
}

#[test]
fn the_switches_of_a_lock_are_checked() {
    suggest(&top("lock.redis = { «tokn» = \"none\" }"), "unknown field `tokn`", "token");
    refuse(
        &top("lock.redis = { token = «\"later\"» }"),
        "unknown word `later`: `token` is one of `none`, `incr-in-script`, `incr-before-set`, `counter-per-client`, \
         `owner-value`",
    );
    refuse(&top("lock.redis = { renew = «\"3s\"» }"), "`renew` is a table, not a string");
    refuse(&top("lock.redis = { renew = «{}» }"), "missing `every`");
    refuse(&top("lock.redis = { renew = { every = «\"0s\"» } }"), "a duration of zero does nothing here");
    refuse(
        &top("ttl = \"none\"\nlock.redis = { «renew» = { every = \"1s\" } }"),
        "there is nothing to renew: `ttl` is \"none\"",
    );
}

#[test]
fn a_resource_that_checks_tokens_makes_the_lock_give_them() {
    let fenced = cell(&top("lock = \"redis\"\nresource = \"fence_rw\""));
    assert_eq!((fenced.resource.guard, redis(&fenced).token), (Guard::FenceRw, TokenSource::IncrInScript));
    let fenced = cell(&top("lock = \"redis\"\nresource = { check = \"fence_rw\" }"));
    assert_eq!((fenced.resource.guard, redis(&fenced).token), (Guard::FenceRw, TokenSource::IncrInScript));
    let open = cell(&top("lock = \"redis\"\nresource = \"open\""));
    assert_eq!(redis(&open).token, TokenSource::None);
}

#[test]
fn a_lock_that_is_told_to_give_no_token_to_a_resource_that_checks_them_is_refused() {
    refuse(
        &top("resource = \"fence_rw\"\nlock.redis.token = «\"none\"»"),
        "the resource checks tokens, and this lock would give none: its operations would carry no token",
    );
    accept(&top("resource = \"open\"\nlock.redis.token = \"none\""));
}

#[test]
fn a_network_is_slow_in_its_own_way() {
    let network = cell(&file("[network]\nclient-server = { mean = \"3ms\" }\ncall-timeout = \"2s\"\n")).network;
    assert_eq!(network.client_server, Span::Exponential { mean: Duration::from_millis(3) });
    assert_eq!(network.call_timeout, Duration::from_secs(2));
    let text = file("[network]\ncall-timeout = «{ mean = \"3ms\" }»\n");
    refuse(&text, "a duration is a string such as \"1500ms\", not a table");
    let cell = cell(&file("[network]\ncall-timeout = \"2s\"\n"));
    assert_eq!(cell.clients[0].script.call_timeout, Duration::from_secs(2));
}

#[test]
fn node_settings_reach_single_nodes_and_groups() {
    let text = file("[client.W]\ncount = 2\n[node.W]\nrate-ppm = 5\n[node.servers]\nrate-ppm = 7\n[node.resource]\n");
    let nodes = cell(&text).nodes;
    let rates: Vec<_> = nodes.iter().map(|(name, own)| (name.as_str(), own.rate.get())).collect();
    assert_eq!(rates, [("W-1", 5), ("W-2", 5), ("redis-1", 7), ("resource", 0)]);
    assert_eq!(nodes["W-1"].rate, Ppm::new(5));
}

#[test]
fn settings_of_a_node_that_is_not_there_are_refused() {
    suggest(&file("[node.«redis-2»]\nrate-ppm = 5\n"), "this cell has no node `redis-2`", "redis-1");
    suggest(&file("[node.A]\n«rate» = 5\n"), "unknown field `rate`, expected `rate-ppm` or `wall-offset`", "rate-ppm");
    refuse(&file("[node.A]\nrate-ppm = 5\n[node.«clients»]\nrate-ppm = 6\n"), "`A` has its settings elsewhere already");
    refuse(
        &file("[node.«holder»]\nrate-ppm = 5\n"),
        "`holder` is whoever reaches a milestone, and no `when` names one here",
    );
}
