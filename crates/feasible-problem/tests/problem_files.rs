//! Problem files: what is read, and how errors say where and what.
#![allow(clippy::unwrap_used)]

use crate::common;

use feasible_problem::spec::{LimitKey, Override};
use feasible_problem::{Plan, ProblemSource, problem_schema, problems};

use common::{GENDER, problem, refused};

#[test]
fn every_embedded_problem_is_sound() {
    // Those with images need files that may not be here: see `images.rs`.
    let tables = |name: &str| name.starts_with("adult") || name.starts_with("compas");
    for embedded in problems().iter().filter(|problem| tables(problem.name)) {
        let plan = Plan::check(&ProblemSource::open(embedded.name).unwrap()).unwrap();
        let (rows, width) =
            if embedded.name.starts_with("adult") { (32_561, 61) } else { (4_937, 23) };
        // The default recipe takes some of them for validation.
        let split = &plan.data().split;
        assert_eq!(split.train.len() + split.validation.len(), rows, "{}", embedded.name);
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
        let plan = Plan::check(&ProblemSource::open(name).unwrap()).unwrap();
        let text = plan.spec().to_toml();
        let again = Plan::check(&ProblemSource::new(name, text.clone())).unwrap();
        assert_eq!(again.spec(), plan.spec());
        assert_eq!(again.spec().to_toml(), text);
    }
}

/// Capital gains, most of them 0, decide who is rich.
fn gains(model: &str, data: &str) -> ProblemSource {
    let gain = |i: u32| if i.is_multiple_of(10) { i * i } else { 0 };
    let row =
        |i: u32| format!("{},{},{}\n", 20 + i % 40, gain(i), if gain(i) > 999 { "y" } else { "n" });
    let csv: String = (0..2500).map(row).collect();
    let csv = format!("age,gain,rich\n{csv}");
    let table = feasible_data::Table::from_bytes("t", csv.as_bytes(), &Default::default()).unwrap();
    let text = format!("[data]\ntarget = \"rich\"\n{data}\n[model]\n{model}\n");
    ProblemSource::new("t.toml", text).with_table(table)
}

#[test]
fn numbers_with_long_tails_are_piecewise_linear_for_networks_unless_told_otherwise() {
    let widths = |source: &ProblemSource| -> Vec<usize> {
        let plan = Plan::check(source).unwrap();
        // What is decided by default is written out, and decided alike when that is read.
        let again = ProblemSource::new("t.toml", plan.spec().to_toml())
            .with_table(plan.data().table.clone());
        assert_eq!(Plan::check(&again).unwrap().data().encoder, plan.data().encoder);
        plan.data().encoder.variables().iter().map(|variable| variable.width()).collect()
    };
    assert_eq!(widths(&gains("", "")), [1, 17]);
    assert_eq!(widths(&gains("", "piecewise = false")), [1, 1]);
    assert_eq!(widths(&gains("", "piecewise = [\"age\"]")), [16, 1]);
    assert_eq!(widths(&gains("kind = \"linear\"", "")), [1, 1]);
    assert_eq!(widths(&gains("kind = \"linear\"", "piecewise = \"auto\"")), [1, 17]);
    // An adversary moves standardised numbers.
    let attacked = "[[requirement]]\nname = \"attacked\"\nloss = \"cross-entropy\"\nadversary = { epsilon = 0.1 }\nat_most = 0.5\n";
    assert_eq!(widths(&gains(attacked, "")), [1, 1]);
    // The data of one plan serve another only if they are encoded alike.
    let network = Plan::check(&gains("", "")).unwrap();
    let linear = network.variant(&gains("kind = \"linear\"", "")).unwrap();
    assert_eq!(linear.data().encoder.width(), 2);
    let text = network.describe();
    assert!(text.contains("gain (17): piecewise linear, 16 pieces from "), "{text}");
    assert!(text.contains("; apart: gain = 0\n"), "{text}");
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
            "problem.toml:14:11: requirement[0].at_most: the text \"little\" is not allowed here: give a number",
        ),
        (
            "at_most = 1e-2 -> start = 1",
            "problem.toml:11:8: requirement[0].name: has no limit: give at_most, at_least or within",
        ),
        (
            "{ gender = -> { gendr =",
            "problem.toml:15:29: requirement[0].counterfactual.swap.gendr: the encoded table has no \
             column 'gendr': did you mean 'gender'?",
        ),
        (
            "\"Female\" -> \"Femal\"",
            "problem.toml:15:47: requirement[0].counterfactual.swap.gender[1]: column 'gender' has no \
             category 'Femal': did you mean 'Female'?",
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
            "problem.toml:13:9: requirement[0].where: 'gender' applies to none of the training rows",
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
fn of_two_expressions_the_one_with_the_mistake_is_blamed() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    let parity = |here: &str, there: &str| {
        let text = format!(
            "[[requirement]]\nname = \"errors\"\nrate = \"error\"\nat_most = 0.9\n\n\
             [[requirement]]\nname = \"parity\"\nrate = \"selection\"\nwhere = \"{here}\"\n\
             against = \"{there}\"\nwithin = 0.5\n"
        );
        refused(d, &problem(d, &text, "epochs = 2\n"))
    };
    for (here, there, expected) in [
        (
            "cty  == 'A'",
            "gender=='Male'",
            "problem.toml:18:9: requirement[1].where: at character 1: ",
        ),
        (
            "city == 'A'",
            "gendr=='Male'",
            "problem.toml:19:11: requirement[1].against: at character 1: ",
        ),
        (
            "age > 200",
            "age > 30",
            "problem.toml:18:9: requirement[1].where: 'parity (not above)' applies to none of the training rows: check `where`",
        ),
        (
            "age > 30",
            "age > 200",
            "problem.toml:19:11: requirement[1].against: 'parity (not above)' applies to none of the training rows: check `against`",
        ),
    ] {
        let error = parity(here, there);
        assert!(error.starts_with(expected), "{error}\nexpected\n{expected}");
    }
}

