//! What a table says about each requirement, as bets.

use std::collections::BTreeSet;
use std::sync::Arc;

use feasible::certificate::{Claim, Design, Difference, Evidence};
use feasible::monitor::{MonitorPlan, Wager, Wealth};
use feasible::requirement::Sense;
use feasible::stream::{Purpose, Stream};
use feasible::{Loss, Samples, Targets, Vectors};
use feasible_data::{Column, Encoder, Table, UnknownCategories, Unseen};
use feasible_problem::clause::{Against, Bound, Clause};
use feasible_problem::sampled_table::SampledTable;
use feasible_problem::spec::RequirementKind;

use super::ledger::{TableEvidence, Watched};
use crate::certify::RunRecord;
use crate::certify::spoken::spoken;
use crate::error::{Error, Result};
use crate::subject::Subject;

/// A table that is being looked at.
pub(crate) struct Observed<'a> {
    pub(crate) table: &'a Table,
    pub(crate) labelled: bool,
    /// Its place in the ledger, from 0.
    pub(crate) at: usize,
    pub(crate) seed: u64,
    pub(crate) unseen: Option<Unseen>,
}

/// The requirements of a model, as they are watched.
pub(crate) fn watched(record: &RunRecord, design: &Design) -> Vec<Watched> {
    let model = record.model();
    let targets = model.manifest().target.columns();
    let width = feasible::Model::output_width(model.network());
    let one = |clause: &Clause| {
        let (sense, limit) = match (clause.kind, clause.bound) {
            (RequirementKind::Pointwise, _) => {
                (Sense::AtMost, if clause.all_but > 0.0 { clause.all_but } else { design.all_but })
            }
            (_, Bound::AtMost(limit)) => (Sense::AtMost, limit),
            (_, Bound::AtLeast(limit)) => (Sense::AtLeast, limit),
        };
        let claim = Claim {
            name: clause.name.clone(),
            subject: String::new(),
            sense,
            limit,
            evidence: None,
        };
        let claim = spoken(clause, claim);
        let bound = match clause.kind {
            RequirementKind::Pointwise => Some(1.0),
            RequirementKind::Average => measure(clause).properties(width).bound,
        };
        let wager = |bound: f64| match clause.against {
            Some(_) => Wager::difference(claim.limit, bound),
            None => Wager::mean(claim.limit, bound),
        };
        Watched {
            name: claim.name,
            subject: claim.subject,
            sense: claim.sense,
            limit: claim.limit,
            shift: Some(clause.shift).filter(|shift| *shift > 1.0),
            labels: needs_labels(clause, &targets),
            wager: bound.map(wager),
        }
    };
    model.clauses().iter().map(one).collect()
}

/// The columns that the model and its requirements need.
pub(crate) fn needed(record: &RunRecord) -> BTreeSet<String> {
    let model = record.model();
    let inputs = model.manifest().inputs.variables().iter().map(|variable| variable.column.clone());
    let spoken = model.clauses().iter().flat_map(Clause::columns).map(String::from);
    let decision = model.manifest().training.decision.as_ref();
    let groups = decision.and_then(|decision| decision.groups.as_ref());
    inputs.chain(spoken).chain(groups.map(|groups| groups.column.clone())).collect()
}

/// Refuses rows that were used in training. Without the target, they are compared with every class in its place.
pub(crate) fn refuse_used(record: &RunRecord, table: &Table, labelled: bool) -> Result<()> {
    if labelled {
        return record.refuse_used(table);
    }
    let target = &record.model().manifest().target;
    let Some(categories) = target.categories() else {
        return Err(Error::unfit(
            table.name(),
            format!(
                "it has no column {}, and without it its rows cannot be compared with those trained on: \
                 give it once the target is known",
                named(&target.columns())
            ),
        ));
    };
    for category in categories {
        let mut columns = table.columns().to_vec();
        let cells = std::iter::repeat_n(Some(category), table.rows());
        columns.push(Column::categories(target.column(), cells));
        record.refuse_used(&Table::new(table.name(), columns)?)?;
    }
    Ok(())
}

/// Columns, as a message names them.
pub(crate) fn named(columns: &[&str]) -> String {
    let quoted: Vec<String> = columns.iter().map(|name| format!("'{name}'")).collect();
    quoted.join(" or ")
}

