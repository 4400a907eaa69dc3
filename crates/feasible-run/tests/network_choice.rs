//! The default network: its nonlinearity, and how it takes numbers, are what is better on rows that it has not seen.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use std::fmt::Write;

use feasible::{Purpose, Stream};
use feasible_data::{Format, Piecewise, Table};
use feasible_nn::Activation;
use feasible_problem::{Plan, ProblemSource};
use feasible_run::files::{MODEL, PROBLEM, SUMMARY};
use feasible_run::{Interrupt, Memory, Storage, fit_in, resume_in, settle_network};

/// Whether max(0, a) − 2 max(0, b) + max(0, −c) is above 0 ("corners"), which a network of ReLUs can say exactly; or above noise, of
/// which nothing more than a plane can be learned.
fn csv(rows: usize, noise: f64) -> String {
    let mut stream = Stream::new(3, Purpose::Initial, 0, 0);
    let mut csv = String::from("a,b,c,group,above\n");
    for i in 0..rows {
        let mut normal = || (0..12).map(|_| stream.uniform()).sum::<f64>() - 6.0;
        let (a, b, c) = (normal(), normal(), normal());
        let y = if noise > 0.0 {
            a - b + noise * normal()
        } else {
            a.max(0.0) - 2.0 * b.max(0.0) + (-c).max(0.0)
        };
        let above = if y > 0.0 { "yes" } else { "no" };
        writeln!(csv, "{a},{b},{c},{},{above}", ["p", "q"][i % 2]).unwrap();
    }
    csv
}

const REQUIRED: &str = "[[requirement]]\nname = \"parity\"\nfairness = \"demographic-parity\"\ngroups = \"group\"\nwithin = 0.3\n";

fn plan(noise: f64, more: &str) -> Plan {
    let table = Table::from_bytes("made", csv(600, noise).as_bytes(), &Format::default()).unwrap();
    let source = ProblemSource::new("made.toml", format!("[data]\ntarget = \"above\"\n{more}"));
    Plan::with_table(&source, table).unwrap()
}

fn chosen(plan: &Plan) -> Option<Activation> {
    settle_network(plan, &Interrupt::new()).unwrap().unwrap().model().activation()
}

#[test]
fn a_network_with_requirements_has_what_is_better_on_validation_rows() {
    let corners = plan(0.0, REQUIRED);
    assert!(corners.leaves_network_open() && corners.folds() == 1);
    assert_eq!(chosen(&corners), Some(Activation::Relu));
    // For every seed.
    assert_eq!(chosen(&corners.clone().with_seed(7)), Some(Activation::Relu));
    // What is stated is not compared.
    for stated in ["[model]\nactivation = \"tanh\"\n", "[model]\nkind = \"mlp\"\n"] {
        let plan = plan(0.0, &format!("{stated}{REQUIRED}"));
        assert!(!plan.leaves_network_open(), "{stated}");
        assert_eq!(chosen(&plan), plan.model().activation());
    }
    // The run says what it is, and is one like any other.
    let files = Memory::new();
    let short = plan(0.0, &format!("{REQUIRED}[training]\nepochs = 30\n"));
    let run = fit_in(&short, &files, &Interrupt::new(), &|_| {}).unwrap();
    assert!(run.summary.is_some());
    let text = String::from_utf8(files.read(PROBLEM).unwrap()).unwrap();
    assert!(text.contains("kind = \"mlp\"") && text.contains("activation = \""), "{text}");
}

#[test]
fn what_cannot_be_compared_is_of_sigmoids() {
    for (what, more) in [
        ("no rows to compare on", "split = { validation = 0 }\n"),
        ("a limit on time", "[training]\nseconds = 5\n"),
        ("the recipe of the paper", "[training]\nrecipe = \"paper\"\n"),
    ] {
        let plan = plan(0.0, &format!("{more}{REQUIRED}"));
        assert!(!plan.leaves_network_open(), "{what}");
        assert_eq!(plan.model().activation(), Some(Activation::Sigmoid), "{what}");
    }
}

#[test]
fn averages_have_what_cross_validation_prefers() {
    let found = |noise: f64, more: &str| {
        let files = Memory::new();
        let run = fit_in(&plan(noise, more), &files, &Interrupt::new(), &|_| {}).unwrap();
        run.summary.unwrap().cross_validation.unwrap()
    };
    let corners = found(0.0, "");
    assert_eq!(corners.activation, Some(Activation::Relu));
    assert!(corners.to_text().contains("networks of ReLUs"), "{}", corners.to_text());
    let sigmoids = found(0.0, "[model]\nkind = \"mlp\"\n");
    assert_eq!(sigmoids.activation, None);
    assert!(corners.objective < 0.8 * sigmoids.objective, "{corners:?} {sigmoids:?}");
    // Whatever is chosen is no worse there than what was the only choice.
    let (noisy, sigmoids) = (found(1.0, ""), found(1.0, "[model]\nkind = \"mlp\"\n"));
    assert!(noisy.objective < sigmoids.objective + 1e-3, "{noisy:?} {sigmoids:?}");
}

