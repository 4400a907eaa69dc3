//! Problem files with images: training, resuming, saved models, attacks, and what is refused.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::sync::atomic::{AtomicU64, Ordering};

use feasible::Outcome;
use feasible_data::image::decode_image;
use feasible_problem::{Gallery, Plan, ProblemSource, problems};
use feasible_run::{
    AttackOptions, Event, Interrupt, Memory, SavedModel, Storage, files, fit_in, parse, resume_in,
};

use common::{assert_same, problem, refused};

/// 40 images to train on; BatchNorm, ε from a prior, a requirement on one class.
const RESNET: &str = r#"
[data]
source = "fashion-mnist-sample"
per_class = { train = 4, validation = 1, test = 3 }

[model]
kind = "resnet18"
width = 2

[objective]
measured_by = "error"

[[requirement]]
name = "robust"
loss = "cross-entropy"
at_most = 1.0
adversary = { epsilon = { beta = [3, 8], scale = 0.25 }, steps = 2, step = "ε/2" }

[[requirement]]
name = "bags"
rate = "error"
where = "class == 'Bag'"
at_most = 0.3

[training]
epochs = 2
batch_size = 20
measure_on = 20

[evaluation]
attack = { steps = 4, restarts = 1 }
"#;

/// The same images through a small network without BatchNorm, for longer.
const CNN: &str = r#"
[data]
source = "fashion-mnist-sample"
per_class = { train = 30, validation = 2, test = 10 }

[model]
kind = "cnn"

[training]
epochs = 6
batch_size = 40
"#;

fn plan(text: &str, overrides: &[&str]) -> Plan {
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    Plan::check(&ProblemSource::new("images.toml", text).with_overrides(&overrides)).unwrap()
}

fn trained(plan: &Plan) -> Memory {
    let files = Memory::new();
    let run = fit_in(plan, &files, &Interrupt::new(), &|_| {}).unwrap();
    assert_ne!(run.outcome, Outcome::Interrupted);
    files
}

fn model(files: &Memory) -> SavedModel {
    SavedModel::from_bytes("model", &files.read(files::MODEL).unwrap()).unwrap()
}

#[test]
fn interrupted_and_resumed_a_run_on_images_ends_in_the_same_bytes() {
    let plan = plan(RESNET, &[]);
    let whole = trained(&plan);
    // Before the first batch, and after the first epoch.
    for stop in [0, 1] {
        let files = Memory::new();
        let interrupt = Interrupt::new();
        let observer = |event: &Event| match event {
            Event::Started { .. } if stop == 0 => interrupt.raise(),
            Event::Epoch { metrics, .. } if metrics.epoch == stop => interrupt.raise(),
            _ => {}
        };
        let run = fit_in(&plan, &files, &interrupt, &observer).unwrap();
        assert_eq!(run.outcome, Outcome::Interrupted);
        resume_in(&files, &Interrupt::new(), &|_| {}).unwrap();
        assert_same(&files, &whole, &format!("stopped after epoch {stop}"));
    }
}

#[test]
fn interrupted_between_two_batches_a_run_on_images_ends_in_the_same_bytes() {
    // Batches of 10 images take milliseconds: a thread that waits for one falls within an epoch.
    let plan = plan(RESNET, &["training.batch_size=10"]);
    let whole = trained(&plan);
    let files = Memory::new();
    let mut within = 0;
    let mut run = None;
    for again in 0..40 {
        let interrupt = Interrupt::new();
        let begun = AtomicU64::new(0);
        let observer = |event: &Event| {
            begun.fetch_add(u64::from(matches!(event, Event::Started { .. })), Ordering::SeqCst);
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while begun.load(Ordering::SeqCst) == 0 {
                    std::thread::yield_now();
                }
                std::thread::sleep(std::time::Duration::from_millis(10 + 40 * again));
                interrupt.raise();
            });
            run = Some(match run {
                None => fit_in(&plan, &files, &interrupt, &observer).unwrap(),
                Some(_) => resume_in(&files, &interrupt, &observer).unwrap(),
            });
        });
        let bytes = files.read(files::CHECKPOINT).unwrap();
        let state = feasible_run::Checkpoint::from_bytes(&bytes).unwrap().state;
        within += u32::from(state.batch > 0);
        if within > 1 || run.as_ref().is_some_and(|run| run.outcome != Outcome::Interrupted) {
            break;
        }
    }
    resume_in(&files, &Interrupt::new(), &|_| {}).unwrap();
    assert!(within > 0, "no interruption fell within an epoch");
    assert_same(&files, &whole, "stopped between batches");
}

