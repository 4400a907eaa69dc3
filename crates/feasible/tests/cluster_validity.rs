//! Certificates by unit are wrong no more often than they say, however rows of a unit depend on each other.
//!
//! Few trials; the example `cluster_validity` runs thousands and prints the table.
#![allow(clippy::unwrap_used)]

use crate::clusters::{CLAIMS, UNITS, Units, coverage};
use crate::common::depth::depth;
use feasible::certificate::Delta;

#[test]
fn bounds_by_unit_hold_under_dependence_and_bounds_by_row_do_not() {
    let (delta, trials) = (0.1, 100 * depth());
    for units in UNITS {
        let tallies = coverage(units, 60, Delta::new(delta).unwrap(), trials);
        for (name, tally) in CLAIMS.iter().zip(&tallies) {
            assert!(!tally.refutes(delta), "{units:?}, {name}: {tally:?}");
        }
        // Twenty copies of a row are not twenty rows.
        if units == Units::Copies {
            assert!(tallies[0].by_row > trials / 4, "{tallies:?}");
        }
    }
}
