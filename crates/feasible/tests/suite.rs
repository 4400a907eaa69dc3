//! The mathematics: problems, learners, certificates, against closed forms and independent solvers.
//!
//! One program, since each is linked by itself: `cargo test -p feasible --test suite certificate::` runs one file of it.
//! Tests that need a process to themselves are programs of their own; `Cargo.toml` names them.

#![allow(clippy::unwrap_used, reason = "a test may stop")]

mod clusters;
mod common;
mod lives;
mod validity;

mod adversary;
mod aligned;
mod bad_input;
mod binomial;
mod budget;
mod certificate;
mod certificate_validity;
mod check;
mod closed_form;
mod cluster_validity;
mod deal;
mod dedup;
mod denormals;
mod determinism;
mod dual;
mod goal;
mod images;
mod inputs;
mod judge;
mod lagrangian;
mod learner;
mod limits;
mod loss;
mod monitor_validity;
mod monitoring_sample;
mod outcomes;
mod own_model;
mod prices;
mod public_names;
mod rates;
mod schedule;
mod sensitivity;
mod shard_tree;
mod shards;
mod sharing;
mod shuffle;
mod stream;
mod sums;
mod theory;
mod traps;
mod verdicts;
mod weights;
mod workers;
