//! Files of a run that are damaged, cut short or written on purpose: an error that says what is wrong, and never a
//! panic, a model that predicts no numbers, or memory out of proportion to the file.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::sync::OnceLock;

use feasible::State;
use feasible_data::Table;
use feasible_problem::{Fingerprints, Plan};
use feasible_run::{
    Checkpoint, Error, Interrupt, Memory, SavedModel, Storage, files, fit_in, parse, resume_in,
};
use serde_json::{Value, json};

use common::GENDER;

/// The files of a small run: a multilayer perceptron, one pointwise requirement.
fn run() -> &'static Memory {
    static RUN: OnceLock<Memory> = OnceLock::new();
    RUN.get_or_init(|| trained(&[]))
}

fn trained(overrides: &[&str]) -> Memory {
    // Kept: runs are resumed.
    let directory = Box::leak(Box::new(tempfile::tempdir().unwrap()));
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    let source = common::problem(directory.path(), GENDER, "epochs = 3\n");
    let plan = Plan::check(&source.with_overrides(&overrides)).unwrap();
    let files = Memory::new();
    fit_in(&plan, &files, &Interrupt::new(), &|_| {}).unwrap();
    files
}

fn copy(files: &Memory) -> Memory {
    let other = Memory::new();
    for name in files.list().unwrap() {
        other.write(&name, &files.read(&name).unwrap()).unwrap();
    }
    other
}

fn read(name: &str) -> Vec<u8> {
    run().read(name).unwrap()
}

/// A model file with another header.
fn with_header(bytes: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    change(&mut header);
    let header = header.to_string().into_bytes();
    [&(header.len() as u64).to_le_bytes(), &header[..], &bytes[8 + length..]].concat()
}

/// A model file with another manifest.
fn with_manifest(bytes: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    with_header(bytes, |header| {
        let entry = &mut header["__metadata__"]["feasible"];
        let mut manifest: Value = serde_json::from_str(entry.as_str().unwrap()).unwrap();
        change(&mut manifest);
        *entry = manifest.to_string().into();
    })
}

fn manifest(bytes: &[u8]) -> Value {
    let mut found = Value::Null;
    with_manifest(bytes, |manifest| found = manifest.clone());
    found
}

fn refused(bytes: &[u8]) -> String {
    match SavedModel::from_bytes("m", bytes) {
        Ok(_) => panic!("it was taken"),
        Err(error) => {
            assert!(error.is_input(), "{error}");
            let text = error.to_string();
            assert!(text.starts_with("m is not a model that can be used: "), "{text}");
            text
        }
    }
}

/// If the file is taken, it can be used: predictions are numbers, and an audit is an answer or an error.
fn usable(bytes: &[u8]) -> bool {
    let Ok(model) = SavedModel::from_bytes("m", bytes) else { return false };
    let csv = b"city,age,gender,degree,income\nA,25,Female,none,low\nB,58,Male,master,high\n";
    if let Ok(table) = Table::from_bytes("new.csv", csv, &model.audit_format()) {
        if let Ok(predictions) = model.predict(&table, None) {
            for row in &predictions.rows {
                assert!(row.probabilities.iter().all(|p| p.is_finite()), "{row:?}");
            }
        }
        if let Ok(audit) = model.audit(&table, None) {
            let _ = audit.to_text();
        }
    }
    let _ = model.manifest().training.to_text();
    true
}

