//! Who was hard: groups that are over- or under-represented among the largest λ, and the
//! individuals themselves with their original values.
//!
//! For this the data of the run are read again, as the problem file says, and held against the
//! SHA-256 that the run noted. Where they are not to be had, or have changed, the page says so
//! and goes without.

use std::borrow::Cow;
use std::sync::Arc;

use feasible::Inputs;
pub use feasible::sensitivity::Among;
use feasible::sensitivity::{Group, Hardest, Prevalence, prevalence};
use feasible_problem::{Plan, ProblemSource};
use feasible_run::files;

use crate::chart::number;
use crate::run::Run;
use feasible_run::multipliers::{Multiplied, Point};

/// What is asked of the hardest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The top share. Default 0.2.
    pub top: f64,
    /// Of whom. Default those with λ > 0.
    pub among: Among,
    /// The confidence of the intervals. Default 0.95.
    pub confidence: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { top: 0.2, among: Among::Positive, confidence: 0.95 }
    }
}

/// Who was hard for one pointwise requirement.
#[derive(Clone, Debug)]
pub struct Hard {
    /// The hardest individuals.
    pub hardest: Hardest,
    /// How many the requirement speaks of.
    pub population: usize,
    /// Every group, the most over-represented first.
    pub groups: Vec<Prevalence>,
    /// Columns of the individuals that are shown.
    pub columns: Vec<String>,
    /// Their values, in the order of [`Multiplied::largest`].
    pub individuals: Vec<Vec<String>>,
}

/// Who was hard for a pointwise requirement, or why that cannot be said.
pub(crate) struct Who {
    pub(crate) name: String,
    pub(crate) hard: Result<Hard, String>,
}

/// Individuals that are listed for each pointwise requirement.
pub(crate) const INDIVIDUALS: usize = 10;
/// Pointwise requirements whose individuals are shown.
const REQUIREMENTS: usize = 20;

/// The least distance between the smallest and the largest λ > 0, as a share of the largest, at which their order
/// says something.
const APART: f64 = 0.5;

/// Whether multipliers have moved apart: while all λ are about equal, and none is 0, their order is that of rounding.
pub(crate) fn is_settled(of: &Multiplied) -> bool {
    let ends = ends(of);
    of.points.is_empty() || ends.0 < (1.0 - APART) * ends.1 || ends.1 == 0.0
}

/// The smallest and the largest λ.
fn ends(of: &Multiplied) -> (f64, f64) {
    let multipliers = of.points.iter().map(|point| point.multiplier);
    multipliers.fold((f64::INFINITY, 0.0), |(low, high), x| (low.min(x), high.max(x)))
}

/// Why nobody can be called hard, if so.
fn unsettled(of: &Multiplied, run: &Run) -> Option<String> {
    let (low, high) = ends(of);
    (!is_settled(of)).then(|| {
        format!(
            "Nobody stands out: all multipliers lie between {} and {}. Training had not moved them apart by epoch {}, \
             the one this model is from. Their order says nothing about who was hard, so it is not shown.",
            number(low),
            number(high),
            run.summary.best_epoch().unwrap_or_default()
        )
    })
}

/// Who was hard, for each pointwise requirement that is listed. The data are those given, if they
/// are, or else read again.
pub(crate) fn who(
    run: &Run,
    data: Option<Arc<feasible_problem::data::Data>>,
    options: &Options,
) -> crate::Result<Vec<Who>> {
    let mut pointwise =
        run.multipliers.iter().filter(|m| m.pointwise).take(REQUIREMENTS).peekable();
    if pointwise.peek().is_none() {
        return Ok(Vec::new());
    }
    let data = match data {
        Some(data) => Data::new(data, run),
        None => Data::of(run),
    };
    let data = Nobody::on_page(data)?;
    let hard = |of: &Multiplied| match (unsettled(of, run), &data) {
        (Some(sentence), _) => Ok(Err(sentence)),
        (None, Err(sentence)) => Ok(Err(sentence.clone())),
        (None, Ok(data)) => Nobody::on_page(data.hard(of, options, INDIVIDUALS)),
    };
    pointwise.map(|of| Ok(Who { name: of.name.clone(), hard: hard(of)? })).collect()
}

/// Why nobody is shown.
#[derive(Debug)]
pub enum Nobody {
    /// What the page says.
    Known(String),
    /// The machine failed, and there is no page.
    Failed(feasible_problem::Error),
}

impl Nobody {
    /// Of data that cannot be read.
    fn of(error: feasible_problem::Error) -> Self {
        use std::io::ErrorKind as Kind;
        let absent = |kind| {
            let absent = [Kind::NotFound, Kind::PermissionDenied, Kind::NotADirectory];
            [&absent[..], &[Kind::InvalidInput, Kind::InvalidData, Kind::UnexpectedEof]]
                .concat()
                .contains(&kind)
        };
        match error.system().is_some_and(|system| !absent(system.kind())) {
            true => Self::Failed(error),
            false => Self::Known(format!("The data could not be read again: {error}.")),
        }
    }

    /// What was found, or what the page says instead.
    fn on_page<T>(found: Result<T, Self>) -> crate::Result<Result<T, String>> {
        match found {
            Ok(found) => Ok(Ok(found)),
            Err(Self::Known(sentence)) => Ok(Err(sentence)),
            Err(Self::Failed(error)) => Err(crate::Error::Run(error.into())),
        }
    }
}

impl From<String> for Nobody {
    fn from(sentence: String) -> Self {
        Self::Known(sentence)
    }
}

