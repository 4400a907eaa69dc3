//! Image sets by name: what they are, on what terms, and how they are read and verified.

use std::path::{Path, PathBuf};

use super::error::ImageError;
use super::images::{ImageShape, Images};
use super::known::{CIFAR_10, FASHION_MNIST, KnownFile, MNIST, SAMPLE};
use super::place::Found;
use super::{cifar, idx};
use crate::error::Result;
use crate::nearest::named;
use crate::split::Split;

/// How a set's files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// IDX files.
    Idx,
    /// CIFAR-10's binary batches.
    Cifar,
    /// IDX files inside the program.
    Embedded,
}

/// A known set of images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSet {
    /// What it is called: `fashion-mnist`.
    pub name: &'static str,
    /// One line about it.
    pub title: &'static str,
    /// Who made it, and where.
    pub source: &'static str,
    /// On what terms.
    pub licence: &'static str,
    /// The names of the labels.
    pub classes: [&'static str; 10],
    /// The size of an image.
    pub shape: ImageShape,
    /// Training images.
    pub train: usize,
    /// Test images.
    pub test: usize,
    /// How its files are written.
    pub form: Form,
    /// Its files.
    pub files: &'static [KnownFile],
    /// The one file they may come in.
    pub archive: Option<&'static str>,
    /// Folders of a data directory in which it is looked for.
    pub folders: &'static [&'static str],
    /// Where a system's package puts it.
    pub system: Option<&'static str>,
    /// That package.
    pub package: Option<&'static str>,
    /// Where its makers offer it.
    pub addresses: &'static [&'static str],
}

const FASHION: [&str; 10] = [
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
];

const GREY: ImageShape = ImageShape { channels: 1, height: 28, width: 28 };

/// The sample's files, in the order of [`SAMPLE`].
const EMBEDDED: [&[u8]; 4] = [
    include_bytes!("../../data/fashion-mnist-sample-train-images.idx.zst"),
    include_bytes!("../../data/fashion-mnist-sample-train-labels.idx.zst"),
    include_bytes!("../../data/fashion-mnist-sample-test-images.idx.zst"),
    include_bytes!("../../data/fashion-mnist-sample-test-labels.idx.zst"),
];

impl ImageSet {
    /// A balanced tenth of Fashion-MNIST that comes with the program: 600 training and 100 test
    /// images of each class. See `DATA.md`.
    pub fn fashion_mnist_sample() -> Self {
        Self {
            name: "fashion-mnist-sample",
            title: "Fashion-MNIST, a balanced tenth: 6,000 training and 1,000 test images",
            train: 6_000,
            test: 1_000,
            form: Form::Embedded,
            files: &SAMPLE,
            folders: &[],
            system: None,
            package: None,
            addresses: &[],
            ..Self::fashion_mnist()
        }
    }

    /// Fashion-MNIST.
    pub fn fashion_mnist() -> Self {
        Self {
            name: "fashion-mnist",
            title: "Fashion-MNIST: articles of clothing, grey, 28 × 28, 60,000 and 10,000 images",
            source: "H. Xiao, K. Rasul and R. Vollgraf (2017), \
                     https://github.com/zalandoresearch/fashion-mnist",
            licence: "MIT",
            classes: FASHION,
            shape: GREY,
            train: 60_000,
            test: 10_000,
            form: Form::Idx,
            files: &FASHION_MNIST,
            archive: None,
            folders: &["fashion-mnist", "FashionMNIST/raw"],
            system: Some("/usr/share/datasets/fashion-mnist"),
            package: Some("dataset-fashion-mnist"),
            addresses: &[
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/train-images-idx3-ubyte.gz",
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/train-labels-idx1-ubyte.gz",
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/t10k-images-idx3-ubyte.gz",
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/t10k-labels-idx1-ubyte.gz",
            ],
        }
    }

