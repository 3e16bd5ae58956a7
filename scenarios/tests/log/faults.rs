//! What goes wrong in a cluster, drawn from a seed: everything that the kernel can do to its members.
//!
//! Not drawn: a member that loses what it had synced. Raft does not survive that, and says so.

use host::{Duration, NodeId, Operation, Part, Ppm, Span};
use sim::{Direction, Entity, Fault, Held, Lasts, Link, MessageMatch, Target, What, When};

use crate::register::{Nothing, members};
use crate::world::ms;

/// When the last one is over, at the latest.
pub(crate) const OVER: Duration = ms(10_000);

/// Several faults, of any kind.
pub(crate) fn draw(seed: u64, count: u16) -> Vec<Fault<Nothing>> {
    let mut dice = Dice(seed);
    (0..=dice.below(6)).map(|number| fault(&mut dice, number, count)).collect()
}

fn fault(dice: &mut Dice, number: u64, count: u16) -> Fault<Nothing> {
    let at = ms(200 + dice.below(5_800));
    // As often for some ms as for some seconds: what matters is shorter than a round trip, or longer than an election.
    let lasts = ms((1 << dice.below(12)) + dice.below(2_000));
    let what = what(dice, count);
    let lasts = match &what {
        What::StepClock(..) | What::Reset(_) | What::HalfOpen { .. } => Lasts::Instant,
        _ => Lasts::For(Span::Fixed(lasts.min(OVER - at))),
    };
    let when = match lasts {
        Lasts::For(Span::Fixed(lasts)) if dice.below(3) == 0 => {
            // Again and again: who restarts may do so in the middle of an election.
            let every = lasts + ms(1 + dice.below(400));
            let most = (OVER - at).as_nanos() / every.as_nanos();
            let times = u32::try_from(dice.below(8) + 1).expect("few");
            When::Every { at, every, times: Some(times.min(u32::try_from(most).expect("few").max(1))) }
        }
        _ => When::At(at),
    };
    Fault { entity: Entity::named(&format!("fault {number}")), what, when, lasts }
}

fn what(dice: &mut Dice, count: u16) -> What<Nothing> {
    let some = |dice: &mut Dice| some_of(dice, count);
    match dice.below(17) {
        0 => What::Pause(some(dice)),
        1 => What::MachineSleep(some(dice)),
        2 => What::VmStop(some(dice)),
        3 | 4 => What::Kill(some(dice)),
        5 | 6 => What::PowerOff(some(dice)),
        7 => What::StepClock(some(dice), if dice.below(2) == 0 { 5_000_000_000 } else { -5_000_000_000 }),
        8 => What::ClockRate(some(dice), Ppm::new(i32::try_from(dice.below(1_000_000)).expect("few") - 500_000)),
        9 => What::SlowDisk(some(dice), Span::Uniform { from: ms(0), to: ms(1 + dice.below(1_500)) }),
        10 => What::Slow(sides(dice, count), Span::Uniform { from: ms(0), to: ms(1 + dice.below(800)) }),
        11 => What::Reset(sides(dice, count)),
        12 => What::HalfOpen { forgets: some(dice), believes: some(dice) },
        13 => message(dice, count),
        14 => What::Stall(anybody(dice, count), Part::REQUESTS),
        _ => {
            let held = if dice.below(3) == 0 { Held::Linger } else { Held::Dropped };
            What::Cut(sides(dice, count), held)
        }
    }
}

/// Some messages of one kind are lost, or late.
fn message(dice: &mut Dice, count: u16) -> What<Nothing> {
    const KINDS: [&str; 11] = [
        "append",
        "append-reply",
        "heartbeat",
        "heartbeat-reply",
        "vote",
        "vote-reply",
        "pre-vote",
        "snapshot",
        "propose",
        "read-index",
        "read-index-reply",
    ];
    let operation = *dice.one_of(&KINDS.map(Operation));
    let nth = (dice.below(2) == 0).then(|| u32::try_from(dice.below(4)).expect("few") + 1);
    let (direction, clients) = (Direction::Push, some_of(dice, count));
    let matches = MessageMatch { direction, operation, clients, server: None, nth };
    match dice.below(2) {
        0 => What::Drop(matches),
        _ => What::Delay(matches, Span::Uniform { from: ms(0), to: ms(3_000) }),
    }
}

/// One member or more.
fn some_of(dice: &mut Dice, count: u16) -> Vec<Target> {
    let mut some: Vec<Target> = members(count).into_iter().map(Target::Node).collect();
    let leave = 1 + usize::try_from(dice.below(u64::from(count))).expect("few");
    while some.len() > leave {
        some.remove(usize::try_from(dice.below(some.len() as u64)).expect("few"));
    }
    some
}

fn anybody(dice: &mut Dice, count: u16) -> Target {
    Target::Node(*dice.one_of(&members(count)))
}

/// The links between two sides, both ways or one; or any links.
fn sides(dice: &mut Dice, count: u16) -> Vec<Link> {
    if dice.below(3) == 0 {
        return any_links(dice, count);
    }
    let word = dice.below(1 << count);
    let both = dice.below(2) == 0;
    let is_left = |node: &NodeId| word >> node.index() & 1 == 1;
    let all = members(count);
    let mut links = Vec::new();
    for left in all.iter().filter(|node| is_left(node)) {
        for right in all.iter().filter(|node| !is_left(node)) {
            links.push(Link { from: Target::Node(*left), to: Target::Node(*right) });
            if both {
                links.push(Link { from: Target::Node(*right), to: Target::Node(*left) });
            }
        }
    }
    links
}

/// Between any two members, with luck: some may still reach everybody.
fn any_links(dice: &mut Dice, count: u16) -> Vec<Link> {
    let mut links = Vec::new();
    for one in members(count) {
        for other in members(count).into_iter().filter(|other| *other > one) {
            if dice.below(2) == 0 {
                let (from, to) = (Target::Node(one), Target::Node(other));
                links.extend([Link { from, to }, Link { from: to, to: from }]);
            }
        }
    }
    links
}

/// A small generator: `SplitMix64`.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// From 0 up to that, which is not drawn.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ word >> 31) % bound
    }

    /// One of these.
    pub(crate) fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[usize::try_from(self.below(all.len() as u64)).expect("few")]
    }
}
