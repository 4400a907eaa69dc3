//! A typed table: named columns of numbers or of categories, as read and before any encoding.
//!
//! ```
//! use feasible_data::{Format, ColumnKind, Table};
//! let table = Table::from_bytes("people.csv", b"age,race\n41,Black\n38,White\n,Black\n",
//!     &Format::default())?;
//! assert_eq!(table.rows(), 3);
//! assert_eq!(table.column("race")?.kind(), ColumnKind::Categorical);
//! assert_eq!(table.column("age")?.missing(), 1);
//! let error = table.column("rase").unwrap_err();
//! assert_eq!(error.to_string(), "people.csv has no column 'rase': did you mean 'race'?");
//! # Ok::<(), feasible_data::Error>(())
//! ```

use hashbrown::HashMap;

use crate::column::{Categories, Cells, Column, ColumnKind};
use crate::error::{CellPlace, Error, Result};
use crate::nearest::nearest;
use crate::origin::Origin;

/// A table. See the [module](self).
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub(crate) name: String,
    pub(crate) rows: usize,
    pub(crate) columns: Vec<Column>,
    pub(crate) index: HashMap<String, usize>,
    pub(crate) origins: Vec<Origin>,
    /// Columns that were taken out once they were encoded.
    pub(crate) taken: Vec<(String, ColumnKind)>,
    /// Columns of the file whose cells are of a kind that cannot be read, and that kind.
    pub(crate) unread: Vec<(String, String)>,
}

impl Table {
    /// A table made in memory; its rows count as lines 1, 2, ….
    ///
    /// # Errors
    /// Columns of different lengths, two of one name, or no rows.
    pub fn new(name: &str, columns: Vec<Column>) -> Result<Self> {
        let rows = columns.first().map_or(0, Column::len);
        Self::with_origin(name, columns, Origin::numbered(name, rows))
    }

    pub(crate) fn with_origin(name: &str, columns: Vec<Column>, origin: Origin) -> Result<Self> {
        let rows = origin.rows();
        if rows == 0 {
            return Err(Error::NoRows { file: name.to_string() });
        }
        let mut index = HashMap::with_capacity(columns.len());
        for (at, column) in columns.iter().enumerate() {
            if column.len() != rows {
                let reason =
                    format!("column '{}' has {} rows, not {rows}", column.name, column.len());
                return Err(Error::Concat { file: name.to_string(), reason });
            }
            if let Some(first) = index.insert(column.name.clone(), at) {
                return Err(Error::DuplicateColumn {
                    file: name.to_string(),
                    column: column.name.clone(),
                    first: first + 1,
                    second: at + 1,
                });
            }
        }
        Ok(Self {
            name: name.to_string(),
            rows,
            columns,
            index,
            origins: vec![origin],
            taken: Vec::new(),
            unread: Vec::new(),
        })
    }

    /// What the table is called: its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The numbers of all rows: 0, 1, 2, ….
    pub fn all_rows(&self) -> Vec<u32> {
        (0..self.rows as u32).collect()
    }

    /// The columns, in the order of the file.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column of this name.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`], with the nearest name.
    pub fn column(&self, name: &str) -> Result<&Column> {
        match self.index.get(name) {
            Some(&at) => Ok(&self.columns[at]),
            None if self.taken.iter().any(|(taken, _)| taken == name) => {
                Err(Error::Taken { table: self.name.clone(), column: name.to_string() })
            }
            None if self.is_unread(name) => {
                let unread = self.unread.iter().find(|(unread, _)| unread == name);
                let holds = unread.map(|(_, holds)| holds.clone()).unwrap_or_default();
                Err(Error::Unread { table: self.name.clone(), column: name.to_string(), holds })
            }
            None => Err(Error::UnknownColumn {
                table: self.name.clone(),
                column: name.to_string(),
                nearest: nearest(name, self.columns.iter().map(|c| c.name.as_str())),
                known: self.columns.iter().map(|c| c.name.clone()).collect(),
            }),
        }
    }

