//! L-BFGS: a deterministic full-batch minimiser for smooth functions (Nocedal and Wright 2006,
//! ch. 7), with a line search for the approximate Wolfe conditions (Hager and Zhang 2005), which
//! keep working when differences of function values drown in rounding.

use std::collections::VecDeque;

/// Pairs kept.
const MEMORY: usize = 20;
/// Sufficient decrease.
const C1: f64 = 1e-4;
/// Curvature.
const C2: f64 = 0.9;
/// Trials of one line search.
const TRIALS: usize = 40;

/// A smooth function: writes its gradient, returns its value.
pub trait Smooth {
    /// f(x), and ∇f(x) into `gradient`.
    fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64;

    /// How far a value near `value` may be wrong by rounding.
    fn rounding(&self, value: f64) -> f64 {
        1e-14 * value.abs()
    }

    /// The length of the first step, in gradients, before anything is known of curvature: about unit
    /// length.
    fn first_step(&self, gradient_norm: f64) -> f64 {
        (1.0 / gradient_norm).min(1.0)
    }
}

/// How a minimisation ended.
#[derive(Clone, Copy, Debug)]
pub struct Minimum {
    /// f.
    pub value: f64,
    /// ‖∇f‖₂.
    pub gradient_norm: f64,
    /// ½ gᵀHg with the last inverse-Hessian estimate H: by how much a Newton step would still
    /// decrease f.
    pub decrement: f64,
}

/// Whether a minimum, x and ∇f are good enough.
pub type Done<'f> = &'f dyn Fn(&Minimum, &[f64], &[f64]) -> bool;

/// When to stop.
#[derive(Clone, Copy)]
pub struct Limits<'f> {
    /// Stop after this many.
    pub iterations: usize,
    /// Stop when this holds for where it is, with x and ∇f.
    pub done: Done<'f>,
    /// Stop when f falls to this.
    pub target: f64,
}

struct Pair {
    s: Vec<f64>,
    y: Vec<f64>,
    sy: f64,
}

/// Minimises `f` from `x`, in place; how it ended, and ∇f there.
pub fn minimise(f: &mut dyn Smooth, x: &mut [f64], limits: Limits<'_>) -> (Minimum, Vec<f64>) {
    let n = x.len();
    let mut gradient = vec![0.0; n];
    let mut value = f.evaluate(x, &mut gradient);
    let mut pairs: VecDeque<Pair> = VecDeque::new();
    let mut direction = vec![0.0; n];
    let mut trial = Trial { x: vec![0.0; n], gradient: vec![0.0; n] };
    let mut iterations = 0;
    loop {
        let gradient_norm = dot(&gradient, &gradient).sqrt();
        inverse_hessian_times(&pairs, &gradient, &mut direction);
        let decrement = 0.5 * dot(&direction, &gradient).max(0.0);
        let minimum = Minimum { value, gradient_norm, decrement };
        // Before the first step H is the identity and the decrement says nothing: inputs in
        // small units make a gradient that is small everywhere.
        let known = !pairs.is_empty() || gradient_norm == 0.0;
        let finished = value <= limits.target || (known && (limits.done)(&minimum, x, &gradient));
        if finished || iterations == limits.iterations || !value.is_finite() {
            return (minimum, gradient);
        }
        for d in &mut direction {
            *d = -*d;
        }
        let first = if pairs.is_empty() { f.first_step(gradient_norm) } else { 1.0 };
        let Some(next) = line_search(f, x, value, &gradient, &direction, first, &mut trial) else {
            if pairs.is_empty() {
                return (minimum, gradient);
            }
            // A direction from stale curvature: start over from steepest descent.
            pairs.clear();
            continue;
        };
        let s: Vec<f64> = trial.x.iter().zip(x.iter()).map(|(a, b)| a - b).collect();
        let y: Vec<f64> = trial.gradient.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        let sy = dot(&s, &y);
        if sy > 1e-14 * dot(&y, &y).sqrt() * dot(&s, &s).sqrt() {
            if pairs.len() == MEMORY {
                pairs.pop_front();
            }
            pairs.push_back(Pair { s, y, sy });
        }
        x.copy_from_slice(&trial.x);
        gradient.copy_from_slice(&trial.gradient);
        value = next;
        iterations += 1;
    }
}

struct Trial {
    x: Vec<f64>,
    gradient: Vec<f64>,
}

/// A step along `direction` by the (approximate) Wolfe conditions; leaves the point in `trial`.
fn line_search(
    f: &mut dyn Smooth,
    x: &[f64],
    value: f64,
    gradient: &[f64],
    direction: &[f64],
    first: f64,
    trial: &mut Trial,
) -> Option<f64> {
    let slope = dot(gradient, direction);
    if slope >= 0.0 || !slope.is_finite() {
        return None;
    }
    let rounding = f.rounding(value) + f64::MIN_POSITIVE;
    let (mut low, mut high) = ((0.0, slope), None::<(f64, f64)>);
    let mut step = first;
    for _ in 0..TRIALS {
        for ((t, x), d) in trial.x.iter_mut().zip(x).zip(direction) {
            *t = x + step * d;
        }
        let at = f.evaluate(&trial.x, &mut trial.gradient);
        let slope_at = dot(&trial.gradient, direction);
        let decrease = at <= value + C1 * step * slope;
        let approximate = at <= value + rounding && slope_at <= (2.0 * C1 - 1.0) * slope;
        if !(at.is_finite() && slope_at.is_finite() && (decrease || approximate)) {
            high = Some((step, slope_at));
        } else if slope_at < C2 * slope {
            low = (step, slope_at);
        } else {
            return Some(at);
        }
        step = match high {
            None => 2.0 * step,
            Some(high) => between(low, high),
        };
    }
    None
}

/// The zero of the slope's secant if it lies well inside, otherwise the middle.
fn between(low: (f64, f64), high: (f64, f64)) -> f64 {
    let width = high.0 - low.0;
    let secant = low.0 - low.1 * width / (high.1 - low.1);
    let inside = secant > low.0 + 0.1 * width && secant < high.0 - 0.1 * width;
    if high.1 > 0.0 && inside { secant } else { low.0 + 0.5 * width }
}

/// out = H g by the two-loop recursion.
fn inverse_hessian_times(pairs: &VecDeque<Pair>, gradient: &[f64], out: &mut [f64]) {
    out.copy_from_slice(gradient);
    let mut alphas = Vec::with_capacity(pairs.len());
    for pair in pairs.iter().rev() {
        let alpha = dot(&pair.s, out) / pair.sy;
        add(out, -alpha, &pair.y);
        alphas.push(alpha);
    }
    if let Some(last) = pairs.back() {
        let gamma = last.sy / dot(&last.y, &last.y);
        out.iter_mut().for_each(|o| *o *= gamma);
    }
    for (pair, alpha) in pairs.iter().zip(alphas.into_iter().rev()) {
        let beta = dot(&pair.y, out) / pair.sy;
        add(out, alpha - beta, &pair.s);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(out: &mut [f64], factor: f64, x: &[f64]) {
    for (o, x) in out.iter_mut().zip(x) {
        *o += factor * x;
    }
}
