//! What a cell's runs are judged by: the promises of its lock, as this world's clients use it.

use std::collections::BTreeSet;

use host::{Duration, Ppm};
use models::script::Step;
use spec::{Assumption, ObjectName, Property, Rules};

use crate::cell::Cell;
use crate::contender::Contender;
use crate::world::Nodes;

/// The rules for one cell, played by that lock.
pub(crate) fn rules(cell: &Cell, contender: &Contender, nodes: &Nodes) -> Rules {
    let policies = nodes.clients().zip(&cell.clients).map(|(node, client)| (node, client.script.policy)).collect();
    let compares_all = compares_all(cell);
    // What a check of a user's own does, nobody knows.
    let is_fenced = compares_all && contender.check().is_none();
    let needs = |property: &Property| (*property, needs(cell, *property, is_fenced));
    Rules {
        quorum: 1,
        policies,
        needs: Property::ALL.iter().map(needs).collect(),
        ttl: cell.ttl.and_then(|_| leases(cell).max()),
        // The longest lease has the least allowance in proportion.
        rate_allowance: leases(cell).map(|ttl| cell.lock.rate_allowance(ttl)).min().unwrap_or(Ppm::ZERO),
        authorities: nodes.all_servers().collect(),
        resource_checks_tokens: compares_all,
    }
}

fn needs(cell: &Cell, property: Property, is_fenced: bool) -> Vec<Assumption> {
    let needs = if is_fenced { cell.lock.needs_behind_fence(property) } else { cell.lock.needs(property) };
    needs.to_vec()
}

/// Whether the resource compares tokens on all that the lock protects. It keeps a barrier for each object:
/// of two objects, the newer holder may not have come to the second when the older one does.
fn compares_all(cell: &Cell) -> bool {
    let object = |step: &Step| match step {
        Step::Read { object } | Step::Write { object } => Some(*object),
        _ => None,
    };
    let objects: BTreeSet<ObjectName> = steps(cell).filter_map(object).collect();
    cell.resource.guard.checks_tokens() && objects.len() <= 1
}

/// Every length of a lease that a lock server may be given.
fn leases(cell: &Cell) -> impl Iterator<Item = Duration> {
    let extended = steps(cell).filter_map(|step| match step {
        Step::Extend { by, .. } => *by,
        _ => None,
    });
    cell.ttl.into_iter().chain(extended)
}

/// Every step of every client, those that are repeated too.
fn steps(cell: &Cell) -> impl Iterator<Item = &Step> {
    cell.clients.iter().flat_map(|client| &client.script.steps).flat_map(Step::all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::load;
    use crate::world::World;

    fn of(text: &str) -> Rules {
        let text = format!("name = \"rules\"\ntitle = \"rules\"\nsource = \"own\"\nlock = \"redis\"\n{text}");
        let scenario = load("rules.toml", &text, &[]).expect("it is a scenario");
        let contender = Contender::built_in(&scenario.cells[0].lock);
        World::of(&scenario.cells[0], &contender).rules
    }

    fn client(steps: &str) -> String {
        format!("[client.A]\ndo = [\"acquire\", {steps}]\n")
    }

    #[test]
    fn the_longest_lease_is_the_longest_that_any_step_asks_for() {
        assert_eq!(of(&client("\"extend\"")).ttl, Some(Duration::from_secs(10)));
        let repeated = "{ repeat = { times = 2, do = [{ extend = { by = \"30s\" } }, { extend = { by = \"1s\" } }] } }";
        let rules = of(&client(repeated));
        assert_eq!((rules.ttl, rules.rate_allowance.get()), (Some(Duration::from_secs(30)), 10_169));
    }

    #[test]
    fn a_lease_that_only_begins_with_a_step_has_an_allowance_too() {
        let rules = of(&format!("ttl = \"none\"\n{}", client("{ extend = { by = \"10s\" } }")));
        assert_eq!((rules.ttl, rules.rate_allowance.get()), (None, 10_305));
        assert_eq!(of(&format!("ttl = \"none\"\n{}", client("\"release\""))).rate_allowance, Ppm::ZERO);
    }

    #[test]
    fn behind_one_barrier_the_effects_rest_on_the_tokens_alone() {
        let needs = |resource: &str, steps: &str| {
            let rules = of(&format!("resource = \"{resource}\"\n{}", client(steps)));
            assert_eq!(rules.needs[&Property::BeliefExclusion].len(), 4);
            (rules.needs[&Property::EffectOrder].len(), rules.resource_checks_tokens)
        };
        let (one, two) = ("\"read\", \"write\"", "{ read = \"x\" }, { write = \"y\" }");
        assert_eq!([needs("open", one), needs("fence_rw", one)], [(5, false), (0, true)]);
        assert_eq!(needs("fence_rw", two), (5, false), "a barrier for each object does not see both");
    }
}
