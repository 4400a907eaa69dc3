//! libFuzzer over [`feasible_fuzz_targets::expressions`].
#![no_main]

use feasible_fuzz_targets::{memory, quiet_decoders, expressions};

#[global_allocator]
static ALLOCATOR: memory::Limited = memory::Limited;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    quiet_decoders();
    expressions::run(bytes);
});
