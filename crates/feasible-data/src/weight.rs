//! What samples weigh in the objective: by a column, by class, or by both.
//!
//! ```
//! use feasible::Targets;
//! use feasible_data::{ClassWeights, Format, SampleWeights, Table};
//! let csv = b"income,weight\nlow,1\nlow,2\nhigh,1\n";
//! let table = Table::from_bytes("people.csv", csv, &Format::default())?;
//! let targets = Targets::Classes(vec![0, 0, 1]);
//! let column = SampleWeights::of_column(&table, "weight", &[0, 1, 2])?;
//! let classes = ["low".to_string(), "high".to_string()];
//! // Both classes weigh the same: 2 of the 4 that all rows weigh.
//! let by_class = ClassWeights::Balanced.fit(&classes, &targets, Some(&column))?;
//! assert_eq!(by_class, [4.0 / (2.0 * 3.0), 4.0 / (2.0 * 1.0)]);
//! # Ok::<(), feasible_data::Error>(())
//! ```

use std::collections::BTreeMap;

use feasible::{Samples, Targets};
use serde::{Deserialize, Serialize};

use crate::column::Cells;
use crate::error::{Error, Result};
use crate::nearest::nearest;
use crate::table::Table;

/// What classes weigh, as a user writes it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ClassWeights {
    /// Every class weighs the same in all: W / (k W_c) a row, where the rows of class c weigh W_c of W.
    #[serde(serialize_with = "balanced")]
    Balanced,
    /// By name; classes that are not named weigh 1 a row.
    Named(BTreeMap<String, f64>),
}

fn balanced<S: serde::Serializer>(to: S) -> std::result::Result<S::Ok, S::Error> {
    to.serialize_str("balanced")
}

impl<'de> Deserialize<'de> for ClassWeights {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Self, D::Error> {
        struct NameOrMap;
        impl<'de> serde::de::Visitor<'de> for NameOrMap {
            type Value = ClassWeights;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(
                    "\"balanced\", or a table of classes and what each of their rows weighs",
                )
            }

            fn visit_str<E: serde::de::Error>(
                self,
                text: &str,
            ) -> std::result::Result<Self::Value, E> {
                match text {
                    "balanced" => Ok(ClassWeights::Balanced),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Self::Value, A::Error> {
                let mut named = BTreeMap::new();
                while let Some((class, weight)) = map.next_entry()? {
                    named.insert(class, weight);
                }
                Ok(ClassWeights::Named(named))
            }
        }
        deserializer.deserialize_any(NameOrMap)
    }
}

impl ClassWeights {
    /// What a row of each class weighs; `weights` are those of the training rows, whose `targets` these are.
    ///
    /// # Errors
    /// A class that does not exist, or a weight that is not positive and finite.
    pub fn fit(
        &self,
        classes: &[String],
        targets: &Targets,
        weights: Option<&[f64]>,
    ) -> Result<Vec<f64>> {
        match self {
            Self::Balanced => {
                let mut mass = vec![0.0; classes.len()];
                if let Targets::Classes(y) = targets {
                    for (row, &class) in y.iter().enumerate() {
                        mass[class as usize] += weights.map_or(1.0, |weights| weights[row]);
                    }
                }
                let all: f64 = mass.iter().sum();
                Ok(mass.iter().map(|of_class| all / (classes.len() as f64 * of_class)).collect())
            }
            Self::Named(named) => {
                for (class, &weight) in named {
                    if !classes.contains(class) {
                        return Err(Error::UnknownCategory {
                            column: "class_weights".into(),
                            category: class.clone(),
                            nearest: nearest(class, classes.iter().map(String::as_str)),
                            known: classes.to_vec(),
                        });
                    }
                    if !(weight > 0.0 && weight.is_finite()) {
                        return Err(Error::ClassWeight { class: class.clone(), weight });
                    }
                }
                Ok(classes.iter().map(|class| named.get(class).copied().unwrap_or(1.0)).collect())
            }
        }
    }
}

/// What samples weigh, fitted to the training rows. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleWeights {
    /// The column of weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// What a row of each class weighs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<f64>>,
}

impl SampleWeights {
    /// The weights of rows in a column.
    ///
    /// # Errors
    /// An unknown column or one of text; a weight that is missing or not above 0, with its row.
    pub fn of_column(table: &Table, column: &str, rows: &[u32]) -> Result<Vec<f64>> {
        let Cells::Numbers(values) = &table.column(column)?.cells else {
            return Err(Error::Kind {
                column: column.to_string(),
                found: "categorical".into(),
                needed: "weights are numbers above 0".into(),
            });
        };
        let weight = |&row: &u32| {
            let weight = values.get(row as usize);
            if weight > 0.0 && weight.is_finite() {
                return Ok(weight);
            }
            let found = if weight.is_nan() { "missing".to_string() } else { weight.to_string() };
            Err(Error::Weight { place: table.place(row as usize, column), found })
        };
        rows.iter().map(weight).collect()
    }

    /// The samples with their weights; `column` are those of their rows in the column.
    ///
    /// # Errors
    /// A class beyond those that have weights.
    pub fn weigh(&self, samples: Samples, column: Option<Vec<f64>>) -> Result<Samples> {
        let mut weights = column.unwrap_or_else(|| vec![1.0; samples.len()]);
        if let (Some(of_class), Targets::Classes(y)) = (&self.classes, samples.targets()) {
            for (weight, &class) in weights.iter_mut().zip(y) {
                // What is not known of a class was checked with the manifest.
                *weight *= of_class.get(class as usize).copied().unwrap_or(1.0);
            }
        }
        Ok(samples.weighted(weights)?)
    }

    /// The samples of rows of a table with their weights.
    ///
    /// # Errors
    /// As [`SampleWeights::of_column`].
    pub fn weigh_rows(&self, samples: Samples, table: &Table, rows: &[u32]) -> Result<Samples> {
        let column = self.column.as_ref();
        let column = column.map(|column| Self::of_column(table, column, rows)).transpose()?;
        self.weigh(samples, column)
    }
}
