//! How a lock's lease is extended in the background: the switches that its recipes share.

use host::Duration;

use super::switch::{Choice, PAGE, Switch, Takes, choices};

/// A renewal in the background.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Renew {
    /// How long after one renewal the next begins.
    pub every: Duration,
    /// What follows a renewal that nobody answered.
    pub on_failure: OnFailure,
    /// When it stops.
    pub stops: Stops,
    /// What becomes of the note that a lock is being renewed.
    pub entry: RegistryEntry,
}

choices! {
    OnFailure at "renew.on-failure": "What follows a renewal that was not answered; one that was refused ends it." {
        Stop = "stop", "The renewal ends, and the holder is told", "https://github.com/redisson/redisson/pull/2518";
        TryOn = "try-on", "It is tried again for as long as the lease may live, then the holder is told",
            "https://github.com/hashicorp/consul/pull/912";
    }
}

choices! {
    Stops at "renew.stops": "When the renewal of a lock stops that is given back." {
        BeforeRelease = "before-release", "Before the release is sent", PAGE;
        AfterRelease = "after-release", "Once the release is confirmed: it outlives one that is lost",
            "https://github.com/redisson/redisson/issues/3714";
    }
}

choices! {
    RegistryEntry at "renew.entry":
        "What becomes of the note that a lock is being renewed: while it is there, no other renewal of it begins."
    {
        Cleared = "cleared", "It goes when the renewal ends", "https://github.com/redisson/redisson/pull/2518";
        Stays = "stays", "It goes with a confirmed release only",
            "https://github.com/redisson/redisson/issues/2515";
    }
}

impl Renew {
    /// A renewal every so often, as the default switches have it.
    #[must_use]
    pub fn every(every: Duration) -> Self {
        Self { every, on_failure: OnFailure::default(), stops: Stops::default(), entry: RegistryEntry::default() }
    }

    /// Its switches; `every` is what holds if the interval is not set.
    pub(super) const fn switches(every: &'static str, source: &'static str) -> [Switch; 4] {
        [
            Switch {
                path: "renew.every",
                about: "How often the lease is extended in the background.",
                takes: Takes::Duration { default: every, source },
            },
            OnFailure::SWITCH,
            Stops::SWITCH,
            RegistryEntry::SWITCH,
        ]
    }
}
