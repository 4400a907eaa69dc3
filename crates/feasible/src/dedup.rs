//! Rows of a data set that are alike, and work that is therefore done once.
//!
//! Tables of categories repeat themselves: of the 32,561 people in the Adult training set 12,973
//! differ, of the 4,937 in COMPAS fewer than a fourth. Two rows are of the same *kind* if their inputs, what every view
//! changes and their targets agree; then all their losses agree, at every θ, and a pass needs each
//! kind once, weighed by what its rows weigh together.
//!
//! With many counterfactuals most inputs that a model is asked about are shared even between kinds: the
//! counterfactual of one person is another person. Then the model is asked about the *distinct
//! inputs* of all views, 1,704 instead of 69,118 for COMPAS with thirteen counterfactuals.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::inputs::{Inputs, InputsBuilder};
use crate::samples::{Samples, Target};
use crate::shift::Shift;

/// Rows looked at before it is decided whether looking at all of them may pay.
const SAMPLE: usize = 2048;
/// Kinds per chunk when inputs are shared between them: enough for most that can be shared.
const POOLED_KINDS: usize = 4096;

/// The kinds of rows of a source.
#[derive(Clone, Debug)]
pub struct Dedup {
    /// The kind of each row of the data set; meaningless for rows that are not in the source.
    pub kind_of_row: Vec<u32>,
    /// One row of each kind.
    pub representative: Vec<u32>,
    /// The rows of the source, those of a kind together.
    pub rows: Vec<u32>,
    /// The kind of each of these.
    pub kinds: Vec<u32>,
    /// How many rows each kind has.
    pub counts: Vec<u32>,
    /// Where `rows` may be cut into chunks.
    pub cuts: Vec<usize>,
    /// The distinct inputs, if there are few.
    pub pool: Option<Pool>,
}

/// Distinct inputs of all views, and what each kind shows of them.
#[derive(Clone, Debug)]
pub struct Pool {
    /// These inputs.
    pub inputs: Arc<Inputs>,
    /// 1 + views.
    pub slots: usize,
    /// The rows of `inputs` that a kind shows, each once and x itself first, are
    /// `shown[starts[kind]..starts[kind + 1]]`.
    pub shown: Vec<u32>,
    /// See `shown`.
    pub starts: Vec<u32>,
    /// kinds × slots: which of these a view shows.
    pub shown_by: Vec<u32>,
    /// For each of `shown`, the number of the pair (x, it); of no meaning for x itself.
    pub pair_of: Vec<u32>,
    /// Number of distinct pairs.
    pub pairs: usize,
}

impl Dedup {
    /// The kinds among `rows`, if there are at most three fourths as many; `kinds_per_chunk` of them
    /// go into a chunk.
    pub fn of(
        samples: &Samples,
        rows: &[u32],
        shifts: &[&Shift],
        kinds_per_chunk: usize,
    ) -> Option<Self> {
        let mut kinds = Distinct::new();
        let mut kind_of_row = vec![0; samples.len()];
        let mut representative = Vec::new();
        for (seen, &row) in rows.iter().enumerate() {
            let same = |&other: &u32| {
                are_alike(samples, shifts, row as usize, representative[other as usize] as usize)
            };
            let kind = kinds.find(hash_of(samples, shifts, row as usize), same);
            let kind = kind.unwrap_or_else(|| {
                representative.push(row);
                kinds.add()
            });
            kind_of_row[row as usize] = kind;
            // Where hardly a row repeats among the first, few will among all.
            if seen + 1 == SAMPLE && representative.len() > SAMPLE - SAMPLE / 16 {
                return None;
            }
        }
        if 4 * representative.len() > 3 * rows.len() {
            return None;
        }
        let pool = Pool::of(samples.inputs(), &representative, shifts);
        let per_chunk = if pool.is_some() { POOLED_KINDS } else { kinds_per_chunk };
        let mut sorted = rows.to_vec();
        // Stable: rows of a kind keep their order.
        sorted.sort_by_key(|&row| kind_of_row[row as usize]);
        let kinds: Vec<u32> = sorted.iter().map(|&row| kind_of_row[row as usize]).collect();
        let mut counts = vec![0; representative.len()];
        for &kind in &kinds {
            counts[kind as usize] += 1;
        }
        let mut cuts = vec![0];
        for (at, pair) in kinds.windows(2).enumerate() {
            if pair[0] != pair[1] && (pair[1] as usize).is_multiple_of(per_chunk) {
                cuts.push(at + 1);
            }
        }
        cuts.push(sorted.len());
        Some(Self { kind_of_row, representative, rows: sorted, kinds, counts, cuts, pool })
    }
}

