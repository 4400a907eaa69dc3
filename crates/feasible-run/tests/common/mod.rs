//! A small table, problem files on it, and comparisons of runs.
#![allow(dead_code, unused_imports, clippy::unwrap_used)]

#[path = "../../../feasible-problem/tests/common/mod.rs"]
mod people;

use std::collections::BTreeMap;

use feasible_run::{Storage, files};
pub use people::*;

/// All files but the clock's.
pub fn contents(storage: &dyn Storage) -> BTreeMap<String, Vec<u8>> {
    let names = storage.list().unwrap().into_iter().filter(|name| name != files::TIMINGS);
    names.map(|name| (name.clone(), storage.read(&name).unwrap())).collect()
}

/// Asserts equality file by file, so that a failure does not print megabytes.
pub fn assert_same(a: &dyn Storage, b: &dyn Storage, what: &str) {
    let (a, b) = (contents(a), contents(b));
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{what}");
    for (name, bytes) in &a {
        assert!(bytes == &b[name], "{what}: {name} differs");
    }
}
