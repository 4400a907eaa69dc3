//! Cutting numbers into intervals closed on the right.
//!
//! Quantile edges are those of linear interpolation between order statistics (NumPy's default,
//! R's type 7), on training rows. Edges that coincide are merged and an edge at the maximum is
//! left out, so that no bin is empty in training: fewer bins than asked for may result.

use crate::error::{Error, Result};
use crate::preprocessing::Bins;

impl Bins {
    /// The edges, fitted to `values` if they are quantiles, and the names of the bins.
    pub(crate) fn fit(
        &self,
        column: &str,
        mut values: Vec<f64>,
    ) -> Result<(Vec<f64>, Vec<String>)> {
        let wrong = |reason: String| Error::Preprocessing {
            step: "bins".to_string(),
            column: column.to_string(),
            reason,
        };
        let edges = match (self.quantiles, &self.edges) {
            (Some(k), None) if (2..=1000).contains(&k) && !values.is_empty() => {
                values.sort_unstable_by(f64::total_cmp);
                quantile_edges(&values, k)
            }
            (Some(_), None) if values.is_empty() => {
                return Err(wrong("no training row has a value to take quantiles of".into()));
            }
            (Some(k), None) => return Err(wrong(format!("quantiles = {k}: give 2 to 1000"))),
            (None, Some(edges)) => {
                let ascending = edges.windows(2).all(|w| w[0] < w[1]);
                if edges.is_empty() || !ascending || edges.iter().any(|e| !e.is_finite()) {
                    return Err(wrong(format!("edges = {edges:?}: give ascending numbers")));
                }
                edges.clone()
            }
            _ => return Err(wrong("give either quantiles or edges".into())),
        };
        let labels = match &self.labels {
            None => interval_labels(&edges),
            Some(labels) if labels.len() == edges.len() + 1 => {
                if let Some(at) = (1..labels.len()).find(|&at| labels[..at].contains(&labels[at])) {
                    return Err(wrong(format!("label '{}' is given twice", labels[at])));
                }
                labels.clone()
            }
            Some(labels) => {
                let (found, bins) = (labels.len(), edges.len() + 1);
                return Err(wrong(format!("{found} labels for {bins} bins (edges {edges:?})")));
            }
        };
        Ok((edges, labels))
    }
}

/// Edges between `k` bins of sorted values.
fn quantile_edges(sorted: &[f64], k: usize) -> Vec<f64> {
    let last = sorted.len() - 1;
    let mut edges: Vec<f64> = (1..k)
        .map(|i| {
            let at = last as f64 * (i as f64 / k as f64);
            let (below, part) = (at.floor() as usize, at.fract());
            let above = sorted[(below + 1).min(last)];
            // Weighted, not a difference, so that ±1e308 does not overflow.
            if part == 0.0 { sorted[below] } else { sorted[below] * (1.0 - part) + above * part }
        })
        .collect();
    edges.dedup();
    edges.retain(|&edge| edge < sorted[last]);
    edges
}

/// `<= 24`, `(24, 31]`, `> 31`.
pub(crate) fn interval_labels(edges: &[f64]) -> Vec<String> {
    let (Some(first), Some(last)) = (edges.first(), edges.last()) else {
        return vec!["any".to_string()];
    };
    let mut labels = vec![format!("<= {first}")];
    labels.extend(edges.windows(2).map(|w| format!("({}, {}]", w[0], w[1])));
    labels.push(format!("> {last}"));
    labels
}

/// The bin of a number: how many edges lie below it.
#[inline]
pub(crate) fn bin_of(edges: &[f64], x: f64) -> u32 {
    edges.partition_point(|&edge| edge < x) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_edges_are_those_of_numpy() {
        // numpy.quantile([1, 2, 3, 4, 10], [1/3, 2/3]) = [2.33333333, 3.66666667]
        let edges = quantile_edges(&[1.0, 2.0, 3.0, 4.0, 10.0], 3);
        assert!((edges[0] - 7.0 / 3.0).abs() < 1e-12 && (edges[1] - 11.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn equal_quantiles_make_fewer_bins_and_none_is_empty() {
        assert_eq!(quantile_edges(&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0], 4), [0.0]);
        assert_eq!(quantile_edges(&[5.0; 4], 3), [0.0; 0]);
    }

    #[test]
    fn bins_are_closed_on_the_right() {
        let edges = [24.0, 31.0];
        assert_eq!([24.0, 24.5, 31.0, 31.5].map(|x| bin_of(&edges, x)), [0, 1, 1, 2]);
        assert_eq!(interval_labels(&edges), ["<= 24", "(24, 31]", "> 31"]);
    }
}