/// The data of a run, read again.
pub struct Data {
    data: Arc<feasible_problem::data::Data>,
}

/// Encoded rows, and which of them each row asked for is.
struct Encoded<'a> {
    inputs: Cow<'a, Inputs>,
    places: Vec<u32>,
}

impl Data {
    /// Reads the data of a run again.
    ///
    /// # Errors
    /// Why not.
    pub fn of(run: &Run) -> Result<Self, Nobody> {
        let problem = run.directory.join(files::PROBLEM).display().to_string();
        let plan = ProblemSource::open(&problem).and_then(|source| Plan::check(&source));
        let plan = plan.map_err(Nobody::of)?;
        Self::new(plan.into_training_data(), run)
    }

    /// Data, if they are those of the run.
    ///
    /// # Errors
    /// The sentence.
    pub fn new(data: Arc<feasible_problem::data::Data>, run: &Run) -> Result<Self, Nobody> {
        if data.hashes != run.info.tables {
            return Err(Nobody::Known("The data have changed since the run.".into()));
        }
        Ok(Self { data })
    }

    /// Who was hard for a pointwise requirement, and of the `shown` hardest their values.
    ///
    /// # Errors
    /// Why not.
    pub fn hard(&self, of: &Multiplied, options: &Options, shown: usize) -> Result<Hard, Nobody> {
        let rows = rows(&of.points, self.data.table.rows())?;
        let multipliers: Vec<f64> = of.points.iter().map(|point| point.multiplier).collect();
        let sentence = |error: feasible::Error| format!("Nobody can be ranked: {error}.");
        let hardest = Hardest::of(&multipliers, options.top, options.among).map_err(sentence)?;
        let groups = self.groups(&rows)?;
        let groups = prevalence(rows.len(), &hardest, &groups, options.confidence);
        let variables = self.data.encoder.variables().iter();
        let columns: Vec<String> = variables.map(|variable| variable.column.clone()).collect();
        let largest = of.largest(shown);
        let largest: Vec<u32> =
            largest.iter().filter_map(|point| u32::try_from(point.row?).ok()).collect();
        let cells = self.data.cells(&largest, &columns);
        let cells = cells.map_err(Nobody::of)?;
        let value = |cell: Option<String>| cell.unwrap_or_else(|| "missing".into());
        let individuals =
            cells.into_iter().map(|cells| cells.into_iter().map(value).collect()).collect();
        Ok(Hard {
            hardest,
            population: rows.len(),
            groups: groups.map_err(sentence)?,
            columns,
            individuals,
        })
    }

    /// Rows as a model sees them: those of the training are encoded already.
    fn encoded(&self, rows: &[u32]) -> Result<Encoded<'_>, String> {
        let data = &self.data;
        let place = |row: &u32| data.split.train.binary_search(row).ok().map(|at| at as u32);
        let places: Option<Vec<u32>> = rows.iter().map(place).collect();
        if let (Some(places), None) = (places, &data.images) {
            return Ok(Encoded { inputs: Cow::Borrowed(data.train.inputs()), places });
        }
        let inputs = data.encoder.transform(&data.table, rows);
        let inputs = inputs.map_err(|error| format!("The rows cannot be encoded: {error}."))?;
        Ok(Encoded { inputs: Cow::Owned(inputs), places: (0..rows.len() as u32).collect() })
    }

    /// A group for each category of each categorical or binned column, as the model sees them.
    fn groups(&self, rows: &[u32]) -> Result<Vec<Group>, String> {
        let Encoded { inputs, places } = self.encoded(rows)?;
        let encoder = &self.data.encoder;
        let mut groups = Vec::new();
        for variable in encoder.variables() {
            let Some(categories) = variable.categories() else { continue };
            let Ok((_, columns)) = encoder.variable(&variable.column) else { continue };
            // Two categories share one column: 1 is the second, 0 the first.
            let one = columns.len() == 1;
            let dense = inputs.dense_columns().iter().position(|c| columns.contains(c));
            let mut members = vec![Vec::new(); categories.len()];
            for (at, &place) in places.iter().enumerate() {
                let hot = inputs.hot(place as usize).iter().find(|c| columns.contains(c));
                let category = match (hot, dense) {
                    (Some(column), _) if one => usize::from(*column == columns.start),
                    (Some(column), _) => (column - columns.start) as usize,
                    (None, Some(dense)) => {
                        usize::from(inputs.dense_row(place as usize)[dense] > 0.5)
                    }
                    (None, None) if one => 0,
                    (None, None) => continue,
                };
                if let Some(members) = members.get_mut(category) {
                    members.push(at as u32);
                }
            }
            for (category, members) in categories.iter().zip(members) {
                groups.push(Group { name: group_name(&variable.column, category), members });
            }
        }
        Ok(groups)
    }
}

/// `education = Masters`, `age in (44, 52]`, `age > 52`.
fn group_name(column: &str, category: &str) -> String {
    match category {
        category if category.starts_with('(') => format!("{column} in {category}"),
        category if category.starts_with("<= ") => format!("{column} ≤ {}", &category[3..]),
        category if category.starts_with("> ") => format!("{column} {category}"),
        category => format!("{column} = {category}"),
    }
}

/// The rows of the points, if all are rows of the table.
fn rows(points: &[Point], rows: usize) -> Result<Vec<u32>, String> {
    let row = |point: &Point| {
        let row = point.row.filter(|&row| row < rows as u64)?;
        u32::try_from(row).ok()
    };
    points
        .iter()
        .map(row)
        .collect::<Option<_>>()
        .ok_or_else(|| "The multipliers are of rows that the data have not.".to_string())
}
