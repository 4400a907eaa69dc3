//! The two scalars a model can compute in.
//!
//! Networks train in `f32`. Convex problems solved to many digits, and every test by finite
//! differences, run the same code in `f64`. Data are stored as `f32` in both cases (every
//! `f32` is an `f64`), and sums over samples are always accumulated in `f64`.

use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::loss::{Loss, LossPass};
use crate::reduce::Reduce;
use crate::reduce::collective::Number;

mod sealed {
    /// `Engine` is for this crate alone, as is the trait.
    pub trait Sealed: crate::erased::Engine {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `f32` or `f64`: the field θ, the outputs and the seeds live in.
///
/// ```
/// use feasible::Real;
/// /// log(1 + eˣ), which does not overflow, and two of its bounds.
/// fn softplus<T: Real>(x: T) -> T {
///     let size = x.abs();
///     (x + size) * T::from_f64(0.5) + (-size).exp_of_negative().ln_1p()
/// }
/// assert!((softplus(1.0_f64) - 1.313_262).abs() < 1e-6);
/// assert!((softplus(1.0_f32) - 1.313_262).abs() < 1e-5);
/// fn least<T: Real>(x: T) -> T {
///     x.exp_m1().min(x.tanh())
/// }
/// assert!(least(1.0_f64) < 0.77);
/// let quarter = <f32 as Real>::from_f64(0.25);
/// assert_eq!((quarter.to_f64(), <f64 as Real>::from_f32(quarter), 0.5_f64.to_f32()), (0.25, 0.25, 0.5));
/// ```
pub trait Real:
    sealed::Sealed
    + Copy
    + Default
    + PartialOrd
    + Debug
    + Display
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + Sum
    + serde::Serialize
    + serde::de::DeserializeOwned
    + 'static
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The spacing of numbers near 1.
    const EPSILON: Self;
    /// The nearest number of this type.
    fn from_f64(x: f64) -> Self;
    /// Exact.
    fn from_f32(x: f32) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;
    /// The nearest `f32`.
    fn to_f32(self) -> f32;
    /// e^x.
    fn exp(self) -> Self;
    /// e^x for x ≤ 0, in a form that loops over arrays can be vectorised with.
    #[doc(hidden)]
    fn exp_of_negative(self) -> Self;
    /// e^x − 1, accurate near 0.
    fn exp_m1(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// ln(1 + x), accurate near 0.
    fn ln_1p(self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// The larger of the two.
    fn max(self, other: Self) -> Self;
    /// The smaller of the two.
    fn min(self, other: Self) -> Self;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// A loss over many rows, compiled in this crate and in no other.
    #[doc(hidden)]
    fn of_loss(loss: &Loss, pass: LossPass<'_, Self>);
    /// Adds up parts of several workers.
    #[doc(hidden)]
    fn add_parts(reduce: &dyn Reduce, parts: &mut [&mut [Self]]);
    /// Numbers as workers send them.
    #[doc(hidden)]
    fn to_message(numbers: &[Self]) -> Vec<u8>;
    /// Numbers that another worker has sent, each with what is to become of it.
    #[doc(hidden)]
    fn of_message(message: &[u8], numbers: &mut [Self], join: impl Fn(&mut Self, Self));
}

macro_rules! real {
    ($t:ty, $exp_of_negative:path, $add:ident) => {
        impl Real for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const EPSILON: Self = <$t>::EPSILON;
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn from_f32(x: f32) -> Self {
                <$t>::from(x)
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn exp_of_negative(self) -> Self {
                $exp_of_negative(self)
            }
            real!(@unary $t: exp exp_m1 ln ln_1p sqrt abs tanh);
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                <$t>::max(self, other)
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                <$t>::min(self, other)
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                <$t>::is_finite(self)
            }
            #[inline(never)]
            fn of_loss(loss: &Loss, pass: LossPass<'_, Self>) {
                loss.run(pass);
            }
            fn add_parts(reduce: &dyn Reduce, parts: &mut [&mut [Self]]) {
                reduce.$add(parts);
            }
            fn to_message(numbers: &[Self]) -> Vec<u8> {
                let mut message = Vec::with_capacity(size_of_val(numbers));
                Self::write(numbers, &mut message);
                message
            }
            fn of_message(message: &[u8], numbers: &mut [Self], join: impl Fn(&mut Self, Self)) {
                let each = message.chunks_exact(size_of::<Self>());
                numbers.iter_mut().zip(each).for_each(|(to, bytes)| join(to, Self::read(bytes)));
            }
        }
    };
    (@unary $t:ty: $($f:ident)*) => {$(
        #[inline(always)]
        fn $f(self) -> Self {
            <$t>::$f(self)
        }
    )*};
}

real!(f32, crate::loss::exp_of_negative_f32, add_f32);
real!(f64, f64::exp, add_f64);
