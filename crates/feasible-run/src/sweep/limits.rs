//! Limits as people write them: `1e-4..1e-1`, or `1e-4, 1e-3, 0.01`.

use crate::error::{Error, Result};

/// Limits of one sweep at most.
const MOST: usize = 1000;

/// Reads limits: a range of `points` limits, equally many for every factor if both ends are
/// positive and equally far apart if not, or a list. Ascending, each once.
///
/// ```
/// use feasible_run::sweep::limits;
/// assert_eq!(limits("1e-4..1e-1", 4)?, [1e-4, 1e-3, 1e-2, 1e-1]);
/// assert_eq!(limits("0.5, 0.1", 7)?, [0.1, 0.5]);
/// # Ok::<(), feasible_run::Error>(())
/// ```
///
/// # Errors
/// Text that says no limits, numbers that are not finite, too many of them.
pub fn limits(text: &str, points: usize) -> Result<Vec<f64>> {
    let wrong = |reason: String| Error::unfit(format!("--limits {text}"), reason);
    let number = |part: &str| -> Result<f64> {
        let read: Option<f64> = part.trim().parse().ok().filter(|x: &f64| x.is_finite());
        read.ok_or_else(|| {
            let part = part.trim();
            wrong(format!("'{part}' is not a limit: write 1e-4..1e-1, or 1e-4,1e-3,1e-2"))
        })
    };
    let mut limits = match text.split_once("..") {
        Some((first, last)) => {
            let (first, last) = (number(first)?, number(last)?);
            if first == last {
                return Err(wrong("both ends are the same: give that limit alone".into()));
            }
            if !(2..=MOST).contains(&points) {
                return Err(wrong(format!("a range has 2 to {MOST} points, not {points}")));
            }
            between(first.min(last), first.max(last), points)
        }
        None => text.split(',').map(number).collect::<Result<Vec<f64>>>()?,
    };
    if limits.len() > MOST {
        return Err(wrong(format!("{} limits are more than {MOST}", limits.len())));
    }
    limits.sort_unstable_by(f64::total_cmp);
    limits.dedup();
    Ok(limits)
}

fn between(low: f64, high: f64, points: usize) -> Vec<f64> {
    let share = |k: usize| k as f64 / (points - 1) as f64;
    let one = |k: usize| match k {
        0 => low,
        k if k == points - 1 => high,
        k if low > 0.0 => rounded(low * (high / low).powf(share(k))),
        k => rounded(low + (high - low) * share(k)),
    };
    (0..points).map(one).collect()
}

/// Four significant digits: a limit that is read out and typed again is the same limit.
fn rounded(x: f64) -> f64 {
    format!("{x:.3e}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_positive_limits_are_geometric_and_others_arithmetic() {
        assert_eq!(limits("1e-3..1e-1", 5).unwrap(), [1e-3, 3.162e-3, 1e-2, 3.162e-2, 1e-1]);
        assert_eq!(limits("0.1..1e-3", 3).unwrap(), [1e-3, 1e-2, 1e-1]);
        assert_eq!(limits("0..1", 5).unwrap(), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(limits(" 0.2 ", 5).unwrap(), [0.2]);
        assert_eq!(limits("3,1,3", 5).unwrap(), [1.0, 3.0]);
    }

    #[test]
    fn what_says_no_limits_is_refused() {
        for (text, points, said) in [
            ("", 7, "'' is not a limit"),
            ("1e-4..", 7, "'' is not a limit"),
            ("many", 7, "'many' is not a limit"),
            ("1e-4,NaN", 7, "'NaN' is not a limit"),
            ("1..1", 7, "both ends are the same"),
            ("1..2", 1, "2 to 1000 points, not 1"),
            ("1..inf", 7, "'inf' is not a limit"),
        ] {
            let error = limits(text, points).unwrap_err().to_string();
            assert!(error.contains(said) && error.contains("--limits"), "{text}: {error}");
        }
    }
}
