//! `feasible attack`.

use std::path::Path;
use std::sync::Arc;

use feasible_problem::Gallery;
use feasible_problem::spec::{AttackLossName, NormName};
use feasible_report::robust;
use feasible_run::files::ATTACK;
use feasible_run::{AttackOptions, Curve, SavedModel, write_whole};

use super::{data_dir, gallery, model, own_gallery, table};
use crate::arguments::{AttackArguments, AttackLoss, Norm};
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;
use crate::outputs::Inputs;
use crate::progress::{AttackLine, Progress};
use crate::terminal::Terminal;

/// Attacks a model and says what stands.
pub fn attack(arguments: &AttackArguments, terminal: &Terminal) -> Result<Exit> {
    let model = model(&arguments.model)?;
    let beside = arguments.model.is_dir().then_some(&arguments.model);
    let directory = arguments.output.as_ref().or(beside);
    if let Some(directory) = directory {
        let mut inputs = Inputs::new().model(&arguments.model);
        match &arguments.data {
            Some(data) => inputs = inputs.data(Path::new(data)),
            None => inputs = inputs.data_of_run(&arguments.model),
        }
        ATTACK.iter().try_for_each(|name| inputs.refuse(&directory.join(name)))?;
    }
    let options = options(arguments);
    let progress = Arc::new(Progress::new(1, terminal));
    let kept = "interrupted: nothing of an attack is kept";
    let interrupt = interrupt::listen(&progress, move || kept.into());
    let threads = super::fit::workers(arguments.threads);
    let line = AttackLine::new(terminal, options.epsilons.len());
    let mut watch = |done: usize, attacked: usize| {
        line.show(done, attacked);
        !interrupt.is_raised()
    };
    let attacked = match model.manifest().image {
        Some(_) => {
            let gallery = images(arguments)?;
            let rows = rows(&model, &gallery, arguments.images)?;
            model.attack_images(&gallery, &rows, &options, threads, &mut watch)
        }
        None => {
            let path = arguments.data.as_deref().ok_or_else(|| {
                Failure::input("the model is for tables: name a table with the target to attack")
            })?;
            let table = table(Path::new(path), &model.audit_format(), &arguments.limits)?;
            model.attack_table(&table, &options, threads, &mut watch)
        }
    };
    line.clear();
    if interrupt.is_raised() {
        return Err(Failure::interrupted(kept));
    }
    let curve = attacked?;
    terminal.result(&curve, || curve.to_text())?;
    if let Some(directory) = directory {
        write(&curve, directory)?;
        terminal.note(&format!("{} are in {}", ATTACK.join(", "), directory.display()));
    }
    Ok(Exit::Met)
}

fn options(arguments: &AttackArguments) -> AttackOptions {
    let usual = AttackOptions::default();
    AttackOptions {
        epsilons: arguments.epsilons.clone().unwrap_or(usual.epsilons),
        norm: match arguments.norm {
            Norm::Linf => NormName::Linf,
            Norm::L2 => NormName::L2,
        },
        steps: arguments.steps,
        step: arguments.step.unwrap_or(usual.step),
        restarts: arguments.restarts,
        loss: match arguments.loss {
            AttackLoss::CrossEntropy => AttackLossName::CrossEntropy,
            AttackLoss::Margin => AttackLossName::Margin,
        },
        seed: arguments.seed.unwrap_or(usual.seed),
        confidence: arguments.confidence,
    }
}

fn images(arguments: &AttackArguments) -> Result<Gallery> {
    match &arguments.data {
        Some(data) => gallery(data, data_dir(&arguments.data_dir).as_deref(), &arguments.limits),
        None => own_gallery(&arguments.model),
    }
}

/// The test images; about `limit` of them, as many of each class.
fn rows(model: &SavedModel, gallery: &Gallery, limit: Option<usize>) -> Result<Vec<u32>> {
    let rows = gallery.test_rows();
    let classes = model.manifest().target.classes().map_or(1, <[String]>::len);
    match limit {
        Some(limit) => Ok(gallery.images().at_most(&rows, limit.div_ceil(classes), 0)?),
        None => Ok(rows),
    }
}

/// The curve as JSON, CSV and SVG.
pub fn write(curve: &Curve, directory: &Path) -> Result<()> {
    let json = serde_json::to_string_pretty(curve).unwrap_or_default() + "\n";
    let figure = robust::accuracy(&[(curve.problem.as_str(), curve)]);
    let contents = [json, curve.to_csv(), figure.svg()];
    let failed = |path: &Path, error: &std::io::Error| Failure::file("write", path, error);
    std::fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
    for (name, content) in ATTACK.iter().zip(contents) {
        let path = directory.join(name);
        let written = write_whole(&path, &|out| out.write_all(content.as_bytes()));
        written.map_err(|error| failed(&path, &error))?;
    }
    Ok(())
}
