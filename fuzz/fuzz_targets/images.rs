//! libFuzzer over [`feasible_fuzz_targets::images`].
#![no_main]

use feasible_fuzz_targets::{memory, quiet_decoders, images};

#[global_allocator]
static ALLOCATOR: memory::Limited = memory::Limited;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    quiet_decoders();
    images::run(bytes);
});
