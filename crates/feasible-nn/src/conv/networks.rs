//! Networks ready made.

use feasible::Result;

use crate::activation::Activation::Relu;
use crate::conv::ConvNet;
use crate::conv::graph::{Builder, Layer, Pooling, Value};
use crate::conv::shape::{ConvShape, Window};

impl ConvNet {
    /// Three 3×3 convolutions (16, 32, 32 channels) with ReLU, the largest of 2×2 after the first and
    /// the third, a hidden layer of 128: about 216,000 parameters on 28×28 images, no BatchNorm.
    ///
    /// # Errors
    /// A size of 0, or an image smaller than 4×4.
    pub fn small_cnn(image: ConvShape, classes: usize) -> Result<Self> {
        small_cnn(Builder::new(image)?, classes)
    }

    /// ResNet18 for small images: a 3×3 stem, four stages of two blocks with `width`, 2 `width`,
    /// 4 `width` and 8 `width` channels at strides 1, 2, 2, 2, global average, linear. `width` 64 is the
    /// standard one (11.2 million parameters), 16 a quarter of it (701,178 on one channel).
    ///
    /// # Errors
    /// A size of 0.
    pub fn resnet18(image: ConvShape, classes: usize, width: usize) -> Result<Self> {
        resnet18(Builder::new(image)?, classes, width)
    }
}

/// [`ConvNet::small_cnn`] on what a builder has: its image and normalisation.
///
/// # Errors
/// As there.
pub fn small_cnn(mut net: Builder, classes: usize) -> Result<ConvNet> {
    let three = Window::new(3).padding(1);
    let halve = Window::new(2).stride(2);
    let image = net.image();
    let x = net.layer(image, Layer::new("conv1", 16, three).activation(Relu))?;
    let x = net.pool(x, Pooling::Max, halve)?;
    let x = net.layer(x, Layer::new("conv2", 32, three).activation(Relu))?;
    let x = net.layer(x, Layer::new("conv3", 32, three).activation(Relu))?;
    let x = net.pool(x, Pooling::Max, halve)?;
    let x = net.dense(x, "fc1", 128, Some(Relu))?;
    let x = net.linear(x, "fc2", classes)?;
    net.finish(x)
}

/// [`ConvNet::resnet18`] on what a builder has: its image and normalisation.
///
/// # Errors
/// As there.
pub fn resnet18(mut net: Builder, classes: usize, width: usize) -> Result<ConvNet> {
    let three = Window::new(3).padding(1);
    let image = net.image();
    let mut x = net.layer(image, Layer::new("conv1", width, three).norm("bn1").activation(Relu))?;
    for stage in 1..=4 {
        let channels = width << (stage - 1);
        for block in 0..2 {
            let stride = if stage > 1 && block == 0 { 2 } else { 1 };
            x = basic_block(&mut net, x, &format!("layer{stage}.{block}"), channels, stride)?;
        }
    }
    let x = net.global_average(x)?;
    let x = net.linear(x, "fc", classes)?;
    net.finish(x)
}

/// relu(bn(conv(relu(bn(conv(x))))) + shortcut), the shortcut a 1×1 convolution where the shape
/// changes.
fn basic_block(
    net: &mut Builder,
    x: Value,
    name: &str,
    channels: usize,
    stride: usize,
) -> Result<Value> {
    let three = Window::new(3).padding(1);
    let first = Layer::new(format!("{name}.conv1"), channels, three.stride(stride));
    let inner = net.layer(x, first.norm(format!("{name}.bn1")).activation(Relu))?;
    let shortcut = if stride == 1 && net.shape(x).channels == channels {
        x
    } else {
        let one =
            Layer::new(format!("{name}.downsample.0"), channels, Window::new(1).stride(stride));
        net.layer(x, one.norm(format!("{name}.downsample.1")))?
    };
    let second = Layer::new(format!("{name}.conv2"), channels, three);
    net.layer(inner, second.norm(format!("{name}.bn2")).shortcut(shortcut).activation(Relu))
}
