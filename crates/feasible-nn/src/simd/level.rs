//! Which instructions to use.

use std::sync::OnceLock;

/// An instruction set that this CPU has.
///
/// There is no way to name one the CPU lacks: levels come from [`Level::best`] and
/// [`Level::available`] only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Level {
    /// The fastest; found once and remembered.
    pub fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Self::available()[0])
    }

    /// All of them, fastest first. The portable one is always there, and last.
    pub fn available() -> Vec<Self> {
        let mut levels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if std::is_x86_feature_detected!("avx512f") {
                levels.push(Self(Kind::Avx512));
            }
            if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
                levels.push(Self(Kind::Avx2));
            }
        }
        levels.push(Self(Kind::Portable));
        levels
    }

    /// Its name: `avx512`, `avx2` or `portable`.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            Kind::Portable => "portable",
        }
    }

    #[inline(always)]
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn kind(self) -> Kind {
        self.0
    }
}
