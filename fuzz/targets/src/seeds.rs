//! The files of the corpus that the program makes itself: models, checkpoints, runs, reports.

use std::error::Error;
use std::path::Path;

use feasible_data::{Format, Table};
use feasible_problem::spec::CertifySpec;
use feasible_problem::{Plan, ProblemSource};
use feasible_run::{
    AttackOptions, Interrupt, Memory, Monitor, SavedModel, Storage, TuneOptions, check_prices,
    files, fit_in, tune,
};

use crate::runs::{self, Begun, begun};
use crate::{checkpoints, models, people, pictures, reports};

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
        ("mlp-piecewise", "\n"),
        ("linear", "kind = \"linear\"\n"),
        ("kernel", "kind = \"kernel\"\ncentres = 4\n"),
        ("resnet18", "kind = \"resnet18\"\nwidth = 1\n"),
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
    let mut run = begun(false);
    used(&mut run)?;
    for name in reports::FILES {
        if run.files().contains_key(name) {
            write("reports", &format!("valid-{name}"), &run.seed(name))?;
        }
    }
    write("reports", "valid-sweep.json", &reports::sweep_seed()?)?;
    Ok(())
}

/// Adds what is in the directory of a run that was attacked and monitored, whose prices were verified and whose settings
/// were searched.
fn used(run: &mut Begun) -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    for (name, bytes) in run.files() {
        std::fs::write(directory.path().join(name), bytes)?;
    }
    let file = directory.path().join(files::MODEL);
    let table = people::table();
    let epsilons = vec![0.0, 0.1, 0.5];
    let options = AttackOptions { epsilons, steps: 2, restarts: 1, ..AttackOptions::default() };
    let curve = SavedModel::open(&file)?.attack_table(&table, &options, 1, &mut |_, _| true)?;
    run.add(files::ATTACK[0], serde_json::to_vec_pretty(&curve)?);
    check_prices(directory.path(), 0.1, 1, &Interrupt::new(), &|_| {})?;
    let mut monitor = Monitor::open(directory.path(), &CertifySpec::default(), None)?;
    // Other people: everybody has the age of somebody else.
    let csv = people::csv();
    let mut lines = csv.lines();
    let mut later = format!("{}\n", lines.next().unwrap_or_default());
    let rows: Vec<(&str, &str)> = lines.filter_map(|row| row.split_once(',')).collect();
    for (at, (_, rest)) in rows.iter().enumerate() {
        let (age, _) = rows[(at + 17) % rows.len()];
        later += &format!("{age}.5,{rest}\n");
    }
    monitor.add(&Table::from_bytes("later", later.as_bytes(), &Format::default())?, None, "May")?;
    monitor.commit()?;
    for name in [files::SENSITIVITY, files::MONITOR] {
        run.add(name, std::fs::read(directory.path().join(name))?);
    }
    let source = ProblemSource::open(&run.problem().display().to_string())?;
    let searched = Some(directory.path().join("tuned"));
    let options = TuneOptions { trials: Some(3), directory: searched, ..TuneOptions::default() };
    run.add(files::TUNE, serde_json::to_vec_pretty(&tune(&source, &options, &|_| {})?.search)?);
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
            "[data]\nfile = \"people.csv\"\ntarget = \"age\"\nmissing = \"category\"\n\
             [model]\nhidden = [2]\n[training]\nepochs = 2\n",
        );
    }
    if kind == "mlp-piecewise" {
        problem = String::from(
            "[data]\nfile = \"people.csv\"\ntarget = \"income\"\nmissing = \"category\"\npiecewise = true\n\
             [model]\nhidden = [2]\n[training]\nepochs = 2\n",
        );
    }
    if kind == "resnet18" {
        pictures::write(&directory.path().join("pictures"))?;
        problem =
            format!("[data]\nfolder = \"pictures\"\n[model]\n{model}[training]\nepochs = 1\n");
    }
    let file = directory.path().join("problem.toml");
    std::fs::write(&file, problem)?;
    let plan = Plan::check(&ProblemSource::open(&file.display().to_string())?)?;
    let storage = Memory::new();
    fit_in(&plan, &storage, &Interrupt::new(), &|_| {})?;
    Ok(storage.read(files::MODEL)?)
}
