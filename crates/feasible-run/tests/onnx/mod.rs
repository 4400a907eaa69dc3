//! An exported graph is read back, found to be well formed and of standard operators, and computed by an interpreter of its own:
//! it gives what `predict` gives. `bench/onnx/check` does the same with onnxruntime, for all models.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

mod decode;
mod interpret;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use decode::{Attribute, DOUBLE, FLOAT, Model, TEXT, Tensor};
use feasible_data::Table;
use feasible_problem::{Plan, ProblemSource};
use feasible_run::export::NumberInputs;
use feasible_run::{Interrupt, Memory, Prediction, SavedModel, Storage, files, fit_in};
use interpret::{column_of_numbers, column_of_texts};

/// Operators of ONNX's default set, and the set from which on they take what they are given here.
const OPERATORS: [(&str, i64); 42] = [
    ("Add", 14),
    ("And", 7),
    ("ArgMax", 13),
    ("AveragePool", 19),
    ("Cast", 19),
    ("Clip", 13),
    ("Concat", 13),
    ("Conv", 11),
    ("Div", 14),
    ("Equal", 19),
    ("Exp", 13),
    ("Flatten", 13),
    ("Floor", 13),
    ("Gather", 13),
    ("Gemm", 13),
    ("Greater", 13),
    ("GreaterOrEqual", 16),
    ("Identity", 19),
    ("IsInf", 10),
    ("IsNaN", 13),
    ("LessOrEqual", 16),
    ("MatMul", 13),
    ("MaxPool", 12),
    ("Mul", 14),
    ("Neg", 13),
    ("Not", 1),
    ("Or", 7),
    ("Pow", 15),
    ("ReduceMax", 18),
    ("ReduceSum", 13),
    ("RegexFullMatch", 20),
    ("Relu", 14),
    ("Sigmoid", 13),
    ("Sin", 7),
    ("Slice", 13),
    ("Softmax", 13),
    ("Squeeze", 13),
    ("StringConcat", 20),
    ("StringSplit", 20),
    ("Sub", 14),
    ("Tanh", 13),
    ("Where", 16),
];

/// Rows with numbers, a long tail, gaps, categories of several kinds, and four targets.
fn table(rows: usize) -> String {
    let mut state = 5_u64;
    let mut random = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    let mut text = "age,gain,rent,colour,sex,city,same,wealth,kind,price,visits\n".to_string();
    for _ in 0..rows {
        let age = 18 + (70.0 * random()) as u32;
        let gain = if random() < 0.7 { 0.0 } else { (100.0 / (0.01 + random())).round() / 8.0 };
        let rent = if random() < 0.3 { String::new() } else { (3000.0 * random()).to_string() };
        let colour = ["red", "green", "blue", "é🙂", ""][(5.0 * random()) as usize];
        let sex = ["m", "f"][(2.0 * random()) as usize];
        let city = ["Lyon", "Turin", "Oslo", "Bern"][(4.0 * random()) as usize];
        let score = 0.05 * (f64::from(age) - 50.0) + f64::from(u8::from(gain > 200.0)) + random();
        let wealth = if score > 0.6 { "rich" } else { "poor" };
        let kind = ["x", "y", "z"][(score + 1.0).clamp(0.0, 2.0) as usize];
        let (price, visits) = (2000.0 * score + 1e5, (score + 2.0).max(0.0) as u32);
        writeln!(
            text,
            "{age},{gain},{rent},{colour},{sex},{city},s,{wealth},{kind},{price},{visits}"
        )
        .unwrap();
    }
    text
}

const ALLOWING: &str = r#"missing = "impute"
missing_in = { colour = "category", rent = "category" }
unseen = "other"
piecewise = ["gain"]
[data.bin]
age = { quantiles = 4 }
[data.group.city]
South = ["Lyon", "Turin"]
"#;

const STRICT: &str = "missing = \"reject\"\nmissing_in = { rent = \"impute\", colour = \"category\" }\nunseen = \"error\"\n\
    piecewise = [\"gain\"]\n[data.bin]\nage = { edges = [40.5] }\n";

const TARGETS: [&str; 4] = ["wealth", "kind", "price", "visits"];

/// A model of a problem on [`table`], trained for an epoch or two.
fn model(target: &str, data: &str, rest: &str) -> SavedModel {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("table.csv"), table(400)).unwrap();
    let others: Vec<&str> = TARGETS.into_iter().filter(|name| *name != target).collect();
    let positive = if target == "wealth" { "positive = \"rich\"\n" } else { "" };
    let text = format!(
        "[data]\nfile = \"table.csv\"\ntarget = \"{target}\"\ndrop = {others:?}\n{positive}\
         split = {{ validation = 0.2, test = 0.2, seed = 3 }}\n{data}\n{rest}\n[training]\nepochs = 2\n"
    );
    trained(directory.path(), &text)
}

