//! The ways to take the key, and to come by a token.

use spec::Token;

use super::{SingleRedis, Way};
use crate::link::LinkError;
use crate::lock::{OnDenied, Take, TokenSource, points};
use crate::redis::{Command, ExpireIf, Key, Length, RedisHost, Reply, Script, Value};

/// Why the client does not know the key to be its own.
pub(super) enum NotTaken {
    /// It exists.
    Held,
    /// Nobody was asked.
    NotSent,
    /// Asked, but not clearly answered: it may be the client's all the same.
    Unclear,
}

impl From<LinkError> for NotTaken {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::NotSent(_) => Self::NotSent,
            LinkError::NoReply(_) => Self::Unclear,
        }
    }
}

/// The key that counts the grants of all locks: from grant to grant of any of them, tokens rise.
pub const COUNTER: Key = Key::fixed("token");

impl<H: RedisHost, W: Way<H>> SingleRedis<H, W> {
    /// Asks for the key, once. Gives the token, if the lock has one.
    pub(super) async fn take(&self, host: &H, key: Key, value: &Value) -> Result<Option<Token>, NotTaken> {
        let switches = &self.0.switches;
        let drawn = match switches.token {
            TokenSource::IncrBeforeSet => Some(self.draw(host).await?),
            _ => None,
        };
        let px = match switches.take {
            Take::OneCommand => self.0.ttl.map(|ttl| ttl.px),
            Take::SetThenExpire => None,
        };
        let value_ = value.clone();
        let command = match switches.token {
            TokenSource::IncrInScript => Script::LockWithToken { key, value: value_, px, counter: COUNTER }.into(),
            _ => Command::set_nx(key, value_, px),
        };
        let counted = match self.0.link.call(host, command).await? {
            Reply::Ok => None,
            Reply::Int(count @ 0..) => Some(Token(count.cast_unsigned())),
            Reply::Nil => {
                self.help_to_expire(host, key).await;
                return Err(NotTaken::Held);
            }
            _ => return Err(NotTaken::Unclear),
        };
        if switches.take == Take::SetThenExpire {
            self.let_expire(host, key).await?;
        }
        Ok(match switches.token {
            TokenSource::None => None,
            TokenSource::IncrInScript => counted,
            TokenSource::IncrBeforeSet => drawn,
            TokenSource::CounterPerClient => Some(self.0.memory.count()),
            TokenSource::OwnerValue => Some(value.as_token()),
        })
    }

    /// Draws a number before anything is known of the key.
    async fn draw(&self, host: &H) -> Result<Token, NotTaken> {
        // Whatever becomes of this, the key was not asked for.
        let token = match self.0.link.call(host, Command::Incr { key: COUNTER }).await {
            Ok(Reply::Int(count @ 0..)) => Token(count.cast_unsigned()),
            _ => return Err(NotTaken::NotSent),
        };
        host.point(points::COUNTED).await;
        Ok(token)
    }

    /// What a client that is denied does for a key that may never expire.
    async fn help_to_expire(&self, host: &H, key: Key) {
        let only = match self.0.switches.on_denied {
            OnDenied::Nothing => return,
            OnDenied::LetExpire => Some(ExpireIf::Nx),
            OnDenied::LetExpireAnew => None,
        };
        if let Some(ttl) = self.0.ttl {
            let _ = self.0.link.call(host, Command::Expire { key, length: Length::Millis(ttl.px), only }).await;
        }
    }

    /// The second of two commands: until it is served, the key stays.
    async fn let_expire(&self, host: &H, key: Key) -> Result<(), NotTaken> {
        let Some(ttl) = self.0.ttl else { return Ok(()) };
        host.point(points::TAKEN).await;
        match self.0.link.call(host, Command::pexpire(key, ttl.px)).await {
            Ok(Reply::Int(1)) => Ok(()),
            _ => Err(NotTaken::Unclear),
        }
    }
}
