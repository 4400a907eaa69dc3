//! What a first problem file does with a column.

use std::collections::BTreeSet;

use feasible_data::{Cells, Column, Numbers, column_name};

/// A column with a larger share of missing cells is not filled in.
const SPARSE: f64 = 0.2;
/// A column with a larger share of missing cells is left out.
const EMPTY: f64 = 0.95;
/// Different texts in this share of the cells name the rows.
const DIFFERENT: f64 = 0.9;
/// The most values of whole numbers whose name says that they are codes, or properties of people, for categories.
const MOST_CODES: usize = 1000;
const MOST_PROPERTIES: usize = 10;

/// What is done with a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ColumnPlan {
    /// Left out, because of this.
    Drop(String),
    /// Its numbers are categories.
    Codes,
    /// So many per cent of its cells are missing, which is said.
    Sparse(u32),
    /// As it is.
    Plain,
}

/// What is done with all columns but the target.
pub(super) struct Columns<'t> {
    pub(super) each: Vec<(&'t Column, ColumnPlan)>,
    /// Whether a column that is kept has missing cells.
    pub(super) any_missing: bool,
    /// Whether a column that is kept has categories.
    pub(super) any_text: bool,
}

impl<'t> Columns<'t> {
    /// `stray` says of a column of text whether it is one of numbers with a few bad cells.
    pub(super) fn of(columns: &[&'t Column], stray: &dyn Fn(&Column) -> bool) -> Self {
        let each: Vec<(&Column, ColumnPlan)> =
            columns.iter().map(|&column| (column, plan(column, stray))).collect();
        let kept = || each.iter().filter(|(_, plan)| !matches!(plan, ColumnPlan::Drop(_)));
        let any_missing = kept().any(|(column, _)| column.missing() > 0);
        let text = |(column, plan): &(&Column, ColumnPlan)| {
            matches!(column.cells, Cells::Categories(_)) || *plan == ColumnPlan::Codes
        };
        let any_text = kept().any(text);
        Self { each, any_missing, any_text }
    }

    /// The columns with such a plan, by name.
    pub(super) fn named<'a>(
        &'a self,
        such: impl Fn(&ColumnPlan) -> bool + 'a,
    ) -> impl Iterator<Item = &'a str> {
        self.each.iter().filter(move |(_, plan)| such(plan)).map(|(column, _)| column.name.as_str())
    }

    pub(super) fn is_dropped(&self, name: &str) -> bool {
        self.named(|plan| matches!(plan, ColumnPlan::Drop(_))).any(|dropped| dropped == name)
    }

    /// Whether a column's numbers are taken for categories.
    pub(super) fn is_coded(&self, name: &str) -> bool {
        self.named(|plan| *plan == ColumnPlan::Codes).any(|coded| coded == name)
    }
}

fn plan(column: &Column, stray: &dyn Fn(&Column) -> bool) -> ColumnPlan {
    let (rows, missing) = (column.len(), column.missing());
    let present = rows - missing;
    let share = missing as f64 / rows.max(1) as f64;
    if present == 0 {
        return ColumnPlan::Drop("every cell is empty".into());
    }
    if share > EMPTY {
        return ColumnPlan::Drop(format!("{missing} of {rows} cells are missing"));
    }
    let sparse = || match share > SPARSE {
        true => ColumnPlan::Sparse((100.0 * share).round() as u32),
        false => ColumnPlan::Plain,
    };
    match &column.cells {
        Cells::Categories(categories) => {
            let different = categories.names.len();
            if present >= 20
                && different as f64 >= DIFFERENT * present as f64
                && !is_dated(column)
                && !stray(column)
            {
                let why =
                    format!("text that differs in nearly every row ({different} of {present})");
                return ColumnPlan::Drop(why);
            }
            sparse()
        }
        Cells::Numbers(values) => {
            let known = || values.iter().filter(|x| !x.is_nan());
            if known().any(|x| x.fract() != 0.0) {
                return sparse();
            }
            let different = known().map(f64::to_bits).collect::<BTreeSet<u64>>().len();
            let name = &column.name;
            if present >= 20
                && different as f64 >= DIFFERENT * present as f64
                && (column_name::is_identifier(name)
                    || column_name::is_code(name)
                    || (column_name::is_nameless(name) && counts_rows(values)))
            {
                let why = format!(
                    "by its name and its numbers ({different} of {present} are different) it names rows"
                );
                return ColumnPlan::Drop(why);
            }
            let property = column_name::is_sensitive(name)
                && !column_name::is_age(name)
                && (2..=MOST_PROPERTIES).contains(&different);
            let code = column_name::is_code(name) && (3..=MOST_CODES).contains(&different);
            // Missing codes are imputed: the commonest stands for them.
            if property || code { ColumnPlan::Codes } else { sparse() }
        }
    }
}

/// Whether every number is one more than the one before.
fn counts_rows(values: &Numbers) -> bool {
    let first = values.get(0);
    values.iter().enumerate().all(|(row, x)| x - row as f64 == first)
}

/// Whether the first cells of a column of text are dates.
fn is_dated(column: &Column) -> bool {
    let Cells::Categories(categories) = &column.cells else { return false };
    let some = [categories.names.first(), categories.names.last()];
    some.into_iter().flatten().any(|name| feasible_data::is_date(name))
}
