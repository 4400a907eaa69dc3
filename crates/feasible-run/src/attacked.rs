//! Images under attack: how many of each class are still recognised, and examples beside what the attack made of them.
//!
//! At the end of a run whose requirement has an adversary, up to 1,000 images of the rows that it is judged by, the same
//! number of each class, are attacked as that requirement is judged: `adversary.json` counts those that are still
//! recognised, `adversary.png` has examples. `feasible attack` writes the same for each of its ε. Examples are the first
//! image of each class that the model recognises, whether the attack then succeeds or not: none is picked for its looks.

use std::sync::Arc;

use feasible::adversary::{Attack, Norm, Perturbed, perturb};
use feasible::certificate::{Count, Delta};
use feasible::{Inputs, Population, Samples, Targets};
use feasible_data::image::{ImageShape, Images, decode_image, encode_png};
use feasible_data::{Table, TargetEncoder};
use feasible_problem::describe::adversary;
use feasible_problem::gallery;
use feasible_problem::network::Network;
use feasible_problem::plan::Plan;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::subject::{class_of, outputs};

/// Images that are attacked at the end of a run.
const MOST_IMAGES: usize = 1_000;
/// Classes that have an example.
const MOST_EXAMPLES: usize = 10;
/// Pixel values of all examples together: a page stays small.
const MOST_PIXELS: usize = 400_000;
/// Tiles of an example: the image, what the attack made of it, and the difference.
const TILES: usize = 3;
/// Of the intervals, one by one.
const CONFIDENCE: f64 = 0.95;
/// Predicted of an image for which an output is no finite number.
const NO_CLASS: &str = "none: not a number";

/// `adversary.json`: the images of a run under the attack of a requirement. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttackedImages {
    /// The requirement whose adversary it is.
    pub requirement: String,
    /// The attack, in words.
    pub attack: String,
    /// `train`, `validation` or `test`.
    pub part: String,
    /// Of the intervals, one by one.
    pub confidence: f64,
    /// Every class that has images.
    pub classes: Vec<AttackedClass>,
    /// Images beside what the attack made of them, if they are small enough.
    pub examples: Option<AttackedExamples>,
}

/// The images of a class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttackedClass {
    /// The class.
    pub class: String,
    /// Images attacked.
    pub images: usize,
    /// Recognised as they are.
    pub correct: usize,
    /// Still recognised under attack.
    pub still_correct: usize,
    /// The lower end of the interval of the share still recognised.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// Images beside what an attack made of them: numbers in JSON, pixels in a PNG file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttackedExamples {
    /// The size of an image.
    pub shape: ImageShape,
    /// By how much the differences are amplified in the PNG file.
    pub amplified: f64,
    /// The images, from top to bottom of the PNG file.
    pub images: Vec<AttackedImage>,
    /// The PNG file: for each image a row of three tiles, the image, the attacked image, and the difference (grey is
    /// none).
    #[serde(skip)]
    pub sheet: Vec<u8>,
}

/// An image that was attacked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttackedImage {
    /// Its row.
    pub row: u32,
    /// What it shows, and is recognised as.
    pub class: String,
    /// What the attacked image is taken for.
    pub predicted: String,
    /// The norm of the change.
    pub size: f64,
}

/// A model, and images that it is attacked on.
pub(crate) struct Target<'a> {
    pub(crate) network: &'a Network,
    pub(crate) theta: &'a [f32],
    pub(crate) images: &'a Images,
    pub(crate) table: &'a Table,
    pub(crate) target: &'a TargetEncoder,
    pub(crate) threads: usize,
}

