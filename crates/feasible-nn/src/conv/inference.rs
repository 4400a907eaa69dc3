//! A network in evaluation, written out operation by operation, for whoever computes it elsewhere.

use crate::activation::Activation;
use crate::conv::ConvNet;
use crate::conv::graph::{Op, Pooling};
use crate::conv::shape::{ConvShape, Window};
use crate::conv::weights::folded;

/// An operation of a network in evaluation. See [`ConvNet::inference`].
#[derive(Clone, Debug, PartialEq)]
pub struct InferenceNode {
    /// The node that it reads, by its place in the list; `None` is the image, normalised.
    pub from: Option<usize>,
    /// The shape of what it reads.
    pub input: ConvShape,
    /// The shape of what it gives.
    pub output: ConvShape,
    /// What it does.
    pub operation: InferenceOperation,
}

/// What an [`InferenceNode`] does.
#[derive(Clone, Debug, PartialEq)]
pub enum InferenceOperation {
    /// φ(w ∗ x + b + shortcut).
    Convolution {
        /// w: out × in × rows × columns.
        weight: Vec<f32>,
        /// b, one for each channel that it gives.
        bias: Vec<f32>,
        /// Where w goes; a linear layer's window is all that it reads.
        window: Window,
        /// The node that is added before φ.
        shortcut: Option<usize>,
        /// φ.
        activation: Option<Activation>,
    },
    /// A pooling.
    Pool(Pooling, Window),
}

impl ConvNet {
    /// Mean and deviation of the pixels of each channel: the network sees (x − mean)/deviation.
    pub fn normalisation(&self) -> &[(f64, f64)] {
        &self.normalisation
    }

    /// The network in [`Mode::Evaluation`](feasible::Mode::Evaluation) as a list of operations, each reading earlier ones; the last gives the outputs.
    /// Running statistics are multiplied into the weights, as evaluation itself does.
    ///
    /// ```
    /// use feasible::Model;
    /// use feasible_nn::conv::{ConvNet, ConvShape};
    /// let model = ConvNet::resnet18(ConvShape::new(1, 28, 28), 10, 16)?;
    /// let nodes = model.inference(&model.initial(0));
    /// assert_eq!(nodes.last().map(|node| node.output), Some(ConvShape::new(10, 1, 1)));
    /// # Ok::<(), feasible::Error>(())
    /// ```
    pub fn inference(&self, theta: &[f32]) -> Vec<InferenceNode> {
        let shape = |node: Option<usize>| node.map_or(self.image, |node| self.nodes[node].shape);
        let node = |node: &crate::conv::graph::Node| {
            let operation = match &node.op {
                Op::Pool(pooling, window) => InferenceOperation::Pool(*pooling, *window),
                Op::Convolution(of) => {
                    let (channels, each) =
                        (of.plan.to.channels, of.plan.from.channels * of.plan.taps);
                    let mut weight = theta[of.weight..of.weight + channels * each].to_vec();
                    let mut bias = Vec::with_capacity(channels);
                    for (channel, weight) in weight.chunks_exact_mut(each).enumerate() {
                        let (scale, offset) = folded(of.after, theta, channel);
                        weight.iter_mut().for_each(|w| *w *= scale as f32);
                        bias.push(offset as f32);
                    }
                    let (shortcut, activation) = (of.shortcut, of.activation);
                    InferenceOperation::Convolution {
                        weight,
                        bias,
                        window: of.window,
                        shortcut,
                        activation,
                    }
                }
            };
            InferenceNode {
                from: node.from,
                input: shape(node.from),
                output: node.shape,
                operation,
            }
        };
        self.nodes.iter().map(node).collect()
    }
}
