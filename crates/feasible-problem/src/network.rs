//! The model a problem file names, as one type.

use feasible::{Batch, Inputs, Model, Pass, Purpose, Stream};
use feasible_data::TargetEncoder;
use feasible_data::image::ImageShape;
use feasible_nn::conv::{self, Builder, ConvNet};
use feasible_nn::{Activation, Kernel, KernelExpansion, Linear, Mlp, Shortcut, Tensor};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::loss::LossName;
use crate::memory;
use crate::settings::ModelSettings;
use crate::units::OutputUnits;

/// A model of one of the kinds a problem file can name, computed in `f32`, with outputs in the units of the target.
#[derive(Clone, Debug)]
pub struct Network {
    body: Body,
    units: Option<OutputUnits>,
}

#[derive(Clone, Debug)]
enum Body {
    /// A multilayer perceptron.
    Mlp(Mlp),
    /// One with a linear model beside it.
    Shortcut(Shortcut),
    /// A linear model.
    Linear(Linear),
    /// A kernel expansion, with its centres (M × d).
    Kernel(Box<KernelExpansion>, Vec<f32>),
    /// A convolutional network, with what it was made from.
    Conv(Box<ConvNet>, Convolutional),
}

/// All that is needed to make a convolutional network again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Convolutional {
    /// The size of an image.
    pub image: ImageShape,
    /// k.
    pub outputs: usize,
    /// `resnet18`: channels of the first stage; `None` is the small network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<usize>,
    /// What is subtracted from the pixels of each channel.
    pub mean: Vec<f64>,
    /// What they are then divided by.
    pub deviation: Vec<f64>,
}

impl Convolutional {
    fn network(&self) -> Result<ConvNet> {
        let ImageShape { channels, height, width } = self.image;
        // The builder takes memory for each channel.
        for (what, given) in [("means", &self.mean), ("deviations", &self.deviation)] {
            if given.len() != channels {
                let reason = format!("{} {what} for {channels} channels", given.len());
                return Err(Error::unfit("convolutional network", reason));
            }
        }
        let builder = Builder::new(conv::ConvShape::new(channels, height, width))?;
        let builder = builder.normalise(&self.mean, &self.deviation)?;
        Ok(match self.width {
            Some(width) => conv::resnet18(builder, self.outputs, width)?,
            None => conv::small_cnn(builder, self.outputs)?,
        })
    }
}

/// All that is needed to make a [`Network`] again, but for its centres.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum NetworkShape {
    /// A multilayer perceptron.
    Mlp {
        /// d, h₁, …, k.
        widths: Vec<usize>,
        /// φ.
        activation: Activation,
        /// Whether a linear model is added to it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        shortcut: bool,
    },
    /// A linear model.
    Linear {
        /// d.
        inputs: usize,
        /// k.
        outputs: usize,
    },
    /// A kernel expansion.
    Kernel {
        /// d.
        inputs: usize,
        /// k.
        outputs: usize,
        /// κ.
        kernel: Kernel,
    },
    /// A small convolutional network.
    Cnn(Convolutional),
    /// A residual network.
    Resnet18(Convolutional),
}

impl NetworkShape {
    /// Numbers in and numbers out; `None` for a network without layers, or of inputs beyond all memory.
    pub fn ends(&self) -> Option<(usize, usize)> {
        match self {
            Self::Mlp { widths, .. } => match widths[..] {
                [inputs, .., outputs] => Some((inputs, outputs)),
                _ => None,
            },
            Self::Linear { inputs, outputs } | Self::Kernel { inputs, outputs, .. } => {
                Some((*inputs, *outputs))
            }
            Self::Cnn(of) | Self::Resnet18(of) => {
                let ImageShape { channels, height, width } = of.image;
                let inputs = channels.checked_mul(height)?.checked_mul(width)?;
                Some((inputs, of.outputs))
            }
        }
    }
}

/// Outputs of a model for a target: one for each class, or one for each number.
pub fn output_width(target: &TargetEncoder, loss: LossName) -> usize {
    match target.classes() {
        None => target.coordinates().len().max(1),
        Some(classes) if !loss.wants_one_output() => classes.len(),
        _ => 1,
    }
}

impl From<Body> for Network {
    fn from(body: Body) -> Self {
        Self { body, units: None }
    }
}

