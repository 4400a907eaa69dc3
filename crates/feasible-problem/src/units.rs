//! Outputs in the units of the target.
//!
//! A network starts with outputs of the order of 1 and learns by steps of that order. A target may be a price in the
//! hundred thousands or a concentration of 1e-6, so the last layer g is read as
//!
//! $$ f_\theta(x) = m + s\, g_\theta(x) , $$
//!
//! m and s being mean and standard deviation of the target on the training rows, and of each number where several are
//! predicted. Weight decay is of the parameters of g, whatever learner finds them. Losses, limits, multipliers and prices act on f and are therefore in the user's units by themselves; nothing
//! has to be mapped back.

use feasible::Targets;
use feasible_data::moments;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The units of the outputs. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected `offset` and `scale` of the outputs, or a list of them")]
pub enum OutputUnits {
    /// The same for all.
    One(OutputUnit),
    /// Those of each output.
    Each(Vec<OutputUnit>),
}

/// f = offset + scale · g.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputUnit {
    /// m.
    pub offset: f64,
    /// s.
    pub scale: f64,
}

impl OutputUnit {
    fn of(values: impl Iterator<Item = f32> + Clone) -> Self {
        let (offset, scale) = moments(values);
        Self { offset, scale }
    }

    fn check(self) -> Result<()> {
        let single = |x: f64| (x as f32).is_finite();
        if single(self.offset) && single(self.scale) && self.scale as f32 > 0.0 {
            return Ok(());
        }
        let Self { offset, scale } = self;
        let reason = format!(
            "offset {offset:e}, scale {scale:e}: both must be finite in single precision, the scale positive"
        );
        Err(Error::unfit("units of the outputs", reason))
    }
}

impl OutputUnits {
    /// Mean and standard deviation of a numeric target, or of each of several; `None` for classes. A target that never
    /// changes has scale 1.
    pub fn of(targets: &Targets) -> Option<Self> {
        match targets {
            Targets::Classes(_) => None,
            Targets::Values(values) => Some(Self::One(OutputUnit::of(values.iter().copied()))),
            Targets::Vectors(vectors) => {
                let of = |at: usize| {
                    let values: Vec<f32> = vectors.coordinate(at).collect();
                    OutputUnit::of(values.into_iter())
                };
                Some(Self::Each((0..vectors.width()).map(of).collect()))
            }
        }
    }

    /// The units of single outputs: one for all, or one for each.
    pub fn each(&self) -> &[OutputUnit] {
        match self {
            Self::One(unit) => std::slice::from_ref(unit),
            Self::Each(units) => units,
        }
    }

    /// # Errors
    /// Units of another number of outputs; numbers that are not finite in single precision, or a scale that is not
    /// positive.
    pub(crate) fn check(&self, outputs: usize) -> Result<()> {
        if let Self::Each(units) = self
            && units.len() != outputs
        {
            let reason = format!("{} for {outputs} outputs: one for each is needed", units.len());
            return Err(Error::unfit("units of the outputs", reason));
        }
        self.each().iter().try_for_each(|unit| unit.check())
    }

    /// Takes outputs of the last layer to the units of the target.
    pub(crate) fn apply(&self, outputs: &mut [f32]) {
        match self {
            Self::One(unit) => {
                let (offset, scale) = (unit.offset as f32, unit.scale as f32);
                for output in outputs {
                    *output = offset + scale * *output;
                }
            }
            Self::Each(units) => {
                for row in outputs.chunks_exact_mut(units.len().max(1)) {
                    for (output, unit) in row.iter_mut().zip(units) {
                        *output = unit.offset as f32 + unit.scale as f32 * *output;
                    }
                }
            }
        }
    }

    /// Seeds with respect to the last layer, into `own`: ∂f/∂g = scale.
    pub(crate) fn seeds(&self, seeds: &[f32], own: &mut Vec<f32>) {
        own.clear();
        match self {
            Self::One(unit) => own.extend(seeds.iter().map(|seed| seed * unit.scale as f32)),
            Self::Each(units) => {
                let scales = units.iter().map(|unit| unit.scale as f32).cycle();
                own.extend(seeds.iter().zip(scales).map(|(seed, scale)| seed * scale));
            }
        }
    }
}
