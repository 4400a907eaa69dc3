//! Training: on a thread of its own, while this one passes on progress and looks for Ctrl-C.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use feasible_problem::{Plan, ProblemSource};
use feasible_run::{Error, Event, Interrupt, Memory, finish_plan, fit_in, settle_network};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{FeasibleError, refused, refused_problem, refused_run};
use crate::run::Run;
use crate::table::Table;

/// How often it is asked whether somebody pressed Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);
/// Of the thread that trains: as much as the main thread of a program has.
const STACK: usize = 8 << 20;

/// A problem as JSON, in the words of the problem file.
pub(crate) fn source(name: &str, problem: &str) -> PyResult<ProblemSource> {
    let table: toml::Table = serde_json::from_str(problem).map_err(refused)?;
    let text = toml::to_string(&table).map_err(refused)?;
    Ok(ProblemSource::new(name, text))
}

/// Trains on a table; `observer` is called with a dictionary after every epoch. Gives the run, and whether it was
/// interrupted and has the best model so far.
#[pyfunction]
#[pyo3(signature = (name, problem, table, observer=None))]
pub(crate) fn fit(
    py: Python<'_>,
    name: &str,
    problem: &str,
    table: &mut Table,
    observer: Option<Bound<'_, PyAny>>,
) -> PyResult<(Run, bool)> {
    let (source, table) = (source(name, problem)?, table.take()?);
    let ladder = source.parse(&[]).map_err(refused_problem)?.certify.and_then(|c| c.ladder);
    if ladder.is_some() {
        let message =
            "certify.ladder: a ladder trains several models: use `feasible fit`, and load its run";
        return Err(FeasibleError::new_err(message));
    }
    let (send, mut events) = mpsc::channel();
    let interrupt = Interrupt::new();
    let (raise, told, name) = (interrupt.clone(), observer.is_some(), name.to_string());
    let training = move || -> Result<(Plan, Memory, bool), Error> {
        let plan = Plan::with_table(&source, table)?.called(&name);
        let storage = Memory::new();
        let observe = |event: &Event| {
            if told {
                // Nobody listens any more only if this process ends.
                let _ = send.send(event.clone());
            }
        };
        // The plan as it is trained: a training that is stopped is ended by it.
        let plan = settle_network(&plan, &interrupt)?.unwrap_or(plan);
        let fitted = fit_in(&plan, &storage, &interrupt, &observe)?;
        let interrupted = fitted.summary.is_none();
        if interrupted {
            finish_plan(&plan, &storage, &Interrupt::new(), &|_| {})?;
        }
        Ok((plan, storage, interrupted))
    };
    let thread = std::thread::Builder::new().stack_size(STACK);
    let thread = thread.spawn(training).map_err(refused)?;
    let mut raised: Option<PyErr> = None;
    loop {
        let next;
        (next, events) = py.detach(move || (events.recv_timeout(PATIENCE), events));
        let passed_on = match (next, &observer) {
            (Err(RecvTimeoutError::Disconnected), _) => break,
            (Ok(event), Some(observer)) => pass_on(observer, &event),
            _ => Ok(()),
        };
        if let Err(error) = passed_on.and_then(|()| py.check_signals()) {
            raise.raise();
            raised.get_or_insert(error);
        }
    }
    let result = joined(py, thread);
    // Ctrl-C is no error where there is something to return.
    let wanted = |error: &PyErr| error.is_instance_of::<PyKeyboardInterrupt>(py) && result.is_ok();
    if let Some(error) = raised.filter(|error| !wanted(error)) {
        return Err(error);
    }
    let (plan, storage, interrupted) = result.map_err(refused_run)?;
    Ok((Run::of_training(&plan, &storage)?, interrupted))
}

/// What a thread gives. A panic of it is one here, and from here an exception.
pub(crate) fn joined<T: Send>(py: Python<'_>, thread: JoinHandle<T>) -> T {
    match py.detach(move || thread.join()) {
        Ok(given) => given,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn pass_on(observer: &Bound<'_, PyAny>, event: &Event) -> PyResult<()> {
    let Event::Epoch { epochs, metrics, .. } = event else { return Ok(()) };
    let told = PyDict::new(observer.py());
    told.set_item("epoch", metrics.epoch)?;
    told.set_item("epochs", *epochs)?;
    told.set_item("objective", metrics.objective)?;
    told.set_item("feasible", metrics.feasible)?;
    told.set_item("best", metrics.best)?;
    if let Some(validation) = &metrics.validation {
        told.set_item("validation/objective", validation.objective)?;
    }
    for requirement in &metrics.requirements {
        let name = &requirement.name;
        told.set_item(format!("{name}/value"), requirement.value)?;
        told.set_item(format!("{name}/violation"), requirement.worst_violation)?;
        told.set_item(format!("{name}/multiplier"), requirement.multiplier)?;
        told.set_item(format!("{name}/met"), requirement.met)?;
    }
    observer.call1((told,))?;
    Ok(())
}
