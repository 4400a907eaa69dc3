//! Sums and maxima of long lists.

use feasible::internals::{largest, sum, sum_of, sum_of_pairs};

#[test]
fn sums_and_maxima_of_lists_of_any_length_are_those_of_a_plain_loop() {
    for n in 0..40 {
        // Whole numbers: every order of additions gives the same.
        let a: Vec<f64> = (0..n).map(|i| f64::from((i * 7) % 11) - 4.0).collect();
        let b: Vec<f64> = (0..n).map(|i| f64::from((i * 5) % 13) - 6.0).collect();
        assert_eq!(sum(&a), a.iter().sum::<f64>());
        let squares: f64 = a.iter().map(|x| x * x).sum();
        assert_eq!(sum_of(&a, |x| x * x), squares);
        let products: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
        assert_eq!(sum_of_pairs(&a, &b, |x, y| x * y), products);
        assert_eq!(largest(&a), a.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    }
}

#[test]
fn what_is_not_a_number_spoils_sums_and_no_maxima() {
    let mut list = vec![1.0; 20];
    list[9] = f64::NAN;
    assert!(sum(&list).is_nan());
    assert_eq!(largest(&list), 1.0);
}