impl Network {
    /// The model of these settings for these training inputs, which are images if they have a shape.
    ///
    /// # Errors
    /// Settings outside their range; a network for images where there are none.
    pub fn new(
        settings: &ModelSettings,
        inputs: &Inputs,
        image: Option<ImageShape>,
        outputs: usize,
    ) -> Result<Self> {
        let width = inputs.width();
        let (normalise, wide) = match settings {
            ModelSettings::Mlp { hidden, activation } => {
                let mut widths = vec![width];
                widths.extend(hidden);
                widths.push(outputs);
                return Ok(Body::Mlp(Mlp::new(&widths, *activation)?).into());
            }
            ModelSettings::Linear => {
                return Ok(Body::Linear(Linear::new(width, outputs)?).into());
            }
            ModelSettings::Kernel { kernel, centres, seed } => {
                let count = (*centres).min(inputs.rows());
                let numbers = (count as u64).saturating_mul(width as u64);
                if let Some(reason) = memory::too_much(numbers.saturating_mul(4 * 4)) {
                    return Err(Error::unfit("model.centres", reason));
                }
                let mut rows: Vec<u32> = (0..inputs.rows() as u32).collect();
                Stream::new(*seed, Purpose::Initial, u64::MAX, 0).shuffle(&mut rows);
                rows.truncate(count);
                rows.sort_unstable();
                let centres = rows.iter().flat_map(|&row| inputs.row(row as usize)).collect();
                return Self::kernel(centres, width, *kernel, outputs);
            }
            ModelSettings::Cnn { normalise } => (*normalise, None),
            ModelSettings::Resnet18 { normalise, width } => (*normalise, Some(*width)),
        };
        let Some(image) = image else {
            return Err(Error::unfit(
                "model.kind",
                "is a network for images, but the data are a table: use \"mlp\", \"linear\" or \
                 \"kernel\", or a `source` or `folder` of images",
            ));
        };
        let channels = match normalise {
            true => moments(inputs, image),
            false => vec![(0.0, 1.0); image.channels],
        };
        let (mean, deviation) = channels.into_iter().unzip();
        let of = Convolutional { image, outputs, width: wide, mean, deviation };
        Ok(Body::Conv(Box::new(of.network()?), of).into())
    }

    fn kernel(centres: Vec<f32>, width: usize, kernel: Kernel, outputs: usize) -> Result<Self> {
        let inputs = Inputs::dense(centres.clone(), width)?;
        let model = KernelExpansion::new(&inputs, kernel, outputs)?;
        Ok(Body::Kernel(Box::new(model), centres).into())
    }

    /// The model of a saved shape.
    ///
    /// # Errors
    /// A shape that no model has.
    pub fn from_shape(shape: &NetworkShape, centres: Option<Vec<f32>>) -> Result<Self> {
        match shape {
            NetworkShape::Mlp { widths, activation, shortcut } => {
                let network = Mlp::new(widths, *activation)?;
                Ok(match shortcut {
                    true => Body::Shortcut(Shortcut::new(network)?).into(),
                    false => Body::Mlp(network).into(),
                })
            }
            NetworkShape::Linear { inputs, outputs } => {
                Ok(Body::Linear(Linear::new(*inputs, *outputs)?).into())
            }
            NetworkShape::Kernel { inputs, outputs, kernel } => {
                let centres =
                    centres.ok_or_else(|| Error::unfit("kernel model", "it has no centres"))?;
                Self::kernel(centres, *inputs, *kernel, *outputs)
            }
            NetworkShape::Cnn(of) | NetworkShape::Resnet18(of) => {
                let network = Self::from(Body::Conv(Box::new(of.network()?), of.clone()));
                if network.shape() != *shape {
                    let reason = "only resnet18 has a `width`";
                    return Err(Error::unfit("convolutional network", reason));
                }
                Ok(network)
            }
        }
    }

    /// The model whose outputs are the means of those of models of this shape, and its parameters.
    ///
    /// # Errors
    /// A model that is neither linear nor a network with one hidden layer; parameters of another one.
    pub fn average(&self, thetas: &[&[f32]]) -> Result<(Self, Vec<f32>)> {
        let (body, theta) = match &self.body {
            Body::Mlp(model) => {
                let (mean, theta) = model.average(thetas)?;
                (Body::Mlp(mean), theta)
            }
            Body::Linear(model) => {
                let sum = |at: usize| thetas.iter().map(|theta| theta[at]).sum::<f32>();
                let mean = |at: usize| sum(at) / thetas.len() as f32;
                (Body::Linear(model.clone()), (0..model.parameter_count()).map(mean).collect())
            }
            _ => {
                return Err(Error::unfit(
                    "model",
                    "only networks with one hidden layer are averaged",
                ));
            }
        };
        Ok((Self { body, units: self.units.clone() }, theta))
    }

