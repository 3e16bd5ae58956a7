//! Profiles: what an environment is like, as one table with its sources.
//!
//! A profile gives a cell its latencies, unless the file says how long links take, and faults that are
//! [drawn](crate::draw) for each seed. It makes no claim by itself: a scenario says what must be true there.
//!
//! | profile | latencies | what goes wrong |
//! |---|---|---|
//! | calm | one data centre | nothing |
//! | lan | one data centre | short pauses, clocks that drift a little |
//! | cloud | several zones of a region | and long pauses, migrations, slewed clocks, leap seconds, partitions, crashes of clients |
//! | hostile | several zones of a region | and what was seen once: pauses and packets of many seconds, clocks set by hand, servers that forget |
//!
//! The numbers are ranges, not truths. "J" marks a judgement for which there is no source.

use host::{Duration, Ppm, Span};

use crate::cell::Held;

/// An environment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Profile {
    /// Nothing goes wrong.
    Calm,
    /// One data centre.
    Lan,
    /// Several zones of a region, on virtual machines.
    Cloud,
    /// Whatever was ever seen.
    Hostile,
}

impl Profile {
    /// All of them, from the mildest on.
    pub const ALL: [Self; 4] = [Self::Calm, Self::Lan, Self::Cloud, Self::Hostile];

    /// Its name in scenario files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::Lan => "lan",
            Self::Cloud => "cloud",
            Self::Hostile => "hostile",
        }
    }

    /// How long one way takes, between any two machines.
    ///
    /// One data centre: 0.15 ms in the median and 5 ms in one of ten thousand (round trips far below 1 ms, J
    /// for the tail). Several zones: 0.4 ms and 6 ms (round trips of 0.3 to 1.5 ms, with a spike of 12.3 ms,
    /// measured between availability zones).
    #[must_use]
    pub fn latency(self) -> Span {
        let micros = |median, rare| Span::lognormal(Duration::from_micros(median), Duration::from_micros(rare));
        match self {
            Self::Calm | Self::Lan => micros(150, 5_000),
            Self::Cloud | Self::Hostile => micros(400, 6_000),
        }
    }

    /// What may go wrong.
    pub(crate) fn troubles(self) -> impl Iterator<Item = &'static Trouble> {
        TROUBLES.iter().filter(move |trouble| trouble.from <= self && self <= trouble.to)
    }
}

/// What belongs together: in half of the seeds, all of it is absent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Family {
    /// Processes and machines stand still.
    Pauses,
    /// Clocks run fast or slow, or are set.
    Clocks,
    /// Links are cut, messages late.
    Network,
    /// Processes die.
    Crashes,
    /// A server has no memory left.
    Memory,
}

impl Family {
    /// All of them.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 5] = [Self::Pauses, Self::Clocks, Self::Network, Self::Crashes, Self::Memory];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pauses => "pauses",
            Self::Clocks => "clocks",
            Self::Network => "network",
            Self::Crashes => "crashes",
            Self::Memory => "memory",
        }
    }
}

/// One thing that may go wrong in some profiles.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) name: &'static str,
    pub(crate) family: Family,
    /// The mildest and the harshest profile that has it.
    pub(crate) from: Profile,
    pub(crate) to: Profile,
    pub(crate) what: Wrong,
    /// How long it lasts; `None`: an instant, or to the end.
    pub(crate) lasts: Option<Span>,
    /// It comes back after such an interval; `None`: it comes once.
    pub(crate) every: Option<Duration>,
}

/// What goes wrong, with roles for nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wrong {
    Pause(Role),
    MachineSleep(Role),
    VmStop(Role),
    Kill(Role),
    /// The wall clock of a lock server is set, by so many ns.
    StepClock(i64),
    ClockRate(Role, Ppm),
    /// A client is cut off from all lock servers.
    CutFromServers(Held),
    /// The next write to the resource takes longer.
    DelayWrite(Span),
    Evict,
    OutOfMemory,
}

/// Whom it may strike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Client,
    Server,
    /// A client or a lock server.
    Either,
}

const fn ms(from: u64, to: u64) -> Option<Span> {
    Some(Span::Uniform { from: Duration::from_millis(from), to: Duration::from_millis(to) })
}

const SECOND: i64 = 1_000_000_000;

use Family::{Clocks, Crashes, Memory, Network, Pauses};
use Profile::{Cloud, Hostile, Lan};
use Role::{Client, Either, Server};

