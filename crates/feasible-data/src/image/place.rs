//! Where the files of a known set are looked for, and how to get them.
//!
//! 1. In the directory given, and nowhere else then.
//! 2. In the directory of the environment variable `FEASIBLE_DATA`.
//! 3. Where Debian's package puts them (`dataset-fashion-mnist`).
//!
//! In the first two, the directory itself and the folders that other programs make in it are
//! tried: `NAME`, torchvision's `FashionMNIST/raw`, the archive's own `cifar-10-batches-bin`.
//! No connection is ever opened: how to get a set is said, not done.

use std::path::{Path, PathBuf};

use super::error::ImageError;
use super::set::{Form, ImageSet};
use crate::error::Result;

/// The environment variable that names a directory of data.
const VARIABLE: &str = "FEASIBLE_DATA";

/// Files of a set that were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// One path for each of the set's files.
    Files(Vec<PathBuf>),
    /// An archive of them.
    Archive(PathBuf),
}

impl ImageSet {
    /// The directories that are looked into, in order; `environment` is what `FEASIBLE_DATA`
    /// says.
    pub fn places(&self, given: Option<&Path>, environment: Option<&Path>) -> Vec<PathBuf> {
        let mut places = Vec::new();
        if let Some(base) = given.or(environment) {
            places.push(base.to_path_buf());
            places.extend(self.folders.iter().map(|folder| base.join(folder)));
        }
        if given.is_none() {
            places.extend(self.system.map(PathBuf::from));
        }
        places
    }

    /// The directory of `FEASIBLE_DATA`, if it is set.
    pub fn environment() -> Option<PathBuf> {
        std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// Where the set is, if it is anywhere: `None` for one that is embedded.
    ///
    /// # Errors
    /// [`ImageError::NotFound`], with every directory and how to get the set.
    pub fn find(&self, given: Option<&Path>) -> Result<Option<PathBuf>> {
        Ok(match self.search(given)? {
            None => None,
            Some(Found::Archive(path)) => Some(path),
            Some(Found::Files(files)) => {
                files.first().and_then(|f| f.parent()).map(Path::to_path_buf)
            }
        })
    }

    pub(super) fn search(&self, given: Option<&Path>) -> Result<Option<Found>> {
        if self.form == Form::Embedded {
            return Ok(None);
        }
        let places = self.places(given, Self::environment().as_deref());
        for place in &places {
            if let Some(files) = self.files_in(place) {
                return Ok(Some(Found::Files(files)));
            }
            if let Some(archive) = self.archive {
                // The archive itself may be named in place of a directory.
                let named = place.file_name().is_some_and(|name| name == archive);
                let path = if named { place.clone() } else { place.join(archive) };
                if path.is_file() {
                    return Ok(Some(Found::Archive(path)));
                }
            }
        }
        let names: Vec<&str> = self.files.iter().map(|file| file.name).collect();
        let or = self
            .archive
            .map_or_else(|| " (plain or .gz)".to_string(), |archive| format!(", or {archive},"));
        let looked = match places.is_empty() {
            true => vec![format!("no place: no directory was given and {VARIABLE} is not set")],
            false => places.iter().map(|place| place.display().to_string()).collect(),
        };
        Err(ImageError::NotFound {
            set: self.name,
            files: format!("{}{or}", names.join(", ")),
            looked,
            how: self.how_to_get(&given.map_or_else(|| self.name.into(), Path::to_path_buf)),
        }
        .into())
    }

    /// One path for each of the set's files, if all are in this directory.
    fn files_in(&self, directory: &Path) -> Option<Vec<PathBuf>> {
        let path = |name: &str| {
            let plain = directory.join(name);
            let packed = directory.join(format!("{name}.gz"));
            [plain, packed].into_iter().find(|path| path.is_file())
        };
        self.files.iter().map(|file| path(file.name)).collect()
    }

    /// How to get the set into `directory`, in commands for a shell; nothing is done.
    pub fn how_to_get(&self, directory: &Path) -> String {
        if self.form == Form::Embedded {
            return format!(
                "{} is built into the program: there is nothing to download\n",
                self.name
            );
        }
        let quoted = format!("'{}'", directory.display().to_string().replace('\'', r"'\''"));
        let mut text =
            "feasible opens no connections; these commands download it from its authors:\n"
                .to_string();
        text += &format!("  mkdir -p {quoted} && cd {quoted}\n");
        for address in self.addresses {
            text += &format!("  curl -fLO {address}\n");
        }
        if let Some(package) = self.package {
            text += &format!("or, on Debian and Ubuntu: apt install {package}\n");
        }
        text + "then give the directory, or set FEASIBLE_DATA to it\n"
    }
}
