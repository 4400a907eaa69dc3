//! φ, applied to every number between two layers.

use serde::{Deserialize, Serialize};

/// The nonlinearity of a [multilayer perceptron](crate::Mlp).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// φ(z) = 1 / (1 + e⁻ᶻ); φ' = a(1 − a) with a = φ(z).
    Sigmoid,
    /// φ(z) = tanh z; φ' = 1 − a².
    Tanh,
    /// φ(z) = max(0, z); φ' = 1 where a > 0, else 0 (also at z = 0).
    Relu,
    /// φ(z) = z σ(z), also called swish; φ' = σ(z) (1 + z (1 − σ(z))), not a function of a, so
    /// the forward pass keeps it.
    Silu,
}

impl Activation {
    /// Whether φ' must be kept by the forward pass because a = φ(z) does not determine it.
    pub(crate) fn keeps_slope(self) -> bool {
        self == Self::Silu
    }
}
