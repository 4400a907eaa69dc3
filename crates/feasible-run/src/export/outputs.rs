//! What the graph gives: the class and its probabilities, or a number.

use feasible_problem::loss::LossName;

use super::GraphValue;
use super::columns::{Columns, is_one_of};
use super::graph::{Attribute, Constant, Dim, Element, Graph, Value};
use crate::decision::{Decision, contrast};
use crate::error::Result;

/// `value`, N × 1, or N × the targets.
pub(super) fn number(
    graph: &mut Graph,
    outputs: &Value,
    width: usize,
    loss: LossName,
    refused: Option<&Value>,
) -> Vec<GraphValue> {
    let mut value = outputs.clone();
    if loss == LossName::Poisson {
        let log = graph.cast(&value, Element::Double);
        let mean = graph.op("Exp", &[&log]);
        value = graph.cast(&mean, Element::Float);
    }
    let value = unless_refused(graph, &value, refused);
    let name = graph.output("value", &value, Element::Float, &[Dim::Rows, Dim::Size(width)]);
    vec![GraphValue { name, element: "float", shape: vec![None, Some(width)] }]
}

/// `label`, N, and `probabilities`, N × classes.
pub(super) fn classes(
    graph: &mut Graph,
    outputs: &Value,
    width: usize,
    classes: &[String],
    chosen: &Value,
    refused: Option<&Value>,
) -> Vec<GraphValue> {
    let names = graph.named("classes", Constant::texts(&[classes.len()], classes.to_vec()));
    let mut label = graph.op_with("Gather", &[&names, chosen], &[("axis", Attribute::Int(0))]);
    if let Some(refused) = refused {
        let refused = column_as_list(graph, refused);
        let none = graph.constant(Constant::text(""));
        label = graph.op("Where", &[&refused, &none, &label]);
    }
    let probabilities = probabilities(graph, outputs, width);
    let probabilities = unless_refused(graph, &probabilities, refused);
    let label = graph.output("label", &label, Element::Text, &[Dim::Rows]);
    let dims = [Dim::Rows, Dim::Size(classes.len())];
    let probabilities = graph.output("probabilities", &probabilities, Element::Float, &dims);
    vec![
        GraphValue { name: label, element: "string", shape: vec![None] },
        GraphValue {
            name: probabilities,
            element: "float",
            shape: vec![None, Some(classes.len())],
        },
    ]
}

/// Sums of exponentials in double precision, as `predict` has them.
fn probabilities(graph: &mut Graph, outputs: &Value, width: usize) -> Value {
    let outputs = graph.cast(outputs, Element::Double);
    let probabilities = match width {
        1 => {
            let other = graph.op("Neg", &[&outputs]);
            let both = [other, outputs];
            let both = graph.side_by_side(&both).unwrap_or_else(|| both[1].clone());
            graph.op("Sigmoid", &[&both])
        }
        _ => graph.op_with("Softmax", &[&outputs], &[("axis", Attribute::Int(1))]),
    };
    graph.cast(&probabilities, Element::Float)
}

/// The class of the largest output, or of the threshold: a list of N whole numbers.
///
/// # Errors
/// Thresholds by the categories of a column that is an input as a number.
pub(super) fn chosen(
    graph: &mut Graph,
    outputs: &Value,
    width: usize,
    decision: Option<&Decision>,
    columns: &mut Columns<'_>,
) -> Result<Value> {
    if decision.is_none() && width > 1 {
        let attributes = [("axis", Attribute::Int(1)), ("keepdims", Attribute::Int(0))];
        return Ok(graph.op_with("ArgMax", &[outputs], &attributes));
    }
    let outputs = graph.cast(outputs, Element::Double);
    let contrast = match width {
        1 => outputs,
        _ => {
            let [first, second] = [0, 1].map(|at| {
                let at = graph.constant(Constant::ints(&[at]));
                graph.op_with("Gather", &[&outputs, &at], &[("axis", Attribute::Int(1))])
            });
            graph.op("Sub", &[&second, &first])
        }
    };
    let cut = cut(graph, decision, columns)?;
    let positive = graph.op("Greater", &[&contrast, &cut]);
    let positive = graph.cast(&positive, Element::Int64);
    Ok(column_as_list(graph, &positive))
}

/// The contrast above which a row is positive: of its group, or of all.
fn cut(graph: &mut Graph, decision: Option<&Decision>, columns: &mut Columns<'_>) -> Result<Value> {
    let common = decision.map_or(0.0, |decision| contrast(decision.threshold));
    let common = graph.constant(Constant::double(common));
    let Some(groups) = decision.and_then(|decision| decision.groups.as_ref()) else {
        return Ok(common);
    };
    let cells = columns.text(graph, &groups.column)?;
    // A mark of missing cells is never read as a category.
    let read = |(name, _): &(&String, &f64)| !columns.is_mark(name);
    let mut cut = common;
    for (name, threshold) in groups.thresholds.iter().filter(read) {
        let here = is_one_of(graph, &cells, vec![name.clone()]);
        let own = graph.constant(Constant::double(contrast(*threshold)));
        cut = graph.op("Where", &[&here, &own, &cut]);
    }
    Ok(cut)
}

fn column_as_list(graph: &mut Graph, column: &Value) -> Value {
    let second = graph.constant(Constant::ints(&[1]));
    graph.op("Squeeze", &[column, &second])
}

fn unless_refused(graph: &mut Graph, value: &Value, refused: Option<&Value>) -> Value {
    let Some(refused) = refused else { return value.clone() };
    let nan = graph.constant(Constant::float(f32::NAN));
    graph.op("Where", &[refused, &nan, value])
}
