//! The outputs of any predictor, held against requirements.

use feasible_problem::Plan;
use feasible_report::Report;
use feasible_run::GivenOutputs;
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::error::{refused, refused_problem, refused_run};
use crate::fit::source;
use crate::run::certify_settings;
use crate::table::Table;

/// The counterfactuals of a problem, by name.
#[pyfunction]
pub(crate) fn changes(py: Python<'_>, problem: &str, table: &mut Table) -> PyResult<Vec<String>> {
    let (source, table) = (source("requirements", problem)?, table.take()?);
    let plan = py.detach(|| Plan::with_table(&source, table)).map_err(refused_problem)?;
    Ok(plan.changes().iter().map(|change| change.name().to_string()).collect())
}

/// Evaluates and certifies outputs, row by row, and those under counterfactuals: as JSON, the certificate for people, whether all
/// requirements are certified, and the page. `settings` are those of `[certify]`, as JSON.
#[pyfunction]
pub(crate) fn judge(
    py: Python<'_>,
    problem: &str,
    settings: &str,
    title: &str,
    table: &mut Table,
    outputs: PyReadonlyArray2<'_, f32>,
    changed: Vec<(String, PyReadonlyArray2<'_, f32>)>,
) -> PyResult<(String, Option<String>, bool, String)> {
    let (source, table) = (source("requirements", problem)?, table.take()?);
    let flat = |array: &PyReadonlyArray2<'_, f32>| array.as_array().iter().copied().collect();
    let settings = certify_settings(settings)?;
    let mut given = GivenOutputs::new(flat(&outputs));
    for (name, outputs) in &changed {
        given = given.under(name, flat(outputs));
    }
    let judged = py.detach(|| {
        let plan = Plan::with_table(&source, table).map_err(feasible_run::Error::from)?;
        given.judge(&plan, &settings)
    });
    let judged = judged.map_err(refused_run)?;
    let certificate = judged.certificate.as_ref();
    let text = certificate.map(|certificate| certificate.to_text());
    let certified = certificate.is_some_and(|certificate| certificate.all_certified());
    let page = Report::of_judgement(title, &judged).map_err(refused)?;
    let json = serde_json::to_string(&judged).map_err(refused)?;
    Ok((json, text, certified, page.html().to_string()))
}
