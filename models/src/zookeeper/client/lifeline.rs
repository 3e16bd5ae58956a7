//! The library's loop: `SendThread` of ZooKeeper 3.8.0. It connects, keeps the session alive, and says what has become of it.
//!
//! | `ClientCnxn.java`, `ClientCnxnSocketNIO.java` | here |
//! |---|---|
//! | `run`: for as long as the session lives | `live`, `live_once` |
//! | `startConnect`, `primeConnection`, `onConnected` | `connect` |
//! | `run`: `to`, `timeToNextPing` | `keep`, `until_ping` |
//! | `sendPing` | `ping` |
//! | `cleanAndNotifyState`, `cleanup` | `put_away` |

use std::cell::Cell;
use std::rc::Rc;

use host::{Calls, Connection, Duration, Either, MonoTime, Part, Purpose, first};

use super::hosts::Hosts;
use super::{Client, Line, Millis, Session};
use crate::zookeeper::{Connect, Connected, ZkHost, ZkReply, ZkRequest, Zxid};

/// After all servers were tried (`hostProvider.next(1000)`), and at most before each that is not the first.
const BETWEEN: Duration = Duration::from_secs(1);
/// Between the loss of a connection and the news of it (`ClientCnxnSocketNIO.cleanup`).
const CLEANUP: Duration = Duration::from_millis(100);
/// Who has said nothing for so long pings that much earlier.
const EARLIER: Duration = Duration::from_secs(1);
/// `MAX_SEND_PING_INTERVAL`
const MOST_IDLE: Duration = Duration::from_secs(10);

/// Why a connection came to nothing.
enum Lost {
    /// It broke, or nothing was heard on it, or there never was one.
    Connection,
    /// The server said that the session is over.
    Session,
}

/// How long the library waits.
#[derive(Clone, Copy)]
struct Patience {
    /// For a server to answer that it connects to.
    connect: Duration,
    /// For any word on a connection.
    read: Duration,
}

impl Patience {
    fn of(timeout: Millis, servers: usize) -> Self {
        let (timeout, servers) = (timeout.0, u32::try_from(servers).expect("few servers"));
        Self { connect: Millis(timeout / servers).as_duration(), read: Millis(timeout * 2 / 3).as_duration() }
    }

    /// Until it pings, if it sent something so long ago. `None`: now.
    fn until_ping(self, idle: Duration) -> Option<Duration> {
        let earlier = if idle > EARLIER { EARLIER } else { Duration::ZERO };
        let left = (self.read / 2).checked_sub(idle + earlier).filter(|left| !left.is_zero())?;
        (idle <= MOST_IDLE).then_some(left)
    }
}

impl<H: ZkHost> Client<H> {
    /// One session after the other.
    pub(super) async fn live(&self, host: &H) {
        loop {
            let session = self.session();
            let is_given_up = async {
                while !session.is_expired() {
                    self.changed().await;
                }
            };
            let _ = first(self.live_once(host, &session), is_given_up).await;
            self.leave_line();
            self.expire(&session);
            self.0.session.replace(Rc::default());
            self.0.last_seen.set(Zxid::default());
            self.0.watches.borrow_mut().clear();
            self.0.bell.ring();
        }
    }

    /// One session, until a server says that it is over.
    async fn live_once(&self, host: &H, session: &Session) {
        let count = self.0.servers.len();
        let mut hosts = Hosts::shuffled(count, || host.random(Purpose::Recipe));
        let mut patience = Patience::of(self.0.asked, count);
        let mut is_first = true;
        loop {
            let lost = match self.connect(host, hosts.next(), patience, &mut is_first).await {
                Ok((connection, connected)) => {
                    hosts.connected();
                    patience = Patience::of(connected.timeout, count);
                    let line = self.on_connected(host, connection, connected);
                    self.keep(host, &line, patience).await;
                    self.leave_line();
                    Lost::Connection
                }
                Err(lost) => lost,
            };
            match lost {
                Lost::Session => return,
                Lost::Connection => self.put_away(host, session).await,
            }
        }
    }

    /// Whoever waits for something on the connection waits for it no more, which closes it.
    fn leave_line(&self) {
        if let Some(line) = self.0.line.take() {
            line.is_over.set(true);
            self.0.bell.ring();
        }
    }

