//! `groups.json`: how a model does within groups of the rows it is judged by.
//!
//! One table for each column that a requirement, a threshold or `[report] groups` names, one for each pair of them.
//! Rates are counts of rows with the exact interval of Clopper and Pearson, one by one at 95 %: a group of few rows has a
//! wide one. Means (of probabilities, targets, errors) have none.
//!
//! | predicted | rates | means |
//! | --- | --- | --- |
//! | two classes | base rate, accuracy, selection rate, true and false positive rate, precision | mean probability, calibration error |
//! | more classes | accuracy, recall of each class | |
//! | a number | | mean target, root mean squared error, bias |
//!
//! Beside the tables are what no group is needed for: the calibration curve, the rates at every threshold, and what the
//! data look like ([`DataSummary`]).

mod column;
mod drift;
mod measure;

use feasible::certificate::{Count, Delta};
use feasible_problem::clause::{Against, Clause};
use feasible_problem::plan::Plan;
use serde::{Deserialize, Serialize};

pub use drift::{ColumnSummary, DataSummary, Drift, PartSummary};

use crate::directory::RunDirectory;
use crate::fit::reopen;
use crate::parts::PartResults;
use crate::subject::{Answers, EVERYONE};
use column::Grouping;
use measure::Measured;

/// The confidence of each interval.
pub(crate) const CONFIDENCE: f64 = 0.95;
/// Columns that have a table, and of these, those that have one with each other.
const MOST_COLUMNS: usize = 12;
const MOST_CROSSED: usize = 5;
/// Groups of a table of two columns; the smallest are left out.
const MOST_CROSSINGS: usize = 60;
/// Names, lists and tables that a file may have.
const MOST_LISTED: usize = 10_000;

/// `groups.json`. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupTables {
    /// The rows: `test`, `validation` or `train`.
    pub part: String,
    /// The confidence of each interval.
    pub confidence: f64,
    /// All rows.
    pub everyone: GroupRates,
    /// By one column, then by two.
    pub tables: Vec<GroupTable>,
    /// Predicted probability and what happened, in bins (of two classes).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calibration: Vec<CalibrationBin>,
    /// What every threshold makes of the rates (of two classes).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<ThresholdRates>,
    /// What the data look like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataSummary>,
}

/// The groups of a column, or of two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupTable {
    /// The column, or both.
    pub columns: Vec<String>,
    /// Each group that has rows.
    pub groups: Vec<GroupRates>,
    /// Groups that are left out, the smallest ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// How a model does on the rows of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupRates {
    /// Whose: `Female`, `≥ 65`; of two columns both, with a comma.
    pub group: String,
    /// Number of rows.
    pub rows: u64,
    /// The rates, by name.
    pub rates: Vec<CountedRate>,
    /// The means, by name.
    pub means: Vec<NamedMean>,
}

/// A share of rows, with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountedRate {
    /// What it is called.
    pub name: String,
    /// Rows that count,
    pub hits: u64,
    /// of these.
    pub rows: u64,
    /// The lower end of the interval; 0 without rows.
    pub low: f64,
    /// The upper end; 1 without rows.
    pub high: f64,
}

impl CountedRate {
    fn new(name: &str, hits: u64, rows: u64) -> Self {
        let (low, high) = interval(hits, rows);
        Self { name: name.to_string(), hits, rows, low, high }
    }

    /// The share; `None` without rows.
    pub fn share(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.hits as f64 / self.rows as f64)
    }

    fn is_sound(&self, most: u64) -> bool {
        is_interval(self.hits, self.rows, self.low, self.high) && self.rows <= most
    }
}

/// A number about the rows of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedMean {
    /// What it is called.
    pub name: String,
    /// NaN where there is none.
    #[serde(deserialize_with = "feasible::json::or_nan")]
    pub value: f64,
}

/// Rows whose predicted probabilities are near each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrationBin {
    /// The mean of the predicted probabilities.
    pub predicted: f64,
    /// Rows that are positive,
    pub hits: u64,
    /// of these.
    pub rows: u64,
    /// The interval of the share.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The rates if the positive class were predicted above a threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThresholdRates {
    /// The threshold.
    pub threshold: f64,
    /// The share of right predictions.
    pub accuracy: f64,
    /// The share predicted positive.
    pub selection_rate: f64,
    /// The share of positives found; `None` without positives.
    pub true_positive_rate: Option<f64>,
    /// The share of negatives predicted positive; `None` without negatives.
    pub false_positive_rate: Option<f64>,
}

/// The exact interval of a share.
fn interval(hits: u64, rows: u64) -> (f64, f64) {
    let tail = Delta::new((1.0 - CONFIDENCE) / 2.0);
    match (Count::new(hits, rows), tail) {
        (Ok(count), Ok(tail)) => (count.lower(tail), count.upper(tail)),
        _ => (0.0, 1.0),
    }
}

fn is_interval(hits: u64, rows: u64, low: f64, high: f64) -> bool {
    let share = if rows > 0 { hits as f64 / rows as f64 } else { low };
    hits <= rows && 0.0 <= low && low <= share && share <= high && high <= 1.0
}