impl Pool {
    /// Where a kind's inputs are among `shown`.
    #[inline(always)]
    pub fn range(&self, kind: u32) -> std::ops::Range<usize> {
        self.starts[kind as usize] as usize..self.starts[kind as usize + 1] as usize
    }

    /// The same where only some views are asked about; the others show x itself.
    pub fn restricted(&self, asked: &[bool]) -> Self {
        let (mut shown, mut starts, mut pair_of) = (Vec::new(), vec![0], Vec::new());
        let mut shown_by = vec![0; self.shown_by.len()];
        // Per input that the kind shows, its new place.
        let mut place = Vec::new();
        for (kind, by) in self.shown_by.chunks_exact(self.slots).enumerate() {
            let range = self.range(kind as u32);
            let first = shown.len();
            shown.push(self.shown[range.start]);
            pair_of.push(self.pair_of[range.start]);
            place.clear();
            place.resize(range.len(), None);
            place[0] = Some(0);
            for (slot, &old) in by.iter().enumerate().filter(|(slot, _)| asked[*slot]) {
                let place = place[old as usize].get_or_insert_with(|| {
                    shown.push(self.shown[range.start + old as usize]);
                    pair_of.push(self.pair_of[range.start + old as usize]);
                    (shown.len() - 1 - first) as u32
                });
                shown_by[kind * self.slots + slot] = *place;
            }
            starts.push(shown.len() as u32);
        }
        let (inputs, slots, pairs) = (self.inputs.clone(), self.slots, self.pairs);
        Self { inputs, slots, shown, starts, shown_by, pair_of, pairs }
    }

    /// The distinct inputs that these rows show, if there are at most a third as many, and if they
    /// are stored as the others are: an indicator that a view sets to 0.3 is not.
    fn of(inputs: &Inputs, representative: &[u32], shifts: &[&Shift]) -> Option<Self> {
        let (width, slots) = (inputs.width(), 1 + shifts.len());
        let dense_columns = inputs.dense_columns().to_vec();
        let mut is_dense = vec![false; width];
        for &c in &dense_columns {
            is_dense[c as usize] = true;
        }
        let most = representative.len() * slots / 3;
        let mut distinct = Distinct::new();
        let mut stored: Vec<Vec<u32>> = Vec::new();
        let mut builder = InputsBuilder::new(width, dense_columns, most).ok()?;
        let mut input_of = Vec::with_capacity(representative.len() * slots);
        let (mut x, mut dense, mut hot) = (vec![0.0; width], Vec::new(), Vec::new());
        for &row in representative {
            for slot in 0..slots {
                inputs.write_row(row as usize, &mut x);
                if slot > 0 {
                    for (c, delta) in shifts[slot - 1].row(row as usize) {
                        x[c as usize] += delta;
                    }
                }
                dense.clear();
                hot.clear();
                for (c, &value) in x.iter().enumerate() {
                    match value {
                        _ if is_dense[c] => dense.push(value),
                        0.0 => {}
                        1.0 => hot.push(c as u32),
                        _ => return None,
                    }
                }
                let key: Vec<u32> =
                    dense.iter().map(|x| x.to_bits()).chain(hot.iter().copied()).collect();
                let found = distinct.find(hash(&key), |&other| stored[other as usize] == key);
                let id = match found {
                    Some(id) => id,
                    None => {
                        builder.push(&dense, &hot).ok()?;
                        stored.push(key);
                        distinct.add()
                    }
                };
                if stored.len() > most {
                    return None;
                }
                input_of.push(id);
            }
        }
        let (mut shown, mut starts) = (Vec::new(), vec![0]);
        let (mut shown_by, mut pair_of) = (Vec::with_capacity(input_of.len()), Vec::new());
        let mut numbers = HashMap::new();
        for inputs in input_of.chunks_exact(slots) {
            let first = shown.len();
            for &input in inputs {
                let known = shown[first..].iter().position(|&other| other == input);
                shown_by.push(known.unwrap_or(shown.len() - first) as u32);
                if known.is_none() {
                    shown.push(input);
                    let next = numbers.len() as u32;
                    pair_of.push(*numbers.entry((inputs[0], input)).or_insert(next));
                }
            }
            starts.push(shown.len() as u32);
        }
        let pairs = numbers.len();
        let inputs = Arc::new(builder.finish());
        Some(Self { inputs, slots, shown, starts, shown_by, pair_of, pairs })
    }
}

