//! What all workers do together, made of messages between two.
//!
//! Messages go along a binomial tree: worker w hears from w + 1, w + 2, w + 4, … and tells w less its lowest bit. Every
//! worker makes the same calls in the same order, so a message needs no name.

use std::ops::AddAssign;

use crate::reduce::Reduce;

/// What every worker has to say, in the order of the workers.
pub(crate) fn gather_all<R: Reduce + ?Sized>(reduce: &R, own: &[u8]) -> Vec<Vec<u8>> {
    let (workers, worker) = (reduce.workers(), reduce.worker());
    // A list of messages, each after its length.
    let mut known = (own.len() as u64).to_le_bytes().to_vec();
    known.extend_from_slice(own);
    let mut step = 1;
    while step < workers {
        if worker & step != 0 {
            reduce.send(worker - step, &known);
            break;
        }
        if worker + step < workers {
            known.append(&mut reduce.receive(worker + step));
        }
        step *= 2;
    }
    broadcast(reduce, 0, &mut known);
    let mut rest = &known[..];
    let mut all = Vec::with_capacity(workers);
    while let Some((length, after)) = rest.split_first_chunk::<8>() {
        let (message, after) = after.split_at(u64::from_le_bytes(*length) as usize);
        all.push(message.to_vec());
        rest = after;
    }
    all
}

/// What every worker has to say, in the order of the workers, on worker 0; nothing on the others.
pub(crate) fn gather<R: Reduce + ?Sized>(reduce: &R, own: Vec<u8>) -> Vec<Vec<u8>> {
    if reduce.worker() > 0 {
        reduce.send(0, &own);
        return Vec::new();
    }
    let others = (1..reduce.workers()).map(|worker| reduce.receive(worker));
    std::iter::once(own).chain(others).collect()
}

/// Gives every worker what worker `root` has.
pub(crate) fn broadcast<R: Reduce + ?Sized>(reduce: &R, root: usize, message: &mut Vec<u8>) {
    let workers = reduce.workers();
    let number = (reduce.worker() + workers - root) % workers;
    let of = |number: usize| (number + root) % workers;
    let mut step = 1;
    while step < workers && number & step == 0 {
        step *= 2;
    }
    if number != 0 {
        *message = reduce.receive(of(number - step));
    }
    while step > 1 {
        step /= 2;
        if number + step < workers {
            reduce.send(of(number + step), message);
        }
    }
}

/// Adds the parts of all workers, in order, into the first part of each.
pub(super) fn add<R: Reduce + ?Sized, T: Number>(reduce: &R, parts: &mut [&mut [T]]) {
    if reduce.workers() == 1 {
        return add_in_order(parts);
    }
    let Some(length) = parts.first().map(|part| part.len()) else { return };
    let mut own = Vec::new();
    parts.iter().for_each(|part| T::write(part, &mut own));
    let mut first = true;
    for message in gather_all(reduce, &own) {
        for part in message.chunks_exact((length * size_of::<T>()).max(1)) {
            let to = parts[0].iter_mut().zip(part.chunks_exact(size_of::<T>()));
            to.for_each(
                |(to, bytes)| if first { *to = T::read(bytes) } else { *to += T::read(bytes) },
            );
            first = false;
        }
    }
}

/// The largest of each number; NaN if one is.
pub(super) fn largest<R: Reduce + ?Sized>(reduce: &R, values: &mut [f64]) {
    if reduce.workers() == 1 {
        return;
    }
    let mut own = Vec::new();
    f64::write(values, &mut own);
    for message in gather_all(reduce, &own) {
        for (value, bytes) in values.iter_mut().zip(message.chunks_exact(8)) {
            let other = f64::read(bytes);
            if other.is_nan() || other > *value {
                *value = other;
            }
        }
    }
}

/// Adds all parts to the first, in order.
fn add_in_order<T: Copy + AddAssign>(parts: &mut [&mut [T]]) {
    let Some((first, others)) = parts.split_first_mut() else { return };
    for part in others {
        for (total, x) in first.iter_mut().zip(&**part) {
            *total += *x;
        }
    }
}

/// A number as it travels.
pub(crate) trait Number: Copy + AddAssign {
    /// Appends numbers to a message.
    fn write(numbers: &[Self], message: &mut Vec<u8>);
    /// One number of a message, of its bytes.
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($t:ty) => {
        impl Number for $t {
            fn write(numbers: &[Self], message: &mut Vec<u8>) {
                message.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
            }

            fn read(bytes: &[u8]) -> Self {
                let mut number = [0; size_of::<Self>()];
                number.copy_from_slice(bytes);
                Self::from_le_bytes(number)
            }
        }
    };
}

number!(f32);
number!(f64);
