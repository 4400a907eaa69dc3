//! What a run can certify: its requirements on rows that it has not used.
//!
//! | step | |
//! | --- | --- |
//! | keep rows back and train with room to spare | [`feasible_problem::room`] |
//! | know the rows that were used | [`feasible_problem::Fingerprints`] |
//! | tell re-use and repetition from chance | [`feasible_problem::held_out`] |
//! | decide which rows are held out | [`RunRecord`] |
//! | judge, and say it in words | [`Certification`] |
//!
//! The bounds are [`feasible::certificate`]'s, the paper's [`feasible::theory`]'s.

mod chosen;
mod format;
mod record;
pub(crate) mod subject;
mod theory;

use feasible::certificate::{Certificate, Claim, Count, Design, Simultaneous, Values};
use feasible::{Loss, Population, Problem, Targets, ViewShift};
use feasible_data::Change;
use feasible_problem::clause::{Clause, SampledTable};
use feasible_problem::held_out::fingerprints::units;
use feasible_problem::held_out::{HeldOut, Repetition};
use feasible_problem::network::Network;
use feasible_problem::text::precise_percent as percent;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::evaluate::{class_of, outputs};

pub use format::{bound, verdict};
pub use record::RunRecord;
pub use theory::{Approximation, SetClass, Theory, UniformBound, dimension_of};

/// What is certified about a model's requirements on the population that held-out rows were drawn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certification {
    /// Which rows: "the 16,281 test rows".
    pub rows: String,
    /// How many they are.
    pub count: usize,
    /// 1 − δ.
    pub confidence: f64,
    /// ε of pointwise requirements that allow no violation.
    pub all_but: f64,
    /// The verdicts.
    pub certificate: Certificate,
    /// The model was chosen from a ladder with these very rows: what is certified is that it meets all requirements,
    /// the limits as they are; there are no bounds beyond them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chosen: bool,
    /// Counterfactuals: bounds on the probability that a prediction changes. No requirements, so each at
    /// 1 − δ on its own.
    pub flip_rates: Vec<FlipBound>,
    /// The paper's own bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theory: Option<Theory>,
    /// How it is known that the rows were not used in training.
    #[serde(default)]
    pub held_out: HeldOut,
    /// How the rows repeat each other, if beyond chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetition: Option<Repetition>,
    /// What counts as one, if not the row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// What else the reader must know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Rows that count as one: those that are equal in a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// The column.
    pub column: String,
    /// How many units there are.
    pub count: usize,
}

/// How probable it is that a prediction changes under a counterfactual.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlipBound {
    /// `Male ↔ Female`.
    pub counterfactual: String,
    /// Rows whose prediction changes.
    pub changed: u64,
    /// The Clopper-Pearson bound at 1 − δ; for units, the betting bound on their mean.
    pub upper: f64,
}

/// A model and what it is held against.
pub(crate) struct Judged<'a> {
    pub(crate) loss: Loss,
    pub(crate) clauses: &'a [Clause],
    pub(crate) changes: &'a [Change],
    pub(crate) model: &'a Network,
    pub(crate) theta: &'a [f32],
}