impl AttackedImages {
    /// Of the parameters of a plan, under the adversary of its first requirement that has one; `None` if none has, if the data
    /// are no images, or if it was stopped.
    pub(crate) fn of(
        plan: &Plan,
        theta: &[f32],
        stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Self>> {
        let data = plan.data();
        let with =
            plan.clauses().iter().find_map(|clause| Some((clause, clause.adversary.as_ref()?)));
        let (Some(images), Some((clause, attack)), Some(classes)) =
            (&data.images, with, data.target.classes())
        else {
            return Ok(None);
        };
        let (part, rows) = match &data.split {
            split if !split.test.is_empty() => ("test", &split.test),
            split if !split.validation.is_empty() => ("validation", &split.validation),
            split => ("train", &split.train),
        };
        let target = Target {
            network: plan.model(),
            theta,
            images,
            table: &data.table,
            target: &data.target,
            threads: plan.settings().training.threads,
        };
        let rows = images.at_most(rows, (MOST_IMAGES / classes.len().max(1)).max(1), 0)?;
        let samples = target.samples(&rows)?;
        let population = Population::new(samples.clone());
        let go_on = &mut |_: usize| !stopped();
        // Threads are those of the caller's pool.
        let made = perturb(target.network, theta, &population, attack, plan.seed(), 1, go_on)?;
        if made.len() < rows.len() {
            return Ok(None);
        }
        let right = target.recognised(&samples);
        let chosen = first_of_each(&samples, &right);
        let shown: Vec<(u32, &Perturbed)> =
            chosen.iter().map(|&at| (rows[at], &made[at])).collect();
        let examples = target.examples(&shown, attack.norm)?;
        let fooled: Vec<bool> = made.iter().map(|one| one.fooled).collect();
        Ok(Some(Self {
            requirement: clause.name.clone(),
            attack: adversary(attack),
            part: part.into(),
            confidence: CONFIDENCE,
            classes: by_class(classes, &samples, &right, &fooled)?,
            examples,
        }))
    }

    /// Whether its numbers can be of one set of images; what is wrong is a sentence.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        let sound = |of: &AttackedClass| {
            let share = of.still_correct as f64 / of.images.max(1) as f64;
            of.images > 0
                && of.still_correct <= of.correct
                && of.correct <= of.images
                && 0.0 <= of.low
                && of.low <= share
                && share <= of.high
                && of.high <= 1.0
        };
        if let Some(wrong) = self.classes.iter().find(|of| !sound(of)) {
            return Err(format!("the counts of its class '{}' contradict each other", wrong.class));
        }
        if !(0.0..1.0).contains(&self.confidence) {
            return Err(format!("its confidence is {}", self.confidence));
        }
        self.examples.as_ref().map_or(Ok(()), AttackedExamples::check)
    }
}

impl AttackedExamples {
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        let ImageShape { channels, height, width } = self.shape;
        let small = [channels, height, width].iter().all(|&side| (1..=MOST_PIXELS).contains(&side))
            && (self.images.len() * TILES * channels).saturating_mul(height.saturating_mul(width))
                <= MOST_PIXELS;
        let count = (1..=MOST_EXAMPLES).contains(&self.images.len());
        let number = |x: f64| x >= 0.0 && x.is_finite();
        match small
            && count
            && matches!(channels, 1 | 3)
            && number(self.amplified)
            && self.images.iter().all(|image| number(image.size))
        {
            true => Ok(()),
            false => Err("its examples are too large, too many, or not images".into()),
        }
    }

    /// The tiles of each example as a PNG file of its own; what is wrong with the file is a sentence.
    ///
    /// # Errors
    /// A file that is not a PNG file of these examples.
    pub fn strips(&self) -> std::result::Result<Vec<Vec<u8>>, String> {
        let ImageShape { channels, height, width } = self.shape;
        let count = self.images.len();
        let expected = ImageShape { channels, height: count * height, width: TILES * width };
        let decoded = match self.sheet.get(..4) {
            Some([0x89, b'P', b'N', b'G']) => decode_image(&self.sheet, MOST_PIXELS as u64)?,
            _ => return Err("it is not a PNG file".into()),
        };
        let Some((_, pixels)) = decoded.filter(|(shape, _)| *shape == expected) else {
            return Err(format!("it is not a PNG file of {expected} pixels"));
        };
        let strip = ImageShape { height, ..expected };
        let plane = height * TILES * width;
        let cut = |at: usize| {
            let channel = |c: usize| &pixels[(c * count + at) * plane..][..plane];
            let own: Vec<u8> = (0..channels).flat_map(|c| channel(c).iter().copied()).collect();
            encode_png(strip, &own).ok_or_else(|| "it cannot be cut".to_string())
        };
        (0..count).map(cut).collect()
    }
}

