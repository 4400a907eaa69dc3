//! Computes a graph of the operators that models of tables consist of, as ONNX defines them: one loop for each, no speed.
//!
//! It knows nothing of how graphs are made, so that it can be held against `predict`. Numbers are kept in double precision and
//! rounded to their type after every operator.

use std::collections::BTreeMap;

use super::decode::{Attribute, BOOL, DOUBLE, Data, FLOAT, INT64, Model, Node, TEXT, Tensor};

pub fn column_of_numbers(values: &[f64]) -> Tensor {
    Tensor { dims: vec![values.len(), 1], data: Data::Numbers(values.to_vec(), DOUBLE) }
}

pub fn column_of_texts(values: &[&str]) -> Tensor {
    let texts = values.iter().map(ToString::to_string).collect();
    Tensor { dims: vec![values.len(), 1], data: Data::Texts(texts) }
}

/// The outputs, by name.
pub fn run(model: &Model, inputs: BTreeMap<String, Tensor>) -> BTreeMap<String, Tensor> {
    let mut values = model.constants.clone();
    for port in &model.inputs {
        let given = inputs.get(&port.name).unwrap_or_else(|| panic!("no input {}", port.name));
        assert_eq!(given.element(), port.element, "{}", port.name);
        values.insert(port.name.clone(), given.clone());
    }
    for node in &model.nodes {
        let inputs: Vec<&Tensor> = node.inputs.iter().map(|name| &values[name]).collect();
        let output = operator(node, &inputs);
        assert_eq!(output.dims.iter().product::<usize>(), output.len(), "{node:?}");
        values.insert(node.outputs[0].clone(), output);
    }
    model.outputs.iter().map(|port| (port.name.clone(), values[&port.name].clone())).collect()
}

fn numbers(dims: Vec<usize>, values: Vec<f64>, element: i64) -> Tensor {
    let round = |x: f64| match element {
        FLOAT => f64::from(x as f32),
        _ => x,
    };
    Tensor { dims, data: Data::Numbers(values.into_iter().map(round).collect(), element) }
}

fn flag(value: bool) -> f64 {
    f64::from(u8::from(value))
}

fn int(node: &Node, name: &str, default: i64) -> i64 {
    match node.attributes.get(name) {
        Some(Attribute::Int(value)) => *value,
        Some(other) => panic!("{other:?}"),
        None => default,
    }
}

/// The sizes of values that are stretched to fit each other, and where each element comes from.
fn broadcast(tensors: &[&Tensor]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let rank = tensors.iter().map(|tensor| tensor.dims.len()).max().unwrap();
    let padded: Vec<Vec<usize>> = tensors
        .iter()
        .map(|tensor| [vec![1; rank - tensor.dims.len()], tensor.dims.clone()].concat())
        .collect();
    let dims: Vec<usize> = (0..rank)
        .map(|axis| {
            let sizes = || padded.iter().map(|dims| dims[axis]);
            let size = sizes().find(|&size| size != 1).unwrap_or(1);
            assert!(sizes().all(|other| other == 1 || other == size), "sizes {padded:?}");
            size
        })
        .collect();
    let count = dims.iter().product();
    let places = padded.iter().map(|own| {
        let place = |mut at: usize| {
            let (mut place, mut stride) = (0, 1);
            for axis in (0..rank).rev() {
                let along = at % dims[axis];
                at /= dims[axis];
                place += if own[axis] == 1 { 0 } else { along * stride };
                stride *= own[axis];
            }
            place
        };
        (0..count).map(place).collect()
    });
    let places = places.collect();
    (dims, places)
}

fn pairs(inputs: &[&Tensor], element: Option<i64>, f: impl Fn(f64, f64) -> f64) -> Tensor {
    let (dims, places) = broadcast(inputs);
    let [a, b] = [inputs[0].numbers(), inputs[1].numbers()];
    assert_eq!(inputs[0].element(), inputs[1].element());
    let values = places[0].iter().zip(&places[1]).map(|(&i, &j)| f(a[i], b[j])).collect();
    numbers(dims, values, element.unwrap_or(inputs[0].element()))
}

fn each(input: &Tensor, element: Option<i64>, f: impl Fn(f64) -> f64) -> Tensor {
    let values = input.numbers().iter().map(|&x| f(x)).collect();
    numbers(input.dims.clone(), values, element.unwrap_or(input.element()))
}

fn equal(inputs: &[&Tensor]) -> Tensor {
    if inputs[0].element() != TEXT {
        return pairs(inputs, Some(BOOL), |a, b| flag(a == b));
    }
    let (dims, places) = broadcast(inputs);
    let [a, b] = [inputs[0].texts(), inputs[1].texts()];
    let values = places[0].iter().zip(&places[1]).map(|(&i, &j)| flag(a[i] == b[j])).collect();
    numbers(dims, values, BOOL)
}

fn choose(inputs: &[&Tensor]) -> Tensor {
    let (dims, places) = broadcast(inputs);
    assert_eq!(inputs[0].element(), BOOL);
    let which = inputs[0].numbers();
    let from = |at: usize| if which[places[0][at]] != 0.0 { 1 } else { 2 };
    let count = places[0].len();
    match &inputs[1].data {
        Data::Texts(_) => {
            let text = |at: usize| inputs[from(at)].texts()[places[from(at)][at]].clone();
            Tensor { dims, data: Data::Texts((0..count).map(text).collect()) }
        }
        Data::Numbers(_, element) => {
            assert_eq!(inputs[2].element(), *element);
            let number = |at: usize| inputs[from(at)].numbers()[places[from(at)][at]];
            numbers(dims, (0..count).map(number).collect(), *element)
        }
    }
}

