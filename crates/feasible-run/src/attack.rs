//! How a saved model stands up to attacks: accuracy against ε, with exact intervals.
//!
//! Every sample is attacked at every ε of a grid, from the smallest on; it is still correct if no restart led to a wrong
//! answer. Where k of N samples are, the interval around k/N is Clopper and Pearson's: whatever the
//! model, it covers the share of the population that this attack would leave correct with at least the
//! confidence stated. A stronger attack may do better, so this is no bound on the worst case.

use std::sync::Arc;

use feasible::adversary::{Attack, AttackLoss, Bounds, Budget, Norm, Robustness, robustness};
use feasible::certificate::{Count, Delta};
use feasible::{Population, Samples};
use feasible_data::Table;
use feasible_problem::gallery::Gallery;
use feasible_problem::spec::{AttackLossName, NormName};
use feasible_problem::text::{Align, Grid, Page, grouped, percent, short};
use serde::{Deserialize, Serialize};

use crate::attacked::{AttackedExamples, Target, first_of_each, labels};
use crate::error::{Error, Result};
use crate::saved_model::SavedModel;
use crate::selected::Selected;

/// The first line of a curve as CSV.
pub(crate) const CSV_HEAD: &str = "epsilon,correct,total,accuracy,low,high\n";

/// How to attack; the defaults are the paper's test attack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttackOptions {
    /// The grid of ε.
    pub epsilons: Vec<f64>,
    /// The norm of the ball; l∞ by default.
    pub norm: NormName,
    /// Steps of a run; 50 by default.
    pub steps: u32,
    /// The length of a step as a share of ε; 1/30 by default, which fits 50 steps: see [`AttackOptions::step_of`].
    pub step: f64,
    /// Runs, of which the worst counts; 10 by default.
    pub restarts: u32,
    /// The loss that the attack maximises; the cross-entropy by default.
    pub loss: AttackLossName,
    /// Of random starts; 0 by default.
    pub seed: u64,
    /// Of the intervals, one by one; 0.95 by default.
    pub confidence: f64,
}

impl Default for AttackOptions {
    fn default() -> Self {
        Self {
            epsilons: vec![0.0, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.12, 0.16, 0.2],
            norm: NormName::Linf,
            steps: 50,
            step: 1.0 / 30.0,
            restarts: 10,
            loss: AttackLossName::CrossEntropy,
            seed: 0,
            confidence: 0.95,
        }
    }
}

impl AttackOptions {
    /// The length of a step, as a share of ε, where none is given: max(1/30, 5/(3 steps)). The paper's 50 steps have 1/30;
    /// fewer steps are longer, so that together they are always 5/3 of the radius.
    pub fn step_of(steps: u32) -> f64 {
        (1.0 / 30.0f64).max(5.0 / (3.0 * f64::from(steps.max(1))))
    }

    /// The attack in words.
    pub fn method(&self) -> String {
        let Self { steps, step, restarts, .. } = self;
        let step = match 1.0 / step {
            n if (n - n.round()).abs() < 1e-9 => format!("ε/{n:.0}"),
            _ => format!("{} ε", short(*step)),
        };
        let norm = match self.norm {
            NormName::Linf => "l∞",
            NormName::L2 => "l2",
        };
        let restarts = match restarts {
            1 => "1 restart".to_string(),
            n => format!("worst of {n} restarts"),
        };
        format!("PGD in the {norm} ball, {steps} steps of {step}, {restarts}")
    }
}

/// Accuracy against ε.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// What the problem of the model is called.
    pub problem: String,
    /// What was attacked.
    pub data: String,
    /// Which rows of a table, where the problem file selects some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<Selected>,
    /// How.
    pub attack: AttackOptions,
    /// One for each ε, ascending.
    pub points: Vec<CurvePoint>,
    /// The same class by class, of images.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_class: Vec<ClassCurve>,
    /// Images beside what the attack made of them: each at the least ε that fools the model, or at the largest if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub examples: Option<AttackedExamples>,
}

/// The images of a class that are still recognised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassCurve {
    /// The class.
    pub class: String,
    /// Images attacked.
    pub total: usize,
    /// Images that are still correct, at each ε.
    pub correct: Vec<usize>,
}

