//! Numbers that start at a cache line, as activations do in training.

use std::ops::{Deref, DerefMut};

/// In bytes.
const LINE: usize = 64;

/// A slice of `f32` that starts at a multiple of 64 bytes.
#[derive(Debug)]
pub struct Aligned {
    data: Vec<f32>,
    start: usize,
}

impl From<Vec<f32>> for Aligned {
    fn from(values: Vec<f32>) -> Self {
        let lanes = LINE / size_of::<f32>();
        let mut data: Vec<f32> = Vec::with_capacity(values.len() + lanes);
        // Within the capacity, so it never moves.
        let start = data.as_ptr().align_offset(LINE).min(lanes);
        data.resize(start, 0.0);
        data.extend(values);
        Self { data, start }
    }
}

impl Deref for Aligned {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.data[self.start..]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.data[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_kept_and_start_at_a_line() {
        for len in [0, 1, 17, 1000] {
            let values: Vec<f32> = (0..len).map(|i| i as f32).collect();
            let aligned = Aligned::from(values.clone());
            assert_eq!(*aligned, values);
            assert_eq!(aligned.as_ptr() as usize % LINE, 0);
        }
    }
}
