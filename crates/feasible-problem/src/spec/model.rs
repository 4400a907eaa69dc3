//! `[model]`: the model f_θ.
//!
//! | key | default | meaning |
//! | --- | --- | --- |
//! | `kind` | `mlp` | or `linear`, or `kernel`; for images also `cnn`, `resnet18` |
//! | `hidden` | `[64]` | `mlp`: widths of the hidden layers |
//! | `activation` | `sigmoid` | `mlp`: or `tanh`, `relu`, `silu` |
//! | `centres` | 200 | `kernel`: training rows drawn as centres |
//! | `gamma` | 1 / inputs | `kernel`: of exp(−γ‖x − z‖²) |
//! | `degree`, `offset` | none, 1 | `kernel`: (⟨x, z⟩ + offset)^degree instead |
//! | `width` | 16 | `resnet18`: channels of the first stage; 16 is the paper's, 64 the standard one |
//! | `normalise` | true | `cnn`, `resnet18`: pixels to mean 0 and deviation 1, by channel, as the first layer |
//! | `seed` | 0 | `kernel`: of the draw of the centres |

use feasible_nn::Activation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema;

/// `[model]`. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSpec {
    /// The kind of model. Default `mlp`.
    pub kind: ModelKind,
    /// `mlp`: widths of the hidden layers. Default `[64]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<Vec<usize>>,
    /// `mlp`: the nonlinearity. Default `sigmoid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::activation")]
    pub activation: Option<Activation>,
    /// `kernel`: number of centres. Default 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub centres: Option<usize>,
    /// `kernel`: γ of exp(−γ‖x − z‖²). Default 1 / number of inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
    /// `kernel`: the degree of a polynomial kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degree: Option<u32>,
    /// `kernel`: the offset of a polynomial kernel. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<f64>,
    /// `resnet18`: channels of the first stage. Default 16.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<usize>,
    /// `cnn`, `resnet18`: whether the first layer takes pixels to mean 0 and deviation 1, by channel.
    /// Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalise: Option<bool>,
    /// `kernel`: seed of the draw of the centres. Default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl ModelSpec {
    /// What the kind of model leaves open, filled in.
    pub(crate) fn fill(&mut self) {
        if self.kind == ModelKind::Mlp {
            self.hidden.get_or_insert_with(|| vec![64]);
            self.activation.get_or_insert(Activation::Sigmoid);
        }
    }
}

/// The kind of model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelKind {
    /// A multilayer perceptron.
    #[default]
    Mlp,
    /// Linear, logistic or softmax regression.
    Linear,
    /// A finite kernel expansion.
    Kernel,
    /// A small convolutional network, for images.
    Cnn,
    /// A residual network of 18 layers, for images.
    Resnet18,
}