    /// The columns, with their kinds, that were taken out of the table when they were encoded
    /// ([`Encoder::transform_out`](crate::Encoder::transform_out)).
    pub fn taken(&self) -> &[(String, ColumnKind)] {
        &self.taken
    }

    /// The columns of the file that cannot be read, each with what it holds: lists, structures, times of day.
    /// [`Table::columns`] does not have them, and it is an error to use one.
    pub fn unread(&self) -> &[(String, String)] {
        &self.unread
    }

    /// Whether the file has a column of this name that cannot be read.
    pub fn is_unread(&self, name: &str) -> bool {
        self.unread.iter().any(|(unread, _)| unread == name)
    }

    /// Bytes that the cells take.
    pub fn bytes(&self) -> usize {
        let bytes = |column: &Column| match &column.cells {
            Cells::Numbers(x) => x.bytes(),
            Cells::Categories(categories) => categories.codes.bytes(),
        };
        self.columns.iter().map(bytes).sum()
    }

    /// A table of some of the rows, in this order. They keep their files and lines.
    ///
    /// ```
    /// use feasible_data::{Format, Table};
    /// let table = Table::from_bytes("people.csv", b"age\n41\n38\n50\n", &Format::default())?;
    /// let some = table.chosen(&[0, 2])?;
    /// assert_eq!((some.rows(), some.origin(1)), (2, ("people.csv", 4)));
    /// # Ok::<(), feasible_data::Error>(())
    /// ```
    ///
    /// # Errors
    /// No rows.
    pub fn chosen(&self, rows: &[u32]) -> Result<Self> {
        let mut origins: Vec<Origin> = Vec::new();
        for &row in rows {
            let (file, line) = self.origin(row as usize);
            match origins.last_mut().filter(|last| last.file == file) {
                Some(last) => last.push(line),
                None => {
                    let mut origin = Origin::new(file);
                    origin.push(line);
                    origins.push(origin);
                }
            }
        }
        let places = || rows.iter().map(|&row| row as usize);
        let column = |column: &Column| Column {
            name: column.name.clone(),
            cells: match &column.cells {
                Cells::Numbers(x) => {
                    Cells::Numbers(places().map(|row| x.get(row)).collect::<Vec<_>>().into())
                }
                Cells::Categories(categories) => Cells::Categories(Categories {
                    codes: places().map(|row| categories.codes.get(row)).collect(),
                    ..categories.clone()
                }),
            },
        };
        let columns = self.columns.iter().map(column).collect();
        let all = Self::with_origin(&self.name, columns, Origin::numbered(&self.name, rows.len()))?;
        Ok(Self { origins, unread: self.unread.clone(), ..all })
    }

    /// Takes columns out.
    pub(crate) fn take(&mut self, which: &dyn Fn(&str) -> bool) -> HashMap<String, Cells> {
        let mut cells = HashMap::new();
        for column in std::mem::take(&mut self.columns) {
            if which(&column.name) {
                self.taken.push((column.name.clone(), column.kind()));
                cells.insert(column.name, column.cells);
            } else {
                self.columns.push(column);
            }
        }
        self.number();
        cells
    }

    /// Counts columns as unread that another table could not read.
    pub(crate) fn add_unread(&mut self, other: &[(String, String)]) {
        for column in other {
            if !self.is_unread(&column.0) {
                self.columns.retain(|own| own.name != column.0);
                self.unread.push(column.clone());
            }
        }
        self.number();
    }

    fn number(&mut self) {
        let names = self.columns.iter().enumerate();
        self.index = names.map(|(at, column)| (column.name.clone(), at)).collect();
    }

    /// File and line of a row (of a Parquet file, the row counted from 1).
    pub fn origin(&self, row: usize) -> (&str, u64) {
        let mut first = 0;
        for origin in &self.origins {
            if row < first + origin.rows() {
                return (&origin.file, origin.line(row - first));
            }
            first += origin.rows();
        }
        (&self.name, row as u64 + 1)
    }

    /// Where the cell of a row and column stands.
    pub fn place(&self, row: usize, column: &str) -> CellPlace {
        let (file, line) = self.origin(row);
        CellPlace { file: file.to_string(), line, column: column.to_string() }
    }
}
