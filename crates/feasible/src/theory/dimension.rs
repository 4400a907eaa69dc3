//! VC dimensions of the shipped model classes, or upper bounds on them.
//!
//! A VC dimension is that of a class of *sets*. These are the sets {x : f_θ(x) > 0} of models with one output;
//! for two outputs f is their difference. Error and selection rates are frequencies of such sets, or of such
//! sets turned round where y = 0, which shatter as many samples. The mean of another loss needs the sets
//! {(x, y) : ℓ(f_θ(x), y) > t}, which are others: [`linear_margin`]; for a loss between two views, as
//! KL(f(x), f(ρ(x))) > c, or for more than two classes no bound is given here. `widths` are d, h₁, …, 1.

/// Linear models of d columns: half-spaces, exactly d + 1.
pub fn linear(inputs: usize) -> f64 {
    inputs as f64 + 1.0
}

/// The sets {(x, y) : y f(x) < t} of linear models of d columns, y = ±1 and any t: at most d + 2. They are where
/// y⟨w, x⟩ + y b − t is negative, functions of a space with d + 2 dimensions (Dudley 1978; Anthony and Bartlett
/// 1999, Theorem 3.5). With two classes all losses that fall with y f have them: logistic, hinge, Brier.
pub fn linear_margin(inputs: usize) -> f64 {
    inputs as f64 + 2.0
}

/// Kernel expansions on M fixed centres with an offset: linear in M features, at most M + 1. Centres that are
/// training rows are not fixed.
pub fn kernel(centres: usize) -> f64 {
    centres as f64 + 1.0
}

/// Networks of piecewise linear units (ReLU): at most
///
/// $$ L + \bar L W \log_2\!\big( 4 e p R \, \log_2(2 e p R) \big) , \qquad
///    \bar L = \frac1W \sum_{i \le L} W_i , \quad R = \sum_{i \le L} i\, k_i , $$
///
/// with W parameters, Wᵢ of them up to layer i, kᵢ units in layer i and p = 2 pieces (Bartlett, Harvey, Liaw
/// and Mehrabian 2019, the refined upper bound for degree 1).
pub fn piecewise_linear(widths: &[usize]) -> f64 {
    let layers = layers(widths);
    let parameters: f64 = layers.iter().map(|(_, w)| w).sum();
    let mut so_far = 0.0;
    let mut cumulated = 0.0;
    let mut r = 0.0;
    for (i, (units, own)) in layers.iter().enumerate() {
        so_far += own;
        cumulated += so_far;
        r += (i + 1) as f64 * units;
    }
    let inner = 2.0 * std::f64::consts::E * 2.0 * r;
    // L̄ W is the sum of the Wᵢ.
    debug_assert!(cumulated >= parameters);
    layers.len() as f64 + cumulated * (2.0 * inner * inner.log2()).log2()
}

/// Networks of sigmoid (or tanh, the same class) units: at most
///
/// $$ (Wk)^2 + 11 Wk \log_2(18 W k^2) $$
///
/// with W parameters and k units (Karpinski and Macintyre 1997, as in Anthony and Bartlett 1999, Theorem
/// 8.13). Bartlett and others (2019) do not cover them.
pub fn sigmoid(widths: &[usize]) -> f64 {
    let (w, k) = size(widths);
    (w * k).powi(2) + 11.0 * w * k * (18.0 * w * k * k).log2()
}

/// Networks of units that take one exponential each (SiLU): at most
///
/// $$ (W(q + 1))^2 + 11 W (q + 1) \big( t + \log_2(9 W (q + 1)) \big) $$
///
/// with q exponentials among t operations (Anthony and Bartlett 1999, Theorem 8.14).
pub fn exponential(widths: &[usize]) -> f64 {
    let (w, k) = size(widths);
    let q = k - 1.0;
    // A product and a sum for each parameter, five operations a unit, the comparison at the end.
    let t = 2.0 * w + 5.0 * q + 1.0;
    (w * (q + 1.0)).powi(2) + 11.0 * w * (q + 1.0) * (t + (9.0 * w * (q + 1.0)).log2())
}

/// Units and parameters (weights and offsets) of each layer.
fn layers(widths: &[usize]) -> Vec<(f64, f64)> {
    let layer = |pair: &[usize]| (pair[1] as f64, (pair[0] as f64 + 1.0) * pair[1] as f64);
    widths.windows(2).map(layer).collect()
}

/// W and k.
fn size(widths: &[usize]) -> (f64, f64) {
    let layers = layers(widths);
    (layers.iter().map(|(_, w)| w).sum(), layers.iter().map(|(k, _)| k).sum())
}
