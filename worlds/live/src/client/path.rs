//! The way between a client and a server: here messages take their time, are lost or late, at the client's own end, which is
//! as far as the library under test can see. They come in the order in which they were sent; what is lost breaks its
//! direction of the connection: nothing later on it arrives.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::pending;
use std::rc::Rc;

use ::host::{Duration, Host, MonoTime, NodeId, Span};
use sim::Stream;

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
    Late(Duration),
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

/// How long messages take between a process and the servers for which that is more than the loopback has.
#[derive(Default)]
pub(super) struct Latencies(BTreeMap<NodeId, Latency>);

/// There, and back.
#[derive(Clone, Debug)]
pub(super) struct Latency {
    pub(super) spans: [Span; 2],
    pub(super) stream: Rc<RefCell<Stream>>,
}

impl Latencies {
    pub(super) fn insert(&mut self, server: NodeId, latency: Latency) {
        self.0.insert(server, latency);
    }

    fn of(&self, server: NodeId) -> Option<Latency> {
        self.0.get(&server).cloned()
    }
}

impl Latency {
    fn draw(&self, back: usize) -> Duration {
        self.stream.borrow_mut().draw(&self.spans[back])
    }
}

/// A connection's way to its server.
pub(super) struct Path {
    host: LiveHost,
    server: NodeId,
    latency: Option<Latency>,
    /// The way there, and the way back.
    ways: [OneWay; 2],
}

#[derive(Default)]
struct OneWay {
    /// When the last message on it comes through.
    last: Cell<MonoTime>,
    /// Something on it was lost.
    is_broken: Cell<bool>,
}

impl Path {
    /// Opens the way: never, if it is cut.
    pub(super) async fn open(host: &LiveHost, server: NodeId) -> Self {
        let cuts = host.meddlers().cut_off(server);
        if !cuts.is_empty() {
            cuts.into_iter().for_each(|strike| host.say(&Report::Met { strike }));
            pending::<()>().await;
        }
        let latency = host.latencies().of(server);
        if let Some(latency) = &latency {
            host.sleep(latency.draw(0) + latency.draw(1)).await;
        }
        Self { host: host.clone(), server, latency, ways: Default::default() }
    }

    /// Ends when the message has come through, or never.
    pub(super) async fn pass(&self, way: Way, operation: &str) {
        let back = usize::from(way != Way::Request);
        let OneWay { last, is_broken } = &self.ways[back];
        let mut takes = self.latency.as_ref().map_or(Duration::ZERO, |latency| latency.draw(back));
        if !is_broken.get() {
            let (fate, met) = self.host.meddlers().fate(self.server, way, operation);
            met.into_iter().for_each(|strike| self.host.say(&Report::Met { strike }));
            match fate {
                Fate::Passes => {}
                Fate::Late(by) => takes += by,
                Fate::Lost => is_broken.set(true),
            }
        }
        if is_broken.get() {
            return pending().await;
        }
        let now = self.host.monotonic();
        last.set(last.get().max(now + takes));
        let left = last.get() - now;
        if !left.is_zero() {
            self.host.sleep(left).await;
        }
    }
}

#[cfg(test)]
mod tests {
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
