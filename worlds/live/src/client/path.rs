//! The way between a client and a server: here messages are lost or late, at the client's own end, which is as far as the
//! library under test can see. What is lost breaks its direction of the connection: nothing later on it arrives.

use std::cell::{Cell, RefCell};
use std::future::pending;

use ::host::{Host, NodeId};

use super::LiveHost;
use crate::line::{Meddling, Report, Way};

/// What faults do to the messages of a process, while they are in force.
#[derive(Default)]
pub(super) struct Meddlers(RefCell<Vec<Meddler>>);

struct Meddler {
    what: Meddling,
    /// How many messages it was about.
    seen: u32,
}

/// What becomes of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Passes,
    Late(std::time::Duration),
    Lost,
}

impl Meddlers {
    pub(super) fn begin(&self, what: Meddling) {
        self.0.borrow_mut().push(Meddler { what, seen: 0 });
    }

    pub(super) fn end(&self, strike: usize) {
        self.0.borrow_mut().retain(|meddler| meddler.what.strike != strike);
    }

    /// What becomes of a message, and which strikes it meets.
    fn fate(&self, server: NodeId, way: Way, operation: &str) -> (Fate, Vec<usize>) {
        let (mut fate, mut met) = (Fate::Passes, Vec::new());
        for Meddler { what, seen } in self.0.borrow_mut().iter_mut() {
            let is_it = what.way == way && what.servers.contains(&server);
            if fate == Fate::Lost || !is_it || what.operation.as_ref().is_some_and(|other| other != operation) {
                continue;
            }
            *seen += 1;
            if what.nth.is_some_and(|nth| nth != *seen) {
                continue;
            }
            met.push(what.strike);
            fate = match (what.late, fate) {
                (Some(by), Fate::Late(other)) => Fate::Late(by + other),
                (Some(by), _) => Fate::Late(by),
                (None, _) => Fate::Lost,
            };
        }
        (fate, met)
    }

    /// The strikes that keep a connection from being opened.
    fn cut_off(&self, server: NodeId) -> Vec<usize> {
        let meddlers = self.0.borrow();
        let cuts = meddlers.iter().map(|meddler| &meddler.what).filter(|what| what.is_cut());
        let mut cuts: Vec<_> = cuts.filter(|what| what.servers.contains(&server)).map(|what| what.strike).collect();
        cuts.dedup();
        cuts
    }
}

/// A connection's way to its server.
pub(super) struct Path {
    host: LiveHost,
    server: NodeId,
    /// The way there, and the way back, once something on it was lost.
    is_broken: [Cell<bool>; 2],
}

impl Path {
    /// Opens the way: never, if it is cut.
    pub(super) async fn open(host: &LiveHost, server: NodeId) -> Self {
        let cuts = host.meddlers().cut_off(server);
        if !cuts.is_empty() {
            cuts.into_iter().for_each(|strike| host.say(&Report::Met { strike }));
            pending::<()>().await;
        }
        Self { host: host.clone(), server, is_broken: Default::default() }
    }

    /// Ends when the message has come through, or never.
    pub(super) async fn pass(&self, way: Way, operation: &str) {
        let is_broken = &self.is_broken[usize::from(way != Way::Request)];
        if !is_broken.get() {
            let (fate, met) = self.host.meddlers().fate(self.server, way, operation);
            met.into_iter().for_each(|strike| self.host.say(&Report::Met { strike }));
            match fate {
                Fate::Passes => return,
                Fate::Late(by) => return self.host.sleep(by).await,
                Fate::Lost => is_broken.set(true),
            }
        }
        pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MEMBER: NodeId = NodeId::new(1);

    fn meddling(operation: Option<&str>, nth: Option<u32>, late: Option<Duration>) -> Meddling {
        let operation = operation.map(str::to_owned);
        Meddling { strike: 3, servers: vec![MEMBER], way: Way::Reply, operation, nth, late }
    }

    #[test]
    fn what_matches_is_late_or_lost_and_what_does_not_passes() {
        let meddlers = Meddlers::default();
        let late = Duration::from_secs(15);
        meddlers.begin(meddling(Some("txn"), Some(2), Some(late)));
        let fate = |way, operation, server| meddlers.fate(server, way, operation);
        let passes = (Fate::Passes, Vec::new());
        assert_eq!(fate(Way::Reply, "txn", MEMBER), passes, "the first");
        assert_eq!(fate(Way::Reply, "get", MEMBER), passes);
        assert_eq!(fate(Way::Request, "txn", MEMBER), passes);
        assert_eq!(fate(Way::Reply, "txn", NodeId::new(2)), passes);
        assert_eq!(fate(Way::Reply, "txn", MEMBER), (Fate::Late(late), vec![3]));
        assert_eq!(meddlers.cut_off(MEMBER), Vec::<usize>::new());
        meddlers.end(3);
        meddlers.begin(meddling(None, None, None));
        assert_eq!(fate(Way::Reply, "txn", MEMBER), (Fate::Lost, vec![3]));
        assert_eq!((meddlers.cut_off(MEMBER), meddlers.cut_off(NodeId::new(2))), (vec![3], Vec::new()));
        meddlers.end(3);
        assert_eq!(fate(Way::Reply, "txn", MEMBER), passes);
    }
}
