//! The problems that come with the program: the paper's experiments.

use crate::error::{Error, Result};

/// A problem file inside the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmbeddedProblem {
    /// What it is called: `adult`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! problems {
    ($($name:literal),* $(,)?) => {
        [$(EmbeddedProblem {
            name: $name,
            text: include_str!(concat!("../problems/", $name, ".toml")),
        }),*]
    };
}

const PROBLEMS: [EmbeddedProblem; 15] = problems![
    "adult",
    "adult-unconstrained",
    "adult-ace",
    "adult-pointwise",
    "compas",
    "compas-unconstrained",
    "compas-7",
    "compas-paper",
    "fashion-mnist-nominal",
    "fashion-mnist-eps04",
    "fashion-mnist-eps10",
    "fashion-mnist-prior",
    "cifar10-nominal",
    "cifar10-eps02",
    "cifar10-prior",
];

/// All embedded problems.
pub fn problems() -> &'static [EmbeddedProblem] {
    &PROBLEMS
}

/// The embedded problem of a name.
///
/// # Errors
/// [`Error::UnknownProblem`], with the nearest name.
pub fn problem(name: &str) -> Result<EmbeddedProblem> {
    PROBLEMS.iter().find(|problem| problem.name == name).copied().ok_or_else(|| {
        let names = || PROBLEMS.iter().map(|problem| problem.name);
        let nearest = feasible_data::nearest(name, names());
        let nearest = nearest.map_or(".".to_string(), |name| format!(": did you mean '{name}'?"));
        let all = names().collect::<Vec<_>>().join(", ");
        let hint = format!("{nearest} Name a file, or an embedded problem: {all}");
        Error::UnknownProblem { name: name.to_string(), hint }
    })
}
