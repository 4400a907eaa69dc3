//! Made-up tables shaped like the ones the problems of the paper are about: the same for everybody,
//! from explicit random streams.

use feasible::{Error, Inputs, InputsBuilder, Population, Purpose, Samples, Stream, Targets};

/// Levels of each variable of a table, all of them indicators; 1 is a 0/1 column.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Levels of each variable.
    pub levels: &'static [u32],
    /// The one share of different rows in how many rows: 3 means that each appears three times.
    pub repeated: usize,
}

/// As Adult is encoded: 61 columns, one of nine a row; 32,561 rows hold 11,493 different ones.
pub const ADULT: Table = Table { levels: &[9, 9, 4, 15, 4, 1, 12, 6, 1], repeated: 3 };
/// Adult's 0/1 column.
pub const GENDER: usize = 41;

/// As COMPAS is: sex, four races, and a few more; 4,937 rows hold 654 different ones.
pub const COMPAS: Table = Table { levels: &[1, 4, 3, 2, 4, 3], repeated: 8 };
/// COMPAS's 0/1 column.
pub const SEX: usize = 0;
/// COMPAS's columns of races.
pub const RACES: [usize; 4] = [1, 2, 3, 4];

impl Table {
    /// Number of columns.
    pub fn width(&self) -> usize {
        self.levels.iter().sum::<u32>() as usize
    }

    /// `rows` rows drawn from `rows / repeated` ones.
    ///
    /// # Errors
    /// None: the columns are inside.
    pub fn inputs(&self, rows: usize) -> Result<Inputs, Error> {
        let mut stream = Stream::new(0, Purpose::View, 0, 0);
        let different: Vec<_> =
            (0..rows.div_ceil(self.repeated)).map(|_| self.row(&mut stream)).collect();
        let mut builder = InputsBuilder::new(self.width(), vec![], rows)?;
        for _ in 0..rows {
            builder.push(&[], &different[stream.below(different.len() as u32) as usize])?;
        }
        Ok(builder.finish())
    }

    /// The columns that are on. Skewed, as real tables are: half of the rows have the first level.
    fn row(&self, stream: &mut Stream) -> Vec<u32> {
        let mut first = 0;
        let mut hot = Vec::new();
        for &n in self.levels {
            let level = if n == 1 { stream.below(2) } else { stream.below(2) * stream.below(n) };
            if level < n {
                hot.push(first + level);
            }
            first += n;
        }
        hot
    }

    /// Those rows with a class that depends on them.
    ///
    /// # Errors
    /// As [`Table::inputs`].
    pub fn population(&self, rows: usize) -> Result<Population, Error> {
        let inputs = self.inputs(rows)?;
        let mut stream = Stream::new(1, Purpose::View, 0, 0);
        let classes = (0..rows).map(|r| {
            let sum: u32 = inputs.hot(r).iter().map(|c| c * 7 % 5).sum();
            u32::from(sum + stream.below(8) > 20)
        });
        let targets = Targets::Classes(classes.collect());
        Ok(Population::new(Samples::new(inputs, targets)?))
    }
}

/// Numbers in [−1, 1).
pub fn numbers(len: usize, seed: u64) -> Vec<f32> {
    let mut stream = Stream::new(seed, Purpose::View, 0, 0);
    (0..len).map(|_| (2.0 * stream.uniform() - 1.0) as f32).collect()
}

/// `rows` rows of `width` numbers with one of `classes` classes.
///
/// # Errors
/// A width of 0.
pub fn dense(rows: usize, width: usize, classes: u32) -> Result<Population, Error> {
    let inputs = Inputs::dense(numbers(rows * width, 2), width)?;
    let mut stream = Stream::new(3, Purpose::View, 0, 0);
    let targets = Targets::Classes((0..rows).map(|_| stream.below(classes)).collect());
    Ok(Population::new(Samples::new(inputs, targets)?))
}
