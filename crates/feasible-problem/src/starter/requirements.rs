//! Requirements that a first problem file proposes, as comments: for every column that looks like a property of people,
//! else for one with two categories.

use std::fmt::Write;

use feasible_data::{Cells, Column, column_name, visible};

use super::column_plan::Columns;
use super::{backticked, quoted};

/// The most categories of a column that requirements are proposed for.
const MOST: usize = 12;
/// The most columns that requirements are proposed for.
const MOST_COLUMNS: usize = 6;

/// What of a column a requirement can speak of.
enum Groups {
    /// Its categories, the two largest first.
    Categories(Vec<String>),
    /// Its numbers below and from this one on.
    From(f64),
}

/// Limits on squared errors that are proposed, with what they are in.
struct Limits {
    at_most: String,
    within: String,
}

impl Limits {
    /// By the variance of the number that is predicted; without one, of several, each in its deviations.
    fn of(variance: Option<f64>) -> Self {
        let Some(variance) = variance else {
            let unit = "in deviations, squared; `of` names one target, in its own units";
            return Self {
                at_most: format!("0.5     # {unit}"),
                within: format!("0.1      # {unit}"),
            };
        };
        let (half, tenth) = (two_digits(variance / 2.0), two_digits(variance / 10.0));
        Self {
            at_most: format!("{half}     # half the target's variance: its units, squared"),
            within: format!("{tenth}      # a tenth of the target's variance: its units, squared"),
        }
    }
}

/// A number to two digits, as TOML has it.
fn two_digits(x: f64) -> String {
    let rounded = format!("{x:.1e}").parse().unwrap_or(x);
    match (1e-3..1e6).contains(&rounded) {
        true => format!("{rounded:?}"),
        false => format!("{rounded:e}"),
    }
}

/// The proposals; `classes` are those of the target, `None` for numbers; `variance` is that of a single one.
pub(super) fn proposals(
    columns: &[&Column],
    plan: &Columns<'_>,
    classes: Option<usize>,
    variance: Option<f64>,
) -> String {
    let limits = Limits::of(variance);
    let mut text = String::new();
    let sensitive = columns.iter().filter(|column| column_name::is_sensitive(&column.name));
    let mut chosen: Vec<(&Column, Groups)> = sensitive
        .filter_map(|column| Some((*column, groups(column, plan)?)))
        .take(MOST_COLUMNS)
        .collect();
    // Writing to a string cannot fail.
    let _ = match chosen.is_empty() {
        false => writeln!(
            text,
            "# What must hold. Columns that people are not to be judged by, by their names, have a proposal: remove the\n\
             # `#` before what you require, and choose its limit. `drop` hides a column from the model, and requirements\n\
             # may still speak of it; other columns can stand in for it."
        ),
        true => writeln!(text, "# What must hold. Remove the # to require it."),
    };
    if chosen.is_empty() {
        let two =
            |column: &&&Column| matches!(&column.cells, Cells::Categories(c) if c.names.len() == 2);
        let pair =
            columns.iter().find(two).and_then(|column| Some((*column, groups(column, plan)?)));
        chosen.extend(pair);
    }
    for (column, groups) in &chosen {
        let _ = write_for(&mut text, &column.name, groups, classes, &limits);
    }
    if chosen.is_empty() {
        text += "# [[requirement]]\n# name = \"few large losses\"\n";
        let few_large = format!(
            "# loss = \"squared\"\n# at_most = {}\n# where = \"column > 3\"\n\n",
            limits.at_most
        );
        text += match classes {
            Some(_) => "# loss = \"cross-entropy\"\n# at_most = 0.5\n# where = \"column > 3\"\n\n",
            None => &few_large,
        };
    }
    text
}

