//! A category as a file may write it: text, or a number, true or false that stands for its text.
//!
//! ```
//! use feasible_data::Label;
//! use std::collections::BTreeMap;
//! let read: BTreeMap<String, Label> = toml::from_str("a = \"3\"\nb = 3\nc = 3.0\nd = true\n").unwrap();
//! let texts: Vec<String> = read.into_values().map(String::from).collect();
//! assert_eq!(texts, ["3", "3", "3", "true"]);
//! ```

use std::fmt;

use serde::{Deserialize, Deserializer, de};

/// A category. See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label(String);

impl From<Label> for String {
    fn from(label: Label) -> Self {
        label.0
    }
}

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Label;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a category: text, or a number, true or false")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Label, E> {
                Ok(Label(text.to_string()))
            }

            fn visit_i64<E: de::Error>(self, x: i64) -> Result<Label, E> {
                Ok(Label(x.to_string()))
            }

            fn visit_u64<E: de::Error>(self, x: u64) -> Result<Label, E> {
                Ok(Label(x.to_string()))
            }

            fn visit_f64<E: de::Error>(self, x: f64) -> Result<Label, E> {
                // As the categories of a numeric column are written: `3` for 3.0.
                Ok(Label((x + 0.0).to_string()))
            }

            fn visit_bool<E: de::Error>(self, x: bool) -> Result<Label, E> {
                Ok(Label(x.to_string()))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