#[test]
fn augmented_images_are_trained_on_moved_and_measured_as_they_are() {
    let augment = "data.augment={mirror=true,pad=2}";
    let quick = ["training.epochs=1", augment, "data.per_class.train=3"];
    let plan = plan(RESNET, &quick);
    assert!(plan.spec().to_toml().contains("[data.augment]"));
    let files = trained(&plan);
    // The training images as they are: what the problem without augmentation measures of the same θ.
    let plain = self::plan(RESNET, &[quick[0], quick[2]]);
    let theta = model(&files).theta().to_vec();
    let measured = plain.train().measure(plain.model(), &theta).unwrap();
    assert_eq!(model(&files).manifest().training.train.objective, measured.objective);
    // The moved ones differ, and training on them ends elsewhere.
    let moved = plan.train().measure(plan.model(), &theta).unwrap();
    assert_ne!(moved.objective, measured.objective);
    assert_ne!(model(&trained(&plain)).theta(), theta);
}

#[test]
fn an_adversary_of_augmented_images_stays_in_its_ball_and_in_the_box() {
    use feasible::adversary::{Attack, Budget, Norm};
    use feasible::{Adaptive, Inputs, Probe, Samples, Targets, TrainingPlace};
    use feasible_data::image::{Augmentation, ImageShape};
    use feasible_problem::Augmented;

    /// f(x) = Σ w x: its gradient is w, whatever x.
    struct Linear<'a>(&'a Samples, [u32; 2], Vec<f32>);
    const W: [f32; 4] = [1.0, -1.0, 1.0, -1.0];
    impl Probe for Linear<'_> {
        fn samples(&self) -> &Samples {
            self.0
        }
        fn rows(&self) -> &[u32] {
            &self.1
        }
        fn output_width(&self) -> usize {
            1
        }
        fn outputs(&mut self, shift: &[f32]) -> &[f32] {
            self.outputs_at(&[0, 1], shift)
        }
        fn outputs_at(&mut self, positions: &[u32], shift: &[f32]) -> &[f32] {
            let of = |(&p, shift): (&u32, &[f32])| -> f32 {
                let x = self.0.inputs().row(self.1[p as usize] as usize);
                (0..4).map(|i| W[i] * (x[i] + shift[i])).sum()
            };
            self.2 = positions.iter().zip(shift.chunks_exact(4)).map(of).collect();
            &self.2
        }
        fn input_gradient(&mut self, seeds: &[f32], gradient: &mut [f32]) {
            for (seed, gradient) in seeds.iter().zip(gradient.chunks_exact_mut(4)) {
                (0..4).for_each(|i| gradient[i] = seed * W[i]);
            }
        }
    }

    let shape = ImageShape { channels: 1, height: 1, width: 4 };
    let images = Inputs::dense(vec![0.0, 0.25, 0.5, 1.0, 1.0, 0.5, 0.25, 0.0], 4).unwrap();
    let samples = Samples::new(images, Targets::Classes(vec![1, 0])).unwrap();
    let augmentation = Augmentation { mirror: true, pad: 1, seed: 3 };
    let epsilon = 0.125_f32;
    let fgsm = Attack::fgsm(Norm::Linf, Budget::fixed(epsilon.into())).check().unwrap();
    for epoch in 0..8 {
        let place = TrainingPlace { seed: 0, epoch };
        let shift = |adversary| {
            let view = Augmented { augmentation, shape, adversary };
            let mut shift = vec![0.0; 8];
            view.shift(&mut Linear(&samples, [0, 1], Vec::new()), place, &mut shift);
            shift
        };
        let (moved, attacked) = (shift(None), shift(Some(std::sync::Arc::new(fgsm.clone()))));
        for row in 0..2 {
            let x = samples.inputs().row(row);
            let mut placed = vec![0.0; 4];
            augmentation.place(epoch, row as u64).apply(shape, &x, &mut placed);
            for i in 0..4 {
                // All numbers are multiples of 1/8: no rounding.
                assert_eq!(x[i] + moved[4 * row + i], placed[i]);
                // The loss of class 1 rises as the output falls, that of class 0 as it rises.
                let step = if row == 0 { -epsilon } else { epsilon } * W[i];
                assert_eq!(x[i] + attacked[4 * row + i], (placed[i] + step).clamp(0.0, 1.0));
            }
        }
    }
}

