//! libFuzzer over [`feasible_fuzz_targets::reports`].
#![no_main]

use feasible_fuzz_targets::{memory, quiet_decoders, reports};

#[global_allocator]
static ALLOCATOR: memory::Limited = memory::Limited;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    quiet_decoders();
    reports::run(bytes);
});
