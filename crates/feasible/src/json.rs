//! Numbers in JSON, which has no word for those that are not finite: they are written as `null`.
//!
//! ```
//! #[derive(serde::Deserialize)]
//! struct Epoch {
//!     #[serde(deserialize_with = "feasible::json::or_nan")]
//!     objective: f64,
//! }
//! let read = |text| serde_json::from_str::<Epoch>(text).map(|epoch| epoch.objective);
//! assert_eq!(read("{\"objective\": 0.5}")?, 0.5);
//! assert!(read("{\"objective\": null}")?.is_nan());
//! # Ok::<(), serde_json::Error>(())
//! ```

use serde::{Deserialize, Deserializer};

/// Reads a number, or NaN where there is `null`: for `#[serde(deserialize_with = "feasible::json::or_nan")]`.
///
/// # Errors
/// What is neither.
pub fn or_nan<'de, D: Deserializer<'de>>(source: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(source)?.unwrap_or(f64::NAN))
}