#[test]
fn threads_change_nothing_in_a_run_on_images() {
    let (one, two) = (trained(&plan(RESNET, &[])), trained(&plan(RESNET, &["training.threads=2"])));
    for name in [files::METRICS, files::MULTIPLIERS, files::SUMMARY] {
        assert!(one.read(name).unwrap() == two.read(name).unwrap(), "{name}");
    }
    assert_eq!(model(&one).theta(), model(&two).theta());
}

#[test]
fn a_saved_network_predicts_what_it_did_and_carries_its_running_statistics() {
    let plan = plan(RESNET, &[]);
    let model = model(&trained(&plan));
    let tensors = model.network().layout();
    let running = tensors.iter().find(|t| t.name == "bn1.running_mean").unwrap();
    assert!(model.theta()[running.range()].iter().all(|&x| x != 0.0), "absorbed in training");
    let gallery = Gallery::of(plan.data()).unwrap();
    let rows = gallery.test_rows();
    assert_eq!(rows.len(), 30);
    let audit = model.audit_images(&gallery, &rows, 1).unwrap();
    // The audit of the model read back is the summary's evaluation of the test images, to the last bit.
    assert_eq!(model.manifest().training.test, Some(audit.evaluation.clone()));
    let predictions = model.predict_images(&gallery, &rows, 2).unwrap();
    let right = predictions
        .rows
        .iter()
        .filter(|p| gallery.table().column("class").unwrap().text(p.row as usize) == p.class)
        .count();
    assert_eq!(Some(right as f64 / 30.0), audit.evaluation.accuracy);
}

#[test]
fn a_small_network_learns_and_an_attack_finds_its_weakness() {
    let plan = plan(CNN, &[]);
    let model = model(&trained(&plan));
    let gallery = Gallery::of(plan.data()).unwrap();
    let rows = gallery.test_rows();
    let clean = model.audit_images(&gallery, &rows, 1).unwrap().evaluation.accuracy.unwrap();
    assert!(clean > 0.6, "{clean}");
    let options = AttackOptions {
        epsilons: vec![0.1, 0.0, 0.03],
        steps: 8,
        step: 1.0 / 4.0,
        restarts: 2,
        ..AttackOptions::default()
    };
    let attack = |threads| {
        model.attack_images(&gallery, &rows, &options, threads, &mut |_, _| true).unwrap()
    };
    let curve = attack(1);
    assert_eq!(curve, attack(2));
    let at = |epsilon| curve.at(epsilon).unwrap().accuracy;
    assert_eq!(at(0.0), clean);
    assert!(at(0.03) < at(0.0) && at(0.1) < at(0.03) && at(0.1) < 0.3, "{curve:?}");
    assert!(curve.points.iter().all(|p| p.low <= p.accuracy && p.accuracy <= p.high));
    // Clopper-Pearson of 0 of n at 95 %, two-sided: 1 − 0.025^(1/n).
    if let Some(point) = curve.points.iter().find(|p| p.correct == 0) {
        let upper = 1.0 - 0.025_f64.powf(1.0 / point.total as f64);
        assert!((point.high - upper).abs() < 1e-9 && point.low == 0.0);
    }
    let interrupted = model.attack_images(&gallery, &rows, &options, 1, &mut |_, _| false);
    assert!(interrupted.unwrap_err().to_string().contains("interrupted"));
}

#[test]
fn other_models_take_images_too_and_networks_for_images_no_tables() {
    let linear = plan(CNN, &["model.kind=linear", "training.epochs=1"]);
    assert_eq!(linear.parameters(), 785 * 10);
    let directory = tempfile::tempdir().unwrap();
    let source = problem(directory.path(), "", "epochs = 1\n");
    let error = refused(directory.path(), &source.with_overrides(&["model.kind=cnn".into()]));
    assert!(error.contains("model.kind") && error.contains("the data are a table"), "{error}");
}

#[test]
fn the_paper_s_image_problems_are_sound_but_for_their_files() {
    let image = |name: &str| name.starts_with("fashion") || name.starts_with("cifar");
    let names: Vec<&str> = problems().iter().map(|p| p.name).filter(|name| image(name)).collect();
    assert_eq!(names.len(), 7);
    for name in names {
        let sample = ["data.source=fashion-mnist-sample".to_string()];
        let plan =
            Plan::check(&ProblemSource::open(name).unwrap().with_overrides(&sample)).unwrap();
        let split = &plan.data().split;
        assert_eq!((split.train.len(), split.validation.len()), (5_000, 1_000), "{name}");
        assert_eq!(plan.parameters(), 701_178, "the authors' network");
        assert_eq!(plan.clauses().len(), usize::from(!name.ends_with("nominal")), "{name}");
        let resolved = plan.spec().to_toml();
        let again = Plan::check(&ProblemSource::new(name, resolved.clone())).unwrap();
        assert_eq!(again.spec().to_toml(), resolved);
    }
}

