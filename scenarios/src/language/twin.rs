//! The twin rule: a property that breaks in a cell holds in a cell that differs on one axis only, or
//! its entry says `because`.
//!
//! A scenario that only shows a lock broken cannot tell a weak lock from a world in which nothing
//! works; the twin is the control experiment.

use spec::Property;

use super::error::Sink;
use super::expect::Claims;
use super::matrix::Matrix;
use crate::cell::Expected;

/// Checks the rule for all cells of a matrix; `claims` has one entry for each.
pub(super) fn twins(sink: &Sink, matrix: &Matrix, claims: &[Claims<'_>]) {
    for property in Property::ALL {
        if claims.iter().any(|cell| is_break(cell.expected(property))) {
            check(sink, matrix, claims, property);
        }
    }
    sink.enter(None);
}

fn check(sink: &Sink, matrix: &Matrix, claims: &[Claims<'_>], property: Property) {
    let lines = Lines::new(matrix);
    // For each axis, for each line of cells along it: whether the property holds anywhere on it.
    let mut holds: Vec<_> = lines.0.iter().map(|_| vec![false; claims.len()]).collect();
    for (cell, claim) in claims.iter().enumerate() {
        if claim.expected(property) == Expected::Holds {
            for (axis, holds) in holds.iter_mut().enumerate() {
                holds[lines.start(axis, cell)] = true;
            }
        }
    }
    for (cell, claim) in claims.iter().enumerate() {
        let Some((claim, site)) = claim.properties.get(&property) else { continue };
        let repaired = holds.iter().enumerate().any(|(axis, holds)| holds[lines.start(axis, cell)]);
        if is_break(claim.expected) && claim.because.is_none() && !repaired {
            sink.enter(Some(cell));
            let name = property.name();
            let message = format!("`{name}` breaks here, and no single other option of the matrix makes it hold");
            let help = "show the repair beside it, as another option of one axis, or say why there is none: `because`";
            sink.error_with(*site, message, Some(help.to_owned()));
        }
    }
}

/// The lines of cells that differ on one axis only. A line is known by its first cell.
struct Lines(Vec<(usize, usize)>);

impl Lines {
    /// For each axis, how far apart its options lie and how many there are.
    fn new(matrix: &Matrix) -> Self {
        let mut stride = 1;
        let mut axes: Vec<_> = matrix
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let own = (stride, axis.choices.len());
                stride *= axis.choices.len();
                own
            })
            .collect();
        axes.reverse();
        Self(axes)
    }

    fn start(&self, axis: usize, cell: usize) -> usize {
        let (stride, count) = self.0[axis];
        cell - cell / stride % count * stride
    }
}

const fn is_break(expected: Expected) -> bool {
    matches!(expected, Expected::Always | Expected::Broken)
}
