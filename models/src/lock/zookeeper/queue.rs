//! The switches of locks for which clients queue: the recipe of ZooKeeper's documentation, and Curator's `InterProcessMutex`.

use host::Operation;

use super::super::switch::{Choice, Switch, choices};
use super::super::{LockFacts, Occasion};
use super::facts;

/// A queue of sequential nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueLock {
    /// Whose recipe it is.
    pub library: Library,
    /// By what contenders are put in order.
    pub order: Order,
    /// What a client does that has not heard whether its node is there.
    pub adopts: Adopts,
    /// What becomes of a node that its client does not want any more, if that is not confirmed.
    pub deletes: Deletes,
    /// At which news its holder stops.
    pub stops: Stops,
    /// When Curator takes the session to be over that no server speaks of.
    pub lost_after: LostAfter,
    /// Whom a client asks that looks whether it has the lock still.
    pub looks: Looks,
    /// What it gives as a token.
    pub token: TokenOf,
}

/// Whose recipe it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Library {
    /// That of ZooKeeper's documentation.
    Documentation,
    /// Curator's `InterProcessMutex`.
    Curator,
}

const RECIPES: &str = "https://zookeeper.apache.org/doc/r3.8.0/recipes.html#sc_recipes_Locks";
const CURATOR: &str = "https://github.com/apache/curator/blob/apache-curator-5.2.0/curator-recipes/src/main/java/org/apache/curator/framework/recipes/locks/LockInternals.java";
const PROTECTION: &str = "https://github.com/apache/curator/blob/apache-curator-5.2.0/curator-framework/src/main/java/org/apache/curator/framework/imps/ProtectedMode.java";
const STATES: &str = "https://github.com/apache/curator/blob/apache-curator-5.2.0/curator-framework/src/main/java/org/apache/curator/framework/state/ConnectionStateManager.java";

choices! {
    Order at "order": "By what contenders are put in order." {
        Sequence = "sequence", "By the number behind their names", RECIPES;
        WholeName = "whole-name", "By their names, which begin with what each client has drawn",
            "https://github.com/apache/zookeeper/pull/413";
    }
}

choices! {
    Adopts at "adopts": "What a client does that has not heard whether its node was created." {
        OwnSession = "own-session", "It looks for a node with its guid, and takes it if it is of its present session", PROTECTION;
        AnySession = "any-session", "It looks for a node with its guid, and takes it, be it of a session that it has given up", RECIPES;
        Never = "never", "It creates another, and waits for the one that it does not know of",
            "https://github.com/Netflix/curator/issues/3";
    }
}

choices! {
    Deletes at "deletes": "What becomes of a node that its client does not want any more, if nobody confirms that it is deleted." {
        Guaranteed = "guaranteed", "The library deletes it in the background, for as long as it takes", CURATOR;
        Once = "once", "It stays until its session ends, and stands in the queue",
            "https://github.com/apache/curator/issues/1193 and https://github.com/python-zk/kazoo/pull/760";
    }
}

choices! {
    Stops at "stops": "At which news of its session a holder stops." {
        Suspended = "suspended", "That the connection is lost (`Disconnected`, Curator's `SUSPENDED`)",
            "https://cwiki.apache.org/confluence/display/CURATOR/TN12";
        Lost = "lost", "That the session is over (`Expired`, Curator's `LOST`)",
            "https://curator.apache.org/docs/errors";
    }
}

choices! {
    LostAfter at "lost-after": "How long after `SUSPENDED` Curator takes the session to be over, though no server has said so." {
        Whole = "whole", "As long as a session lives: counted from the news, and not from the last word of a server", STATES;
        Third = "third", "A third of that, which is what is left of the session then (`simulatedSessionExpirationPercent(33)`)",
            "https://github.com/apache/curator/pull/262";
        Never = "never", "It waits for a server to say so", "https://github.com/apache/curator/pull/262, 0 percent";
    }
}

