//! A ladder of models tested in fixed sequence, so that the best certified one can be chosen.
//!
//! Models θ₁, …, θ_K are put in an order before the held-out rows are looked at, the most cautious first,
//! and each is tested at the whole δ until the first that is not certified. With probability at least
//! 1 − δ no model that was certified violates a requirement (Learn-then-Test: Angelopoulos, Bates, Candès,
//! Jordan and Lei 2021, fixed-sequence testing): a wrong certificate would need the *first* model in the
//! order that violates one to be certified, and that has probability at most δ. Any choice among the
//! certified ones, by accuracy for instance, is then safe.
//!
//! What is proven of the chosen model is that it meets its requirements, all of them: the limits. Bounds and
//! p-values of that model alone are not, as it was chosen with these rows: each is wrong with probability δ
//! for every model of the ladder, and the choice may fall on one where it is.

use super::family::Certificate;

/// How many models from the start of the sequence are certified to meet all requirements
/// ([`Certificate::all_hold`]). `test` produces one certificate after the other, until the first that fails.
///
/// # Errors
/// The first error of `test`.
pub fn fixed_sequence<E>(
    models: usize,
    mut test: impl FnMut(usize) -> Result<Certificate, E>,
) -> Result<usize, E> {
    for model in 0..models {
        if !test(model)?.all_hold() {
            return Ok(model);
        }
    }
    Ok(models)
}
