//! Coordinates in which a problem is round.

use feasible::internals::{Metric, cholesky, norm};

#[test]
fn coordinates_go_there_and_back_and_the_factor_is_a_root_of_the_matrix() {
    let matrix = [4.0, 2.0, 0.4, 2.0, 9.0, -1.0, 0.4, -1.0, 1.0];
    let mut factor = matrix.to_vec();
    cholesky(&mut factor, 3, 1e-13);
    let metric = Metric::of(3, factor);
    let theta = [1.0, -2.0, 0.5];
    let mut z = theta.to_vec();
    metric.coordinates(&mut z);
    // ‖z‖² = θᵀPθ.
    let square: f64 = (0..9).map(|k| theta[k / 3] * matrix[k] * theta[k % 3]).sum();
    assert!((norm(&z).powi(2) - square).abs() < 1e-12);
    // The gradient of ½‖z‖² by z is z, by θ it is Pθ.
    let mut gradient: Vec<f64> =
        (0..3).map(|i| (0..3).map(|j| matrix[3 * i + j] * theta[j]).sum()).collect();
    let by_theta = norm(&gradient);
    metric.gradient_by_z(&mut gradient);
    assert!(gradient.iter().zip(&z).all(|(a, b)| (a - b).abs() < 1e-12));
    assert!((metric.norm_by_theta(&z) - by_theta).abs() < 1e-12);
    metric.to_theta(&mut z);
    assert!(z.iter().zip(&theta).all(|(a, b)| (a - b).abs() < 1e-12));
}
