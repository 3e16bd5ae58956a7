//! The workload as a plain loop: a heap of events, ChaCha8, state machines; nothing else.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::{Size, Work};

const TTL: u64 = 10_000_000_000;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Request { client: u16, request: Request },
    Reply { client: u16, ok: bool },
    Wakes { client: u16 },
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Request {
    Acquire { owner: u64 },
    Release { owner: u64 },
}

/// What a client waits for.
#[derive(Clone, Copy)]
enum Waits {
    ToTryAgain,
    ForTheLock,
    ForItsWork,
    ForTheRelease,
}

struct Client {
    waits: Waits,
    owner: u64,
    left: u32,
}

struct Lock {
    owner: u64,
    expires: u64,
}

struct Loop {
    now: u64,
    inserted: u64,
    queue: BinaryHeap<Reverse<(u64, u64, Event)>>,
    random: ChaCha8Rng,
}

impl Loop {
    fn after(&mut self, shortest: u64, longest: u64, event: Event) {
        let drawn = u128::from(self.random.next_u64()) * u128::from(longest - shortest);
        self.inserted += 1;
        self.queue.push(Reverse((self.now + shortest + (drawn >> 64) as u64, self.inserted, event)));
    }

    fn send(&mut self, event: Event) {
        self.after(200_000, 2_000_000, event);
    }
}

/// One run.
pub(crate) fn run(seed: u64, size: Size) -> Work {
    let random = ChaCha8Rng::seed_from_u64(seed);
    let mut world = Loop { now: 0, inserted: 0, queue: BinaryHeap::with_capacity(16), random };
    let new = |_| Client { waits: Waits::ToTryAgain, owner: 0, left: size.rounds };
    let mut clients: Vec<Client> = (0..size.clients).map(new).collect();
    let mut lock: Option<Lock> = None;
    let mut work = Work::default();
    for client in 0..size.clients {
        clients[usize::from(client)].tries(client, &mut world);
    }
    while let Some(Reverse((now, _, event))) = world.queue.pop() {
        world.now = now;
        work.events += 1;
        match event {
            Event::Request { client, request } => {
                let ok = serve(&mut lock, request, now);
                work.grants += u64::from(ok && matches!(request, Request::Acquire { .. }));
                world.send(Event::Reply { client, ok });
            }
            Event::Reply { client, ok } => clients[usize::from(client)].hears(client, ok, &mut world),
            Event::Wakes { client } => clients[usize::from(client)].wakes(client, &mut world),
        }
    }
    work.simulated = Duration::from_nanos(world.now);
    work
}

fn serve(lock: &mut Option<Lock>, request: Request, now: u64) -> bool {
    lock.take_if(|lock| lock.expires <= now);
    match request {
        Request::Acquire { owner } if lock.is_none() => {
            *lock = Some(Lock { owner, expires: now + TTL });
            true
        }
        Request::Acquire { .. } => false,
        Request::Release { owner } => lock.take_if(|lock| lock.owner == owner).is_some(),
    }
}

impl Client {
    fn tries(&mut self, client: u16, world: &mut Loop) {
        self.owner = world.random.next_u64();
        self.waits = Waits::ForTheLock;
        world.send(Event::Request { client, request: Request::Acquire { owner: self.owner } });
    }

    fn hears(&mut self, client: u16, ok: bool, world: &mut Loop) {
        match self.waits {
            Waits::ForTheLock if ok => {
                self.waits = Waits::ForItsWork;
                world.after(1_000_000, 20_000_000, Event::Wakes { client });
            }
            Waits::ForTheLock => {
                self.waits = Waits::ToTryAgain;
                world.after(1_000_000, 50_000_000, Event::Wakes { client });
            }
            Waits::ForTheRelease => {
                self.left -= 1;
                if self.left > 0 {
                    self.tries(client, world);
                }
            }
            Waits::ToTryAgain | Waits::ForItsWork => unreachable!("nothing was asked"),
        }
    }

    fn wakes(&mut self, client: u16, world: &mut Loop) {
        if let Waits::ForItsWork = self.waits {
            self.waits = Waits::ForTheRelease;
            world.send(Event::Request { client, request: Request::Release { owner: self.owner } });
        } else {
            self.tries(client, world);
        }
    }
}
