//! A network as a list of nodes, each reading earlier ones, with its tensors in θ.
//!
//! A node is what is computed in one go: a convolution with what follows it,
//! φ(norm(w ∗ x) + shortcut), or a pooling. A linear layer is a convolution whose window is the whole
//! image; its weights lie in memory as PyTorch's `Linear` after `flatten` has them.

use feasible::{Error, Result};

use crate::activation::Activation;
use crate::conv::ConvNet;
use crate::conv::plan::ConvPlan;
use crate::conv::shape::{ConvShape, Window};
use crate::kernel::conv::BLOCK;
use crate::layout::Tensor;
use crate::shape::{positive, product};

/// What a node computes.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Convolution(Box<Convolution>),
    Pool(Pooling, Window),
}

#[derive(Clone, Debug)]
pub(crate) struct Convolution {
    pub(crate) plan: ConvPlan,
    pub(crate) window: Window,
    /// Its weights: out × in × rows × columns.
    pub(crate) weight: usize,
    pub(crate) after: After,
    pub(crate) shortcut: Option<usize>,
    pub(crate) activation: Option<Activation>,
    /// Where its packed weights begin.
    pub(crate) packed: usize,
    /// Where its weights at points begin.
    pub(crate) points: usize,
    /// Where its per-channel numbers begin.
    pub(crate) channel: usize,
}

/// What follows the sum: places in θ.
#[derive(Clone, Copy, Debug)]
pub(crate) enum After {
    Bias(usize),
    Norm(Norm),
}

/// The places of a BatchNorm in θ, and of its batch statistics in a record of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Norm {
    pub(crate) gamma: usize,
    pub(crate) beta: usize,
    pub(crate) mean: usize,
    pub(crate) variance: usize,
    pub(crate) record: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) op: Op,
    /// What it reads; `None` is the image.
    pub(crate) from: Option<usize>,
    pub(crate) shape: ConvShape,
    /// Where its gradient is kept; see [`flow`](crate::conv::flow).
    pub(crate) gradient: usize,
}

impl Node {
    pub(crate) fn convolution(&self) -> Option<&Convolution> {
        match &self.op {
            Op::Convolution(convolution) => Some(convolution),
            Op::Pool(..) => None,
        }
    }

    pub(crate) fn shortcut(&self) -> Option<usize> {
        self.convolution().and_then(|c| c.shortcut)
    }

    pub(crate) fn norm(&self) -> Option<Norm> {
        match self.convolution()?.after {
            After::Norm(norm) => Some(norm),
            After::Bias(_) => None,
        }
    }
}

/// What a pooling takes of its window. The border counts for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// The largest.
    Max,
    /// The mean over the window's pixels, those of the border counted as zeros (as PyTorch).
    Average,
}

/// A value of the network being built: the image, or what a node computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value(Option<usize>);

/// A convolution and what follows it: φ(norm(w ∗ x) + shortcut).
#[derive(Clone, Debug)]
pub struct Layer {
    name: String,
    channels: usize,
    window: Window,
    norm: Option<String>,
    shortcut: Option<Value>,
    activation: Option<Activation>,
}

impl Layer {
    /// A convolution to `channels` channels, with a bias, named `name`.
    pub fn new(name: impl Into<String>, channels: usize, window: Window) -> Self {
        let name = name.into();
        Self { name, channels, window, norm: None, shortcut: None, activation: None }
    }

    /// BatchNorm, named `name`, instead of the bias.
    pub fn norm(self, name: impl Into<String>) -> Self {
        Self { norm: Some(name.into()), ..self }
    }

    /// Adds another value of the same shape, before the activation.
    pub fn shortcut(self, value: Value) -> Self {
        Self { shortcut: Some(value), ..self }
    }

    /// φ.
    pub fn activation(self, activation: Activation) -> Self {
        Self { activation: Some(activation), ..self }
    }
}

/// Builds a [`ConvNet`] node by node.
///
/// ```
/// use feasible_nn::Activation;
/// use feasible_nn::conv::{Builder, Layer, Pooling, ConvShape, Window};
/// let mut net = Builder::new(ConvShape::new(3, 32, 32))?.normalise(&[0.5; 3], &[0.25; 3])?;
/// let window = Window::new(3).padding(1);
/// let x = net.layer(net.image(), Layer::new("conv", 32, window).norm("bn").activation(Activation::Relu))?;
/// let x = net.pool(x, Pooling::Max, Window::new(2).stride(2))?;
/// let x = net.linear(x, "fc", 10)?;
/// let model = net.finish(x)?;
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    image: ConvShape,
    mean: Vec<f64>,
    deviation: Vec<f64>,
    nodes: Vec<Node>,
    trainable: Vec<(String, Vec<usize>)>,
    statistics: Vec<(String, Vec<usize>)>,
    /// Numbers so far: θ's trainable part, its statistics, packed weights, per-channel numbers,
    /// weights at points.
    counts: [usize; 5],
}

