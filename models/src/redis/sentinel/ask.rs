//! What clients and other Sentinels ask of a Sentinel.

use std::fmt;

use host::{Digest, Fold, Name, NodeId, Request, digest_enum};

/// A request to a Sentinel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ask {
    /// `PING`
    Ping,
    /// `SENTINEL GET-MASTER-ADDR-BY-NAME name`
    MasterAddr {
        /// Which primary, by the name under which it is watched.
        name: Name,
    },
    /// `SENTINEL CKQUORUM name`
    CheckQuorum {
        /// Which primary.
        name: Name,
    },
    /// `SUBSCRIBE +switch-master`
    Subscribe,
    /// `SENTINEL IS-MASTER-DOWN-BY-ADDR`: of another Sentinel.
    IsDown {
        /// Which server.
        primary: NodeId,
        /// The epoch for which a vote is wanted.
        epoch: u64,
        /// For whom; `None` (`*`): no vote is wanted.
        candidate: Option<NodeId>,
    },
    /// `PUBLISH __sentinel__:hello`: of another Sentinel.
    Hello(Hello),
}

/// How a Sentinel makes known what it takes to be right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hello {
    /// Whose.
    pub from: NodeId,
    /// The latest epoch that it knows of.
    pub epoch: u64,
    /// The primary.
    pub primary: NodeId,
    /// The epoch in which that was made the primary: the highest is right.
    pub config_epoch: u64,
}

/// The answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// `+PONG`
    Pong,
    /// `+OK`, and what counts as good as that.
    Ok,
    /// Where the primary is. `None`: no primary of that name is watched.
    Addr(Option<NodeId>),
    /// Whether the quorum, and the majority that a failover needs, could be had now.
    Quorum {
        /// How many Sentinels are to be reached, this one included.
        usable: usize,
        /// Whether they are as many as the quorum.
        quorum: bool,
        /// Whether they are a majority.
        majority: bool,
    },
    /// To [`Ask::IsDown`].
    Down {
        /// Whether it is, as far as this Sentinel sees.
        down: bool,
        /// For whom it has voted, and in which epoch.
        vote: Option<(NodeId, u64)>,
    },
}

/// What a Sentinel tells who has subscribed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// `+switch-master`
    SwitchMaster {
        /// Who was the primary.
        from: NodeId,
        /// Who is.
        to: NodeId,
    },
}

impl Request for Ask {
    type Reply = Answer;
    type Push = Told;
}

digest_enum!(Ask {
    1 => Ping,
    2 => MasterAddr { name },
    3 => CheckQuorum { name },
    4 => Subscribe,
    5 => IsDown { primary, epoch, candidate },
    6 => Hello(hello),
});
digest_enum!(Answer {
    1 => Pong,
    2 => Ok,
    3 => Addr(node),
    4 => Quorum { usable, quorum, majority },
    5 => Down { down, vote },
});
digest_enum!(Told { 1 => SwitchMaster { from, to } });

impl Digest for Hello {
    fn digest(&self, fold: &mut Fold) {
        let Self { from, epoch, primary, config_epoch } = self;
        from.digest(fold);
        epoch.digest(fold);
        primary.digest(fold);
        config_epoch.digest(fold);
    }
}

impl Ask {
    /// The name by which faults know it.
    #[must_use]
    pub const fn operation(&self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::MasterAddr { .. } => "where",
            Self::CheckQuorum { .. } => "quorum",
            Self::Subscribe => "subscribe",
            Self::IsDown { .. } => "vote",
            Self::Hello(_) => "hello",
        }
    }
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ping => f.write_str("PING"),
            Self::MasterAddr { name } => write!(f, "SENTINEL GET-MASTER-ADDR-BY-NAME {name}"),
            Self::CheckQuorum { name } => write!(f, "SENTINEL CKQUORUM {name}"),
            Self::Subscribe => f.write_str("SUBSCRIBE +switch-master"),
            Self::IsDown { primary, candidate: None, .. } => {
                write!(f, "SENTINEL IS-MASTER-DOWN-BY-ADDR {primary:?} *")
            }
            Self::IsDown { primary, epoch, candidate: Some(candidate) } => {
                write!(f, "SENTINEL IS-MASTER-DOWN-BY-ADDR {primary:?} {epoch} {candidate:?}")
            }
            Self::Hello(Hello { epoch, primary, config_epoch, .. }) => {
                write!(f, "PUBLISH __sentinel__:hello {epoch} {primary:?} {config_epoch}")
            }
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pong => f.write_str("+PONG"),
            Self::Ok => f.write_str("+OK"),
            Self::Addr(None) => f.write_str("nil"),
            Self::Addr(Some(node)) => write!(f, "{node:?}"),
            Self::Quorum { usable, quorum: true, majority: true } => {
                write!(f, "+OK {usable} usable Sentinels. Quorum and failover authorization can be reached")
            }
            Self::Quorum { usable, quorum, majority } => {
                write!(f, "-NOQUORUM {usable} usable Sentinels. ")?;
                if !quorum {
                    f.write_str("Not enough available Sentinels to reach the specified quorum for this master")?;
                }
                if !majority {
                    f.write_str(if *quorum { "" } else { ". " })?;
                    f.write_str("Not enough available Sentinels to reach the majority and authorize a failover")?;
                }
                Ok(())
            }
            Self::Down { down, vote } => {
                write!(f, "[:{}, ", u8::from(*down))?;
                match vote {
                    None => f.write_str("*]"),
                    Some((leader, epoch)) => write!(f, "{leader:?}, :{epoch}]"),
                }
            }
        }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::SwitchMaster { from, to } = self;
        write!(f, "+switch-master {from:?} {to:?}")
    }
}
