//! What each request makes of the tree; the real servers answered the same (see the transcripts).

use super::*;

const A: SessionId = SessionId(0xa);
const B: SessionId = SessionId(0xb);

/// A tree with two sessions and `/L`.
fn tree() -> Tree {
    let mut tree = Tree::default();
    for session in [A, B] {
        tree.apply(&Change::Open { session, timeout: Millis(6_000) }, None);
    }
    create(&mut tree, A, "/L", Mode::Persistent).expect("it is new");
    tree
}

fn create(tree: &mut Tree, session: SessionId, path: &str, mode: Mode) -> Result<String, ZkError> {
    let op = Op::Create(Create { path: path.into(), data: "".into(), mode });
    tree.apply(&Change::One { session, op }, None).outcome.map(|body| match body {
        Body::Created { path, .. } => path.to_string(),
        other => panic!("{other}"),
    })
}

fn delete(tree: &mut Tree, path: &str, version: Option<i32>) -> Result<Body, ZkError> {
    let op = Op::Delete(Delete { path: path.into(), version });
    tree.apply(&Change::One { session: A, op }, None).outcome
}

fn multi(tree: &mut Tree, ops: Vec<Op>) -> Applied {
    tree.apply(&Change::Multi { session: A, multi: Multi { ops, errand: None } }, None)
}

fn stat(tree: &Tree, path: &str) -> Stat {
    tree.stat(&path.into()).expect("it is there")
}

#[test]
fn numbers_are_the_parents_and_every_creation_counts_but_no_failure() {
    let mut tree = tree();
    let sequential = Mode::EphemeralSequential;
    assert_eq!(create(&mut tree, A, "/L/lock-", sequential).as_deref(), Ok("/L/lock-0000000000"));
    assert_eq!(create(&mut tree, B, "/L/lock-", sequential).as_deref(), Ok("/L/lock-0000000001"));
    assert_eq!((stat(&tree, "/L").cversion, stat(&tree, "/L").children), (2, 2));
    assert_eq!(stat(&tree, "/L").pzxid, stat(&tree, "/L/lock-0000000001").czxid);
    assert_eq!(stat(&tree, "/L/lock-0000000000").owner, Some(A));
    delete(&mut tree, "/L/lock-0000000000", None).expect("it is there");
    assert_eq!(create(&mut tree, A, "/L/lock-", sequential).as_deref(), Ok("/L/lock-0000000002"));
    assert_eq!(stat(&tree, "/L").cversion, 4, "three came and one went");
    assert_eq!(create(&mut tree, A, "/L/x-", Mode::PersistentSequential).as_deref(), Ok("/L/x-0000000003"));
    let before = tree.zxid();
    assert_eq!(create(&mut tree, A, "/L/lock-0000000001", Mode::Ephemeral), Err(ZkError::NodeExists));
    assert_eq!(tree.zxid(), before.next(), "what fails has a number of its own");
    assert_eq!(create(&mut tree, A, "/L/lock-", sequential).as_deref(), Ok("/L/lock-0000000004"));
}

#[test]
fn numbers_begin_anew_with_another_parent_and_stay_at_the_highest() {
    let mut tree = tree();
    create(&mut tree, A, "/L/lock-", Mode::EphemeralSequential).expect("it is new");
    delete(&mut tree, "/L/lock-0000000000", None).expect("it is there");
    delete(&mut tree, "/L", None).expect("it is empty");
    create(&mut tree, A, "/L", Mode::Persistent).expect("it is new");
    assert_eq!(create(&mut tree, A, "/L/lock-", Mode::EphemeralSequential).as_deref(), Ok("/L/lock-0000000000"));
    tree.set_created(&"/L".into(), i32::MAX);
    let last = create(&mut tree, A, "/L/lock-", Mode::EphemeralSequential);
    assert_eq!(last.as_deref(), Ok("/L/lock-2147483647"));
    assert_eq!(create(&mut tree, A, "/L/lock-", Mode::EphemeralSequential), Err(ZkError::NodeExists));
    delete(&mut tree, "/L/lock-2147483647", None).expect("it is there");
    assert_eq!(create(&mut tree, A, "/L/lock-", Mode::EphemeralSequential), last);
}