#[test]
fn numbers_of_a_manifest_that_do_not_fit_are_refused_by_name() {
    let bytes = read(files::MODEL);
    let width = manifest(&bytes)["model"]["widths"][0].as_u64().unwrap();
    for (widths, said) in [
        (json!([6, 4]), "its network takes 6 inputs"),
        (json!([width, 4]), "its network gives 4 outputs, its target takes 2"),
        (json!([width, 4, 9223372036854775807_u64]), "gives 9223372036854775807 outputs"),
        (json!([4294967296_u64, 4, 2]), "its network takes 4294967296 inputs"),
        (json!([width, 4294967296_u64, 2]), "at most 2147483648"),
        (json!([width, 100_000_000, 2]), "has the shape"),
        (json!([width, 18446744073709551615_u64, 2]), "at most 2147483648"),
        (json!([width, 4, 4, 2]), "tensor 'layer2.weight' has the shape"),
        (json!([width, 0, 2]), "at least 1"),
        (json!([width, 2]), "tensor 'layer1.weight' has the shape"),
        (json!([width]), "no layers"),
        (json!([]), "no layers"),
    ] {
        let changed = with_manifest(&bytes, |m| m["model"]["widths"] = widths.clone());
        let error = refused(&changed);
        assert!(error.contains(said), "{widths}: {error}");
    }
    for (kind, said) in [
        (json!({ "kind": "linear", "inputs": width, "outputs": 2 }), "weight"),
        (
            json!({ "kind": "kernel", "inputs": width, "outputs": 2, "kernel": { "rbf": { "gamma": 1.0 } } }),
            "centres",
        ),
    ] {
        let error = refused(&with_manifest(&bytes, |m| m["model"] = kind.clone()));
        assert!(error.contains(said), "{kind}: {error}");
    }
    let classes =
        |names: Value| refused(&with_manifest(&bytes, move |m| m["target"]["classes"] = names));
    assert!(classes(json!(["low"])).contains("two classes"));
    assert!(classes(json!(["low", "low"])).contains("all different"));
    assert!(classes(json!(["a", "b", "c"])).contains("gives 2 outputs, its target takes 3"));
    assert!(classes(Value::Null).contains("gives 2 outputs, its target takes 1"));
    let tolerance = with_manifest(&bytes, |m| m["tolerance"] = json!(-1.0));
    assert!(refused(&tolerance).contains("tolerance"));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep = with_header(&bytes, |h| h["__metadata__"]["feasible"] = deep.into());
    refused(&deep);
}

#[test]
fn networks_for_images_of_impossible_sizes_are_refused() {
    let bytes = read(files::MODEL);
    for (channels, height, width) in [
        (1_u64 << 31, 1, 1),
        (1 << 63, 1_u64 << 63, 2_u64),
        (1, 1 << 32, 1 << 32),
        (1, 65536, 65536),
        (1, 16384, 8192),
        (0, 4, 4),
        (3, 2, 2),
    ] {
        for (kind, stage) in [("cnn", None), ("resnet18", Some(u64::MAX)), ("resnet18", Some(16))] {
            let image = json!({ "channels": channels, "height": height, "width": width });
            let mut of = json!({ "kind": kind, "image": image, "outputs": 2, "mean": [0.5], "deviation": [0.5] });
            if let Some(stage) = stage {
                of["width"] = json!(stage);
            }
            refused(&with_manifest(&bytes, |m| {
                m["image"] = image.clone();
                m["model"] = of.clone();
            }));
        }
    }
}

#[test]
fn weights_that_are_no_numbers_are_refused_by_tensor() {
    let bytes = read(files::MODEL);
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    for (value, shown) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf"), (f32::NEG_INFINITY, "-inf")] {
        let mut changed = bytes.clone();
        changed[8 + length + 4..][..4].copy_from_slice(&value.to_le_bytes());
        let error = refused(&changed);
        assert!(error.contains("number 1 of tensor 'layer1.bias'"), "{error}");
        assert!(error.contains(&format!("is {shown}: ")), "{error}");
    }
    let kernel = trained(&["model.kind=kernel"]).read(files::MODEL).unwrap();
    assert!(usable(&kernel));
    for (rows, width) in [(0, 1 << 28), (1, 200), (200, 1), (0, 0)] {
        let changed = with_manifest(&kernel, |m| m["model"]["inputs"] = json!(width));
        refused(&changed);
        refused(&with_header(&kernel, |h| h["centres"]["shape"] = json!([rows, width])));
    }
    let mut changed = kernel.clone();
    let at = changed.len() - 4;
    changed[at..].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(refused(&changed).contains("is NaN"));
}

