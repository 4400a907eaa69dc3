//! An output that is one of the inputs is refused, before anything is written.
//!
//! Two paths are one file if the system says so, by device and inode, so hard links, symbolic links and other
//! spellings are known; a path that does not exist yet counts as inside a folder if the directory it would be made
//! in is.

use std::path::{Path, PathBuf};

use feasible_problem::spec::DataSpec;
use feasible_problem::{ProblemSource, Spec};
use feasible_run::{files, output};

use crate::exit::{Failure, Result};

/// What a command reads.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    files: Vec<(PathBuf, &'static str)>,
    folders: Vec<(PathBuf, &'static str)>,
}

impl Inputs {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// And a file, that behind standard input too. The name of an embedded problem or set is none.
    #[must_use]
    pub fn file(mut self, path: &Path, what: &'static str) -> Self {
        let path = named(path);
        if path.exists() {
            self.files.push((path.to_path_buf(), what));
        }
        self
    }

    /// And a table, or a folder of images.
    #[must_use]
    pub fn data(mut self, path: &Path) -> Self {
        if path.is_dir() && !path.join(files::PROBLEM).is_file() {
            self.folders.push((path.to_path_buf(), "the folder of images that is read"));
            return self;
        }
        self.file(path, "the table that is read")
    }

    /// And what `[data]` names.
    #[must_use]
    pub fn spec(mut self, data: &DataSpec) -> Self {
        for path in [&data.file, &data.train, &data.validation, &data.test].into_iter().flatten() {
            self = self.file(path, "a table of the problem");
        }
        if let Some(path) = &data.folder {
            self.folders.push((path.clone(), "the folder of the problem's images"));
        }
        self
    }

    /// And a problem: its file and its data.
    #[must_use]
    pub fn problem(self, file: &str, spec: &Spec) -> Self {
        self.file(Path::new(file), "the problem file").spec(&spec.data)
    }

    /// And a model: its file, or the files of its run.
    #[must_use]
    pub fn model(self, path: &Path) -> Self {
        match path.is_dir() {
            true => self.run(path),
            false => self.file(path, "the model that is read"),
        }
    }

    /// And the files of a run, but for those that are made of it: its page, its card, its curves.
    #[must_use]
    pub fn run(mut self, directory: &Path) -> Self {
        for name in [
            files::README,
            files::PROBLEM,
            files::RUN,
            files::ROWS,
            files::METRICS,
            files::TIMINGS,
            files::CHECKPOINT,
            files::MODEL,
            files::MULTIPLIERS,
            files::SUMMARY,
            files::GROUPS,
            files::BASELINE,
            files::BASELINE_MODEL,
            files::FINGERPRINTS,
            files::SEEDS,
            files::LADDER,
            files::TUNE,
            files::SENSITIVITY,
            files::MONITOR,
            files::ADVERSARY[0],
            files::ADVERSARY[1],
        ] {
            self.files.push((directory.join(name), "a file of the run"));
        }
        self
    }

    /// And the data that a run was trained on, as far as its problem file says.
    #[must_use]
    pub fn data_of_run(self, directory: &Path) -> Self {
        let problem = directory.join(files::PROBLEM);
        let spec = || ProblemSource::open(&problem.display().to_string()).ok()?.parse(&[]).ok();
        match problem.is_file().then(spec).flatten() {
            Some(spec) => self.spec(&spec.data),
            None => self,
        }
    }

    /// Refuses an output file that is read, or inside a folder that is read.
    ///
    /// # Errors
    /// Which input it is.
    pub fn refuse(&self, output: &Path) -> Result<()> {
        let shown = output.display();
        if let Some((_, what)) = self.files.iter().find(|(input, _)| is_same(input, output)) {
            return Err(Failure::input(format!(
                "{shown} is {what}: writing to it would destroy it. Give another output"
            )));
        }
        if let Some((folder, what)) = self.folders.iter().find(|(f, _)| is_inside(output, f)) {
            return Err(Failure::input(format!(
                "{shown} is inside {}, {what}: give an output outside of it",
                folder.display()
            )));
        }
        Ok(())
    }

    /// Refuses a directory of outputs that holds an input, or is inside a folder that is read.
    ///
    /// # Errors
    /// Which input it is.
    pub fn refuse_directory(&self, directory: &Path) -> Result<()> {
        self.refuse(directory)?;
        let inside = |(input, _): &&(PathBuf, _)| input.exists() && is_inside(input, directory);
        if let Some((input, what)) = self.files.iter().find(inside) {
            return Err(Failure::input(format!(
                "{} is {what}, and inside the output {}: give another directory",
                input.display(),
                directory.display()
            )));
        }
        Ok(())
    }
}

/// Refuses a table that standard output is appended to (`predict run people.csv >> people.csv`).
///
/// # Errors
/// That it is.
pub fn refuse_standard_output(table: &Path) -> Result<()> {
    let (table, output) = (named(table), Path::new(STANDARD_OUTPUT));
    let regular = |path: &Path| std::fs::metadata(path).is_ok_and(|found| found.is_file());
    if regular(output) && regular(table) && is_same_inode(output, table) {
        return Err(Failure::input(format!(
            "standard output is {}, the table that is read: redirect it to another file",
            table.display()
        )));
    }
    Ok(())
}

const STANDARD_INPUT: &str = "/dev/stdin";
const STANDARD_OUTPUT: &str = "/dev/stdout";

/// The path by which the system knows a file: `-` is standard input.
fn named(path: &Path) -> &Path {
    if path == Path::new("-") { Path::new(STANDARD_INPUT) } else { path }
}

/// Refuses an output that the program named, where something else has the name.
///
/// # Errors
/// What is there.
pub fn refuse_foreign(output: &Path) -> Result<()> {
    output::refuse_foreign(output).map_err(|error| Failure::file("write", output, &error))
}

/// Refuses two outputs that are one file.
///
/// # Errors
/// Which they are.
pub fn refuse_twice(outputs: &[PathBuf]) -> Result<()> {
    for (at, path) in outputs.iter().enumerate() {
        if let Some(other) = outputs[..at].iter().find(|other| is_same(other, path)) {
            return Err(Failure::input(format!(
                "{} and {} would be written to the same file: give another output",
                other.display(),
                path.display()
            )));
        }
    }
    Ok(())
}

/// Where a path leads, links followed; of one that does not exist, from its directory.
fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        _ => path,
    }
}

/// Whether both are one file, which need not exist yet.
fn is_same(a: &Path, b: &Path) -> bool {
    is_same_inode(a, b) || real(a) == real(b)
}

/// Whether a path is a directory or leads into it.
fn is_inside(path: &Path, directory: &Path) -> bool {
    let real = real(path);
    real.starts_with(directory.canonicalize().unwrap_or_else(|_| self::real(directory)))
        || real.ancestors().any(|above| is_same_inode(above, directory))
}

fn is_same_inode(a: &Path, b: &Path) -> bool {
    identity(a).is_some_and(|of_a| identity(b) == Some(of_a))
}

/// Device and inode.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}
