//! Problem files: what is read, and how errors say where and what.
#![allow(clippy::unwrap_used)]

mod common;

use common::{GENDER, problem, refused};
use feasible_run::{Plan, Source, problem_schema, problems};

#[test]
fn every_embedded_problem_is_sound() {
    // Those with images need files that may not be here: see `images.rs`.
    let tables = |name: &str| name.starts_with("adult") || name.starts_with("compas");
    for embedded in problems().iter().filter(|problem| tables(problem.name)) {
        let plan = Plan::check(&Source::open(embedded.name).unwrap()).unwrap();
        let (rows, width) =
            if embedded.name.starts_with("adult") { (32_561, 61) } else { (4_937, 23) };
        assert_eq!(plan.data().split.train.len(), rows, "{}", embedded.name);
        assert_eq!(plan.data().encoder.width(), width, "{}", embedded.name);
        let requirements = match embedded.name {
            "compas" | "compas-paper" => 13,
            "compas-7" => 7,
            "adult-unconstrained" | "compas-unconstrained" => 0,
            _ => 1,
        };
        assert_eq!(plan.train().requirements().len(), requirements, "{}", embedded.name);
        assert_eq!(plan.changes().len(), if width == 61 { 1 } else { 13 });
    }
}

#[test]
fn a_resolved_problem_resolves_to_itself() {
    for name in ["adult", "compas-paper"] {
        let plan = Plan::check(&Source::open(name).unwrap()).unwrap();
        let text = plan.spec().to_toml();
        let again = Plan::check(&Source::new(name, text.clone())).unwrap();
        assert_eq!(again.spec(), plan.spec());
        assert_eq!(again.spec().to_toml(), text);
    }
}

#[test]
fn the_committed_schema_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/problem.schema.json");
    let schema = problem_schema();
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(path, &schema).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(schema == committed, "run the test with UPDATE_SCHEMA=1 and commit {path}");
}

#[test]
fn errors_name_file_line_key_and_the_nearest_name() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    let requirement = |change: &str| {
        let (old, new) = change.split_once(" -> ").unwrap();
        problem(d, &GENDER.replace(old, new), "epochs = 2\n")
    };
    for (change, expected) in [
        (
            "loss = -> los =",
            "problem.toml:12:1: requirement[0].los: unknown key 'los': did you mean 'loss'?",
        ),
        (
            "\"kl\" -> \"kll\"",
            "problem.toml:12:8: requirement[0].loss: unknown value 'kll': did you mean 'kl'?",
        ),
        (
            "\"pointwise\" -> \"pointwize\"",
            "problem.toml:13:8: requirement[0].kind: unknown value 'pointwize': did you mean \
             'pointwise'? (allowed: average, pointwise)",
        ),
        (
            "1e-2 -> \"little\"",
            "problem.toml:14:11: requirement[0].at_most: invalid type: string \"little\", expected f64",
        ),
        (
            "at_most = 1e-2 -> start = 1",
            "problem.toml:11:8: requirement[0].name: has no level: give at_most, at_least or within",
        ),
        (
            "{ gender = -> { gendr =",
            "problem.toml:15:29: requirement[0].counterfactual.swap.gendr: the encoded table has no \
             column 'gendr': did you mean 'gender'?",
        ),
        (
            "\"Female\" -> \"Femal\"",
            "problem.toml:15:47: requirement[0].counterfactual.swap.gender[1]: column 'gender' has no \
             level 'Femal': did you mean 'Female'?",
        ),
        ("name = \"gender\" -> # ", "problem.toml:10:1: requirement[0]: the key 'name' is missing"),
        ("\"kl\" -> kl", "problem.toml:12:8: "),
        (
            "loss = \"kl\" -> loss = \"kl\"\nwhere = \"cty == 'A'\"",
            "problem.toml:13:9: requirement[0].where: at character 1: people.csv has no column 'cty': \
             did you mean 'city'?",
        ),
        (
            "loss = \"kl\" -> loss = \"kl\"\nwhere = \"age > 200\"",
            "problem.toml:13:9: requirement[0].where: 'gender' speaks of no training row",
        ),
        (
            "\"kl\" -> \"squared\"",
            "problem.toml:10:1: requirement[0]: requirement 'gender': squared error needs",
        ),
    ] {
        let error = refused(d, &requirement(change));
        assert!(error.starts_with(expected), "{change}:\n{error}\nexpected\n{expected}");
    }
}

