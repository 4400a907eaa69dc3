//! The network: from encoded columns or pixels, N × d, to its outputs, N × k, in single precision as `predict` computes it.

use feasible_data::image::ImageShape;
use feasible_nn::conv::{ConvNet, InferenceNode, InferenceOperation, Pooling, Window};
use feasible_nn::{Activation, Kernel, Tensor};
use feasible_problem::OutputUnit;
use feasible_problem::network::{Network, NetworkShape};

use super::graph::{Attribute, Constant, Dim, Element, Graph, Value};

/// The input of a network for images: N × channels × height × width, pixels in [0, 1].
pub(super) fn image(graph: &mut Graph, name: &str, shape: ImageShape) -> Value {
    let ImageShape { channels, height, width } = shape;
    let dims = [Dim::Rows, Dim::Size(channels), Dim::Size(height), Dim::Size(width)];
    graph.input(name, Element::Float, &dims)
}

/// A network with its weights, being written into a graph.
pub(super) struct Weights<'m> {
    pub(super) network: &'m Network,
    pub(super) theta: &'m [f32],
}

impl Weights<'_> {
    /// Its outputs for rows of inputs (images if it is convolutional), in the units of the target.
    pub(super) fn outputs(&self, graph: &mut Graph, x: &Value, of_images: bool) -> Value {
        if let Some(network) = self.network.convolutional() {
            let outputs = convolutional(graph, x, network, self.theta);
            return self.in_units(graph, outputs);
        }
        let x = if of_images { flat(graph, x) } else { x.clone() };
        let outputs = match self.network.shape() {
            NetworkShape::Linear { .. } => self.layer(graph, &x, "", false),
            NetworkShape::Mlp { widths, activation, shortcut } => {
                let layers = widths.len() - 1;
                let outputs = (1..=layers).fold(x.clone(), |x, layer| {
                    // The first layer's weights have a row for each input, those of the others for each output.
                    let z = self.layer(graph, &x, &format!("layer{layer}."), layer > 1);
                    if layer == layers { z } else { activated(graph, &z, activation) }
                });
                match self.tensor(graph, "shortcut.weight").filter(|_| shortcut) {
                    Some(weight) => {
                        let linear = graph.op("MatMul", &[&x, &weight]);
                        graph.op("Add", &[&outputs, &linear])
                    }
                    None => outputs,
                }
            }
            NetworkShape::Kernel { inputs, kernel, .. } => {
                let kappa = self.kernel(graph, &x, inputs, kernel);
                self.layer(graph, &kappa, "", true)
            }
            // Both are convolutional, and are written above.
            NetworkShape::Cnn(_) | NetworkShape::Resnet18(_) => x,
        };
        self.in_units(graph, outputs)
    }

    /// f = offset + scale · g.
    fn in_units(&self, graph: &mut Graph, outputs: Value) -> Value {
        let Some(units) = self.network.units() else { return outputs };
        // One for all outputs, or one for each: both are added and multiplied row by row.
        let of = |take: fn(&OutputUnit) -> f64| {
            let values: Vec<f32> = units.each().iter().map(|unit| take(unit) as f32).collect();
            match values[..] {
                [one] => Constant::float(one),
                _ => Constant::floats(&[values.len()], values),
            }
        };
        let scale = graph.named("scale", of(|unit| unit.scale));
        let offset = graph.named("offset", of(|unit| unit.offset));
        let outputs = graph.op("Mul", &[&outputs, &scale]);
        graph.op("Add", &[&outputs, &offset])
    }

    fn tensor(&self, graph: &mut Graph, name: &str) -> Option<Value> {
        let layout = self.network.layout();
        let tensor: &Tensor = layout.iter().find(|tensor| tensor.name == name)?;
        let values = self.theta[tensor.range()].to_vec();
        Some(graph.named(name, Constant::floats(&tensor.shape, values)))
    }

    /// x W + b, or x Wᵀ + b.
    fn layer(&self, graph: &mut Graph, x: &Value, prefix: &str, by_output: bool) -> Value {
        let weight = self.tensor(graph, &format!("{prefix}weight"));
        let bias = self.tensor(graph, &format!("{prefix}bias"));
        let transposed = [("transB", Attribute::Int(i64::from(by_output)))];
        match (weight, bias) {
            (Some(weight), Some(bias)) => graph.op_with("Gemm", &[x, &weight, &bias], &transposed),
            // Every network has both.
            _ => x.clone(),
        }
    }

    /// κ(x, z) for every centre z.
    fn kernel(&self, graph: &mut Graph, x: &Value, width: usize, kernel: Kernel) -> Value {
        let centres = self.network.centres().unwrap_or_default();
        let count = centres.len() / width.max(1);
        let mut transposed = vec![0.0; centres.len()];
        for (at, centre) in centres.chunks_exact(width).enumerate() {
            for (column, &z) in centre.iter().enumerate() {
                transposed[column * count + at] = z;
            }
        }
        let table = graph.named("centres", Constant::floats(&[width, count], transposed));
        let products = graph.op("MatMul", &[x, &table]);
        match kernel {
            Kernel::Rbf { gamma } => {
                let square = |z: &[f32]| z.iter().map(|&z| z * z).sum::<f32>();
                let norms = centres.chunks_exact(width).map(square).collect();
                let norms = graph.named("norms", Constant::floats(&[1, count], norms));
                let columns = graph.constant(Constant::ints(&[1]));
                let squares = graph.op("Mul", &[x, x]);
                let own = graph.op("ReduceSum", &[&squares, &columns]);
                let both = graph.op("Add", &[&own, &norms]);
                let two = graph.constant(Constant::float(2.0));
                let products = graph.op("Mul", &[&products, &two]);
                let distances = graph.op("Sub", &[&both, &products]);
                // Rounding must not make a distance negative.
                let distances = graph.op("Relu", &[&distances]);
                let gamma = graph.constant(Constant::float(-gamma as f32));
                let exponents = graph.op("Mul", &[&distances, &gamma]);
                graph.op("Exp", &[&exponents])
            }
            Kernel::Polynomial { offset, degree } => {
                let offset = graph.constant(Constant::float(offset as f32));
                let base = graph.op("Add", &[&products, &offset]);
                let degree = graph.constant(Constant::float(degree as f32));
                graph.op("Pow", &[&base, &degree])
            }
        }
    }
}