    /// w times this network plus 1 − w times a linear model on the same inputs, and its parameters; of the linear model
    /// only its parameters are needed.
    ///
    /// # Errors
    /// A model that is not a multilayer perceptron; parameters of others.
    pub fn mixture(&self, theta: &[f32], linear: &[f32], w: f32) -> Result<(Self, Vec<f32>)> {
        let Body::Mlp(model) = &self.body else {
            return Err(Error::unfit("model", "a linear model is mixed with a network only"));
        };
        let (mixture, theta) = Shortcut::mixture(model.clone(), theta, linear, w)?;
        Ok((Self { body: Body::Shortcut(mixture), units: self.units.clone() }, theta))
    }

    /// The nonlinearity of a multilayer perceptron.
    pub fn activation(&self) -> Option<Activation> {
        match self.shape() {
            NetworkShape::Mlp { activation, .. } => Some(activation),
            _ => None,
        }
    }

    /// The same network with another nonlinearity.
    ///
    /// # Errors
    /// A model that is not a multilayer perceptron.
    pub fn with_activation(&self, activation: Activation) -> Result<Self> {
        match self.shape() {
            NetworkShape::Mlp { widths, shortcut, .. } => {
                let shape = NetworkShape::Mlp { widths, activation, shortcut };
                Self::from_shape(&shape, None)?.in_units(self.units.clone())
            }
            _ => Err(Error::unfit("model", "only a multilayer perceptron has a nonlinearity")),
        }
    }

    /// Parameters with which the outputs are s times as large, before they are put into [units](Self::units).
    ///
    /// # Errors
    /// A model whose outputs are not linear in its last parameters.
    pub fn scaled(&self, theta: &[f32], s: f32) -> Result<Vec<f32>> {
        // Of a perceptron, the outputs are linear in the weights and the bias of the last layer alone.
        let last =
            |model: &Mlp| model.layout().iter().rev().nth(1).map_or(0, |weights| weights.offset);
        let first = match &self.body {
            Body::Linear(_) => 0,
            Body::Mlp(model) => last(model),
            Body::Shortcut(model) => last(model.perceptron()),
            _ => return Err(Error::unfit("model", "its outputs cannot be scaled")),
        };
        let mut scaled = theta.to_vec();
        scaled[first..].iter_mut().for_each(|x| *x *= s);
        Ok(scaled)
    }

    /// The same model with its outputs in these units.
    ///
    /// # Errors
    /// Units of another number of outputs; numbers that are not finite, or a scale that is not positive.
    pub fn in_units(mut self, units: Option<OutputUnits>) -> Result<Self> {
        if let Some(units) = &units {
            units.check(self.output_width())?;
        }
        self.units = units;
        Ok(self)
    }

    /// The units of its outputs, where they are not those of the last layer.
    pub fn units(&self) -> Option<&OutputUnits> {
        self.units.as_ref()
    }

    /// Numbers that a pass over this number of output rows (rows × views) takes beside θ and its gradient, about.
    pub fn scratch(&self, rows: usize) -> usize {
        let (d, k) = (self.input_width(), self.output_width());
        let each = |numbers: usize| rows.saturating_mul(numbers);
        let of_layers = |model: &Mlp| {
            // Values and slopes of every layer, two gradients, and the weights once more, transposed.
            let hidden: usize = model.widths()[1..].iter().fold(0, |a, &b| a.saturating_add(b));
            each(hidden.saturating_mul(4)).saturating_add(model.parameter_count())
        };
        match &self.body {
            Body::Mlp(model) => of_layers(model),
            Body::Shortcut(model) => of_layers(model.perceptron()).saturating_add(each(d + 2 * k)),
            Body::Linear(_) => each(2 * d.saturating_add(2 * k)),
            Body::Kernel(model, _) => each(3 * model.centres() + 2 * k),
            Body::Conv(model, _) => model.scratch(rows),
        }
    }

    /// Numbers that the model itself holds.
    pub fn fixed(&self) -> usize {
        // Centres as given, as rows and as columns.
        self.centres().map_or(0, |centres| centres.len().saturating_mul(3))
    }

    /// Its shape.
    pub fn shape(&self) -> NetworkShape {
        let (inputs, outputs) = (self.input_width(), self.output_width());
        match &self.body {
            Body::Mlp(model) => mlp_shape(model, false),
            Body::Shortcut(model) => mlp_shape(model.perceptron(), true),
            Body::Linear(_) => NetworkShape::Linear { inputs, outputs },
            Body::Kernel(model, _) => {
                NetworkShape::Kernel { inputs, outputs, kernel: model.kernel() }
            }
            Body::Conv(_, of) if of.width.is_some() => NetworkShape::Resnet18(of.clone()),
            Body::Conv(_, of) => NetworkShape::Cnn(of.clone()),
        }
    }