fn trained(directory: &std::path::Path, problem: &str) -> SavedModel {
    let path = directory.join("problem.toml");
    std::fs::write(&path, problem).unwrap();
    let plan = Plan::check(&ProblemSource::open(path.to_str().unwrap()).unwrap()).unwrap();
    let files = Memory::new();
    fit_in(&plan, &files, &Interrupt::new(), &|_| {}).unwrap();
    SavedModel::from_bytes("model", &files.read(files::MODEL).unwrap()).unwrap()
}

/// The file read back, after what must hold of every one.
fn exported(model: &SavedModel, numbers: NumberInputs) -> Model {
    let onnx = model.to_onnx(numbers).unwrap();
    assert_eq!(onnx.bytes, model.to_onnx(numbers).unwrap().bytes, "the same model, other bytes");
    let graph = Model::read(&onnx.bytes);
    graph.insist_on_order();
    assert_eq!((graph.ir_version, graph.producer.as_str()), (9, "feasible"));
    assert_eq!(graph.opsets, [(String::new(), onnx.opset)]);
    let known: BTreeMap<&str, i64> = OPERATORS.into_iter().collect();
    for node in &graph.nodes {
        let since = known.get(node.operator.as_str());
        assert!(since.is_some_and(|since| *since <= onnx.opset), "{}", node.operator);
    }
    let names = |ports: &[decode::Port]| -> Vec<String> {
        ports.iter().map(|port| port.name.clone()).collect()
    };
    let told = |values: &[feasible_run::export::GraphValue]| -> Vec<String> {
        values.iter().map(|value| value.name.clone()).collect()
    };
    assert_eq!(
        (names(&graph.inputs), names(&graph.outputs)),
        (told(&onnx.inputs), told(&onnx.outputs))
    );
    graph
}

/// The columns of a text table as inputs of the graph.
fn inputs(graph: &Model, csv: &str) -> BTreeMap<String, Tensor> {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let rows: Vec<Vec<&str>> = lines.collect();
    let column = |port: &decode::Port| {
        let at = header.iter().position(|name| *name == port.name).unwrap();
        let cells: Vec<&str> = rows.iter().map(|row| row[at]).collect();
        let number = |cell: &&str| if cell.is_empty() { f64::NAN } else { cell.parse().unwrap() };
        let values = || cells.iter().map(number).collect::<Vec<f64>>();
        let tensor = match port.element {
            TEXT => column_of_texts(&cells),
            DOUBLE => column_of_numbers(&values()),
            FLOAT => {
                let single: Vec<f64> = values().iter().map(|&x| f64::from(x as f32)).collect();
                let dims = vec![single.len(), 1];
                Tensor { dims, data: decode::Data::Numbers(single, FLOAT) }
            }
            element => panic!("{}: {element}", port.name),
        };
        (port.name.clone(), tensor)
    };
    graph.inputs.iter().map(column).collect()
}

/// The model's predictions, and the graph's, must be the same.
fn compare(model: &SavedModel, csv: &str, numbers: NumberInputs, what: &str) {
    let table = Table::from_bytes("new.csv", csv.as_bytes(), &model.input_format()).unwrap();
    let predictions = model.predict(&table, None).unwrap();
    let graph = exported(model, numbers);
    let answers = interpret::run(&graph, inputs(&graph, csv));
    for (at, row) in predictions.rows.iter().enumerate() {
        compare_row(&answers, at, row, predictions.classes.len(), what);
    }
}

/// Sums of the network in single precision, whose order differs: 1e-5 is some hundred roundings.
const TOLERANCE: f64 = 1e-5;

fn compare_row(
    answers: &BTreeMap<String, Tensor>,
    at: usize,
    row: &Prediction,
    classes: usize,
    what: &str,
) {
    let Some(value) = row.value else {
        let found = &answers["probabilities"].numbers()[at * classes..(at + 1) * classes];
        assert_eq!(Some(&answers["label"].texts()[at]), row.class.as_ref(), "{what}, row {at}");
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= TOLERANCE;
        let all = found.iter().zip(&row.probabilities).all(near);
        assert!(all, "{what}, row {at}: {found:?}, {:?}", row.probabilities);
        return;
    };
    let found = answers["value"].numbers()[at];
    assert!(
        (found - value).abs() <= TOLERANCE * value.abs().max(1.0),
        "{what}, row {at}: {found}, {value}"
    );
}

/// Rows that training did not have: gaps, unseen categories, numbers far away and at edges.
fn odd_rows() -> String {
    let mut text = table(60);
    for row in [
        ",,,,x,Paris,t",
        "40,0,1,purple,,Oslo,s",
        "1e9,1e300,-4,red,f,South,s",
        "-3,-1e308,1e12,(missing),m,Turin,s",
        "18,12.5,0,blue,f,Lyon,",
    ] {
        writeln!(text, "{row},rich,x,1,1").unwrap();
    }
    text
}

