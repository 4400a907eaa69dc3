//! `[model]`: the model f_θ.
//!
//! | key | default | meaning |
//! | --- | --- | --- |
//! | `kind` | `auto` | `mlp`, `linear` or `kernel`; for images also `cnn`, `resnet18`. `auto` is `mlp` with the nonlinearity that suits the table, mixed with a linear model where networks are averaged |
//! | `hidden` | `[64]` | `mlp`: widths of the hidden layers |
//! | `activation` | `sigmoid` | `mlp`: or `tanh`, `relu`, `silu`; of `auto`, `sigmoid` or `relu`, whichever is better on validation rows of a small table |
//! | `centres` | 200 | `kernel`: training rows drawn as centres |
//! | `gamma` | 1 / inputs | `kernel`: of exp(−γ‖x − z‖²) |
//! | `degree`, `offset` | none, 1 | `kernel`: (⟨x, z⟩ + offset)^degree instead |
//! | `width` | 16 | `resnet18`: channels of the first stage; 16 is the paper's, 64 the standard one |
//! | `normalise` | true | `cnn`, `resnet18`: pixels to mean 0 and deviation 1, by channel, as the first layer |
//! | `seed` | 0 | `kernel`: of the draw of the centres |

use feasible_nn::{Activation, Kernel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema;
use crate::settings::ModelSettings;

/// `[model]`. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSpec {
    /// The kind of model. Default `auto`.
    pub kind: ModelKind,
    /// `mlp`: widths of the hidden layers. Default `[64]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<Vec<usize>>,
    /// `mlp`: the nonlinearity. Default `sigmoid`; with `kind = "auto"`, `sigmoid` or `relu`, whichever is better on the validation rows of a small table.
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
    /// The settings for this number of inputs, every default filled in.
    pub fn settings(&self, inputs: usize) -> ModelSettings {
        let normalise = self.normalise.unwrap_or(true);
        match self.kind {
            ModelKind::Auto | ModelKind::Mlp => ModelSettings::Mlp {
                hidden: self.hidden.clone().unwrap_or_else(|| vec![64]),
                activation: self.activation.unwrap_or(Activation::Sigmoid),
            },
            ModelKind::Linear => ModelSettings::Linear,
            ModelKind::Kernel => ModelSettings::Kernel {
                kernel: match self.degree {
                    Some(degree) => {
                        Kernel::Polynomial { offset: self.offset.unwrap_or(1.0), degree }
                    }
                    None => Kernel::Rbf { gamma: self.gamma.unwrap_or(1.0 / inputs as f64) },
                },
                centres: self.centres.unwrap_or(200),
                seed: self.seed.unwrap_or(0),
            },
            ModelKind::Cnn => ModelSettings::Cnn { normalise },
            ModelKind::Resnet18 => {
                ModelSettings::Resnet18 { normalise, width: self.width.unwrap_or(16) }
            }
        }
    }

    /// What a problem file says of a network, written out. Layers of its own ask for a network.
    pub(crate) fn fill(&mut self) {
        if self.kind == ModelKind::Auto {
            if self.hidden.is_none() && self.activation.is_none() {
                return;
            }
            self.kind = ModelKind::Mlp;
        }
        if let ModelSettings::Mlp { hidden, activation } = self.settings(1) {
            (self.hidden, self.activation) = (Some(hidden), Some(activation));
        }
    }
}

/// The kind of model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelKind {
    /// A multilayer perceptron. On small tables validation rows choose its nonlinearity and whether long-tailed numbers are piecewise linear; where networks are averaged (`training.folds`), it is mixed
    /// with a linear model by as much as cross-validation says.
    #[default]
    Auto,
    /// A multilayer perceptron.
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

impl ModelKind {
    /// Whether what is trained is a multilayer perceptron.
    pub fn is_mlp(self) -> bool {
        matches!(self, Self::Auto | Self::Mlp)
    }
}
