//! What the tests of this crate reach beyond its interface, and no part of it.

pub use crate::conv::plan::ConvPlan;
pub use crate::first_layer::runs;
pub use crate::initial::uniform;
pub use crate::kernel::conv::winograd::weights::{transform_gradient, transform_weights};
pub use crate::kernel::rows::{dots, transpose};
pub use crate::simd::named as level_named;
pub use crate::simd::probe::{each_at, transpose_at};

/// Whole planes, pixel by pixel.
pub mod planes {
    pub use crate::kernel::conv::planes::{
        Packing, Pull, Reading, covariance, join, moments, pack, pack_pull, through,
    };
}

/// The plain loops of convolutions, in either precision.
pub mod plain {
    pub use crate::kernel::conv::outer::plain::outer;
    pub use crate::kernel::conv::planar::plain::planar;
    pub use crate::kernel::conv::sweep::plain::sweep;
}
