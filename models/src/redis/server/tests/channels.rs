//! Publish and subscribe: what redis-server 7.0.15 answered, asked by hand.

use super::*;
use crate::redis::Value;

const EAR: ConnId = ConnId::new(1);
const OTHER: ConnId = ConnId::new(2);

fn subscribe(server: &mut Bench, conn: ConnId, channel: &str) -> String {
    server.ask_on(conn, Command::Subscribe { channel: channel.into() }).to_string()
}

fn publish(server: &mut Bench, message: &str) -> Reply {
    server.ask(Command::Publish { channel: "ch".into(), message: message.into() })
}

#[test]
fn who_is_subscribed_hears_each_message_once() {
    let mut server = Bench::new();
    assert_eq!(publish(&mut server, "early"), Reply::Int(0));
    assert_eq!(subscribe(&mut server, EAR, "ch"), r#"["subscribe", "ch", :1]"#);
    assert_eq!(subscribe(&mut server, EAR, "ch"), r#"["subscribe", "ch", :1]"#);
    assert_eq!(subscribe(&mut server, OTHER, "ch"), r#"["subscribe", "ch", :1]"#);
    assert_eq!(subscribe(&mut server, EAR, "other"), r#"["subscribe", "other", :2]"#);
    assert_eq!(publish(&mut server, "hello"), Reply::Int(2));
    let heard = r#"message "ch" "hello""#.to_owned();
    assert_eq!(server.pushed, [(EAR, heard.clone()), (OTHER, heard)]);
}

#[test]
fn a_connection_that_is_gone_hears_nothing_and_neither_does_one_that_a_restarted_server_has_forgotten() {
    let mut server = Bench::new();
    subscribe(&mut server, EAR, "ch");
    subscribe(&mut server, OTHER, "ch");
    server.step(|redis, cx| redis.on_close(cx, EAR));
    assert_eq!(publish(&mut server, "bye"), Reply::Int(1));
    server.step(Redis::on_start);
    assert_eq!(publish(&mut server, "who"), Reply::Int(0));
}

#[test]
fn who_is_subscribed_asks_for_nothing_else() {
    let mut server = Bench::new();
    subscribe(&mut server, EAR, "ch");
    let get = |args: &[&str]| {
        let args: Vec<Value> = args.iter().map(|arg| Value::from(*arg)).collect();
        Command::from_args(&args).expect("the model knows it")
    };
    let mut refused = |command| server.ask_on(EAR, command).to_string();
    for (command, name) in
        [(get(&["GET", "s"]), "get"), (Command::Multi, "multi"), (get(&["PUBLISH", "ch", "x"]), "publish")]
    {
        let told = format!(
            "-ERR Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in \
             this context"
        );
        assert_eq!(refused(command), told);
    }
    assert_eq!(refused(get(&["GET"])), "-ERR wrong number of arguments for 'get' command");
}

#[test]
fn what_a_transaction_publishes_is_heard_when_it_runs() {
    let mut server = Bench::new();
    subscribe(&mut server, EAR, "ch");
    server.ask(Command::Multi);
    assert_eq!(publish(&mut server, "in"), Reply::Queued);
    assert_eq!(server.pushed, []);
    assert_eq!(server.ask(Command::Exec).to_string(), "[:1]");
    assert_eq!(server.pushed, [(EAR, r#"message "ch" "in""#.to_owned())]);
}
