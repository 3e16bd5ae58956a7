//! What a cell's runs are judged by: the promises of its lock, as this world's clients use it.

use host::{Clock, Duration, NodeId, Ppm};
use models::guard::Guard;
use models::lock::Lock;
use models::script::Step;
use spec::{Assumption, Level, Property, Rules};

use crate::cell::{Cell, Client};
use crate::contender::Contender;
use crate::discipline;
use crate::fencing::{keeps_order, keeps_updates};
use crate::landed::{ByServers, Counted};
use crate::world::Nodes;

/// The rules for one cell, played by that lock.
pub(crate) fn rules(cell: &Cell, contender: &Contender, nodes: &Nodes) -> Rules {
    let policies = nodes.clients().zip(&cell.clients).map(|(node, client)| (node, client.script.policy)).collect();
    // What a check of a user's own does, nobody knows.
    let is_own = contender.check().is_some();
    let needs = |property: &Property| (*property, needs(cell, *property, is_own));
    Rules {
        promise: cell.lock.promise(),
        quorum: contender.own_quorum().unwrap_or_else(|| quorum(cell, nodes)),
        policies,
        needs: Property::ALL.iter().map(needs).collect(),
        ttl: cell.clients.iter().filter(|client| client.ttl.is_some()).flat_map(leases).max(),
        // The longest lease has the least allowance in proportion.
        rate_allowance: cell.clients.iter().filter_map(rate_allowance).min().unwrap_or(Ppm::ZERO),
        authorities: nodes.authorities().collect(),
        is_logged: nodes.keep_a_log(),
        is_in_sessions: cell.clients.iter().any(|client| client.lock.is_on_a_connection()),
        queues: cell.clients.iter().any(|client| client.lock.queues()),
        counters: counters(cell, nodes),
        counters_on: rivals_clock(cell).unwrap_or(Clock::Monotonic),
        renews: renews_every(cell),
        bounds: cell.bounds,
        resource_checks_tokens: checks_tokens(cell),
    }
}

/// On whose clocks a lease is counted, beside its holder's, if not on that of the server that gave it.
fn counters(cell: &Cell, nodes: &Nodes) -> Vec<NodeId> {
    match (rivals_clock(cell), nodes.keep_a_log()) {
        (Some(_), _) => nodes.clients().collect(),
        (None, true) => nodes.granting().collect(),
        (None, false) => Vec::new(),
    }
}

/// If those that want a lock count how long another has it: on which of their clocks. One who counts on the wall clock is enough for
/// what that shows to matter.
fn rivals_clock(cell: &Cell) -> Option<Clock> {
    let mut clocks = cell.clients.iter().filter_map(|client| client.lock.counted_by_rivals_on());
    let first = clocks.next()?;
    Some(if clocks.any(|clock| clock == Clock::Wall) { Clock::Wall } else { first })
}

/// What is counted by whom, beside a lease by its holder.
pub(crate) fn counted(cell: &Cell) -> Counted {
    let locks = || cell.clients.iter().map(|client| &client.lock);
    let by_servers = if !locks().any(Lock::is_on_a_connection) {
        ByServers::Leases
    } else if cell.service.ends_idle_sessions() {
        ByServers::Sessions
    } else if locks().any(Lock::queues) {
        ByServers::Waits
    } else {
        ByServers::Nothing
    };
    Counted { rivals: rivals_clock(cell), by_servers }
}

/// How many servers must name an owner, for it to be one: the least that is enough for any client.
fn quorum(cell: &Cell, nodes: &Nodes) -> usize {
    let all = nodes.authorities().count();
    let of = |client: &Client| client.lock.quorum_of(client.servers.as_ref().map_or(all, Vec::len));
    cell.clients.iter().map(of).min().unwrap_or(1)
}

/// What a property rests on in this cell: for some, the resource's check has a part in it.
fn needs(cell: &Cell, property: Property, is_own: bool) -> Vec<Assumption> {
    let on = |level| {
        let mut needs = of_locks(cell, level);
        // Those that do not keep each other out by one lock in the first place have not been let down by a check.
        needs.retain(|need| *need != Assumption::ResourceChecksTokens || discipline::is_kept(cell));
        needs
    };
    let mut needs = match (property, cell.resource.guard) {
        (_, _) if is_own => on(property.level()),
        // A sound check lets the effects rest on the tokens alone: clocks and pauses cannot turn those round.
        (Property::EffectOrder, _) if keeps_order(cell) => on(Level::Fence),
        (Property::NoLostUpdate, _) if keeps_updates(cell) => on(Level::Fence),
        // It refuses what no token can help: it does not do what the lock is promised of a check.
        (Property::RightfulAccepted, Guard::FenceLe) => {
            on(property.level()).into_iter().chain([Assumption::ResourceChecksTokens]).collect()
        }
        // Whoever acts out of turn takes the mark, or the version, from under the rightful holder.
        (Property::RightfulAccepted, Guard::Unique | Guard::Version) => on(Level::Effect),
        // Numbers that are drawn after the grant need not be in the order of grants.
        (Property::RightfulAccepted, _) if draws_tickets(cell) => on(Level::Effect),
        _ => on(property.level()),
    };
    if property == Property::NoLostUpdate && cell.resource.is_in_store {
        // What the lock's own store has of an object it has of nothing more firmly.
        needs.extend([Assumption::SyncedDisk, Assumption::NoLossyFailover]);
        needs.sort_unstable();
        needs.dedup();
    }
    needs
}