    /// MNIST.
    pub fn mnist() -> Self {
        Self {
            name: "mnist",
            title: "MNIST: handwritten digits, grey, 28 × 28, 60,000 and 10,000 images",
            source: "Y. LeCun, C. Cortes and C. J. C. Burges (1998), \
                     http://yann.lecun.com/exdb/mnist/",
            licence: "none stated; NIST's images, public",
            classes: ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
            files: &MNIST,
            folders: &["mnist", "MNIST/raw"],
            system: None,
            package: None,
            addresses: &[
                "http://yann.lecun.com/exdb/mnist/train-images-idx3-ubyte.gz",
                "http://yann.lecun.com/exdb/mnist/train-labels-idx1-ubyte.gz",
                "http://yann.lecun.com/exdb/mnist/t10k-images-idx3-ubyte.gz",
                "http://yann.lecun.com/exdb/mnist/t10k-labels-idx1-ubyte.gz",
            ],
            ..Self::fashion_mnist()
        }
    }

    /// CIFAR-10.
    pub fn cifar_10() -> Self {
        Self {
            name: "cifar-10",
            title: "CIFAR-10: animals and vehicles, colour, 32 × 32, 50,000 and 10,000 images",
            source: "A. Krizhevsky (2009), https://www.cs.toronto.edu/~kriz/cifar.html",
            licence: "none stated; its authors ask for a citation",
            classes: [
                "airplane",
                "automobile",
                "bird",
                "cat",
                "deer",
                "dog",
                "frog",
                "horse",
                "ship",
                "truck",
            ],
            shape: cifar::SHAPE,
            train: 50_000,
            test: 10_000,
            form: Form::Cifar,
            files: &CIFAR_10,
            archive: Some("cifar-10-binary.tar.gz"),
            folders: &["cifar-10", "cifar-10-batches-bin"],
            system: None,
            package: None,
            addresses: &["https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"],
        }
    }

    /// All known sets.
    pub fn all() -> Vec<Self> {
        vec![Self::fashion_mnist_sample(), Self::fashion_mnist(), Self::mnist(), Self::cifar_10()]
    }

    /// The set of this name.
    ///
    /// # Errors
    /// [`Error::UnknownDataSet`](crate::Error::UnknownDataSet), with the nearest name.
    pub fn named(name: &str) -> Result<Self> {
        named(Self::all(), |set| set.name, name)
    }

    /// Bytes inside the program.
    pub fn bytes(&self) -> usize {
        match self.form {
            Form::Embedded => EMBEDDED.iter().map(|bytes| bytes.len()).sum(),
            Form::Idx | Form::Cifar => 0,
        }
    }

    /// All images of the set, training images first, and which are for training and test. Looks
    /// into `directory` if one is given, else into the usual places; every file's SHA-256 must be
    /// the original's.
    ///
    /// # Errors
    /// A set that is nowhere, with how to get it; files that are damaged or different.
    pub fn load(&self, directory: Option<&Path>) -> Result<(Images, Split)> {
        let found = self.search(directory)?;
        let images = match (self.form, &found) {
            (Form::Embedded, _) | (_, None) => {
                let pair = |at: usize| {
                    let file = |at: usize| (self.files[at].name, EMBEDDED[at]);
                    idx::from_bytes(file(at), file(at + 1), &self.classes)
                };
                pair(0)?.then(pair(2)?)?
            }
            (Form::Idx, Some(Found::Files(files))) => {
                let pair = |at: usize| idx::read(&files[at], &files[at + 1], &self.classes);
                pair(0)?.then(pair(2)?)?
            }
            (_, Some(Found::Files(files))) => {
                let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
                cifar::read(&paths, &self.classes)?
            }
            (_, Some(Found::Archive(archive))) => {
                let names: Vec<&str> = self.files.iter().map(|file| file.name).collect();
                cifar::read_archive(archive, &names, &self.classes)?
            }
        };
        let images = self.verified(images)?.named(self.name);
        let (first, end) = (self.train as u32, images.len() as u32);
        let split =
            Split { train: (0..first).collect(), validation: vec![], test: (first..end).collect() };
        Ok((images, split))
    }

    /// Every file is the one of this set that it is named as.
    fn verified(&self, images: Images) -> Result<Images> {
        for (known, read) in self.files.iter().zip(&images.identity().files) {
            if known.sha256 != read.sha256 {
                return Err(ImageError::Checksum {
                    set: self.name,
                    file: read.file.clone(),
                    expected: known.sha256,
                    found: read.sha256.clone(),
                }
                .into());
            }
        }
        Ok(images)
    }
}