#[test]
fn what_cannot_be_done_is_refused_for_the_first_reason() {
    let mut tree = tree();
    create(&mut tree, A, "/L/e", Mode::Ephemeral).expect("it is new");
    assert_eq!(create(&mut tree, A, "/L/e/k", Mode::Persistent), Err(ZkError::NoChildrenForEphemerals));
    assert_eq!(create(&mut tree, A, "/no/k", Mode::Persistent), Err(ZkError::NoNode));
    assert_eq!(create(&mut tree, A, "/", Mode::Persistent), Err(ZkError::NodeExists));
    assert_eq!(delete(&mut tree, "/L", None), Err(ZkError::NotEmpty));
    assert_eq!(delete(&mut tree, "/L", Some(5)), Err(ZkError::BadVersion));
    assert_eq!(delete(&mut tree, "/", None), Err(ZkError::BadArguments));
    assert_eq!(delete(&mut tree, "/zookeeper/quota", None), Err(ZkError::BadArguments));
    assert_eq!(delete(&mut tree, "/gone", None), Err(ZkError::NoNode));
    assert_eq!(create(&mut tree, SessionId(9), "/M", Mode::Persistent), Err(ZkError::SessionExpired));
    assert_eq!(stat(&tree, "/").cversion, 0, "a fresh root is at -1: two children, one of which was created");
}

#[test]
fn a_multi_is_done_whole_or_leaves_nothing() {
    let mut tree = tree();
    let made = |path: &str, mode| Op::Create(Create { path: path.into(), data: "".into(), mode });
    let set = |version| Op::SetData(SetData { path: "/L".into(), data: "x".into(), version });
    let before = tree.clone();
    let ops = vec![
        made("/L/a", Mode::Persistent),
        set(Some(0)),
        Op::Delete(Delete { path: "/L/a".into(), version: None }),
        Op::Check { path: "/gone".into(), version: None },
        set(None),
    ];
    let failed = multi(&mut tree, ops.clone());
    assert_eq!(failed.outcome, Ok(Body::MultiFailed { at: 3, error: ZkError::NoNode, of: 5 }));
    assert!(failed.happened.is_empty());
    assert_eq!(tree.zxid(), before.zxid().next());
    assert_eq!(Tree { zxid: before.zxid, last: before.last, ..tree.clone() }, before);
    let done = multi(&mut tree, ops[..3].to_vec());
    assert!(matches!(&done.outcome, Ok(Body::Multi { results }) if results.len() == 3));
    let told: Vec<What> = done.happened.iter().map(|happened| happened.what).collect();
    assert_eq!(told, [What::Created, What::Written, What::Deleted]);
    assert_eq!(stat(&tree, "/L").version, 1);
    let two = vec![made("/L/s", Mode::PersistentSequential), made("/L/s", Mode::PersistentSequential)];
    multi(&mut tree, two);
    assert_eq!(tree.children(&"/L".into()).map(Iterator::count), Ok(2));
}

#[test]
fn a_session_takes_with_it_what_is_ephemeral_in_it_and_nothing_else() {
    let mut tree = tree();
    create(&mut tree, A, "/L/a", Mode::Ephemeral).expect("it is new");
    create(&mut tree, A, "/L/p", Mode::Persistent).expect("it is new");
    create(&mut tree, B, "/L/b", Mode::Ephemeral).expect("it is new");
    let closed = tree.apply(&Change::Close { session: A }, None);
    assert_eq!(closed.happened, [Happened { path: "/L/a".into(), what: What::Deleted }]);
    let left: Vec<String> = tree.children(&"/L".into()).expect("it is there").map(|name| name.to_string()).collect();
    assert_eq!(left, ["b", "p"]);
    assert_eq!(create(&mut tree, A, "/L/again", Mode::Ephemeral), Err(ZkError::SessionExpired));
    assert_eq!(stat(&tree, "/L").pzxid, closed.zxid);
}

#[test]
fn a_container_is_unused_once_its_last_child_is_gone() {
    let mut tree = tree();
    create(&mut tree, A, "/C", Mode::Container).expect("it is new");
    assert_eq!(tree.unused_containers().count(), 0, "it never had one");
    create(&mut tree, A, "/C/k", Mode::Ephemeral).expect("a container has children");
    let reap = Change::Reap { path: "/C".into() };
    assert_eq!(tree.apply(&reap, None).outcome, Err(ZkError::NotEmpty));
    delete(&mut tree, "/C/k", None).expect("it is there");
    assert_eq!(tree.unused_containers().collect::<Vec<_>>(), ["/C".into()]);
    assert_eq!(tree.apply(&reap, None).outcome, Ok(Body::Deleted));
    assert_eq!(tree.apply(&Change::Reap { path: "/L".into() }, None).outcome, Err(ZkError::BadVersion));
}

#[test]
fn who_watches_hears_of_the_node_and_of_its_parents_children() {
    let event = |kind, path: &str| ZkEvent { kind, path: path.into() };
    let told = |what| Happened { path: "/L/a".into(), what }.events();
    let children = Some(event(EventKind::ChildrenChanged, "/L"));
    assert_eq!(told(What::Created), (event(EventKind::Created, "/L/a"), children));
    assert_eq!(told(What::Deleted), (event(EventKind::Deleted, "/L/a"), children));
    assert_eq!(told(What::Written), (event(EventKind::DataChanged, "/L/a"), None));
}