impl Judged<'_> {
    /// Certifies the requirements on held-out samples; `rows` says which they are, `unit` which of them
    /// count as one.
    pub(crate) fn certify(
        &self,
        design: &Design,
        rows: String,
        sampled: &mut SampledTable<'_>,
        unit: Option<&str>,
    ) -> Result<Certification> {
        let count = sampled.samples.len();
        if count == 0 {
            return Err(Error::unfit("certificate", "there is no row: give a table with rows"));
        }
        let units = match unit {
            Some(column) => Some(units(sampled.table, sampled.rows, column)?),
            None => None,
        };
        let certificate = {
            let claims = self.claims(design, sampled, units.as_deref())?;
            Certificate::new(&claims, design.delta, design.simultaneous)
        };
        Ok(Certification {
            rows,
            count,
            confidence: 1.0 - design.delta.value(),
            all_but: design.all_but,
            certificate,
            chosen: false,
            flip_rates: self.flip_rates(design, sampled, units.as_deref())?,
            theory: None,
            held_out: HeldOut::ByRecord,
            repetition: None,
            unit: unit.zip(units).map(|(column, units)| Unit {
                column: column.to_string(),
                count: units.iter().max().map_or(0, |last| *last as usize + 1),
            }),
            notes: Vec::new(),
        })
    }

    /// What the requirements claim, with the evidence of held-out samples; rows of one unit count as one.
    pub(crate) fn claims(
        &self,
        design: &Design,
        sampled: &mut SampledTable<'_>,
        units: Option<&[u32]>,
    ) -> Result<Vec<Claim>> {
        let everyone = Population::new(sampled.samples.clone());
        let mut draft = Problem::minimise(&everyone, self.loss.clone());
        let mut present = Vec::new();
        for clause in self.clauses {
            let requirement = clause.on(sampled)?;
            present.push(requirement.is_some());
            if let Some(requirement) = requirement {
                draft = draft.subject_to(requirement);
            }
        }
        let problem = draft.check()?;
        let claims = match units {
            Some(units) => design.claims_by_unit(&problem, self.model, self.theta, units)?,
            None => design.claims(&problem, self.model, self.theta)?,
        };
        let mut claims = claims.into_iter();
        let nothing = |clause: &Clause| Claim {
            name: clause.name.clone(),
            subject: String::new(),
            sense: feasible::requirement::Sense::AtMost,
            limit: clause.bound.limit(),
            evidence: None,
        };
        let claim = |(clause, present): (&Clause, bool)| {
            let claim = if present { claims.next() } else { None };
            subject::spoken(clause, claim.unwrap_or_else(|| nothing(clause)))
        };
        Ok(self.clauses.iter().zip(present).map(claim).collect())
    }

    fn flip_rates(
        &self,
        design: &Design,
        sampled: &mut SampledTable<'_>,
        units: Option<&[u32]>,
    ) -> Result<Vec<FlipBound>> {
        let samples = sampled.samples.clone();
        if !matches!(samples.targets(), Targets::Classes(_)) {
            return Ok(Vec::new());
        }
        let shifts: Vec<_> =
            self.changes.iter().map(|change| sampled.shift(change)).collect::<Result<_, _>>()?;
        let views: Vec<_> = shifts.iter().map(|shift| ViewShift::Sparse(shift)).collect();
        let views = outputs(self.model, self.theta, samples.inputs(), &views);
        let k = feasible::Model::output_width(self.model);
        let classes = |view: &[f32]| -> Vec<usize> { view.chunks_exact(k).map(class_of).collect() };
        let here = classes(&views[0]);
        let bound = |(change, view): (&Change, &Vec<f32>)| {
            let there = classes(view);
            let changed: Vec<bool> = here.iter().zip(&there).map(|(a, b)| a != b).collect();
            let count = Count::of(changed.iter().copied())?;
            let upper = match units {
                Some(units) => share_of_units(&changed, units)?
                    .shuffled(design.order)
                    .upper(design.method, design.delta),
                None => count.upper(design.delta),
            };
            Ok(FlipBound {
                counterfactual: change.name().to_string(),
                changed: count.hits(),
                upper,
            })
        };
        self.changes.iter().zip(&views[1..]).map(bound).collect()
    }
}

/// The share of the rows of each unit that count.
fn share_of_units(counts: &[bool], units: &[u32]) -> Result<Values> {
    let mut sums = vec![(0.0, 0.0); units.iter().max().map_or(0, |last| *last as usize + 1)];
    for (&counts, &unit) in counts.iter().zip(units) {
        let (sum, rows) = &mut sums[unit as usize];
        *sum += f64::from(u8::from(counts));
        *rows += 1.0;
    }
    Ok(Values::new(sums.into_iter().map(|(sum, rows)| sum / rows).collect(), 1.0)?)
}

impl Certification {
    /// Whether it is certified that all requirements hold, as one claim at 1 − δ.
    pub fn all_certified(&self) -> bool {
        self.certificate.all_hold()
    }

    /// Whether every requirement is certified or at least met in the sample.
    pub fn all_met(&self) -> bool {
        self.certificate.all_met()
    }

    /// What a reader must know who sees shares of violations beside a certificate.
    pub(crate) fn about_tolerance(tolerance: f64) -> Option<String> {
        (tolerance > 0.0).then(|| {
            format!(
                "Elsewhere a requirement counts as met up to a violation of {} of its limit (`tolerance`); the \
                 certificate judges the limits as written.",
                percent(tolerance)
            )
        })
    }

    fn simultaneous(&self) -> Simultaneous {
        self.certificate.simultaneous
    }
}
