//! The schema for editors: it takes what the loader takes, and knows the keys that the loader knows.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::super::reader::asked;
use super::super::schema;
use super::*;
use crate::catalogue;

fn the_schema() -> Json {
    serde_json::from_str(&schema()).expect("it is JSON")
}

fn as_json(text: &str) -> Json {
    toml::from_str(text).expect("it is TOML")
}

/// What the catalogue has no use for: every table of the language that is written by no file of it.
const RARE: &[&str] = &[
    "ttl = \"20s\"\n[client.C]\nretry = { delay = \"1s\", factor = 2, cap = \"9s\", times = 3 }\nrounds = \"forever\"\n\
     [client.D]\npolicy = { naive = {} }\n[client.E]\npolicy = { checked = {} }\n[client.F]\npolicy = { at-checks = {} }\n[client.G]\npolicy = { told = {} }",
    "[client.C]\ndo = [{ acquire = { key = \"k\", as = \"h\", wait = \"1s\" } }, { check = {} }, { extend = { as = \"h\", by = \"9s\" } }, \
     { read = { object = \"o\", takes = \"1ms\" } }, { write = { takes = { mean = \"1ms\" } } }, { ticket = { object = \"t\" } }, \
     { effect = { name = \"e\", key = 7, takes = \"1ms\" } }, { at = \"9s\" }, { until = { client = \"A\", point = \"granted\", plus = \"1s\" } }, \
     { sleep = { pareto = { min = \"1ms\", alpha = \"1.2\", cap = \"9s\" } } }, { repeat = { times = 2, do = [\"read\"] } }, \
     { sleep = { from = \"1ms\", to = \"2ms\" } }, \
     { hold = {} }, { release = { as = \"h\", timeout = \"1s\", on-error = \"ignore\", work = \"over\" } }]",
    "[bounds]\nprogress = \"5s\"\n[client.C]\narrivals = { every = \"1s\", until = \"9s\" }",
    "[fault.a]\nstall = { node = \"A\", part = \"worker\" }\nat = { from = \"1s\", to = \"2s\" }\n\
     [fault.b]\nthrottle = { node = \"A\", run = \"1ms\", stop = \"1ms\" }\n\
     [fault.c]\nstep-clock = { node = \"redis-1\", by = \"1s\" }\n[fault.d]\nclock-rate = { node = \"redis-1\", ppm = 9 }\n\
     [fault.e]\ndisk = { node = \"redis-1\", fails = \"out-of-memory\" }\n[fault.f]\nevict = { node = \"redis-1\" }\n\
     [fault.g]\ncut = { between = [\"A\", \"redis-1\"], held = \"linger\" }\n[fault.h]\nslow = { from = \"A\", to = \"redis-1\", by = \"1s\" }\n\
     [fault.i]\nreset = { between = [\"A\", \"redis-1\"] }\n[fault.j]\nhalf-open = { forgets = \"redis-1\", believes = \"A\" }\n\
     [fault.k]\ndrop = { request = \"set\", of = \"A\", nth = \"every\" }\n[fault.l]\ndelay = { reply = \"set\", server = \"redis-1\", by = \"1s\" }",
    "[fault.f]\nkill = \"redis-1\"\nfor = \"1s\"\non-clock = \"wall\"\n[client.C]\nservers = [\"redis-1\"]",
    "[node.A]\nrate-ppm = 3\nwall-offset = \"-3s\"\n[network]\ncall-timeout = \"2s\"\n[service.redis]\nttl-clock = \"monotonic\"",
    "[matrix]\n\"ttl\" = { from = \"5s\", to = \"6s\", bisect = \"effects\", to-within = \"1s\" }\n[matrix.o.x]\nhorizon = \"60s\"\n\
     [[expect]]\nwhere = { ttl = { from = \"5s\", to = \"6s\" } }\nmeasure.effects.each.min = 0\noutside = []\n\
     reach = [{ point = \"granted\", nth = 1 }]\nfree = [\"effect-order\"]\nbecause = \"so\"\n\
     first.effect-order.min = \"0s\"\nshare.effect-order.min = \"0%\"",
    "[fault.gc]\npause = \"A\"\n[fault.j]\nstep-clock = { node = \"redis-1\", by = \"1s\" }\n[matrix]\n\
     \"fault.gc.for\" = { from = \"5s\", to = \"6s\", bisect = \"effects\", to-within = \"1s\" }\n\
     [[expect]]\nfrontier = { axis = \"fault.gc.for\", within = \"9s\", closed-form = { pause-validity = { after = \"1s\" } } }",
    "[matrix]\n\"node.redis-1.rate-ppm\" = { from = 1, to = 2, bisect = \"effects\", to-within = 1 }\n\
     [[expect]]\nfrontier = { axis = \"node.redis-1.rate-ppm\", is = 2, closed-form = { lease-drift = {} } }",
];

