//! How fast three kernels run one lock workload, in one process, as ratios; and how many seeds of
//! `gc-pause` one core judges in a second.
//!
//! The workload: some clients, one lock server, each way 0.2 to 2 ms; a client takes the lock (trying again
//! after 1 to 50 ms), works for 1 to 20 ms, gives it back, so many rounds. An event is what a simulator hands
//! to the application: a message delivered to a server or a client, or a sleep that ended.
//!
//! | kernel | what runs on it |
//! |---|---|
//! | plain loop | a heap, ChaCha8 and hand-written state machines: what no simulator can beat by much |
//! | fencepost | the Redis model, the lock recipe and the scripted client, history and all checkers on |
//! | madsim | a server and clients as its users write them; no history, no check (with `--cfg madsim` only) |
//!
//! The kernels take turns, and the figures are medians over the rounds, of processor time. Compare ratios
//! from one run: absolute figures are of the machine. Nothing here fails for being slow; it fails if the
//! kernels do not do the same work.

#[cfg(madsim)]
mod bare;
mod fencepost;
mod plain;

use std::ops::Range;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How much of the workload one run is.
#[derive(Clone, Copy)]
struct Size {
    name: &'static str,
    clients: u16,
    rounds: u32,
    /// How many runs are timed together.
    runs: u64,
}

/// What one run did.
#[derive(Clone, Copy, Default)]
struct Work {
    grants: u64,
    events: u64,
    simulated: Duration,
}

/// A way to run the workload, one seed at a time.
struct Kernel {
    name: &'static str,
    run: Box<dyn Fn(u64) -> Work>,
}

const SIZES: [Size; 2] = [
    Size { name: "LONG", clients: 5, rounds: 200, runs: 20 },
    Size { name: "SHORT", clients: 3, rounds: 2, runs: 4_000 },
];

/// How often each kernel has its turn.
const TURNS: usize = 5;

fn main() {
    for size in SIZES {
        compare(size);
    }
    gc_pause();
}

fn kernels(size: Size) -> Vec<Kernel> {
    vec![
        Kernel { name: "plain loop", run: Box::new(move |seed| plain::run(seed, size)) },
        Kernel { name: "fencepost", run: fencepost::kernel(size) },
        #[cfg(madsim)]
        Kernel { name: "madsim", run: Box::new(move |seed| bare::run(seed, size)) },
    ]
}

/// Prints what a run costs on each kernel, and how much dearer than on ours.
fn compare(size: Size) {
    let kernels = kernels(size);
    let mut costs = vec![Vec::new(); kernels.len()];
    let mut works = vec![Work::default(); kernels.len()];
    for turn in 0..TURNS as u64 {
        for (index, kernel) in kernels.iter().enumerate() {
            let seeds = turn * size.runs..(turn + 1) * size.runs;
            let (cost, work) = timed(|| total(kernel, seeds));
            costs[index].push(cost);
            works[index].add(work);
        }
    }
    let runs = size.runs * TURNS as u64;
    check_same_work(size, &kernels, &works, runs);
    let costs: Vec<f64> = costs.into_iter().map(|costs| median(costs) / size.runs as f64).collect();
    let ours = costs[kernels.iter().position(|kernel| kernel.name == "fencepost").expect("it is listed")];
    println!("\n{}: {} clients, {} rounds each", size.name, size.clients, size.rounds);
    println!(
        "{:<12}{:>12}{:>13}{:>11}{:>14}{:>15}",
        "", "us a run", "events/run", "ns/event", "simulated s", "to fencepost"
    );
    for ((kernel, work), cost) in kernels.iter().zip(&works).zip(costs) {
        let events = work.events as f64 / runs as f64;
        let simulated = work.simulated.as_secs_f64() / runs as f64;
        println!(
            "{:<12}{:>12.2}{events:>13.1}{:>11.1}{simulated:>14.3}{:>15.2}",
            kernel.name,
            cost * 1e6,
            cost * 1e9 / events,
            cost / ours
        );
    }
}

/// The kernels draw differently, so they do not do the same to the event; but every client gets the lock as
/// often as it wants, and what that takes is much the same.
fn check_same_work(size: Size, kernels: &[Kernel], works: &[Work], runs: u64) {
    let wanted = u64::from(size.clients) * u64::from(size.rounds) * runs;
    let fewest = works.iter().map(|work| work.events).min().expect("there are kernels");
    for (kernel, work) in kernels.iter().zip(works) {
        assert_eq!(work.grants, wanted, "{}: grants", kernel.name);
        let events = work.events;
        assert!(events * 2 < fewest * 3, "{}: {events} events, where {fewest} are enough", kernel.name);
    }
}

/// Prints how many seeds of `gc-pause` one core plays and judges in a second: on our kernel, and, the same
/// models, clients and checkers, on madsim.
fn gc_pause() {
    println!("\ngc-pause, one core");
    for (cell, play) in fencepost::cells("gc-pause") {
        print_seeds_a_second(&cell, 4_000, play);
    }
    #[cfg(madsim)]
    for (cell, play) in fencepost::cells_on_madsim("gc-pause") {
        print_seeds_a_second(&format!("{cell}, on madsim"), 400, play);
    }
}

fn print_seeds_a_second(what: &str, seeds: u64, play: impl Fn(Range<u64>) -> u64) {
    let seconds = (0..TURNS as u64).map(|turn| timed(|| play(turn * seeds..(turn + 1) * seeds)).0).collect();
    println!("{what:<40}{:>10.0} seeds a second", seeds as f64 / median(seconds));
}

fn total(kernel: &Kernel, seeds: Range<u64>) -> Work {
    let mut total = Work::default();
    for seed in seeds {
        total.add((kernel.run)(seed));
    }
    total
}

impl Work {
    fn add(&mut self, other: Self) {
        self.grants += other.grants;
        self.events += other.events;
        self.simulated += other.simulated;
    }
}

/// The seconds of processor time that this thread spends on it, and its result.
fn timed<T>(act: impl FnOnce() -> T) -> (f64, T) {
    let spent = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let before = spent();
    let result = std::hint::black_box(act());
    (spent() - before, result)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