#[test]
fn a_graph_gives_what_predict_gives_for_every_model_and_target() {
    let csv = odd_rows();
    for (target, rest) in [
        ("wealth", "[model]\nhidden = [6]\nactivation = \"sigmoid\""),
        ("wealth", "[model]\nhidden = [6, 5]\nactivation = \"tanh\""),
        ("kind", "[model]\nhidden = [6, 5, 4]\nactivation = \"relu\""),
        ("price", "[model]\nhidden = [6]\nactivation = \"silu\""),
        ("kind", "[model]\nkind = \"linear\""),
        ("wealth", "[objective]\nloss = \"logistic\""),
        ("visits", "[objective]\nloss = \"poisson\""),
        ("wealth", "[decision]\nmaximise = \"f1\""),
        ("wealth", "[decision]\nper = \"city\""),
    ] {
        let data = if target == "visits" {
            format!("task = \"regress\"\n{ALLOWING}")
        } else {
            ALLOWING.into()
        };
        let model = model(target, &data, rest);
        compare(&model, &csv, NumberInputs::Double, rest);
    }
}

#[test]
fn a_graph_of_a_kernel_expansion_gives_what_predict_gives() {
    // Without the rows of 1e300: a polynomial of them is no number.
    let csv = table(80);
    for kernel in ["gamma = 0.2", "degree = 3\noffset = 1.0"] {
        let rest = format!("[model]\nkind = \"kernel\"\ncentres = 30\n{kernel}");
        compare(&model("wealth", ALLOWING, &rest), &csv, NumberInputs::Double, kernel);
    }
}

#[test]
fn inputs_in_single_precision_give_the_same_where_the_table_has_few_digits() {
    let model = model("wealth", ALLOWING, "");
    let graph = exported(&model, NumberInputs::Float);
    assert!(graph.inputs.iter().all(|port| port.element != DOUBLE));
    compare(&model, &table(100), NumberInputs::Float, "float");
}

#[test]
fn rows_that_predict_refuses_have_no_label_and_no_numbers() {
    let model = model("wealth", STRICT, "");
    let good = "50,10,100,red,f,Oslo,s,rich,x,1,1";
    let rows = [
        (good, false),
        (",10,100,red,f,Oslo,s,rich,x,1,1", true),
        ("50,,100,red,f,Oslo,s,rich,x,1,1", true),
        ("50,10,,red,f,Oslo,s,rich,x,1,1", false),
        ("50,10,100,,f,Oslo,s,rich,x,1,1", false),
        ("50,10,100,purple,f,Oslo,s,rich,x,1,1", true),
        ("50,10,100,red,,Oslo,s,rich,x,1,1", true),
        ("50,10,100,red,f,Oslo,other,rich,x,1,1", true),
        ("50,10,1e308,red,f,Oslo,s,rich,x,1,1", true),
    ];
    let header = table(0);
    let graph = exported(&model, NumberInputs::Double);
    for (row, refused) in rows {
        let csv = format!("{header}{row}\n");
        let table = Table::from_bytes("new.csv", csv.as_bytes(), &model.input_format()).unwrap();
        assert_eq!(model.predict(&table, None).is_err(), refused, "{row}");
        let answers = interpret::run(&graph, inputs(&graph, &csv));
        assert_eq!(answers["label"].texts()[0].is_empty(), refused, "{row}");
        let nan = answers["probabilities"].numbers().iter().filter(|p| p.is_nan()).count();
        assert_eq!(nan, if refused { 2 } else { 0 }, "{row}");
    }
}

#[test]
fn every_column_is_one_input_as_the_table_has_it() {
    let graph =
        exported(&model("wealth", ALLOWING, "[decision]\nper = \"city\""), NumberInputs::Double);
    let expected = [
        ("age", DOUBLE),
        ("gain", DOUBLE),
        ("rent", DOUBLE),
        ("colour", TEXT),
        ("sex", TEXT),
        ("city", TEXT),
    ];
    let found: Vec<(&str, i64)> =
        graph.inputs.iter().map(|port| (port.name.as_str(), port.element)).collect();
    assert_eq!(found, expected);
    assert!(graph.inputs.iter().all(|port| port.shape == [None, Some(1)]));
    let outputs: Vec<_> =
        graph.outputs.iter().map(|port| (port.name.as_str(), &port.shape[..])).collect();
    assert_eq!(outputs, [("label", &[None][..]), ("probabilities", &[None, Some(2)][..])]);
    assert_eq!(graph.metadata["classes"], "[\"poor\",\"rich\"]");
}

