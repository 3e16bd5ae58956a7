//! What the server may have been, given when it was asked and what it answered.
//!
//! A reply may hang on the instant at which the server looked at its clock, and so may all later ones. That instant lies
//! between the client's own readings as it sent the command and as it had the reply: the *window*. So the model is asked
//! once for every ms of it, and every state that explains the reply is believed from there on. No constant says how
//! far a time may be off.
//!
//! Redis reads the clock once to see what has expired, and again for each deadline that it sets or tells. Where a ms may
//! have passed between those, no one instant need explain what follows, and the belief [ends](Heard::Cut).

use std::ops::RangeInclusive;

use host::{ConnId, Service};
use models::lock::Persistence;
use models::redis::{Command, Length, Lives};

use crate::format::{End, without_script};
use crate::model::{Model, Said};

/// Every state of the model that explains all that the server has said so far.
pub(crate) struct Belief {
    states: Vec<Model>,
}

/// What a reply says of the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Heard {
    /// What every state says, at any instant of the window.
    Agreed,
    /// What some say, and others do not: they are believed no more.
    Followed,
    /// Nothing about what it is from here on: go on with an empty server.
    Cut,
}

impl Belief {
    /// An empty server that keeps so much.
    pub(crate) fn new(keeps: Persistence) -> Self {
        Self { states: vec![Model::new(keeps)] }
    }

    /// Takes in the reply to a command that the server has run within these ms.
    ///
    /// # Errors
    /// What the model may have said instead.
    pub(crate) fn hear(
        &mut self,
        conn: ConnId,
        command: &Command,
        window: RangeInclusive<i64>,
        told: &Said,
    ) -> Result<Heard, Vec<String>> {
        let told = in_words(told);
        let reads_often = window.start() < window.end() && self.reads_often(conn, command, &window);
        let (mut believed, mut said): (Vec<Model>, Vec<String>) = (Vec::new(), Vec::new());
        for state in &self.states {
            for now in window.clone() {
                let mut state = state.clone();
                let reply = in_words(&state.say(conn, command.clone(), now));
                if reply == told && !believed.contains(&state) {
                    believed.push(state);
                }
                if !said.contains(&reply) {
                    said.push(reply);
                }
            }
        }
        if reads_often {
            return Ok(Heard::Cut);
        }
        if believed.is_empty() {
            return Err(said);
        }
        self.states = believed;
        Ok(if said.len() == 1 { Heard::Agreed } else { Heard::Followed })
    }

    /// The server's process ends and starts again.
    pub(crate) fn restart(&mut self, end: End, now: i64) {
        for state in &mut self.states {
            if end == End::Shutdown {
                state.step(now, |redis, cx| redis.on_stop(cx));
            }
            state.step(now, |redis, cx| redis.on_start(cx));
        }
    }

    pub(crate) fn close(&mut self, conn: ConnId, now: i64) {
        self.states.iter_mut().for_each(|state| state.close(conn, now));
    }

    /// Whether several readings of the clock could tell in what follows: in a transaction or a script, or if a deadline
    /// is set for a key that expires just then.
    fn reads_often(&self, conn: ConnId, command: &Command, window: &RangeInclusive<i64>) -> bool {
        let key = match command {
            Command::Exec | Command::Eval(_) => return true,
            Command::Set { key, lives: Lives::Ex(_) | Lives::Px(_), .. } => *key,
            // A deadline that comes at once is looked at a third time.
            Command::Expire { length: Length::Millis(..=1), .. } => return true,
            Command::Expire { key, .. } => *key,
            _ => return false,
        };
        let exists = |state: &Model, now| state.clone().ask(conn, Command::Exists { key }, now);
        self.states.iter().any(|state| exists(state, *window.start()) != exists(state, *window.end()))
    }
}

/// The reply, and what was pushed to whom.
fn in_words(said: &Said) -> String {
    let mut words = without_script(&String::from_utf8_lossy(&said.reply));
    let mut pushes: Vec<_> = said.pushes.iter().collect();
    pushes.sort_by_key(|(conn, _)| *conn);
    for (conn, push) in pushes {
        words += &format!(" and to {conn:?} {}", String::from_utf8_lossy(push));
    }
    words
}
