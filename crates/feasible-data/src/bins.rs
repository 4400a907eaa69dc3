//! Cutting numbers into intervals closed on the right.
//!
//! Quantile edges are those of the training rows, and where values repeat such that quantiles coincide, edges that
//! give a value of many rows a bin of its own ([`quantile_edges`]). No bin is empty in training; a column of few distinct
//! values has fewer bins than asked for.

use crate::error::{Error, Result};
use crate::preprocessing::Bins;
use crate::quantiles::quantile_edges;

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
    fn bins_are_closed_on_the_right() {
        let edges = [24.0, 31.0];
        assert_eq!([24.0, 24.5, 31.0, 31.5].map(|x| bin_of(&edges, x)), [0, 1, 1, 2]);
        assert_eq!(interval_labels(&edges), ["<= 24", "(24, 31]", "> 31"]);
    }
}
