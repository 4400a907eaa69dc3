//! Memory whose numbers start at a cache line.
//!
//! A vector of 64 bytes that straddles two cache lines costs up to twice as much to load or
//! store, and a `Vec` starts anywhere. The numbers are placed at the first cache line inside the
//! slot, and the slot's last entries remember where that was and how many there are, so that a copy
//! of it, which lies elsewhere, is read correctly too. A slot never becomes shorter: growing again
//! would fill it with zeros for nothing.

use crate::real::Real;

/// Numbers of padding: one cache line.
const fn line<T>() -> usize {
    64 / size_of::<T>()
}

/// What is remembered: the start, and the length by its parts above and below 2²⁰, which `f32` holds
/// exactly.
const NOTES: usize = 3;
const PART: usize = 1 << 20;

/// Makes room for `len` numbers. The old ones stay if there were as many, and are lost otherwise.
pub fn place<T: Real>(slot: &mut Vec<T>, len: usize) -> &mut [T] {
    let enough = len + line::<T>() + NOTES;
    if slot.len() < enough {
        slot.resize(enough, T::ZERO);
    }
    let start = slot.as_ptr().align_offset(64).min(line::<T>());
    let notes = slot.len() - NOTES;
    for (note, x) in slot[notes..].iter_mut().zip([start, len / PART, len % PART]) {
        *note = T::from_f64(x as f64);
    }
    &mut slot[start..start + len]
}

/// Where the numbers placed in a slot are.
fn range<T: Real>(slot: &[T]) -> std::ops::Range<usize> {
    let Some(notes) = slot.len().checked_sub(NOTES) else { return 0..0 };
    let note = |i: usize| slot[notes + i].to_f64() as usize;
    note(0)..note(0) + note(1) * PART + note(2)
}

/// The numbers placed in the slot.
pub fn placed<T: Real>(slot: &[T]) -> &[T] {
    &slot[range(slot)]
}

/// The same, to be written.
pub fn placed_mut<T: Real>(slot: &mut [T]) -> &mut [T] {
    let range = range(slot);
    &mut slot[range]
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
