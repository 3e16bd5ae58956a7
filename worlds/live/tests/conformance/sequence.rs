//! Random commands on several connections: what they are made of.
//!
//! Few keys and few values, so that they meet; every command and option that the model has; times to live that run out
//! between two commands; arguments that Redis refuses.

use models::redis::{Command, FairScript, Length, ListCommand, Lives, Queue, Script, SortedCommand, Told, Value};
use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any};
use proptest::sample::select;
use proptest::{option, prop_oneof};

use crate::format::End;

/// How many connections there are that ask.
pub(crate) const ASKERS: usize = 4;
/// How many there are, with those that subscribe.
pub(crate) const CONNECTIONS: usize = 6;

/// One thing that happens.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Step {
    /// Somebody asks.
    Ask(usize, Question),
    /// Time passes, so many ms. Below zero, the clock is set back, where it can be.
    Wait(i64),
    /// A connection is closed, and opened again when it is next used.
    Close(usize),
    /// The server's process ends, and starts again.
    Restart(End),
}

/// What sequences are made of, beside what one connection asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Of {
    /// The clock can be set back.
    pub(crate) settable: bool,
    /// Some subscribe.
    pub(crate) ears: bool,
    /// The server is started again.
    pub(crate) restarts: bool,
}

/// What somebody asks.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Question {
    /// As it is.
    Plain(Vec<Value>),
    /// A deadline in ms since 1970 follows: so many ms from now.
    Until(Vec<Value>, i64),
}

impl Question {
    /// The arguments, as said while the clock reads `now`.
    pub(crate) fn args(&self, now: i64) -> Vec<Value> {
        match self {
            Self::Plain(args) => args.clone(),
            Self::Until(args, from_now) => {
                let deadline = Value::from(now.saturating_add(*from_now));
                args.iter().cloned().chain([deadline]).collect()
            }
        }
    }
}

/// So many steps.
pub(crate) fn sequences(length: usize, of: Of) -> impl Strategy<Value = Vec<Step>> {
    let waits = if of.settable { vec![1, 1, 2, 3, 5, 8, 60_000, -3] } else { vec![1, 1, 2, 3, 5, 8] };
    let asks = (0..ASKERS, questions()).prop_map(|(conn, question)| Step::Ask(conn, question));
    let hears = (ASKERS..CONNECTIONS, ears()).prop_map(|(conn, question)| Step::Ask(conn, question));
    let step = prop_oneof![
        30 => asks,
        3 => select(waits).prop_map(Step::Wait),
        1 => (0..if of.ears { CONNECTIONS } else { ASKERS }).prop_map(Step::Close),
        if of.ears { 4 } else { 0 } => hears,
        u32::from(of.restarts) => select(vec![End::Kill, End::Shutdown]).prop_map(Step::Restart),
    ];
    vec(step, length)
}

/// Of connections that subscribe, mostly.
fn ears() -> BoxedStrategy<Question> {
    let subscribes = channels().prop_map(|channel| Command::Subscribe { channel: channel.into() }.to_args());
    let key = keys().prop_map(|key| Command::Get { key: key.into() }.to_args());
    prop_oneof![4 => subscribes, 1 => key].prop_map(Question::Plain).boxed()
}

/// Those of the locks among them.
fn channels() -> impl Strategy<Value = &'static str> {
    select(vec!["news", "redisson_lock__channel:{a}", "redisson_lock__channel:{g}:A", "redisson_lock__channel:{g}:B"])
}

/// What is asked to see all that a server has under the keys of the sequences.
pub(crate) fn looks() -> Vec<Command> {
    let of = |name: &'static str, fields: &[&str]| {
        let key = models::redis::Key::from(name);
        let mut looks = vec![Command::Pexpiretime { key }, Command::Get { key }];
        looks.push(Command::List { key, what: ListCommand::All });
        looks.push(Command::Sorted { key, what: SortedCommand::All });
        for field in fields {
            looks.push(Command::Hget { key, field: (*field).into() });
            looks.push(Command::Sorted { key, what: SortedCommand::Zscore((*field).into()) });
        }
        looks
    };
    let plain = PLAIN.into_iter().flat_map(|name| of(name, &["x", "request", "1"]));
    plain.chain(FAIR.into_iter().flat_map(|name| of(name, &["A", "B", "C"]))).collect()
}

