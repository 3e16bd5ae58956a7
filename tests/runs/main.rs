//! Claims about whole runs, through the real kernel: where a pause hurts and where it does not, what a
//! kill cannot do, every interleaving, broken locks that must be found out, and verdicts found on paper first.

mod interleavings;
mod mutants;
mod steps;
mod verdicts;