    /// Connects to a server, and begins the session there or goes on with it.
    async fn connect(
        &self,
        host: &H,
        (server, is_round): (usize, bool),
        patience: Patience,
        is_first: &mut bool,
    ) -> Result<(<H as Calls<ZkRequest>>::Connection, Connected), Lost> {
        if is_round {
            host.sleep(BETWEEN).await;
        }
        if !*is_first {
            let most = u64::try_from(BETWEEN.as_millis()).expect("a second");
            host.sleep(Duration::from_millis(host.random(Purpose::Recipe) % most)).await;
        }
        let session = self.session();
        session.is_connected.set(false);
        self.0.bell.ring();
        let opened = <H as Calls<ZkRequest>>::connect(host, self.0.servers[server], patience.connect).await;
        let connection = opened.map_err(|_| Lost::Connection)?;
        *is_first = false;
        let (last_seen, timeout) = (self.0.last_seen.get(), self.0.asked);
        let request = Connect { last_seen, timeout, session: session.credentials.get() };
        match connection.call(ZkRequest::Connect(Box::new(request)), patience.connect).await {
            Ok(ZkReply::Connected(connected)) => Ok((connection, *connected)),
            Ok(ZkReply::Expired) => Err(Lost::Session),
            // A server that is behind what the client has seen closes the connection.
            Ok(ZkReply::Answer(_)) | Err(_) => Err(Lost::Connection),
        }
    }

    /// The session is there. What was watched is asked for first, then what waits.
    fn on_connected(
        &self,
        host: &H,
        connection: <H as Calls<ZkRequest>>::Connection,
        connected: Connected,
    ) -> Rc<Line<H>> {
        let now = host.monotonic();
        let (sent, heard) = (Cell::new(now), Cell::new(now));
        let line = Rc::new(Line { connection, sent, heard, is_over: Cell::new(false) });
        let session = self.session();
        session.credentials.set(Some(connected.session));
        session.timeout.set(Some(connected.timeout));
        session.is_connected.set(true);
        session.suspended.set(None);
        let again = self.0.watches.borrow().again(self.0.last_seen.get());
        if let Some(again) = again {
            self.aside(host, &line, ZkRequest::SetWatches(Box::new(again)));
        }
        self.0.line.replace(Some(Rc::clone(&line)));
        self.0.watches.borrow().tell_all();
        self.0.bell.ring();
        line
    }

    /// Keeps the session alive on that connection for as long as that lasts.
    async fn keep(&self, host: &H, line: &Rc<Line<H>>, patience: Patience) {
        loop {
            let now = host.monotonic();
            let idle = |since: &Cell<MonoTime>| now - since.get();
            let Some(mut left) = patience.read.checked_sub(idle(&line.heard)).filter(|left| !left.is_zero()) else {
                return;
            };
            match patience.until_ping(idle(&line.sent)) {
                Some(until_ping) => left = left.min(until_ping),
                None => self.aside(host, line, ZkRequest::Ping),
            }
            let changed = self.changed();
            match first(line.connection.pushed(), first(changed, host.sleep(left))).await {
                Either::Left(Some(event)) => {
                    line.heard.set(host.monotonic());
                    self.0.watches.borrow_mut().tell(event);
                    self.0.bell.ring();
                }
                Either::Left(None) => return,
                Either::Right(_) => {}
            }
        }
    }

    /// Sends something whose answer nobody waits for.
    fn aside(&self, host: &H, line: &Rc<Line<H>>, request: ZkRequest) {
        line.sent.set(host.monotonic());
        let (client, own_host, line) = (self.clone(), host.clone(), Rc::clone(line));
        drop(host.spawn(Part::RENEWAL, async move { _ = client.send(&own_host, &line, request).await }));
    }

    /// The connection is no more: whoever waits for an answer is told, and then the program is.
    async fn put_away(&self, host: &H, session: &Session) {
        host.sleep(CLEANUP).await;
        self.0.losses.update(|losses| losses + 1);
        if session.suspended.get().is_none() {
            session.suspended.set(Some(host.wall()));
            session.suspensions.update(|times| times + 1);
        }
        self.0.watches.borrow().tell_all();
        self.0.bell.ring();
    }

    /// The program is told that the session is over.
    fn expire(&self, session: &Session) {
        session.is_expired.set(true);
        session.is_connected.set(false);
        self.0.watches.borrow().tell_all();
        self.0.bell.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ping_comes_after_a_third_of_the_session_and_a_second_earlier_to_who_looks() {
        let patience = Patience::of(Millis(10_000), 3);
        let ms = Duration::from_millis;
        assert_eq!((patience.connect, patience.read), (ms(3_333), ms(6_666)));
        let left = |idle| patience.until_ping(ms(idle)).map(|left| left.as_millis());
        assert_eq!([left(0), left(1_000), left(1_001), left(2_333)], [Some(3_333), Some(2_333), Some(1_332), None]);
        // Long sessions: at most 10 s, if it looks.
        let long = Patience::of(Millis(60_000), 1);
        assert!(long.until_ping(ms(10_000)).is_some() && long.until_ping(ms(10_001)).is_none());
    }
}
