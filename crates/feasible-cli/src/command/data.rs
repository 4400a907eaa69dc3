//! `feasible data`.

use std::path::{Path, PathBuf};

use feasible_data::{Cells, Column, DataSet, ImageSet, Table, visible};
use feasible_problem::text::{Align, Grid, grouped};
use feasible_run::output::{make_named_directory, write_over};
use serde::Serialize;

use super::{data_dir, data_images};
use crate::arguments::{DataArguments, DataCommand};
use crate::exit::{Exit, Failure, Result};
use crate::outputs::Inputs;
use crate::terminal::Terminal;

#[derive(Serialize)]
struct List {
    sets: Vec<Listed>,
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    title: &'static str,
    /// `table` or `images`.
    kind: &'static str,
    /// Rows or images.
    rows: usize,
    /// Bytes inside the program: 0 for sets that are read from files.
    bytes: usize,
    licence: &'static str,
}

#[derive(Serialize)]
struct Shown {
    name: &'static str,
    title: &'static str,
    source: &'static str,
    licence: &'static str,
    files: Vec<FileShown>,
    /// The distributor's files, as --data-dir looks for them.
    original_files: Vec<&'static str>,
    rows_used: Option<&'static str>,
    target: String,
    columns: Vec<ColumnShown>,
}

#[derive(Serialize)]
struct FileShown {
    file: String,
    rows: usize,
    sha256: Option<&'static str>,
}

#[derive(Serialize)]
struct ColumnShown {
    name: String,
    kind: String,
    missing: usize,
    categories: Option<Vec<String>>,
    range: Option<(f64, f64)>,
}

#[derive(Serialize)]
struct Exported {
    files: Vec<PathBuf>,
}

/// Lists, shows or exports embedded data.
pub fn data(arguments: &DataArguments, terminal: &Terminal) -> Result<Exit> {
    let from = data_dir(&arguments.data_dir);
    let tables = |set: &DataSet| match &from {
        Some(directory) => set.tables_from(directory),
        None => set.tables(),
    };
    match arguments.command.as_ref().unwrap_or(&DataCommand::List) {
        DataCommand::List => list(terminal)?,
        DataCommand::Show { name } => match image_set(name) {
            Some(set) => data_images::show(&set, arguments.data_dir.as_deref(), terminal)?,
            None => {
                let set = named(name)?;
                let shown = shown(&set, &tables(&set)?, from.is_none());
                terminal.result(&shown, |_| show(&shown, terminal.verbose))?;
            }
        },
        DataCommand::Fetch { name, directory } => data_images::fetch(name, directory, terminal)?,
        DataCommand::Export { name, .. } if image_set(name).is_some() => {
            return Err(Failure::input(format!(
                "{name} is a set of images, not a table: `feasible data show {name}` shows where \
                 its files are"
            )));
        }
        DataCommand::Export { name, directory, force } => {
            let set = named(name)?;
            let mut inputs = Inputs::new();
            for (from, original) in from.iter().flat_map(|from| {
                set.original_files().into_iter().map(move |original| (from, original))
            }) {
                inputs = inputs.file(&from.join(original), "a file of the data set that is read");
            }
            for name in exported(&set) {
                inputs.refuse(&directory.join(name))?;
            }
            export(&set, &tables(&set)?, directory, *force, terminal)?;
        }
    }
    Ok(Exit::Met)
}

/// The table set of this name; of an unknown one, the names of all sets are given.
fn named(name: &str) -> Result<DataSet> {
    let all = || DataSet::all().into_iter();
    let set = all().find(|set| set.name == name);
    set.ok_or_else(|| unknown(name))
}

/// A name that no set has.
pub(super) fn unknown(name: &str) -> Failure {
    let tables = DataSet::all().into_iter().map(|set| set.name);
    let names: Vec<&str> = tables.chain(ImageSet::all().into_iter().map(|set| set.name)).collect();
    let nearest = feasible_data::nearest(name, names.iter().copied());
    let nearest = nearest.map_or(".".to_string(), |name| format!(": did you mean '{name}'?"));
    Failure::input(format!(
        "no data set is named '{name}'{nearest} The data sets are {}",
        names.join(", ")
    ))
}

/// The first digits of a hash, or all of them.
pub(super) fn abbreviated(hash: &str, whole: bool) -> String {
    if whole { hash.to_string() } else { format!("{}…", &hash[..hash.len().min(16)]) }
}

/// The image set of this name, if it is one.
fn image_set(name: &str) -> Option<ImageSet> {
    ImageSet::all().into_iter().find(|set| set.name == name)
}

