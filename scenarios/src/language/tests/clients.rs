//! Clients and their scripts.

use host::{Cue, Duration, Span};
use models::lock::{Lock, ReleaseBy};
use models::script::{Compare, GivingBack, Growth, OnError, Reaping, Retry, Rounds, Script, Step, Use, Working};
use spec::{Mode, Policy};

use super::*;
use crate::cell::{Milestone, When};

/// A file whose only client is `[client.A]` with these keys.
fn client(keys: &str) -> String {
    format!("{HEAD}lock = \"redis\"\n[client.A]\n{keys}\n")
}

fn script(keys: &str) -> Script {
    cell(&client(keys)).clients.remove(0).script
}

fn steps(list: &str) -> Vec<Step> {
    script(&format!("do = {list}")).threads.remove(0)
}

fn names(cell: &Cell) -> Vec<&str> {
    cell.clients.iter().map(|client| client.name.as_str()).collect()
}

#[test]
fn a_client_without_keys_has_the_default_script() {
    let script = script("");
    assert_eq!(script.threads[0], steps("[\"acquire\", \"read\", { sleep = \"50ms\" }, \"write\", \"release\"]"));
    assert_eq!((script.policy, script.rounds, script.retry), (Policy::Checked, Rounds::Times(1), Retry::DEFAULT));
}

#[test]
fn a_count_makes_numbered_clients_with_one_script() {
    let cell = cell(&file("[client.W]\ncount = 11\npolicy = \"naive\"\n"));
    let expected: Vec<_> = (1..=11).map(|i| format!("W-{i}")).collect();
    assert_eq!(names(&cell)[..2], ["A", "B"]);
    assert_eq!(names(&cell)[2..], expected);
    assert!(cell.clients[2..].iter().all(|client| client.script.policy == Policy::Naive));
    assert_eq!(names(&self::cell(&client("count = 1"))), ["A-1"]);
}

#[test]
fn a_count_is_neither_nothing_nor_a_crowd() {
    refuse(&client("count = «0»"), "0 lies outside 1 to 50");
    refuse(&client("count = «51»"), "51 lies outside 1 to 50");
    let many = "[client.X]\ncount = 50\n[client.Y]\ncount = 11\n";
    refuse(&file(many).replace("[client.A]", "[«client».A]"), "this cell has 65 nodes, and 64 are the most");
    accept(&file("[client.X]\ncount = 50\n[client.Y]\ncount = 10\n"));
}

#[test]
fn a_cell_has_a_client() {
    refuse(&format!("«»{HEAD}lock = \"redis\"\n"), "a cell has at least one client");
    refuse(&format!("{HEAD}lock = \"redis\"\n[«client»]\n"), "a cell has at least one client");
    refuse(&client("off = true").replace("[client", "[«client»"), "a cell has at least one client");
    refuse(&format!("{HEAD}lock = \"redis\"\nclient = «1»\n"), "`client` is a table of clients, not an integer");
}

#[test]
fn a_client_that_is_off_is_not_there() {
    assert_eq!(names(&cell(&file("[client.C]\noff = true\n"))), ["A", "B"]);
    assert_eq!(names(&cell(&file("[client.C]\noff = false\n"))), ["A", "B", "C"]);
    refuse(&file("[client.C]\noff = true\n[fault.gc]\npause = «\"C\"»\n"), "client `C` is off in this cell");
    refuse(&file("[client.C]\noff = «\"yes\"»\n"), "this is `true` or `false`, not a string");
}

#[test]
fn the_cues_of_a_client_that_is_off_are_not_waited_for() {
    let cell = cell(&file("[client.C]\noff = true\ndo = [{ at = \"1s\" }]\n[client.D]\ndo = [{ at = \"2s\" }]\n"));
    assert_eq!(cell.cues, [(Cue(0), When::At(Duration::from_secs(2)))]);
}

#[test]
fn a_clients_name_is_nobody_elses() {
    for name in ["resource", "clients", "servers", "holder", "primary", "any", "redis-1"] {
        let message = format!("`{name}` is the name of something else, and cannot be a client's");
        refuse(&file(&format!("[client.«{name}»]\n")), &message);
    }
    refuse(
        &file("[client.W]\ncount = 2\n[client.«W-2»]\n"),
        "`W-2` is the name of something else, and cannot be a client's",
    );
    for name in ["a.b", "a/b", "a b", "", "-a", "ä"] {
        let message = format!("`{name}` is no name for a client: letters, digits, `-` and `_`");
        refuse(&file(&format!("[client.«{name:?}»]\n")), &message);
    }
}

