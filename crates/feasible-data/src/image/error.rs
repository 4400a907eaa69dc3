//! Images that cannot be used: which file and image, what was found, and what to do.

use super::images::ImageShape;
use crate::error::shown;
use crate::visible::visible;

/// What is wrong with image files, or with what was asked of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The first four bytes are not those of the format.
    #[error(
        "{file} starts with {found:#010x} instead of {expected:#010x} ({what}){hint}", file = visible(.file)
    )]
    Magic {
        /// The file.
        file: String,
        /// What the format is.
        what: &'static str,
        /// The number of the format.
        expected: u32,
        /// The number found.
        found: u32,
        /// What the file probably is.
        hint: &'static str,
    },
    /// The file ends too early.
    #[error(
        "{file} ends after {found} bytes of {expected}: it was cut short: download it again", file = visible(.file)
    )]
    Truncated {
        /// The file.
        file: String,
        /// Bytes that its header or its format calls for, after decompression.
        expected: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// The file goes on too long.
    #[error(
        "{file} continues past its {expected} bytes: its header and its content disagree", file = visible(.file)
    )]
    Trailing {
        /// The file.
        file: String,
        /// Bytes that its header calls for, after decompression.
        expected: u64,
    },
    /// A header whose numbers make no sense.
    #[error(
        "{file}: {reason}", file = visible(.file)
    )]
    Header {
        /// The file.
        file: String,
        /// Why, and what to do.
        reason: String,
    },
    /// A label that is no class.
    #[error(
        "{file}, image {image} (from 0): label {label}, but there are {classes} classes, \
         0 to {}", classes.saturating_sub(1), file = visible(.file)
    )]
    Label {
        /// The file.
        file: String,
        /// Which image of the file, from 0.
        image: usize,
        /// Its label.
        label: u32,
        /// How many classes there are.
        classes: usize,
    },
    /// As many labels as images are needed.
    #[error(
        "{images_file} has {images} images but {labels_file} has {labels} labels: they do \
         not belong together", images_file = visible(.images_file), labels_file = visible(.labels_file)
    )]
    Counts {
        /// The file of images.
        images_file: String,
        /// How many there are.
        images: usize,
        /// The file of labels.
        labels_file: String,
        /// How many there are.
        labels: usize,
    },
    /// Images of different sizes.
    #[error(
        "{file} is {found} (channels × height × width) but {first} is {expected}: convert all \
         images to one size and colour mode", file = visible(.file), first = visible(.first)
    )]
    Sizes {
        /// The image.
        file: String,
        /// Its size.
        found: ImageShape,
        /// The first image.
        first: String,
        /// Its size.
        expected: ImageShape,
    },
    /// A file of a known set that is not the known file.
    #[error(
        "{file} is not the original {set} file of this name: its SHA-256 is {found}, not \
         {expected}; download it again, or read it as files of your own", file = visible(.file)
    )]
    Checksum {
        /// The set.
        set: &'static str,
        /// The file.
        file: String,
        /// SHA-256 of the original, after decompression.
        expected: &'static str,
        /// SHA-256 of this one.
        found: String,
    },
    /// A PNG or JPEG that cannot be read.
    #[error(
        "{file} cannot be read as an image: {reason}", file = visible(.file)
    )]
    Unreadable {
        /// The image.
        file: String,
        /// Why, and what to do.
        reason: String,
    },
    /// No images where some are needed.
    #[error(
        "{place} {reason}", place = visible(.place)
    )]
    Nothing {
        /// The directory or file.
        place: String,
        /// What is missing, and what to do.
        reason: String,
    },
    /// A class of the test folder that the training folder has not.
    #[error(
        "{place}: class '{}' is not in {training}: there is nothing to learn it from", shown(.class), place = visible(.place), training = visible(.training)
    )]
    UnseenClass {
        /// The folder.
        place: String,
        /// The class.
        class: String,
        /// The training folder.
        training: String,
    },
    /// A damaged archive, or one without the files it should have.
    #[error(
        "{file}: {reason}", file = visible(.file)
    )]
    Archive {
        /// The archive.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// Fewer images of a class than are to be held out.
    #[error(
        "class '{}' has {available} images: holding out {wanted} leaves none \
         to train on", shown(.class)
    )]
    HoldOut {
        /// The class.
        class: String,
        /// Images wanted.
        wanted: usize,
        /// Images there are.
        available: usize,
    },
    /// A set that is nowhere.
    #[error("{set} was not found; looked for {} in:\n  {}\n{how}", .files, .looked.join("\n  "))]
    NotFound {
        /// The set.
        set: &'static str,
        /// The files.
        files: String,
        /// The directories.
        looked: Vec<String>,
        /// How to get it.
        how: String,
    },
    /// A row that does not exist.
    #[error("there is no image {row}: rows are 0 to {}", rows.saturating_sub(1))]
    Row {
        /// The row.
        row: u32,
        /// Images there are.
        rows: usize,
    },
}