impl Target<'_> {
    /// Some images as samples.
    pub(crate) fn samples(&self, rows: &[u32]) -> Result<Arc<Samples>> {
        Ok(Arc::new(gallery::samples(self.images, self.table, rows, self.target)?))
    }

    /// Whether each sample is recognised as it is.
    pub(crate) fn recognised(&self, samples: &Samples) -> Vec<bool> {
        let predicted = self.predicted(samples.inputs());
        predicted.into_iter().zip(labels(samples)).map(|(a, b)| a == Some(b)).collect()
    }

    fn predicted(&self, inputs: &Inputs) -> Vec<Option<usize>> {
        let outputs = outputs(self.network, self.theta, inputs);
        let width = feasible::Model::output_width(self.network).max(1);
        outputs.chunks_exact(width).map(class_of).collect()
    }

    /// Attacks one image with settings of its own.
    pub(crate) fn perturbed(
        &self,
        row: u32,
        attack: &Attack,
        seed: u64,
    ) -> Result<Option<Perturbed>> {
        let population = Population::new(self.samples(&[row])?);
        let made = perturb(
            self.network,
            self.theta,
            &population,
            attack,
            seed,
            self.threads,
            &mut |_| true,
        )?;
        Ok(made.into_iter().next())
    }

    /// Images beside what an attack made of them; `None` if there are none, or if they are too large.
    pub(crate) fn examples(
        &self,
        made: &[(u32, &Perturbed)],
        norm: Norm,
    ) -> Result<Option<AttackedExamples>> {
        let shape = self.images.shape();
        let most = (MOST_PIXELS / (TILES * shape.len())).min(MOST_EXAMPLES);
        let made = &made[..made.len().min(most)];
        let classes = self.target.classes().unwrap_or_default();
        if made.is_empty() || !matches!(shape.channels, 1 | 3) {
            return Ok(None);
        }
        let original =
            |row: u32| self.images.pixels(row as usize).iter().map(|&x| f32::from(x) / 255.0);
        let moved: Vec<f32> = made
            .iter()
            .flat_map(|(row, one)| original(*row).zip(&one.delta).map(|(x, d)| x + d))
            .collect();
        let predicted = self.predicted(&Inputs::dense(moved.clone(), shape.len())?);
        let samples = self.samples(&made.iter().map(|(row, _)| *row).collect::<Vec<_>>())?;
        let largest = made.iter().flat_map(|(_, one)| &one.delta).fold(0f32, |a, d| a.max(d.abs()));
        let amplified = if largest > 0.0 { 0.5 / largest } else { 1.0 };
        let class = |at: usize| classes.get(at).cloned().unwrap_or_default();
        let images = made.iter().zip(labels(&samples)).zip(&predicted);
        let images = images.map(|(((row, one), own), &predicted)| AttackedImage {
            row: *row,
            class: class(own),
            predicted: predicted.map_or_else(|| NO_CLASS.into(), class),
            size: norm.of(&one.delta),
        });
        let tile = |at: usize, tile: usize, pixel: usize| -> f32 {
            let delta = &made[at].1.delta;
            match tile {
                0 => moved[at * shape.len() + pixel] - delta[pixel],
                1 => moved[at * shape.len() + pixel],
                _ => 0.5 + amplified * delta[pixel],
            }
        };
        let (height, width) = (shape.height, shape.width);
        let mut pixels = Vec::with_capacity(TILES * made.len() * shape.len());
        for channel in 0..shape.channels {
            for at in 0..made.len() {
                for y in 0..height {
                    for x in 0..TILES * width {
                        let pixel = (channel * height + y) * width + x % width;
                        let value = tile(at, x / width, pixel);
                        pixels.push((255.0 * value).round().clamp(0.0, 255.0) as u8);
                    }
                }
            }
        }
        let whole = ImageShape {
            channels: shape.channels,
            height: made.len() * height,
            width: TILES * width,
        };
        Ok(encode_png(whole, &pixels).map(|sheet| AttackedExamples {
            shape,
            amplified: amplified.into(),
            images: images.collect(),
            sheet,
        }))
    }
}

/// The class of each sample.
pub(crate) fn labels(samples: &Samples) -> impl Iterator<Item = usize> {
    let labels = match samples.targets() {
        Targets::Classes(labels) => &labels[..],
        _ => &[],
    };
    labels.iter().map(|&label| label as usize)
}

/// The first sample of each class that is recognised.
pub(crate) fn first_of_each(samples: &Samples, right: &[bool]) -> Vec<usize> {
    let mut first: Vec<(usize, usize)> = Vec::new();
    for (at, (class, _)) in labels(samples).zip(right).enumerate().filter(|(_, (_, right))| **right)
    {
        if first.iter().all(|(known, _)| *known != class) {
            first.push((class, at));
        }
    }
    first.sort_unstable();
    first.truncate(MOST_EXAMPLES);
    first.into_iter().map(|(_, at)| at).collect()
}

fn by_class(
    classes: &[String],
    samples: &Samples,
    right: &[bool],
    fooled: &[bool],
) -> Result<Vec<AttackedClass>> {
    let side = Delta::confidence(CONFIDENCE)?.among(2);
    let of = |class: usize| -> Result<Option<AttackedClass>> {
        let own: Vec<usize> =
            labels(samples).enumerate().filter(|(_, y)| *y == class).map(|(at, _)| at).collect();
        if own.is_empty() {
            return Ok(None);
        }
        let count = |holds: &dyn Fn(usize) -> bool| own.iter().filter(|&&at| holds(at)).count();
        let still_correct = count(&|at| right[at] && !fooled[at]);
        let interval = Count::new(still_correct as u64, own.len() as u64)?;
        Ok(Some(AttackedClass {
            class: classes[class].clone(),
            images: own.len(),
            correct: count(&|at| right[at]),
            still_correct,
            low: interval.lower(side),
            high: interval.upper(side),
        }))
    };
    (0..classes.len()).filter_map(|class| of(class).transpose()).collect()
}
