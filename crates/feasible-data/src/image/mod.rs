//! Images with labels: read, checked, identified, split, moved about.
//!
//! | step | type |
//! | --- | --- |
//! | a set by name | [`ImageSet`]: Fashion-MNIST, MNIST, CIFAR-10, and an embedded sample |
//! | files of one's own | [`idx`] (plain, gzip, zstd), [`cifar`] (binary batches), [`folder`] (PNG, JPEG by class) |
//! | what either gives | [`Images`]: u8 pixels, labels, class names, [`Identity`] |
//! | validation images | [`Images::hold_out`]: the same number of each class, drawn by a seed |
//! | for a model | [`Images::samples`]: pixels x/255 ∈ \[0, 1\], row-major C × H × W |
//! | augmentation | [`Augmentation`]: mirror and padded crop, a function of (seed, epoch, sample) |
//!
//! Rows are numbered from 0, training images first, and the row numbers are the samples' ids.
//!
//! ```
//! use feasible_data::image::ImageSet;
//!
//! let (images, split) = ImageSet::named("fashion-mnist-sample")?.load(None)?;
//! assert_eq!(images.shape().to_string(), "1 × 28 × 28");
//! // As in the paper: 100 images of each class are kept for validation.
//! let (train, validation) = images.hold_out(&split.train, 100, 0)?;
//! assert_eq!((train.len(), validation.len(), split.test.len()), (5_000, 1_000, 1_000));
//! let samples = images.samples(&validation)?;
//! assert_eq!(samples.inputs().width(), 784);
//! # Ok::<(), feasible_data::Error>(())
//! ```

mod archive;
mod augmentation;
pub mod cifar;
mod decode;
mod encode;
pub mod error;
pub mod folder;
mod hold_out;
mod identity;
pub mod idx;
mod images;
mod known;
mod place;
mod set;

pub use augmentation::{Augmentation, Placement};
pub use decode::decode_image;
pub use encode::encode_png;
pub use error::ImageError;
pub use identity::{FileHash, Identity};
pub use images::{ImageShape, Images};
pub use known::{KnownFile, known};
pub use set::{Form, ImageSet};
