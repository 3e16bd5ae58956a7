//! What is watched, and who is told: `ZKWatchManager` of ZooKeeper 3.8.0.
//!
//! A watch tells once, of the node or of the session: whoever waits is told as well when the connection is lost, when there
//! is another, and when the session is over. What the session has to tell costs no watch: those that are set are set again
//! on the next connection.

use std::cell::Cell;
use std::rc::Rc;

use crate::zookeeper::{EventKind, Path, SetWatches, ZkEvent, Zxid};

/// Somebody who watches a node.
#[derive(Debug)]
pub struct Watch {
    path: Path,
    /// What the server was asked to tell of it. `None`: it has not answered.
    kind: Cell<Option<Kind>>,
    has_fired: Cell<bool>,
}

/// For which changes a node is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// It was there: of its next change.
    Data,
    /// It was not: of its creation.
    Exist,
}

impl Watch {
    /// Whether it has something to tell.
    #[must_use]
    pub const fn has_fired(&self) -> bool {
        self.has_fired.get()
    }
}

/// All that is watched, in the order in which it was asked for.
#[derive(Default, Debug)]
pub(super) struct Watches(Vec<Rc<Watch>>);

impl Watches {
    /// A server is about to be asked. What it tells before the answer is looked at is not lost.
    pub(super) fn begin(&mut self, path: Path) -> Rc<Watch> {
        let watch = Rc::new(Watch { path, kind: Cell::new(None), has_fired: Cell::new(false) });
        self.0.push(Rc::clone(&watch));
        watch
    }

    /// A server has answered: for what the node is watched, or that it is not.
    pub(super) fn settle(&mut self, watch: &Rc<Watch>, kind: Option<Kind>) {
        watch.kind.set(kind);
        if kind.is_none() {
            self.0.retain(|other| !Rc::ptr_eq(other, watch));
        }
    }

    /// How much is watched.
    pub(super) const fn count(&self) -> usize {
        self.0.len()
    }

    /// A server tells of a node: whoever watches it is told, and watches it no more.
    pub(super) fn tell(&mut self, event: ZkEvent) {
        // Nobody here watches children.
        if event.kind == EventKind::ChildrenChanged {
            return;
        }
        self.0.retain(|watch| {
            let is_meant = watch.path == event.path;
            if is_meant {
                watch.has_fired.set(true);
            }
            !is_meant
        });
    }

    /// Something about the session is told to all.
    pub(super) fn tell_all(&self) {
        self.0.iter().for_each(|watch| watch.has_fired.set(true));
    }

    /// Another session begins, in which nothing is watched.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// What the next server is to be asked for, if there is anything.
    pub(super) fn again(&self, since: Zxid) -> Option<SetWatches> {
        let of = |kind| {
            let mut paths: Vec<Path> =
                self.0.iter().filter(|watch| watch.kind.get() == Some(kind)).map(|watch| watch.path).collect();
            paths.sort_unstable();
            paths.dedup();
            paths
        };
        let (data, exist) = (of(Kind::Data), of(Kind::Exist));
        let is_any = !data.is_empty() || !exist.is_empty();
        is_any.then(|| SetWatches { since, data, exist, child: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_the_node_is_told_once_and_costs_the_watch() {
        let mut watches = Watches::default();
        let [one, other] = ["/a", "/b"].map(|path| watches.begin(path.into()));
        watches.settle(&one, Some(Kind::Data));
        watches.settle(&other, Some(Kind::Exist));
        let again = watches.again(Zxid(7)).expect("both are set");
        assert_eq!((again.data, again.exist), (vec!["/a".into()], vec!["/b".into()]));
        watches.tell(ZkEvent { kind: EventKind::Deleted, path: "/a".into() });
        assert!(one.has_fired() && !other.has_fired());
        watches.tell_all();
        assert!(other.has_fired());
        let again = watches.again(Zxid(7)).expect("that of /b is");
        assert_eq!((again.data, again.exist), (vec![], vec!["/b".into()]));
    }

    #[test]
    fn what_is_told_before_the_answer_is_looked_at_is_not_lost() {
        let mut watches = Watches::default();
        let watch = watches.begin("/a".into());
        assert_eq!(watches.again(Zxid(7)), None, "no server has said that it watches");
        watches.tell(ZkEvent { kind: EventKind::Deleted, path: "/a".into() });
        watches.settle(&watch, Some(Kind::Data));
        assert!(watch.has_fired());
        assert_eq!(watches.again(Zxid(7)), None, "the server has told, and tells no more");
    }
}