#[rustfmt::skip]
const TROUBLES: &[Trouble] = &[
    // Young collections: 5 to 50 ms, every 1 to 10 s (J; "tens to hundreds of ms" in a JVM report).
    Trouble { name: "young-collection", family: Pauses, from: Lan, to: Hostile, what: Wrong::Pause(Client), lasts: ms(5, 50), every: Some(Duration::from_secs(3)) },
    // A full collection, or a log write that blocks: up to 1 s (LinkedIn, OS-caused pauses).
    Trouble { name: "full-collection", family: Pauses, from: Cloud, to: Hostile, what: Wrong::Pause(Client), lasts: ms(200, 1_000), every: None },
    // A stalled fsync or a stolen processor: 100 ms to 1 s (J).
    Trouble { name: "server-stall", family: Pauses, from: Cloud, to: Hostile, what: Wrong::Pause(Server), lasts: ms(100, 1_000), every: None },
    // The blackout of a live migration: 0.1 to 1 s (J; it varies 23-fold with the load, Salfner and others, DEPEND 2011).
    Trouble { name: "migration", family: Pauses, from: Cloud, to: Cloud, what: Wrong::VmStop(Either), lasts: ms(100, 1_000), every: None },
    // The same under load: up to 10 s, and a snapshot that takes longer (J).
    Trouble { name: "slow-migration", family: Pauses, from: Hostile, to: Hostile, what: Wrong::VmStop(Either), lasts: ms(1_000, 15_000), every: None },
    // 15.35 s of real time with 0.30 s of processor time: a log write was blocked (a JVM report).
    Trouble { name: "stop-the-world", family: Pauses, from: Hostile, to: Hostile, what: Wrong::Pause(Client), lasts: ms(5_000, 16_000), every: None },
    // A laptop's lid, a host's suspend (J).
    Trouble { name: "suspend", family: Pauses, from: Hostile, to: Hostile, what: Wrong::MachineSleep(Client), lasts: ms(5_000, 20_000), every: None },

    // Free-running crystals: 20 ppm, at worst 200 (J).
    Trouble { name: "drift-fast", family: Clocks, from: Lan, to: Lan, what: Wrong::ClockRate(Either, Ppm::new(20)), lasts: None, every: None },
    Trouble { name: "drift-slow", family: Clocks, from: Lan, to: Lan, what: Wrong::ClockRate(Either, Ppm::new(-20)), lasts: None, every: None },
    Trouble { name: "wide-drift-fast", family: Clocks, from: Cloud, to: Hostile, what: Wrong::ClockRate(Either, Ppm::new(200)), lasts: None, every: None },
    Trouble { name: "wide-drift-slow", family: Clocks, from: Cloud, to: Hostile, what: Wrong::ClockRate(Either, Ppm::new(-200)), lasts: None, every: None },
    // ntpd slews by at most 500 ppm (its documentation).
    Trouble { name: "slew", family: Clocks, from: Cloud, to: Cloud, what: Wrong::ClockRate(Server, Ppm::new(500)), lasts: ms(5_000, 30_000), every: None },
    // A leap second: the kernel sets the clock back (chrony.conf(5), leapsecmode).
    Trouble { name: "leap-second", family: Clocks, from: Cloud, to: Hostile, what: Wrong::StepClock(-SECOND), lasts: None, every: None },
    // chrony slews by up to 83,333 ppm unless told otherwise (chrony.conf(5), maxslewrate).
    Trouble { name: "fast-slew", family: Clocks, from: Hostile, to: Hostile, what: Wrong::ClockRate(Server, Ppm::new(83_333)), lasts: ms(5_000, 30_000), every: None },
    // `makestep` without a limit, or a hand on the clock (J).
    Trouble { name: "set-ahead", family: Clocks, from: Hostile, to: Hostile, what: Wrong::StepClock(10 * SECOND), lasts: None, every: None },
    Trouble { name: "set-back", family: Clocks, from: Hostile, to: Hostile, what: Wrong::StepClock(-10 * SECOND), lasts: None, every: None },

    // A partition of some seconds (J).
    Trouble { name: "partition", family: Network, from: Cloud, to: Hostile, what: Wrong::CutFromServers(Held::Dropped), lasts: ms(1_000, 15_000), every: None },
    // Packets that a switch held for about 90 s and then delivered (GitHub, 2012).
    Trouble { name: "held-packets", family: Network, from: Hostile, to: Hostile, what: Wrong::CutFromServers(Held::Linger), lasts: ms(5_000, 90_000), every: None },
    Trouble { name: "held-write", family: Network, from: Hostile, to: Hostile, what: Wrong::DelayWrite(Span::Uniform { from: Duration::from_secs(5), to: Duration::from_secs(90) }), lasts: None, every: None },

    // A client is deployed anew, or dies (J).
    Trouble { name: "client-crash", family: Crashes, from: Cloud, to: Hostile, what: Wrong::Kill(Client), lasts: ms(500, 10_000), every: None },
    // A server without a disk is back within 10 s (J).
    Trouble { name: "server-crash", family: Crashes, from: Hostile, to: Hostile, what: Wrong::Kill(Server), lasts: ms(10, 10_000), every: None },

    // A cache under pressure evicts, or refuses (Redis, key eviction).
    Trouble { name: "eviction", family: Memory, from: Hostile, to: Hostile, what: Wrong::Evict, lasts: None, every: None },
    Trouble { name: "no-memory", family: Memory, from: Hostile, to: Hostile, what: Wrong::OutOfMemory, lasts: ms(1_000, 10_000), every: None },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_wrong_has_a_name_of_its_own_and_some_profile() {
        let mut names: Vec<_> = TROUBLES.iter().map(|trouble| trouble.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TROUBLES.len());
        assert!(TROUBLES.iter().all(|trouble| trouble.from <= trouble.to));
    }

    #[test]
    fn a_harsher_profile_has_more_families_and_a_calm_one_none() {
        let families = |profile: Profile| {
            Family::ALL.into_iter().filter(|family| profile.troubles().any(|trouble| trouble.family == *family)).count()
        };
        assert_eq!(Profile::ALL.map(families), [0, 2, 4, 5]);
    }
}
