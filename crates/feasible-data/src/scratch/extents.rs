//! Which pages of a scratch file are taken.

use std::collections::BTreeMap;

/// Bytes of a page: a multiple of that of every system, so that what is freed is whole pages.
pub(super) const PAGE: usize = 1 << 16;

/// The free pages, as runs that do not touch one another.
#[derive(Debug)]
pub(super) struct Extents {
    /// First byte → bytes.
    free: BTreeMap<usize, usize>,
    used: usize,
}

impl Extents {
    /// So many bytes, all free.
    pub(super) fn new(bytes: usize) -> Self {
        Self { free: BTreeMap::from([(0, bytes)]), used: 0 }
    }

    /// In whole pages.
    pub(super) fn rounded(bytes: usize) -> usize {
        bytes.next_multiple_of(PAGE)
    }

    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// The first run that is long enough. Lists that may grow, the longest, follow after all the others, where there is room behind them.
    pub(super) fn take(&mut self, bytes: usize) -> Option<usize> {
        let bytes = Self::rounded(bytes);
        let (&offset, _) = self.free.iter().find(|(_, free)| **free >= bytes)?;
        self.take_at(offset, bytes).then_some(offset)
    }

    /// Takes these pages, if they are free and a run begins with them.
    pub(super) fn take_at(&mut self, offset: usize, bytes: usize) -> bool {
        let bytes = Self::rounded(bytes);
        let Some(&free) = self.free.get(&offset).filter(|free| **free >= bytes) else {
            return false;
        };
        self.free.remove(&offset);
        if free > bytes {
            self.free.insert(offset + bytes, free - bytes);
        }
        self.used += bytes;
        true
    }

    /// Frees pages that were taken.
    pub(super) fn give(&mut self, offset: usize, bytes: usize) {
        let mut bytes = Self::rounded(bytes);
        let mut offset = offset;
        self.used -= bytes;
        if let Some(after) = self.free.remove(&(offset + bytes)) {
            bytes += after;
        }
        if let Some((&before, &length)) = self.free.range(..offset).next_back()
            && before + length == offset
        {
            (offset, bytes) = (before, bytes + length);
        }
        self.free.insert(offset, bytes);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a list of which page belongs to whom.
        #[test]
        fn no_page_is_given_twice_and_what_is_freed_is_one_run_again(
            steps in prop::collection::vec((0..3_u8, 1..5_usize, any::<prop::sample::Index>()), 0..80)
        ) {
            const PAGES: usize = 40;
            let mut extents = Extents::new(PAGES * PAGE);
            let mut owner = [None; PAGES];
            let mut lists: Vec<(u32, usize, usize)> = Vec::new();
            for (number, (step, pages, which)) in steps.into_iter().enumerate() {
                let number = number as u32;
                match step {
                    0 => {
                        // Not a whole number of pages.
                        let Some(offset) = extents.take(pages * PAGE - 7) else {
                            let fits = owner.windows(pages).any(|run| run.iter().all(Option::is_none));
                            prop_assert!(!fits);
                            continue;
                        };
                        let first = offset / PAGE;
                        prop_assert!(owner[first..first + pages].iter().all(Option::is_none));
                        owner[first..first + pages].fill(Some(number));
                        lists.push((number, first, pages));
                    }
                    1 if !lists.is_empty() => {
                        let at = which.index(lists.len());
                        let (_, first, pages) = lists.swap_remove(at);
                        extents.give(first * PAGE, pages * PAGE - 7);
                        owner[first..first + pages].fill(None);
                    }
                    2 if !lists.is_empty() => {
                        let at = which.index(lists.len());
                        let (number, first, before) = &mut lists[at];
                        let end = *first + *before;
                        if extents.take_at(end * PAGE, pages * PAGE) {
                            prop_assert!(owner[end..end + pages].iter().all(Option::is_none));
                            owner[end..end + pages].fill(Some(*number));
                            *before += pages;
                        }
                    }
                    _ => {}
                }
                prop_assert_eq!(extents.used(), owner.iter().flatten().count() * PAGE);
            }
            for (_, first, pages) in lists {
                extents.give(first * PAGE, pages * PAGE);
            }
            prop_assert_eq!(extents.free, BTreeMap::from([(0, PAGES * PAGE)]));
        }
    }
}
