//! Faults inside a service, and of what its machine lends it.

use host::{Duration, Shortage, Span};

use super::*;
use crate::cell::{DiskFault, What};

#[test]
fn an_eviction_takes_a_key_of_the_lock_servers() {
    let evict = |key: &str| What::Evict { node: nodes(&["redis-1"]), key: key.into() };
    assert_eq!(what("evict = {}"), evict("orders"));
    assert_eq!(what("evict = { key = \"orders\", node = \"servers\" }"), evict("orders"));
    refuse(
        &faulty("evict = { key = «\"token\"» }"),
        "unknown word `token`: a key of this cell's lock servers is `orders`",
    );
    let counted =
        faulty("evict = { key = \"token\" }").replace("lock = \"redis\"", "lock = \"redis\"\nresource = \"fence_rw\"");
    assert_eq!(cell(&counted).faults[0].what, evict("token"));
    refuse(&faulty("evict = { node = «\"A\"» }"), "this can never apply: only a lock server has keys to evict");
    for lock in ["etcd", "zookeeper", "postgres"] {
        let text = faulty("evict = «{}»").replace("lock = \"redis\"", &format!("lock = \"{lock}\""));
        refuse(&text, "this can never apply: these servers evict nothing: only Redis does that, to make room");
    }
    refuse(&faulty("evict = { key = «1» }"), "a key is named by a string, not an integer");
    refuse(&faulty("evict = {}\n«for» = \"1s\""), "`evict` is an instant: it has no length");
}

#[test]
fn a_disk_fails_or_is_slow() {
    let fails = |what| What::Disk { node: nodes(&["redis-1"]), how: DiskFault::Fails(what) };
    let kept = |persistence: &str, disk: &str| {
        format!("{}\n[service.redis]\npersistence = \"{persistence}\"\n", faulty(&format!("disk = {disk}")))
    };
    let full = kept("save", "{ node = \"redis-1\", fails = \"cannot-persist\" }");
    assert_eq!(cell(&full).faults[0].what, fails(Shortage::Disk));
    assert_eq!(what("disk = { node = \"redis-1\", fails = \"out-of-memory\" }"), fails(Shortage::Memory));
    let slow_by = || DiskFault::Slow(Span::Fixed(Duration::from_millis(200)));
    assert_eq!(
        what("disk = { node = \"resource\", slow = \"200ms\" }"),
        What::Disk { node: nodes(&["resource"]), how: slow_by() }
    );
    for persistence in ["aof-everysec", "aof-always"] {
        let slow = kept(persistence, "{ node = [\"redis-1\", \"resource\"], slow = \"200ms\" }");
        assert_eq!(cell(&slow).faults[0].what, What::Disk { node: nodes(&["redis-1", "resource"]), how: slow_by() });
    }
    refuse(&faulty("disk = «{ node = \"redis-1\" }»"), "nothing is wrong with this disk: it `fails` or is `slow`");
    refuse(
        &faulty("disk = «{ node = \"redis-1\", fails = \"cannot-persist\", slow = \"1s\" }»"),
        "a disk `fails` or is `slow`: two faults if it is both",
    );
    refuse(&faulty("disk = { node = \"resource\", slow = «\"0s\"» }"), "a disk that takes no time is not slow");
    refuse(
        &faulty("disk = { node = \"redis-1\", fails = «\"full\"» }"),
        "unknown word `full`: how a disk fails is `cannot-persist` or `out-of-memory`",
    );
    refuse(
        &faulty("disk = { node = \"redis-1\", «fail» = \"cannot-persist\" }"),
        "unknown field `fail`, expected one of `node`, `fails`, `slow`",
    );
}

#[test]
fn a_disk_that_nobody_minds_is_refused() {
    refuse(
        &faulty("disk = { node = «\"A\"», fails = \"cannot-persist\" }"),
        "this can never apply: only a lock server minds what its machine is short of",
    );
    refuse(
        &faulty("disk = { node = «\"redis-1\"», slow = \"1s\" }"),
        "this can never apply: only the resource waits for its disk, and a lock server with a log (`persistence`)",
    );
    for (lock, node, system) in
        [("postgres", "pg-1", "PostgreSQL"), ("etcd", "etcd-1", "etcd"), ("zookeeper", "zookeeper-1", "ZooKeeper")]
    {
        let text = faulty(&format!("disk = {{ node = «\"{node}\"», slow = \"1s\" }}"));
        let why = format!("no slow disk of {system} is modelled: only the resource waits for its disk");
        let text = text.replace("lock = \"redis\"", &format!("lock = \"{lock}\""));
        refuse(&text, &format!("this can never apply: {why}"));
    }
    refuse(
        &faulty("disk = { node = «\"pg-1\"», fails = \"out-of-memory\" }")
            .replace("lock = \"redis\"", "lock = \"postgres\""),
        "this can never apply: of the lock servers only Redis minds what its machine is short of",
    );
    refuse(
        &faulty("disk = { node = «\"redis-1\"», fails = \"cannot-persist\" }"),
        "this can never apply: only a server with `persistence = \"save\"` minds such a disk",
    );
}
