//! Charts as SVG, drawn by hand: no script, no font and no picture is loaded.
//!
//! | what | type |
//! | --- | --- |
//! | lines, steps and dots with bands, on linear or logarithmic axes | [`Chart`] of [`Series`] |
//! | how values are spread | [`histogram`] |
//! | named values with intervals | [`Bars`] |
//! | two shares of each group, side by side | [`Pairs`] |
//!
//! Every chart has a title and a description for screen readers, shows values on hover by CSS or
//! by `<title>`, has them as a table ([`Values`]), follows the reader's light or dark setting, and differs by dashes as well as by
//! colours. Text is escaped, coordinates are tenths of a pixel, and the same data give the same
//! bytes. Values that have no place (NaN, infinities, zeros on a logarithmic axis) leave a gap
//! and are counted in the description.
//!
//! ```
//! use feasible_report::chart::{Axis, Chart, Series};
//! let svg = Chart::new("Accuracy under attack")
//!     .x(Axis::new("ε"))
//!     .y(Axis::new("accuracy"))
//!     .series(
//!         Series::line("nominal", vec![(0.0, 0.93), (0.02, 0.4), (0.04, 0.0)])
//!             .with_band(vec![(0.0, 0.92, 0.94), (0.02, 0.37, 0.43), (0.04, 0.0, 0.01)]),
//!     )
//!     .to_svg();
//! assert!(svg.starts_with("<svg") && svg.contains("<title"));
//! ```

/// What every kind of chart can be written as; it has a title, a description, and is drawn by `drawing`.
macro_rules! drawn_by_hand {
    ($kind:ty) => {
        impl $kind {
            /// The chart as an SVG file of its own.
            pub fn to_svg(&self) -> String {
                self.draw("chart", true)
            }

            /// The chart for a page that has [`css`](super::css) in its head; `id` must be unlike that of
            /// any other chart on it.
            pub fn to_inline(&self, id: &str) -> String {
                self.draw(id, false)
            }

            fn draw(&self, id: &str, style: bool) -> String {
                let (svg, size) = self.drawing();
                svg.finish(id, size, &self.title, &self.description(), style)
            }
        }
    };
}
use drawn_by_hand;

mod bars;
mod description;
mod frame;
mod histogram;
mod pairs;
mod readout;
mod scale;
mod series;
mod style;
mod svg;
mod text;
mod thin;
mod values;
mod xy;

pub use bars::{Bar, Bars};
pub use histogram::histogram;
pub use pairs::{Pair, Pairs};
pub use scale::Scale;
pub use series::{Mark, Series};
pub use style::css;
pub use text::{escape, number};
pub use values::Values;
pub use xy::{Axis, Chart};

pub(crate) use pairs::share;
pub(crate) use text::grouped;