/// The accuracy at one ε.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// ε.
    pub epsilon: f64,
    /// Samples that are still correct.
    pub correct: usize,
    /// Samples attacked.
    pub total: usize,
    /// Their share.
    pub accuracy: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Called after every batch with the number of ε that are done and of samples attacked at the next;
/// false ends the attack.
pub type AttackProgress<'a> = &'a mut (dyn FnMut(usize, usize) -> bool + Send);

impl SavedModel {
    /// Attacks some images.
    ///
    /// # Errors
    /// Images that the model was not made for; settings outside their range; an interruption.
    pub fn attack_images(
        &self,
        gallery: &Gallery,
        rows: &[u32],
        options: &AttackOptions,
        threads: usize,
        progress: AttackProgress<'_>,
    ) -> Result<Curve> {
        self.check_images(gallery)?;
        let target = Target {
            network: self.network(),
            theta: self.theta(),
            images: gallery.images(),
            table: gallery.table(),
            target: &self.manifest().target,
            threads,
        };
        let (rows, selected) = self.select_among(gallery.table(), rows)?;
        let rows = &rows[..];
        let samples = target.samples(rows)?;
        let data = gallery.table().name();
        let (mut curve, found, attack) =
            self.attack(samples.clone(), data, Bounds::Unit, None, options, threads, progress)?;
        curve.selected = selected;
        curve.by_class = by_class(target.target.classes().unwrap_or_default(), &samples, &found);
        let mut made = Vec::new();
        for at in first_of_each(&samples, &target.recognised(&samples)) {
            let stands = |of: &&Robustness| of.correct_rows.binary_search(&(at as u32)).is_ok();
            let Some(of) = found.iter().find(|of| !stands(of)).or(found.last()) else { break };
            let attack = Attack { budget: Budget::fixed(of.epsilon), ..attack.clone() };
            made.extend(
                target.perturbed(rows[at], &attack, options.seed)?.map(|one| (rows[at], one)),
            );
        }
        let made: Vec<_> = made.iter().map(|(row, one)| (*row, one)).collect();
        curve.examples = target.examples(&made, attack.norm)?;
        Ok(curve)
    }

    /// Attacks the rows of a table: its standardised columns move, in units of a standard deviation.
    ///
    /// # Errors
    /// As [`SavedModel::attack_images`]; a model without standardised columns.
    pub fn attack_table(
        &self,
        table: &Table,
        options: &AttackOptions,
        threads: usize,
        progress: AttackProgress<'_>,
    ) -> Result<Curve> {
        self.check_table(table)?;
        let (table, selected) = self.select(table)?;
        let table = &*table;
        let manifest = self.manifest();
        let columns = manifest.inputs.standardised();
        if columns.is_empty() {
            return Err(Error::unfit(
                "attack",
                "the model has no standardised column that could be moved: categories stay, and \
                 other numbers have no common unit (`standardise` and `piecewise = false` in the problem \
                 file's [data])",
            ));
        }
        let rows = table.all_rows();
        let samples = feasible_data::samples(table, &rows, &manifest.inputs, &manifest.target)?;
        let (name, samples) = (table.name(), Arc::new(samples));
        let (bounds, columns) = (Bounds::None, Some(columns));
        let curve = self.attack(samples, name, bounds, columns, options, threads, progress)?.0;
        Ok(Curve { selected, ..curve })
    }

