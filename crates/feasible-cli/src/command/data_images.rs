//! The image sets of `feasible data`: what they are, where they are looked for, how to get them.

use std::path::{Path, PathBuf};

use feasible_data::ImageSet;
use feasible_data::image::Form;
use serde::Serialize;

use super::data::{abbreviated, unknown};
use crate::exit::{Failure, Result};
use crate::terminal::Terminal;

#[derive(Serialize)]
struct Shown {
    name: &'static str,
    title: &'static str,
    source: &'static str,
    licence: &'static str,
    /// Channels, height, width.
    shape: [usize; 3],
    classes: [&'static str; 10],
    train: usize,
    test: usize,
    embedded: bool,
    files: Vec<FileShown>,
    /// The directories that are looked into, in order.
    places: Vec<PathBuf>,
    /// Where it is; its files are verified.
    found: Option<PathBuf>,
    how_to_get: String,
}

#[derive(Serialize)]
struct FileShown {
    file: &'static str,
    sha256: &'static str,
}

/// Shows a set; files that are found are read and verified.
pub fn show(set: &ImageSet, given: Option<&Path>, terminal: &Terminal) -> Result<()> {
    let embedded = set.form == Form::Embedded;
    let found = if embedded { None } else { set.find(given).ok().flatten() };
    if embedded || found.is_some() {
        set.load(given)?;
    }
    let shown = Shown {
        name: set.name,
        title: set.title,
        source: set.source,
        licence: set.licence,
        shape: [set.shape.channels, set.shape.height, set.shape.width],
        classes: set.classes,
        train: set.train,
        test: set.test,
        embedded,
        files: set.files.iter().map(|f| FileShown { file: f.name, sha256: f.sha256 }).collect(),
        places: if embedded {
            Vec::new()
        } else {
            set.places(given, ImageSet::environment().as_deref())
        },
        found,
        how_to_get: set.how_to_get(given.unwrap_or(Path::new(set.name))),
    };
    Ok(terminal.result(&shown, |_| text(&shown, terminal.verbose))?)
}

fn text(set: &Shown, verbose: bool) -> String {
    let [channels, height, width] = set.shape;
    let mut text = format!(
        "{}: {}\nsource   {}\nlicence  {}\nimages   {} for training, {} for test, {channels} × \
         {height} × {width}\nclasses  {}\n\nfiles (SHA-256 when unpacked)\n",
        set.name,
        set.title,
        set.source,
        set.licence,
        set.train,
        set.test,
        set.classes.join(", ")
    );
    for file in &set.files {
        text += &format!("  {}  {}\n", abbreviated(file.sha256, verbose), file.file);
    }
    if set.embedded {
        return text + "\nThe files are embedded in the program and verified.\n";
    }
    text += "\nsearched in\n";
    for place in &set.places {
        text += &format!("  {}\n", place.display());
    }
    if set.places.is_empty() {
        text += "  no directory: give --data-dir or set FEASIBLE_DATA\n";
    }
    match &set.found {
        Some(place) => text + &format!("\nfound in {} and verified\n", place.display()),
        None => text + "\nnot found\n" + &set.how_to_get,
    }
}

#[derive(Serialize)]
struct Fetch<'a> {
    name: &'static str,
    directory: &'a Path,
    addresses: &'static [&'static str],
    commands: String,
}

/// Prints how to get a set. No connection is opened.
pub fn fetch(name: &str, directory: &Option<PathBuf>, terminal: &Terminal) -> Result<()> {
    let Some(set) = ImageSet::all().into_iter().find(|set| set.name == name) else {
        return Err(unknown(name));
    };
    if set.form == Form::Embedded {
        return Err(Failure::input(format!(
            "{name} is embedded in the program: there is nothing to fetch"
        )));
    }
    let directory = directory.as_deref().unwrap_or(Path::new(set.name));
    let commands = set.how_to_get(directory);
    let fetch = Fetch { name: set.name, directory, addresses: set.addresses, commands };
    Ok(terminal.result(&fetch, |_| fetch.commands.clone())?)
}