#[test]
fn policies_look_never_always_or_with_a_margin() {
    assert_eq!(script("policy = \"naive\"").policy, Policy::Naive);
    assert_eq!(script("policy = \"checked\"").policy, Policy::Checked);
    assert_eq!(script("policy = { margin = \"1s\" }").policy, Policy::Margin(Duration::from_secs(1)));
    assert_eq!(script("policy = \"at-checks\"").policy, Policy::AtChecks);
    assert_eq!(script("policy = \"told\"").policy, Policy::WhenTold);
    refuse(&client("policy = «\"margin\"»"), "`margin` needs a duration");
    refuse(&client("policy = { naive = { «why» = 1 } }"), "unknown field `why`, expected nothing");
    refuse(
        &client("policy = { margin = «\"-1s\"» }"),
        "duration `-1s` has a sign; only clock steps and offsets have one",
    );
}

#[test]
fn rounds_and_retries_are_counted_or_endless() {
    assert_eq!(script("rounds = 3").rounds, Rounds::Times(3));
    assert_eq!(script("rounds = \"forever\"").rounds, Rounds::Forever);
    refuse(&client("rounds = «0»"), "0 lies outside 1 to 4294967295");
    refuse(&client("rounds = «\"often\"»"), "`rounds` is a whole number or \"forever\", not a string");
    let retry = script("retry = { delay = \"100ms\", times = 0 }").retry;
    assert_eq!(retry, Retry { delay: Span::Fixed(Duration::from_millis(100)), growth: None, times: Some(0) });
    assert_eq!(script("retry = {}").retry, Retry::DEFAULT);
    suggest(
        &client("retry = { «dely» = \"1s\" }"),
        "unknown field `dely`, expected one of `delay`, `times`, `factor`, `cap`",
        "delay",
    );
}

#[test]
fn a_delay_grows_by_a_factor_to_a_cap() {
    let retry = script("retry = { delay = \"100ms\", factor = 2, cap = \"5s\" }").retry;
    assert_eq!(retry.growth, Some(Growth { factor: 2, cap: Duration::from_secs(5) }));
    refuse(&client("retry = «{ factor = 2 }»"), "missing `cap`");
    refuse(&client("retry = { «cap» = \"5s\" }"), "`cap` bounds what `factor` makes grow, and there is no `factor`");
    refuse(&client("retry = { factor = «1», cap = \"5s\" }"), "1 lies outside 2 to 1000");
    refuse(&client("retry = { factor = 2, cap = «\"399ms\"» }"), "the first delay is longer than this");
    refuse(
        &client("retry = { delay = { mean = \"1s\" }, «factor» = 2, cap = \"5s\" }"),
        "an exponential delay has no longest that could grow to a cap",
    );
}

#[test]
fn a_release_says_how_it_is_given_back() {
    let how = |keys: &str| match steps(&format!("[\"acquire\", {{ release = {{ {keys} }} }}]")).remove(1) {
        Step::Release { how, .. } => how,
        other => panic!("{other:?}"),
    };
    let all = how("timeout = \"1s\", on-error = \"retry\", work = \"goes-on\"");
    let timeout = Some(Duration::from_secs(1));
    assert_eq!(all, GivingBack { timeout, on_error: OnError::Retry, working: Working::GoesOn });
    assert_eq!(how("on-error = \"end\", work = \"over\""), GivingBack::default());
    refuse(
        &client("do = [\"acquire\", { release = { on-error = «\"stop\"» } }]"),
        "unknown word `stop`: what follows an error is one of `end`, `ignore`, `retry`",
    );
}

#[test]
fn threads_play_scripts_of_their_own_in_the_order_of_their_names() {
    let threads = script("thread.two.do = [\"read\"]\nthread.one.do = [\"write\"]").threads;
    assert_eq!(threads, [steps("[\"write\"]"), steps("[\"read\"]")]);
    refuse(
        &client("«do» = [\"read\"]\nthread.one.do = [\"write\"]"),
        "a client does this, or has threads that do something each",
    );
    refuse(&client("thread.one = «{}»"), "missing `do`");
    refuse(&client("thread.one = «7»"), "a thread is a table, not an integer");
    refuse(&client("thread = «7»"), "`thread` is a table of threads, not an integer");
    // What one thread has acquired is not the other's.
    refuse(
        &client("thread.one.do = [\"acquire\"]\nthread.two.do = [«\"release\"»]"),
        "`release` has no lock to act on: no `acquire` stands before it",
    );
}