fn draws_tickets(cell: &Cell) -> bool {
    steps(cell).any(|step| matches!(step, Step::Ticket(_)))
}

/// Whether the resource does what a lock is promised of it: of two holders it lets pass the newer, and after
/// that nothing of the older.
fn checks_tokens(cell: &Cell) -> bool {
    keeps_order(cell) && cell.resource.guard != Guard::FenceLe
}

/// What any client's lock rests on: a promise among clients is kept by all of them.
fn of_locks(cell: &Cell, level: Level) -> Vec<Assumption> {
    let mut all = Vec::new();
    for need in cell.clients.iter().flat_map(|client| client.lock.needs(level)) {
        if !all.contains(need) {
            all.push(*need);
        }
    }
    all
}

/// How often the lock extends its lease by itself. What is not so for every client is not said of the lock.
fn renews_every(cell: &Cell) -> Option<Duration> {
    let mut every = cell.clients.iter().map(|client| client.lock.renews_every());
    let first = every.next().flatten();
    first.filter(|_| every.all(|other| other == first))
}

fn rate_allowance(client: &Client) -> Option<Ppm> {
    leases(client).map(|ttl| client.lock.rate_allowance(ttl)).min()
}

/// Every length of a lease that a lock server may be given by that client.
fn leases(client: &Client) -> impl Iterator<Item = Duration> {
    let extended = client.script.all_steps().filter_map(|step| match step {
        Step::Extend { by, .. } => *by,
        _ => None,
    });
    client.ttl.into_iter().chain(extended)
}

