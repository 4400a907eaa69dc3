//! Images under attack, class by class, and examples beside what the attack made of them.

use feasible::certificate::{Count, Delta};
use feasible_run::{AttackedClass, AttackedExamples, AttackedImages, ClassCurve, Curve};
use serde::Serialize;

use crate::chart::{grouped, number, share};
use crate::format::percent;
use crate::layout::{bounded, name};
use crate::requirements::MOST;
use crate::run::Run;

/// Values of ε that have a column.
const MOST_EPSILONS: usize = 5;

/// An attack on images.
#[derive(Default, Serialize)]
pub(crate) struct Attacked {
    /// Which attack it is, where there are two.
    title: String,
    /// The class that is fooled most.
    sentence: String,
    table: Option<ClassTable>,
    examples: Examples,
    /// How it was done.
    method: String,
}

#[derive(Serialize)]
struct ClassTable {
    label: String,
    heads: Vec<String>,
    rows: Vec<ClassRow>,
}

#[derive(Serialize)]
struct ClassRow {
    class: String,
    images: String,
    /// A share and its interval.
    cells: Vec<(String, String)>,
}

#[derive(Default, Serialize)]
struct Examples {
    amplified: String,
    /// Of the three tiles of an example, in pixels.
    width: usize,
    height: usize,
    images: Vec<Example>,
}

#[derive(Serialize)]
struct Example {
    source: String,
    alt: String,
    class: String,
    predicted: String,
    fooled: bool,
    size: String,
}

/// What is known of the images of a run under attack: that of its requirement first, then what `feasible attack` found.
pub(crate) fn section(run: &Run) -> Vec<Attacked> {
    let own = run.attacked.as_ref().map(of_requirement);
    let curve = run.curve.as_ref().filter(|curve| !curve.by_class.is_empty()).map(of_curve);
    let mut all: Vec<Attacked> = own.into_iter().chain(curve).collect();
    if let [own, curve] = &mut all[..] {
        own.title = "By the attack of the requirement".into();
        curve.title = "By ‘feasible attack’".into();
    }
    all
}

fn of_requirement(of: &AttackedImages) -> Attacked {
    let cells = |of: &AttackedClass| {
        let share = |n: usize| percent(n as f64 / of.images.max(1) as f64);
        let interval = format!("{:.1} to {:.1} %", 100.0 * of.low, 100.0 * of.high);
        vec![(share(of.correct), String::new()), (share(of.still_correct), interval)]
    };
    let row = |of: &AttackedClass| ClassRow {
        class: name(&of.class),
        images: grouped(&of.images.to_string()),
        cells: cells(of),
    };
    // Of a stranger's file, counts may be of any size.
    let images = of.classes.iter().fold(0usize, |sum, of| sum.saturating_add(of.images));
    let shares = of.classes.iter().map(|of| (of.class.as_str(), of.still_correct, of.images));
    Attacked {
        sentence: extremes(&shares.collect::<Vec<_>>(), ""),
        table: Some(ClassTable {
            label: "Images still recognised under attack, by class".into(),
            heads: vec!["recognised".into(), "still recognised under attack".into()],
            rows: of.classes.iter().take(MOST).map(row).collect(),
        }),
        examples: of.examples.as_ref().map(examples).unwrap_or_default(),
        method: format!(
            "{} images of the {} part, as many of each class, attacked as ‘{}’ is judged: {}. Below a share is its exact \
             interval (Clopper and Pearson, {} each).",
            grouped(&images.to_string()),
            name(&of.part),
            name(&of.requirement),
            bounded(&of.attack, 400),
            percent_of(of.confidence),
        ),
        ..Attacked::default()
    }
}

fn of_curve(curve: &Curve) -> Attacked {
    let shown = spread(curve.points.len());
    let row = |of: &ClassCurve| ClassRow {
        class: name(&of.class),
        images: grouped(&of.total.to_string()),
        cells: shown
            .iter()
            .map(|&at| (percent(of.correct[at] as f64 / of.total.max(1) as f64), String::new()))
            .collect(),
    };
    // Where classes differ: the ε at which about half of all images are still recognised.
    let half = |at: &usize| (curve.points[*at].accuracy - 0.5).abs();
    let at = (0..curve.points.len()).min_by(|a, b| half(a).total_cmp(&half(b))).unwrap_or(0);
    let shares = curve.by_class.iter().map(|of| (of.class.as_str(), of.correct[at], of.total));
    let epsilon = curve.points.get(at).map_or(0.0, |point| point.epsilon);
    Attacked {
        sentence: extremes(&shares.collect::<Vec<_>>(), &format!(" at ε = {}", number(epsilon))),
        table: Some(ClassTable {
            label: "Images still recognised at each ε, by class".into(),
            heads: shown
                .iter()
                .map(|&at| format!("ε = {}", number(curve.points[at].epsilon)))
                .collect(),
            rows: curve.by_class.iter().take(MOST).map(row).collect(),
        }),
        examples: curve.examples.as_ref().map(examples).unwrap_or_default(),
        method: format!(
            "The share of images that are still recognised, of {} of {}. {}. Each example is attacked with the least ε that \
             succeeds, or with the largest if none does.",
            grouped(&curve.total().to_string()),
            name(&curve.data),
            bounded(&curve.method(), 400),
        ),
        ..Attacked::default()
    }
}