    /// Where each tensor lies in θ.
    pub fn layout(&self) -> Vec<Tensor> {
        match &self.body {
            Body::Mlp(model) => model.layout(),
            Body::Shortcut(model) => model.layout(),
            Body::Linear(model) => model.layout(),
            Body::Kernel(model, _) => model.layout(),
            Body::Conv(model, _) => model.layout(),
        }
    }

    /// The centres of a kernel expansion.
    pub fn centres(&self) -> Option<&[f32]> {
        match &self.body {
            Body::Kernel(_, centres) => Some(centres),
            _ => None,
        }
    }

    /// The convolutional network, if it is one.
    pub fn convolutional(&self) -> Option<&ConvNet> {
        match &self.body {
            Body::Conv(model, _) => Some(model),
            _ => None,
        }
    }

    /// In words: `61 → 64 sigmoid → 2`.
    pub fn describe(&self) -> String {
        let (d, k) = (self.input_width(), self.output_width());
        let perceptron = |model: &Mlp| {
            let widths = model.widths();
            let name = format!("{:?}", model.activation()).to_lowercase();
            let hidden = &widths[1..widths.len() - 1];
            let hidden: String = hidden.iter().map(|h| format!("{h} {name} → ")).collect();
            format!("multilayer perceptron {d} → {hidden}{k}")
        };
        match &self.body {
            Body::Mlp(model) => perceptron(model),
            Body::Shortcut(model) => {
                format!("{}, and a linear model beside it", perceptron(model.perceptron()))
            }
            Body::Linear(_) => format!("linear {d} → {k}"),
            Body::Kernel(model, _) => {
                format!(
                    "kernel expansion {d} → {} centres → {k} ({:?})",
                    model.centres(),
                    model.kernel()
                )
            }
            Body::Conv(_, of) => {
                let kind = match of.width {
                    Some(width) => format!("ResNet18 of width {width}"),
                    None => "convolutional network".into(),
                };
                format!("{kind}, {} pixels → {k}", of.image)
            }
        }
    }
}

fn mlp_shape(model: &Mlp, shortcut: bool) -> NetworkShape {
    let (widths, activation) = (model.widths().to_vec(), model.activation());
    NetworkShape::Mlp { widths, activation, shortcut }
}

/// Mean and deviation of the pixels of each channel.
fn moments(inputs: &Inputs, image: ImageShape) -> Vec<(f64, f64)> {
    let plane = image.height * image.width;
    let mut sums = vec![(0.0, 0.0); image.channels];
    for row in 0..inputs.rows() {
        for (sums, pixels) in sums.iter_mut().zip(inputs.dense_row(row).chunks_exact(plane)) {
            for x in pixels.iter().map(|&x| f64::from(x)) {
                *sums = (sums.0 + x, sums.1 + x * x);
            }
        }
    }
    let count = (inputs.rows() * plane) as f64;
    let moment = |(sum, squares): (f64, f64)| {
        let mean = sum / count;
        let deviation = (squares / count - mean * mean).max(0.0).sqrt();
        // A channel of one colour tells nothing, and is left as it is.
        (mean, if deviation > 0.0 { deviation } else { 1.0 })
    };
    sums.into_iter().map(moment).collect()
}

macro_rules! each {
    ($self:ident, $model:ident => $body:expr) => {
        match &$self.body {
            Body::Mlp($model) => $body,
            Body::Shortcut($model) => $body,
            Body::Linear($model) => $body,
            Body::Kernel($model, _) => $body,
            Body::Conv($model, _) => $body,
        }
    };
    ($self:ident, $tape:ident, $model:ident, $own:ident => $body:expr) => {
        match &$self.body {
            Body::Mlp($model) => {
                let $own = &mut $tape.mlp;
                $body
            }
            Body::Shortcut($model) => {
                let $own = &mut $tape.shortcut;
                $body
            }
            Body::Linear($model) => {
                let $own = &mut $tape.linear;
                $body
            }
            Body::Kernel($model, _) => {
                let $own = &mut $tape.kernel;
                $body
            }
            Body::Conv($model, _) => {
                let $own = &mut $tape.conv;
                $body
            }
        }
    };
}

