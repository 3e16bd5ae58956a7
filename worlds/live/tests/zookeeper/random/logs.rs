//! What each server has written down, against what it answers.

use models::zookeeper::tree::Tree;
use models::zookeeper::{Body, Mode, NodeName, Path, ZkRequest};

use super::{Both, Trouble};
use crate::common::Outcome;
use crate::sequence::CLIENTS;
use crate::{COUNTS, count};

impl Both {
    /// What each server has written down makes the tree that they all answer from.
    pub(super) fn compare_logs(mut self) -> Outcome {
        for client in 0..CLIENTS {
            match self.ask(client, ZkRequest::create("/last".into(), "".into(), Mode::Ephemeral)) {
                Ok(()) => {}
                Err(Trouble::Unanswered) => return Err("in the end a server never answers".into()),
                Err(Trouble::Differs(why)) => return Err(why.into()),
            }
        }
        for server in 0..self.ensemble.size() {
            let mut tree = Tree::default();
            for logged in self.ensemble.server(server).logged()? {
                let applied = logged.apply(&mut tree);
                let is_same = applied.outcome.as_ref().err() == logged.change.as_ref().err();
                if applied.zxid != logged.zxid || !is_same {
                    return Err(format!("server {server} has written {logged:?}, the model does {applied:?}").into());
                }
            }
            self.compare_below(Path::ROOT, &tree)?;
        }
        Ok(())
    }

    fn compare_below(&mut self, path: Path, tree: &Tree) -> Outcome {
        let connection = self.clients[0].connection.as_mut().ok_or("it is connected")?;
        let answer = connection.ask(ZkRequest::GetChildren { path, watch: false })?.1.ok_or("it is answered")?;
        let Ok(Body::Children { mut names, stat }) = answer.outcome else {
            return Err(format!("{path}: {answer}").into());
        };
        names.sort();
        let told: Vec<NodeName> = tree.children(&path).into_iter().flatten().collect();
        // Where the servers of an ensemble are is there without having been agreed upon.
        let is_config = path == Path::from("/zookeeper/config");
        if names != told || !is_config && tree.stat(&path) != Ok(stat) {
            return Err(
                format!("{path}: the log has {told:?} and {:?}, not {names:?} and {stat:?}", tree.stat(&path)).into()
            );
        }
        count(&COUNTS.replies, 1);
        let parent = if path.is_root() { String::new() } else { path.to_string() };
        names.into_iter().try_for_each(|name| self.compare_below(Path::below(parent.as_str().into(), name), tree))
    }
}