/// The same, of the keys of the fair lock.
pub(crate) fn looks_at_the_fair_lock() -> Vec<Command> {
    let [lock, queue, deadlines] = FAIR.map(models::redis::Key::from);
    let mut looks = vec![Command::Pttl { key: lock }, Command::List { key: queue, what: ListCommand::All }];
    for owner in ["A", "B", "C"] {
        looks.push(Command::Hget { key: lock, field: owner.into() });
        looks.push(Command::Sorted { key: deadlines, what: SortedCommand::Zscore(owner.into()) });
    }
    looks
}

/// What is asked so that a server looks at every key.
pub(crate) fn touches() -> Vec<Command> {
    PLAIN.into_iter().chain(FAIR).map(|name| Command::Exists { key: name.into() }).collect()
}

/// The keys that anybody asks for.
const PLAIN: [&str; 6] = ["a", "b", "c", "a:token", "l", "z"];
/// The keys of the fair lock.
const FAIR: [&str; 3] = ["g", "redisson_lock_queue:{g}", "redisson_lock_timeout:{g}"];

fn questions() -> BoxedStrategy<Question> {
    let typed = commands().prop_map(|command| Question::Plain(command.to_args()));
    let until = (keys(), values(), -5_i64..12).prop_map(|(key, value, from_now)| {
        Question::Until(vec!["SET".into(), key.into(), value.into(), "PXAT".into()], from_now)
    });
    let mistaken = mistakes().prop_map(|words| Question::Plain(words.into_iter().map(Value::from).collect()));
    prop_oneof![16 => typed, 1 => until, 3 => mistaken].boxed()
}

fn keys() -> impl Strategy<Value = &'static str> {
    select(vec!["a", "a", "b", "c", "a:token"])
}

fn values() -> impl Strategy<Value = &'static str> {
    select(vec!["x", "x", "y", "1", "-1", "07", "", "9223372036854775807", "-9223372036854775808"])
}

fn fields() -> impl Strategy<Value = &'static str> {
    select(vec!["x", "y", "request"])
}

/// ms; mostly so few that the key is gone some commands later.
fn lengths() -> impl Strategy<Value = i64> {
    select(vec![1, 2, 2, 3, 4, 5, 6, 8, 13, 50, 60_000, 0, -1, i64::MAX, i64::MIN, i64::MAX / 1_000])
}

/// ms that fit a script's arithmetic.
fn leases() -> impl Strategy<Value = i64> {
    select(vec![1, 2, 3, 4, 5, 8, 13, 50, 60_000, 0, -1])
}

fn lives() -> impl Strategy<Value = Lives> {
    prop_oneof![
        3 => Just(Lives::Forever),
        4 => lengths().prop_map(Lives::Px),
        1 => select(vec![1, 60, 0, -1, i64::MAX, i64::MAX / 1_000]).prop_map(Lives::Ex),
        1 => select(vec![1, 0, -1, i64::MAX]).prop_map(Lives::PxAt),
        1 => select(vec![1, 0, 4_000_000_000, i64::MAX, i64::MAX / 1_000]).prop_map(Lives::ExAt),
        2 => Just(Lives::AsBefore),
    ]
}