#[test]
fn dates_are_read_by_operators_on_text_of_set_20() {
    let directory = tempfile::tempdir().unwrap();
    let mut csv = "joined,y\n".to_string();
    for day in 1..=28 {
        writeln!(csv, "2024-{:02}-{day:02}T0{}:30,{}", 1 + day % 12, day % 10, day % 2).unwrap();
    }
    std::fs::write(directory.path().join("dates.csv"), csv).unwrap();
    let model = trained(
        directory.path(),
        "[data]\nfile = \"dates.csv\"\ntarget = \"y\"\nsplit = { test = 0.2, seed = 0 }\n[training]\nepochs = 1\n",
    );
    let graph = exported(&model, NumberInputs::Double);
    assert_eq!(graph.opsets, [(String::new(), 20)]);
    let operators: BTreeSet<&str> = graph.nodes.iter().map(|node| node.operator.as_str()).collect();
    assert!(["RegexFullMatch", "StringSplit", "Sin"].iter().all(|name| operators.contains(name)));
    assert_eq!(graph.inputs[0].element, TEXT);
}

#[test]
fn columns_may_be_called_like_outputs_and_nodes() {
    let directory = tempfile::tempdir().unwrap();
    let mut csv = "label,probabilities,gemm,y\n".to_string();
    for at in 0..60 {
        writeln!(csv, "{},{},{},{}", at % 7, ["a", "b", "c"][at % 3], at % 5, ["u", "v"][at % 2])
            .unwrap();
    }
    std::fs::write(directory.path().join("t.csv"), &csv).unwrap();
    let problem = "[data]\nfile = \"t.csv\"\ntarget = \"y\"\nsplit = { test = 0.2, seed = 0 }\n[training]\nepochs = 1\n";
    let graph = exported(&trained(directory.path(), problem), NumberInputs::Double);
    let names: Vec<&str> = graph.outputs.iter().map(|port| port.name.as_str()).collect();
    assert_eq!(names, ["label_2", "probabilities_2"]);
    let answers = interpret::run(&graph, inputs(&graph, &csv));
    assert_eq!(answers["label_2"].texts().len(), 60);
}

#[test]
fn what_a_graph_cannot_express_is_refused_with_a_sentence() {
    // The manifest of a model whose thresholds go by a column that is a number.
    let model = model("wealth", ALLOWING, "[decision]\nper = \"city\"");
    let bytes = model.to_bytes().unwrap();
    let text = String::from_utf8_lossy(&bytes[8..]).to_string();
    assert!(text.contains(r#"{\"column\":\"city\",\"thresholds\""#));
    let from = br#"{\"column\":\"city\",\"thresholds\""#;
    let to = br#"{\"column\":\"rent\",\"thresholds\""#;
    let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
    let mut changed = bytes.clone();
    changed[at..at + to.len()].copy_from_slice(to);
    let changed = SavedModel::from_bytes("changed", &changed).unwrap();
    let error = changed.to_onnx(NumberInputs::Double).unwrap_err();
    assert!(error.is_input());
    let error = error.to_string();
    assert!(error.contains("column 'rent'") && error.contains("cannot be both"), "{error}");
    // Text in place of a name.
    let from = br#"\"column\":\"age\""#;
    let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
    let mut changed = bytes;
    changed[at..at + from.len()].copy_from_slice(br#"\"column\":\"\"   "#);
    let changed = SavedModel::from_bytes("changed", &changed).unwrap();
    let error = changed.to_onnx(NumberInputs::Double).unwrap_err().to_string();
    assert!(error.contains("a column") && error.contains("has no name"), "{error}");
}

#[test]
fn networks_for_images_are_convolutions_on_one_input() {
    let directory = tempfile::tempdir().unwrap();
    for (kind, convolutions) in [("kind = \"cnn\"", 5), ("kind = \"resnet18\"\nwidth = 2", 21)] {
        let problem = format!(
            "[data]\nsource = \"fashion-mnist-sample\"\nper_class = {{ train = 2, validation = 1, test = 1 }}\n\
             [model]\n{kind}\n[training]\nepochs = 1\n"
        );
        let graph = exported(&trained(directory.path(), &problem), NumberInputs::Double);
        assert_eq!(graph.inputs[0].name, "image");
        assert_eq!(graph.inputs[0].shape, [None, Some(1), Some(28), Some(28)]);
        let of = |name: &'static str| graph.nodes.iter().filter(move |node| node.operator == name);
        assert_eq!(of("Conv").count(), convolutions, "{kind}");
        let strided =
            |node: &&decode::Node| node.attributes["strides"] == Attribute::Ints(vec![2, 2]);
        assert_eq!(of("Conv").filter(strided).count(), if convolutions == 5 { 0 } else { 6 });
        assert_eq!(graph.outputs[1].shape, [None, Some(10)]);
    }
}
