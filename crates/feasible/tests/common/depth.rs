//! How thoroughly tests look that could go on for ever.

/// What `FEASIBLE_DEPTH` says: 1 on an ordinary change, 10 in `./check all`. Random cases, kills and draws are taken so many
/// times as often, and from 2 on every operation is made to fail.
pub fn depth() -> u64 {
    std::env::var("FEASIBLE_DEPTH").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}
