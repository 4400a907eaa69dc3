//! `feasible attack`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use feasible_data::Table;
use feasible_problem::Gallery;
use feasible_problem::spec::{AttackLossName, NormName};
use feasible_problem::text::grouped;
use feasible_report::robust;
use feasible_run::files::ATTACK;
use feasible_run::output::{make_named_directory, write_own};
use feasible_run::{AttackOptions, Curve, SavedModel, files};

use super::{data_dir, gallery, model, own_gallery, table};
use crate::arguments::{AttackArguments, AttackLoss, Norm};
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;
use crate::outputs::{Inputs, refuse_foreign};
use crate::progress::{AttackLine, Progress};
use crate::terminal::{Terminal, Versioned};

/// Attacks a model and prints its accuracy.
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
        let outputs = ATTACK.map(|name| directory.join(name));
        outputs.iter().try_for_each(|output| inputs.refuse(output))?;
        outputs.iter().try_for_each(|output| refuse_foreign(output))?;
    }
    let options = options(arguments);
    let progress = Arc::new(Progress::new(1, terminal));
    let kept = "interrupted: an attack cannot be resumed, and nothing was written";
    let interrupt = interrupt::listen(&progress, move || kept.into());
    let threads = super::fit::workers(arguments.threads);
    let line = AttackLine::new(terminal, options.epsilons.len());
    let mut watch = |done: usize, attacked: usize| {
        line.show(done, attacked);
        !interrupt.is_raised()
    };
    let subject = subject(&model, arguments)?;
    let earlier = directory.and_then(|directory| Earlier::in_directory(directory));
    if let Some(earlier) = &earlier {
        earlier.refuse_fewer(subject.count(), arguments.force)?;
    }
    terminal.note(&format!(
        "Attacking {} samples of {} at {} values of ε: {}",
        grouped(subject.count()),
        subject.name(),
        options.epsilons.len(),
        options.method()
    ));
    let attacked = match &subject {
        Attacked::Images(gallery, rows) => {
            model.attack_images(gallery, rows, &options, threads, &mut watch)
        }
        Attacked::Table(table, _) => model.attack_table(table, &options, threads, &mut watch),
    };
    line.clear();
    if interrupt.is_raised() {
        return Err(Failure::interrupted(kept));
    }
    let curve = attacked?;
    terminal.result(&curve, |page| curve.text_on(page))?;
    if let Some(directory) = directory {
        let names = write(&curve, directory)?;
        if let Some(earlier) = earlier {
            let samples = grouped(earlier.curve.total());
            terminal.note(&format!("Replaced an earlier attack of {samples} samples"));
        }
        terminal.note(&format!("Wrote {} to {}", names.join(", "), directory.display()));
        if beside == Some(directory) {
            terminal
                .note(&format!("`feasible report {}` adds them to its page", directory.display()));
        }
    }
    Ok(Exit::Met)
}

/// What is attacked.
enum Attacked {
    Images(Gallery, Vec<u32>),
    /// With how many of its rows are attacked.
    Table(Table, usize),
}

impl Attacked {
    fn count(&self) -> usize {
        match self {
            Self::Images(_, rows) => rows.len(),
            Self::Table(_, rows) => *rows,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Images(gallery, _) => gallery.table().name(),
            Self::Table(table, _) => table.name(),
        }
    }
}

fn subject(model: &SavedModel, arguments: &AttackArguments) -> Result<Attacked> {
    if model.manifest().image.is_some() {
        let gallery = images(arguments)?;
        let rows = rows(model, &gallery, arguments.images.map(|n| n as usize))?;
        return Ok(Attacked::Images(gallery, rows));
    }
    let path = arguments.data.as_deref().ok_or_else(|| {
        Failure::input("the model is for tables: name a table with the target to attack")
    })?;
    let table = table(Path::new(path), &model.audit_format(), &arguments.limits)?;
    let rows = model.selection(&table)?.map_or(table.rows(), |selected| selected.rows);
    Ok(Attacked::Table(table, rows))
}

/// An attack whose files are where the new ones go.
struct Earlier {
    path: PathBuf,
    curve: Curve,
}

impl Earlier {
    /// A file that cannot be read is nobody's result.
    fn in_directory(directory: &Path) -> Option<Self> {
        let path = directory.join(ATTACK[0]);
        let curve = serde_json::from_slice(&files::read_file(directory, ATTACK[0]).ok()?).ok()?;
        Some(Self { path, curve })
    }

    /// Refuses to replace an attack of more samples.
    fn refuse_fewer(&self, samples: usize, force: bool) -> Result<()> {
        let before = self.curve.total();
        if force || before <= samples {
            return Ok(());
        }
        Err(Failure::input(format!(
            "{} holds an attack of {} samples, and this one has {}: name another directory with -o, or \
             replace it with --force",
            self.path.display(),
            grouped(before),
            grouped(samples)
        )))
    }
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
        step: arguments.step.unwrap_or_else(|| AttackOptions::step_of(arguments.steps)),
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

/// The curve as JSON, CSV and SVG, and of images a PNG file of examples; gives the names of the files.
pub fn write(curve: &Curve, directory: &Path) -> Result<Vec<&'static str>> {
    let json = serde_json::to_string_pretty(&Versioned::new(curve)).unwrap_or_default() + "\n";
    let figure = robust::accuracy(&[(curve.problem.as_str(), curve)]);
    let sheet = curve.examples.as_ref().map(|examples| examples.sheet.clone());
    let sheet = sheet.filter(|sheet| !sheet.is_empty());
    let contents =
        [Some(json.into()), Some(curve.to_csv().into()), Some(figure.svg().into()), sheet];
    let failed = |path: &Path, error: &std::io::Error| Failure::file("write", path, error);
    make_named_directory(directory).map_err(|error| failed(directory, &error))?;
    let mut names = Vec::new();
    for (name, content) in ATTACK.into_iter().zip(contents) {
        let Some(content): Option<Vec<u8>> = content else { continue };
        let path = directory.join(name);
        let written = write_own(&path, &|out| out.write_all(&content));
        written.map_err(|error| failed(&path, &error))?;
        names.push(name);
    }
    Ok(names)
}
