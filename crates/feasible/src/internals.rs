//! What the tests of this crate reach beyond its interface, and no part of it.

pub use crate::adversary::goal::goal;
pub use crate::certificate::binomial::{deviance, ln_at_least, ln_at_most};
pub use crate::check::loss_gradient_by;
pub use crate::dedup::{Dedup, Pool};
pub use crate::lagrangian::Lagrangian;
pub use crate::lagrangian::pass::Selection;
pub use crate::learner::lbfgs::{Limits, Minimum, Smooth, minimise};
pub use crate::learner::margin::learned;
pub use crate::learner::metric::{Metric, cholesky, norm};
pub use crate::learner::order::in_blocks;
pub use crate::learner::proxy::Bracket;
pub use crate::loss::contrast::{
    BinaryCrossEntropy, BinaryKl, OfContrasts, by_blocks_in, is_far, logistic, sign,
};
pub use crate::loss::pair::{Bernoulli, close, far};
pub use crate::loss::row::{RowSeeds, RowValues};
pub use crate::loss::series::{exp_m1, exp_m1_plus, exp_of_negative_f32, ln_1p};
pub use crate::loss::softmax::Logits;
pub use crate::monitor::deal::deals;
pub use crate::reduce::shards::{GROUP, Shards, shard_of};
pub use crate::row_offsets::RowOffsets;
pub use crate::sensitivity::{fisher, holm};
pub use crate::sums::{largest, sum, sum_of, sum_of_pairs};
pub use crate::vectors::Vectors;
