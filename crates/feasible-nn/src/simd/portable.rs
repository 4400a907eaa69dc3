//! Eight lanes for any machine: arrays whose loops the compiler vectorises.

use super::{Lanes, ROUNDER};

const N: usize = 8;

#[derive(Clone, Copy)]
pub(crate) struct Portable([f32; N]);

macro_rules! lanewise {
    ($($name:ident($a:ident $(, $other:ident = $b:ident)*) $value:expr;)*) => {$(
        #[inline(always)]
        fn $name(self $(, $other: Self)*) -> Self {
            let mut out = [0.0; N];
            for i in 0..N {
                let $a = self.0[i];
                $(let $b = $other.0[i];)*
                out[i] = $value;
            }
            Self(out)
        }
    )*};
}

impl Lanes for Portable {
    const N: usize = N;
    const TILE: (usize, usize) = (2, 2);
    const PLAIN: bool = true;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        Self([x; N])
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        // SAFETY: the caller's promise about p; an unaligned read of plain numbers.
        Self(unsafe { p.cast::<[f32; N]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        // SAFETY: the caller's promise about p.
        unsafe { p.cast::<[f32; N]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn load_part(p: *const f32, n: usize) -> Self {
        let mut out = [0.0; N];
        for (i, x) in out.iter_mut().enumerate().take(n) {
            // SAFETY: i < n, and p is readable for n numbers.
            *x = unsafe { *p.add(i) };
        }
        Self(out)
    }
    #[inline(always)]
    unsafe fn store_part(self, p: *mut f32, n: usize) {
        for (i, x) in self.0.iter().enumerate().take(n) {
            // SAFETY: i < n, and p is writable for n numbers.
            unsafe { *p.add(i) = *x };
        }
    }
    lanewise! {
        add(a, other = b) a + b;
        sub(a, other = b) a - b;
        mul(a, other = b) a * b;
        div(a, other = b) a / b;
        fma(x, a = m, b = c) x * m + c;
        max(a, other = b) if a > b { a } else { b };
        min(a, other = b) if a < b { a } else { b };
        sqrt(a) a.sqrt();
        recip(a) 1.0 / a;
        where_positive(a, value = b) if a > 0.0 { b } else { 0.0 };
    }
    #[inline(always)]
    fn nearest_power(self, factor: Self) -> (Self, Self) {
        let (mut minus_n, mut power) = ([0.0; N], [0.0; N]);
        for i in 0..N {
            let t = self.0[i] * factor.0[i] + ROUNDER;
            minus_n[i] = ROUNDER - t;
            power[i] = f32::from_bits(t.to_bits() << 23);
        }
        (Self(minus_n), Self(power))
    }
    #[inline(always)]
    fn zip(self, other: Self) -> (Self, Self) {
        let (mut low, mut high) = ([0.0; N], [0.0; N]);
        for i in 0..N / 2 {
            (low[2 * i], low[2 * i + 1]) = (self.0[i], other.0[i]);
            (high[2 * i], high[2 * i + 1]) = (self.0[N / 2 + i], other.0[N / 2 + i]);
        }
        (Self(low), Self(high))
    }
}
