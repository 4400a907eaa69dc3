//! Many trainings, dealt out to jobs that know nothing of each other: `3/16` is the third of sixteen.
//!
//! All jobs are given the same command and the same directory, and each trains its share. Every training has a directory
//! of its own inside, so jobs only meet where they begin and end; what one of them leaves, wherever it was made, is put
//! together with the rest by copying directories.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::directory::RunDirectory;
use crate::error::{Error, Result};
use crate::files::{LADDER, SEEDS, SUMMARY, TUNE};
use crate::storage::Directory;
use crate::{ladder, seeds, tune};

/// One of several jobs that share out many trainings: all have the same command and directory, and each trains its share.
///
/// ```
/// use feasible_run::JobPart;
/// let third: JobPart = "3/16".parse().unwrap();
/// assert_eq!((0..40).filter(|&training| third.takes(training)).collect::<Vec<_>>(), [2, 18, 34]);
/// assert_eq!(third.to_string(), "3/16");
/// assert_eq!(JobPart::new(17, 16), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobPart {
    number: usize,
    of: usize,
}

impl JobPart {
    /// The `number`-th, from 1, of so many jobs; `None` if there is no such.
    pub fn new(number: usize, of: usize) -> Option<Self> {
        (1..=of).contains(&number).then_some(Self { number, of })
    }

    /// Whether a training, by its number from 0, is one of this job's.
    pub fn takes(&self, training: usize) -> bool {
        training % self.of == self.number - 1
    }

    /// Those of some trainings that are this job's.
    pub fn share<T: Copy>(&self, trainings: &[T]) -> Vec<T> {
        let own = trainings.iter().enumerate().filter(|(at, _)| self.takes(*at));
        own.map(|(_, training)| *training).collect()
    }
}

impl FromStr for JobPart {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(number, of)| {
            Self::new(number.trim().parse().ok()?, of.trim().parse().ok()?)
        });
        parsed.ok_or_else(|| "give the number of this job and of all jobs, such as 3/16".into())
    }
}

impl fmt::Display for JobPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// How all trainings that are missing are done in one job, where a command knows its directory again.
pub(crate) const WHOLE: &str = "the whole command without --part";

/// The same where `feasible resume` does.
pub(crate) fn resumed(path: &Path) -> String {
    format!("all that is left in one job: `feasible resume {}`", path.display())
}

/// How long other jobs may take to write the few files that they share.
const PATIENCE: Duration = Duration::from_secs(60);

/// Opens a directory that other jobs open, too, for a moment each.
pub(crate) fn in_turn(open: impl Fn() -> Result<Directory>) -> Result<Directory> {
    let (begun, mut tries) = (Instant::now(), 0);
    loop {
        match open() {
            Err(Error::InUse { .. }) if begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(50));
            }
            // Empty when it was looked at, and another job's a moment later.
            Err(Error::NotEmpty { .. }) if tries == 0 => tries += 1,
            opened => return opened,
        }
    }
}

/// Joins what several jobs have trained in a directory: seeds, the rungs of a ladder, the trials of a search. Does nothing
/// where that is done, or where nothing of the kind was trained.
///
/// # Errors
/// Trainings that are not finished, which are named; files that are damaged or cannot be written.
pub fn join(path: &Path, threads: usize) -> Result<()> {
    let run = RunDirectory::new(path);
    match () {
        () if run.has(SUMMARY) => Ok(()),
        () if run.has(SEEDS) => seeds::join(path).map(drop),
        () if run.has(LADDER) => ladder::join(path),
        () if run.has(TUNE) => tune::join(path, threads),
        () => Ok(()),
    }
}

/// Of many trainings, those that are not finished: what to do about them, beside running the parts again.
pub(crate) fn unfinished(
    path: &Path,
    what: &str,
    missing: &[String],
    all: usize,
    or: &str,
) -> Error {
    const SHOWN: usize = 5;
    let mut list = missing.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; ");
    if missing.len() > SHOWN {
        list += &format!("; and {} more", missing.len() - SHOWN);
    }
    let reason = format!(
        "{} of its {all} {what} are not finished ({list}): run the parts (--part) that are missing, or {or}",
        missing.len()
    );
    Error::unfit(path.display().to_string(), reason)
}
