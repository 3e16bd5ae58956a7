//! `profile = "cloud"`: latencies and drawn faults from a [table](crate::profile).
//!
//! Of what a profile has, a cell gets what can apply in it: no step of a clock that nobody reads, no late
//! write where nobody writes.

use host::{Duration, Operation, Shortage};

use models::lock::{ServerKind, TtlClock};

use super::error::Sink;
use super::nodes::Kind;
use super::reader::word;
use super::steps::LOCK;
use super::tree::Node;
use super::what::{step_is_idle, timing_is_idle};
use super::when::World;
use crate::cell::{Direction, DiskFault, Fault, Lasts, Link, MessageMatch, NodeRef, What, When};
use crate::profile::{Profile, Role, Trouble, Wrong};

/// Reads a profile's name.
pub(super) fn profile(sink: &Sink, node: &Node) -> Option<Profile> {
    let name = word(sink, node, "the profile", &Profile::ALL.map(Profile::name))?;
    Profile::ALL.into_iter().find(|profile| profile.name() == name)
}

/// What may go wrong in this cell, in the order of the table. Their names have a `:`, which no name of a
/// file's own has.
pub(super) fn faults(profile: Profile, world: &World) -> Vec<Fault> {
    let Some(horizon) = world.horizon else { return Vec::new() };
    profile.troubles().filter_map(|trouble| fault(profile, trouble, horizon, world)).collect()
}

fn fault(profile: Profile, trouble: &Trouble, horizon: Duration, world: &World) -> Option<Fault> {
    let what = what(trouble.what, world)?;
    let when = match trouble.every {
        Some(every) => When::Every { at: every, every, times: None },
        // Late enough to find locks held, early enough to show what follows.
        None => When::Within { from: Duration::ZERO, to: horizon / 4 * 3 },
    };
    let lasts = match (trouble.lasts, trouble.what) {
        (Some(span), _) => Lasts::For(span),
        (None, Wrong::StepClock(_) | Wrong::Evict) => Lasts::Instant,
        (None, _) => Lasts::ToTheEnd,
    };
    Some(Fault {
        name: format!("{}:{}", profile.name(), trouble.name),
        what,
        when,
        lasts,
        family: Some(trouble.family),
    })
}

fn what(wrong: Wrong, world: &World) -> Option<What> {
    let any = |role| any(role, world, |_| true);
    let counts_time = |node: &NodeRef| timing_is_idle(node, world).is_none();
    let lives_in_memory = |node: &NodeRef| world.names.server_kind(node).is_some_and(ServerKind::lives_in_memory);
    let in_memory = || self::any(Role::Server, world, lives_in_memory);
    Some(match wrong {
        Wrong::Pause(role) => What::Pause(any(role)?),
        Wrong::MachineSleep(role) => What::MachineSleep(any(role)?),
        Wrong::VmStop(role) => What::VmStop(any(role)?),
        Wrong::Kill(role) => What::Kill(any(role)?),
        // A file may step such a clock to show that nothing follows; a plan that is drawn has no use for it.
        Wrong::StepClock(_) if counts_on_monotonic(world) => return None,
        Wrong::StepClock(by) => {
            What::StepClock { node: self::any(Role::Server, world, |node| step_is_idle(node, world).is_none())?, by }
        }
        Wrong::ClockRate(role, rate) => What::ClockRate { node: self::any(role, world, counts_time)?, rate },
        Wrong::CutFromServers(held) => {
            What::Cut { link: Link::Between(any(Role::Client)?, world.names.servers()), held }
        }
        Wrong::DelayWrite(by) => {
            let of: Vec<_> = clients(world).into_iter().filter(|client| world.uses(client).write).collect();
            if of.is_empty() {
                return None;
            }
            let (direction, operation) = (Direction::Request, Operation("write"));
            What::Delay { message: MessageMatch { direction, operation, of, server: None, nth: Some(1) }, by }
        }
        Wrong::Evict => What::Evict { node: in_memory()?, key: LOCK },
        Wrong::OutOfMemory => What::Disk { node: in_memory()?, how: DiskFault::Fails(Shortage::Memory) },
    })
}

fn counts_on_monotonic(world: &World) -> bool {
    world.service.as_ref().is_some_and(|service| service.redis().ttl_clock == TtlClock::Monotonic)
}

/// One of the nodes of that role that can suffer it.
fn any(role: Role, world: &World, suffers: impl Fn(&NodeRef) -> bool) -> Option<Vec<NodeRef>> {
    let nodes = match role {
        Role::Client => clients(world),
        Role::Server => world.names.servers(),
        Role::Either => clients(world).into_iter().chain(world.names.servers()).collect(),
    };
    let names = nodes.into_iter().filter(suffers).filter_map(|node| match node {
        NodeRef::Named(name) => Some(name),
        NodeRef::Holder | NodeRef::Primary | NodeRef::Leader | NodeRef::Any(_) => None,
    });
    let names: Vec<_> = names.collect();
    (!names.is_empty()).then(|| vec![NodeRef::Any(names)])
}

fn clients(world: &World) -> Vec<NodeRef> {
    let asks = |client: &NodeRef| world.names.kind(client) == Kind::Client && world.uses(client).acquire;
    world.names.clients().into_iter().filter(asks).collect()
}