#[test]
fn a_table_s_standardised_numbers_can_be_attacked_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let robust = "[[requirement]]\nname = \"robust\"\nloss = \"cross-entropy\"\nat_most = 0.9\n\
                  adversary = { epsilon = 0.2 }\n";
    let source = problem(directory.path(), robust, "epochs = 3\n");
    let standardised = source.clone().with_overrides(&["data.standardise=true".into()]);
    let plan = Plan::check(&standardised).unwrap();
    let attack = plan.clauses()[0].adversary.as_ref().unwrap();
    assert_eq!(attack.columns.as_deref(), Some(&[0][..]), "age, and no category");
    assert!(plan.describe().contains("at x + δ, ‖δ‖∞ ≤ 0.2"), "{}", plan.describe());
    let files = trained(&plan);
    let summary = model(&files).manifest().training.clone();
    let robust = summary.train.requirements[0].value.unwrap();
    assert!(robust > summary.train.objective, "an attack makes the loss larger: {robust}");
    let plain = source.with_overrides(&["data.standardise=false".into()]);
    let error = refused(directory.path(), &plain);
    assert!(error.contains("requirement[0].adversary") && error.contains("standardise"), "{error}");
}

#[test]
fn what_is_wrong_with_images_or_adversaries_is_said_where_it_stands() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    for name in ["train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"] {
        std::fs::write(d.join(format!("{name}-ubyte")), [0, 0, 8, 3, 0, 0]).unwrap();
    }
    let nowhere = d.join("nowhere").display().to_string();
    let here = d.display().to_string();
    let epsilon = "requirement.robust.adversary.epsilon";
    for (change, expected) in [
        ("data.source=fashion-mnst".to_string(), "did you mean 'fashion-mnist'?"),
        ("data.source=nothing".into(), "cifar-10"),
        (format!("data={{source='fashion-mnist',directory='{nowhere}'}}"), "apt install"),
        (format!("data={{source='fashion-mnist',directory='{here}'}}"), "train-images-idx3-ubyte"),
        (format!("data={{folder='{nowhere}'}}"), "nowhere"),
        ("data.target=class".into(), "data.target: is for tables"),
        ("data.per_class.validation=600".into(), "data.per_class"),
        ("data.per_class.train=0".into(), "at least 1"),
        ("data.augment={flip=true}".into(), "unknown key 'flip'"),
        ("data.rows=\"class == 'Bag'\"".into(), "all of one class"),
        ("data.rows=\"class == 'Bagg'\"".into(), "Bag"),
        ("model.width=0".into(), "at least 1"),
        (format!("{epsilon}=-0.1"), "epsilon = -0.1"),
        (format!("{epsilon}=1.5"), "in [0, 1]"),
        (format!("{epsilon}={{beta=[3,8],uniform=[0,1]}}"), "only one of beta"),
        (format!("{epsilon}={{beta=[3,-8]}}"), "beta of the Beta prior"),
        (format!("{epsilon}={{}}"), "empty prior"),
        ("requirement.robust.adversary.steps=0".into(), "adversary.steps"),
        ("requirement.robust.adversary.step=\"a third\"".into(), "ε/4"),
        ("requirement.robust.adversary.restarts=0".into(), "adversary.restarts"),
        ("requirement.robust.adversary.eps=0.1".into(), "unknown key 'eps'"),
        (
            "requirement.robust.counterfactual={set={class='Bag'}}".into(),
            "only one of adversary and counterfactual",
        ),
        ("training.measure_on=0".into(), "measure_on"),
    ] {
        let source =
            ProblemSource::new("images.toml", RESNET).with_overrides(std::slice::from_ref(&change));
        let error = refused(d, &source);
        assert!(error.contains(expected), "{change}: {error}");
    }
}

#[test]
fn a_model_refuses_data_it_was_not_made_for() {
    let model = model(&trained(&plan(CNN, &["training.epochs=1", "data.per_class.train=5"])));
    let csv = b"age,class\n1,Bag\n";
    let table =
        feasible_data::Table::from_bytes("people.csv", csv, &feasible_data::Format::default());
    let error = model.predict(&table.unwrap(), None).unwrap_err().to_string();
    assert!(error.contains("people.csv") && error.contains("1 × 28 × 28"), "{error}");
    let gallery = Gallery::named("fashion-mnist-sample", None).unwrap();
    let too_far = AttackOptions { epsilons: vec![1.5], ..AttackOptions::default() };
    let error = model.attack_images(&gallery, &[6_000], &too_far, 1, &mut |_, _| true);
    assert!(error.unwrap_err().to_string().contains("in [0, 1]"));
}

