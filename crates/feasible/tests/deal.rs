//! Rows of two groups dealt to each other.

use feasible::internals::deals;

#[test]
fn every_row_is_dealt_once_and_blocks_differ_by_one_row() {
    let few: Vec<f64> = vec![0.0; 7];
    let many: Vec<f64> = (0..17).map(f64::from).collect();
    for deal in deals(&many, &few, 3) {
        assert_eq!(deal.len(), 7);
        // Blocks of two and three rows: the weighted sum of means is the sum of all rows.
        let sizes = (0..7).map(|at| (at + 1) * 17 / 7 - at * 17 / 7);
        let sum: f64 = deal.iter().zip(sizes).map(|(mean, size)| mean * size as f64).sum();
        assert!((sum - 136.0).abs() < 1e-9, "{sum}");
    }
    let other: Vec<f64> = deals(&few, &many, 3)[0].iter().map(|x| -x).collect();
    assert_eq!(other.len(), 7);
    assert!(deals(&few, &[], 0).is_empty());
}