#[test]
fn an_error_of_the_core_is_placed_by_its_cause_and_not_by_its_words() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    // The message holds 'b', which is also what the sound requirement is called.
    let sound = "[[requirement]]\nname = \"b\"\nrate = \"error\"\nat_most = 0.9\n\n";
    let text =
        format!("{sound}[[requirement]]\nname = \"a 'b'\"\nloss = \"squared\"\nat_most = 0.5\n");
    let error = refused(d, &problem(d, &text, "epochs = 2\n"));
    assert!(error.starts_with("problem.toml:15:1: requirement[1]: requirement 'a 'b''"), "{error}");
    let text = format!("{sound}{}", sound.replace("0.9", "0.8"));
    let error = refused(d, &problem(d, &text, "epochs = 2\n"));
    assert!(error.starts_with("problem.toml:16:8: requirement[1].name: two req"), "{error}");
    let text = format!("{sound}[objective]\nweight_decay = -1.0\n");
    let error = refused(d, &problem(d, &text, "epochs = 2\n"));
    assert!(error.contains("objective.weight_decay: weight decay = -1"), "{error}");
}

#[test]
fn errors_in_other_sections_are_placed_too() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    let whole = problem(d, GENDER, "epochs = 2\n");
    let changed = |old: &str, new: &str| {
        let path = common::write(d, "problem.toml", &whole.text().replace(old, new));
        refused(d, &ProblemSource::open(path.to_str().unwrap()).unwrap())
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
            "problem.toml:4:12: data.positive: column 'income' has no category 'hihg'",
        ),
        (
            "[model]",
            "[modle]",
            "problem.toml:7:2: modle: unknown key 'modle': did you mean 'model'?",
        ),
        ("validation = 0.2", "validation = 0.9", "problem.toml:5:9: data.split: split: "),
        (
            "validation = 0.2, test = 0.2",
            "train = 1.0",
            "problem.toml:5:9: data.split: `test` is 0.2 by default, and the other parts take 1 of the rows: \
             give `test` as well, for instance test = 0",
        ),
        (
            "validation = 0.2, test = 0.2",
            "validation = 0.9",
            "problem.toml:5:9: data.split: `test` is 0.2 by default, and the other parts take 0.9 of the rows: \
             give `test` as well, for instance test = 0.1",
        ),
        ("file = \"people.csv\"\n", "", "problem.toml:1:1: data: there are no data: give `source`"),
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
fn a_problem_file_with_every_default_written_out_has_the_same_settings() {
    let directory = tempfile::tempdir().unwrap();
    for (training, epochs) in [
        ("", 400),
        ("recipe = \"paper\"\n", 300),
        ("learner = \"exact\"\n", 100),
        ("learner = \"exact\"\ndual = { rate = 0.5 }\nepochs = 7\n", 7),
        ("learner = \"simultaneous\"\nmeasure_on = 50\noptimiser = \"sgd\"\nmomentum = 0.9\n", 400),
        ("dual = { method = \"nu-pi\", rate = 0.2, every = 3 }\npatience = 4\n", 400),
        ("dual = { beta2 = 0.5 }\nschedule = { step = { factor = 0.5, every = 9.0 } }\n", 400),
        ("checkpoint = { epochs = 3, seconds = 0.5 }\nkeep = \"last\"\nthreads = 2\n", 400),
    ] {
        let plan = common::plan(directory.path(), GENDER, training);
        assert_eq!(plan.settings().training.epochs, epochs, "{training}");
        let written = ProblemSource::new("written.toml", plan.spec().to_toml());
        let again = plan.variant(&written).unwrap();
        assert_eq!(again.settings(), plan.settings(), "{training}");
        assert_eq!(again.spec(), plan.spec(), "{training}");
        let (seeded, threads) = (plan.clone().with_seed(9), plan.with_threads(5));
        assert_eq!((seeded.seed(), seeded.spec().training.seed), (9, Some(9)));
        assert_eq!(threads.settings().training.threads, 5);
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
    assert_eq!(plan.train().requirements()[0].limit().of(0), 0.5);
    for (given, expected) in [
        (
            "training.epochs=many",
            "--set training.epochs=many: training.epochs: the text \"many\" is not allowed here: give a whole number",
        ),
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
fn settings_of_a_program_keep_their_types_and_later_text_wins() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    let whole = || problem(d, GENDER, "epochs = 2\n");
    let limit = |limit| Override::Limit { requirement: 0, key: LimitKey::AtMost, limit };
    let typed = [Override::Epochs(5), Override::Seed(7), Override::Threads(3), limit(0.25)];
    let text = ["training.epochs=5", "training.seed=7", "training.threads=3"].map(String::from);
    let text = whole().with_overrides(&text).with_overrides(&["requirement.0.at_most=0.25".into()]);
    let (typed, text) = (whole().with(&typed).parse(&[]).unwrap(), text.parse(&[]).unwrap());
    assert_eq!(typed, text);
    let both = |first: Override, then: Override| {
        whole().with(&[first, then]).parse(&[]).unwrap().training.epochs
    };
    let text = || Override::from("training.epochs=9".to_string());
    assert_eq!(both(Override::Epochs(5), text()), Some(9));
    assert_eq!(both(text(), Override::Epochs(5)), Some(5));
    for (given, expected) in [
        (limit(-1.0), "--set requirement.0.at_most=-1.0: requirement[0].at_most: -1 is one"),
        (
            Override::Seed(u64::MAX),
            "--set training.seed=18446744073709551615: a problem file holds",
        ),
        (
            Override::Limit { requirement: 4, key: LimitKey::Within, limit: 0.1 },
            "--set requirement.4.within=0.1: there is no requirement 4",
        ),
    ] {
        let error = refused(d, &whole().with(&[given]));
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn an_unknown_problem_has_a_nearest_name() {
    let error = ProblemSource::open("adlt").unwrap_err().to_string();
    let start = "no problem file 'adlt': did you mean 'adult'? Name a file, or an embedded problem: adult, ";
    assert!(error.starts_with(start), "{error}");
    assert!(
        ProblemSource::open("x/y.toml")
            .unwrap_err()
            .to_string()
            .contains("an embedded problem: adult")
    );
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
        "KL divergence between x and ρ(x), ρ: Male ↔ Female ≤ 0.01 for every row",
        "selection rate of 'high' | encoded(gender) == 'Female' − selection rate of 'high' ≤ 0.1",
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
    let sets = feasible_problem::data_sets();
    assert_eq!(sets.iter().map(|set| set.rows).collect::<Vec<_>>(), [48_842, 7_214]);
    assert_eq!(sets[1].problems.len(), 4);
    assert!(feasible_problem::listing::to_text(&sets).contains("CC BY 4.0"));
}

#[test]
fn limits_that_make_no_sense_are_placed_and_say_what_was_meant() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    for (lines, expected) in [
        (
            "rate = \"error\"\nat_most = 15",
            "requirement[0].at_most: 15 is one that every model meets: the error rate is never above 1; did you mean 0.15?",
        ),
        (
            "rate = \"accuracy\"\nat_least = 95",
            "requirement[0].at_least: 95 is one that no model meets: the accuracy is never above 1; did you mean 0.95?",
        ),
        (
            "rate = \"tpr\"\nat_least = -0.1",
            "requirement[0].at_least: -0.1 is one that every model meets: the recall is never below 0",
        ),
        (
            "loss = \"cross-entropy\"\nat_most = -0.5",
            "requirement[0].at_most: -0.5 is one that no model meets: cross-entropy is never below 0",
        ),
        ("loss = \"cross-entropy\"\nat_most = 1e308", "out of all proportion"),
        (
            "loss = \"brier\"\nat_least = 1.5",
            "requirement[0].at_least: 1.5 is one that no model meets: Brier score is never above 1",
        ),
        (
            "rate = \"selection\"\nwhere = \"age > 40\"\nwithin = 5",
            "requirement[0].within: 5 is one that every model meets: a difference of the selection rate is never above 1; did you mean 0.05?",
        ),
        ("rate = \"selection\"\nwhere = \"age > 40\"\nwithin = -0.1", "requirement[0].within"),
        ("rate = \"error\"\nat_least = 0.9\nmargin = 0.5", "requirement[0].margin"),
        ("rate = \"error\"\nat_most = 0.1\nmargin = 50", "did you mean 0.5?"),
        (
            "loss = \"cross-entropy\"\nkind = \"pointwise\"\nat_most = 1.0\nall_but = 5",
            "requirement[0].all_but: 5 is not a share of the samples: at least 0 and below 1; did you mean 0.05?",
        ),
        ("loss = \"cross-entropy\"\nbound = -1.0\nat_most = 1.0", "requirement[0].bound"),
    ] {
        let text = format!("[[requirement]]\nname = \"r\"\n{lines}\n");
        let error = refused(d, &problem(d, &text, "epochs = 1\n"));
        assert!(error.contains(expected), "{lines}:\n{error}\nexpected\n{expected}");
        assert!(error.starts_with("problem.toml:"), "{error}");
    }
    for (training, expected) in [
        ("checkpoint = { seconds = -5.0 }", "training.checkpoint.seconds"),
        ("checkpoint = { seconds = nan }", "training.checkpoint.seconds"),
        ("checkpoint = { epochs = 0 }", "training.checkpoint.epochs"),
        ("threads = 1000000", "threads = 1000000: must be at most 1024"),
        ("batch_size = 0", "batch size"),
        ("[objective]\nweight_decay = -1.0", "objective.weight_decay"),
    ] {
        let error = refused(d, &problem(d, GENDER, &format!("epochs = 1\n{training}\n")));
        assert!(error.contains(expected), "{training}: {error}");
    }
    for (certify, expected) in [
        (
            "confidence = 95",
            "certify.confidence: 95 is not a probability: above 0 and below 1; did you mean 0.95?",
        ),
        ("reserve = 20", "did you mean 0.2?"),
        ("all_but = 1.5", "certify.all_but"),
        ("room = 1e308", "certify.room"),
        ("ladder = [1e9, 0.0]", "certify.ladder"),
        ("room = 1.0\nladder = [1.0, 0.0]", "certify.room: has no effect beside `ladder`"),
    ] {
        let text = format!("{GENDER}\n[certify]\n{certify}\n");
        let error = refused(d, &problem(d, &text, "epochs = 1\n"));
        assert!(error.contains(expected), "{certify}: {error}");
    }
}

#[test]
fn a_requirement_that_every_model_meets_is_noted() {
    let directory = tempfile::tempdir().unwrap();
    let text = "[[requirement]]\nname = \"r\"\nrate = \"error\"\nat_most = 1.0\n";
    let plan = Plan::check(&problem(directory.path(), text, "epochs = 1\n")).unwrap();
    assert!(plan.describe().contains("every model meets it"), "{}", plan.describe());
    let strict = text.replace("1.0", "0.9");
    let plan = Plan::check(&problem(directory.path(), &strict, "epochs = 1\n")).unwrap();
    assert!(!plan.describe().contains("every model meets it"));
}

#[test]
fn check_states_the_shift_of_a_requirement_and_what_adamw_adds_to_the_problem() {
    let directory = tempfile::tempdir().unwrap();
    let text = "[[requirement]]\nname = \"r\"\nrate = \"error\"\nat_most = 0.4\nshift = 1.5\n";
    let described = |training: &str| {
        Plan::check(&problem(directory.path(), text, training)).unwrap().describe()
    };
    let (adamw, adam) = (described("optimiser = \"adamw\"\n"), described(""));
    assert!(adam.contains("wherever no kind of row is more than 1.5 times as common"), "{adam}");
    assert!(adamw.contains("adamw shrinks θ by 0.01 times the rate at every step"), "{adamw}");
    assert!(!adam.contains("adamw"), "{adam}");
}

#[test]
fn a_key_without_effect_is_an_error_that_says_where_it_applies() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    let exact = "learner = \"exact\"\n";
    for (requirement, training, model, expected) in [
        (
            "",
            "",
            "kind = \"linear\"\nhidden = [8]",
            "model.hidden: has no effect: it is for kind = \"mlp\", and the model is \"linear\"",
        ),
        ("", "", "kind = \"kernel\"\nactivation = \"tanh\"", "model.activation"),
        ("", "", "width = 8", "model.width: has no effect: it is for kind = \"resnet18\""),
        (
            "",
            "",
            "normalise = true",
            "model.normalise: has no effect: it is for kind = \"cnn\" and \"resnet18\"",
        ),
        ("", "", "centres = 10", "model.centres"),
        ("", "", "seed = 1", "model.seed"),
        ("", "", "kind = \"kernel\"\ngamma = 1.0\ndegree = 2", "model.gamma"),
        ("", "", "kind = \"kernel\"\noffset = 1.0", "model.offset"),
        (
            "",
            &format!("{exact}batch_size = 5"),
            "",
            "training.batch_size: has no effect: the exact learner",
        ),
        ("", &format!("{exact}optimiser = \"sgd\""), "", "training.optimiser"),
        ("", &format!("{exact}rate = 0.1"), "", "training.rate"),
        ("", &format!("{exact}schedule = \"constant\""), "", "training.schedule"),
        ("", &format!("{exact}dual = {{ method = \"adam\" }}"), "", "training.dual.method"),
        ("", &format!("{exact}dual = {{ every = 2 }}"), "", "training.dual.every"),
        (
            "",
            "momentum = 0.9",
            "",
            "training.momentum: has no effect: momentum belongs to optimiser = \"sgd\"",
        ),
        ("", "learner = \"alternating\"\nmeasure_on = 10", "", "training.measure_on"),
        (
            "",
            "dual = { method = \"ascent\", beta1 = 0.5 }",
            "",
            "training.dual.beta1: has no effect: it belongs to method = \"adam\"",
        ),
        ("", "dual = { nu = 0.5 }", "", "training.dual.nu"),
        ("dual = { rate = 0.1, every = 2 }", "", "", "requirement[0].dual.every"),
        ("dual = { method = \"nu-pi\", beta2 = 0.5 }", "", "", "requirement[0].dual.beta2"),
        (
            "dual = { rate = 0.1 }",
            exact,
            "",
            "requirement[0].dual: has no effect: the exact learner",
        ),
        ("bound = 5.0", "", "", "requirement[0].bound: has no effect"),
        (
            "against = \"everyone\"",
            "",
            "",
            "requirement[0].against: compares everyone with everyone",
        ),
        (
            "where = \"age > 40\"\nagainst = \"age > 40\"",
            "",
            "",
            "requirement[0].against: is the same as `where`",
        ),
    ] {
        let text = format!(
            "[[requirement]]\nname = \"r\"\nrate = \"error\"\nat_most = 0.5\n{requirement}\n"
        );
        let training = format!("epochs = 1\n{training}\n");
        let whole = problem(d, &text, &training);
        let path =
            common::write(d, "problem.toml", &format!("{}\n", with_model(whole.text(), model)));
        let error = refused(d, &ProblemSource::open(path.to_str().unwrap()).unwrap());
        assert!(
            error.contains(expected),
            "{requirement}{training}{model}:\n{error}\nexpected {expected}"
        );
    }
    for (change, expected) in [
        ("training={epochs=1,keep='last'}", "objective.measured_by: has no effect"),
        (
            "evaluation.attack.steps=9",
            "evaluation.attack: has no effect: no requirement has an adversary",
        ),
        ("data.directory=here", "data.directory: has no effect"),
    ] {
        let text = format!("{GENDER}\n[objective]\nmeasured_by = \"error\"\n");
        let source = problem(d, &text, "epochs = 1\n").with_overrides(&[change.to_string()]);
        let error = refused(d, &source);
        assert!(error.contains(expected), "{change}: {error}");
    }
}

/// A problem file whose `[model]` says this.
fn with_model(text: &str, model: &str) -> String {
    let start = text.find("[model]").unwrap();
    let end = text[start + 1..].find("\n[").map_or(text.len(), |at| start + 1 + at);
    match model {
        "" => text.to_string(),
        model => format!("{}[model]\n{model}\n{}", &text[..start], &text[end..]),
    }
}

#[test]
fn keys_of_the_model_that_an_override_replaces_are_left_out_and_what_is_recorded_counts() {
    for (change, gone) in [
        ("model.kind=linear", &["hidden", "activation"][..]),
        ("training.learner=exact", &["batch_size", "optimiser", "\nrate", "schedule"]),
    ] {
        let plan =
            Plan::check(&ProblemSource::open("adult").unwrap().with_overrides(&[change.into()]));
        let text = plan.unwrap().spec().to_toml();
        assert!(gone.iter().all(|key| !text.contains(&format!("{key} ="))), "{change}:\n{text}");
        // It is read again, and says the same.
        let again = Plan::check(&ProblemSource::new("again", text.clone())).unwrap();
        assert_eq!(again.spec().to_toml(), text);
    }
    let both = ["model.kind=linear".to_string(), "model.hidden=[8]".into()];
    let error =
        Plan::check(&ProblemSource::open("adult").unwrap().with_overrides(&both)).unwrap_err();
    assert!(error.to_string().contains("model.hidden"), "{error}");
}

/// A problem on a table of some rows: a number `x`, a group `g` and the target `y`.
fn on(rows: usize, y: impl Fn(usize) -> String, text: &str) -> feasible_problem::Result<Plan> {
    let group = |i: usize| if i % 5 < 2 { "a" } else { "b" };
    let row = |i| format!("{}.5,{},{}\n", i * 37 % 101, group(i), y(i));
    let rows: String = (0..rows).map(row).collect();
    let csv = format!("x,g,y\n{rows}");
    let table = feasible_data::Table::from_bytes("t", csv.as_bytes(), &Default::default())?;
    Plan::check(&ProblemSource::new("t.toml", text).with_table(table))
}

#[test]
fn a_target_that_cannot_be_learned_is_placed_at_the_key_that_names_it() {
    let text = "[data]\ntarget = \"y\"\ntask = \"regress\"\n";
    let offset = on(300, |i| format!("{}", 1e12 + (i % 7) as f64), text).unwrap_err().to_string();
    assert!(offset.starts_with("t.toml:2:10: data.target: target 'y': its values"), "{offset}");
    let constant = on(300, |_| "5".into(), text).unwrap_err().to_string();
    let expected = "t.toml:2:10: data.target: target 'y' is always '5' in the training rows: there is nothing to learn";
    assert_eq!(constant, expected);
}

#[test]
fn what_depends_on_the_positive_class_is_refused_where_nothing_says_which_it_is() {
    let y = |i: usize| String::from(if i.is_multiple_of(4) { "case" } else { "control" });
    let problem = |keys: &str, rest: &str| {
        format!("[data]\ntarget = \"y\"\nsplit = {{ test = 0 }}\n{keys}{rest}")
    };
    let required = |what: &str| format!("[[requirement]]\nname = \"r\"\n{what}\n");
    let fair = |notion: &str| format!("fairness = \"{notion}\"\ngroups = \"g\"\nwithin = 0.9");
    let rate = |rate: &str| format!("rate = \"{rate}\"\nat_least = 0.1");
    let rates = ["recall", "selection", "fpr", "fnr", "specificity", "precision", "npv"].map(rate);
    let notions = ["demographic-parity", "equal-opportunity", "equalised-odds"].map(fair);
    for (key, what) in rates
        .iter()
        .map(|what| ("requirement[0].rate", what))
        .chain(notions.iter().map(|what| ("requirement[0].fairness", what)))
    {
        let error = on(200, y, &problem("", &required(what))).unwrap_err();
        assert!(error.is_input());
        let said = format!(
            "{key}: depends on which class is positive, 'case' (40 rows) or 'control' (120 rows), and the file does \
             not say: write positive = \"case\" under [data]"
        );
        let error = error.to_string();
        assert!(error.contains(&said), "{what}\n{error}");
        on(200, y, &problem("positive = \"case\"\n", &required(what))).unwrap();
    }
    let error = on(200, y, &problem("", "[decision]\n")).unwrap_err().to_string();
    assert!(error.contains("decision: depends on which class is positive"), "{error}");
    // What is the same for both, and what names its class.
    for what in [
        "rate = \"error\"\nat_most = 0.9",
        "rate = \"accuracy\"\ngroups = \"g\"\nwithin = 0.9",
        "loss = \"cross-entropy\"\nat_most = 0.9",
        "rate = \"recall\"\nclass = \"case\"\nat_least = 0.1",
    ] {
        on(200, y, &problem("", &required(what))).unwrap();
    }
    // Pairs of names that say it themselves.
    for [negative, positive] in [["0", "1"], ["-1", "1"], ["False", "True"], ["no", "yes"]] {
        let y = |i: usize| String::from(if i.is_multiple_of(3) { positive } else { negative });
        let plan = on(200, y, &problem("", &required(&rates[0]))).unwrap();
        assert!(plan.describe().contains(&format!("recall of '{positive}'")));
    }
}

#[test]
fn a_notion_of_fairness_limits_a_difference_and_nothing_else() {
    let y = |i: usize| (i % 2).to_string();
    for notion in ["demographic-parity", "equal-opportunity", "equalised-odds"] {
        for key in ["at_most", "at_least"] {
            let text = format!(
                "[data]\ntarget = \"y\"\n[[requirement]]\nname = \"r\"\nfairness = \"{notion}\"\ngroups = \"g\"\n\
                 {key} = 0.05\n"
            );
            let error = on(200, y, &text).unwrap_err().to_string();
            let said = format!("requirement[0].{key}: limits a rate itself");
            assert!(error.contains(&said), "{error}");
            assert!(error.contains("did you mean within = 0.05?"), "{error}");
        }
    }
}

#[test]
fn requirements_that_exclude_each_other_are_refused_with_both_names_and_limits() {
    let y = |i: usize| (i % 2).to_string();
    let check = |requirements: &[(&str, &str)]| {
        let each = requirements
            .iter()
            .map(|(name, what)| format!("[[requirement]]\nname = \"{name}\"\n{what}\n"));
        let text = "[data]\ntarget = \"y\"\n".to_string() + &each.collect::<String>();
        on(200, y, &text).map(|_| ()).map_err(|error| error.to_string())
    };
    for (first, second, said) in [
        (
            "rate = \"selection\"\nat_least = 0.9",
            "rate = \"selection\"\nat_most = 0.1",
            "requirement[1].at_most: 'b' (selection rate of '1' ≤ 0.1) and 'a' (selection rate of '1' ≥ 0.9)",
        ),
        (
            "rate = \"accuracy\"\nat_least = 0.8\nwhere = \"x > 3\"",
            "rate = \"error\"\nat_least = 0.3\nwhere = \"(x > 3)\"",
            "'b' (error rate ≥ 0.3) and 'a' (accuracy ≥ 0.8)",
        ),
        (
            "rate = \"recall\"\nat_least = 0.9",
            "rate = \"fnr\"\nat_least = 0.2",
            "'b' (false negative rate of '1' ≥ 0.2) and 'a' (recall of '1' ≥ 0.9)",
        ),
        (
            "rate = \"fpr\"\nat_most = 0.1",
            "rate = \"recall\"\nclass = \"0\"\nat_most = 0.8",
            "'b' (recall of '0' ≤ 0.8) and 'a' (false positive rate of '1' ≤ 0.1)",
        ),
        (
            "rate = \"precision\"\nat_least = 0.9",
            "rate = \"precision\"\nat_most = 0.5",
            "'b' (precision of '1' ≤ 0.5) and 'a' (precision of '1' ≥ 0.9)",
        ),
        (
            "loss = \"cross-entropy\"\nat_most = 0.3",
            "loss = \"cross-entropy\"\nat_least = 0.4",
            "'b' (cross-entropy ≥ 0.4) and 'a' (cross-entropy ≤ 0.3)",
        ),
        (
            "rate = \"selection\"\nwhere = \"g == 'a'\"\nagainst = \"g == 'b'\"\nat_least = 0.3",
            "rate = \"selection\"\nwhere = \"g == 'a'\"\nagainst = \"g == 'b'\"\nwithin = 0.1",
            "'b (not above)' (selection rate of '1' ≤ 0.1) and 'a' (selection rate of '1' ≥ 0.3)",
        ),
    ] {
        let error = check(&[("a", first), ("b", second)]).unwrap_err();
        assert!(error.contains(said), "{error}");
        assert!(error.contains("training rows, and no model meets both"), "{error}");
        let error = check(&[("b", second), ("a", first)]).unwrap_err();
        assert!(error.contains("no model meets both"), "{error}");
    }
    // Other rows, another quantity, room between the limits, or rows that may be violated.
    for (first, second) in [
        (
            "rate = \"selection\"\nwhere = \"x > 3\"\nat_least = 0.9",
            "rate = \"selection\"\nwhere = \"x <= 3\"\nat_most = 0.1",
        ),
        ("rate = \"recall\"\nat_least = 0.9", "rate = \"fpr\"\nat_most = 0.1"),
        ("rate = \"selection\"\nat_least = 0.3", "rate = \"selection\"\nat_most = 0.3"),
        ("rate = \"accuracy\"\nat_least = 0.3", "rate = \"error\"\nat_most = 0.3"),
        (
            "loss = \"brier\"\nkind = \"pointwise\"\nall_but = 0.5\nat_most = 0.3",
            "loss = \"brier\"\nkind = \"pointwise\"\nall_but = 0.5\nat_least = 0.4",
        ),
    ] {
        check(&[("a", first), ("b", second)]).unwrap();
    }
}

#[test]
fn a_class_weight_of_no_class_is_answered_with_the_column_of_the_classes() {
    let y = |i: usize| String::from(if i.is_multiple_of(3) { "no" } else { "yes" });
    let text = "[data]\ntarget = \"y\"\n[objective]\nclass_weights = { maybe = 2.0 }\n";
    let message = on(200, y, text).unwrap_err().to_string();
    assert!(message.contains("column 'y' has no category 'maybe'"), "{message}");
}

#[test]
fn the_rows_of_averaged_networks_are_all_for_training() {
    let y = |i: usize| (i % 2).to_string();
    let plan = on(200, y, "[data]\ntarget = \"y\"\n").unwrap();
    assert_eq!(plan.folds(), 5);
    assert_eq!(plan.part_sizes(), [160, 0, 40]);
    let text = plan.describe();
    assert!(text.contains("rows              160 train, 0 validation, 40 test"), "{text}");
    assert!(text.contains("validation rows   none apart: those that a network is"), "{text}");
    let single = on(200, y, "[data]\ntarget = \"y\"\n[training]\nfolds = 1\n").unwrap();
    assert!(single.describe().contains("128 train, 32 validation"));
}

#[test]
fn a_time_limit_says_that_one_network_is_trained() {
    let y = |i: usize| (i % 2).to_string();
    let limited = |training: &str| {
        let text = format!("[data]\ntarget = \"y\"\n[training]\n{training}\n");
        let plan = on(200, y, &text).unwrap();
        plan.notes().any(|note| note.contains("because of training.seconds one network is trained"))
    };
    assert!(limited("seconds = 9"));
    assert!(!limited("seconds = 9\nfolds = 1"));
    assert!(!limited("epochs = 9"));
}

#[test]
fn a_first_problem_file_says_what_fit_refuses_and_proposes_limits_of_the_size_of_the_target() {
    let written = |y: &dyn Fn(usize) -> String, num: &dyn Fn(usize) -> String| {
        let cell = |i: usize| format!("{},\"{}\",{}\n", num(i), y(i), ["f", "m"][i % 2]);
        let csv = format!("num,y,sex\n{}", (0..400).map(cell).collect::<String>());
        let table = feasible_data::Table::from_bytes("t.csv", csv.as_bytes(), &Default::default());
        let format = feasible_data::Format::default();
        feasible_problem::starter(&table.unwrap(), &format, "t.csv", Some("y")).unwrap()
    };
    let number = |i: usize| format!("{}.25", i * 37 % 400);
    let prices = written(&|i| format!("${},{}00", i + 1, i % 9 + 1), &number);
    let said =
        "# `feasible fit` refuses it as it is. t.csv, line 2, column 'y': '$1,100' is a number";
    assert!(prices.contains(said), "{prices}");
    let stray = written(&|i| (i % 2).to_string(), &|i| match i {
        57 => "abc".into(),
        i => number(i),
    });
    assert!(stray.contains("refuses it as it is. t.csv, line 59, column 'num': 'abc'"), "{stray}");
    let offset = written(&|i| format!("{}", 1e12 + (i % 70) as f64), &number);
    assert!(
        offset.contains("refuses it as it is. target 'y': its values are about 1e12"),
        "{offset}"
    );
    let sound = written(&number, &number);
    assert!(!sound.contains("refuses it as it is"), "{sound}");
    // The variance of 0.25, 1.25, …, 399.25 is 13,333.
    assert!(sound.contains("# at_most = 6700.0     # half the target's variance"), "{sound}");
}
