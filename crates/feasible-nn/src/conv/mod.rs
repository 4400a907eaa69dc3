//! Convolutional networks: $f_\theta(x)$ for images x, pixels in \[0, 1\].
//!
//! A [`ConvNet`] is a list of layers φ(norm(w ∗ x) + shortcut), poolings and linear layers, put together
//! by a [`Builder`]; [`ConvNet::small_cnn`] and [`ConvNet::resnet18`] are ready made. An image is a row
//! of the inputs, channel by channel, row by row; its normalisation is the first thing the network
//! does, so that a perturbation is measured in pixels.
//!
//! # BatchNorm
//!
//! θ ends with the running statistics: entries from [`Model::trainable_count`] on, which no optimiser
//! moves. In [`Mode::Training`] every view of a batch is normalised by its own mean and variance,
//! $\hat z = (z - \mu_B)/\sqrt{\sigma_B^2 + 10^{-5}}$, and [`Model::absorb`] afterwards moves the running
//! ones by a tenth of the way (the variance with n − 1), view by view. In [`Mode::Evaluation`] the running
//! statistics are constants; they are multiplied into the weights, so that the normalisation
//! costs nothing, and the gradient with respect to γ and β is taken through that product.
//!
//! # How it is computed
//!
//! Channels come in blocks of 16 from end to end (see [`kernel::conv`](crate::kernel::conv)). In
//! training only the sums z = w ∗ x and the values after shortcuts are kept; the normalisation and
//! the activation are applied whenever z is read, while it is packed for the next convolution,
//! and so is the gradient of the normalisation, which is affine in the gradient after it and in z.
//! In evaluation bias, shortcut and ReLU are part of the convolution's last store. Images are
//! spread over the threads of the pool the call runs in; the bits of the result do not depend on how
//! many there are.

mod absorb;
mod backward;
mod flow;
mod forward;
mod graph;
mod image;
mod inference;
mod networks;
pub(crate) mod plan;
mod pool;
mod shape;
mod spread;
mod weights;

use std::marker::PhantomData;
use std::ops::Range;

use feasible::aligned::AlignedVec;
use feasible::{Batch, Mode, Model, Pass};

pub use graph::{Builder, Layer, Pooling, Value};
pub use inference::{InferenceNode, InferenceOperation};
pub use networks::{resnet18, small_cnn};
pub use shape::{ConvShape, Window};

use crate::initial;
use crate::kernel::Kernels;
use crate::kernel::conv::BLOCK;
use crate::kernel::conv::planes::{Channels, Reading};
use crate::layout::Tensor;
use crate::simd::Level;
use flow::Parts;
use graph::{Node, Op};

/// What is added to a variance before its root is taken.
pub(crate) const EPSILON: f64 = 1e-5;
/// Numbers of the few images that are taken together through the front nodes, in the largest node: the
/// values of three or four nodes stay in the second-level cache.
const FEW_NUMBERS: usize = 180_000;
/// How far the running statistics go towards those of a batch.
pub(crate) const MOMENTUM: f64 = 0.1;

/// A convolutional network; see the [module](self).
///
/// ```
/// use feasible::Model;
/// use feasible_nn::conv::{ConvNet, ConvShape};
/// let model = ConvNet::resnet18(ConvShape::new(1, 28, 28), 10, 16)?;
/// assert_eq!(model.trainable_count(), 701_178);
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ConvNet<T = f32> {
    image: ConvShape,
    /// Mean and deviation per channel.
    normalisation: Vec<(f64, f64)>,
    nodes: Vec<Node>,
    parts: Vec<Parts>,
    /// How many nodes take a few images at a time; see [`flow::front`].
    front: usize,
    /// Buffers for gradients.
    buffers: usize,
    layout: Vec<Tensor>,
    trainable: usize,
    /// Running statistics.
    statistics: usize,
    /// Numbers of all packed weights.
    packed: usize,
    /// Numbers, one per channel of every convolution, in blocks.
    channels: usize,
    /// Numbers of all weights at points.
    points: usize,
    level: Level,
    real: PhantomData<T>,
}

/// What a [`ConvNet`] keeps of a forward pass.
#[derive(Debug, Default)]
pub struct ConvTape<T> {
    /// Memory by what it is for, see below.
    slots: Vec<AlignedVec<T>>,
    /// The θ that the packed weights were made of, for which mode, and whether those of backward passes were, too.
    key: Vec<T>,
    made: Option<Mode>,
    made_back: bool,
    /// The batch statistics of the forward passes in training since they were last absorbed, in order.
    statistics: Vec<T>,
}

/// Slots of the tape: memory without meaning, packed weights (forward, backward, bias), sums per image, sums per
/// node, gradients of weights by parts, weights at points (forward, backward), gradients. Then for each view:
/// coefficients of the normalisations, and two slots per node.
const SCRATCH: usize = 0;
const PACKED: usize = 1;
const BACK: usize = 2;
const BIAS: usize = 3;
const SUMS: usize = 4;
const TOTALS: usize = 5;
const PARTS: usize = 6;
const POINTED: usize = 7;
const BACK_POINTED: usize = 8;
const GRADIENT: usize = 9;

