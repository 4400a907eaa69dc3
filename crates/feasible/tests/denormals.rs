//! Denormal numbers are flushed while a guard lives.
#![cfg(not(miri))]

use feasible::FlushDenormals;

fn product() -> f32 {
    let small = std::hint::black_box(f32::MIN_POSITIVE);
    small * std::hint::black_box(0.5)
}

#[test]
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
fn denormals_are_flushed_while_the_guard_lives_and_not_after() {
    assert!(product() > 0.0);
    let guard = FlushDenormals::new();
    assert_eq!(product(), 0.0);
    drop(guard);
    assert!(product() > 0.0);
}