/// Numbers things in the order of their first appearance.
struct Distinct {
    /// The last thing with this hash.
    last: HashMap<u64, u32>,
    /// The one before it with the same hash.
    before: Vec<Option<u32>>,
    asked: u64,
}

impl Distinct {
    fn new() -> Self {
        Self { last: HashMap::new(), before: Vec::new(), asked: 0 }
    }

    /// The number of the thing with this hash that `is_same` recognises.
    fn find(&mut self, hash: u64, is_same: impl Fn(&u32) -> bool) -> Option<u32> {
        self.asked = hash;
        let mut candidate = self.last.get(&hash).copied();
        while let Some(number) = candidate {
            if is_same(&number) {
                return Some(number);
            }
            candidate = self.before[number as usize];
        }
        None
    }

    /// Gives the thing last asked for its number.
    fn add(&mut self) -> u32 {
        let number = self.before.len() as u32;
        match self.last.entry(self.asked) {
            Entry::Occupied(mut entry) => self.before.push(Some(entry.insert(number))),
            Entry::Vacant(entry) => {
                entry.insert(number);
                self.before.push(None);
            }
        }
        number
    }
}

fn hash(key: &[u32]) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// A target to the bit: a class, or numbers.
fn target_bits(target: Target<'_>) -> impl Iterator<Item = u32> {
    let (class, numbers) = match target {
        Target::Class(class) => (Some(class), &[][..]),
        Target::Value(value) => (Some(value.to_bits()), &[][..]),
        Target::Vector(values) => (None, values),
    };
    class.into_iter().chain(numbers.iter().map(|y| y.to_bits()))
}

fn hash_of(samples: &Samples, shifts: &[&Shift], row: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    samples.inputs().hot(row).hash(&mut hasher);
    for x in samples.inputs().dense_row(row) {
        x.to_bits().hash(&mut hasher);
    }
    target_bits(samples.targets().get(row)).for_each(|bits| bits.hash(&mut hasher));
    for shift in shifts {
        for (column, delta) in shift.row(row) {
            (column, delta.to_bits()).hash(&mut hasher);
        }
    }
    hasher.finish()
}

fn are_alike(samples: &Samples, shifts: &[&Shift], a: usize, b: usize) -> bool {
    let inputs = samples.inputs();
    let bits = |row: usize| inputs.dense_row(row).iter().map(|x| x.to_bits());
    let changes = |shift: &Shift| {
        shift.row(a).map(|(c, d)| (c, d.to_bits())).eq(shift.row(b).map(|(c, d)| (c, d.to_bits())))
    };
    inputs.hot(a) == inputs.hot(b)
        && bits(a).eq(bits(b))
        && target_bits(samples.targets().get(a)).eq(target_bits(samples.targets().get(b)))
        && shifts.iter().all(|shift| changes(shift))
}