#[test]
fn a_run_that_is_stopped_while_it_chooses_is_resumed_to_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("made.csv");
    std::fs::write(&file, csv(300, 0.0)).unwrap();
    let path = file.display().to_string();
    let text =
        format!("[data]\nfile = {path:?}\ntarget = \"above\"\n{REQUIRED}[training]\nepochs = 20\n");
    let plan = Plan::check(&ProblemSource::new("made.toml", text)).unwrap();
    let (whole, stopped) = (Memory::new(), Memory::new());
    fit_in(&plan, &whole, &Interrupt::new(), &|_| {}).unwrap();
    let stop = Interrupt::new();
    stop.raise();
    let run = fit_in(&plan, &stopped, &stop, &|_| {}).unwrap();
    assert!(run.summary.is_none() && run.epochs == 0);
    let run = resume_in(&stopped, &Interrupt::new(), &|_| {}).unwrap();
    assert!(run.summary.is_some());
    for name in [PROBLEM, SUMMARY, MODEL] {
        assert_eq!(whole.read(name).unwrap(), stopped.read(name).unwrap(), "{name}");
    }
}

/// Rows of three long-tailed columns: whether their sum is above 0, of which a network with standardised numbers is sure and
/// pieces are a coarse view; or whether the first has a rank in every other tenth, which is hidden in the range of standardised numbers.
fn long_tails(rows: usize, tenths: bool) -> String {
    let mut stream = Stream::new(5, Purpose::Initial, 0, 0);
    let mut csv = String::from("a,b,c,group,above\n");
    for i in 0..rows {
        let ranks = [stream.uniform(), stream.uniform(), stream.uniform()];
        // Student's t with two degrees of freedom.
        let t = |u: f64| {
            let u = u.clamp(1e-6, 1.0 - 1e-6);
            (2.0 * u - 1.0) / (2.0 * u * (1.0 - u)).sqrt()
        };
        let [a, b, c] = ranks.map(t);
        let yes =
            if tenths { ((10.0 * ranks[0]) as usize).is_multiple_of(2) } else { a + b + c > 0.0 };
        let above = if yes { "yes" } else { "no" };
        writeln!(csv, "{a},{b},{c},{},{above}", ["p", "q"][i % 2]).unwrap();
    }
    csv
}

fn long_tailed(tenths: bool, more: &str) -> Plan {
    let csv = long_tails(2500, tenths);
    let table = Table::from_bytes("made", csv.as_bytes(), &Format::default()).unwrap();
    let text = format!("[data]\ntarget = \"above\"\n{more}[training]\nepochs = 40\n");
    Plan::with_table(&ProblemSource::new("made.toml", text), table).unwrap()
}

fn piecewise(plan: &Plan) -> Option<Piecewise> {
    settle_network(plan, &Interrupt::new()).unwrap().unwrap().spec().data.piecewise.clone()
}

#[test]
fn numbers_are_piecewise_linear_where_networks_are_better_with_that() {
    let columns = ["a", "b", "c"].map(String::from).to_vec();
    for more in ["", REQUIRED] {
        let (sum, tenths) = (long_tailed(false, more), long_tailed(true, more));
        assert!(sum.leaves_encoding_open() && tenths.leaves_encoding_open(), "{more}");
        assert_eq!(piecewise(&sum), Some(Piecewise::All(false)), "{more}");
        assert_eq!(piecewise(&tenths), Some(Piecewise::Only(columns.clone())), "{more}");
    }
    // What is stated is not compared, nor is what has no long tail.
    for stated in ["piecewise = true\n", "piecewise = false\n", "[model]\nkind = \"mlp\"\n"] {
        assert!(!long_tailed(false, stated).leaves_encoding_open(), "{stated}");
    }
    assert!(!plan(0.0, "").leaves_network_open());
}

#[test]
fn a_run_says_how_it_took_numbers_and_is_the_run_that_states_it() {
    let run = |plan: &Plan| {
        let files = Memory::new();
        fit_in(plan, &files, &Interrupt::new(), &|_| {}).unwrap();
        files
    };
    let found = run(&long_tailed(false, ""));
    let stated = run(&long_tailed(false, "piecewise = false\n"));
    for name in [PROBLEM, MODEL] {
        assert_eq!(found.read(name).unwrap(), stated.read(name).unwrap(), "{name}");
    }
}
