//! Random requests: what they are made of.
//!
//! Few nodes, few values and four clients, so that they meet. Versions, and names that a server has made, are told by what
//! they are to the model then: the one that a node has, the one after it; the third child of its parent.

use models::zookeeper::{Body, Create, Delete, Mode, Multi, Op, Path, SetData, Value, ZkRequest};
use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any};
use proptest::sample::select;
use proptest::{option, prop_oneof};

/// How many clients there are.
pub(crate) const CLIENTS: usize = 4;

/// One thing that happens.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Step {
    /// A client asks, and begins a session before if it has none. Versions and made names are still [to be told](told).
    Ask(usize, ZkRequest),
    /// A client ends its session.
    Close(usize),
    /// A client's connection is lost. It goes on with its session, and its watches, when it asks next.
    Lose(usize),
    /// A client goes on with its session on another connection, and writes on the one that it had before.
    Move(usize),
    /// The server is killed, or who leads them, and starts again.
    Restart,
}

/// So many steps; `restarts`: half way, servers start again.
pub(crate) fn sequences(length: usize, restarts: bool) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        90 => (0..CLIENTS, requests()).prop_map(|(client, request)| Step::Ask(client, request)),
        3 => (0..CLIENTS).prop_map(Step::Close),
        4 => (0..CLIENTS).prop_map(Step::Lose),
        1 => (0..CLIENTS).prop_map(Step::Move),
    ];
    vec(step, length).prop_map(move |mut steps| {
        if restarts {
            steps.insert(length / 2, Step::Restart);
        }
        steps
    })
}

fn requests() -> BoxedStrategy<ZkRequest> {
    let watch = || proptest::bool::weighted(0.8);
    prop_oneof![
        24 => creates().prop_map(|create| ZkRequest::Create(Box::new(create))),
        12 => deletes().prop_map(ZkRequest::Delete),
        14 => sets().prop_map(|set| ZkRequest::SetData(Box::new(set))),
        12 => (paths(), watch()).prop_map(|(path, watch)| ZkRequest::Exists { path, watch }),
        10 => (paths(), watch()).prop_map(|(path, watch)| ZkRequest::GetData { path, watch }),
        12 => (paths(), watch()).prop_map(|(path, watch)| ZkRequest::GetChildren { path, watch }),
        14 => vec(ops(), 0..5).prop_map(|ops| ZkRequest::Multi(Box::new(Multi { ops, errand: None }))),
        1 => paths().prop_map(|path| ZkRequest::Sync { path }),
        1 => Just(ZkRequest::Ping),
    ]
    .boxed()
}

fn ops() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => creates().prop_map(Op::Create),
        2 => deletes().prop_map(Op::Delete),
        2 => sets().prop_map(Op::SetData),
        2 => (paths(), versions()).prop_map(|(path, version)| Op::Check { path, version }),
    ]
}

fn creates() -> impl Strategy<Value = Create> {
    let named = (plain(), select(vec![Mode::Persistent, Mode::Persistent, Mode::Ephemeral, Mode::Container]));
    let prefixes = select(vec!["/L/lock-", "/L/lock-", "/L/lock-", "/L/x-", "/a/", "/a/b/s-", "/s-", "/none/s-"]);
    let sequential = select(vec![Mode::EphemeralSequential, Mode::EphemeralSequential, Mode::PersistentSequential]);
    let queued = (prefixes.prop_map(Path::from), sequential);
    (prop_oneof![3 => named, 2 => queued], values()).prop_map(|((path, mode), data)| Create { path, data, mode })
}

fn deletes() -> impl Strategy<Value = Delete> {
    (paths(), versions()).prop_map(|(path, version)| Delete { path, version })
}

fn sets() -> impl Strategy<Value = SetData> {
    (paths(), values(), versions()).prop_map(|(path, data, version)| SetData { path, data, version })
}

fn values() -> impl Strategy<Value = Value> {
    select(vec!["", "v", "w", "vv"]).prop_map(Value::from)
}

fn plain() -> impl Strategy<Value = Path> {
    // The parents more often than what is below them.
    let seldom = select(vec!["/", "/none/k", "/zookeeper", "/zookeeper/quota", "/L/lock-0000000003"]);
    let often = select(vec!["/L", "/L", "/L", "/L/x", "/L/x", "/a", "/a/b", "/a/b/c"]);
    prop_oneof![9 => often, 1 => seldom].prop_map(Path::from)
}

fn paths() -> impl Strategy<Value = Path> {
    let children = (select(vec!["/L", "/L", "/L", "/a", ""]), select(NTH.to_vec()));
    let children = children.prop_map(|(parent, nth)| Path::below(parent.into(), nth.into()));
    prop_oneof![1 => plain(), 1 => children]
}

/// Words for names that a server has made, until it is known what they are.
const NTH: [&str; 3] = ["?first", "?second", "?third"];

/// Words for versions, until it is known what they are. Mostly none is asked for.
fn versions() -> impl Strategy<Value = Option<i32>> {
    option::weighted(0.3, any::<u8>().prop_map(|word| i32::from(word % 4)))
}

/// The request as it is asked, of what is there then: `look` finds that out.
pub(crate) fn told(request: &ZkRequest, look: &mut dyn FnMut(ZkRequest) -> Option<Body>) -> ZkRequest {
    let mut request = request.clone();
    match &mut request {
        ZkRequest::Create(create) => create.path = name(create.path, look),
        ZkRequest::Delete(delete) => tell(&mut delete.path, &mut delete.version, look),
        ZkRequest::SetData(set) => tell(&mut set.path, &mut set.version, look),
        ZkRequest::Exists { path, .. }
        | ZkRequest::GetData { path, .. }
        | ZkRequest::GetChildren { path, .. }
        | ZkRequest::Sync { path } => *path = name(*path, look),
        ZkRequest::Multi(multi) => {
            for op in &mut multi.ops {
                match op {
                    Op::Create(create) => create.path = name(create.path, look),
                    Op::Delete(delete) => tell(&mut delete.path, &mut delete.version, look),
                    Op::SetData(set) => tell(&mut set.path, &mut set.version, look),
                    Op::Check { path, version } => tell(path, version, look),
                }
            }
        }
        ZkRequest::Connect(_) | ZkRequest::Ping | ZkRequest::CloseSession | ZkRequest::SetWatches(_) => {}
    }
    request
}

/// The child that the word means; if there is none, the word itself, which is no node's name.
fn name(path: Path, look: &mut dyn FnMut(ZkRequest) -> Option<Body>) -> Path {
    let Some(nth) = NTH.iter().position(|word| path.name() == (*word).into()) else { return path };
    let Some(parent) = path.parent() else { return path };
    let Some(Body::Children { names, .. }) = look(ZkRequest::GetChildren { path: parent, watch: false }) else {
        return path;
    };
    let children = names.into_iter().filter(|name| *name != "zookeeper".into());
    children.collect::<Vec<_>>().get(nth).map_or(path, |name| Path::below(path.parent_name(), *name))
}

fn tell(path: &mut Path, version: &mut Option<i32>, look: &mut dyn FnMut(ZkRequest) -> Option<Body>) {
    *path = name(*path, look);
    let Some(word) = version else { return };
    let there = look(ZkRequest::Exists { path: *path, watch: false });
    let is = there.and_then(|body| body.stat().map(|stat| stat.version)).unwrap_or(0);
    *version = Some(match word {
        // The right one more often than others.
        0 | 1 => is,
        2 => is + 1,
        _ => 0,
    });
}
