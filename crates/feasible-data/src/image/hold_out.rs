//! The same number of images of each class, drawn by a seed: the paper's validation images, and how the
//! embedded sample was chosen.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::error::ImageError;
use super::images::Images;
use crate::error::Result;
use crate::split::shuffle;

impl Images {
    /// Takes `per_class` images of every class out of `rows`: first what is left, then what was
    /// taken, both ascending. The paper keeps 100 of each class for validation.
    ///
    /// Each class's rows, ascending, are shuffled by ChaCha8 with `seed`, the classes one after
    /// the other from one generator, and the first `per_class` are taken.
    ///
    /// # Errors
    /// Rows that do not exist, or a class that would be left with no image.
    pub fn hold_out(
        &self,
        rows: &[u32],
        per_class: usize,
        seed: u64,
    ) -> Result<(Vec<u32>, Vec<u32>)> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (mut kept, mut taken) = (Vec::new(), Vec::new());
        for (class, mut rows) in self.classes().iter().zip(self.by_class(rows)?) {
            // A class that is nowhere in these rows has nothing to lose.
            if rows.is_empty() {
                continue;
            }
            if rows.len() <= per_class {
                let (class, available) = (class.clone(), rows.len());
                return Err(ImageError::HoldOut { class, wanted: per_class, available }.into());
            }
            shuffle(&mut rows, &mut random);
            taken.extend_from_slice(&rows[..per_class]);
            kept.extend_from_slice(&rows[per_class..]);
        }
        kept.sort_unstable();
        taken.sort_unstable();
        Ok((kept, taken))
    }

    /// At most `per_class` images of every class of `rows`, drawn as [`Images::hold_out`] draws; ascending.
    ///
    /// # Errors
    /// Rows that do not exist.
    pub fn at_most(&self, rows: &[u32], per_class: usize, seed: u64) -> Result<Vec<u32>> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut taken = Vec::new();
        for mut rows in self.by_class(rows)? {
            shuffle(&mut rows, &mut random);
            rows.truncate(per_class);
            taken.extend(rows);
        }
        taken.sort_unstable();
        Ok(taken)
    }

    /// The rows of each class, ascending.
    fn by_class(&self, rows: &[u32]) -> Result<Vec<Vec<u32>>> {
        self.check_rows(rows)?;
        let mut of_class = vec![Vec::new(); self.classes().len()];
        for &row in rows {
            of_class[self.labels()[row as usize] as usize].push(row);
        }
        of_class.iter_mut().for_each(|rows| rows.sort_unstable());
        Ok(of_class)
    }
}