    #[allow(clippy::too_many_arguments)]
    fn attack(
        &self,
        samples: Arc<Samples>,
        data: &str,
        bounds: Bounds,
        columns: Option<Vec<u32>>,
        options: &AttackOptions,
        threads: usize,
        progress: AttackProgress<'_>,
    ) -> Result<(Curve, Vec<Robustness>, Attack)> {
        let mut options = options.clone();
        options.epsilons.sort_unstable_by(f64::total_cmp);
        options.epsilons.dedup();
        if options.epsilons.is_empty() {
            return Err(Error::unfit("attack", "there is no ε: give at least one"));
        }
        let norm = match options.norm {
            NormName::Linf => Norm::Linf,
            NormName::L2 => Norm::L2,
        };
        let attack = Attack {
            steps: options.steps,
            step: options.step,
            restarts: options.restarts,
            loss: match options.loss {
                AttackLossName::CrossEntropy => AttackLoss::CrossEntropy,
                AttackLossName::Margin => AttackLoss::Margin,
            },
            bounds,
            columns,
            ..Attack::strong(norm, Budget::fixed(0.0))
        };
        let side = Delta::confidence(options.confidence)?.among(2);
        let found = robustness(
            self.network(),
            self.theta(),
            &Population::new(samples),
            &attack,
            &options.epsilons,
            options.seed,
            threads,
            progress,
        )?;
        if found.len() < options.epsilons.len() {
            return Err(Error::unfit("attack", "it was interrupted"));
        }
        let point = |at: &Robustness| -> Result<CurvePoint> {
            let count = Count::new(at.correct as u64, at.total as u64)?;
            Ok(CurvePoint {
                epsilon: at.epsilon,
                correct: at.correct,
                total: at.total,
                accuracy: at.accuracy(),
                low: count.lower(side),
                high: count.upper(side),
            })
        };
        let points = found.iter().map(point).collect::<Result<_>>()?;
        let problem = self.manifest().problem.clone();
        let (data, by_class) = (data.to_string(), Vec::new());
        let (selected, examples) = (None, None);
        let curve = Curve { problem, data, selected, attack: options, points, by_class, examples };
        Ok((curve, found, attack))
    }
}

/// Images that are still correct, class by class; classes without images are left out.
fn by_class(classes: &[String], samples: &Samples, found: &[Robustness]) -> Vec<ClassCurve> {
    let labels: Vec<usize> = labels(samples).collect();
    let count = |rows: &mut dyn Iterator<Item = usize>, class: usize| {
        rows.filter(|&row| labels.get(row) == Some(&class)).count()
    };
    let own = |(class, name): (usize, &String)| ClassCurve {
        class: name.clone(),
        total: count(&mut (0..labels.len()), class),
        correct: found
            .iter()
            .map(|of| count(&mut of.correct_rows.iter().map(|&row| row as usize), class))
            .collect(),
    };
    classes.iter().enumerate().map(own).filter(|of| of.total > 0).collect()
}

impl Curve {
    /// The accuracy at an ε of the grid.
    pub fn at(&self, epsilon: f64) -> Option<&CurvePoint> {
        self.points.iter().find(|point| point.epsilon == epsilon)
    }

    /// Samples attacked at each ε.
    pub fn total(&self) -> usize {
        self.points.first().map_or(0, |point| point.total)
    }

    /// The attack in words.
    pub fn method(&self) -> String {
        self.attack.method()
    }

    /// As a table for people.
    pub fn to_text(&self) -> String {
        self.text_on(&Page::default())
    }

    /// The same, laid out for a page.
    pub fn text_on(&self, page: &Page) -> String {
        let mut text = format!(
            "{} on {} samples of {}\n{}\n",
            self.problem,
            grouped(self.total()),
            self.data,
            self.attack.method()
        );
        if let Some(sentence) = self.selected.as_ref().and_then(Selected::sentence) {
            text += &format!("{sentence}\n");
        }
        text.push('\n');
        let mut grid = Grid::new().ranked(&[0, 0, 0, 1]);
        let interval = format!("{} % interval", short(100.0 * self.attack.confidence));
        grid.row(["ε".to_string(), "accuracy".into(), interval, "still correct".into()]);
        for point in &self.points {
            grid.row([
                short(point.epsilon),
                percent(point.accuracy),
                format!("{} to {}", percent(point.low), percent(point.high)),
                point.correct.to_string(),
            ]);
        }
        text += &grid.on(page, &[Align::Right]);
        text
    }

    /// As CSV.
    pub fn to_csv(&self) -> String {
        let mut text = String::from(CSV_HEAD);
        for p in &self.points {
            let CurvePoint { epsilon, correct, total, accuracy, low, high } = p;
            text += &format!("{epsilon},{correct},{total},{accuracy},{low},{high}\n");
        }
        text
    }
}
