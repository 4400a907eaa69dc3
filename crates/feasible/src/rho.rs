//! Transformations ρ of an input: the "what if" of a counterfactual.
//!
//! ```
//! use feasible::rho;
//! // Had this person another sex (a 0/1 column) and another race (two one-hot columns):
//! let cross = rho::flip(0).and(rho::swap(1, 2));
//! let mut x = [1.0, 0.0, 1.0];
//! cross.apply(&mut x);
//! assert_eq!(x, [0.0, 1.0, 0.0]);
//! ```

use crate::error::{Error, Result};

/// A transformation of one input row, in place. Any closure `Fn(&mut [f32])` is one too.
pub enum Rho {
    /// x ↦ 1 − x in one 0/1 column.
    Flip(usize),
    /// Exchanges two columns.
    Swap(usize, usize),
    /// Sets a column.
    Set(usize, f32),
    /// One after the other.
    Both(Box<Rho>, Box<Rho>),
    /// Anything else.
    Custom(Transformation),
}

/// Any transformation of a row in place.
pub type Transformation = Box<dyn Fn(&mut [f32])>;

/// Reverses a 0/1 column: x ↦ 1 − x.
pub fn flip(column: usize) -> Rho {
    Rho::Flip(column)
}

/// Exchanges two columns: with one-hot columns, exchanges two categories and leaves samples of
/// other categories alone.
pub fn swap(a: usize, b: usize) -> Rho {
    Rho::Swap(a, b)
}

/// Sets a column.
pub fn set(column: usize, value: f32) -> Rho {
    Rho::Set(column, value)
}

impl Rho {
    /// This one, then the other.
    pub fn and(self, other: impl Into<Rho>) -> Self {
        Self::Both(Box::new(self), Box::new(other.into()))
    }

    /// Transforms a row. Columns must lie inside it; see [`Rho::check`].
    pub fn apply(&self, x: &mut [f32]) {
        match self {
            Self::Flip(c) => x[*c] = 1.0 - x[*c],
            Self::Swap(a, b) => x.swap(*a, *b),
            Self::Set(c, value) => x[*c] = *value,
            Self::Both(first, second) => {
                first.apply(x);
                second.apply(x);
            }
            Self::Custom(f) => f(x),
        }
    }

    /// # Errors
    /// A column that rows of `width` columns do not have.
    pub fn check(&self, width: usize) -> Result<()> {
        let inside = |c: usize| {
            Error::unless(c < width, "counterfactual column", c as f64, &format!("below {width}"))
        };
        match self {
            Self::Flip(c) | Self::Set(c, _) => inside(*c),
            Self::Swap(a, b) => inside(*a).and_then(|()| inside(*b)),
            Self::Both(first, second) => first.check(width).and_then(|()| second.check(width)),
            Self::Custom(_) => Ok(()),
        }
    }
}

impl<F: Fn(&mut [f32]) + 'static> From<F> for Rho {
    fn from(f: F) -> Self {
        Self::Custom(Box::new(f))
    }
}