impl ConvNet {
    pub(crate) fn assemble(
        image: ConvShape,
        normalisation: Vec<(f64, f64)>,
        mut nodes: Vec<Node>,
        layout: Vec<Tensor>,
        trainable: usize,
        [_, statistics, packed, channels, points]: [usize; 5],
    ) -> Self {
        let front = flow::front(&nodes);
        let (parts, buffers) = flow::plan(&mut nodes, front);
        let (level, real) = (Level::best(), PhantomData);
        Self {
            image,
            normalisation,
            nodes,
            parts,
            front,
            buffers,
            layout,
            trainable,
            statistics,
            packed,
            channels,
            points,
            level,
            real,
        }
    }

    /// The same network computed in `f64`, by plain loops; its [`Model::initial`] has the same numbers
    /// before rounding.
    pub fn double(&self) -> ConvNet<f64> {
        let Self { image, normalisation, nodes, parts, front, buffers, layout, .. } = self.clone();
        let Self { trainable, statistics, packed, channels, points, level, .. } = *self;
        let real = PhantomData;
        ConvNet {
            image,
            normalisation,
            nodes,
            parts,
            front,
            buffers,
            layout,
            trainable,
            statistics,
            packed,
            channels,
            points,
            level,
            real,
        }
    }
}

impl<T: Kernels> ConvNet<T> {
    /// Computes with these instructions instead of the best ones.
    pub fn with_level(self, level: Level) -> Self {
        Self { level, ..self }
    }

    /// The shape of the images.
    pub fn image(&self) -> ConvShape {
        self.image
    }

    /// The tensors in θ, named as in PyTorch's state dict; `….running_mean` and `….running_var`
    /// come last.
    pub fn layout(&self) -> Vec<Tensor> {
        self.layout.clone()
    }

    /// Numbers that a pass over this number of images takes beside θ and its gradient, about.
    pub fn scratch(&self, images: usize) -> usize {
        let values = |node: &Node| node.shape.blocked();
        let all = self.nodes.iter().map(values).fold(0, usize::saturating_add);
        let largest = self.nodes.iter().map(values).max().unwrap_or(0);
        // What is stored of every value, sums before shortcuts, and gradients.
        let each = all.saturating_mul(2).saturating_add(largest.saturating_mul(self.buffers));
        // Weights packed both ways, their gradients by parts, and both at points.
        let weights = self.packed.saturating_mul(4).saturating_add(self.points.saturating_mul(2));
        images.saturating_mul(each).saturating_add(weights)
    }

    /// Multiplications of a forward pass of one image, for measuring speed.
    pub fn multiplications(&self) -> usize {
        self.nodes.iter().filter_map(Node::convolution).map(|c| c.plan.multiplications()).sum()
    }

    /// The slot of the coefficients of the normalisations in a view: scale, shift, mean, 1/deviation.
    fn coefficients(&self, view: usize) -> usize {
        GRADIENT + self.buffers + view * (1 + 2 * self.nodes.len())
    }

    /// The slot of what is stored of a node's value.
    fn stored(&self, view: usize, node: usize) -> usize {
        self.coefficients(view) + 1 + 2 * node
    }

    /// The slot of a convolution's sums z: its own where a shortcut has still to be added.
    fn sums(&self, view: usize, node: usize, mode: Mode) -> usize {
        self.stored(view, node) + usize::from(self.joins(node, mode))
    }

    /// Nodes and images in the order they are computed in: all nodes for all images, or, if images
    /// may be taken apart, the front nodes for a few images after the other first.
    fn stretches(
        &self,
        images: usize,
        apart: bool,
    ) -> impl DoubleEndedIterator<Item = (Range<usize>, Range<usize>)> {
        let (all, split) = (self.nodes.len(), if apart { self.front } else { 0 });
        let front = || self.nodes[..split].iter();
        let largest = front().map(|n| n.shape.blocked()).max().unwrap_or(1);
        let group = front().filter_map(Node::convolution).map(|c| c.plan.group).max().unwrap_or(1);
        let few = (FEW_NUMBERS / largest / group).max(1) * group * spread::strands();
        let times = if split == 0 { 0 } else { images.div_ceil(few) };
        let some = (0..times).map(move |k| (0..split, k * few..((k + 1) * few).min(images)));
        some.chain(std::iter::once((split..all, 0..images)))
    }

    /// Whether a node's normalisation is by batch statistics, and so applied by its readers.
    fn is_lazy(&self, node: usize, mode: Mode) -> bool {
        mode == Mode::Training && self.nodes[node].norm().is_some()
    }

    /// Whether a shortcut is added in a pass of its own.
    fn joins(&self, node: usize, mode: Mode) -> bool {
        self.nodes[node]
            .shortcut()
            .is_some_and(|s| self.is_lazy(node, mode) || self.is_lazy(s, mode) || !self.is_value(s))
    }