fn commands() -> BoxedStrategy<Command> {
    use models::redis::ExpireIf::{Gt, Lt, Nx, Xx};
    use models::redis::SetIf;
    let only = option::of(select(vec![SetIf::Nx, SetIf::Xx]));
    let set = (keys(), values(), only, any::<bool>(), lives()).prop_map(|(key, value, only, get, lives)| {
        Command::Set { key: key.into(), value: value.into(), only, get, lives }
    });
    let millis = lengths().prop_map(Length::Millis);
    let seconds = select(vec![1, 60, 0, -1, i64::MAX, i64::MIN, i64::MAX / 1_000]).prop_map(Length::Seconds);
    let expire = (keys(), prop_oneof![3 => millis, 1 => seconds], option::of(select(vec![Nx, Xx, Gt, Lt])))
        .prop_map(|(key, length, only)| Command::Expire { key: key.into(), length, only });
    let of_a_key: [fn(models::redis::Key) -> Command; 9] = [
        |key| Command::Get { key },
        |key| Command::Del { key },
        |key| Command::Exists { key },
        |key| Command::Persist { key },
        |key| Command::Ttl { key },
        |key| Command::Pttl { key },
        |key| Command::Pexpiretime { key },
        |key| Command::Incr { key },
        |key| Command::Watch { key },
    ];
    let of_a_key = (keys(), select(of_a_key.to_vec())).prop_map(|(key, command)| command(key.into()));
    let setnx = (keys(), values()).prop_map(|(key, value)| Command::Setnx { key: key.into(), value: value.into() });
    let transaction = select(vec![
        Command::Multi,
        Command::Multi,
        Command::Exec,
        Command::Exec,
        Command::Exec,
        Command::Discard,
        Command::Unwatch,
    ]);
    prop_oneof![
        6 => set,
        4 => expire,
        10 => of_a_key,
        1 => setnx,
        5 => hashes(),
        4 => collections(),
        6 => scripts(),
        3 => fair_scripts(),
        3 => transaction,
        // Nobody is there to wait for: more than none would be waited for in vain.
        1 => (select(vec![0, -1]), select(vec![0, 5, -1]))
            .prop_map(|(replicas, timeout)| Command::Wait { replicas, timeout }),
        1 => (channels(), values()).prop_map(|(channel, message)| Command::Publish {
            channel: channel.into(),
            message: message.into(),
        }),
    ]
    .boxed()
}

fn hashes() -> BoxedStrategy<Command> {
    let by = select(vec![1, -1, 5, i64::MAX, i64::MIN]);
    prop_oneof![
        (keys(), fields(), values()).prop_map(|(key, field, value)| Command::Hset {
            key: key.into(),
            field: field.into(),
            value: value.into()
        }),
        (keys(), fields()).prop_map(|(key, field)| Command::Hget { key: key.into(), field: field.into() }),
        (keys(), fields()).prop_map(|(key, field)| Command::Hexists { key: key.into(), field: field.into() }),
        (keys(), fields()).prop_map(|(key, field)| Command::Hdel { key: key.into(), field: field.into() }),
        (keys(), fields(), by).prop_map(|(key, field, by)| Command::Hincrby {
            key: key.into(),
            field: field.into(),
            by
        }),
    ]
    .boxed()
}

/// On keys of their own, mostly.
fn collections() -> BoxedStrategy<Command> {
    let list = (values(), -2_i64..3, 0..5).prop_map(|(value, index, which)| match which {
        0 => ListCommand::Rpush(value.into()),
        1 => ListCommand::Lpop,
        2 => ListCommand::Lindex(index),
        3 => ListCommand::All,
        _ => ListCommand::Lrem(value.into()),
    });
    let sorted = (values(), scores(), 0..5).prop_map(|(value, score, which)| match which {
        0 => SortedCommand::Zadd(score, value.into()),
        1 => SortedCommand::Zscore(value.into()),
        2 => SortedCommand::Zincrby(score, value.into()),
        3 => SortedCommand::Zrem(value.into()),
        _ => SortedCommand::All,
    });
    let queue = select(vec!["l", "l", "a"]);
    let deadlines = select(vec!["z", "z", "a"]);
    prop_oneof![
        (queue, list).prop_map(|(key, what)| Command::List { key: key.into(), what }),
        (deadlines, sorted).prop_map(|(key, what)| Command::Sorted { key: key.into(), what }),
    ]
    .boxed()
}

fn scores() -> impl Strategy<Value = i64> {
    select(vec![0, 1, -1, 7, 1_700_000_000_000, -1_700_000_005_000, 9_007_199_254_740_991])
}

