//! The paper's robust experiments, made tiny: what they train and attack, and that they go on.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use feasible_paper::{
    Budget, CIFAR_10, FASHION_MNIST, RobustExperiment, RobustReproduction, RobustTable,
};
use feasible_run::{Event, Interrupt};

/// 20 images of the embedded sample, whatever the experiment's own are, for one epoch.
const TINY: [&str; 6] = [
    "data.source=fashion-mnist-sample",
    "data.per_class={ train = 2, validation = 1, test = 1 }",
    "model.width=2",
    "training.epochs=1",
    "training.batch_size=10",
    "training.measure_on=10",
];

/// The table, and how many epochs were trained for it.
fn reproduced(
    experiment: &RobustExperiment,
    directory: &Path,
    more: &[&str],
    interrupt: &Interrupt,
) -> (feasible_run::Result<RobustTable>, u64) {
    let how = RobustReproduction {
        budget: Budget::Small,
        directory: directory.to_path_buf(),
        threads: 1,
        overrides: TINY.iter().chain(more).map(|text| text.to_string().into()).collect(),
        interrupt: interrupt.clone(),
    };
    let epochs = AtomicU64::new(0);
    let observer = |event: &Event| {
        epochs.fetch_add(u64::from(matches!(event, Event::Epoch { .. })), Ordering::SeqCst);
    };
    let table = experiment.reproduce(&how, &observer, &mut |_| {});
    (table, epochs.into_inner())
}

#[test]
fn an_experiment_trains_and_attacks_its_networks_and_goes_on_where_it_stopped() {
    for (experiment, networks, claims) in [(&FASHION_MNIST, 4, 9), (&CIFAR_10, 3, 8)] {
        let directory = tempfile::tempdir().unwrap();
        let stopped = Interrupt::new();
        stopped.raise();
        let (table, _) = reproduced(experiment, directory.path(), &[], &stopped);
        assert!(table.unwrap_err().to_string().contains("interrupted"));
        let (table, epochs) = reproduced(experiment, directory.path(), &[], &Interrupt::new());
        let table = table.unwrap();
        assert_eq!(
            (epochs, table.rows.len(), table.claims.len()),
            (networks, networks as usize, claims)
        );
        let problems: Vec<&str> = table.rows.iter().map(|row| row.problem.as_str()).collect();
        assert_eq!(problems, experiment.problems().collect::<Vec<_>>());
        let text = table.to_text();
        assert!(text.starts_with(&table.title) && text.contains("budget small"), "{text}");
        for row in &table.rows {
            assert_eq!(row.prior.is_none(), row.problem.ends_with("nominal"), "{}", row.problem);
            assert!(text.contains(&row.variant), "{text}");
            // Whatever the table shows was attacked, and so was whatever the paper speaks of.
            let spoken = row.paper.iter().map(|(epsilon, _)| epsilon);
            for epsilon in table.shown.iter().chain(spoken) {
                assert_eq!(
                    row.curve.at(*epsilon).map(|point| point.total),
                    Some(10),
                    "ε = {epsilon}"
                );
            }
        }
        // Nothing is done twice, and nothing is mixed up.
        let (again, epochs) = reproduced(experiment, directory.path(), &[], &Interrupt::new());
        assert_eq!((again.unwrap(), epochs), (table, 0));
        let other = ["training.seed=7"];
        let (other, _) = reproduced(experiment, directory.path(), &other, &Interrupt::new());
        assert!(other.unwrap_err().to_string().contains("other settings"));
    }
}
