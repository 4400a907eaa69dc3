//! Input that cannot be used: what was wrong, where, and what to do.
//!
//! How a training *ended* is never an error; see [`Outcome`](crate::Outcome).

/// What went wrong with the user's input.
///
/// ```
/// use feasible::{
///     Error, Inputs, Loss, Population, Problem, ProblemDraft, Requirement, Samples, Targets,
/// };
/// let x = |values: &[f32]| Inputs::new(values.to_vec(), 1);
/// assert!(matches!(x(&[1.0, f32::NAN]), Err(Error::NonFiniteInput { row: 1, column: 0, .. })));
/// let targets = Samples::new(x(&[1.0])?, Targets::Values(vec![f32::INFINITY]));
/// assert!(matches!(targets, Err(Error::NonFiniteTarget { row: 0, .. })));
/// let twice = Samples::with_ids(x(&[1.0, 2.0])?, Targets::Classes(vec![0, 1]), vec![7, 7]);
/// assert!(matches!(twice, Err(Error::DuplicateId { id: 7 })));
///
/// let everyone = Population::new(Samples::new(x(&[1.0, 2.0])?, Targets::Classes(vec![0, 1]))?);
/// let nobody = everyone.filter(|sample| sample.row > 1);
/// let check = |requirements: Vec<Requirement>| {
///     let draft: ProblemDraft = Problem::minimise(&everyone, Loss::CrossEntropy);
///     requirements.into_iter().fold(draft, |draft, one| draft.subject_to(one)).check()
/// };
/// let error = |population, c| {
///     let smooth = Requirement::average("error", population, Loss::SmoothedError);
///     smooth.measured_by(Loss::Error).at_most(c)
/// };
/// let rejected = check(vec![error(&nobody, 0.1)]);
/// assert!(matches!(rejected, Err(Error::EmptyPopulation { .. })));
/// let rejected = check(vec![error(&everyone, 0.1), error(&everyone, 0.2)]);
/// assert!(matches!(rejected, Err(Error::DuplicateName { name }) if name == "error"));
/// let rejected = check(vec![error(&everyone, 15.0)]);
/// assert!(matches!(&rejected, Err(Error::Limit { value: 15.0, .. })));
/// assert!(rejected.unwrap_err().to_string().ends_with("did you mean 0.15?"));
/// let squared = Requirement::average("squared", &everyone, Loss::Squared).at_most(1.0);
/// let rejected = check(vec![squared]).and_then(|p| p.check_model(&feasible_nn::Linear::new(1, 2)?));
/// assert!(matches!(rejected, Err(Error::LossMismatch { .. })));
/// let wide = feasible_nn::Linear::new(3, 2)?;
/// let rejected = check(vec![])?.check_model(&wide);
/// assert!(matches!(rejected, Err(Error::InputWidth { model: 3, data: 1, .. })));
/// let learner = feasible::Learner::alternating(feasible_nn::Sgd::new(0.1))
///     .dual_for("nobody", feasible::Dual::ascent(1.0));
/// let model = feasible_nn::Linear::new(1, 2)?;
/// let rejected = learner.begin(&check(vec![])?, &model);
/// assert!(matches!(rejected, Err(Error::UnknownRequirement { .. })));
/// let rejected = feasible::Dual::ascent(-1.0).check();
/// assert!(matches!(rejected, Err(Error::Setting { value: -1.0, .. })));
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Lengths that do not fit together.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// Which argument.
        what: String,
        /// What would fit.
        expected: String,
        /// The length found.
        found: usize,
    },
    /// An input that is NaN or infinite.
    #[error(
        "input at row {row}, column {column} is {value}; inputs must be finite: impute or drop it"
    )]
    NonFiniteInput {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The value.
        value: f32,
    },
    /// A target that is NaN or infinite.
    #[error("target of row {row} is {value}; targets must be finite: impute or drop the row")]
    NonFiniteTarget {
        /// Row, from 0.
        row: usize,
        /// The value.
        value: f32,
    },
    /// Two samples with one id.
    #[error(
        "sample id {id} occurs more than once; ids key the pointwise multipliers and must differ"
    )]
    DuplicateId {
        /// The id.
        id: u64,
    },
    /// A population without samples.
    #[error("{requirement}: its population is empty; check the subset it is taken from")]
    EmptyPopulation {
        /// Whose population.
        requirement: String,
    },
    /// Two requirements with one name.
    #[error("two requirements are named '{name}'; names identify the multipliers: rename one")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A limit that is not a number, or that every model meets, or none.
    #[error("requirement '{requirement}': the limit {}{} {reason}", crate::limit::written(*.value), .sample.map(|n| format!(" of sample {n}")).unwrap_or_default())]
    Limit {
        /// The requirement.
        requirement: String,
        /// The limit given.
        value: f64,
        /// The sample, when limits are per sample.
        sample: Option<usize>,
        /// Why it makes no sense, and what was meant perhaps.
        reason: String,
    },
    /// A loss that does not fit the outputs, the targets or the views it is applied to.
    #[error("{requirement}: {loss} {reason}")]
    LossMismatch {
        /// Whose loss.
        requirement: String,
        /// The loss.
        loss: String,
        /// Why it does not fit, and what would.
        reason: String,
    },
    /// A model that does not fit the data.
    #[error("the model takes {model} input columns but {population} has {data}")]
    InputWidth {
        /// Columns of the model.
        model: usize,
        /// Columns of the data.
        data: usize,
        /// Whose data.
        population: String,
    },
    /// A name that no requirement has.
    #[error("no requirement is named '{name}'; there are: {known}")]
    UnknownRequirement {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A setting outside its range.
    #[error("{setting} = {value}: must be {allowed}")]
    Setting {
        /// The setting.
        setting: String,
        /// The value given.
        value: f64,
        /// The range.
        allowed: String,
    },
    /// Fewer rows than any certificate at this limit takes.
    #[error(
        "{rows} rows cannot certify a rate of at most {limit}, whatever they show: at least {needed} \
         are needed"
    )]
    TooFewRows {
        /// Rows there are.
        rows: u64,
        /// Rows that could do.
        needed: u64,
        /// The limit, as a rate.
        limit: f64,
    },
    /// A saved state that belongs to another problem, model or learner.
    #[error("this state does not belong to this problem and model: {reason}")]
    State {
        /// What differs.
        reason: String,
    },
}

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// `Ok` if `ok`, otherwise the [`Error::Setting`] that states what is allowed.
    pub fn unless(ok: bool, setting: &str, value: f64, allowed: &str) -> Result<()> {
        if ok {
            Ok(())
        } else {
            Err(Self::Setting { setting: setting.into(), value, allowed: allowed.into() })
        }
    }
}