impl Builder {
    /// A network for images of this shape, pixels in \[0, 1\], channel by channel, row by row.
    ///
    /// # Errors
    /// A size of 0.
    pub fn new(image: ConvShape) -> Result<Self> {
        image.check("the image")?;
        let (mean, deviation) = (vec![0.0; image.channels], vec![1.0; image.channels]);
        let (nodes, trainable, statistics) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { image, mean, deviation, nodes, trainable, statistics, counts: [0; 5] })
    }

    /// Makes (x − mean)/deviation of each channel the first thing the network does.
    ///
    /// # Errors
    /// Not one number per channel, a number that is not finite, or a deviation that is not positive.
    pub fn normalise(mut self, mean: &[f64], deviation: &[f64]) -> Result<Self> {
        let lengths = [("means of the channels", mean), ("deviations of the channels", deviation)];
        for (what, given) in lengths {
            if given.len() != self.image.channels {
                let expected = format!("one for each of the {} channels", self.image.channels);
                return Err(Error::Shape { what: what.into(), expected, found: given.len() });
            }
        }
        for (&mean, &deviation) in mean.iter().zip(deviation) {
            Error::unless(mean.is_finite(), "mean of a channel", mean, "a number")?;
            let allowed = "a positive number";
            let positive = deviation > 0.0 && deviation.is_finite();
            Error::unless(positive, "deviation of a channel", deviation, allowed)?;
        }
        (self.mean, self.deviation) = (mean.to_vec(), deviation.to_vec());
        Ok(self)
    }

    /// The image, normalised. Only one layer may read it.
    pub fn image(&self) -> Value {
        Value(None)
    }

    /// The shape of a value.
    pub fn shape(&self, value: Value) -> ConvShape {
        value.0.map_or(self.image, |node| self.nodes[node].shape)
    }

    fn tensor(&mut self, name: String, shape: Vec<usize>) -> usize {
        let at = self.counts[0];
        self.counts[0] += shape.iter().product::<usize>();
        self.trainable.push((name, shape));
        at
    }

    fn statistic(&mut self, name: String, channels: usize) -> usize {
        let at = self.counts[1];
        self.counts[1] += channels;
        self.statistics.push((name, vec![channels]));
        at
    }

    /// Adds a convolution and what follows it.
    ///
    /// # Errors
    /// A size of 0 or one beyond what memory is for, a window that does not fit, a shortcut of another
    /// shape, or the image read a second time.
    pub fn layer(&mut self, from: Value, layer: Layer) -> Result<Value> {
        let shape = vec![0; 4];
        self.convolution(from, layer, shape)
    }

    fn convolution(&mut self, from: Value, layer: Layer, mut shape: Vec<usize>) -> Result<Value> {
        let Layer { name, channels, window, norm, shortcut, activation } = layer;
        positive(&format!("channels of '{name}'"), channels)?;
        let source = self.shape(from);
        let (height, width) = window.places(source, &format!("'{name}'"))?;
        let to = ConvShape { channels, height, width };
        to.check(&format!("the value of '{name}'"))?;
        let weights = [to.blocks() * BLOCK, source.blocks() * BLOCK, window.size.0 * window.size.1];
        let weights = product(&format!("weights of '{name}'"), &weights)?;
        let so_far = self.counts[0] + weights;
        product("parameters of the network", &[so_far])?;
        let shortcut = match shortcut {
            None => None,
            Some(Value(node)) => {
                let found = self.shape(Value(node));
                if node.is_none() || found != to {
                    return Err(Error::Shape {
                        what: format!("shortcut into '{name}'"),
                        expected: format!("{to:?}, of a layer"),
                        found: found.len(),
                    });
                }
                node
            }
        };
        if from.0.is_none() && !self.nodes.is_empty() {
            let (what, expected) = (format!("input of '{name}'"), "a layer's value".to_string());
            return Err(Error::Shape { what, expected, found: 0 });
        }
        let plan = ConvPlan::new(source, to, window, from.0.is_none());
        match &mut shape[..] {
            [out, flat] => (*out, *flat) = (channels, source.len()),
            shape => {
                shape.copy_from_slice(&[channels, source.channels, window.size.0, window.size.1])
            }
        }
        let weight = self.tensor(format!("{name}.weight"), shape);
        let after = match norm {
            None => After::Bias(self.tensor(format!("{name}.bias"), vec![channels])),
            Some(norm) => {
                let gamma = self.tensor(format!("{norm}.weight"), vec![channels]);
                let beta = self.tensor(format!("{norm}.bias"), vec![channels]);
                let mean = self.statistic(format!("{norm}.running_mean"), channels);
                let variance = self.statistic(format!("{norm}.running_var"), channels);
                After::Norm(Norm { gamma, beta, mean, variance, record: mean })
            }
        };
        let [_, _, packed, channel, points] = self.counts;
        self.counts[2] += plan.weights();
        self.counts[3] += to.blocks() * 16;
        self.counts[4] += plan.points();
        let convolution = Convolution {
            plan,
            window,
            weight,
            after,
            shortcut,
            activation,
            packed,
            points,
            channel,
        };
        Ok(self.push(Op::Convolution(Box::new(convolution)), from.0, to))
    }

    fn push(&mut self, op: Op, from: Option<usize>, shape: ConvShape) -> Value {
        self.nodes.push(Node { op, from, shape, gradient: 0 });
        Value(Some(self.nodes.len() - 1))
    }

    /// Adds a pooling.
    ///
    /// # Errors
    /// A window that does not fit, or a pooling of the image itself.
    pub fn pool(&mut self, from: Value, pooling: Pooling, window: Window) -> Result<Value> {
        let source = self.shape(from);
        if from.0.is_none() {
            let (what, expected) =
                ("input of a pooling".to_string(), "a layer's value".to_string());
            return Err(Error::Shape { what, expected, found: source.len() });
        }
        let (height, width) = window.places(source, "a pooling")?;
        let to = ConvShape { height, width, ..source };
        Ok(self.push(Op::Pool(pooling, window), from.0, to))
    }

    /// The mean over all pixels.
    ///
    /// # Errors
    /// As [`Builder::pool`].
    pub fn global_average(&mut self, from: Value) -> Result<Value> {
        let ConvShape { height, width, .. } = self.shape(from);
        let window = Window { size: (height, width), stride: 1, padding: 0 };
        self.pool(from, Pooling::Average, window)
    }

    /// A linear layer with a bias on all numbers of a value.
    ///
    /// # Errors
    /// No outputs.
    pub fn linear(&mut self, from: Value, name: &str, outputs: usize) -> Result<Value> {
        self.dense(from, name, outputs, None)
    }

    /// A linear layer followed by φ.
    ///
    /// # Errors
    /// No outputs.
    pub fn dense(
        &mut self,
        from: Value,
        name: &str,
        outputs: usize,
        activation: Option<Activation>,
    ) -> Result<Value> {
        let ConvShape { height, width, .. } = self.shape(from);
        let window = Window { size: (height, width), stride: 1, padding: 0 };
        let layer = Layer { activation, ..Layer::new(name, outputs, window) };
        self.convolution(from, layer, vec![0; 2])
    }

    /// The network whose outputs are this value, flattened channel by channel: a value of one pixel.
    ///
    /// # Errors
    /// A value that is not the last one made, of more than one pixel or behind an activation other
    /// than none; or two tensors of one name.
    pub fn finish(mut self, outputs: Value) -> Result<ConvNet> {
        let shape = self.shape(outputs);
        let last = self.nodes.len().checked_sub(1);
        let plain = last.is_some_and(|n| {
            self.nodes[n].convolution().is_some_and(|c| {
                c.activation.is_none() && c.shortcut.is_none() && matches!(c.after, After::Bias(_))
            })
        });
        if outputs.0 != last || !plain || shape.height * shape.width != 1 {
            return Err(Error::Shape {
                what: "outputs of the network".into(),
                expected: "the last layer's, linear, of one pixel".into(),
                found: shape.len(),
            });
        }
        let used = |n: usize| {
            self.nodes[n + 1..].iter().any(|m| m.from == Some(n) || m.shortcut() == Some(n))
        };
        if let Some(idle) = (0..self.nodes.len() - 1).find(|&n| !used(n)) {
            return Err(Error::Shape {
                what: format!("layer {idle} of the network"),
                expected: "a later layer that reads it".into(),
                found: 0,
            });
        }
        let trainable = self.counts[0];
        let mut offset = 0;
        let mut layout = Vec::with_capacity(self.trainable.len() + self.statistics.len());
        for (name, shape) in self.trainable.drain(..).chain(self.statistics.drain(..)) {
            if layout.iter().any(|t: &Tensor| t.name == name) {
                return Err(Error::DuplicateName { name });
            }
            let tensor = Tensor { name, shape, offset };
            offset += tensor.len();
            layout.push(tensor);
        }
        for node in &mut self.nodes {
            if let Op::Convolution(convolution) = &mut node.op
                && let After::Norm(norm) = &mut convolution.after
            {
                norm.mean += trainable;
                norm.variance += trainable;
            }
        }
        let normalisation = self.mean.into_iter().zip(self.deviation).collect();
        Ok(ConvNet::assemble(self.image, normalisation, self.nodes, layout, trainable, self.counts))
    }
}