/// What a table says about the requirements that are wanted of it.
pub(crate) fn observe(
    record: &RunRecord,
    design: &Design,
    watched: &[Watched],
    observed: &Observed<'_>,
    wanted: impl Fn(&Watched) -> bool,
) -> Result<Vec<Option<TableEvidence>>> {
    let model = record.model();
    let encoder = model.encoder(observed.unseen);
    let rows = observed.table.all_rows();
    let samples = samples(record, observed, &rows, &encoder)?;
    let bounded = watched.iter().filter(|one| one.wager.is_some()).count();
    let plan = MonitorPlan::new(design.delta, bounded);
    let chosen: Vec<(usize, Clause, Wager)> = watched
        .iter()
        .zip(model.clauses())
        .enumerate()
        .filter(|(_, (one, _))| wanted(one))
        .filter_map(|(at, (one, clause))| Some((at, clause.clone(), one.wager?)))
        .collect();
    let clauses: Vec<Clause> = chosen.iter().map(|(_, clause, _)| clause.clone()).collect();
    let judge = |clauses: &[Clause], rows: &[u32], samples: &Arc<Samples>| {
        let mut sampled = SampledTable::new(
            observed.table,
            rows,
            samples,
            &encoder,
            UnknownCategories::MatchNothing,
        );
        let subject = Subject { clauses, changes: &[], ..model.subject() };
        subject.on("monitoring", &mut sampled)?.claims(design, None)
    };
    let claims = judge(&clauses, &rows, &samples)?;
    let mut seen = vec![None; watched.len()];
    for ((at, clause, wager), claim) in chosen.into_iter().zip(claims) {
        let Some(evidence) = claim.evidence else { continue };
        let bets = match &evidence {
            Evidence::Share(count) => Some(Wealth::of_count(*count, &wager)),
            Evidence::Mean { values, .. } => Some(Wealth::of_values(values, &wager)),
            Evidence::Difference(Difference::Apart { a, b }) => {
                Wealth::of_counts(*a, *b, &wager, observed.seed)
            }
            Evidence::Unbounded(_)
            | Evidence::ByClass(_)
            | Evidence::Difference(Difference::Within { rest: None, .. }) => None,
            Evidence::Difference(Difference::Within { part, rest: Some(rest) }) => {
                Wealth::of_part(*part, *rest, &wager, (plan.alpha(), observed.at), observed.seed)
            }
            // Groups that share rows: one of them is looked for in one half of the table, the other in the other.
            Evidence::Difference(Difference::Shared { .. } | Difference::Any { .. })
            | Evidence::Contrast(_)
            | Evidence::Sum(_) => {
                let mut halves = Vec::new();
                for (clause, rows) in sides(&clause).iter().zip(halved(&rows, observed.seed)) {
                    let samples = self::samples(record, observed, &rows, &encoder)?;
                    let claims = judge(std::slice::from_ref(clause), &rows, &samples)?;
                    halves.extend(claims.into_iter().filter_map(|claim| claim.evidence));
                }
                match &halves[..] {
                    [a, b] => Wealth::of_evidence(a, b, &wager, observed.seed),
                    _ => None,
                }
            }
        };
        let (rows, value) = (evidence.rows(), evidence.estimate());
        seen[at] = bets.map(|bets| TableEvidence { rows, value, bets });
    }
    Ok(seen)
}

fn samples(
    record: &RunRecord,
    observed: &Observed<'_>,
    rows: &[u32],
    encoder: &Encoder,
) -> Result<Arc<Samples>> {
    let target = &record.model().manifest().target;
    if observed.labelled {
        return Ok(Arc::new(feasible_data::samples(observed.table, rows, encoder, target)?));
    }
    let inputs = encoder.transform(observed.table, rows)?;
    // Only requirements that do not ask for them are measured.
    let targets = match (target.classes(), target.coordinates().len()) {
        (Some(_), _) => Targets::Classes(vec![0; rows.len()]),
        (None, 0) => Targets::Values(vec![0.0; rows.len()]),
        (None, width) => Targets::Vectors(Vectors::new(vec![0.0; rows.len() * width], width)?),
    };
    let ids = rows.iter().map(|&row| u64::from(row)).collect();
    Ok(Arc::new(Samples::with_ids(inputs, targets, ids)?))
}

/// The two groups of a difference, each as a requirement of its own.
fn sides(clause: &Clause) -> [Clause; 2] {
    let other = match &clause.against {
        Some(Against::Where(expression)) => Some(expression.clone()),
        _ => None,
    };
    let one = Clause { against: None, ..clause.clone() };
    [one.clone(), Clause { filter: other, ..one }]
}

/// Two halves of the rows, drawn at random, each ascending.
fn halved(rows: &[u32], seed: u64) -> [Vec<u32>; 2] {
    let mut order = rows.to_vec();
    // No epoch of a training has this number.
    Stream::new(seed, Purpose::Shuffle, u64::MAX - 2, 0).shuffle(&mut order);
    let (a, b) = order.split_at(order.len() / 2);
    [a, b].map(|half| {
        let mut half = half.to_vec();
        half.sort_unstable();
        half
    })
}

/// The loss a requirement is judged by.
fn measure(clause: &Clause) -> &Loss {
    clause.measure.as_ref().unwrap_or(&clause.loss)
}

/// Whether a requirement can only be measured where the target is known.
fn needs_labels(clause: &Clause, targets: &[&str]) -> bool {
    fn of_outputs(loss: &Loss) -> bool {
        match loss {
            Loss::Probability { .. } | Loss::Selected { .. } => true,
            Loss::Bounded(bounded) => of_outputs(bounded.loss()),
            Loss::Custom(_) => false,
            loss => loss.compares_views(),
        }
    }
    let free = of_outputs(measure(clause)) && clause.class.is_none() && clause.adversary.is_none();
    !free || clause.columns().iter().any(|column| targets.contains(column))
}
