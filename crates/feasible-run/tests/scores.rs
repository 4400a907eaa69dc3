//! Predictions as numbers, and runs that end early with their plan at hand.

use feasible_problem::{Plan, ProblemSource};
use feasible_run::{
    Event, Interrupt, Memory, SavedModel, Storage, files, finish_in, finish_plan, fit_in,
};

fn plan(epochs: u64) -> Plan {
    let overrides = [format!("training.epochs={epochs}")];
    let source = ProblemSource::open("adult").expect("an embedded problem");
    Plan::check(&source.with_overrides(&overrides)).expect("a plan")
}

#[test]
fn scores_are_the_predictions_to_the_bit_on_any_number_of_threads() {
    let (plan, storage) = (plan(1), Memory::new());
    fit_in(&plan, &storage, &Interrupt::new(), &|_| {}).unwrap();
    let bytes = storage.read(files::MODEL).unwrap();
    let model = SavedModel::from_bytes("model", &bytes).unwrap();
    let table = &plan.data().table;
    let said = model.predict(table, None).unwrap();
    let scores = model.scores(table, None, 1).unwrap();
    assert_eq!(scores, model.scores(table, None, 2).unwrap());
    assert_eq!(scores.len(), said.rows.len());
    let probabilities = scores.probabilities();
    for (at, row) in said.rows.iter().enumerate() {
        assert_eq!(row.class.as_ref(), Some(&said.classes[scores.class(at)]));
        assert_eq!(row.probabilities, probabilities[2 * at..][..2]);
        assert_eq!(scores.contrast(at) > 0.0, scores.class(at) == 1);
    }
}

#[test]
fn a_run_whose_plan_is_at_hand_ends_as_one_that_is_read_again() {
    let plan = plan(30);
    let finished = |by_plan: bool| {
        let (storage, interrupt) = (Memory::new(), Interrupt::new());
        let stop = |event: &Event| {
            if matches!(event, Event::Epoch { metrics, .. } if metrics.epoch == 2) {
                interrupt.raise();
            }
        };
        let fitted = fit_in(&plan, &storage, &interrupt, &stop).unwrap();
        assert!(fitted.summary.is_none());
        let go = Interrupt::new();
        match by_plan {
            true => finish_plan(&plan, &storage, &go, &|_| {}).unwrap(),
            false => finish_in(&storage, &go, &|_| {}).unwrap(),
        }
    };
    let (mine, other) = (finished(true), finished(false));
    assert_eq!(mine.epochs, 2);
    assert_eq!(mine, other);
    let error = finish_plan(&plan, &Memory::new(), &Interrupt::new(), &|_| {}).unwrap_err();
    assert!(error.to_string().contains("memory"), "{error}");
}
