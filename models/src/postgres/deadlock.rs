//! Finds circles of waits, and gets out of them by another order of a queue if that is enough.
//!
//! Source: `src/backend/storage/lmgr/deadlock.c` of PostgreSQL 15, and the part of the `README` there.
//!
//! | there | here |
//! |---|---|
//! | `DeadLockCheck`, by who has waited for `deadlock_timeout` | [`check`] |
//! | `DeadLockCheckRecurse`: with one soft edge after the other turned round | `Search::solve` |
//! | `TestConfiguration` | `Search::test` |
//! | `FindLockCycle`: hard edges (who has it), soft edges (who is before it in the queue) | `Search::find_circle` |
//! | `ExpandConstraints`, `TopoSort` | `Search::expand`, `sort` |
//!
//! Left out: that only so many soft edges are tried (`MaxBackends`), and that autovacuum gives way.

use std::collections::BTreeSet;

use super::key::Pid;
use super::lock_table::{LockTable, LockTag, conflicts};

/// What there is to be done about those that wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// Nothing: there is no circle that this one is in.
    Nothing,
    /// These queues in another order.
    Reorder(Vec<(LockTag, Vec<Pid>)>),
    /// This one must not wait.
    Deadlock,
}

/// Looks for circles of waits that this one is in.
pub(super) fn check(table: &LockTable, waiter: Pid) -> Found {
    let mut search = Search { table, turned: Vec::new(), orders: Vec::new() };
    if search.solve(waiter) {
        return Found::Deadlock;
    }
    if search.orders.is_empty() { Found::Nothing } else { Found::Reorder(search.orders) }
}

/// One that waits only since another is before it in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Soft {
    waiter: Pid,
    blocker: Pid,
    tag: LockTag,
}

struct Search<'t> {
    table: &'t LockTable,
    /// Soft edges that are turned round: the waiter is to be before its blocker.
    turned: Vec<Soft>,
    /// The orders of queues that come of it.
    orders: Vec<(LockTag, Vec<Pid>)>,
}

/// What there is in the way of an order.
enum Test {
    /// Nothing.
    Good,
    /// This circle has soft edges.
    Soft(Vec<Soft>),
    /// No other order helps.
    Hard,
}

impl Search<'_> {
    /// Whether there is no way out.
    fn solve(&mut self, start: Pid) -> bool {
        let edges = match self.test(start) {
            Test::Hard => return true,
            Test::Good => return false,
            Test::Soft(edges) => edges,
        };
        for edge in edges {
            self.turned.push(edge);
            if !self.solve(start) {
                return false;
            }
            self.turned.pop();
        }
        true
    }

    fn test(&mut self, start: Pid) -> Test {
        if !self.expand() {
            return Test::Hard;
        }
        let mut found = Test::Good;
        let turned = self.turned.iter().flat_map(|edge| [edge.waiter, edge.blocker]);
        for from in turned.chain([start]) {
            match self.find_circle(from) {
                Some(edges) if edges.is_empty() => return Test::Hard,
                Some(edges) => found = Test::Soft(edges),
                None => {}
            }
        }
        found
    }

    /// The orders that the turned edges ask for. Whether there are some.
    fn expand(&mut self) -> bool {
        self.orders.clear();
        let mut tags: Vec<LockTag> = Vec::new();
        // The last edge first.
        for edge in self.turned.iter().rev() {
            if !tags.contains(&edge.tag) {
                tags.push(edge.tag);
            }
        }
        for tag in tags {
            let queue =
                self.table.lock(tag).map_or_else(Vec::new, |lock| lock.queue.iter().map(|(pid, _)| *pid).collect());
            let before: Vec<(Pid, Pid)> =
                self.turned.iter().filter(|edge| edge.tag == tag).map(|edge| (edge.waiter, edge.blocker)).collect();
            let Some(order) = sort(&queue, &before) else { return false };
            self.orders.push((tag, order));
        }
        true
    }

    /// A circle of waits from there to there: its soft edges.
    fn find_circle(&self, start: Pid) -> Option<Vec<Soft>> {
        let mut visited = BTreeSet::new();
        let mut edges = Vec::new();
        self.reaches(start, start, &mut visited, &mut edges).then_some(edges)
    }

    fn reaches(&self, from: Pid, start: Pid, visited: &mut BTreeSet<Pid>, edges: &mut Vec<Soft>) -> bool {
        if !visited.insert(from) {
            return from == start;
        }
        let Some(tag) = self.table.awaited_by(from) else { return false };
        let Some(lock) = self.table.lock(tag) else { return false };
        let Some(&(_, mode)) = lock.queue.iter().find(|(pid, _)| *pid == from) else { return false };
        for holder in lock.in_the_way(from, mode) {
            if self.reaches(holder, start, visited, edges) {
                return true;
            }
        }
        let wanted = |pid: Pid| lock.queue.iter().find(|(other, _)| *other == pid).map(|(_, mode)| *mode);
        let ordered = self.orders.iter().find(|(of, _)| *of == tag).map(|(_, order)| order.clone());
        let order = ordered.unwrap_or_else(|| lock.queue.iter().map(|(pid, _)| *pid).collect());
        for blocker in order.into_iter().take_while(|pid| *pid != from) {
            let is_in_the_way = wanted(blocker).is_some_and(|other| conflicts(mode, other));
            if is_in_the_way && self.reaches(blocker, start, visited, edges) {
                edges.push(Soft { waiter: from, blocker, tag });
                return true;
            }
        }
        false
    }
}

