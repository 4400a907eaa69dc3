//! Image files.
//!
//! The first byte says what the rest is: `P` a PNG or JPEG image in a folder of a class, `I` a pair of IDX files
//! (two bytes with the length of the first, little endian), `C` a CIFAR batch, `T` an archive of batches.

use feasible_data::Images;
use feasible_data::image::{cifar, folder, idx};
use tempfile::TempDir;

const CLASSES: [&str; 3] = ["a", "b", "c"];

thread_local! {
    static PLACE: Option<TempDir> = place();
}

fn place() -> Option<TempDir> {
    let directory = tempfile::tempdir().ok()?;
    std::fs::create_dir_all(directory.path().join("folder/a")).ok()?;
    Some(directory)
}

/// Images that are accepted have as many pixels as their shape says, labels of their classes, and inputs in
/// \[0, 1\]; reading them again gives the same.
///
/// # Panics
/// If they have not, or if there is no temporary directory.
pub fn run(bytes: &[u8]) -> bool {
    let Some((kind, bytes)) = bytes.split_first() else { return false };
    let read = || match kind {
        b'P' => in_file("folder/a/1.png", bytes, |path| {
            let directory = path.parent()?.parent()?;
            folder::read(directory).ok().map(|(images, _)| images)
        }),
        b'I' => {
            let (length, files) = bytes.split_first_chunk()?;
            let (images, labels) =
                files.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
            idx::from_bytes(("images", images), ("labels", labels), &CLASSES).ok()
        }
        b'C' => in_file("batch.bin", bytes, |path| cifar::read(&[path], &CLASSES).ok()),
        b'T' => in_file("batches.tar", bytes, |path| {
            cifar::read_archive(path, &["data_batch_1.bin"], &CLASSES).ok()
        }),
        _ => None,
    };
    let Some(images) = read() else { return false };
    whole(&images);
    let again = read();
    assert_eq!(again.map(|again| again.sha256()), Some(images.sha256()), "read again");
    true
}

fn in_file(
    name: &str,
    bytes: &[u8],
    read: impl Fn(&std::path::Path) -> Option<Images>,
) -> Option<Images> {
    PLACE.with(|place| {
        let Some(directory) = place else { panic!("no temporary directory") };
        let file = directory.path().join(name);
        if let Err(error) = std::fs::write(&file, bytes) {
            panic!("{}: {error}", file.display());
        }
        read(&file)
    })
}

fn whole(images: &Images) {
    assert!(!images.is_empty() && !images.shape().is_empty());
    assert_eq!(images.labels().len(), images.len());
    for row in 0..images.len() {
        assert_eq!(images.pixels(row).len(), images.shape().len());
        assert!((images.labels()[row] as usize) < images.classes().len());
    }
    let Ok(inputs) = images.inputs(&[0]) else { panic!("the first image is no input") };
    assert!(inputs.row(0).iter().all(|x| (0.0..=1.0).contains(x)));
}
