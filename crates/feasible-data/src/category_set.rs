//! The categories of a column that is being read, numbered by first appearance.
//!
//! Their bytes lie one after the other, so that a million of them are not a million allocations. Sets with one
//! hash function can be joined without hashing again.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(crate) struct CategorySet {
    hasher: DefaultHashBuilder,
    /// Positions in `hashes` and `ends`.
    table: HashTable<u32>,
    hashes: Vec<u64>,
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl CategorySet {
    /// An empty set with the same hash function.
    pub(crate) fn like(&self) -> Self {
        Self { hasher: self.hasher.clone(), ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline(always)]
    pub(crate) fn hash(&self, category: &[u8]) -> u64 {
        self.hasher.hash_one(category)
    }

    fn get(&self, code: u32) -> &[u8] {
        let at = code as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[at]]
    }

    /// The number of a category with this hash.
    #[inline(always)]
    pub(crate) fn find(&self, hash: u64, category: &[u8]) -> Option<u32> {
        self.table.find(hash, |&code| self.get(code) == category).copied()
    }

    /// Adds a category that [`find`](Self::find) does not find.
    pub(crate) fn insert(&mut self, hash: u64, category: &[u8]) -> u32 {
        let code = self.len() as u32;
        self.bytes.extend_from_slice(category);
        self.ends.push(self.bytes.len());
        self.hashes.push(hash);
        let hashes = &self.hashes;
        self.table.insert_unique(hash, code, |&code| hashes[code as usize]);
        code
    }

    /// Adds the categories of a set with the same hash function, and gives the number of each.
    pub(crate) fn join(&mut self, other: &Self) -> Vec<u32> {
        let join = |(code, &hash): (usize, &u64)| {
            let category = other.get(code as u32);
            self.find(hash, category).unwrap_or_else(|| self.insert(hash, category))
        };
        other.hashes.iter().enumerate().map(join).collect()
    }

    /// The categories by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len() as u32).map(|code| self.get(code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_that_are_joined_number_by_first_appearance() {
        let add = |set: &mut CategorySet, cells: &[&str]| {
            for cell in cells.iter().map(|cell| cell.as_bytes()) {
                let hash = set.hash(cell);
                set.find(hash, cell).unwrap_or_else(|| set.insert(hash, cell));
            }
        };
        let mut all = CategorySet::default();
        add(&mut all, &["b", "", "b", "a"]);
        let mut more = all.like();
        add(&mut more, &["c", "a", "c", "b"]);
        assert_eq!(all.join(&more), [3, 2, 0]);
        let names: Vec<_> =
            all.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        assert_eq!(names, ["b", "", "a", "c"]);
    }
}
