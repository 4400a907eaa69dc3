//! The loops that take the time: in `f32` by SIMD, in `f64` plain.
//!
//! Each kernel is a file with the SIMD form, generic over the instruction set, and its plain
//! twin, generic over the scalar. The twin is the oracle the SIMD form is tested against at
//! every [`Level`], and the way `f64` is computed. Models are written once over [`Kernels`].
//!
//! Kernels check the lengths of what they are given (a wrong one is a bug of the caller, and
//! panics) and allocate nothing.

mod activation;
mod columns;
pub mod conv;
mod gather;
mod product;
pub(crate) mod rows;
mod scatter;
mod shallow;
mod step;

use feasible::aligned::AlignedVec;
use feasible::{Batch, Real, Shift};

use conv::{Activated, Correlation, Outer, Planar};
use conv::{activate, outer, planar, sweep};

pub use gather::Weights;
pub use product::{Left, Start};
pub use shallow::{
    Hidden, Shallow, ShallowGradient, ShallowMemory, Table, is_even, scratch_len, table_len,
};
pub use step::{AdamStep, SgdStep};

use crate::activation::Activation;
use crate::simd::Level;

/// A product with fewer columns than this is computed as dot products with rows.
const NARROW: usize = 16;

/// The scalars models compute in, with their kernels.
pub trait Kernels: Real {
    /// For x and every sparse view of the batch: z is b, plus W_c over the hot columns c of each
    /// row, plus x_c W_c over its dense columns if `dense`, plus Δ_c W_c over the columns the view
    /// changes; then φ(z), and its slope if that is kept. `z` is views × rows × h; dense views
    /// are left for the caller.
    fn gather(
        level: Level,
        batch: &Batch<'_>,
        dense: bool,
        layer: Weights<'_, Self>,
        activation: Option<Activation>,
        z: &mut [Self],
        slope: &mut [Self],
    );

    /// moved = z + Σ Δ_c W_c over the columns `shift` changes in each of the `rows`.
    fn shift(
        level: Level,
        rows: &[u32],
        shift: &Shift,
        h: usize,
        weights: &[Self],
        z: &[Self],
        moved: &mut [Self],
    );

    /// Adds the gradient of [`Kernels::gather`] and [`Kernels::shift`] to `weights` and `bias`.
    /// `dz` is views × rows × h; afterwards, unless `dense`, its first rows × h hold the sum over
    /// the views, for the dense columns that are left to the caller.
    fn scatter(
        level: Level,
        batch: &Batch<'_>,
        dense: bool,
        dz: &mut [Self],
        weights: &mut [Self],
        bias: &mut [Self],
    );

    /// Up to how many outputs the two kernels for networks with one hidden layer take; 0 if there
    /// are none for this scalar.
    const SHALLOW_OUTPUTS: usize;

    /// Activations and outputs of a network with one hidden layer, for every view of a
    /// batch that [`is_even`]; `a` is empty if no backward pass follows.
    fn shallow_forward(
        level: Level,
        batch: &Batch<'_>,
        net: Shallow<'_, Self>,
        memory: ShallowMemory<'_, Self>,
        a: &mut [Self],
        slope: &mut [Self],
        outputs: &mut [Self],
    );

    /// Adds its gradients, except the last bias's, in one pass over the rows.
    fn shallow_backward(
        level: Level,
        batch: &Batch<'_>,
        net: Shallow<'_, Self>,
        hidden: Hidden<'_, Self>,
        seeds: &[Self],
        gradient: ShallowGradient<'_, Self>,
    );

    /// C = A·B + start, where B has n columns.
    fn product(
        level: Level,
        a: Left<'_, Self>,
        b: &[Self],
        n: usize,
        start: Start<'_, Self>,
        c: &mut [Self],
    );

    /// C = A·Bᵀ + bias, where B is n × `inner`. `transposed` is memory to reuse: empty, or Bᵀ of the call before.
    #[allow(clippy::too_many_arguments)]
    fn product_with_rows(
        level: Level,
        a: &[Self],
        b: &[Self],
        inner: usize,
        n: usize,
        bias: Option<&[Self]>,
        transposed: &mut AlignedVec<Self>,
        c: &mut [Self],
    );

    /// out += the sums of the columns of a.
    fn column_sums(level: Level, a: &[Self], out: &mut [Self]);

