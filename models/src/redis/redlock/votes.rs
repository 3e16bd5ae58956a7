//! What the servers said, and the ways to ask them.

use host::until;
use spec::Token;

use super::Redlock;
use crate::link::LinkError;
use crate::lock::redlock::Ask;
use crate::redis::{Command, RedisHost, Reply};

/// What one server said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Vote {
    /// Yes, and how many grants it has counted if it counts them.
    Yes(Option<Token>),
    /// No.
    No,
    /// An error.
    Error,
    /// It could not be reached, or was not asked.
    NotSent,
    /// It was asked, and may do what was asked, or have done it.
    Unclear,
}

impl Vote {
    fn of(answer: Result<Reply, LinkError>) -> Self {
        match answer {
            Ok(Reply::Ok) => Self::Yes(None),
            Ok(Reply::Int(count @ 1..)) => Self::Yes(Some(Token(count.cast_unsigned()))),
            Ok(Reply::Int(_) | Reply::Nil) => Self::No,
            Ok(_) => Self::Error,
            Err(LinkError::NotSent(_)) => Self::NotSent,
            Err(LinkError::NoReply(_)) => Self::Unclear,
        }
    }
}

/// What each server said, in their order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Votes(Vec<Vote>);

impl Votes {
    /// How many said yes.
    pub(super) fn yes(&self) -> usize {
        self.0.iter().filter(|vote| matches!(vote, Vote::Yes(_))).count()
    }

    /// Whether that server said yes.
    pub(super) fn said_yes(&self, place: usize) -> bool {
        matches!(self.0[place], Vote::Yes(_))
    }

    /// Whether every server said yes or no.
    pub(super) fn are_clear(&self) -> bool {
        self.0.iter().all(|vote| matches!(vote, Vote::Yes(_) | Vote::No))
    }

    /// The highest count of those that said yes.
    pub(super) fn highest(&self) -> Option<Token> {
        let counts = self.0.iter().filter_map(|vote| match vote {
            Vote::Yes(count) => *count,
            _ => None,
        });
        counts.max()
    }

    /// Whether some server may have done what it was asked, or will, and has not said to `undone` that this is over.
    pub(super) fn leave_something(&self, undone: &Self) -> bool {
        let is_over = |vote: &Vote| matches!(vote, Vote::Yes(_) | Vote::No);
        let may_have = |vote: &Vote| matches!(vote, Vote::Yes(_) | Vote::Unclear);
        self.0.iter().zip(&undone.0).any(|(asked, undone)| may_have(asked) && !is_over(undone))
    }
}

impl<H: RedisHost> Redlock<H> {
    /// Asks each server for what `request` says, if anything, until the votes are `enough` or all are in.
    pub(super) async fn gather(
        &self,
        host: &H,
        request: impl Fn(usize) -> Option<Command>,
        enough: impl Fn(&Votes) -> bool,
    ) -> Votes {
        let nodes = &self.0.nodes;
        let ask = async |place: usize| {
            let (Some(command), node) = (request(place), &nodes[place]) else { return Vote::NotSent };
            // A connection that the other end has closed is opened anew first, as libraries do.
            if !node.is_open() && node.open(host).await.is_err() {
                return Vote::NotSent;
            }
            Vote::of(node.call(host, command).await)
        };
        match self.0.switches.ask {
            Ask::Sequential => {
                let mut votes = Votes(vec![Vote::NotSent; nodes.len()]);
                for place in 0..nodes.len() {
                    votes.0[place] = ask(place).await;
                    if enough(&votes) {
                        break;
                    }
                }
                votes
            }
            Ask::Parallel => {
                // Who has not answered yet may do so still.
                let so_far =
                    |votes: &[Option<Vote>]| Votes(votes.iter().map(|vote| vote.unwrap_or(Vote::Unclear)).collect());
                let votes = until((0..nodes.len()).map(ask), |votes| enough(&so_far(votes))).await;
                so_far(&votes)
            }
        }
    }
}
