//! What becomes of each cell of a column of categories or intervals, written out, for whoever applies a fitted encoder
//! elsewhere.

use std::collections::BTreeMap;

use super::{EncodedCell, Encoder, Encoding, Variable};

/// What a cell becomes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellOutcome {
    /// An error: the table is not encoded.
    Refused,
    /// This number takes its place.
    Number(f64),
    /// The indicator at this place among the variable's columns is 1.
    Indicator(u32),
    /// No indicator is 1.
    Nothing,
}

/// What becomes of the cells of a column. See [`Encoder::cell_rules`].
#[derive(Clone, Debug, PartialEq)]
pub struct CellRules {
    /// Every category that is known, those that are grouped into another included. Intervals have their names here.
    pub known: Vec<(String, CellOutcome)>,
    /// A missing cell.
    pub missing: CellOutcome,
    /// A category that is not known; of dates, text that is no date.
    pub unseen: CellOutcome,
}

impl Encoder {
    /// What becomes of the cells of one of its variables.
    ///
    /// ```
    /// use feasible_data::encoder::CellOutcome;
    /// use feasible_data::{Encoder, Format, Preprocessing, Table, Unseen};
    /// let csv = b"race,y\nBlack,0\nWhite,1\nOther,0\n";
    /// let table = Table::from_bytes("people.csv", csv, &Format::default())?;
    /// let spec = Preprocessing { unseen: Unseen::Other, ..Preprocessing::default() };
    /// let encoder = Encoder::fit(&table, &table.all_rows(), &spec, &["y"])?;
    /// let rules = encoder.cell_rules(&encoder.variables()[0]);
    /// assert_eq!(rules.known[2], ("White".to_string(), CellOutcome::Indicator(2)));
    /// assert_eq!((rules.missing, rules.unseen), (CellOutcome::Refused, CellOutcome::Nothing));
    /// # Ok::<(), feasible_data::Error>(())
    /// ```
    pub fn cell_rules(&self, variable: &Variable) -> CellRules {
        let (missing, unseen) = variable.stand_ins(self.unseen);
        let outcome = |cell: Option<EncodedCell>| match cell {
            None | Some(EncodedCell::Missing) => CellOutcome::Refused,
            Some(EncodedCell::Number(x)) => CellOutcome::Number(x),
            Some(EncodedCell::Unseen) => CellOutcome::Nothing,
            Some(EncodedCell::Category(at)) => variable.indicator_of(at),
        };
        let unseen = outcome(unseen);
        let known = match &variable.encoding {
            Encoding::Categories { categories, groups, .. } => {
                let place: BTreeMap<&str, u32> =
                    categories.iter().zip(0..).map(|(name, at)| (name.as_str(), at)).collect();
                let ungrouped = categories.iter().filter(|name| !groups.contains_key(*name));
                let all = ungrouped.map(|name| (name, name)).chain(groups);
                let rule = |(cell, category): (&String, &String)| {
                    let at = place.get(category.as_str());
                    (cell.clone(), at.map_or(unseen, |&at| variable.indicator_of(at)))
                };
                all.map(rule).collect()
            }
            Encoding::Bins { categories, .. } => {
                let rule =
                    |(at, name): (usize, &String)| (name.clone(), variable.indicator_of(at as u32));
                categories.iter().enumerate().map(rule).collect()
            }
            _ => Vec::new(),
        };
        CellRules { known, missing: outcome(missing), unseen }
    }
}

impl Variable {
    /// The indicator of a category: with two categories the second has the only one.
    fn indicator_of(&self, category: u32) -> CellOutcome {
        match (self.width(), category) {
            (1, 1) => CellOutcome::Indicator(0),
            (0 | 1, _) => CellOutcome::Nothing,
            (_, category) => CellOutcome::Indicator(category),
        }
    }
}
