//! Problem files.
//!
//! Only problems on `people.csv`, which lies beside the file, are held against data: others name files of the
//! machine that the target runs on.

use std::path::Path;

use feasible_problem::{Plan, ProblemSource, memory};
use tempfile::TempDir;

use crate::people;

/// What a training may take, in bytes.
const MEMORY: u64 = 64 << 20;

thread_local! {
    static PLACE: Option<TempDir> = place();
}

/// A directory with the people in it.
fn place() -> Option<TempDir> {
    let directory = tempfile::tempdir().ok()?;
    std::fs::write(directory.path().join("people.csv"), people::csv()).ok()?;
    Some(directory)
}

/// A problem file that is accepted is printed as one that says the same; a plan is printed as a problem file that
/// gives the same plan.
///
/// # Panics
/// If it is not, or if there is no temporary directory.
pub fn run(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    // The same on every machine.
    memory::set_limit(MEMORY);
    PLACE.with(|place| match place {
        Some(directory) => read(directory.path(), text),
        None => panic!("no temporary directory"),
    })
}

fn read(directory: &Path, text: &str) -> bool {
    let file = directory.join("problem.toml");
    let opened = |text: &str| {
        if let Err(error) = std::fs::write(&file, text) {
            panic!("{}: {error}", file.display());
        }
        ProblemSource::open(&file.display().to_string())
    };
    let Ok(source) = opened(text) else { return false };
    let Ok(spec) = source.parse(&[]) else { return false };
    let printed = spec.to_toml();
    let again = ProblemSource::new("again", printed.clone()).parse(&[]);
    // By their text: a limit may be "not a number", which differs from itself.
    match again {
        Ok(again) => assert_eq!(format!("{again:?}"), format!("{spec:?}"), "{printed}"),
        Err(error) => panic!("printed as\n{printed}\nwhich is refused: {error}"),
    }
    let data = &spec.data;
    let elsewhere = [&data.train, &data.validation, &data.test, &data.directory, &data.folder];
    let people = directory.join("people.csv");
    if data.source.is_some()
        || elsewhere.iter().any(|path| path.is_some())
        || data.file.as_deref() != Some(&people)
    {
        return true;
    }
    let Ok(plan) = Plan::check(&source) else { return false };
    let printed = plan.spec().to_toml();
    let Ok(source) = opened(&printed) else { panic!("{printed}\ncannot be opened") };
    match Plan::check(&source) {
        Ok(again) => {
            assert_eq!(again.spec().to_toml(), printed, "the plan of a plan is another");
            assert_eq!(again.describe(), plan.describe());
            assert_eq!(again.parameters(), plan.parameters());
        }
        Err(error) => panic!("planned as\n{printed}\nwhich is refused: {error}"),
    }
    true
}
