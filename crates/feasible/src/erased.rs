//! A model behind a pointer, so that learners and passes are compiled once per scalar and not once per model.
//!
//! A model is called once per chunk of rows, which makes a virtual call too cheap to measure (`bench/instructions`).

use std::any::Any;
use std::sync::Arc;

use crate::error::Result;
use crate::learner::{EpochReport, Learner, Phase, State, Training};
use crate::measurement::Measurement;
use crate::model::{Batch, Model, Pass};
use crate::multiplier::Multipliers;
use crate::optimality::Optimality;
use crate::point_losses;
use crate::problem::Problem;
use crate::real::Real;
use crate::requirement::Term;
use crate::solution::Solution;
use crate::stationarity::Stationarity;

/// The tape of some model, made when it is first used.
#[derive(Default)]
pub struct AnyTape(Option<Box<dyn Any + Send>>);

impl AnyTape {
    fn get<T: Default + Send + 'static>(&mut self) -> &mut T {
        let tape = self.0.get_or_insert_with(|| Box::<T>::default());
        tape.downcast_mut().expect("a tape is used with one model")
    }
}

/// Any model with this scalar.
#[derive(Clone)]
pub struct Erased<'m, R: Real>(Arc<dyn AnyModel<R> + 'm>);

impl<'m, R: Real> Erased<'m, R> {
    pub(crate) fn new(model: impl Model<Real = R> + 'm) -> Self {
        Self(Arc::new(model))
    }
}

/// [`Model`] with a tape of any type.
trait AnyModel<R: Real>: Send + Sync {
    fn input_width(&self) -> usize;
    fn output_width(&self) -> usize;
    fn parameter_count(&self) -> usize;
    fn trainable_count(&self) -> usize;
    fn needs_whole_batch(&self) -> bool;
    fn couples_rows(&self) -> bool;
    fn is_linear(&self) -> bool;
    fn has_input_gradient(&self) -> bool;
    fn initial(&self, seed: u64) -> Vec<R>;
    fn forward(
        &self,
        theta: &[R],
        batch: &Batch<'_>,
        pass: Pass,
        tape: &mut AnyTape,
        outputs: &mut [R],
    );
    fn backward(
        &self,
        theta: &[R],
        batch: &Batch<'_>,
        tape: &mut AnyTape,
        seeds: &[R],
        gradient: &mut [R],
    );
    fn input_gradient(
        &self,
        theta: &[R],
        batch: &Batch<'_>,
        tape: &mut AnyTape,
        seeds: &[R],
        gradient: &mut [R],
    );
    fn absorb(&self, theta: &mut [R], tape: &mut AnyTape);
}

macro_rules! forward_questions {
    ($model:ty => $($name:ident: $answer:ty),*) => {
        $(fn $name(&self) -> $answer {
            <$model>::$name(self)
        })*
    };
}

impl<R: Real, M: Model<Real = R>> AnyModel<R> for M {
    forward_questions!(M => input_width: usize, output_width: usize, parameter_count: usize, trainable_count: usize,
        needs_whole_batch: bool, couples_rows: bool, is_linear: bool, has_input_gradient: bool);

    fn initial(&self, seed: u64) -> Vec<R> {
        Model::initial(self, seed)
    }

    fn forward(
        &self,
        theta: &[R],
        batch: &Batch<'_>,
        pass: Pass,
        tape: &mut AnyTape,
        outputs: &mut [R],
    ) {
        Model::forward(self, theta, batch, pass, tape.get(), outputs);
    }

    fn backward(
        &self,
        theta: &[R],
        batch: &Batch<'_>,
        tape: &mut AnyTape,
        seeds: &[R],
        gradient: &mut [R],
    ) {
        Model::backward(self, theta, batch, tape.get(), seeds, gradient);
    }

    fn input_gradient(
        &self,
        theta: &[R],
        batch: &Batch<'_>,
        tape: &mut AnyTape,
        seeds: &[R],
        gradient: &mut [R],
    ) {
        Model::input_gradient(self, theta, batch, tape.get(), seeds, gradient);
    }

    fn absorb(&self, theta: &mut [R], tape: &mut AnyTape) {
        Model::absorb(self, theta, tape.get());
    }
}

macro_rules! ask_pointer {
    ($($name:ident: $answer:ty),*) => {
        $(fn $name(&self) -> $answer {
            self.0.$name()
        })*
    };
}