#[test]
fn errors_in_other_sections_are_placed_too() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    let whole = problem(d, GENDER, "epochs = 2\n");
    let changed = |old: &str, new: &str| {
        let path = common::write(d, "problem.toml", &whole.text().replace(old, new));
        refused(d, &Source::open(path.to_str().unwrap()).unwrap())
    };
    for (old, new, expected) in [
        (
            "\"income\"",
            "\"incme\"",
            "problem.toml:3:10: data.target: people.csv has no column 'incme': did you mean 'income'?",
        ),
        (
            "\"high\"",
            "\"hihg\"",
            "problem.toml:4:12: data.positive: column 'income' has no level 'hihg'",
        ),
        (
            "[model]",
            "[modle]",
            "problem.toml:7:2: modle: unknown key 'modle': did you mean 'model'?",
        ),
        ("validation = 0.2", "validation = 0.9", "problem.toml:5:9: data.split: split: "),
        ("file = \"people.csv\"\n", "", "problem.toml:1:1: data: no data: give `source`"),
        ("epochs = 2", "rate = -1", "problem.toml:17:1: training: rate = -1: must be"),
        ("hidden = [4]", "hidden = [0]", "problem.toml:7:1: model: "),
        ("[data]\n", "[data]\ndrop = [\"cit\"]\n", "problem.toml:2:9: data.drop[0]: "),
        (
            "[data]\n",
            "[data]\nsource = \"adlt\"\n",
            "problem.toml:2:10: data.source: no data set is named 'adlt'",
        ),
        ("[data]", "[data", "problem.toml:1:6: "),
    ] {
        let error = changed(old, new);
        assert!(error.starts_with(expected), "{new}:\n{error}\nexpected\n{expected}");
    }
}

#[test]
fn overrides_are_applied_and_blamed() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    let with =
        |given: &str| problem(d, GENDER, "epochs = 2\n").with_overrides(&[given.to_string()]);
    let plan = Plan::check(&with("training.epochs=7")).unwrap();
    assert_eq!(plan.spec().training.epochs, Some(7));
    let plan = Plan::check(&with("requirement.gender.at_most=0.5")).unwrap();
    assert_eq!(plan.train().requirements()[0].level().of(0), 0.5);
    for (given, expected) in [
        ("training.epochs=many", "--set training.epochs=many: training.epochs: invalid type"),
        (
            "training.epoch=3",
            "--set training.epoch=3: training.epoch: unknown key 'epoch': did you mean 'epochs'?",
        ),
        ("data.target=incme", "--set data.target=incme: data.target: people.csv has no column"),
        ("epochs", "--set epochs: write key=value"),
    ] {
        let error = refused(d, &with(given));
        assert!(error.starts_with(expected), "{given}:\n{error}");
    }
}

#[test]
fn an_unknown_problem_has_a_nearest_name() {
    let error = Source::open("adlt").unwrap_err().to_string();
    assert_eq!(error, "no problem file 'adlt': did you mean 'adult'?");
    assert!(Source::open("x/y.toml").unwrap_err().to_string().contains("one of adult"));
}

#[test]
fn a_description_says_the_problem_in_mathematical_words() {
    let directory = tempfile::tempdir().unwrap();
    let fair = "[[requirement]]\nname = \"parity\"\nfairness = \"demographic-parity\"\n\
                groups = \"gender\"\nwithin = 0.1\n";
    let plan = common::plan(directory.path(), &format!("{GENDER}\n{fair}"), "epochs = 2\n");
    let text = plan.describe();
    for expected in [
        "minimise over θ   E[ cross-entropy ]",
        "KL divergence between x and ρ(x), ρ: Male ↔ Female ≤ 0.01 for all",
        "E[ predicted positive | encoded(gender) == 'Female' ] − E[ predicted positive ] ≤ 0.1",
        "'parity: Female (not above)'",
        "gender = Male",
        "rows              180 train, 60 validation, 60 test",
        "multipliers       184",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn the_data_sets_are_listed_with_their_problems() {
    let sets = feasible_run::data_sets();
    assert_eq!(sets.iter().map(|set| set.rows).collect::<Vec<_>>(), [48_842, 7_214]);
    assert_eq!(sets[1].problems.len(), 4);
    assert!(feasible_run::listing::to_text(&sets).contains("CC BY 4.0"));
}
