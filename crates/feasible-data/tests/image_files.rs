//! Image files are read as they are, or refused by name: one test per malformation.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use feasible_data::image::{Identity, ImageShape, Images, cifar, folder, idx};
use feasible_data::{Error, ImageError};
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

const CLASSES: [&str; 3] = ["coat", "bag", "boot"];

fn images(count: u32, height: u32, width: u32) -> Vec<u8> {
    let mut bytes = 0x803_u32.to_be_bytes().to_vec();
    [count, height, width].iter().for_each(|n| bytes.extend(n.to_be_bytes()));
    bytes.extend((0..count * height * width).map(|i| i as u8));
    bytes
}

fn labels(labels: &[u8]) -> Vec<u8> {
    let mut bytes = 0x801_u32.to_be_bytes().to_vec();
    bytes.extend((labels.len() as u32).to_be_bytes());
    bytes.extend(labels);
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn read(images: &[u8], labels: &[u8]) -> Result<Images, ImageError> {
    match idx::from_bytes(("images", images), ("labels", labels), &CLASSES) {
        Ok(images) => Ok(images),
        Err(Error::Image(error)) => Err(error),
        Err(other) => panic!("{other}"),
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>) -> ImageError {
    match result.unwrap_err() {
        Error::Image(error) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn idx_files_are_read_plain_and_packed() {
    let (pixels, labels) = (images(3, 2, 4), labels(&[2, 0, 1]));
    let plain = read(&pixels, &labels).unwrap();
    assert_eq!(plain.shape(), ImageShape { channels: 1, height: 2, width: 4 });
    assert_eq!(plain.labels(), [2, 0, 1]);
    assert_eq!(plain.pixels(1), [8, 9, 10, 11, 12, 13, 14, 15]);
    assert_eq!(plain.classes(), CLASSES);
    let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 3).unwrap();
    // Identities too: checksums are of the unpacked content.
    assert_eq!(read(&gzip(&pixels), &gzip(&labels)).unwrap(), plain);
    assert_eq!(read(&zstd(&pixels), &labels).unwrap(), plain);
}

#[test]
fn samples_are_pixels_over_255_with_rows_as_ids() {
    let images = read(&images(3, 2, 4), &labels(&[2, 0, 1])).unwrap();
    let samples = images.samples(&[2, 0]).unwrap();
    assert_eq!(samples.ids(), [2, 0]);
    assert_eq!(samples.targets().get(0), feasible::Target::Class(1));
    assert_eq!(samples.inputs().row(0)[3], 19.0 / 255.0);
    assert_eq!(samples.inputs().dense_columns().len(), 8);
    let error = refused(images.samples(&[3]));
    assert_eq!(error, ImageError::Row { row: 3, rows: 3 });
    let white = Images::new(
        ImageShape { channels: 1, height: 1, width: 2 },
        vec![0, 255],
        vec![0],
        vec!["a".into()],
        Identity::default(),
    );
    assert_eq!(white.unwrap().samples(&[0]).unwrap().inputs().row(0), [0.0, 1.0]);
}

#[test]
fn a_wrong_magic_number_is_named_with_what_the_file_is() {
    let (pixels, names) = (images(3, 2, 4), labels(&[2, 0, 1]));
    let error = read(&names, &names).unwrap_err();
    assert_eq!(
        error.to_string(),
        "images starts with 0x00000801 instead of 0x00000803 (IDX images): this is \
         a file of labels, not of images"
    );
    let error = read(&pixels, &pixels).unwrap_err().to_string();
    assert!(error.contains("labels starts") && error.contains("a file of images"), "{error}");
    let page = read(b"<!DOCTYPE html><html>", &names).unwrap_err().to_string();
    assert!(page.contains("a web page"), "{page}");
    let mut floats = pixels;
    floats[2] = 0x0d;
    let error = read(&floats, &names).unwrap_err().to_string();
    assert!(error.contains("does not hold bytes"), "{error}");
}

#[test]
fn a_truncated_file_says_how_much_is_there() {
    let (pixels, names) = (images(3, 2, 4), labels(&[2, 0, 1]));
    for end in [0, 3, 9, 16, 39] {
        let expected = if end < 16 { 16 } else { 40 };
        let error = read(&pixels[..end], &names).unwrap_err();
        let file = "images".to_string();
        assert_eq!(error, ImageError::Truncated { file, expected, found: end as u64 });
    }
    let packed = gzip(&images(100, 28, 28));
    let error = read(&packed[..packed.len() / 2], &names).unwrap_err();
    assert!(matches!(error, ImageError::Truncated { expected: 78_416, .. }), "{error}");
    let error = read(&pixels, &names[..10]).unwrap_err();
    assert!(matches!(error, ImageError::Truncated { expected: 11, found: 10, .. }), "{error}");
}

#[test]
fn a_file_that_goes_on_is_refused() {
    let mut pixels = images(3, 2, 4);
    pixels.push(0);
    let error = read(&pixels, &labels(&[2, 0, 1])).unwrap_err();
    assert!(matches!(error, ImageError::Trailing { expected: 40, .. }), "{error}");
}

#[test]
fn a_header_that_cannot_be_true_is_refused_before_memory_is_taken() {
    let names = labels(&[0]);
    let error = read(&images(0, 2, 4), &names).unwrap_err();
    assert!(matches!(error, ImageError::Header { .. }), "{error}");
    let mut huge = images(1, 1, 1);
    huge[4..16].fill(0xff);
    let error = read(&huge, &names).unwrap_err();
    assert!(matches!(error, ImageError::Header { .. }), "{error}");
}

#[test]
fn counts_that_disagree_name_both_files() {
    let error = read(&images(3, 2, 4), &labels(&[0, 1])).unwrap_err();
    let text = "images has 3 images but labels has 2 labels: they do not belong together";
    assert_eq!(error.to_string(), text);
}

#[test]
fn a_label_out_of_range_names_its_image() {
    let error = read(&images(3, 2, 4), &labels(&[0, 3, 1])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "labels, image 1 (from 0): label 3, but there are 3 classes, 0 to 2"
    );
}

#[test]
fn unknown_checksums_are_a_warning_for_files_of_ones_own() {
    let images = read(&images(1, 2, 4), &labels(&[0])).unwrap();
    assert!(!images.identity().is_known());
    let [warning] = images.identity().warnings.as_slice() else { panic!() };
    assert!(warning.contains("images and 1 more are not files of a known set"), "{warning}");
}

fn batch(labels: &[u8]) -> Vec<u8> {
    let record = |&label: &u8| {
        let mut bytes = vec![label];
        bytes.extend((0..3072).map(|i| (i % 251) as u8));
        bytes
    };
    labels.iter().flat_map(record).collect()
}

#[test]
fn cifar_batches_are_read_in_their_order() {
    let scratch = TempDir::new().unwrap();
    let paths = [(b"b", [1, 2]), (b"a", [0, 2])].map(|(name, labels)| {
        let path = scratch.path().join(std::str::from_utf8(name).unwrap());
        fs::write(&path, batch(&labels)).unwrap();
        path
    });
    let images = cifar::read(&[&paths[0], &paths[1]], &CLASSES).unwrap();
    assert_eq!(images.labels(), [1, 2, 0, 2]);
    assert_eq!(images.shape(), ImageShape { channels: 3, height: 32, width: 32 });
    // Green of the first pixel stands 1024 bytes after red.
    assert_eq!(images.pixels(2)[1024], (1024 % 251) as u8);
    assert_eq!(images.identity().files.len(), 2);
}

#[test]
fn a_cifar_batch_that_is_cut_short_or_mislabelled_is_refused() {
    let scratch = TempDir::new().unwrap();
    let path = scratch.path().join("data_batch_1.bin");
    let bytes = batch(&[0, 1]);
    fs::write(&path, &bytes[..6000]).unwrap();
    let error = refused(cifar::read(&[&path], &CLASSES));
    assert!(matches!(error, ImageError::Truncated { expected: 6146, found: 6000, .. }), "{error}");
    fs::write(&path, []).unwrap();
    let error = refused(cifar::read(&[&path], &CLASSES));
    assert!(matches!(error, ImageError::Truncated { expected: 3073, found: 0, .. }), "{error}");
    fs::write(&path, batch(&[0, 7])).unwrap();
    let error = refused(cifar::read(&[&path], &CLASSES));
    assert!(matches!(error, ImageError::Label { image: 1, label: 7, .. }), "{error}");
}

fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        if name.ends_with('/') {
            header.set_entry_type(tar::EntryType::Directory);
        }
        archive.append_data(&mut header, name, *content).unwrap();
    }
    archive.into_inner().unwrap()
}

#[test]
fn batches_are_found_in_an_archive_whatever_their_order_and_folder() {
    let scratch = TempDir::new().unwrap();
    let path = scratch.path().join("cifar.tar.gz");
    let (one, two) = (batch(&[1]), batch(&[2, 0]));
    let members: [(&str, &[u8]); 4] =
        [("set/", b""), ("set/two.bin", &two), ("set/readme", b"hello"), ("set/one.bin", &one)];
    let whole = tar(&members);
    for bytes in [whole.clone(), gzip(&whole)] {
        fs::write(&path, bytes).unwrap();
        let images = cifar::read_archive(&path, &["one.bin", "two.bin"], &CLASSES).unwrap();
        assert_eq!(images.labels(), [1, 2, 0]);
    }
    let error = refused(cifar::read_archive(&path, &["one.bin", "three.bin"], &CLASSES));
    assert!(error.to_string().contains("there is no three.bin in it"), "{error}");
    fs::write(&path, &whole[..3000]).unwrap();
    let error = refused(cifar::read_archive(&path, &["one.bin"], &CLASSES));
    assert!(error.to_string().contains("unexpected EOF"), "{error}");
    let mut damaged = whole;
    damaged[0] ^= 1;
    fs::write(&path, &damaged).unwrap();
    let error = refused(cifar::read_archive(&path, &["one.bin"], &CLASSES));
    assert!(error.to_string().contains("checksum mismatch"), "{error}");
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/images").join(name)
}

/// A folder with these images, each copied from a fixture.
fn folder_of(images: &[(&str, &str)]) -> TempDir {
    let scratch = TempDir::new().unwrap();
    for (path, from) in images {
        let path = scratch.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(fixture(from), path).unwrap();
    }
    scratch
}

#[test]
fn every_kind_of_image_decodes_to_what_pillow_says() {
    let expected = fs::read_to_string(fixture("expected.json")).unwrap();
    let expected: std::collections::BTreeMap<String, Vec<u8>> =
        serde_json::from_str(&expected).unwrap();
    assert_eq!(expected.len(), 8);
    for (name, pixels) in expected {
        let scratch = folder_of(&[(&format!("class/{name}"), &name)]);
        let (images, _) = folder::read(scratch.path()).unwrap();
        let channels = if name.starts_with("grey") { 1 } else { 3 };
        assert_eq!(images.shape(), ImageShape { channels, height: 10, width: 12 }, "{name}");
        // PNG is exact. JPEG leaves the rounding of the inverse DCT and of the colour conversion
        // to the decoder; upsampled chroma (progressive.jpg) may differ by a little more.
        let tolerance = match name.as_str() {
            "progressive.jpg" => 4,
            jpeg if jpeg.ends_with("jpg") => 2,
            _ => 0,
        };
        for (at, (found, expected)) in images.pixels(0).iter().zip(&pixels).enumerate() {
            let off = found.abs_diff(*expected);
            assert!(off <= tolerance, "{name}, byte {at}: {found}, Pillow has {expected}");
        }
    }
}

#[test]
fn folders_are_classes_in_the_order_of_their_names() {
    let scratch = folder_of(&[
        ("rose/2.png", "grey.png"),
        ("daisy/b.PNG", "grey.png"),
        ("daisy/a.jpeg", "grey.jpg"),
        ("daisy/.hidden.png", "colour.png"),
    ]);
    fs::write(scratch.path().join("daisy/notes.txt"), "fresh").unwrap();
    let (images, split) = folder::read(scratch.path()).unwrap();
    assert_eq!(images.classes(), ["daisy", "rose"]);
    assert_eq!(images.labels(), [0, 0, 1]);
    assert_eq!((split.train.as_slice(), split.test.len()), (&[0, 1, 2][..], 0));
    let [warning] = images.identity().warnings.as_slice() else { panic!() };
    assert!(
        warning.starts_with("1 file was left out") && warning.contains("notes.txt"),
        "{warning}"
    );
    // The identity is that of names and bytes: a copy elsewhere has it too, a renamed file not.
    let hash = |images: &Images| images.identity().files[0].sha256.clone();
    let copy = folder_of(&[
        ("rose/2.png", "grey.png"),
        ("daisy/b.PNG", "grey.png"),
        ("daisy/a.jpeg", "grey.jpg"),
    ]);
    assert_eq!(hash(&folder::read(copy.path()).unwrap().0), hash(&images));
    fs::rename(copy.path().join("rose/2.png"), copy.path().join("rose/3.png")).unwrap();
    assert_ne!(hash(&folder::read(copy.path()).unwrap().0), hash(&images));
}

#[test]
fn folders_named_train_and_test_are_the_split() {
    let scratch = folder_of(&[
        ("train/daisy/1.png", "grey.png"),
        ("train/rose/1.png", "grey.png"),
        ("test/rose/1.png", "grey.png"),
        ("validation/daisy/1.png", "grey.png"),
    ]);
    let (images, split) = folder::read(scratch.path()).unwrap();
    assert_eq!(images.labels(), [0, 1, 0, 1]);
    assert_eq!((split.train, split.validation, split.test), (vec![0, 1], vec![2], vec![3]));
    let scratch = folder_of(&[("train/daisy/1.png", "grey.png"), ("test/tulip/1.png", "grey.png")]);
    let error = refused(folder::read(scratch.path()));
    assert!(matches!(&error, ImageError::UnseenClass { class, .. } if class == "tulip"), "{error}");
}

#[test]
fn images_of_mixed_sizes_or_colours_are_named() {
    let scratch = folder_of(&[("a/1.png", "grey.png"), ("b/1.png", "colour.png")]);
    let error = refused(folder::read(scratch.path())).to_string();
    assert!(error.contains("1.png is 3 × 10 × 12") && error.contains("is 1 × 10 × 12"), "{error}");
}

#[test]
fn an_image_that_cannot_be_read_is_named_by_its_path() {
    let scratch = folder_of(&[("a/1.png", "grey.png"), ("a/2.png", "grey.png")]);
    let path = scratch.path().join("a/2.png");
    let whole = fs::read(&path).unwrap();
    let jpeg = fs::read(fixture("colour.jpg")).unwrap();
    let mut flipped = whole.clone();
    flipped[45] ^= 0x10; // inside the compressed pixels: the chunk's checksum is wrong
    let cases: [&[u8]; 6] = [
        &[],
        b"GIF89a",
        &whole[..whole.len() / 2],
        &whole[..30],
        &flipped,
        &jpeg[..jpeg.len() / 2],
    ];
    for bytes in cases {
        fs::write(&path, bytes).unwrap();
        let error = refused(folder::read(scratch.path()));
        let ImageError::Unreadable { file, .. } = &error else { panic!("{error}") };
        assert_eq!(Path::new(file), path);
    }
    fs::copy(fixture("transparent.png"), &path).unwrap();
    let error = refused(folder::read(scratch.path())).to_string();
    assert!(error.contains("transparent pixels"), "{error}");
}

#[test]
fn empty_folders_are_refused() {
    let scratch = TempDir::new().unwrap();
    let error = refused(folder::read(scratch.path()));
    assert!(matches!(error, ImageError::Nothing { .. }), "{error}");
    fs::create_dir(scratch.path().join("daisy")).unwrap();
    let error = refused(folder::read(scratch.path())).to_string();
    assert!(error.contains("daisy has no PNG or JPEG image"), "{error}");
    let missing = folder::read(&scratch.path().join("nowhere")).unwrap_err();
    assert!(matches!(missing, Error::Io { .. }), "{missing}");
}
