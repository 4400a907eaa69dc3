//! Work on a number of threads that treat denormal numbers as a training does.

use feasible::FlushDenormals;

/// Runs `work` on a pool of `threads` (1,024 at most), which a network for images spreads its batches over; here if it
/// is one, or if no more can be started. Results do not depend on it.
pub(crate) fn on<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    let flushing = |_| std::mem::forget(FlushDenormals::new());
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(threads.min(1024)).start_handler(flushing);
    match pool.build() {
        Ok(pool) if threads > 1 => pool.install(work),
        _ => work(),
    }
}
