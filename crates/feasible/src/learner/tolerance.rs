//! The violation up to which a requirement counts as met: one number for all, or a share of each limit.

use crate::lagrangian::Lagrangian;
use crate::learner::sizes::mean_limit;
use crate::model::Model;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tolerance {
    /// In the units of the losses.
    Absolute(f64),
    /// Beside the limit of each requirement; where that is 0, beside its violation at the start.
    Relative(f64),
}

impl Tolerance {
    pub(crate) fn value(self) -> f64 {
        match self {
            Self::Absolute(tolerance) | Self::Relative(tolerance) => tolerance,
        }
    }

    /// One for each requirement.
    pub(crate) fn of_each<M: Model>(self, lagrangian: &mut Lagrangian<M>, seed: u64) -> Vec<f64> {
        let problem = &lagrangian.problem().clone();
        let requirements = problem.requirements();
        let share = match self {
            Self::Absolute(tolerance) => return vec![tolerance; requirements.len()],
            Self::Relative(0.0) => return vec![0.0; requirements.len()],
            Self::Relative(share) => share,
        };
        let mut sizes: Vec<f64> = {
            let limit = |(i, r)| mean_limit(r, problem.elsewhere(i));
            requirements.iter().enumerate().map(limit).collect()
        };
        if sizes.contains(&0.0) {
            let start = lagrangian.model().initial(seed);
            let measurement = lagrangian.measure(&start);
            for (size, violations) in sizes.iter_mut().zip(&measurement.violations) {
                let candidates = [*size, violations.worst().abs(), measurement.minimised().abs()];
                let usable = |s: &f64| *s > 0.0 && s.is_finite();
                *size = candidates.into_iter().find(usable).unwrap_or(1.0);
            }
        }
        sizes.iter().map(|size| share * size).collect()
    }
}