#[test]
fn tensors_that_are_not_those_of_the_network_are_refused() {
    let bytes = read(files::MODEL);
    let header = |change: &dyn Fn(&mut Value)| refused(&with_header(&bytes, |h| change(h)));
    assert!(header(&|h| h["layer1.bias"]["dtype"] = json!("I32")).contains("not F32"));
    let renamed = header(&|h| {
        let entry = h["layer1.bias"].take();
        h.as_object_mut().unwrap().remove("layer1.bias");
        h["other"] = entry;
    });
    assert!(renamed.contains("layer1.bias"), "{renamed}");
    let empty =
        |h: &mut Value| h["more"] = json!({ "dtype": "F32", "shape": [0], "data_offsets": [0, 0] });
    header(&empty);
    for end in [u64::MAX, u64::MAX - 8, 1 << 62] {
        let error = header(&|h| h["layer1.bias"]["data_offsets"] = json!([0, end]));
        assert!(error.contains("beyond the end"), "{error}");
        header(&|h| h["layer1.weight"]["shape"] = json!([end, end]));
    }
    for length in [u64::MAX, 1 << 63, u64::MAX - 8, 1 << 32, 0] {
        let mut changed = bytes.clone();
        changed[..8].copy_from_slice(&length.to_le_bytes());
        refused(&changed);
    }
}

/// Where the values of a tree are that are no lists or tables.
fn leaves(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, v)| leaves(v, &format!("{at}/{i}"), out));
        }
        Value::Object(map) => map.iter().for_each(|(key, v)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            leaves(v, &format!("{at}/{key}"), out);
        }),
        _ => out.push(at.to_string()),
    }
}

fn lists(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Array(list) => {
            out.push(at.to_string());
            list.iter().enumerate().for_each(|(i, v)| lists(v, &format!("{at}/{i}"), out));
        }
        Value::Object(map) => map.iter().for_each(|(key, v)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            lists(v, &format!("{at}/{key}"), out);
        }),
        _ => {}
    }
}

/// A tree with every value replaced by hostile ones, and with every list shorter and longer, one at a time.
fn hostile(tree: &Value, mut each: impl FnMut(Value, &str)) {
    let values = [
        json!(0),
        json!(-1),
        json!(9223372036854775807_u64),
        json!(u64::MAX),
        json!(4294967296_u64),
        json!(1e308),
        json!(1e-320),
        Value::Null,
        json!("\u{0}"),
        json!(true),
        json!([]),
    ];
    let (mut at, mut of) = (Vec::new(), Vec::new());
    leaves(tree, "", &mut at);
    lists(tree, "", &mut of);
    for at in &at {
        for value in &values {
            let mut changed = tree.clone();
            *changed.pointer_mut(at).unwrap() = value.clone();
            each(changed, &format!("{at} = {value}"));
        }
    }
    for at in &of {
        let mut changed = tree.clone();
        let list = changed.pointer_mut(at).unwrap().as_array_mut().unwrap();
        let Some(last) = list.pop() else { continue };
        each(changed.clone(), &format!("{at} is shorter"));
        let list = changed.pointer_mut(at).unwrap().as_array_mut().unwrap();
        list.extend([last.clone(), last]);
        each(changed, &format!("{at} is longer"));
    }
}

#[test]
fn a_manifest_with_any_value_changed_is_refused_or_can_be_used() {
    let bytes = read(files::MODEL);
    let (mut taken, mut all) = (0, 0);
    hostile(&manifest(&bytes), |changed, _| {
        all += 1;
        taken += usize::from(usable(&with_manifest(&bytes, |m| *m = changed)));
    });
    assert!(all > 1000 && taken < all / 2, "{taken} of {all}");
}