fn groups(column: &Column, plan: &Columns<'_>) -> Option<Groups> {
    match &column.cells {
        Cells::Numbers(values) if plan.is_coded(&column.name) => {
            let mut counts: Vec<(f64, usize)> = Vec::new();
            for x in values.iter().filter(|x| !x.is_nan()) {
                match counts.iter_mut().find(|(known, _)| *known == x) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((x, 1)),
                }
            }
            largest(counts.into_iter().map(|(x, count)| (x.to_string(), count)).collect())
        }
        Cells::Numbers(values) => {
            let mut sorted: Vec<f64> = values.iter().filter(|x| !x.is_nan()).collect();
            sorted.sort_by(f64::total_cmp);
            let (low, high) = (*sorted.first()?, *sorted.last()?);
            let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize];
            // Forty is where the law of several countries begins to protect; else the middle.
            let middle = at(0.5);
            let middle =
                if middle > low { middle } else { sorted.iter().copied().find(|&x| x > low)? };
            let from = if at(0.1) < 40.0 && 40.0 < at(0.9) { 40.0 } else { middle };
            (low < high).then_some(Groups::From(from))
        }
        Cells::Categories(categories) => {
            let mut counts = vec![0; categories.names.len()];
            for code in categories.codes.iter() {
                if let Some(count) = counts.get_mut(code as usize) {
                    *count += 1;
                }
            }
            largest(categories.names.iter().cloned().zip(counts).collect())
        }
    }
}

/// The categories, the largest first, if they are some and not many.
fn largest(mut counts: Vec<(String, usize)>) -> Option<Groups> {
    if !(2..=MOST).contains(&counts.len()) {
        return None;
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Some(Groups::Categories(counts.into_iter().map(|(name, _)| name).collect()))
}

fn write_for(
    out: &mut String,
    column: &str,
    groups: &Groups,
    classes: Option<usize>,
    limits: &Limits,
) -> std::fmt::Result {
    let (shown, name) = (visible(column), quoted(column));
    let similar = match classes {
        Some(_) => "kl",
        None => "squared-distance",
    };
    if let Groups::Categories(categories) = groups {
        let swap = match &categories[..] {
            [a, b] => format!("swap = {{ {name} = [{}, {}] }}", quoted(a), quoted(b)),
            _ => format!("pairs = {name}"),
        };
        writeln!(
            out,
            "# [[requirement]]       # nobody's prediction depends on {shown}: changing {shown} alone barely changes it\n\
             # name = {}\n# loss = \"{similar}\"\n# kind = \"pointwise\"\n# at_most = 1e-3\n\
             # counterfactual = {{ {swap} }}\n",
            quoted(&format!("{column} does not matter"))
        )?;
    }
    let named = quoted(&format!("{column}: groups alike"));
    match (groups, classes) {
        (Groups::Categories(_), Some(2)) => writeln!(
            out,
            "# [[requirement]]       # the recall is about the same for each {shown}\n\
             # name = {named}\n# fairness = \"equal-opportunity\" # or \"demographic-parity\", \"equalised-odds\"\n\
             # groups = {name}\n# within = 0.05\n"
        ),
        (Groups::Categories(_), Some(_)) => writeln!(
            out,
            "# [[requirement]]       # the accuracy is high for each {shown}\n\
             # name = {named}\n# rate = \"accuracy\"\n# groups = {name}\n# at_least = 0.7\n"
        ),
        (Groups::Categories(_), None) => writeln!(
            out,
            "# [[requirement]]       # no {shown} has large losses\n\
             # name = {named}\n# loss = \"squared\"\n# groups = {name}\n# at_most = {}\n",
            limits.at_most
        ),
        (Groups::From(from), _) => {
            let column = backticked(column);
            let (rate, what) = match classes {
                Some(2) => ("rate = \"recall\"", "the recall is about the same on both sides"),
                Some(_) => ("rate = \"accuracy\"", "the accuracy is about the same on both sides"),
                None => ("loss = \"squared\"", "the loss is about the same on both sides"),
            };
            let within = match classes {
                Some(_) => "0.05".to_string(),
                None => limits.within.clone(),
            };
            writeln!(
                out,
                "# [[requirement]]       # {what} of {from}\n\
                 # name = {named}\n# {rate}\n# where = {}\n# against = {}\n# within = {within}\n",
                quoted(&format!("{column} >= {from}")),
                quoted(&format!("{column} < {from}")),
            )
        }
    }
}
