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
//! The bounds are [`feasible::certificate`]'s.

mod chosen;
pub(crate) mod clip;
mod format;
mod record;
pub(crate) mod spoken;

use feasible::certificate::{Certificate, Claim, Count, Design, Evidence, Simultaneous, Values};
use feasible::requirement::Sense;
use feasible_data::Change;
use feasible_problem::clause::{Against, Bound, Clause};
use feasible_problem::held_out::fingerprints::units;
use feasible_problem::held_out::{HeldOut, Repetition};
use feasible_problem::sampled_table::SampledTable;
use feasible_problem::spec::RequirementKind;
use feasible_problem::text::precise_percent as percent;
use serde::{Deserialize, Serialize};

use crate::constant::Comparison;
use crate::error::{Error, Result};
use crate::subject::{Answers, Recorded};

pub use format::{bound, clipped, estimate, limit, rows_to_certify, still_true_if, verdict};
pub use record::RunRecord;

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
    /// How it is known that the rows were not used in training.
    #[serde(default)]
    pub held_out: HeldOut,
    /// How the rows repeat each other, if beyond chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetition: Option<Repetition>,
    /// What counts as one, if not the row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// The model beside the best constant prediction, on these rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
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

impl Answers<'_> {
    /// Certifies the requirements on these rows, which are held out; `rows` says which they are, `unit` which of
    /// them count as one.
    pub(crate) fn certify(
        &self,
        design: &Design,
        rows: String,
        unit: Option<(&str, Vec<u32>)>,
    ) -> Result<Certification> {
        let units = unit.as_ref().map(|(_, units)| &units[..]);
        let claims = self.claims(design, units)?;
        let certificate = self.judged(design, &claims)?;
        Ok(Certification {
            rows,
            count: self.samples.len(),
            confidence: 1.0 - design.delta.value(),
            all_but: design.all_but,
            certificate,
            chosen: false,
            flip_rates: self.flip_rates(design, units)?,
            held_out: HeldOut::ByRecord,
            repetition: None,
            unit: unit.map(|(column, units)| Unit {
                column: column.to_string(),
                count: units.iter().max().map_or(0, |last| *last as usize + 1),
            }),
            comparison: self.comparison()?,
            notes: Vec::new(),
        })
    }

    /// Judges claims where the design and their clauses want them to hold, and says where else they do.
    fn judged(&self, design: &Design, claims: &[Claim]) -> Result<Certificate> {
        let clauses = self.subject.clauses;
        let shifts: Vec<f64> =
            clauses.iter().map(|clause| design.shift.unwrap_or(clause.shift)).collect();
        for (claim, shift) in claims.iter().zip(&shifts) {
            let Some(evidence) = claim.evidence.as_ref().filter(|_| *shift > 1.0) else { continue };
            if claim.limit_at_shift(*shift).is_some() {
                continue;
            }
            let reason = match evidence {
                Evidence::ByClass(_) => {
                    "it is certified for a range of base rates, beside which a shift says nothing: give a base rate or a shift (1 drops that of the requirement)"
                }
                _ => {
                    "its loss has no upper bound, so no certificate of it carries to a shift: give it a `bound`, or leave out the shift"
                }
            };
            return Err(Error::unfit(format!("'{}'", claim.name), reason));
        }
        let by_class = |claim: &Claim| matches!(claim.evidence, Some(Evidence::ByClass(_)));
        if design.base_rate.is_some() && !claims.iter().any(by_class) {
            return Err(Error::unfit(
                "the base rate",
                "no requirement depends on it: it is for the selection rate, precision, npv, error and accuracy of two classes, by row \
                 and of rows of both",
            ));
        }
        let mut certificate =
            Certificate::at_shifts(claims, &shifts, design.delta, design.simultaneous);
        for ((finding, clause), claim) in certificate.findings.iter_mut().zip(clauses).zip(claims) {
            let Some(still) = &mut finding.still_true_if else { continue };
            // Everyone changes with the mix.
            let apart = !matches!(clause.against, Some(Against::Everyone));
            still.any_base_rate = clause.class.is_some() && apart;
            still.any_group_mix = clause.filter.is_some() && apart;
            if by_class(claim) {
                still.base_rate = design.base_rate.map(|base_rate| (base_rate.low, base_rate.high));
            }
        }
        Ok(certificate)
    }

    /// What the requirements claim, with the evidence of these rows; rows of one unit count as one.
    pub(crate) fn claims(&self, design: &Design, units: Option<&[u32]>) -> Result<Vec<Claim>> {
        let theta = self.subject.theta;
        let clips = self.clips();
        let claims = |model: &Recorded<'_>| {
            design.claims_clipped(&self.problem, model, theta, units, &clips)
        };
        let mut found = claims(&self.model)?;
        if self.are_cut() {
            // Rates are of the decisions, all else of the outputs.
            let requirements = self.problem.requirements().iter();
            let decided = claims(self.decisions())?;
            for ((claim, decided), requirement) in found.iter_mut().zip(decided).zip(requirements) {
                if requirement.terms()[0].measure().is_of_decisions() {
                    *claim = decided;
                }
            }
        }
        let claims = found;
        let mut claims = claims.into_iter();
        let claim = |(clause, points): (&Clause, &Option<usize>)| {
            let claim = points.and_then(|_| claims.next());
            spoken::spoken(clause, claim.unwrap_or_else(|| without_rows(clause, design.all_but)))
        };
        Ok(self.subject.clauses.iter().zip(&self.points).map(claim).collect())
    }

    fn flip_rates(&self, design: &Design, units: Option<&[u32]>) -> Result<Vec<FlipBound>> {
        let bound = |(change, changed): (&Change, &Vec<bool>)| {
            let count = Count::of(changed.iter().copied())?;
            let upper = match units {
                Some(units) => share_of_units(changed, units)?
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
        self.subject.changes.iter().zip(&self.changed).map(bound).collect()
    }
}

/// What a clause claims of which no row speaks, on the side of its limit that it has with rows.
fn without_rows(clause: &Clause, all_but: f64) -> Claim {
    let (sense, limit) = match (clause.kind, clause.bound) {
        // Of the share that violates it.
        (RequirementKind::Pointwise, _) if clause.all_but > 0.0 => (Sense::AtMost, clause.all_but),
        (RequirementKind::Pointwise, _) => (Sense::AtMost, all_but),
        (_, Bound::AtMost(limit)) => (Sense::AtMost, limit),
        (_, Bound::AtLeast(limit)) => (Sense::AtLeast, limit),
    };
    Claim { name: clause.name.clone(), subject: String::new(), sense, limit, evidence: None }
}

/// Which rows are of one unit: a number for each row.
pub(crate) fn units_of<'u>(
    sampled: &SampledTable<'_>,
    unit: Option<&'u str>,
) -> Result<Option<(&'u str, Vec<u32>)>> {
    let of = |column| Ok((column, units(sampled.table, sampled.rows, column)?));
    unit.map(of).transpose()
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