#[test]
fn a_model_cut_short_or_with_a_changed_byte_is_refused_or_can_be_used() {
    let bytes = read(files::MODEL);
    for length in 0..bytes.len() {
        assert!(SavedModel::from_bytes("m", &bytes[..length]).is_err(), "{length}");
    }
    for at in (0..bytes.len()).step_by(5) {
        for bit in [0x01, 0x80] {
            let mut changed = bytes.clone();
            changed[at] ^= bit;
            usable(&changed);
        }
    }
}

/// A checkpoint whose state was changed, and its checksum with it.
fn resumed(files: &Memory, change: impl FnOnce(&mut State<f32>)) -> Result<(), String> {
    let files = copy(files);
    let mut checkpoint = Checkpoint::from_bytes(&files.read(files::CHECKPOINT).unwrap()).unwrap();
    // As if it had been stopped after the second epoch.
    (checkpoint.state.outcome, checkpoint.state.epoch) = (None, 2);
    if let Some(best) = &mut checkpoint.state.best {
        best.epoch = best.epoch.min(2);
    }
    change(&mut checkpoint.state);
    files.write(files::CHECKPOINT, &checkpoint.to_bytes()).unwrap();
    let run = resume_in(&files, &Interrupt::new(), &|_| {});
    run.map(drop).map_err(|error| {
        assert!(error.is_input(), "{error}");
        error.to_string()
    })
}

/// Through JSON: the fields are private.
fn changed<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T, at: &str, to: Value) -> T {
    let mut tree = serde_json::to_value(value).unwrap();
    *tree.pointer_mut(at).unwrap() = to;
    serde_json::from_value(tree).unwrap()
}

#[test]
fn a_state_that_no_training_is_in_is_refused() {
    let files = run();
    assert_eq!(resumed(files, |_| {}), Ok(()));
    let refuse = |said: &str, change: &dyn Fn(&mut State<f32>)| {
        let error = resumed(files, |state| change(state)).expect_err(said);
        assert!(error.contains(said), "{error}");
    };
    refuse("parameter 1 is NaN", &|s| s.theta[1] = f32::NAN);
    refuse("parameter 1 is inf", &|s| s.theta[1] = f32::INFINITY);
    refuse("parameters, the model", &|s| s.theta.push(0.0));
    refuse("parameters, the model", &|s| s.theta.clear());
    refuse("remember numbers that are no numbers", &|s| s.optimiser.slots[0][0] = f32::NAN);
    refuse("another model", &|s| s.optimiser.slots[1].push(0.0));
    refuse("remembers 0 vectors", &|s| s.optimiser.slots.clear());
    refuse("steps done", &|s| s.optimiser.step = u64::MAX);
    refuse("epoch 18446744073709551615 of 3", &|s| s.epoch = u64::MAX);
    refuse("epoch 4 of 3", &|s| s.epoch = 4);
    refuse("multiplier = -1", &|s| s.multipliers = changed(&s.multipliers, "/0/0", json!(-1.0)));
    refuse("other requirements", &|s| s.multipliers = changed(&s.multipliers, "/0", json!([1.0])));
    refuse("other requirements", &|s| s.duals.clear());
    refuse("another dual method", &|s| s.duals[0] = changed(&s.duals[0], "/steps", json!([1])));
    refuse("its penalty is NaN", &|s| s.penalty = f64::NAN);
    refuse("its progress", &|s| {
        s.progress = changed(&s.progress, "/settling/factors", json!(vec![1.0; 9]));
    });
    for points in [json!([[0]]), json!([[], [999_999]]), json!([])] {
        refuse("its progress", &|s| {
            let left_out = json!({ "Chosen": points });
            s.progress = changed(&s.progress, "/settling/left_out", left_out);
        });
    }
    refuse("its progress", &|s| s.progress.checks = u32::MAX);
    refuse("its progress", &|s| s.progress.stuck = u64::MAX);
    if run()
        .read(files::CHECKPOINT)
        .is_ok_and(|b| Checkpoint::from_bytes(&b).unwrap().state.best.is_some())
    {
        refuse("best epoch", &|s| s.best.as_mut().unwrap().epoch = 9);
        refuse("is NaN", &|s| s.best.as_mut().unwrap().theta[0] = f32::NAN);
    }
    // More batches than an epoch has: it is over.
    assert_eq!(resumed(files, |s| s.batch = u64::MAX), Ok(()));
}

