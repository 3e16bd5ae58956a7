//! Claims about whole runs, through the real kernel: where a pause hurts and where it does not, what a
//! kill cannot do, every interleaving, and broken locks that must be found out.

mod interleavings;
mod mutants;
mod steps;