fn list(terminal: &Terminal) -> Result<()> {
    let listed = |set: &DataSet| Listed {
        name: set.name,
        title: set.title,
        kind: "table",
        rows: set.parts.iter().map(|part| part.rows).sum(),
        bytes: set.parts.iter().map(|part| part.bytes.len()).sum(),
        licence: set.licence,
    };
    let images = |set: ImageSet| Listed {
        name: set.name,
        title: set.title,
        kind: "images",
        rows: set.train + set.test,
        bytes: set.bytes(),
        licence: set.licence,
    };
    let mut all: Vec<Listed> = DataSet::all().iter().map(listed).collect();
    all.extend(ImageSet::all().into_iter().map(images));
    let mut grid = Grid::new().with_prose();
    grid.row(["name", "size", "what it is"].map(String::from));
    for set in &all {
        let what = if set.kind == "table" { "rows" } else { "images" };
        let files = if set.bytes == 0 { " (from files)" } else { "" };
        let size = format!("{} {what}", grouped(set.rows));
        grid.row([set.name.to_string(), size, format!("{}{files}", set.title)]);
    }
    let list = List { sets: all };
    Ok(terminal.result(&list, |page| grid.on(page, &[Align::Left]))?)
}

fn shown(set: &DataSet, tables: &[Table], embedded: bool) -> Shown {
    let file = |(at, table): (usize, &Table)| {
        let part = set.parts.get(at).filter(|_| embedded);
        FileShown {
            file: part.map_or_else(|| table.name().to_string(), |part| part.file.to_string()),
            rows: table.rows(),
            sha256: part.map(|part| part.sha256),
        }
    };
    let columns = tables.first().map_or(&[][..], Table::columns);
    Shown {
        name: set.name,
        title: set.title,
        source: set.source,
        licence: set.licence,
        files: tables.iter().enumerate().map(file).collect(),
        original_files: set.original_files(),
        rows_used: set.keep,
        target: set.target.column.clone(),
        columns: columns.iter().map(column).collect(),
    }
}

fn column(column: &Column) -> ColumnShown {
    let (categories, range) = match &column.cells {
        Cells::Categories(categories) => (Some(categories.names.clone()), None),
        Cells::Numbers(values) => {
            let known = || values.iter().filter(|x| !x.is_nan());
            let low = known().reduce(f64::min);
            (None, low.zip(known().reduce(f64::max)))
        }
    };
    let (name, kind) = (column.name.clone(), column.kind().to_string());
    ColumnShown { name, kind, missing: column.missing(), categories, range }
}

fn show(set: &Shown, verbose: bool) -> String {
    let mut text = format!(
        "{}: {}\nsource   {}\nlicence  {}\ntarget   {}\n",
        set.name, set.title, set.source, set.licence, set.target
    );
    if let Some(rows) = set.rows_used {
        text += &format!("rows     {rows}\n");
    }
    text += "\nfiles\n";
    for file in &set.files {
        let hash = |hash| format!(", SHA-256 {}", abbreviated(hash, verbose));
        let hash = file.sha256.map_or(String::new(), hash);
        text += &format!("  {}: {} rows{hash}\n", file.file, file.rows);
    }
    text += &format!("  originals (for --data-dir): {}\n", set.original_files.join(", "));
    text += "\ncolumns of the first file\n";
    for column in &set.columns {
        let what = match (&column.categories, column.range) {
            (Some(categories), _) => {
                let shown: Vec<_> =
                    categories.iter().take(6).map(|category| visible(category)).collect();
                let more = if categories.len() > 6 { ", …" } else { "" };
                format!("{} categories: {}{more}", categories.len(), shown.join(", "))
            }
            (None, Some((low, high))) => format!("numbers from {low} to {high}"),
            (None, None) => "empty".into(),
        };
        let missing = match column.missing {
            0 => String::new(),
            n => format!(", {n} missing"),
        };
        text += &format!("  {}: {what}{missing}\n", visible(&column.name));
    }
    text
}

/// The files that a set is exported to.
fn exported(set: &DataSet) -> impl Iterator<Item = &'static str> {
    set.parts.iter().map(|part| part.file.strip_suffix(".zst").unwrap_or(part.file))
}

fn export(
    set: &DataSet,
    tables: &[Table],
    directory: &Path,
    force: bool,
    terminal: &Terminal,
) -> Result<()> {
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |error: std::io::Error| Failure::file("write", &path, &error)
    };
    let directory = &make_named_directory(directory).map_err(failed(directory))?;
    let mut files = Vec::new();
    for (table, name) in tables.iter().zip(exported(set)) {
        let path = directory.join(name);
        if path.symlink_metadata().is_ok() && !force {
            return Err(Failure::input(format!(
                "{} exists: give another directory, or --force to replace it",
                path.display()
            )));
        }
        let written = write_over(&path, &|out| table.write_csv(out).map_err(std::io::Error::other));
        written.map_err(failed(&path))?;
        files.push(path);
    }
    let lines = |files: &[PathBuf]| files.iter().map(|f| format!("{}\n", f.display())).collect();
    let exported = Exported { files };
    Ok(terminal.result(&exported, |_| lines(&exported.files))?)
}
