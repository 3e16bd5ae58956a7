use super::*;
use crate::etcd::store::Change;

const RETRY: Duration = Duration::from_secs(7);

/// A leader and its two clocks.
struct Bench {
    store: Store,
    lessor: Lessor,
    mono: u64,
    wall: i64,
}

impl Bench {
    fn new(gate: Gate, checkpoints: Option<Duration>) -> Self {
        let mut lessor = Lessor::new(Counting { gate, retry: RETRY, checkpoints });
        let store = Store::new(2);
        lessor.promote(&store, clocks(1_000, 1_000_000), Duration::ZERO);
        Self { store, lessor, mono: 1_000, wall: 1_000_000 }
    }

    fn now(&self) -> Clocks {
        clocks(self.mono, self.wall)
    }

    /// Time passes.
    fn wait(&mut self, ms: u64) {
        self.mono += ms;
        self.wall += ms.cast_signed();
    }

    fn grant(&mut self, ttl: i64) {
        self.store.apply(&Change::Grant { id: id(), ttl }).expect("granted");
        self.lessor.granted(id(), &self.store.leases()[&id()], self.now());
    }

    fn renew(&mut self) -> Renewal {
        let now = self.now();
        self.lessor.renew(id(), &self.store, now)
    }

    fn left(&self) -> Option<i64> {
        self.lessor.left(id(), self.now())
    }

    /// After how many ms, looking every half second, the lease is found over.
    fn over_after(&mut self) -> u64 {
        let began = self.mono;
        while self.mono - began < 100_000 {
            if !self.lessor.over(self.now()).is_empty() {
                return self.mono - began;
            }
            self.wait(500);
        }
        panic!("it is never over");
    }
}

fn clocks(mono: u64, wall: i64) -> Clocks {
    Clocks { mono: MonoTime::from_nanos(mono * 1_000_000), wall: WallTime::from_millis(wall) }
}

fn id() -> LeaseId {
    LeaseId::new(7).expect("not 0")
}

#[test]
fn a_lease_is_over_when_its_seconds_are_and_is_then_not_kept_alive() {
    let mut t = Bench::new(Gate::Wall, None);
    t.grant(5);
    t.wait(4_999);
    assert_eq!((t.left(), t.lessor.over(t.now())), (Some(0), vec![]));
    assert_eq!(t.renew(), Renewal::Lives(5));
    t.wait(5_000);
    assert_eq!((t.renew(), t.left()), (Renewal::Over, Some(0)));
    assert_eq!(t.lessor.over(t.now()), [id()]);
    assert_eq!(t.lessor.over(t.now()), [], "it is proposed already");
    t.wait(7_000);
    assert_eq!((t.lessor.over(t.now()), t.left()), (vec![id()], Some(-7)), "the proposal was lost");
    t.lessor.revoked(id());
    assert_eq!((t.renew(), t.left(), t.lessor.is_idle()), (Renewal::Gone, None, true));
}

#[test]
fn a_wall_clock_that_is_set_back_makes_leases_longer_until_3_5() {
    for (gate, late) in [(Gate::Wall, 60_000), (Gate::Monotonic, 0)] {
        let mut t = Bench::new(gate, None);
        t.grant(5);
        t.wall -= 60_000;
        assert_eq!(t.over_after(), 5_000 + late, "{gate:?}");
    }
}

#[test]
fn a_wall_clock_that_is_set_forward_makes_the_leader_look_too_soon_and_then_too_late() {
    for (gate, found) in [(Gate::Wall, 7_000), (Gate::Monotonic, 5_000)] {
        let mut t = Bench::new(gate, None);
        t.grant(5);
        t.wall += 60_000;
        assert_eq!(t.over_after(), found, "{gate:?}");
    }
    let mut t = Bench::new(Gate::Wall, None);
    t.grant(5);
    t.wall += 60_000;
    assert_eq!(t.lessor.over(t.now()), []);
    t.wait(2_000);
    assert_eq!(t.renew(), Renewal::Lives(5));
    assert_eq!(t.over_after(), 5_000, "who is kept alive is looked at in time");
}

#[test]
fn a_new_leader_gives_the_whole_time_and_an_election_timeout() {
    let mut t = Bench::new(Gate::Wall, None);
    t.grant(5);
    t.wait(4_000);
    t.lessor.demote();
    assert_eq!((t.left(), t.renew()), (None, Renewal::NotLeader));
    t.wait(60_000);
    assert_eq!(t.lessor.over(t.now()), []);
    t.lessor.promote(&t.store, clocks(t.mono, t.wall), Duration::from_secs(1));
    assert_eq!(t.left(), Some(6));
    assert_eq!(t.over_after(), 6_000);
}

#[test]
fn what_was_written_down_is_what_a_new_leader_gives_until_the_lease_is_kept_alive() {
    let mut t = Bench::new(Gate::Wall, Some(Duration::from_secs(300)));
    t.grant(1_000);
    t.wait(299_999);
    assert_eq!(t.lessor.checkpoints(t.now()), []);
    t.wait(2);
    assert_eq!(t.lessor.checkpoints(t.now()), [(id(), 700)]);
    assert_eq!(t.lessor.checkpoints(t.now()), [], "it is proposed already");
    t.store.apply(&Change::Checkpoint { id: id(), remaining: 700 }).expect("known");
    t.lessor.checkpointed(id(), &t.store.leases()[&id()].clone(), t.now());
    t.lessor.promote(&t.store, t.now(), Duration::from_secs(1));
    assert_eq!(t.left(), Some(701));
    assert_eq!(t.renew(), Renewal::Lives(1_000));
}

#[test]
fn no_more_than_five_hundred_in_one_pass() {
    let mut t = Bench::new(Gate::Wall, None);
    for number in 1..=501 {
        let id = LeaseId::new(number).expect("not 0");
        t.store.apply(&Change::Grant { id, ttl: 5 }).expect("granted");
        t.lessor.granted(id, &t.store.leases()[&id], t.now());
    }
    t.wait(5_000);
    assert_eq!([t.lessor.over(t.now()).len(), t.lessor.over(t.now()).len()], [500, 1]);
}
