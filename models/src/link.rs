//! A connection that is opened when it is first used, and again after it broke.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use host::{CallError, Calls, ConnectError, Connection, Duration, Request, Server};

/// One client's way to one server.
///
/// As in the client libraries: one connection for all callers, one timeout for connecting and for each
/// call, a call that times out costs the connection, and nothing is sent a second time.
pub struct Link<H: Calls<R>, R: Request> {
    server: Server<R>,
    timeout: Duration,
    connection: RefCell<Option<Rc<H::Connection>>>,
}

/// Why there is no reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkError {
    /// No connection: the request was not sent.
    NotSent(ConnectError),
    /// Sent, but not answered: it may have been served.
    NoReply(CallError),
}

impl<H: Calls<R>, R: Request> Link<H, R> {
    /// A link that is not open yet.
    #[must_use]
    pub const fn new(server: Server<R>, timeout: Duration) -> Self {
        Self { server, timeout, connection: RefCell::new(None) }
    }

    /// Where it leads.
    #[must_use]
    pub const fn server(&self) -> Server<R> {
        self.server
    }

    /// Whether it was open, and the other end has closed it since.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.connection.borrow().as_ref().is_some_and(|connection| !connection.is_open())
    }

    /// Whether it is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.connection.borrow().as_ref().is_some_and(|connection| connection.is_open())
    }

    /// Opens it, if it is not open: also if the other end has closed it since it was last used.
    ///
    /// # Errors
    /// [`ConnectError`], as the host found it. The next call tries again.
    pub async fn open(&self, host: &H) -> Result<(), ConnectError> {
        if self.is_open() {
            return Ok(());
        }
        self.connection.take();
        self.dial(host).await.map(drop)
    }

    /// Sends a request and waits for its reply.
    ///
    /// # Errors
    /// [`LinkError`], which tells whether the request was sent.
    pub fn call(&self, host: &H, request: R) -> impl Future<Output = Result<R::Reply, LinkError>> {
        // Not an `async fn`, whose future would have room for the request twice, and move it from one to the other.
        let timeout = self.timeout;
        async move {
            let open = self.connection.borrow().clone();
            let connection = match open {
                Some(connection) => connection,
                None => self.dial(host).await.map_err(LinkError::NotSent)?,
            };
            let outcome = connection.call(request, timeout).await;
            if outcome.is_err() {
                self.forget(&connection);
            }
            outcome.map_err(LinkError::NoReply)
        }
    }

    async fn dial(&self, host: &H) -> Result<Rc<H::Connection>, ConnectError> {
        let connection = Rc::new(host.connect(self.server, self.timeout).await?);
        self.connection.replace(Some(Rc::clone(&connection)));
        Ok(connection)
    }

    /// Another task may have opened a new connection in the meantime: that one stays.
    fn forget(&self, broken: &Rc<H::Connection>) {
        self.connection.borrow_mut().take_if(|connection| Rc::ptr_eq(connection, broken));
    }
}

impl<H: Calls<R>, R: Request> fmt::Debug for Link<H, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("server", &self.server)
            .field("open", &self.connection.borrow().is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Guard;
    use crate::redis::{Command, Reply};
    use crate::testing::{Bench, Mishap, REDIS};

    fn link() -> Link<Bench, Command> {
        Link::new(REDIS, Duration::from_secs(1))
    }

    fn call(bench: &Bench, link: &Link<Bench, Command>) -> Result<Reply, LinkError> {
        bench.run(link.call(bench, Command::Get { key: "orders".into() })).expect("it ends")
    }

    fn no_more_connections(bench: &Bench) {
        bench.mishap("connect", Mishap::RequestLost);
    }

    #[test]
    fn it_connects_once() {
        let (bench, link) = (Bench::new(Guard::Open), link());
        bench.run(link.open(&bench));
        no_more_connections(&bench);
        assert_eq!(call(&bench, &link), Ok(Reply::Nil));
        assert_eq!(bench.run(link.open(&bench)), Some(Ok(())));
    }

    #[test]
    fn it_connects_again_after_it_broke() {
        let (bench, link) = (Bench::new(Guard::Open), link());
        bench.mishap("get", Mishap::ReplyLost);
        assert_eq!(call(&bench, &link), Err(LinkError::NoReply(CallError::TimedOut)));
        assert_eq!(call(&bench, &link), Ok(Reply::Nil));
    }

    #[test]
    fn what_the_other_end_has_closed_is_opened_before_it_is_used() {
        let (bench, link) = (Bench::new(Guard::Open), link());
        bench.run(link.open(&bench));
        link.connection.borrow().as_ref().expect("it is open").close();
        assert_eq!(bench.run(link.open(&bench)), Some(Ok(())));
        assert_eq!(call(&bench, &link), Ok(Reply::Nil));
    }

    #[test]
    fn it_connects_again_after_it_could_not() {
        let (bench, link) = (Bench::new(Guard::Open), link());
        no_more_connections(&bench);
        assert_eq!(call(&bench, &link), Err(LinkError::NotSent(ConnectError::Refused)));
        assert_eq!(call(&bench, &link), Ok(Reply::Nil));
    }

    #[test]
    fn a_late_failure_does_not_cost_the_next_connection() {
        let (bench, link) = (Bench::new(Guard::Open), link());
        let connect = || bench.run(link.dial(&bench)).expect("it ends").expect("a connection");
        let first = connect();
        link.forget(&first);
        connect();
        link.forget(&first);
        no_more_connections(&bench);
        assert_eq!(call(&bench, &link), Ok(Reply::Nil));
    }
}