/// a b (or a bᵀ), of tables.
fn product(a: &Tensor, b: &Tensor, transposed: bool) -> Tensor {
    let [n, d] = a.dims[..] else { panic!("{:?}", a.dims) };
    let m = if transposed { b.dims[0] } else { b.dims[1] };
    assert_eq!(b.dims[usize::from(transposed)], d);
    let (x, y) = (a.numbers(), b.numbers());
    let cell = |at: usize| {
        let (row, column) = (at / m, at % m);
        let y = |k: usize| if transposed { y[column * d + k] } else { y[k * m + column] };
        (0..d).map(|k| x[row * d + k] * y(k)).sum()
    };
    numbers(vec![n, m], (0..n * m).map(cell).collect(), a.element())
}

/// Of tables, along the columns.
fn side_by_side(inputs: &[&Tensor]) -> Tensor {
    let rows = inputs[0].dims[0];
    let width = inputs.iter().map(|tensor| tensor.dims[1]).sum();
    let mut values = Vec::new();
    for row in 0..rows {
        for tensor in inputs {
            let width = tensor.dims[1];
            values.extend(&tensor.numbers()[row * width..(row + 1) * width]);
        }
    }
    numbers(vec![rows, width], values, inputs[0].element())
}

/// For each row of a table.
fn by_row(input: &Tensor, f: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let width = input.dims[1];
    input.numbers().chunks(width).flat_map(f).collect()
}

fn gather(node: &Node, from: &Tensor, at: &Tensor) -> Tensor {
    let place = at.numbers();
    match (int(node, "axis", 0), &from.data) {
        (0, Data::Texts(texts)) => {
            assert_eq!(from.dims.len(), 1);
            let texts = place.iter().map(|&at| texts[at as usize].clone()).collect();
            Tensor { dims: at.dims.clone(), data: Data::Texts(texts) }
        }
        (1, Data::Numbers(_, element)) => {
            let columns = by_row(from, |row| place.iter().map(|&at| row[at as usize]).collect());
            numbers(vec![from.dims[0], place.len()], columns, *element)
        }
        other => panic!("Gather of {other:?}"),
    }
}

fn operator(node: &Node, inputs: &[&Tensor]) -> Tensor {
    let first = inputs[0];
    match node.operator.as_str() {
        "Identity" => first.clone(),
        "Cast" => match int(node, "to", 0) {
            BOOL => each(first, Some(BOOL), |x| flag(x != 0.0)),
            INT64 => each(first, Some(INT64), f64::trunc),
            to => each(first, Some(to), |x| x),
        },
        "Equal" => equal(inputs),
        "Greater" => pairs(inputs, Some(BOOL), |a, b| flag(a > b)),
        "Or" => pairs(inputs, None, f64::max),
        "Not" => each(first, None, |x| 1.0 - x),
        "IsNaN" => each(first, Some(BOOL), |x| flag(x.is_nan())),
        "IsInf" => each(first, Some(BOOL), |x| flag(x.is_infinite())),
        "Where" => choose(inputs),
        "Add" => pairs(inputs, None, |a, b| a + b),
        "Sub" => pairs(inputs, None, |a, b| a - b),
        "Mul" => pairs(inputs, None, |a, b| a * b),
        "Div" => pairs(inputs, None, |a, b| a / b),
        "Pow" => pairs(inputs, None, f64::powf),
        "Neg" => each(first, None, |x| -x),
        "Exp" => each(first, None, f64::exp),
        "Tanh" => each(first, None, f64::tanh),
        "Relu" => each(first, None, |x| x.max(0.0)),
        "Sigmoid" => each(first, None, |x| 1.0 / (1.0 + (-x).exp())),
        "Clip" => {
            let [low, high] = [inputs[1].numbers()[0], inputs[2].numbers()[0]];
            each(first, None, |x| x.clamp(low, high))
        }
        "MatMul" => product(first, inputs[1], false),
        "Gemm" => {
            let z = product(first, inputs[1], int(node, "transB", 0) == 1);
            pairs(&[&z, inputs[2]], None, |z, b| z + b)
        }
        "Concat" => {
            assert_eq!(int(node, "axis", 0), 1);
            side_by_side(inputs)
        }
        "ReduceMax" | "ReduceSum" => {
            assert_eq!((first.dims.len(), inputs[1].numbers()), (2, &[1.0][..]));
            let largest = |row: &[f64]| row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total = |row: &[f64]| row.iter().sum();
            let sums = node.operator == "ReduceSum";
            let values = by_row(first, |row| vec![if sums { total(row) } else { largest(row) }]);
            numbers(vec![first.dims[0], 1], values, first.element())
        }
        "Softmax" => {
            assert_eq!(int(node, "axis", -1), 1);
            let share = |row: &[f64]| -> Vec<f64> {
                let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = row.iter().map(|x| (x - largest).exp()).sum();
                row.iter().map(|x| (x - largest).exp() / sum).collect()
            };
            numbers(first.dims.clone(), by_row(first, share), first.element())
        }
        "ArgMax" => {
            assert_eq!((int(node, "axis", 0), int(node, "keepdims", 1)), (1, 0));
            let place = |row: &[f64]| {
                let later = |best: usize, at: usize| if row[at] > row[best] { at } else { best };
                vec![(0..row.len()).fold(0, later) as f64]
            };
            numbers(vec![first.dims[0]], by_row(first, place), INT64)
        }
        "Gather" => gather(node, first, inputs[1]),
        "Squeeze" => {
            assert_eq!((first.dims[1], inputs[1].numbers()), (1, &[1.0][..]));
            Tensor { dims: vec![first.dims[0]], data: first.data.clone() }
        }
        other => panic!("operator {other} is not one of those that models of tables are made of"),
    }
}
