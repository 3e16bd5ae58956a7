//! The replicated log, tested for itself: a register on it, under all that the kernel can do to its members.
//!
//! | file | what |
//! |---|---|
//! | [`register`] | the server: it keeps one number |
//! | [`world`] | the cluster and its clients |
//! | [`faults`] | what goes wrong |
//! | [`check`] | what must hold |
//! | [`storms`] | all of it at once, for as many seeds as one has time for |
//! | [`single`] | one thing at a time |

mod check;
mod faults;
mod register;
mod single;
mod storms;
mod world;