#[test]
fn a_janitor_says_which_lock_it_takes_away_and_what_it_compares() {
    let how = |unless: Option<&str>, compare| Reaping { unless: unless.map(Into::into), compare };
    let list = "[{ reap = { compare = \"name\" } }, \
                { reap = { key = \"alice\", unless = \"sign\", compare = \"value\" } }]";
    assert_eq!(
        steps(list),
        [
            Step::Reap { lock: "orders".into(), how: how(None, Compare::Name) },
            Step::Reap { lock: "alice".into(), how: how(Some("sign"), Compare::Value) },
        ]
    );
    refuse(&client("do = [«\"reap\"»]"), "missing `compare`");
    let text = client("do = [«\"reap\"»]").replace("lock = \"redis\"", "lock = \"redisson\"");
    refuse(&text, "nobody can take this lock away from its owner");
    refuse(&client("do = [{ acquire = { mode = «\"shared\"» } }]"), "only one client at a time can have this lock");
    for lock in ["zookeeper", "etcd", "postgres", "postgres-row"] {
        let text =
            client("do = [\"acquire\", «\"extend\"»]").replace("lock = \"redis\"", &format!("lock = \"{lock}\""));
        refuse(&text, "this lock has no lease that its holder could extend");
    }
    for lock in ["etcd-key", "kubernetes-lease", "lease-row", "redisson"] {
        accept(&client("do = [\"acquire\", \"extend\"]").replace("lock = \"redis\"", &format!("lock = \"{lock}\"")));
    }
    accept(&client("do = [{ reap = { compare = \"name\" } }]\n[fault.f]\ndrop = { request = \"get\", of = \"A\" }"));
    refuse(
        &client("do = [{ reap = { compare = \"name\" } }]\n[fault.f]\ndrop = { request = «\"set\"», of = \"A\" }"),
        "this can never apply: no such client ever sends `set`",
    );
}

#[test]
fn a_client_may_have_a_lock_and_a_lease_of_its_own() {
    let text = format!(
        "{HEAD}lock.redis = {{ token = \"incr-in-script\", release = \"unchecked\" }}\n\
         [client.A]\nttl = \"3s\"\n[client.B]\nlock.redis.release = \"checked\"\n[client.C]\nlock = \"redisson\"\n"
    );
    let cell = cell(&text);
    let [a, b, c] = cell.clients.as_slice() else { panic!("three clients") };
    assert_eq!((a.ttl, b.ttl), (Some(Duration::from_secs(3)), Some(Duration::from_secs(10))));
    assert_eq!(a.lock, cell.lock);
    let (Lock::Redis(of_a), Lock::Redis(of_b)) = (&a.lock, &b.lock) else { panic!("{:?}", b.lock) };
    assert_eq!((of_a.token, of_a.release), (of_b.token, ReleaseBy::Unchecked), "the file's switches stay");
    assert_eq!(of_b.release, ReleaseBy::Checked);
    assert!(matches!(c.lock, Lock::Redisson(_)));
    refuse(&client("lock.redis.«relase» = \"checked\""), "unknown field `relase`");
    refuse(&client("ttl = «\"0s\"»"), "a duration of zero does nothing here");
    refuse(&client("«lock» = \"none\""), "the servers of this client's lock are not those of the file's");
}

#[test]
fn what_a_client_does_depends_on_its_own_lock() {
    let own = "[client.C]\nlock.redis.renew = { every = \"1s\" }\n";
    let at = |client: &str| {
        format!("{own}[fault.f]\nkill = \"A\"\nwhen = {{ client = \"{client}\", point = «\"renewing\"» }}\n")
    };
    accept(&file(&at("C")).replace(['«', '»'], ""));
    refuse(&file(&at("B")), "client `B` never reaches the point `renewing` in this cell");
    accept(&file(&format!("{own}[fault.f]\nstall = \"C/renewal\"\n")));
    accept(&file(&format!("{own}[fault.f]\nkill = \"A\"\nwhen = {{ point = \"renewing\" }}\n")));
    accept(&file(&format!("{own}[fault.f]\ndrop = {{ request = \"renew\", of = \"C\" }}\n")));
}

