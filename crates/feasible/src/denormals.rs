//! Denormal numbers, flushed to zero while a training runs.
//!
//! Moments and activations that decay through the denormal range cost up to a third of the
//! time on common processors and are of no use to anyone. The processor's control register is
//! per thread: a guard sets it and puts it back.

use crate::error::{Error, Result};

/// Flushes denormals to zero on this thread for as long as it lives. Learners and
/// [`Problem::measure`](crate::Problem::measure) hold one; whoever calls a model directly may.
#[must_use]
#[derive(Debug)]
pub struct FlushDenormals {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    before: u64,
}

impl FlushDenormals {
    /// From now until it is dropped.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        imp::flush()
    }
}

/// The most threads of a pool.
const MOST_THREADS: usize = 1024;

/// Threads that flush denormals; none for one thread, which is the caller's, and where the system refuses more: results do not depend on
/// their number.
///
/// # Errors
/// More than [`MOST_THREADS`].
pub(crate) fn flushing_pool(threads: usize) -> Result<Option<rayon::ThreadPool>> {
    if threads <= 1 {
        return Ok(None);
    }
    let allowed = format!("at most {MOST_THREADS}: more than the processor's cores gain nothing");
    Error::unless(threads <= MOST_THREADS, "threads", threads as f64, &allowed)?;
    let flushing = |_| std::mem::forget(FlushDenormals::new());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).start_handler(flushing);
    Ok(pool.build().ok())
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code)]
mod imp {
    use std::arch::asm;

    use super::FlushDenormals;

    /// Flush results to zero (bit 15) and read denormals as zero (bit 6).
    const FTZ_DAZ: u32 = 1 << 15 | 1 << 6;

    fn read() -> u32 {
        let mut csr = 0u32;
        // SAFETY: stores the control register into `csr`, which is a valid place for 4 bytes.
        unsafe { asm!("stmxcsr [{}]", in(reg) &mut csr, options(nostack, preserves_flags)) };
        csr
    }

    fn write(csr: u32) {
        // SAFETY: loads a control word made from the current one; only the treatment of
        // denormals changes, no exception is unmasked and the rounding mode stays.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &csr, options(nostack, preserves_flags)) };
    }

    pub(super) fn flush() -> FlushDenormals {
        let before = read();
        write(before | FTZ_DAZ);
        FlushDenormals { before: u64::from(before) }
    }

    impl Drop for FlushDenormals {
        fn drop(&mut self) {
            write(self.before as u32);
        }
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[allow(unsafe_code)]
mod imp {
    use std::arch::asm;

    use super::FlushDenormals;

    /// Flush to zero is bit 24 of FPCR.
    const FZ: u64 = 1 << 24;

    fn write(fpcr: u64) {
        // SAFETY: FPCR is writable from user code; only the treatment of denormals changes.
        unsafe { asm!("msr fpcr, {}", in(reg) fpcr, options(nomem, nostack)) };
    }

    pub(super) fn flush() -> FlushDenormals {
        let before: u64;
        // SAFETY: reads the control register.
        unsafe { asm!("mrs {}, fpcr", out(reg) before, options(nomem, nostack)) };
        write(before | FZ);
        FlushDenormals { before }
    }

    impl Drop for FlushDenormals {
        fn drop(&mut self) {
            write(self.before);
        }
    }
}

// Miri interprets no assembler.
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod imp {
    use super::FlushDenormals;

    pub(super) fn flush() -> FlushDenormals {
        FlushDenormals {}
    }
}
