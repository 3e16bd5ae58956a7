//! Fencing tokens from counters on several servers.
//!
//! Each server counts its grants in the script that takes the key. A count of one server says nothing of those that
//! other majorities have made: two majorities have a server in common, but the highest count may lie outside of it. So
//! the number must be *written back*: once a quorum has raised its counters to it, every later majority meets one
//! of them. (A read from a majority and a write to a majority, as in the register of Attiya, Bar-Noy and Dolev: no
//! consensus is needed.) The counters must outlive every lock: a server that forgets its counter takes the order away,
//! however long it stays out.

use spec::{LockName, Token};

use super::{Redlock, Votes};
use crate::lock::redlock::{MajorityToken, points};
use crate::redis::lock::COUNTER;
use crate::redis::{RedisHost, Script, Value};

impl<H: RedisHost> Redlock<H> {
    /// The token of a grant for which these servers voted. `None`: it was not written back, so that there is none.
    pub(super) async fn number(&self, host: &H, lock: LockName, value: &Value, votes: &Votes) -> Option<Option<Token>> {
        let highest = votes.highest();
        let next = highest.map(|count| Token(count.0.saturating_add(1)));
        match self.0.switches.token {
            MajorityToken::None => Some(None),
            MajorityToken::Max => Some(highest),
            MajorityToken::MaxPlusOne => Some(next),
            MajorityToken::WriteBack => {
                host.point(points::NUMBERED).await;
                let to = i64::try_from(next?.0).ok()?;
                let raise =
                    |_| Some(Script::RaiseCounter { key: lock, value: value.clone(), counter: COUNTER, to }.into());
                let raised = self.gather(host, raise, |_| false).await;
                (raised.yes() >= self.0.quorum).then_some(next)
            }
        }
    }
}
