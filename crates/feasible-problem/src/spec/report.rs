//! `[report]`: what the page about a run shows besides.
//!
//! ```toml
//! [report]
//! groups = ["race", "age"]            # tables of these columns, besides those that requirements name
//! baseline = true                     # what the requirements cost
//! ```
//!
//! | key | default | meaning |
//! | --- | --- | --- |
//! | `groups` | none | columns whose groups get a table of rates; those that requirements name have one anyway |
//! | `baseline` | if it is cheap | train a model of the same recipe without the requirements, to say what they cost |
//!
//! A baseline is cheap unless the data are images, a requirement has an adversary, `training.seconds` limits the time,
//! or epochs × training rows × parameters that a row meets is above [`CHEAP`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most work that a baseline takes without being asked for: epochs × rows × parameters that a row meets, about ten
/// seconds on one core.
pub const CHEAP: f64 = 2.5e10;

/// `[report]`. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReportSpec {
    /// Columns whose groups get a table of rates on the page. Default those that requirements name, which always have
    /// one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Train a baseline of the same recipe without the requirements, to say what they cost. Default true for tables
    /// where it takes about ten seconds at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<bool>,
}

impl ReportSpec {
    /// Whether it says nothing.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