    /// z ← φ(z), and slope ← φ'(z) for the activations that keep it.
    fn activate(level: Level, activation: Activation, z: &mut [Self], slope: &mut [Self]);

    /// da ← da · φ', from a = φ(z) or the slope that was kept.
    fn activate_back(
        level: Level,
        activation: Activation,
        a: &[Self],
        slope: &[Self],
        da: &mut [Self],
    );

    /// z ← e^z; in `f32` beyond [−87, 88] the value at the end of that range.
    fn exponentials(level: Level, z: &mut [Self]);

    /// One step of Adam.
    fn adam(
        level: Level,
        step: AdamStep,
        theta: &mut [Self],
        gradient: &[Self],
        m: &mut [Self],
        v: &mut [Self],
    );

    /// One step of SGD; `buffer` is empty without momentum.
    fn sgd(level: Level, step: SgdStep, theta: &mut [Self], gradient: &[Self], buffer: &mut [Self]);

    /// A convolution or its gradient with respect to what it reads; see [`conv`].
    fn sweep(level: Level, of: Correlation<'_, Self>, out: &mut [Self]);

    /// Whether 3×3 convolutions of stride 1 go by tiles: [`Kernels::sweep_tiles`] and
    /// [`Kernels::outer_tiles`] with transformed weights instead of the two around them.
    const TILES: bool;

    /// [`Kernels::sweep`] with weights at points; see [`conv::winograd`].
    fn sweep_tiles(level: Level, of: Correlation<'_, Self>, scratch: &mut [Self], out: &mut [Self]);

    /// [`Kernels::outer`] with a gradient at points; if `fresh` it is written instead of added to.
    fn outer_tiles(
        level: Level,
        of: Outer<'_, Self>,
        fresh: bool,
        scratch: &mut [Self],
        gradient: &mut [Self],
    );

    /// Adds the gradient of a convolution with respect to its weights.
    fn outer(level: Level, of: Outer<'_, Self>, gradient: &mut [Self]);

    /// The gradient of a convolution with respect to an input by planes.
    fn planar(level: Level, of: Planar<'_, Self>, out: &mut [Self]);

    /// φ of planes; see [`conv::activate`].
    fn activate_planes(level: Level, of: Activated<'_, Self>, y: &mut [Self]);

    /// g ← g · φ' of planes.
    fn activate_planes_back(level: Level, of: Activated<'_, Self>, g: &mut [Self]);

    /// Numbers of the data as numbers of this type: themselves, or converted into `scratch`.
    fn from_data<'a>(data: &'a [f32], scratch: &'a mut Vec<Self>) -> &'a [Self];
}

/// The methods that only pass their arguments on, to the SIMD kernel or to its plain twin.
macro_rules! pass_on {
    (simd: $($module:ident::$name:ident($($arg:ident: $ty:ty),*);)*) => {$(
        #[inline]
        fn $name(level: Level, $($arg: $ty),*) {
            $module::$name(level, $($arg),*);
        }
    )*};
    (plain: $($module:ident::$name:ident($($arg:ident: $ty:ty),*);)*) => {$(
        #[inline]
        fn $name(_: Level, $($arg: $ty),*) {
            $module::plain::$name($($arg),*);
        }
    )*};
}

macro_rules! kernels {
    ($which:ident) => {
        pass_on! { $which:
            gather::gather(batch: &Batch<'_>, dense: bool, layer: Weights<'_, Self>, activation: Option<Activation>, z: &mut [Self], slope: &mut [Self]);
            gather::shift(rows: &[u32], shift: &Shift, h: usize, weights: &[Self], z: &[Self], moved: &mut [Self]);
            scatter::scatter(batch: &Batch<'_>, dense: bool, dz: &mut [Self], weights: &mut [Self], bias: &mut [Self]);
            product::product(a: Left<'_, Self>, b: &[Self], n: usize, start: Start<'_, Self>, c: &mut [Self]);
            columns::column_sums(a: &[Self], out: &mut [Self]);
            activation::activate(activation: Activation, z: &mut [Self], slope: &mut [Self]);
            activation::activate_back(activation: Activation, a: &[Self], slope: &[Self], da: &mut [Self]);
            activation::exponentials(z: &mut [Self]);
            step::adam(step: AdamStep, theta: &mut [Self], gradient: &[Self], m: &mut [Self], v: &mut [Self]);
            sweep::sweep(of: Correlation<'_, Self>, out: &mut [Self]);
            outer::outer(of: Outer<'_, Self>, gradient: &mut [Self]);
            planar::planar(of: Planar<'_, Self>, out: &mut [Self]);
            activate::activate_planes(of: Activated<'_, Self>, y: &mut [Self]);
            activate::activate_planes_back(of: Activated<'_, Self>, g: &mut [Self]);
            step::sgd(step: SgdStep, theta: &mut [Self], gradient: &[Self], buffer: &mut [Self]);
        }
    };
}

impl Kernels for f32 {
    kernels!(simd);

    const TILES: bool = true;

    fn sweep_tiles(level: Level, of: Correlation<'_, f32>, scratch: &mut [f32], out: &mut [f32]) {
        conv::winograd::sweep(level, of, scratch, out);
    }

    fn outer_tiles(
        level: Level,
        of: Outer<'_, f32>,
        fresh: bool,
        scratch: &mut [f32],
        gradient: &mut [f32],
    ) {
        conv::winograd::outer(level, of, fresh, scratch, gradient);
    }

    const SHALLOW_OUTPUTS: usize = 2;

    fn shallow_forward(
        level: Level,
        batch: &Batch<'_>,
        net: Shallow<'_, f32>,
        memory: ShallowMemory<'_, f32>,
        a: &mut [f32],
        slope: &mut [f32],
        outputs: &mut [f32],
    ) {
        shallow::forward(level, batch, net, memory, a, slope, outputs);
    }

    fn shallow_backward(
        level: Level,
        batch: &Batch<'_>,
        net: Shallow<'_, f32>,
        hidden: Hidden<'_, f32>,
        seeds: &[f32],
        gradient: ShallowGradient<'_, f32>,
    ) {
        shallow::backward(level, batch, net, hidden, seeds, gradient);
    }

    fn product_with_rows(
        level: Level,
        a: &[f32],
        b: &[f32],
        inner: usize,
        n: usize,
        bias: Option<&[f32]>,
        transposed: &mut AlignedVec<f32>,
        c: &mut [f32],
    ) {
        let m = c.len().checked_div(n).unwrap_or(0);
        // Few rows do not pay for the transpose either.
        if n < NARROW || m < NARROW {
            rows::dots(level, a, b, inner, n, bias, c);
        } else {
            if transposed.is_empty() {
                rows::transpose(level, b, n, inner, transposed.place(b.len()));
            }
            let start = bias.map_or(Start::Zero, Start::Bias);
            product::product(level, Left::new(a, m, inner), transposed, n, start, c);
        }
    }

    fn from_data<'a>(data: &'a [f32], _: &'a mut Vec<f32>) -> &'a [f32] {
        data
    }
}

impl Kernels for f64 {
    kernels!(plain);

    const TILES: bool = false;

    fn sweep_tiles(_: Level, _: Correlation<'_, f64>, _: &mut [f64], _: &mut [f64]) {
        unreachable!("double precision goes by plain sweeps");
    }

    fn outer_tiles(_: Level, _: Outer<'_, f64>, _: bool, _: &mut [f64], _: &mut [f64]) {
        unreachable!("double precision goes by plain sums");
    }

    const SHALLOW_OUTPUTS: usize = 0;

    fn shallow_forward(
        _: Level,
        _: &Batch<'_>,
        _: Shallow<'_, f64>,
        _: ShallowMemory<'_, f64>,
        _: &mut [f64],
        _: &mut [f64],
        _: &mut [f64],
    ) {
        unreachable!("a network has at least one output");
    }

    fn shallow_backward(
        _: Level,
        _: &Batch<'_>,
        _: Shallow<'_, f64>,
        _: Hidden<'_, f64>,
        _: &[f64],
        _: ShallowGradient<'_, f64>,
    ) {
        unreachable!("a network has at least one output");
    }

    fn product_with_rows(
        _: Level,
        a: &[f64],
        b: &[f64],
        inner: usize,
        n: usize,
        bias: Option<&[f64]>,
        _: &mut AlignedVec<f64>,
        c: &mut [f64],
    ) {
        rows::plain::dots(a, b, inner, n, bias, c);
    }

    fn from_data<'a>(data: &'a [f32], scratch: &'a mut Vec<f64>) -> &'a [f64] {
        scratch.clear();
        scratch.extend(data.iter().map(|&x| f64::from(x)));
        scratch
    }
}