impl GroupTables {
    /// Of the answers to the rows `rows` of the table, which are those of `part`.
    pub(crate) fn of(plan: &Plan, part: &str, rows: &[u32], answers: &Answers<'_>) -> Self {
        let data = plan.data();
        let measured = Measured::new(answers);
        let all: Vec<u32> = (0..rows.len() as u32).collect();
        let named = columns(plan);
        let groupings: Vec<Grouping> = named
            .iter()
            .filter_map(|(name, cuts)| {
                let column = data.table.column(name).ok()?;
                Some(Grouping::of(column, rows, &data.split.train, cuts))
            })
            .take(MOST_COLUMNS)
            .collect();
        let table = |grouping: &Grouping, most: usize| {
            let members = grouping.members();
            let mut largest: Vec<usize> = (0..members.len()).collect();
            // Stable: of equals the first.
            largest.sort_by_key(|&at| std::cmp::Reverse(members[at].1.len()));
            largest.truncate(most);
            largest.sort_unstable();
            let left_out = members.len() - largest.len();
            let group = |at: usize| measured.on(&members[at].0, &members[at].1);
            let groups = largest.into_iter().map(group).collect();
            GroupTable { columns: grouping.columns.clone(), groups, left_out }
        };
        let mut tables: Vec<GroupTable> =
            groupings.iter().map(|one| table(one, usize::MAX)).collect();
        let crossed = &groupings[..groupings.len().min(MOST_CROSSED)];
        for (at, one) in crossed.iter().enumerate() {
            for other in &crossed[at + 1..] {
                tables.push(table(&one.crossed(other), MOST_CROSSINGS));
            }
        }
        Self {
            part: part.to_string(),
            confidence: CONFIDENCE,
            everyone: measured.on(EVERYONE, &all),
            tables,
            calibration: measured.calibration_curve(),
            thresholds: measured.thresholds(),
            data: None,
        }
    }

    /// Of a run, with tables of more columns: its data are read again and go through its model.
    ///
    /// # Errors
    /// A directory that is not a run, or has no model; data that have changed or lack a column.
    pub fn with_columns(run: &RunDirectory, columns: &[String]) -> crate::Result<Self> {
        let (plan, _) = reopen(&run.location(), None, &|name| run.read(name))?;
        let mut groups = plan.spec().report.groups.clone();
        groups.extend(
            columns.iter().filter(|column| !plan.spec().report.groups.contains(column)).cloned(),
        );
        let set = format!("report.groups={}", toml::Value::from(groups));
        let plan = plan.variant(&run.problem()?.with_overrides(&[set]))?;
        let model = run.model()?;
        let results = PartResults::of(&plan, model.theta(), None, Some(plan.clauses()))?;
        let mut groups = results.groups;
        groups.data = Some(DataSummary::of(plan.data(), &groups.part));
        Ok(groups)
    }

    /// Whether its numbers can be of one set of rows; what is wrong is a sentence.
    pub(crate) fn check(&self) -> Result<(), String> {
        fn names(of: &GroupRates) -> impl Iterator<Item = &str> {
            let means = of.means.iter().map(|mean| mean.name.as_str());
            of.rates.iter().map(|rate| rate.name.as_str()).chain(means)
        }
        if !(0.0..1.0).contains(&self.confidence) {
            return Err(format!("its confidence is {}", self.confidence));
        }
        let everyone = &self.everyone;
        let groups = self.tables.iter().map(|table| table.groups.len()).sum::<usize>();
        if groups + self.tables.len() + names(everyone).count() > MOST_LISTED {
            return Err(format!("it lists more than {MOST_LISTED} groups"));
        }
        for table in &self.tables {
            if !matches!(table.columns.len(), 1 | 2) {
                return Err("a table of it is not of one or two columns".into());
            }
        }
        for group in self.tables.iter().flat_map(|table| &table.groups).chain([everyone]) {
            let sound = group.rates.iter().all(|rate| rate.is_sound(group.rows));
            if !sound || group.rows > everyone.rows || !names(group).eq(names(everyone)) {
                return Err(format!(
                    "the rates of its group '{}' are not of its rows",
                    group.group
                ));
            }
        }
        let share = |x: f64| (0.0..=1.0).contains(&x);
        let bin = |bin: &CalibrationBin| {
            share(bin.predicted) && is_interval(bin.hits, bin.rows, bin.low, bin.high)
        };
        let at = |of: &ThresholdRates| {
            let rates = [Some(of.threshold), Some(of.accuracy), Some(of.selection_rate)];
            let rates = rates.into_iter().chain([of.true_positive_rate, of.false_positive_rate]);
            rates.flatten().all(share)
        };
        if self.calibration.len() > MOST_LISTED || !self.calibration.iter().all(bin) {
            return Err("its calibration curve is not of shares".into());
        }
        if self.thresholds.len() > MOST_LISTED || !self.thresholds.iter().all(at) {
            return Err("its rates at thresholds are not shares".into());
        }
        self.data.as_ref().map_or(Ok(()), DataSummary::check)
    }
}

/// The columns that have tables, and where the numbers of each are cut.
fn columns(plan: &Plan) -> Vec<(String, Vec<(f64, bool)>)> {
    let mut found: Vec<(String, Vec<(f64, bool)>)> = Vec::new();
    let mut add = |column: &str, cuts: Vec<(f64, bool)>| match found
        .iter_mut()
        .find(|(known, _)| known == column)
    {
        Some((_, known)) => known.extend(cuts),
        None => found.push((column.to_string(), cuts)),
    };
    for clause in plan.clauses() {
        for expression in expressions(clause) {
            for column in expression.columns() {
                add(column, expression.cuts(column));
            }
        }
        for column in clause.change.iter().flat_map(|change| change.columns()) {
            add(column, Vec::new());
        }
    }
    let per = plan.spec().decision.iter().filter_map(|decision| decision.per.as_ref());
    per.chain(&plan.spec().report.groups).for_each(|column| add(column, Vec::new()));
    found
}

fn expressions(clause: &Clause) -> impl Iterator<Item = &feasible_data::Expression> {
    let against = clause.against.iter().filter_map(|against| match against {
        Against::Everyone => None,
        Against::Where(expression) => Some(expression),
    });
    clause.filter.iter().chain(against)
}