/// What a [`Network`] keeps of a forward pass; of its kind's part only.
#[derive(Debug, Default)]
pub struct NetworkTape {
    mlp: <Mlp as Model>::Tape,
    shortcut: <Shortcut as Model>::Tape,
    linear: <Linear as Model>::Tape,
    kernel: <KernelExpansion as Model>::Tape,
    conv: <ConvNet as Model>::Tape,
    /// Seeds in the units of the last layer.
    seeds: Vec<f32>,
}

impl Network {
    /// Seeds with respect to the last layer: ∂f/∂g = scale.
    fn own_seeds<'s>(&self, seeds: &'s [f32], own: &'s mut Vec<f32>) -> &'s [f32] {
        let Some(units) = &self.units else { return seeds };
        units.seeds(seeds, own);
        own
    }
}

impl Model for Network {
    type Real = f32;
    type Tape = NetworkTape;

    fn input_width(&self) -> usize {
        each!(self, m => m.input_width())
    }

    fn output_width(&self) -> usize {
        each!(self, m => m.output_width())
    }

    fn parameter_count(&self) -> usize {
        each!(self, m => m.parameter_count())
    }

    fn trainable_count(&self) -> usize {
        each!(self, m => m.trainable_count())
    }

    fn needs_whole_batch(&self) -> bool {
        each!(self, m => m.needs_whole_batch())
    }

    fn couples_rows(&self) -> bool {
        each!(self, m => m.couples_rows())
    }

    fn absorb(&self, theta: &mut [f32], tape: &mut NetworkTape) {
        each!(self, tape, m, t => m.absorb(theta, t));
    }

    fn is_linear(&self) -> bool {
        each!(self, m => m.is_linear())
    }

    fn initial(&self, seed: u64) -> Vec<f32> {
        each!(self, m => m.initial(seed))
    }

    fn forward(
        &self,
        theta: &[f32],
        batch: &Batch<'_>,
        pass: Pass,
        tape: &mut NetworkTape,
        outputs: &mut [f32],
    ) {
        each!(self, tape, m, t => m.forward(theta, batch, pass, t, outputs));
        if let Some(units) = &self.units {
            units.apply(outputs);
        }
    }

    fn backward(
        &self,
        theta: &[f32],
        batch: &Batch<'_>,
        tape: &mut NetworkTape,
        seeds: &[f32],
        gradient: &mut [f32],
    ) {
        let mut own = std::mem::take(&mut tape.seeds);
        let seeds = self.own_seeds(seeds, &mut own);
        each!(self, tape, m, t => m.backward(theta, batch, t, seeds, gradient));
        tape.seeds = own;
    }

    fn has_input_gradient(&self) -> bool {
        each!(self, m => m.has_input_gradient())
    }

    fn input_gradient(
        &self,
        theta: &[f32],
        batch: &Batch<'_>,
        tape: &mut NetworkTape,
        seeds: &[f32],
        gradient: &mut [f32],
    ) {
        let mut own = std::mem::take(&mut tape.seeds);
        let seeds = self.own_seeds(seeds, &mut own);
        each!(self, tape, m, t => m.input_gradient(theta, batch, t, seeds, gradient));
        tape.seeds = own;
    }
}

#[cfg(test)]
mod tests {
    use feasible::Inputs;
    use feasible_nn::Activation;

    use super::*;

    #[test]
    fn scaled_parameters_give_scaled_outputs() -> Result<()> {
        let x = Inputs::new(vec![0.5, -1.0, 2.0, 0.25], 2)?;
        let settings = ModelSettings::Mlp { hidden: vec![3], activation: Activation::Tanh };
        let network = Network::new(&settings, &x, None, 2)?;
        let linear = Network::new(&ModelSettings::Linear, &x, None, 2)?;
        let of_linear: Vec<f32> = (0..linear.parameter_count()).map(|n| n as f32 - 2.0).collect();
        let of_network = network.initial(3);
        let (mixture, of_mixture) = network.mixture(&of_network, &of_linear, 0.25)?;
        let batch = Batch { inputs: &x, rows: &[0, 1], shifts: &[] };
        let all = [(network, of_network), (linear, of_linear), (mixture, of_mixture)];
        for (model, theta) in all {
            let scaled = model.outputs(&model.scaled(&theta, 1.5)?, &batch);
            for (found, plain) in scaled.iter().zip(model.outputs(&theta, &batch)) {
                // Rounding of a few additions in single precision.
                assert!((found - 1.5 * plain).abs() < 1e-5, "{found} {plain}");
            }
        }
        Ok(())
    }
}
