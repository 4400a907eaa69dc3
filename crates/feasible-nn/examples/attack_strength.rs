//! Attacks the weights and images that `bench/peers/foolbox_pgd.py` wrote, with the same settings.
//!
//! `cargo run --release -p feasible-nn --example attack_strength -- OUT`

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use feasible::adversary::{Attack, Budget, Norm, robustness};
use feasible::{Inputs, Loss, Model, Population, Problem, Requirement, Samples, Targets};
use feasible_nn::conv::{Builder, ConvShape, resnet18};

fn tensors(path: &Path) -> HashMap<String, Vec<f32>> {
    let bytes = std::fs::read(path).expect("the script has been run");
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let data = &bytes[8 + length..];
    let mut all = HashMap::new();
    for (name, entry) in header.as_object().unwrap() {
        if name == "__metadata__" {
            continue;
        }
        assert_eq!(entry["dtype"], "F32");
        let at = |i: usize| entry["data_offsets"][i].as_u64().unwrap() as usize;
        let numbers = data[at(0)..at(1)].chunks_exact(4);
        let numbers = numbers.map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        all.insert(name.clone(), numbers);
    }
    all
}

fn main() {
    let folder = std::env::args().nth(1).expect("the folder the script wrote to");
    let folder = Path::new(&folder);
    let weights = tensors(&folder.join("weights.safetensors"));
    let mut data = tensors(&folder.join("images.safetensors"));
    let net = Builder::new(ConvShape::new(1, 28, 28)).unwrap();
    let model = resnet18(net.normalise(&[0.2860], &[0.3530]).unwrap(), 10, 16).unwrap();
    let mut theta = vec![0.0; model.parameter_count()];
    for tensor in model.layout() {
        theta[tensor.range()].copy_from_slice(&weights[&tensor.name]);
    }
    let inputs = Inputs::dense(data.remove("images").unwrap(), 784).unwrap();
    let labels = data["labels"].iter().map(|&y| y as u32).collect();
    let clean = Population::new(Samples::new(inputs, Targets::Classes(labels)).unwrap());
    let attack = |epsilon: f64| Attack {
        steps: 50,
        step: 1.0 / 30.0,
        ..Attack::pgd(Norm::Linf, Budget::fixed(epsilon))
    };
    let epsilons = [0.0, 0.01, 0.02, 0.04, 0.06];
    for epsilon in epsilons {
        print!("ε = {epsilon:<5} accuracy and cross-entropy of three seeds:");
        for seed in 0..3 {
            // Another seed is other ids: the noise is keyed by them.
            let samples = clean.samples();
            let ids = (0..samples.len() as u64).map(|i| i + 1_000_000 * seed).collect();
            let (inputs, targets) = (samples.inputs().clone(), samples.targets().clone());
            let samples = Samples::with_ids(inputs, targets, ids).unwrap();
            let adversary = Arc::new(attack(epsilon).check().unwrap());
            let attacked = Population::new(samples).through(adversary);
            let error = Requirement::average("error", &attacked, Loss::CrossEntropy);
            let problem = Problem::minimise(&attacked, Loss::CrossEntropy)
                .subject_to(error.measured_by(Loss::Error).at_most(0.0))
                .check()
                .unwrap();
            let measured = problem.measure(&model, &theta).unwrap();
            let (entropy, error) = (measured.objective, measured.violations[0].measured[0]);
            print!(" {:.1} % {entropy:.4},", 100.0 * (1.0 - error));
        }
        println!();
    }
    let strong = Attack { restarts: 3, ..Attack::strong(Norm::Linf, Budget::fixed(0.0)) };
    let curve =
        robustness(&model, &theta, &clean, &strong, &epsilons, 0, 1, &mut |_, _| true).unwrap();
    for point in curve {
        let share = 100.0 * point.accuracy();
        println!("ε = {:<5} worst of three restarts: {share:.1} %", point.epsilon);
    }
}
