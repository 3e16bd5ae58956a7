//! One verdict, two worlds: every cell of the catalogue that madsim can express is played on our kernel and on
//! madsim, with the same seeds, and each of its properties must come out the same.
//!
//! Verdicts, not times: each world draws for itself, and madsim's waits are some ms longer. Cells that madsim
//! cannot express are listed with the reasons; if none can be played, the test fails.

#[cfg(madsim)]
mod worlds;

#[cfg(madsim)]
fn main() -> std::process::ExitCode {
    worlds::main()
}

/// Without madsim there is no second world to compare with.
#[cfg(not(madsim))]
fn main() {}