/// The queue, such that of each pair the first is before the second, otherwise as it was as far as that can be: the places are
/// filled from the end, each with the last that nobody must follow. `None`: there is no such order.
fn sort(queue: &[Pid], before: &[(Pid, Pid)]) -> Option<Vec<Pid>> {
    let mut rest = queue.to_vec();
    let mut order = Vec::new();
    while !rest.is_empty() {
        let must_not_be_last = |pid: &Pid| before.iter().any(|(first, second)| first == pid && rest.contains(second));
        let last = rest.iter().rposition(|pid| !must_not_be_last(pid))?;
        order.push(rest.remove(last));
    }
    order.reverse();
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::super::key::Strength::{self, Exclusive, Shared};
    use super::super::key::{AdvisoryKey, Database};
    use super::*;

    const A: Pid = Pid(1);
    const B: Pid = Pid(2);
    const C: Pid = Pid(3);

    fn tag(key: i64) -> LockTag {
        LockTag::Advisory(Database::default(), AdvisoryKey::Big(key))
    }

    /// They ask in this order, and wait if they must.
    fn table(asked: &[(Pid, i64, Strength)]) -> LockTable {
        let mut table = LockTable::default();
        for (pid, key, mode) in asked {
            table.acquire(*pid, tag(*key), *mode, true);
        }
        table
    }

    #[test]
    fn a_circle_of_two_is_found_by_either() {
        let table = table(&[(A, 1, Exclusive), (B, 2, Exclusive), (A, 2, Exclusive), (B, 1, Exclusive)]);
        assert_eq!([check(&table, A), check(&table, B)], [Found::Deadlock, Found::Deadlock]);
    }

    #[test]
    fn who_waits_for_a_circle_without_being_in_it_has_found_nothing() {
        let asked = [(A, 1, Exclusive), (B, 2, Exclusive), (A, 2, Exclusive), (B, 1, Exclusive), (C, 1, Exclusive)];
        assert_eq!(check(&table(&asked), C), Found::Nothing);
        assert_eq!(check(&table(&asked[..3]), A), Found::Nothing);
    }

    #[test]
    fn one_that_waits_only_for_its_place_in_a_queue_is_let_past() {
        // A has lock 1 with others, D has lock 2. B waits for lock 1 alone. D would do with A, but B is before it; and A waits for D.
        let d = Pid(4);
        let asked = [(A, 1, Shared), (d, 2, Exclusive), (B, 1, Exclusive), (d, 1, Shared), (A, 2, Exclusive)];
        let table = table(&asked);
        let order = vec![d, B];
        assert_eq!(check(&table, A), Found::Reorder(vec![(tag(1), order.clone())]));
        assert_eq!(check(&table, d), Found::Reorder(vec![(tag(1), order)]));
        let mut table = table;
        table.reorder(tag(1), &[d, B]);
        assert_eq!(table.take_woken(), Some(d));
    }

    #[test]
    fn an_order_that_cannot_be_is_not_found() {
        assert_eq!(sort(&[A, B, C], &[(C, A)]), Some(vec![C, A, B]));
        assert_eq!(sort(&[A, B, C], &[(C, A), (A, C)]), None);
        assert_eq!(sort(&[A, B, C], &[]), Some(vec![A, B, C]));
    }
}