/// The bytes of a checkpoint with this payload.
fn with_checksum(payload: &[u8]) -> Vec<u8> {
    use sha2::{Digest, Sha256};
    let length = (payload.len() as u64).to_le_bytes();
    let digest = Sha256::digest(payload);
    [
        b"FEASIBLE",
        &feasible_run::checkpoint::VERSION.to_le_bytes()[..],
        &length,
        &digest[..],
        payload,
    ]
    .concat()
}

#[test]
fn a_checkpoint_with_any_byte_changed_and_a_right_checksum_is_refused_or_resumed() {
    let bytes = read(files::CHECKPOINT);
    let payload = &bytes[52..];
    assert!(with_checksum(payload) == bytes, "the layout of a checkpoint has changed");
    // Lengths of lists are among the first bytes: some of these ask for 2⁶³ numbers.
    let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    for at in 0..payload.len().min(200) {
        let longer = [&payload[..at], &huge, &payload[at + 1..]].concat();
        let _ = Checkpoint::from_bytes(&with_checksum(&longer));
    }
    let mut resumable = 0;
    for at in 0..payload.len() {
        let mut payload = payload.to_vec();
        payload[at] ^= 0x80 >> (at % 8);
        let bytes = with_checksum(&payload);
        if Checkpoint::from_bytes(&bytes).is_ok() && at % 29 == 0 {
            let files = copy(run());
            files.write(files::CHECKPOINT, &bytes).unwrap();
            let ended = resume_in(&files, &Interrupt::new(), &|_| {});
            resumable += usize::from(ended.is_ok());
        }
    }
    assert!(resumable > 0, "some numbers may be others");
    for length in 0..payload.len() {
        assert!(Checkpoint::from_bytes(&with_checksum(&payload[..length])).is_err(), "{length}");
    }
}

#[test]
fn fingerprints_that_were_changed_are_refused() {
    let bytes = read(files::FINGERPRINTS);
    let prints = parse::fingerprints("f", &bytes).unwrap();
    assert_eq!(prints.to_bytes(), bytes);
    for length in 0..bytes.len() {
        let error = parse::fingerprints("f", &bytes[..length]).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{length}: {error}");
    }
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x80 >> (at % 8);
        assert!(parse::fingerprints("f", &bytes).is_err(), "byte {at}");
    }
    // With a right checksum.
    let tree = serde_json::to_value(&prints).unwrap();
    for (at, to, said) in [
        ("/plain/0", json!(u64::MAX), "not sorted"),
        ("/plain", json!([1, 2]), "different numbers"),
        ("/part", json!([]), "different numbers"),
        ("/whole", json!([7]), "different numbers"),
        ("/unit", json!(["city", [2, 1]]), "not sorted"),
        ("/version", json!(9), "format 9"),
    ] {
        let changed: Fingerprints = {
            let mut tree = tree.clone();
            *tree.pointer_mut(at).unwrap() = to;
            serde_json::from_value(tree).unwrap()
        };
        let error = parse::fingerprints("f", &changed.to_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("f is damaged: ") && error.contains(said), "{at}: {error}");
    }
}

