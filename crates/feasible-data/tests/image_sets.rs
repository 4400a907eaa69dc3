//! Known sets: found where they should be, verified, sampled and split as documented.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::fs;
use std::path::{Path, PathBuf};

use feasible_data::image::Form;
use feasible_data::{Error, ImageError, ImageSet};
use sha2::{Digest, Sha256};

fn counts(labels: impl Iterator<Item = u32>) -> [usize; 10] {
    let mut counts = [0; 10];
    labels.for_each(|label| counts[label as usize] += 1);
    counts
}

#[test]
fn the_embedded_sample_is_balanced_verified_and_that_of_data_md() {
    let set = ImageSet::named("fashion-mnist-sample").unwrap();
    let (images, split) = set.load(None).unwrap();
    assert_eq!((split.train.len(), split.test.len()), (set.train, set.test));
    assert_eq!(images.shape(), set.shape);
    let of = |rows: &[u32]| counts(rows.iter().map(|&row| images.labels()[row as usize]));
    assert_eq!((of(&split.train), of(&split.test)), ([600; 10], [100; 10]));
    assert!(images.identity().is_known() && images.identity().warnings.is_empty());
    assert_eq!(images.identity().name, "fashion-mnist-sample");
    let text = include_str!("../DATA.md");
    for part in ["train-images", "train-labels", "test-images", "test-labels"] {
        let file = format!("fashion-mnist-sample-{part}.idx.zst");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(&file);
        let digest = Sha256::digest(fs::read(path).unwrap());
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(text.contains(&file) && text.contains(&digest), "{file}: {digest}");
    }
    assert!(set.bytes() < 3_200_000);
}

#[test]
fn a_hundred_of_each_class_are_held_out_by_the_seed() {
    let (images, split) = ImageSet::fashion_mnist_sample().load(None).unwrap();
    let (train, validation) = images.hold_out(&split.train, 100, 3).unwrap();
    let of = |rows: &[u32]| counts(rows.iter().map(|&row| images.labels()[row as usize]));
    assert_eq!((of(&train), of(&validation)), ([500; 10], [100; 10]));
    let mut all = [train.clone(), validation.clone()].concat();
    assert!(train.is_sorted() && validation.is_sorted());
    all.sort_unstable();
    assert_eq!(all, split.train);
    assert_eq!(images.hold_out(&split.train, 100, 3).unwrap().1, validation);
    assert_ne!(images.hold_out(&split.train, 100, 4).unwrap().1, validation);
    // Of the rows asked for only, whatever their order.
    let reversed: Vec<u32> = split.train.iter().rev().copied().collect();
    assert_eq!(images.hold_out(&reversed, 100, 3).unwrap().1, validation);
    let error = images.hold_out(&split.test, 100, 3).unwrap_err().to_string();
    assert!(error.contains("class 'T-shirt/top' has 100 images"), "{error}");
}

#[test]
fn a_directory_given_is_the_only_one_looked_into() {
    let set = ImageSet::fashion_mnist();
    let [given, environment] = ["given", "environment"].map(Path::new);
    let here = set.places(Some(given), Some(environment));
    assert_eq!(here, ["given", "given/fashion-mnist", "given/FashionMNIST/raw"].map(PathBuf::from));
    let usual = set.places(None, Some(environment));
    assert_eq!(usual[0], environment);
    assert_eq!(usual[3], Path::new("/usr/share/datasets/fashion-mnist"));
    assert_eq!(set.places(None, None), [PathBuf::from("/usr/share/datasets/fashion-mnist")]);
    assert!(ImageSet::mnist().places(None, None).is_empty());
}

#[test]
fn a_set_that_is_nowhere_says_where_it_was_looked_for_and_how_to_get_it() {
    let scratch = tempfile::tempdir().unwrap();
    for set in ImageSet::all().iter().filter(|set| set.form != Form::Embedded) {
        let error = set.load(Some(scratch.path())).unwrap_err();
        let Error::Image(ImageError::NotFound { looked, .. }) = &error else { panic!("{error}") };
        assert_eq!(looked[0], scratch.path().display().to_string());
        let text = error.to_string();
        assert!(text.contains("opens no connection") && text.contains("curl -fLO http"), "{text}");
    }
    let how = ImageSet::fashion_mnist().how_to_get(Path::new("it's here"));
    assert!(how.contains(r"cd 'it'\''s here'") && how.contains("dataset-fashion-mnist"), "{how}");
}

#[test]
fn a_file_that_is_not_the_original_is_an_error_when_the_set_was_named() {
    let scratch = tempfile::tempdir().unwrap();
    let idx = |magic: u32, sizes: &[u32], bytes: &[u8]| {
        let mut out = magic.to_be_bytes().to_vec();
        sizes.iter().for_each(|size| out.extend(size.to_be_bytes()));
        out.extend(bytes);
        out
    };
    for part in ["train", "t10k"] {
        let path = |what: &str| scratch.path().join(format!("{part}-{what}-ubyte"));
        fs::write(path("images-idx3"), idx(0x803, &[1, 28, 28], &[0; 784])).unwrap();
        fs::write(path("labels-idx1"), idx(0x801, &[1], &[0])).unwrap();
    }
    let error = ImageSet::mnist().load(Some(scratch.path())).unwrap_err();
    let Error::Image(ImageError::Checksum { set, file, .. }) = &error else { panic!("{error}") };
    assert!(*set == "mnist" && file.ends_with("train-images-idx3-ubyte"), "{error}");
}

#[test]
fn an_unknown_set_suggests_the_nearest() {
    let error = ImageSet::named("fashion-mnst").unwrap_err().to_string();
    assert!(error.contains("did you mean 'fashion-mnist'?"), "{error}");
}

/// `FEASIBLE_DATA=DIR cargo test -p feasible-data --test suite -- image_sets:: --ignored`, with the
/// originals of Fashion-MNIST and CIFAR-10 in DIR.
#[test]
#[ignore = "needs the originals in FEASIBLE_DATA"]
fn the_originals_load_and_the_sample_is_what_its_rule_takes_from_them() {
    let (all, split) = ImageSet::fashion_mnist().load(None).unwrap();
    assert_eq!((split.train.len(), split.test.len()), (60_000, 10_000));
    let rule = |rows: &[u32], n| all.select(&all.hold_out(rows, n, 1).unwrap().1).unwrap();
    let (train, test) = (rule(&split.train, 600), rule(&split.test, 100));
    let (sample, parts) = ImageSet::fashion_mnist_sample().load(None).unwrap();
    let sampled = |rows: &[u32]| sample.select(rows).unwrap();
    assert_eq!(sampled(&parts.train).sha256(), train.sha256());
    assert_eq!(sampled(&parts.test).sha256(), test.sha256());

    let (cifar, split) = ImageSet::cifar_10().load(None).unwrap();
    assert_eq!((split.train.len(), split.test.len()), (50_000, 10_000));
    assert_eq!(counts(cifar.labels().iter().copied()), [6_000; 10]);
    // The first training image is a frog; its first pixel is (59, 62, 63).
    assert_eq!(cifar.classes()[cifar.labels()[0] as usize], "frog");
    assert_eq!([0, 1024, 2048].map(|at| cifar.pixels(0)[at]), [59, 62, 63]);
}