impl<R: Real> Model for Erased<'_, R> {
    type Real = R;
    type Tape = AnyTape;

    ask_pointer!(input_width: usize, output_width: usize, parameter_count: usize, trainable_count: usize,
        needs_whole_batch: bool, couples_rows: bool, is_linear: bool, has_input_gradient: bool);

    fn initial(&self, seed: u64) -> Vec<R> {
        self.0.initial(seed)
    }

    fn forward(
        &self,
        theta: &[R],
        batch: &Batch<'_>,
        pass: Pass,
        tape: &mut AnyTape,
        outputs: &mut [R],
    ) {
        self.0.forward(theta, batch, pass, tape, outputs);
    }

    fn backward(
        &self,
        theta: &[R],
        batch: &Batch<'_>,
        tape: &mut AnyTape,
        seeds: &[R],
        gradient: &mut [R],
    ) {
        self.0.backward(theta, batch, tape, seeds, gradient);
    }

    fn input_gradient(
        &self,
        theta: &[R],
        batch: &Batch<'_>,
        tape: &mut AnyTape,
        seeds: &[R],
        gradient: &mut [R],
    ) {
        self.0.input_gradient(theta, batch, tape, seeds, gradient);
    }

    fn absorb(&self, theta: &mut [R], tape: &mut AnyTape) {
        self.0.absorb(theta, tape);
    }
}

/// What is done with a model. `f32` and `f64` implement it here, without a type parameter, so that no other crate
/// compiles it again.
pub trait Engine: Sized {
    fn begin<'m>(
        learner: Learner<Self>,
        problem: &Problem,
        model: Erased<'m, Self>,
        state: Option<State<Self>>,
    ) -> Result<Training<'m, Self>>
    where
        Self: Real;

    fn advance(
        training: &mut Training<'_, Self>,
        observer: &mut dyn FnMut(Phase),
    ) -> Option<EpochReport>
    where
        Self: Real;

    fn finish(training: Training<'_, Self>) -> Solution<Self>
    where
        Self: Real;

    fn measure(problem: &Problem, model: Erased<'_, Self>, theta: &[Self]) -> Result<Measurement>
    where
        Self: Real;

    fn optimality(
        problem: &Problem,
        model: Erased<'_, Self>,
        theta: &[Self],
        multipliers: &Multipliers,
    ) -> Result<Optimality<Self>>
    where
        Self: Real;

    fn stationarity(
        problem: &Problem,
        model: Erased<'_, Self>,
        theta: &[Self],
        given: (&Multipliers, &[f64]),
    ) -> Result<Stationarity>
    where
        Self: Real;

    fn point_losses(
        asked: &[(String, Term)],
        model: Erased<'_, Self>,
        theta: &[Self],
    ) -> Result<Vec<Vec<f64>>>
    where
        Self: Real;
}

macro_rules! engines {
    ($($real:ty),*) => {$(
        impl Engine for $real {
            fn begin<'m>(
                learner: Learner<Self>,
                problem: &Problem,
                model: Erased<'m, Self>,
                state: Option<State<Self>>,
            ) -> Result<Training<'m, Self>> {
                Training::new(learner, problem, model, state)
            }

            fn advance(
                training: &mut Training<'_, Self>,
                observer: &mut dyn FnMut(Phase),
            ) -> Option<EpochReport> {
                training.advance_here(observer)
            }

            fn finish(training: Training<'_, Self>) -> Solution<Self> {
                training.finish_here()
            }

            fn measure(
                problem: &Problem,
                model: Erased<'_, Self>,
                theta: &[Self],
            ) -> Result<Measurement> {
                problem.measure_here(model, theta)
            }

            fn optimality(
                problem: &Problem,
                model: Erased<'_, Self>,
                theta: &[Self],
                multipliers: &Multipliers,
            ) -> Result<Optimality<Self>> {
                problem.optimality_here(model, theta, multipliers)
            }

            fn stationarity(
                problem: &Problem,
                model: Erased<'_, Self>,
                theta: &[Self],
                given: (&Multipliers, &[f64]),
            ) -> Result<Stationarity> {
                problem.stationarity_here(model, theta, given)
            }

            fn point_losses(
                asked: &[(String, Term)],
                model: Erased<'_, Self>,
                theta: &[Self],
            ) -> Result<Vec<Vec<f64>>> {
                point_losses::losses_here(asked, &model, theta)
            }
        }
    )*};
}

engines!(f32, f64);