/// Every step of every client, those that are repeated too.
fn steps(cell: &Cell) -> impl Iterator<Item = &Step> {
    cell.clients.iter().flat_map(|client| client.script.all_steps())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::load;
    use crate::world::World;

    const HEAD: &str = "name = \"rules\"\ntitle = \"rules\"\nsource = \"own\"\nlock = \"redis\"\n";

    fn of(text: &str) -> Rules {
        let text = format!("{HEAD}{text}");
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
    fn a_quorum_is_what_the_lock_says_of_the_servers_that_its_clients_know() {
        let quorum = |keys: &str| {
            let text = format!("{}{keys}", HEAD.replace("lock = \"redis\"\n", ""));
            let scenario = load("rules.toml", &text, &[]).unwrap_or_else(|errors| panic!("{errors}"));
            let contender = Contender::built_in(&scenario.cells[0].lock);
            let rules = World::of(&scenario.cells[0], &contender).rules;
            (rules.quorum, rules.authorities.len())
        };
        let redlock = "lock = \"redlock\"\n[client.A]\n";
        assert_eq!(quorum("lock = \"redis\"\n[client.A]\n"), (1, 1));
        assert_eq!(quorum(redlock), (3, 5));
        assert_eq!(quorum(&format!("service.redis.nodes = 4\n{redlock}")), (3, 4));
        assert_eq!(
            quorum(&format!("{redlock}[lock.redlock]\nquorum = 2\n").replace("lock = \"redlock\"\n", "")),
            (2, 5)
        );
        let own = "servers = [\"redis-1\", \"redis-2\", \"redis-3\"]\n";
        assert_eq!(quorum(&format!("{redlock}{own}[client.B]\n")), (2, 5), "the least that is enough for anybody");
        assert_eq!(quorum("lock = \"none\"\n[client.A]\n"), (1, 0));
        let scenario = load("rules.toml", &format!("{}[client.A]\n", HEAD.replace("\"redis\"", "\"redlock\"")), &[])
            .expect("it is one");
        let own = || Contender::own("own", |_| models::none::NoLock);
        let of = |contender: Contender| World::of(&scenario.cells[0], &contender).rules.quorum;
        assert_eq!([of(own()), of(own().with_quorum(3))], [1, 3], "one's own says it itself");
    }

    #[test]
    fn who_counts_beside_the_holder_and_on_which_clock() {
        let head = HEAD.replace("lock = \"redis\"\n", "");
        let counted = |lock: &str| {
            let text = format!("{head}{lock}\n[client.A]\n[client.B]\n");
            let scenario = load("rules.toml", &text, &[]).unwrap_or_else(|errors| panic!("{errors}"));
            let contender = Contender::built_in(&scenario.cells[0].lock);
            let rules = World::of(&scenario.cells[0], &contender).rules;
            (rules.counters.len(), rules.counters_on)
        };
        let row = |clock: &str| counted(&format!("lock.lease-row.clock = {clock:?}"));
        assert_eq!(counted("lock = \"redis\"").0, 0);
        assert_eq!(row("store").0, 0, "the server does");
        assert_eq!(row("observed"), (2, Clock::Monotonic));
        assert_eq!(row("client"), (2, Clock::Wall));
        let one = "lock.lease-row.clock = \"observed\"\n[client.C.lock.lease-row]\nclock = \"client\"";
        assert_eq!(counted(one), (3, Clock::Wall), "it is enough that one does");
    }

    #[test]
    fn clients_of_their_own_kind_are_counted_in() {
        let of_both = |own: &str| of(&format!("ttl = \"10s\"\n[client.A]\n[client.B]\n{own}\n"));
        let longer = of_both("ttl = \"30s\"");
        assert_eq!((longer.ttl, longer.rate_allowance.get()), (Some(Duration::from_secs(30)), 10_169));
        assert_eq!(of_both("ttl = \"none\"").ttl, Some(Duration::from_secs(10)));
        let every = |rules: Rules| rules.renews;
        assert_eq!(every(of_both("lock.redis.renew = { every = \"3s\" }")), None, "not so for A");
        let both = "lock.redis.renew = { every = \"3s\" }\n[client.A.lock.redis]\nrenew = { every = \"3s\" }";
        assert_eq!(every(of(&format!("[client.B]\n{both}\n"))), Some(Duration::from_secs(3)));
    }

    #[test]
    fn a_lease_that_only_begins_with_a_step_has_an_allowance_too() {
        let rules = of(&format!("ttl = \"none\"\n{}", client("{ extend = { by = \"10s\" } }")));
        assert_eq!((rules.ttl, rules.rate_allowance.get()), (None, 10_305));
        assert_eq!(of(&format!("ttl = \"none\"\n{}", client("\"release\""))).rate_allowance, Ppm::ZERO);
    }

    #[test]
    fn what_the_check_keeps_rests_on_the_tokens_alone() {
        let needs = |resource: &str, steps: &str| {
            let rules = of(&format!("resource = \"{resource}\"\n{}", client(steps)));
            assert_eq!(rules.needs[&Property::BeliefExclusion].len(), 5);
            let counts = [Property::EffectOrder, Property::NoLostUpdate].map(|property| rules.needs[&property].len());
            (counts, rules.resource_checks_tokens)
        };
        let (one, two, blind) = ("\"read\", \"write\"", "{ read = \"x\" }, { write = \"y\" }", "\"write\"");
        assert_eq!(needs("open", one), ([6, 6], false));
        assert_eq!(needs("fence_rw", one), ([1, 1], true));
        assert_eq!(needs("fence_rw", two), ([6, 1], false), "a barrier for each object does not see both");
        assert_eq!(needs("version", one), ([6, 1], false), "it knows no order");
        assert_eq!(needs("fence_w", one), ([6, 6], false), "nobody looks at the read");
        assert_eq!(needs("fence_w", blind), ([1, 6], true));
    }

    #[test]
    fn a_rightful_holder_s_right_rests_on_what_the_check_hears() {
        let needs = |resource: &str| {
            let rules = of(&format!("resource = \"{resource}\"\n{}", client("\"read\", \"write\"")));
            rules.needs[&Property::RightfulAccepted].clone()
        };
        for tokens_alone in ["open", "fence_w", "fence_rc", "fence_rw", "mark"] {
            assert_eq!(needs(tokens_alone), [Assumption::SyncedDisk], "{tokens_alone}");
        }
        assert_eq!(needs("fence_le"), [Assumption::SyncedDisk, Assumption::ResourceChecksTokens]);
        assert_eq!([needs("unique").len(), needs("version").len()], [6, 6]);
        let drawn = of(&format!("resource = \"fence_rw\"\n{}", client("\"ticket\", \"read\", \"write\"")));
        assert_eq!(drawn.needs[&Property::RightfulAccepted].len(), 6, "the order is that of the draws");
    }

    #[test]
    fn a_check_that_wrongs_the_holder_is_not_what_a_lock_is_promised() {
        let checks =
            |resource: &str| of(&format!("resource = \"{resource}\"\n{}", client("\"write\""))).resource_checks_tokens;
        assert_eq!([checks("fence_w"), checks("fence_le")], [true, false]);
    }

    #[test]
    fn what_a_check_of_one_s_own_does_nobody_knows() {
        let text = format!("{HEAD}resource = \"fence_rw\"\n{}", client("\"read\", \"write\""));
        let scenario = load("rules.toml", &text, &[]).expect("it is a scenario");
        let lock = Contender::built_in(&scenario.cells[0].lock);
        let own = lock.with_check(|_, seen| models::guard::Ruling::Accept { barrier: seen.barrier });
        let rules = World::of(&scenario.cells[0], &own).rules;
        assert_eq!(rules.needs[&Property::EffectOrder].len(), 6);
    }
}
