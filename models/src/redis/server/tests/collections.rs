//! Lists and sorted sets: what redis-server 7.0.15 answered, asked by hand.

use super::*;
use crate::redis::Value;

/// Plays what to ask and what to be told, a line each: `command -> answer`.
fn holds(server: &mut Bench, rows: &str) {
    for row in rows.lines().map(str::trim).filter(|row| !row.is_empty()) {
        let (asked, told) = row.split_once(" -> ").expect("a row asks and is told");
        let args: Vec<Value> = asked.split(' ').map(Value::from).collect();
        let command = Command::from_args(&args).unwrap_or_else(|error| panic!("{asked}: {error}"));
        assert_eq!(server.ask(command).to_string(), told, "{asked}");
    }
}

#[test]
fn a_list_is_a_queue_that_is_gone_with_its_last_element() {
    holds(
        &mut Bench::new(),
        r#"
        LINDEX q 0 -> nil
        LPOP q -> nil
        LRANGE q 0 -1 -> []
        LREM q 0 a -> :0
        RPUSH q a -> :1
        RPUSH q b -> :2
        RPUSH q a -> :3
        LINDEX q 0 -> "a"
        LINDEX q -1 -> "a"
        LINDEX q 3 -> nil
        LINDEX q -4 -> nil
        LRANGE q 0 -1 -> ["a", "b", "a"]
        LREM q 0 a -> :2
        LREM q 0 x -> :0
        LPOP q -> "b"
        EXISTS q -> :0
        LPOP q -> nil
        "#,
    );
}

#[test]
fn a_sorted_set_is_in_the_order_of_scores_and_then_of_members() {
    holds(
        &mut Bench::new(),
        r#"
        ZSCORE z a -> nil
        ZREM z a -> :0
        ZRANGE z 0 -1 -> []
        ZADD z 30 c -> :1
        ZADD z 10 b -> :1
        ZADD z 10 a -> :1
        ZADD z 20 c -> :0
        ZADD z 20 c -> :0
        ZRANGE z 0 -1 -> ["a", "b", "c"]
        ZSCORE z c -> "20"
        ZINCRBY z -15 c -> "5"
        ZINCRBY z 7 d -> "7"
        ZRANGE z 0 -1 -> ["c", "d", "a", "b"]
        ZADD z 100000005000 e -> :1
        ZSCORE z e -> "100000005000"
        ZINCRBY z -5000 e -> "100000000000"
        ZREM z x -> :0
        ZREM z a -> :1
        ZREM z b -> :1
        ZREM z c -> :1
        ZREM z d -> :1
        ZREM z e -> :1
        EXISTS z -> :0
        "#,
    );
}

#[test]
fn a_key_holds_one_kind_of_thing() {
    const WRONG: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    let rows = [
        "SET s v -> +OK",
        "RPUSH s a -> WRONG",
        "LINDEX s 0 -> WRONG",
        "ZADD s 1 a -> WRONG",
        "ZRANGE s 0 -1 -> WRONG",
        "RPUSH q a -> :1",
        "GET q -> WRONG",
        "HGET q f -> WRONG",
        "ZSCORE q a -> WRONG",
        "SET q v NX -> nil",
        "INCR q -> WRONG",
        "PEXPIRE q 5000 -> :1",
        "RPUSH q b -> :2",
        "PTTL q -> :5000",
    ];
    holds(&mut Bench::new(), &rows.join("\n").replace("WRONG", WRONG));
}

#[test]
fn what_is_too_short_is_refused() {
    let rows = ["LRANGE", "LREM q 0", "ZADD z 1", "ZSCORE z", "RPUSH q", "SUBSCRIBE", "ZINCRBY z 1", "PUBLISH c"];
    for row in rows {
        let name = row.split(' ').next().unwrap_or_default().to_lowercase();
        let told = format!("{row} -> -ERR wrong number of arguments for '{name}' command");
        holds(&mut Bench::new(), &told);
    }
}

#[test]
fn without_memory_what_grows_is_refused_and_what_shrinks_is_not() {
    let mut server = Bench::new();
    server.short.begin(host::Shortage::Memory);
    let oom = "-OOM command not allowed when used memory > 'maxmemory'.";
    for grows in ["RPUSH l x", "ZADD z 1 x", "ZINCRBY z 1 x"] {
        holds(&mut server, &format!("{grows} -> {oom}"));
    }
    holds(&mut server, "LREM l 0 x -> :0\nZREM z x -> :0\nPUBLISH c x -> :0");
}

#[test]
fn a_collection_that_changes_spoils_a_transaction_that_watches_it() {
    for (change, runs) in [("RPUSH q b", "nil"), ("LREM q 0 x", "[:1]"), ("LPOP q", "nil")] {
        let rows =
            ["RPUSH q a -> :1", "WATCH q -> +OK", &format!("{change} -> *"), "MULTI -> +OK", "EXISTS o -> +QUEUED"];
        let mut server = Bench::new();
        holds(&mut server, "SET o o -> +OK");
        for row in rows {
            let (asked, _) = row.split_once(" -> ").expect("a row");
            let args: Vec<Value> = asked.split(' ').map(Value::from).collect();
            server.ask(Command::from_args(&args).expect("a command"));
        }
        holds(&mut server, &format!("EXEC -> {runs}"));
    }
}
