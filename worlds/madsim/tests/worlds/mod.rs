use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::process::ExitCode;

use fencepost_madsim::{MadSim, Refusal, refusals};
use libtest_mimic::{Arguments, Failed, Trial, run};
use scenarios::{Cell, Contender, Expected, Player, Run, Tally, catalogue, language, tally};

/// How many seeds each world plays of a cell.
const SEEDS: u64 = 8;
/// How many of a cell of which something is said to be broken in some seeds only.
const MOST_SEEDS: u64 = 100;

pub(crate) fn main() -> ExitCode {
    let mut trials = Vec::new();
    let mut refused = Vec::new();
    for entry in catalogue::all() {
        let scenario = language::load(entry.file, entry.text, &[]).unwrap_or_else(|errors| panic!("{errors}"));
        let mut reasons: BTreeMap<Vec<Refusal>, Vec<String>> = BTreeMap::new();
        let cells = scenario.cells.len();
        for cell in scenario.cells {
            let options: Vec<String> = cell.params.iter().map(|(axis, option)| format!("{axis}={option}")).collect();
            let options = options.join(" ");
            match refusals(&cell, seeds(&cell)) {
                none if none.is_empty() => {
                    let name = format!("{} {options}", entry.name);
                    trials.push(Trial::test(name.trim_end(), move || comes_out_the_same(&cell)));
                }
                why => reasons.entry(why).or_default().push(options),
            }
        }
        refused.extend(reasons.into_iter().map(|(why, which)| Refused { scenario: entry.name, cells, which, why }));
    }
    let conclusion = run(&Arguments::from_args(), trials);
    println!("\nwhat madsim cannot express:");
    refused.iter().for_each(|refused| println!("{refused}"));
    let refused: usize = refused.iter().map(|refused| refused.which.len()).sum();
    let played = conclusion.num_passed + conclusion.num_failed;
    println!("\n{played} cells played in both worlds, {refused} refused");
    if played == 0 { ExitCode::FAILURE } else { conclusion.exit_code() }
}

/// Cells of a scenario that cannot be played, all for the same reasons.
struct Refused {
    scenario: &'static str,
    /// How many cells the scenario has.
    cells: usize,
    which: Vec<String>,
    why: Vec<Refusal>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 4;
        let Self { scenario, cells, which, why } = self;
        write!(f, "  {scenario}, {} of {cells}", which.len())?;
        if which.len() < *cells {
            let more = if which.len() > MOST { ", …" } else { "" };
            write!(f, " ({}{more})", which[..which.len().min(MOST)].join(", "))?;
        }
        why.iter().try_for_each(|why| write!(f, "\n    {why}"))
    }
}

/// How a property came out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Always,
    InSomeSeeds,
    Never,
}

fn comes_out_the_same(cell: &Cell) -> Result<(), Failed> {
    let contender = Contender::built_in(&cell.lock);
    let player = Player::new(cell, &contender);
    let ours = play(cell, |seed| player.play(seed));
    let madsims = play(cell, |seed| {
        let mut world = MadSim::new(seed);
        player.build_on(&mut world, seed);
        player.conclude(seed, world.run(player.bounds()))
    });
    let mut differences = Vec::new();
    for (property, one) in &ours.properties {
        let other = &madsims.properties[property];
        let (one, other) = (verdict(&ours, one.broken), verdict(&madsims, other.broken));
        let is_same = match ours.properties[property].expected {
            Expected::Free => true,
            // How often is a matter of the draws.
            Expected::Broken => (one == Verdict::Never) == (other == Verdict::Never),
            Expected::Always | Expected::Holds => one == other,
        };
        if !is_same {
            differences.push(format!("{} is broken: {one:?} on our kernel, {other:?} on madsim", property.name()));
        }
    }
    if (ours.vacuous > 0) != (madsims.vacuous > 0) {
        differences.push(format!(
            "never landed: {:?} on our kernel, {:?} on madsim",
            ours.missed_faults, madsims.missed_faults
        ));
    }
    if (ours.inconclusive > 0) != (madsims.inconclusive > 0) {
        let [ours, madsims] = [ours.inconclusive, madsims.inconclusive];
        differences.push(format!("undecided: in {ours} seeds on our kernel, in {madsims} on madsim"));
    }
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n").into()) }
}

fn play(cell: &Cell, play: impl FnMut(u64) -> Run) -> Tally {
    tally(cell, seeds(cell), play)
}

/// A few; more, if something is said to be broken in some seeds only.
fn seeds(cell: &Cell) -> Range<u64> {
    let is_rare = cell.expectations.values().any(|expectation| expectation.expected == Expected::Broken);
    0..if is_rare { MOST_SEEDS } else { SEEDS }
}

fn verdict(tally: &Tally, broken: u64) -> Verdict {
    match broken {
        0 => Verdict::Never,
        all if all == tally.seeds => Verdict::Always,
        _ => Verdict::InSomeSeeds,
    }
}
