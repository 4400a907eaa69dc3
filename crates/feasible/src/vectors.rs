//! Plain loops, compiled for the widest vectors that the CPU has.
//!
//! The compiler turns a loop without branches and calls into vector instructions, but only into those that every CPU of its
//! target has. Here the same loop is compiled three times, and the widest that this CPU can run is chosen. That changes no bit:
//! every lane does the same operations in the same order, and Rust contracts no product and sum into one.

#![allow(unsafe_code)]

/// The vectors that loops are compiled for: [`Vectors::all`] alone makes kinds that need more than every CPU has.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vectors(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Those that every CPU of the target has.
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// Some loops.
pub(crate) trait Loops {
    /// Runs them. It must be `#[inline(always)]`, as must be all that it calls: only inside of the functions below may the
    /// compiler use wide vectors.
    fn run(self);
}

impl Vectors {
    /// Those that this CPU has, the widest last.
    #[doc(hidden)]
    pub fn all() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut all = vec![Self(Kind::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx2") {
                all.push(Self(Kind::Avx2));
            }
            if std::arch::is_x86_feature_detected!("avx512f") {
                all.push(Self(Kind::Avx512));
            }
        }
        all
    }

    /// The widest of them, or a narrower kind that `FEASIBLE_SIMD` names; found once and remembered.
    pub(crate) fn widest() -> Self {
        static WIDEST: std::sync::OnceLock<Vectors> = std::sync::OnceLock::new();
        *WIDEST.get_or_init(|| {
            let mut all = Self::all();
            #[cfg(target_arch = "x86_64")]
            match std::env::var("FEASIBLE_SIMD").as_deref() {
                Ok("portable") => all.truncate(1),
                Ok("avx2") => all.retain(|vectors| vectors.0 != Kind::Avx512),
                _ => {}
            }
            all.pop().unwrap_or(Self(Kind::Portable))
        })
    }

    /// Runs loops in these vectors, which are among [`Vectors::all`].
    #[inline]
    pub(crate) fn run<L: Loops>(self, loops: L) {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2")]
        fn avx2<L: Loops>(loops: L) {
            loops.run();
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        fn avx512<L: Loops>(loops: L) {
            loops.run();
        }
        match self.0 {
            Kind::Portable => loops.run(),
            // SAFETY: `all`, which alone makes this value, has found the feature.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { avx2(loops) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => unsafe { avx512(loops) },
        }
    }
}