    /// Whether, normalisation aside, what is stored is the value after the activation.
    fn is_value(&self, node: usize) -> bool {
        use crate::activation::Activation::Relu;
        self.nodes[node].convolution().is_none_or(|c| matches!(c.activation, None | Some(Relu)))
    }

    /// How block `block` of a node is to be read: as its value, or, if `back`, with the activation
    /// whose slope a gradient has to be multiplied by.
    fn reading(
        &self,
        node: usize,
        block: usize,
        mode: Mode,
        coefficients: &[T],
        back: bool,
    ) -> Reading<T> {
        let Op::Convolution(c) = &self.nodes[node].op else {
            return Reading { affine: None, activation: None };
        };
        let lazy = self.is_lazy(node, mode) && c.shortcut.is_none();
        let affine = lazy.then(|| {
            let at = c.channel + block * BLOCK;
            let of = |k: usize| channels(coefficients, k * self.channels + at);
            (of(0), of(1))
        });
        let stored_after = !lazy && self.is_value(node);
        Reading { affine, activation: c.activation.filter(|_| back || !stored_after) }
    }
}

/// 16 numbers from `at` on.
fn channels<T: Kernels>(from: &[T], at: usize) -> Channels<T> {
    std::array::from_fn(|i| from[at + i])
}

impl<T: Kernels> Model for ConvNet<T> {
    type Real = T;
    type Tape = ConvTape<T>;

    fn input_width(&self) -> usize {
        self.image.len()
    }

    fn output_width(&self) -> usize {
        self.nodes[self.nodes.len() - 1].shape.channels
    }

    fn parameter_count(&self) -> usize {
        self.trainable + self.statistics
    }

    fn trainable_count(&self) -> usize {
        self.trainable
    }

    /// It spreads images over threads itself, and BatchNorm couples them.
    fn needs_whole_batch(&self) -> bool {
        true
    }

    /// Through BatchNorm, if it has any.
    fn couples_rows(&self) -> bool {
        self.statistics > 0
    }

    /// He's start: convolutions uniform with variance 2/fan-in, linear layers and biases uniform on
    /// ±1/√fan-in, γ = 1, β = 0, running means 0 and variances 1.
    fn initial(&self, seed: u64) -> Vec<T> {
        let mut theta = vec![T::ZERO; self.parameter_count()];
        let mut fan_in = 1;
        for (t, tensor) in self.layout.iter().enumerate() {
            let out = &mut theta[tensor.range()];
            match tensor.shape[..] {
                [_] if tensor.name.ends_with(".running_var") => out.fill(T::ONE),
                [_] if tensor.name.ends_with(".running_mean") => {}
                // γ and β follow weights without a bias of their own.
                [_] if self.is_gamma(tensor) => out.fill(T::ONE),
                [_] if self.is_beta(tensor) => {}
                [_] => initial::uniform(seed, t as u64, fan_in, out),
                _ => {
                    fan_in = tensor.shape[1..].iter().product();
                    initial::uniform(seed, t as u64, fan_in, out);
                    if tensor.shape.len() == 4 {
                        let he = T::from_f64(6f64.sqrt());
                        out.iter_mut().for_each(|w| *w *= he);
                    }
                }
            }
        }
        theta
    }

    fn forward(
        &self,
        theta: &[T],
        batch: &Batch<'_>,
        pass: Pass,
        tape: &mut ConvTape<T>,
        outputs: &mut [T],
    ) {
        self.forward_views(theta, batch, pass.mode, tape, outputs);
    }

    fn backward(
        &self,
        theta: &[T],
        batch: &Batch<'_>,
        tape: &mut ConvTape<T>,
        seeds: &[T],
        gradient: &mut [T],
    ) {
        assert_eq!(gradient.len(), self.parameter_count());
        self.backward_views(theta, batch, tape, seeds, Some(gradient), None);
    }

    fn has_input_gradient(&self) -> bool {
        true
    }

    fn input_gradient(
        &self,
        theta: &[T],
        batch: &Batch<'_>,
        tape: &mut ConvTape<T>,
        seeds: &[T],
        gradient: &mut [T],
    ) {
        assert_eq!(gradient.len(), batch.output_rows() * self.input_width());
        self.backward_views(theta, batch, tape, seeds, None, Some(gradient));
    }

    fn absorb(&self, theta: &mut [T], tape: &mut ConvTape<T>) {
        self.absorb_statistics(theta, &tape.statistics);
        tape.statistics.clear();
    }
}

impl<T: Kernels> ConvNet<T> {
    fn is_gamma(&self, tensor: &Tensor) -> bool {
        self.nodes.iter().filter_map(Node::norm).any(|norm| norm.gamma == tensor.offset)
    }

    fn is_beta(&self, tensor: &Tensor) -> bool {
        self.nodes.iter().filter_map(Node::norm).any(|norm| norm.beta == tensor.offset)
    }
}