#[test]
fn arrivals_are_rounds() {
    let cell = cell(&client("arrivals = { every = \"50ms\", until = \"10s\" }"));
    let every = Span::Fixed(Duration::from_millis(50));
    assert_eq!(cell.clients[0].script.rounds, Rounds::Arrive { every, until: Cue(0) });
    assert_eq!(cell.cues, [(Cue(0), When::At(Duration::from_secs(10)))]);
    refuse(&client("arrivals = { every = «\"0s\"», until = \"10s\" }"), "a duration of zero does nothing here");
    refuse(&client("arrivals = { every = \"1s\", until = «\"60s\"» }"), "this never happens: the run ends at 60s");
    refuse(
        &client("rounds = 2\n«arrivals» = { every = \"1s\", until = \"10s\" }"),
        "each arrival is a round: `rounds` and `arrivals` exclude each other",
    );
}

#[test]
fn a_client_may_know_servers_of_its_own_in_its_own_order() {
    assert_eq!(cell(&client("")).clients[0].servers, None);
    assert_eq!(cell(&client("servers = [\"redis-1\"]")).clients[0].servers, Some(vec!["redis-1".to_owned()]));
    refuse(
        &client("servers = «[\"redis-1\", \"resource\"]»"),
        "`resource` grants no lock: a client's `servers` are those that do",
    );
    refuse(&client("servers = «[]»"), "this names no node");
}

#[test]
fn a_step_is_a_word_or_a_table_with_one_key() {
    let list = "[\"acquire\", { acquire = {} }, { acquire = { wait = \"0s\" } }, \"check\", \"extend\", \
                { extend = { by = \"5s\" } }, \"hold\", { repeat = { times = 2, do = [\"release\"] } }]";
    let orders = host::Name::fixed("orders");
    let acquire = |wait| Step::Acquire { lock: orders, handle: orders, wait, mode: Mode::Exclusive };
    assert_eq!(
        steps(list),
        [
            acquire(None),
            acquire(None),
            acquire(Some(Duration::ZERO)),
            Step::Check,
            Step::Extend { handle: orders, by: None },
            Step::Extend { handle: orders, by: Some(Duration::from_secs(5)) },
            Step::Hold,
            Step::Repeat { times: 2, steps: vec![Step::Release { handle: orders, how: GivingBack::default() }] },
        ]
    );
}

#[test]
fn a_lock_is_called_by_its_handle_or_else_by_its_name() {
    let of = |lock: &str, handle: &str| Step::Acquire {
        lock: lock.into(),
        handle: handle.into(),
        wait: None,
        mode: Mode::Exclusive,
    };
    let named = |handle: &str| {
        (
            Step::Extend { handle: handle.into(), by: None },
            Step::Release { handle: handle.into(), how: GivingBack::default() },
        )
    };
    let script = |acquire: &str, handle: &str| {
        let list = format!("[{acquire}, {{ extend = {handle} }}, {{ release = {handle} }}]");
        steps(&list)
    };
    for (acquire, step, handle) in [
        ("{ acquire = { key = \"alice\" } }", of("alice", "alice"), "alice"),
        ("{ acquire = { as = \"mine\" } }", of("orders", "mine"), "mine"),
        ("{ acquire = { key = \"alice\", as = \"mine\" } }", of("alice", "mine"), "mine"),
    ] {
        let (extend, release) = named(handle);
        let expected = [step, extend, release];
        assert_eq!(script(acquire, "{}"), expected, "the only handle");
        assert_eq!(script(acquire, &format!("{{ as = {handle:?} }}")), expected);
    }
    refuse(
        &client("do = [{ acquire = { key = «\"a b\"» } }]"),
        "`a b` is no name for a lock: letters, digits, `-` and `_`",
    );
}

#[test]
fn a_step_says_which_of_several_locks_it_means() {
    let two = "{ acquire = { key = \"alice\" } }, { acquire = { key = \"bob\" } }";
    refuse(
        &client(&format!("do = [{two}, «\"release\"»]")),
        "which lock is meant? This script has acquired alice, bob",
    );
    suggest(
        &client(&format!("do = [{two}, {{ release = {{ as = «\"bop\"» }} }}]")),
        "no `acquire` before this one is called `bop`",
        "bob",
    );
    accept(&client(&format!("do = [{two}, {{ release = {{ as = \"alice\" }} }}, \"check\", \"hold\"]")));
    // The same handle twice is one.
    accept(&client("do = [\"acquire\", \"acquire\", \"release\"]"));
}

