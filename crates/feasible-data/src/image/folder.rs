//! A folder of PNG and JPEG images by class:
//!
//! ```text
//! flowers/daisy/1.png              flowers/train/daisy/1.png
//! flowers/daisy/2.jpg       or     flowers/train/rose/1.png
//! flowers/rose/1.png               flowers/test/daisy/2.jpg
//! ```
//!
//! In the second form `train`, `validation` and `test` are the parts of the split; in the first
//! all images are training images. Classes and files are taken in the order of their names,
//! whatever the file system says; hidden files and files of other kinds are left out, and said so.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::decode::decode_image;
use super::error::ImageError;
use super::identity::{FileHash, Identity, hex};
use super::images::{ImageShape, Images};
use crate::decoding::decoding;
use crate::disk;
use crate::error::{Error, Result};
use crate::limits::{Exceeded, Limits};
use crate::split::Split;
use crate::visible::visible;

/// All images of a folder, and their parts.
///
/// # Errors
/// No images, an image that cannot be read, images of different sizes or colour modes, classes
/// of a later part that the training part has not.
pub fn read(directory: &Path) -> Result<(Images, Split)> {
    read_within(directory, &Limits::default())
}

/// As [`read`], within other limits.
///
/// # Errors
/// As [`read`].
pub fn read_within(directory: &Path, limits: &Limits) -> Result<(Images, Split)> {
    let [train, validation, test] = ["train", "validation", "test"].map(|p| directory.join(p));
    let parted = train.is_dir() && (validation.is_dir() || test.is_dir());
    let training = if parted { &train } else { directory };
    let (classes, mut skipped) = directories(training)?;
    let names: Vec<String> = classes.iter().map(|path| last(path)).collect();
    let mut reading = Reading::new(directory, &names, limits);
    reading.class_folders(&classes)?;
    let end = |reading: &Reading<'_>| reading.labels.len() as u32;
    let mut split = Split { train: (0..end(&reading)).collect(), ..Split::default() };
    if parted {
        for (part, rows) in [(&validation, &mut split.validation), (&test, &mut split.test)] {
            if !part.is_dir() {
                continue;
            }
            let first = end(&reading);
            let (folders, beside) = directories(part)?;
            skipped.extend(beside);
            if let Some(unseen) = folders.iter().find(|path| !names.contains(&last(path))) {
                return Err(ImageError::UnseenClass {
                    place: part.display().to_string(),
                    class: last(unseen),
                    training: train.display().to_string(),
                }
                .into());
            }
            reading.class_folders(&folders)?;
            *rows = (first..end(&reading)).collect();
        }
    }
    skipped.append(&mut reading.skipped);
    Ok((reading.finish(skipped)?, split))
}

struct Reading<'a> {
    root: &'a Path,
    limits: &'a Limits,
    names: &'a [String],
    first: Option<(PathBuf, ImageShape)>,
    pixels: Vec<u8>,
    labels: Vec<u32>,
    list: Sha256,
    skipped: Vec<PathBuf>,
}

impl<'a> Reading<'a> {
    fn new(root: &'a Path, names: &'a [String], limits: &'a Limits) -> Self {
        Self {
            root,
            limits,
            names,
            first: None,
            pixels: Vec::new(),
            labels: Vec::new(),
            list: Sha256::new(),
            skipped: Vec::new(),
        }
    }

    fn class_folders(&mut self, folders: &[PathBuf]) -> Result<()> {
        for folder in folders {
            let class = self.names.iter().position(|name| *name == last(folder));
            let label = class.unwrap_or(self.names.len()) as u32;
            let before = self.labels.len();
            for path in entries(folder)? {
                if path.is_file() && is_image(&path) {
                    self.image(&path, label)?;
                } else {
                    self.skipped.push(path);
                }
            }
            if self.labels.len() == before {
                let reason = "has no PNG or JPEG image (.png, .jpg, .jpeg): fill or remove it";
                let (place, reason) = (folder.display().to_string(), reason.into());
                return Err(ImageError::Nothing { place, reason }.into());
            }
        }
        Ok(())
    }

    fn image(&mut self, path: &Path, label: u32) -> Result<()> {
        let file = path.display().to_string();
        let room = self.limits.image_bytes.saturating_sub(self.pixels.len() as u64);
        let mut bytes = Vec::new();
        let opened = disk::open(path).map_err(Error::io(&file))?;
        // One byte more than there is room for shows a file that goes on.
        let mut opened = opened.take(room.saturating_add(1));
        opened.read_to_end(&mut bytes).map_err(Error::io(&file))?;
        let too_large = |what: &str| {
            let most = self.limits.image_bytes;
            let what = format!("{what} more than the {most} bytes allowed");
            Exceeded::new("image_bytes", what).at(visible(&file))
        };
        if bytes.len() as u64 > room {
            return Err(too_large("the image files up to it have"));
        }
        let unreadable =
            |reason| Error::from(ImageError::Unreadable { file: file.clone(), reason });
        let damaged = || unreadable("it is damaged".into());
        let decoded = decoding(damaged, || decode_image(&bytes, room).map_err(unreadable))?;
        let Some((shape, pixels)) = decoded else {
            return Err(too_large("the pixels of the images up to it take"));
        };
        match &self.first {
            Some((first, expected)) if *expected != shape => {
                let (first, expected) = (first.display().to_string(), *expected);
                return Err(ImageError::Sizes { file, found: shape, first, expected }.into());
            }
            Some(_) => {}
            None => self.first = Some((path.to_path_buf(), shape)),
        }
        // Paths from the folder on, with '/', so that moving the folder leaves its hash alone.
        let inside = path.strip_prefix(self.root).unwrap_or(path);
        let inside: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
        let line = format!("{}  {}\n", hex(&Sha256::digest(&bytes)), inside.join("/"));
        self.list.update(line.as_bytes());
        self.pixels.extend(pixels);
        self.labels.push(label);
        Ok(())
    }

    fn finish(self, skipped: Vec<PathBuf>) -> Result<Images> {
        let name = self.root.display().to_string();
        let Some((_, shape)) = self.first else {
            let reason = "has no folders of images: put the images of each class into a folder named after the class";
            return Err(ImageError::Nothing { place: name, reason: reason.into() }.into());
        };
        let sha256 = hex(&self.list.finalize());
        let files = vec![FileHash { file: name.clone(), sha256, known: None }];
        // Nobody expects a folder of one's own to be a known set: that is no warning.
        let mut identity = Identity { name, files, warnings: Vec::new() };
        if let Some(first) = skipped.first() {
            let were = match skipped.len() {
                1 => "1 file was".to_string(),
                n => format!("{n} files were"),
            };
            identity.warnings.push(format!(
                "{were} left out, {} first: not a PNG or JPEG image in the folder of a class",
                first.display()
            ));
        }
        Images::new(shape, self.pixels, self.labels, self.names.to_vec(), identity)
    }
}

fn is_image(path: &Path) -> bool {
    let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
    extension.is_some_and(|e| ["png", "jpg", "jpeg"].contains(&e.as_str()))
}

/// The folders of a directory, and what else is in it.
fn directories(directory: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (folders, files) = entries(directory)?.into_iter().partition(|path| path.is_dir());
    Ok((folders, files))
}

/// What is in a directory and not hidden, by name.
fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let name = directory.display().to_string();
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(Error::io(&name))? {
        let path = entry.map_err(Error::io(&name))?.path();
        if !last(&path).starts_with('.') {
            paths.push(path);
        }
    }
    paths.sort_by_key(|path| last(path));
    Ok(paths)
}

fn last(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
