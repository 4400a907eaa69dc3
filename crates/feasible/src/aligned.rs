//! Memory whose numbers start at a cache line.
//!
//! A vector of 64 bytes that straddles two cache lines costs up to twice as much to load or store, and a `Vec`
//! starts anywhere. Engines keep their numbers here; so does the Lagrangian its gradients.

use std::ops::{Deref, DerefMut};

use crate::real::Real;

/// Memory that a model keeps between batches.
///
/// ```
/// use feasible::aligned::AlignedVec;
/// let mut list = AlignedVec::<f32>::new();
/// list.place(100)[99] = 1.0;
/// assert_eq!((list.len(), list[99], list.as_ptr() as usize % 64), (100, 1.0, 0));
/// list.clear();
/// assert!(list.is_empty());
/// ```
/// Numbers that start at a cache line. A list never gives memory back: growing again would fill it with zeros
/// for nothing.
#[derive(Debug, Default)]
pub struct AlignedVec<T> {
    memory: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Real> AlignedVec<T> {
    /// Numbers of padding: one cache line.
    const LINE: usize = 64 / size_of::<T>();

    /// An empty list.
    pub const fn new() -> Self {
        Self { memory: Vec::new(), start: 0, len: 0 }
    }

    /// Makes room for `len` numbers. The old ones stay if there were as many, and are lost otherwise.
    pub fn place(&mut self, len: usize) -> &mut [T] {
        let enough = len + Self::LINE;
        if self.memory.len() < enough {
            self.memory.resize(enough, T::ZERO);
        }
        self.start = self.memory.as_ptr().align_offset(64).min(Self::LINE);
        self.len = len;
        self
    }

    /// Forgets the numbers and keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }
}

impl<T> Deref for AlignedVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.memory[self.start..self.start + self.len]
    }
}

impl<T> DerefMut for AlignedVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.start..self.start + self.len]
    }
}
