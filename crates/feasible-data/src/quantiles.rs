//! Edges between parts of about as many values each, and values that many rows share.
//!
//! Edges are quantiles by linear interpolation between order statistics (NumPy's default, R's type 7). Where many
//! values are equal, quantiles coincide, and merging them would leave few parts: 92 % zeros and `k = 16`
//! would make two. Then edges are values, chosen from the smallest to the largest: a part ends where it has come nearest to the rows
//! that are left divided by the parts that are left, so that a value of many rows is a part of its own and the
//! others are shared out among the remaining parts.

/// At most k − 1 ascending edges of sorted values, none at the maximum: of the parts (·, e₁], (e₁, e₂], … none is empty.
pub(crate) fn quantile_edges(sorted: &[f64], k: usize) -> Vec<f64> {
    let Some(last) = sorted.len().checked_sub(1) else { return Vec::new() };
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
    // Two edges between two neighbouring values would have nothing between them.
    let below = |edge: &f64| sorted.partition_point(|x| x <= edge);
    let empty = edges.windows(2).any(|w| below(&w[0]) == below(&w[1]));
    if empty || edges.len() + 1 < k { edges_at_values(sorted, k) } else { edges }
}

/// The same where values repeat: the edges are values.
fn edges_at_values(sorted: &[f64], k: usize) -> Vec<f64> {
    let mut edges = Vec::new();
    // Where the current part began, and where the value that is looked at does.
    let (mut start, mut at, mut previous) = (0, 0, None);
    while at < sorted.len() && edges.len() + 1 < k {
        let value = sorted[at];
        let end = at + sorted[at..].partition_point(|&x| x <= value);
        let left = (sorted.len() - start) as f64 / (k - edges.len()) as f64;
        let (without, with) = ((at - start) as f64, (end - start) as f64);
        // The part ends before the value if it is nearer to its share without it.
        if let Some(previous) = previous.filter(|_| without > 0.0 && left - without < with - left) {
            edges.push(previous);
            start = at;
            continue;
        }
        if with >= left && end < sorted.len() {
            edges.push(value);
            start = end;
        }
        (at, previous) = (end, Some(value));
    }
    edges
}

/// The values that at least this share of the sorted values are equal to, ascending.
pub(crate) fn atoms(sorted: &[f64], share: f64) -> Vec<f64> {
    let least = share * sorted.len() as f64;
    sorted.chunk_by(|a, b| a == b).filter(|of| of.len() as f64 >= least).map(|of| of[0]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(sorted: &[f64], edges: &[f64]) -> Vec<usize> {
        let mut counts = vec![0; edges.len() + 1];
        for &x in sorted {
            counts[edges.partition_point(|&edge| edge < x)] += 1;
        }
        counts
    }

    #[test]
    fn quantile_edges_are_those_of_numpy() {
        // numpy.quantile([1, 2, 3, 4, 10], [1/3, 2/3]) = [2.33333333, 3.66666667]
        let edges = quantile_edges(&[1.0, 2.0, 3.0, 4.0, 10.0], 3);
        assert!((edges[0] - 7.0 / 3.0).abs() < 1e-12 && (edges[1] - 11.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_value_of_many_rows_is_a_part_of_its_own_and_the_rest_is_shared_out() {
        let mut sorted = vec![0.0; 920];
        sorted.extend((1..=80).map(f64::from));
        let edges = quantile_edges(&sorted, 9);
        assert_eq!(edges, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0]);
        // In the middle, as 40 among hours of work.
        let mut hours: Vec<f64> = (1..=30).map(f64::from).collect();
        hours.extend([40.0; 50]);
        hours.extend((41..=60).map(f64::from));
        let edges = quantile_edges(&hours, 5);
        assert!(edges.contains(&40.0) && edges.contains(&30.0), "{edges:?}");
        assert_eq!(counts(&hours, &edges).iter().max(), Some(&50));
        assert_eq!(edges.len(), 4);
    }

    #[test]
    fn no_part_is_empty_and_there_are_never_more_than_asked_for() {
        assert_eq!(quantile_edges(&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0], 4), [0.0]);
        assert_eq!(quantile_edges(&[5.0; 4], 3), [0.0; 0]);
        assert_eq!(quantile_edges(&[], 3), [0.0; 0]);
        // Values with all kinds of repetitions, by a small linear congruence.
        let mut state = 1_u64;
        for case in 0..2_000 {
            let mut next = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % below
            };
            let (rows, distinct, k) = (1 + next(60), 1 + next(20), 2 + next(18) as usize);
            let mut sorted: Vec<f64> =
                (0..rows).map(|_| (next(distinct) * next(2)) as f64 - 3.0).collect();
            sorted.sort_unstable_by(f64::total_cmp);
            let edges = quantile_edges(&sorted, k);
            assert!(edges.len() < k && edges.windows(2).all(|w| w[0] < w[1]), "case {case}");
            assert!(counts(&sorted, &edges).iter().all(|&n| n > 0), "case {case}: {edges:?}");
            let mut values = sorted.clone();
            values.dedup();
            assert_eq!(edges.len() + 1 == 1, values.len() == 1, "case {case}: {edges:?}");
        }
    }

    #[test]
    fn atoms_are_the_values_of_many_rows() {
        assert_eq!(atoms(&[-1.0, 0.0, 0.0, 0.0, 2.0, 3.0, 7.0, 7.0], 0.25), [0.0, 7.0]);
        assert_eq!(atoms(&[-0.0, 0.0, 1.0], 0.5), [0.0]);
        assert_eq!(atoms(&[], 0.5), [0.0; 0]);
    }
}
