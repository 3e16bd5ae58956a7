//! What madsim cannot express, in words.
//!
//! It has one clock for all nodes, and no sleep shorter than 1 ms. Its services answer, and open no connections. It ends a process by a kill only. Whatever
//! this world does not know is refused by its name, so that a new kind of fault is never played as nothing.

use std::fmt;
use std::ops::Range;

use host::{Duration, Ppm, Span};
use models::Nudge;
use models::lock::Service;
use scenarios::{Cell, Contender, Player};
use sim::{Fault, Lasts, NodeSpec, What, When};

use crate::kernel::MadSim;

/// Why something cannot be played on madsim.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal(String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a cell cannot be played on madsim with these seeds (each may draw faults of its own), each reason once;
/// none: it can.
#[must_use]
pub fn refusals(cell: &Cell, seeds: Range<u64>) -> Vec<Refusal> {
    if let Some(why) = of_service(cell) {
        return vec![Refusal(why.to_owned())];
    }
    let contender = Contender::built_in(&cell.lock);
    let player = Player::new(cell, &contender);
    let of_seed = |seed| {
        let mut world = MadSim::new(seed);
        player.build_on(&mut world, seed);
        world.refusals().to_vec()
    };
    let of_scripts = cell.clients.iter().flat_map(|client| client.script.waits());
    let of_scripts = of_scripts.filter_map(|span| of_span("a client's wait", &span));
    let mut refusals: Vec<Refusal> = seeds.flat_map(of_seed).chain(of_scripts).collect();
    refusals.sort();
    refusals.dedup();
    refusals
}

/// Why these servers cannot be played, whatever the seed.
fn of_service(cell: &Cell) -> Option<&'static str> {
    const OPENS: &str = "servers that are clients of each other: no service opens a connection here";
    const SILENT: &str = "a server that finds out whether a silent client is there: no machine asks here";
    let is_silent = |fault: &scenarios::cell::Fault| {
        use scenarios::cell::What::{Cut, Drop, HalfOpen, PowerOff};
        matches!(fault.what, Cut { .. } | Drop(_) | HalfOpen { .. } | PowerOff(_))
    };
    match &cell.service {
        Service::Redis(_) => None,
        Service::Sentinel(_) | Service::Etcd(_) | Service::ZooKeeper(_) => Some(OPENS),
        Service::Postgres(servers) if servers.standbys > 0 || servers.pooler.is_some() => Some(OPENS),
        Service::Postgres(servers)
            if servers.timeouts.idle_session + servers.timeouts.idle_in_transaction > Duration::ZERO =>
        {
            Some("a server that ends sessions by itself: no service closes a connection here")
        }
        Service::Postgres(_) => cell.faults.iter().any(is_silent).then_some(SILENT),
    }
}

pub(crate) fn of_node(spec: &NodeSpec) -> Option<Refusal> {
    (spec.rate != Ppm::ZERO).then(|| Refusal("clocks that run fast or slow: madsim has one clock for all".to_owned()))
}

/// The table of faults: how each is played, or why not.
fn what(what: &What<Nudge>) -> Result<(), &'static str> {
    match what {
        // By pausing the madsim nodes of a process, or of one part of it.
        What::Pause(_) | What::Stall(..) | What::Throttle { .. } => Ok(()),
        // By killing them.
        What::Kill(_) | What::PowerOff(_) => Ok(()),
        // By what is put into madsim's channels, when, and what is taken out. (madsim's own clogged links send again at
        // growing intervals: what they keep arrives up to twice as late as the cut is long.)
        What::Cut(..) | What::Slow(..) | What::Reset(_) | What::HalfOpen { .. } | What::Drop(_) | What::Delay(..) => {
            Ok(())
        }
        // By what a program or a service is told.
        What::Cancel(_) | What::Shortage(..) | What::SlowDisk(..) | What::Nudge(..) => Ok(()),
        What::MachineSleep(_) | What::VmStop(_) => Err("no machine's clock can stand still: madsim has one for all"),
        What::StepClock(..) => Err("no machine's clock can be set: madsim has one for all"),
        What::ClockRate(..) => Err("no machine's clock can run fast or slow: madsim has one for all"),
        What::Restore(..) => Err("nobody makes a backup of a disk here"),
        What::Shutdown(_) => Err("madsim ends a process by a kill only"),
        #[expect(unreachable_patterns, reason = "a new kind of fault is refused until it has its line here")]
        _ => Err("this world does not know it"),
    }
}

pub(crate) fn of_fault(fault: &Fault<Nudge>) -> Vec<Refusal> {
    let mut refusals: Vec<Refusal> = of_moment(&fault.when).into_iter().collect();
    let name = fault.what.name();
    refusals.extend(what(&fault.what).err().map(|why| Refusal(format!("{name}: {why}"))));
    match &fault.what {
        What::Throttle { run, stop, .. } => {
            refusals.extend([run, stop].into_iter().filter_map(|time| of_span(name, &Span::Fixed(*time))));
        }
        What::SlowDisk(_, by) => refusals.extend(of_span(name, by)),
        _ => {}
    }
    match &fault.lasts {
        Lasts::For(span) => refusals.extend(of_span(name, span)),
        Lasts::By(..) => {
            refusals.push(Refusal(format!("{name}: no machine's clock can end it: madsim has one for all")));
        }
        Lasts::Until(when) => refusals.extend(of_moment(when)),
        Lasts::Instant | Lasts::ToTheEnd => {}
    }
    refusals
}

pub(crate) fn of_moment(when: &When) -> Option<Refusal> {
    match when {
        When::At(at) => of_span("an instant", &Span::Fixed(*at)),
        When::Every { at, every, .. } => {
            of_span("an instant", &Span::Fixed(*at)).or_else(|| of_span("an interval", &Span::Fixed(*every)))
        }
        When::Milestone { plus, .. } => of_span("a wait after a milestone", &Span::Fixed(*plus)),
        When::Step { .. } => Some(Refusal("a node's nth step: madsim does not count steps".to_owned())),
    }
}

/// Nothing in madsim waits for less than 1 ms, unless it does not wait at all.
pub(crate) fn of_span(what: &str, span: &Span) -> Option<Refusal> {
    let waits = *span != Span::Fixed(Duration::ZERO);
    let refuses = waits && span.shortest() < FLOOR;
    refuses.then(|| Refusal(format!("{what} of less than 1 ms: madsim sleeps for 1 ms at least")))
}

const FLOOR: Duration = Duration::from_millis(1);
