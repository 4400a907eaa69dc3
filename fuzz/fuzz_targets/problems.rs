//! libFuzzer over [`feasible_fuzz_targets::problems`].
#![no_main]

use feasible_fuzz_targets::{memory, quiet_decoders, problems};

#[global_allocator]
static ALLOCATOR: memory::Limited = memory::Limited;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    quiet_decoders();
    problems::run(bytes);
});
