//! Constrained learning (being written).

pub mod error;
pub mod inputs;
pub mod loss;
pub mod model;
pub mod optimiser;
pub mod real;
pub mod samples;
pub mod schedule;
pub mod shift;

pub use error::{Error, Result};
pub use inputs::{Inputs, InputsBuilder};
pub use model::{Batch, Model, Tape, ViewShift};
pub use optimiser::{Optimiser, OptimiserState};
pub use real::Real;
pub use samples::{Samples, Target, Targets};
pub use schedule::Schedule;
pub use shift::{Shift, ShiftBuilder, rho};
