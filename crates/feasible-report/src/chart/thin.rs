//! Fewer points that draw the same picture, so that a million stay small.
//!
//! Of the points that fall into one column of pixels a line keeps the first, the lowest, the
//! highest and the last: what is drawn is the same to within a pixel. Dots keep one per cell of
//! a grid that is coarsened until few enough are left.

use std::collections::HashSet;

/// The points of a line that matter at a width of `columns` pixels; x ascending.
pub(crate) fn line(
    points: &[(f64, f64)],
    (low, high): (f64, f64),
    columns: usize,
) -> Vec<(f64, f64)> {
    if points.len() <= 4 * columns {
        return points.to_vec();
    }
    let column = |x: f64| ((x - low) / (high - low) * columns as f64) as i64;
    let mut kept = Vec::new();
    for bucket in points.chunk_by(|a, b| column(a.0) == column(b.0)) {
        let by_y = |a: &usize, b: &usize| bucket[*a].1.total_cmp(&bucket[*b].1);
        let lowest = (0..bucket.len()).min_by(by_y).unwrap_or(0);
        let highest = (0..bucket.len()).max_by(by_y).unwrap_or(0);
        let mut chosen = [0, lowest, highest, bucket.len() - 1];
        chosen.sort_unstable();
        let mut last = None;
        for at in chosen {
            if last != Some(at) {
                kept.push(bucket[at]);
                last = Some(at);
            }
        }
    }
    kept
}

/// At most `most` of some dots, given in pixels: the first of each cell of a grid.
pub(crate) fn dots(points: Vec<(f64, f64)>, most: usize) -> Vec<(f64, f64)> {
    let mut points = points;
    let mut cell = 1.0;
    while points.len() > most {
        let mut seen = HashSet::new();
        let place = |x: f64| (x / cell).floor() as i64;
        points.retain(|&(x, y)| seen.insert((place(x), place(y))));
        cell *= 2.0;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_survive_thinning() {
        let n = 1_000_000;
        let mut points: Vec<(f64, f64)> = (0..n).map(|i| (f64::from(i), 0.0)).collect();
        points[123_456].1 = 9.0;
        points[777_777].1 = -9.0;
        let thinned = line(&points, (0.0, f64::from(n)), 300);
        assert!(thinned.len() <= 1_200, "{}", thinned.len());
        assert!(thinned.contains(&(123_456.0, 9.0)) && thinned.contains(&(777_777.0, -9.0)));
        assert!(thinned.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!((thinned[0], thinned[thinned.len() - 1]), (points[0], points[n as usize - 1]));
    }

    #[test]
    fn few_points_are_left_alone_and_many_dots_become_few() {
        let few: Vec<(f64, f64)> = (0..100).map(|i| (f64::from(i), 1.0)).collect();
        assert_eq!(line(&few, (0.0, 99.0), 300), few);
        assert_eq!(dots(few.clone(), 200), few);
        let many = (0..100_000).map(|i| (f64::from(i % 400), f64::from(i / 400))).collect();
        assert!(dots(many, 2_000).len() <= 2_000);
    }
}