/// `Under attack, 91 % of ‘Bag’ are still recognised, but only 5.0 % of ‘Shirt’.`; nothing unless they differ beyond chance.
fn extremes(shares: &[(&str, usize, usize)], when: &str) -> String {
    let of = |(_, still, all): &(&str, usize, usize)| *still as f64 / (*all).max(1) as f64;
    let least = shares.iter().min_by(|a, b| of(a).total_cmp(&of(b)));
    // Of equals the first.
    let most = shares.iter().rev().max_by(|a, b| of(a).total_cmp(&of(b)));
    match (least, most) {
        (Some(least), Some(most)) if is_apart(least, most) => format!(
            "Under attack{when}, {} of ‘{}’ are still recognised, but only {} of ‘{}’.",
            share(of(most)),
            name(most.0),
            share(of(least)),
            name(least.0)
        ),
        _ => String::new(),
    }
}

/// Whether the exact intervals of two shares, 97.5 % each, do not overlap.
fn is_apart(least: &(&str, usize, usize), most: &(&str, usize, usize)) -> bool {
    let count = |of: &(&str, usize, usize)| Count::new(of.1 as u64, of.2 as u64).ok();
    let (Some(least), Some(most), Ok(tail)) = (count(least), count(most), Delta::new(0.0125))
    else {
        return false;
    };
    least.upper(tail) < most.lower(tail)
}

/// Some of `count` positions, evenly spread, the first and the last among them.
fn spread(count: usize) -> Vec<usize> {
    if count <= MOST_EPSILONS {
        return (0..count).collect();
    }
    (0..MOST_EPSILONS).map(|at| at * (count - 1) / (MOST_EPSILONS - 1)).collect()
}

fn percent_of(share: f64) -> String {
    format!("{} %", number(100.0 * share))
}

/// Examples whose pixels are there and sound.
fn examples(of: &AttackedExamples) -> Examples {
    let Ok(strips) = of.strips() else { return Examples::default() };
    let one = |(image, strip): (&feasible_run::AttackedImage, Vec<u8>)| {
        let (class, predicted) = (name(&image.class), name(&image.predicted));
        let fooled = image.class != image.predicted;
        let outcome = match fooled {
            true => format!("it is taken for ‘{predicted}’"),
            false => "it is still recognised".into(),
        };
        Example {
            source: format!("data:image/png;base64,{}", base64(&strip)),
            alt: format!("‘{class}’, the attacked image, and the change amplified: {outcome}"),
            class,
            predicted,
            fooled,
            size: format!("change of size {}", number(image.size)),
        }
    };
    Examples {
        amplified: number(of.amplified),
        width: 3 * of.shape.width,
        height: of.shape.height,
        images: of.images.iter().zip(strips).map(one).collect(),
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            text.push(if digit > chunk.len() { '=' } else { DIGITS[value as usize].into() });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_padded() {
        assert_eq!(
            ["", "f", "fo", "foo", "foob"].map(|s| base64(s.as_bytes())),
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
        );
        assert_eq!(base64(&[0xff, 0xfe, 0xfd]), "//79");
    }

    #[test]
    fn the_classes_at_both_ends_are_named() {
        let shares = [("a", 50, 100), ("b", 10, 100), ("c", 90, 100)];
        assert_eq!(
            extremes(&shares, " at ε = 0.1"),
            "Under attack at ε = 0.1, 90 % of ‘c’ are still recognised, but only 10 % of ‘b’."
        );
        // Of two images each, nothing is known.
        assert_eq!(extremes(&[("a", 2, 2), ("b", 0, 2)], ""), "");
        assert_eq!(extremes(&[], ""), "");
        assert_eq!(spread(11), [0, 2, 5, 7, 10]);
    }
}
