//! Drawn faults: for each seed, which of them strike, when, and whom.
//!
//! A fault is *drawn* if its moment or its target is, or if a profile brought it along; otherwise it is
//! *placed*. Drawing is a function of the seed and of the fault's name, not of the lock or of how many other
//! faults there are: the same plan is played against every lock. What comes of it is a placed fault, plain
//! data, like one that somebody wrote into a file.
//!
//! Whole families are drawn first, each is there in half of the seeds: a fault that always comes with ten
//! others is never seen at work alone (Groce and others, Swarm Testing, ISSTA 2012).

use host::Duration;
use host::span::uniform;
use sim::{Entity, Stream, StreamPurpose};

use crate::cell::{Fault, NodeRef, When};
use crate::profile::Family;

/// The fault as that seed has it, with its moment and its targets fixed. `None`: that seed does not have it.
pub(crate) fn drawn(fault: &Fault, seed: u64) -> Option<Fault> {
    if fault.family.is_some_and(|family| !is_there(family, seed)) {
        return None;
    }
    let mut stream = stream(seed, &format!("fault/{}", fault.name));
    let mut draw = |from, to| uniform(from, to, || stream.word());
    let mut fault = fault.clone();
    if let When::Within { from, to } = fault.when {
        fault.when = When::At(Duration::from_nanos(draw(host::nanos(from), host::nanos(to))));
    }
    fault.what.each_node(&mut |node| {
        if let NodeRef::Any(names) = node {
            let chosen = draw(0, names.len() as u64 - 1);
            *node = NodeRef::Named(names.swap_remove(chosen as usize));
        }
    });
    Some(fault)
}

/// Whether a family of faults is there in that seed.
fn is_there(family: Family, seed: u64) -> bool {
    stream(seed, &format!("family/{}", family.name())).word() & 1 == 1
}

fn stream(seed: u64, entity: &str) -> Stream {
    Stream::new(seed, StreamPurpose::Plan, Entity::named(entity), Entity::WORLD)
}

#[cfg(test)]
mod tests;