#[test]
fn json_files_of_a_run_with_any_value_changed_are_refused_or_can_be_used() {
    let tree = |name: &str| -> Value { serde_json::from_slice(&read(name)).unwrap() };
    let summary = tree(files::SUMMARY);
    let summary_tree = summary.clone();
    hostile(&summary, |changed, _| {
        if let Ok(summary) = parse::summary("s", changed.to_string().as_bytes()) {
            let _ = (summary.to_text(), summary.met(), summary.verdict());
        }
    });
    let seeds = json!({ "problem": "p", "runs": [summary.clone(), summary.clone()] });
    let mut other = seeds.clone();
    for part in ["train", "validation", "test"] {
        other["runs"][1][part]["requirements"] = json!([]);
    }
    let error = parse::seeds_summary("s", other.to_string().as_bytes()).unwrap_err().to_string();
    assert_eq!(error, "s is damaged: its runs have different requirements");
    assert!(!parse::seeds_summary("s", seeds.to_string().as_bytes()).unwrap().to_text().is_empty());
    let mut other = summary;
    other["test"]["requirements"] = json!([]);
    let error = parse::summary("s", other.to_string().as_bytes()).unwrap_err().to_string();
    assert!(error.contains("requirements of its test rows"), "{error}");
    hostile(&tree(files::GROUPS), |changed, at| {
        if let Ok(groups) = parse::groups("g", changed.to_string().as_bytes()) {
            for rate in groups.tables.iter().flat_map(|t| &t.groups).flat_map(|g| &g.rates) {
                let share = rate.share().unwrap_or(rate.low);
                assert!((0.0..=1.0).contains(&share), "{at}");
                assert!(rate.low <= share && share <= rate.high, "{at}");
            }
        }
    });
    for (at, to, said) in [
        ("/everyone/rows", json!(3), "are not of its rows"),
        ("/everyone/rates/0/hits", json!(4_000_000), "are not of its rows"),
        ("/everyone/rates/0/name", json!("other"), "are not of its rows"),
        ("/tables/0/columns", json!([]), "one or two columns"),
        ("/tables/0/groups/0/rates/1/low", json!(0.999), "are not of its rows"),
        ("/confidence", json!(2), "its confidence is 2"),
        ("/calibration/0/predicted", json!(1.5), "calibration curve"),
        ("/thresholds/3/accuracy", json!(-1), "rates at thresholds"),
        ("/data/columns/0/missing", json!([]), "contradicts itself"),
        ("/data/columns/0/drift/distance", json!(7), "contradicts itself"),
        ("/data/parts/0/rows", json!(u64::MAX), "the parts of its data"),
    ] {
        let mut changed = tree(files::GROUPS);
        *changed.pointer_mut(at).unwrap() = to;
        let error = parse::groups("g", changed.to_string().as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("g is damaged: ") && error.contains(said), "{at}: {error}");
    }
    let mut other = tree(files::BASELINE);
    other["test"]["requirements"] = json!([]);
    let error = parse::baseline("b", other.to_string().as_bytes()).unwrap_err().to_string();
    assert_eq!(error, "b is damaged: its parts are about different requirements");
    let mut other = summary_tree.clone();
    other["cost"][0]["difference"] = json!(0.5);
    let error = parse::summary("s", other.to_string().as_bytes()).unwrap_err().to_string();
    assert!(error.contains("its difference of 'accuracy'"), "{error}");
    hostile(&tree(files::RUN), |changed, _| {
        let _ = parse::run_info("r", changed.to_string().as_bytes());
    });
    hostile(&tree(files::ROWS), |changed, _| {
        if let Ok(rows) = parse::rows("r", changed.to_string().as_bytes(), 300) {
            assert!(rows.split().train.len() <= 300);
        }
    });
    let rows =
        |text: &str| parse::rows("r", text.as_bytes(), 300).map(drop).unwrap_err().to_string();
    for ranges in ["[[0,4294967295]]", "[[5,4]]", "[[0,3],[3,4]]", "[[0,300]]"] {
        let text = format!("{{\"train\":{ranges},\"validation\":[],\"test\":[]}}");
        assert!(rows(&text).contains("ascending rows of 300"), "{text}");
    }
}