#[test]
fn a_run_with_an_adversary_keeps_counts_by_class_and_examples() {
    let files = trained(&plan(RESNET, &[]));
    let [name, sheet] = files::ADVERSARY;
    let mut attacked = parse::attacked(name, &files.read(name).unwrap()).unwrap();
    assert_eq!((attacked.requirement.as_str(), attacked.part.as_str()), ("robust", "test"));
    assert_eq!(attacked.classes.len(), 10);
    assert!(attacked.classes.iter().all(|of| of.images == 3 && of.still_correct <= of.correct));
    // As many are recognised as the evaluation says.
    let summary: serde_json::Value =
        serde_json::from_slice(&files.read(files::SUMMARY).unwrap()).unwrap();
    let correct: usize = attacked.classes.iter().map(|of| of.correct).sum();
    assert_eq!(summary["test"]["accuracy"], correct as f64 / 30.0);
    // One example for each class that is recognised at all, three tiles each, of changes within ε < 0.25.
    let examples = attacked.examples.as_mut().unwrap();
    let known = attacked.classes.iter().filter(|of| of.correct > 0).count();
    assert_eq!(examples.images.len(), known);
    assert!(examples.images.iter().all(|image| image.size <= 0.25 && image.class.len() > 1));
    examples.sheet = files.read(sheet).unwrap();
    let strips = examples.strips().unwrap();
    assert_eq!(strips.len(), known);
    // The first tile is the image itself.
    let gallery = Gallery::named("fashion-mnist-sample", None).unwrap();
    for (strip, image) in strips.iter().zip(&examples.images) {
        let (shape, pixels) = decode_image(strip, 1 << 20).unwrap().unwrap();
        assert_eq!((shape.width, shape.height), (84, 28));
        let first: Vec<u8> = pixels.chunks(84).flat_map(|row| row[..28].to_vec()).collect();
        assert_eq!(first, gallery.images().pixels(image.row as usize));
    }
    // A sheet of something else is refused.
    examples.sheet = strips[0].clone();
    assert_eq!(examples.strips().is_err(), known > 1);
    examples.sheet.truncate(30);
    assert!(examples.strips().is_err());
    // Without an adversary there is nothing of it.
    assert!(trained(&plan(CNN, &["training.epochs=1"])).read(name).is_err());
}

#[test]
fn an_attack_counts_every_class_and_shows_what_fooled_the_model() {
    let files = trained(&plan(CNN, &[]));
    let model = model(&files);
    let gallery = Gallery::named("fashion-mnist-sample", None).unwrap();
    let rows = gallery.images().at_most(&gallery.test_rows(), 5, 0).unwrap();
    let options = AttackOptions {
        epsilons: vec![0.0, 0.05, 0.3],
        steps: 6,
        step: 0.3,
        restarts: 1,
        ..AttackOptions::default()
    };
    let curve = model.attack_images(&gallery, &rows, &options, 1, &mut |_, _| true).unwrap();
    for (at, point) in curve.points.iter().enumerate() {
        let sum: usize = curve.by_class.iter().map(|of| of.correct[at]).sum();
        assert_eq!(sum, point.correct, "ε = {}", point.epsilon);
    }
    assert!(curve.by_class.iter().all(|of| of.total == 5));
    let examples = curve.examples.as_ref().unwrap();
    let known = curve.by_class.iter().filter(|of| of.correct[0] > 0).count();
    assert_eq!((examples.images.len(), examples.strips().unwrap().len()), (known, known));
    // Fooled within the ε of the grid, and by no less than the attack found to be needed.
    for image in &examples.images {
        let of = curve.by_class.iter().find(|of| of.class == image.class).unwrap();
        assert!(image.size <= 0.3 + 1e-6, "{image:?}");
        assert!(image.class != image.predicted || of.correct[2] > 0, "{image:?}");
    }
    let written = serde_json::to_vec(&curve).unwrap();
    let read = parse::curve("attack.json", &written).unwrap();
    assert_eq!(read.by_class, curve.by_class);
    let mut wrong: serde_json::Value = serde_json::from_slice(&written).unwrap();
    wrong["by_class"][0]["correct"][0] = 6.into();
    assert!(parse::curve("attack.json", wrong.to_string().as_bytes()).is_err());
}