/// Of three that want one fair lock, whose keys nothing else touches.
fn fair_scripts() -> BoxedStrategy<Command> {
    let nows = select(vec![0, 3, 5, 6, 10, 14, 20]).prop_map(|ms: i64| 1_700_000_000_000 + ms);
    let owners = select(vec!["A", "B", "C"]);
    (owners, leases(), nows, any::<bool>(), any::<bool>(), 0..6)
        .prop_map(|(owner, px, now, up, told, which)| {
            let (key, owner, slot) = ("g".into(), owner.into(), 5);
            let queue = if up { Queue::MovesUp } else { Queue::Drifts };
            let told = if told { Told::NextEnd } else { Told::OwnDeadline };
            Script::from(match which {
                0..4 => FairScript::Lock { key, owner, px, now, slot, queue, told },
                4 => FairScript::Unlock { key, owner, px, now },
                _ => FairScript::Leave { key, owner, slot, queue },
            })
            .into()
        })
        .boxed()
}

fn scripts() -> BoxedStrategy<Command> {
    let request = option::of(select(vec![1, 2]));
    (keys(), values(), leases(), any::<bool>(), request, 0..9)
        .prop_map(|(key, value, px, leased, request, which)| {
            let (key, value, owner) = (key.into(), Value::from(value), Value::from(value));
            let script = match which {
                0 => Script::CompareAndDelete { key, value },
                1 => Script::CompareAndPexpire { key, value, px },
                2 => Script::LockWithToken { key, value, px: leased.then_some(px), counter: "a:token".into() },
                3 => Script::ExtendOrCreate { key, value, px },
                4 => Script::ExtendByAdding { key, value, px },
                5 => Script::HashLock { key, owner, px, request: request.and_then(std::num::NonZeroU64::new) },
                6 => Script::HashUnlock { key, owner, px, tells: leased },
                7 => Script::RaiseCounter { key, value, counter: "a:token".into(), to: px },
                _ => Script::HashExtend { key, owner, px },
            };
            script.into()
        })
        .boxed()
}

/// Commands with something wrong about their arguments, mostly.
fn mistakes() -> BoxedStrategy<Vec<&'static str>> {
    let options = vec(
        select(vec![
            "NX", "xx", "GET", "KEEPTTL", "PX", "EX", "EXAT", "PXAT", "5", "60000", "0", "-3", "abc", "1.5", "", "01",
        ]),
        0..5,
    );
    let set = (keys(), values(), options).prop_map(|(key, value, options)| {
        let mut words = vec!["SET", key, value];
        words.extend(options);
        words
    });
    let conditions = vec(select(vec!["NX", "XX", "gt", "LT", "ZZ"]), 0..3);
    let length = select(vec!["5", "60", "abc", "1.5", "", "+1", "07", "9223372036854775808"]);
    let expire =
        (select(vec!["EXPIRE", "pexpire"]), keys(), length, conditions).prop_map(|(name, key, length, words)| {
            let mut all = vec![name, key, length];
            all.extend(words);
            all
        });
    let names = select(vec![
        "SET",
        "SETNX",
        "GET",
        "DEL",
        "EXISTS",
        "EXPIRE",
        "PERSIST",
        "TTL",
        "PTTL",
        "PEXPIRETIME",
        "INCR",
        "HSET",
        "HGET",
        "HEXISTS",
        "HDEL",
        "HINCRBY",
        "EVAL",
        "MULTI",
        "EXEC",
        "DISCARD",
        "WATCH",
        "UNWATCH",
    ]);
    let few = (names, vec(select(vec!["a", "x", "1", "abc"]), 0..5)).prop_map(|(name, rest)| {
        let mut words = vec![name];
        words.extend(rest);
        words
    });
    prop_oneof![4 => set, 2 => expire, 3 => few]
        // What Redis takes in a form that the model does not know is left out.
        .prop_filter("a form that is not modelled", |words| {
            let args: Vec<Value> = words.iter().map(|word| Value::from(*word)).collect();
            Command::from_args(&args).is_ok()
        })
        .boxed()
}
