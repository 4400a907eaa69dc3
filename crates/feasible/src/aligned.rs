//! Memory whose numbers start at a cache line.
//!
//! A vector of 64 bytes that straddles two cache lines costs up to twice as much to load or
//! store, and a `Vec` starts anywhere. The numbers are placed at the first cache line inside the
//! slot, a plain `Vec`, and the slot's last entry remembers where that was, so that a copy, which
//! lies elsewhere, is read correctly too.

use crate::real::Real;

/// Numbers of padding: one cache line.
const fn line<T>() -> usize {
    64 / size_of::<T>()
}

/// Makes room for `len` numbers; unless there were as many before, their old values are lost.
pub fn place<T: Real>(slot: &mut Vec<T>, len: usize) -> &mut [T] {
    slot.resize(len + line::<T>() + 1, T::ZERO);
    let start = slot.as_ptr().align_offset(64).min(line::<T>());
    slot[len + line::<T>()] = T::from_f64(start as f64);
    &mut slot[start..start + len]
}

/// The numbers placed in the slot.
pub fn placed<T: Real>(slot: &[T]) -> &[T] {
    match slot.last() {
        None => &[],
        Some(start) => {
            let start = start.to_f64() as usize;
            &slot[start..start + slot.len() - line::<T>() - 1]
        }
    }
}

/// The same, to be written.
pub fn placed_mut<T: Real>(slot: &mut [T]) -> &mut [T] {
    match slot.last() {
        None => &mut [],
        Some(start) => {
            let start = start.to_f64() as usize;
            let len = slot.len() - line::<T>() - 1;
            &mut slot[start..start + len]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placed_numbers_start_at_a_cache_line_and_survive_a_copy() {
        let mut slot: Vec<f32> = Vec::new();
        assert!(placed(&slot).is_empty());
        for len in [5, 100, 0, 17] {
            let numbers = place(&mut slot, len);
            assert!(numbers.len() == len && numbers.as_ptr().addr().is_multiple_of(64));
            for (i, x) in numbers.iter_mut().enumerate() {
                *x = i as f32;
            }
            let mut elsewhere = slot.clone();
            let expected: Vec<f32> = (0..len).map(|i| i as f32).collect();
            assert_eq!(placed(&elsewhere), expected);
            assert_eq!(placed_mut(&mut elsewhere), expected);
        }
    }
}