/// Every file by which the schema is held against the loader.
fn corpus() -> Vec<String> {
    let own = RARE.iter().map(|tables| {
        let (keys, tables) = tables.split_at(tables.find('[').expect("there is a table"));
        format!("{HEAD}lock = \"redis\"\n{keys}[client.A]\n[client.B]\n{tables}\n")
    });
    let locks = models::lock::LOCKS.iter().map(|lock| {
        let renew =
            if lock.switches.iter().any(|switch| switch.path == "renew.every") { "renew.every = \"2s\"\n" } else { "" };
        format!("{HEAD}[client.A]\n[lock.{}]\n{renew}", lock.name)
    });
    let resource = format!("{HEAD}lock = \"redis\"\nprofile = \"lan\"\n[client.A]\n[resource]\ncheck = \"fence_rw\"\n");
    let postgres =
        format!("{HEAD}[client.A]\n[lock.postgres]\n[service.postgres]\nkeepalive.idle = \"60s\"\npooler.size = 1\n");
    catalogue::all()
        .into_iter()
        .map(|entry| entry.text.to_owned())
        .chain(own)
        .chain(locks)
        .chain([resource, postgres])
        .collect()
}

#[test]
fn every_file_that_the_loader_takes_is_taken() {
    let schema = jsonschema::draft7::new(&the_schema()).expect("the schema is one");
    for text in corpus() {
        accept(&text);
        let file = as_json(&text);
        let mistakes: Vec<_> =
            schema.iter_errors(&file).map(|mistake| format!("{}: {mistake}", mistake.instance_path())).collect();
        assert!(mistakes.is_empty(), "{mistakes:#?}\n{text}");
    }
}

#[test]
fn what_the_loader_refuses_for_its_keys_words_and_types_is_refused() {
    let schema = jsonschema::draft7::new(&the_schema()).expect("the schema is one");
    for bad in [
        "colour = \"red\"",
        "ttl = 5",
        "ttl = \"15sec\"",
        "horizon = \"-5s\"",
        "[client.C]\npolcy = \"naive\"",
        "[client.C]\npolicy = \"nave\"",
        "[client.C]\ndo = [\"acquier\"]",
        "[client.C]\ndo = [\"acquire\", \"sleep\"]",
        "[client.C]\ndo = [{ acquire = {}, release = {} }]",
        "[fault.gc]\npause = 5",
        "[fault.gc]\nstep-clock = { nodee = \"redis-1\", by = \"+10s\" }",
        "[[expect]]\nalways = [\"effect-odrer\"]",
        "[[expect]]\nmeasure.grant-overlp.each.is = \"1s\"",
        "[lock.redis]\nrelase = \"checked\"",
        "[matrix.a.x]\nfault.gc.fro = \"1s\"",
    ] {
        let text = format!("{HEAD}{bad}\n");
        let whole =
            if bad.contains("[lock") { text.clone() } else { text.replacen("title", "lock = \"redis\"\ntitle", 1) };
        assert!(load("test.toml", &whole, &[]).is_err(), "{whole}");
        assert!(!schema.is_valid(&as_json(&whole)), "{whole}");
    }
    assert!(!schema.is_valid(&as_json("title = \"t\"\nsource = \"s\"")), "a name is missing");
}

/// The keys of every table, and the words of every place, that a schema describes.
fn described(schema: &Json, keys: &mut BTreeSet<BTreeSet<String>>, words: &mut BTreeSet<BTreeSet<String>>) {
    if let Some(properties) = schema.get("properties").and_then(Json::as_object) {
        keys.insert(properties.keys().cloned().collect());
    }
    if let Some(all) = schema.get("enum").and_then(Json::as_array) {
        words.insert(all.iter().filter_map(Json::as_str).map(str::to_owned).collect());
    }
    match schema {
        Json::Object(below) => below.values().for_each(|below| described(below, keys, words)),
        Json::Array(below) => below.iter().for_each(|below| described(below, keys, words)),
        _ => {}
    }
}

#[test]
fn every_key_and_word_that_the_loader_knows_is_described_and_the_reverse() {
    asked::take();
    for text in corpus() {
        accept(&text);
    }
    let (asked_keys, asked_words) = asked::take();
    let owned = |all: BTreeSet<asked::Names>| -> BTreeSet<BTreeSet<String>> {
        all.into_iter().map(|names| names.into_iter().map(str::to_owned).collect()).collect()
    };
    let (asked_keys, asked_words) = (owned(asked_keys), owned(asked_words));
    let (mut keys, mut words) = (BTreeSet::new(), BTreeSet::new());
    described(&the_schema(), &mut keys, &mut words);
    let missing: Vec<_> = asked_keys.difference(&keys).collect();
    assert!(missing.is_empty(), "the loader knows these tables, and the schema does not: {missing:#?}");
    let spare: Vec<_> = keys.difference(&asked_keys).filter(|keys| !keys.contains("horizon")).collect();
    assert!(spare.is_empty(), "the schema describes these tables, and the loader reads no such: {spare:#?}");
    let missing: Vec<_> = asked_words.difference(&words).collect();
    assert!(missing.is_empty(), "the loader knows these words, and the schema does not: {missing:#?}");
}