fn flat(graph: &mut Graph, x: &Value) -> Value {
    graph.op_with("Flatten", &[x], &[("axis", Attribute::Int(1))])
}

fn activated(graph: &mut Graph, z: &Value, activation: Activation) -> Value {
    match activation {
        Activation::Sigmoid => graph.op("Sigmoid", &[z]),
        Activation::Tanh => graph.op("Tanh", &[z]),
        Activation::Relu => graph.op("Relu", &[z]),
        Activation::Silu => {
            let gate = graph.op("Sigmoid", &[z]);
            graph.op("Mul", &[z, &gate])
        }
    }
}

fn convolutional(graph: &mut Graph, image: &Value, network: &ConvNet, theta: &[f32]) -> Value {
    let channels = network.normalisation();
    let dims = [1, channels.len(), 1, 1];
    let mean = channels.iter().map(|(mean, _)| *mean as f32).collect();
    let factor = channels.iter().map(|(_, deviation)| (1.0 / deviation) as f32).collect();
    let mean = graph.named("pixels.mean", Constant::floats(&dims, mean));
    let factor = graph.named("pixels.factor", Constant::floats(&dims, factor));
    let image = graph.op("Sub", &[image, &mean]);
    let image = graph.op("Mul", &[&image, &factor]);
    let mut values: Vec<Value> = Vec::new();
    for node in network.inference(theta) {
        let from = node.from.map_or_else(|| image.clone(), |at| values[at].clone());
        let value = convolutional_node(graph, &from, &values, node);
        values.push(value);
    }
    match values.last() {
        Some(outputs) => flat(graph, outputs),
        None => image,
    }
}

fn convolutional_node(
    graph: &mut Graph,
    from: &Value,
    values: &[Value],
    node: InferenceNode,
) -> Value {
    match node.operation {
        InferenceOperation::Pool(pooling, window) => {
            let mut attributes = places(window);
            let operator = match pooling {
                Pooling::Max => "MaxPool",
                Pooling::Average => {
                    attributes.push(("count_include_pad", Attribute::Int(1)));
                    "AveragePool"
                }
            };
            graph.op_with(operator, &[from], &attributes)
        }
        InferenceOperation::Convolution { weight, bias, window, shortcut, activation } => {
            let (tall, wide) = window.size;
            let dims = [node.output.channels, node.input.channels, tall, wide];
            let weight = graph.named("conv.weight", Constant::floats(&dims, weight));
            let bias = graph.named("conv.bias", Constant::floats(&[node.output.channels], bias));
            let mut z = graph.op_with("Conv", &[from, &weight, &bias], &places(window));
            if let Some(shortcut) = shortcut {
                z = graph.op("Add", &[&z, &values[shortcut]]);
            }
            activation.map_or(z.clone(), |activation| activated(graph, &z, activation))
        }
    }
}

/// Where a window goes.
fn places(window: Window) -> Vec<(&'static str, Attribute)> {
    let Window { size: (tall, wide), stride, padding } = window;
    let ints = |sizes: &[usize]| Attribute::Ints(sizes.iter().map(|&size| size as i64).collect());
    vec![
        ("kernel_shape", ints(&[tall, wide])),
        ("strides", ints(&[stride; 2])),
        ("pads", ints(&[padding; 4])),
    ]
}
