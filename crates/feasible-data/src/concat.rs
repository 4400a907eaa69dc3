//! Tables under one another: the training and test files of one data set as one table.

use std::ops::Range;

use hashbrown::HashMap;

use crate::column::{Categories, Cells, MISSING};
use crate::error::{Error, Result};
use crate::numbers::Numbers;
use crate::table::Table;

impl Table {
    /// Puts tables under one another (training and test files, say) and returns the rows of
    /// each. Rows keep their files and lines for error messages.
    ///
    /// # Errors
    /// Columns that differ in name or kind, or no tables.
    pub fn concat(name: &str, tables: Vec<Table>) -> Result<(Table, Vec<Range<u32>>)> {
        Self::concat_all(name, tables.into_iter().map(Ok))
    }

    /// As [`Table::concat`], of tables that are still to be read: each is let go of before the next one is.
    pub(crate) fn concat_all(
        name: &str,
        mut tables: impl Iterator<Item = Result<Table>>,
    ) -> Result<(Table, Vec<Range<u32>>)> {
        let Some(mut all) = tables.next().transpose()? else {
            return Err(Error::Empty { file: name.to_string() });
        };
        let mut ranges: Vec<Range<u32>> = Vec::new();
        ranges.push(0..all.rows as u32);
        for table in tables {
            let table = table?;
            if all.rows + table.rows >= u32::MAX as usize {
                let reason = "more than 4 billion rows: read a part of the files".to_string();
                return Err(Error::Option { option: name.to_string(), reason });
            }
            let (first, rows) = (all.rows as u32, table.rows as u32);
            ranges.push(first..first + rows);
            all.append(table)?;
        }
        all.name = name.to_string();
        Ok((all, ranges))
    }

    fn append(&mut self, mut below: Table) -> Result<()> {
        let file = below.name.clone();
        self.add_unread(&below.unread);
        below.add_unread(&self.unread);
        if let Some(extra) = below.columns.iter().find(|c| !self.index.contains_key(&c.name)) {
            let reason = format!(
                "column '{}' is not in {}: add it there, or list the columns that all files have (`columns` under [data.format])",
                extra.name, self.name
            );
            return Err(Error::Concat { file, reason });
        }
        for column in &mut self.columns {
            below.column(&column.name)?; // for its error
            let at = below.index[&column.name];
            let cells =
                std::mem::replace(&mut below.columns[at].cells, Cells::Numbers(Numbers::default()));
            let (above, cells) = alike(&mut column.cells, cells).map_err(|kinds| {
                let hint = "declare one kind for it in both (`kinds`)";
                let reason = format!("column '{}' is {kinds} here: {hint}", column.name);
                Error::Concat { file: file.clone(), reason }
            })?;
            match (above, cells) {
                (Cells::Numbers(above), Cells::Numbers(below)) => above.append(&below),
                (Cells::Categories(above), Cells::Categories(below)) => join(above, below),
                _ => {}
            }
        }
        self.rows += below.rows;
        self.origins.append(&mut below.origins);
        Ok(())
    }
}

/// Makes an all-missing side take the kind of the other.
fn alike(above: &mut Cells, below: Cells) -> Result<(&mut Cells, Cells), &'static str> {
    let absent = |x: &Numbers| x.iter().all(f64::is_nan);
    match (&*above, &below) {
        (Cells::Numbers(x), Cells::Categories(_)) if absent(x) => {
            *above = Cells::Categories(Categories::of_numbers(x));
            Ok((above, below))
        }
        (Cells::Categories(_), Cells::Numbers(x)) if absent(x) => {
            let below = Cells::Categories(Categories::of_numbers(x));
            Ok((above, below))
        }
        (Cells::Numbers(_), Cells::Categories(_)) => Err("numeric above but categorical"),
        (Cells::Categories(_), Cells::Numbers(_)) => Err("categorical above but numeric"),
        _ => Ok((above, below)),
    }
}

fn join(above: &mut Categories, below: Categories) {
    let mut categories = std::mem::take(&mut above.names);
    let known: HashMap<String, u32> = categories
        .iter()
        .enumerate()
        .map(|(code, category)| (category.clone(), code as u32))
        .collect();
    let moved: Vec<u32> = below
        .names
        .into_iter()
        .map(|category| match known.get(&category) {
            Some(&code) => code,
            None => {
                categories.push(category);
                categories.len() as u32 - 1
            }
        })
        .collect();
    let mut codes = std::mem::take(&mut above.codes);
    codes
        .extend(below.codes.iter().map(|c| if c == MISSING { MISSING } else { moved[c as usize] }));
    let mixed = above.mixed.take().or(below.mixed);
    *above = Categories { mixed, ..Categories::sorted(categories, codes) };
}
