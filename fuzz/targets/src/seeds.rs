//! The files of the corpus that the program makes itself: models, checkpoints, runs, reports.

use std::error::Error;
use std::path::Path;

use feasible_problem::{Plan, Source};
use feasible_run::{Interrupt, Memory, Storage, files, fit_in};

use crate::runs::{self, begun};
use crate::{checkpoints, models, people, reports};

/// Writes them into the folders of a corpus.
///
/// # Errors
/// What the program or the system says.
pub fn write(corpus: &Path) -> Result<(), Box<dyn Error>> {
    let write = |target: &str, name: &str, bytes: &[u8]| -> std::io::Result<()> {
        let directory = corpus.join(target);
        std::fs::create_dir_all(&directory)?;
        std::fs::write(directory.join(name), bytes)
    };
    for (kind, more) in [
        ("mlp", ""),
        ("mlp-number", "\n"),
        ("linear", "kind = \"linear\"\n"),
        ("kernel", "kind = \"kernel\"\ncentres = 4\n"),
    ] {
        let file = trained(kind, more)?;
        write("models", &format!("valid-{kind}.safetensors"), &file)?;
        let parts = models::parted(&file).ok_or("a model without parts")?;
        write("models", &format!("valid-{kind}.parts"), &parts)?;
    }
    let run = begun(true);
    let checkpoint = run.files().get(files::CHECKPOINT).ok_or("no checkpoint")?;
    write("checkpoints", "valid-checkpoint", checkpoint)?;
    write("checkpoints", "valid-payload", checkpoints::payload(checkpoint))?;
    write("checkpoints", "bad-truncated", &checkpoint[..checkpoint.len() - 1])?;
    let prints = run.files().get(files::FINGERPRINTS).ok_or("no fingerprints")?;
    write("checkpoints", "valid-fingerprints", prints)?;
    for name in runs::FILES {
        write("runs", &format!("valid-{name}"), &run.seed(name))?;
    }
    let run = begun(false);
    for name in reports::FILES {
        if run.files().contains_key(name) {
            write("reports", &format!("valid-{name}"), &run.seed(name))?;
        }
    }
    Ok(())
}

/// The model of a problem on the people.
fn trained(kind: &str, model: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    std::fs::write(directory.path().join("people.csv"), people::csv())?;
    let mut problem = runs::PROBLEM.replace("hidden = [3]\n", "hidden = [2]\n");
    if !model.trim().is_empty() {
        problem = problem.replace("hidden = [2]\n", model);
    }
    if kind == "mlp-number" {
        problem = String::from(
            "[data]\nfile = \"people.csv\"\ntarget = \"age\"\nmissing = \"level\"\n\
             [model]\nhidden = [2]\n[training]\nepochs = 2\n",
        );
    }
    let file = directory.path().join("problem.toml");
    std::fs::write(&file, problem)?;
    let plan = Plan::check(&Source::open(&file.display().to_string())?)?;
    let storage = Memory::new();
    fit_in(&plan, &storage, &Interrupt::new(), &|_| {})?;
    Ok(storage.read(files::MODEL)?)
}
