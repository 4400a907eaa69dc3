//! The paper's experiments, and every page in a browser.

#![allow(clippy::unwrap_used, reason = "a test may stop")]

#[cfg(unix)]
mod browser;
mod robust_experiments;
