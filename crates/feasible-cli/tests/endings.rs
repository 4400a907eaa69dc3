//! Runs that end early: failing disks, Ctrl-C, kills, signals.
//!
//! Apart from the suite, since these tests measure how long a program takes to end.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may stop")]

#[path = "../../feasible/tests/common/depth.rs"]
mod depth;
mod support;

mod faults;
mod interrupt;
mod kill;
mod signals;