#[test]
fn every_json_file_of_a_run_may_be_anything() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let nested = "{\"a\":".repeat(100_000);
    let texts: [&[u8]; 9] = [
        b"",
        b"null",
        b"{}",
        b"[]",
        b"1e999",
        b"\xff\xfe",
        b"{\"seeds\":",
        deep.as_bytes(),
        nested.as_bytes(),
    ];
    for text in texts {
        let errors = [
            parse::run_info("f", text).map(drop),
            parse::rows("f", text, 10).map(drop),
            parse::summary("f", text).map(drop),
            parse::seeds_summary("f", text).map(drop),
            parse::seeds("f", text).map(drop),
            parse::ladder("f", text).map(drop),
            parse::search("f", text).map(drop),
            parse::prices("f", text).map(drop),
            parse::curve("f", text).map(drop),
            parse::groups("f", text).map(drop),
            parse::baseline("f", text).map(drop),
        ];
        for error in errors {
            assert!(matches!(error, Err(Error::Damaged { .. })));
        }
    }
    assert!(parse::lines::<feasible_run::EpochMetrics>(deep.as_bytes()).is_err());
    let line = read(files::METRICS);
    assert_eq!(parse::lines::<feasible_run::EpochMetrics>(&line).unwrap().len(), 3);
    let many: Vec<u64> = (0..10_001).collect();
    for (seeds, fine) in [
        (json!([1, 2, 3]), true),
        (json!([2, 1]), false),
        (json!([1, 1]), false),
        (json!(many), false),
    ] {
        let text = json!({ "problem": "p", "seeds": seeds, "workers": u64::MAX }).to_string();
        assert_eq!(parse::seeds("f", text.as_bytes()).is_ok(), fine);
    }
    for (rooms, fine) in
        [(json!([0.5, 1]), true), (json!([]), false), (json!([-1]), false), (json!([1e9]), false)]
    {
        let text = json!({ "problem": "p", "rooms": rooms }).to_string();
        assert_eq!(parse::ladder("f", text.as_bytes()).is_ok(), fine);
    }
    let round = json!({ "epochs": 3, "kept_epoch": 2, "with_room": true, "merit": 0.5, "objective": 0.5,
        "worst_violation": null, "outcome": null });
    let search = |rounds: Vec<&Value>, dropped: Value, chosen: Value| {
        let design = json!({ "problem": "", "tables": [], "seed": 0, "validation_rows": 5,
            "space": { "training.rate": [0.1], "model.gamma": { "from": 1.0, "to": 2.0, "log": true, "whole": false } },
            "rounds": [0.5, 1.0] });
        let trial = json!({ "settings": { "training.rate": 0.1 }, "epochs": 9, "parameters": 3,
            "rounds": rounds, "dropped_after": dropped });
        let whole = json!({ "settings": {}, "epochs": 9, "parameters": 3, "rounds": [round, round],
            "dropped_after": null });
        let text = json!({ "feasible": "0.1.0", "problem": "p", "design": design, "trials": [whole, trial],
            "chosen": chosen });
        parse::search("f", text.to_string().as_bytes()).is_ok()
    };
    assert!(search(vec![&round], json!(1), json!(0)));
    assert!(search(vec![&round, &round], Value::Null, json!(1)));
    for (rounds, dropped, chosen) in [
        (vec![&round], json!(1), json!(1)),
        (vec![&round], json!(1), json!(2)),
        (vec![&round], json!(1), Value::Null),
        (vec![&round], Value::Null, json!(0)),
        (vec![&round; 3], json!(3), json!(0)),
        (vec![&round], json!(-1), json!(0)),
    ] {
        assert!(!search(rounds, dropped, chosen));
    }
}