#[test]
fn an_object_is_named_in_three_ways() {
    let [a, b, c, d]: [Step; 4] =
        steps("[\"read\", { write = \"x\" }, { write = { object = \"x\" } }, { read = {} }]").try_into().expect("four");
    assert_eq!(b, c);
    assert_eq!(b, Step::Write(Use::of("x".into())));
    assert_eq!(a, d);
    refuse(&client("do = [{ read = { «from» = 1 } }]"), "unknown field `from`, expected `object` or `takes`");
    refuse(&client("do = [{ read = «\"a b\"» }]"), "`a b` is no name for an object: letters, digits, `-` and `_`");
}

#[test]
fn a_script_waits_for_instants_and_for_milestones() {
    let text = file("[client.C]\ndo = [{ at = \"1s\" }, { until = { client = \"A\", point = \"granted\" } }]\n");
    let cell = cell(&text);
    assert_eq!(cell.clients[2].script.threads[0], [Step::Await(Cue(0)), Step::Await(Cue(1))]);
    let milestone =
        Milestone { client: Some("A".to_owned()), point: host::Point("granted"), nth: 1, plus: Duration::ZERO };
    assert_eq!(cell.cues, [(Cue(0), When::At(Duration::from_secs(1))), (Cue(1), When::Milestone(milestone))]);
}

#[test]
fn a_script_cannot_wait_for_what_never_happens() {
    refuse(&client("do = [{ at = «\"60s\"» }]"), "this never happens: the run ends at 60s");
    refuse(
        &client("do = [{ until = { point = «\"granted\"» } }]"),
        "no client ever reaches the point `granted` in this cell",
    );
    suggest(
        &file("[client.worker]\n[client.C]\ndo = [{ until = { client = «\"wroker\"», point = \"granted\" } }]\n"),
        "this cell has no node `wroker`",
        "worker",
    );
}

#[test]
fn a_step_that_acts_on_a_lock_comes_after_one_was_taken() {
    for step in ["check", "extend", "release", "hold"] {
        let message = format!("`{step}` has no lock to act on: no `acquire` stands before it");
        refuse(&client(&format!("do = [«{step:?}», \"acquire\"]")), &message);
    }
    accept(&client("do = [{ repeat = { times = 2, do = [\"acquire\"] } }, \"release\"]"));
}

#[test]
fn a_wrong_step_is_refused_where_it_stands() {
    refuse(&client("do = [«\"sleep\"»]"), "`sleep` needs a duration");
    refuse(&client("do = [«\"at\"»]"), "`at` needs an instant of the run");
    refuse(&client("do = [«\"until\"»]"), "`until` needs a milestone");
    refuse(&client("do = [{ repeat = «1» }]"), "`repeat` is a table, not an integer");
    refuse(&client("do = [{ sleep = \"1s\", «at» = \"1s\" }]"), "a step is one thing, but here are `sleep` and `at`");
    refuse(&client("do = [«7»]"), "a step is a word or a table with one key, not an integer");
    refuse(&client("do = «[]»"), "a script has at least one step");
    refuse(&client("do = «\"acquire\"»"), "a script is a list, not a string");
    refuse(&client("do = [{ repeat = { times = «0», do = [\"read\"] } }]"), "0 lies outside 1 to 4294967295");
    for step in ["take", "claim", "statement", "begin", "commit"] {
        refuse(&client(&format!("do = [«{step:?}»]")), &format!("`{step}` is not supported yet"));
    }
    for (step, key) in [("acquire", "nodes"), ("acquire", "quorum")] {
        let text = client(&format!("do = [\"acquire\", {{ {step} = {{ «{key}» = 1 }} }}]"));
        refuse(&text, &format!("`{key}` is not supported yet"));
    }
}

#[test]
fn a_script_that_cannot_be_read_breaks_nothing_else() {
    let fault = "[fault.gc]\npause = \"holder\"\nwhen = { client = \"C\", point = \"about-to-write\" }\n";
    let text = file(&format!("[client.C]\ndo = [«\"wriet\"»]\n{fault}"));
    assert_eq!(mistakes(&text).errors().len(), 1);
}