choices! {
    Looks at "looks": "Whom a client asks that looks whether it has the lock still." {
        Library = "library", "Its own library, for the news that it has", RECIPES;
        Server = "server", "That, and then its server whether its node is there, which answers from what it has",
            "https://zookeeper.apache.org/doc/r3.8.0/zookeeperInternals.html#sc_consistency";
        Synced = "synced", "The same, after its server has caught up with the leader (`sync`)",
            "https://zookeeper.apache.org/doc/r3.8.0/zookeeperInternals.html#sc_consistency";
    }
}

choices! {
    TokenOf at "token": "What the lock gives as a token." {
        Czxid = "czxid", "The number of the change that created its node",
            "https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html, zxid";
        Sequence = "sequence", "The number behind its node's name: how many children its parent had before it",
            "https://zookeeper.apache.org/doc/r3.8.0/zookeeperProgrammers.html#Sequence+Nodes+--+Unique+Naming";
        Cversion = "cversion", "How often children of its node's parent have come and gone, when it found that it was first",
            "https://zookeeper.apache.org/doc/r3.8.0/zookeeperProgrammers.html#sc_zkStatStructure";
        DataVersion = "data-version", "How often its node was written: never",
            "https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html, znode version number";
    }
}

impl QueueLock {
    /// As that library has it.
    #[must_use]
    pub fn of_library(library: Library) -> Self {
        let (order, adopts, deletes, stops, lost_after, looks, token) = Default::default();
        let lost_after = match library {
            Library::Curator => lost_after,
            // The library of ZooKeeper has no such timer.
            Library::Documentation => LostAfter::Never,
        };
        Self { library, order, adopts, deletes, stops, lost_after, looks, token }
    }

    /// The requests that it sends, each on its occasion.
    pub(super) fn operations(self) -> Vec<(Operation, Occasion)> {
        use Occasion::{Acquire, Release, Renew};
        let watches = match self.library {
            Library::Documentation => "exists",
            Library::Curator => "get-data",
        };
        let mut sent = vec![
            ("connect", Acquire),
            ("create", Acquire),
            ("get-children", Acquire),
            (watches, Acquire),
            ("delete", Acquire),
            ("ping", Renew),
            ("delete", Release),
        ];
        if self.library == Library::Curator || self.adopts != Adopts::Never {
            sent.push(("exists", Acquire));
        }
        if self.looks == Looks::Synced {
            sent.push(("sync", Acquire));
        }
        sent.into_iter().map(|(name, occasion)| (Operation(name), occasion)).collect()
    }
}

const OPERATIONS: [Operation; 10] = [
    Operation("connect"),
    Operation("ping"),
    Operation("create"),
    Operation("get-children"),
    Operation("exists"),
    Operation("get-data"),
    Operation("delete"),
    Operation("sync"),
    Operation("multi"),
    Operation("set-watches"),
];

/// What the loader must know of the recipe of the documentation.
pub(super) const DOCUMENTATION: LockFacts = LockFacts {
    name: "zookeeper",
    title: "an ensemble of ZooKeeper, the recipe of its documentation: a queue of sequential nodes on sessions (token: its czxid)",
    operations: &OPERATIONS,
    switches: &[Order::SWITCH, Adopts::SWITCH, Deletes::SWITCH, Stops::SWITCH, Looks::SWITCH, TokenOf::SWITCH],
    ..facts()
};

/// What the loader must know of Curator's.
pub(super) const CURATORS: LockFacts = LockFacts {
    name: "curator",
    title: "the same queue as Curator's `InterProcessMutex` has it, with states of its own (token: its czxid)",
    switches: &CURATOR_SWITCHES,
    ..DOCUMENTATION
};

const CURATOR_SWITCHES: [Switch; 7] =
    [Order::SWITCH, Adopts::SWITCH, Deletes::SWITCH, Stops::SWITCH, LostAfter::SWITCH, Looks::SWITCH, TokenOf::SWITCH];
