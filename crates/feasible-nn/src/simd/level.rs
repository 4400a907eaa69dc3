//! Which instructions to use.
//!
//! The fastest that the CPU has; or, where the environment variable `FEASIBLE_SIMD` names a level, that one:
//! `portable`, `avx2` or `avx512`. It is for tests and for comparing machines; a level that is not there, or no level
//! at all, is an error of [`Level::chosen`] that says which there are.

use std::sync::OnceLock;

/// The environment variable that names a level.
const VARIABLE: &str = "FEASIBLE_SIMD";

/// An instruction set that this CPU has.
///
/// There is no way to name one the CPU lacks: levels come from [`Level::best`], [`Level::chosen`] and
/// [`Level::available`] only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(InstructionSet);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstructionSet {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Level {
    /// The one that `FEASIBLE_SIMD` names, or else the fastest; found once and remembered.
    ///
    /// A name that [`Level::chosen`] refuses stands for the fastest.
    pub fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Self::chosen().unwrap_or_else(|_| Self::available()[0]))
    }

    /// The one that `FEASIBLE_SIMD` names, or else the fastest.
    ///
    /// # Errors
    /// A sentence, if the variable names none that this CPU has.
    pub fn chosen() -> Result<Self, String> {
        let Some(name) = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()) else {
            return Ok(Self::available()[0]);
        };
        named(&name.to_string_lossy(), &Self::available())
    }

    /// All of them, fastest first. The portable one is always there, and last.
    pub fn available() -> Vec<Self> {
        let mut levels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if std::is_x86_feature_detected!("avx512f") {
                levels.push(Self(InstructionSet::Avx512));
            }
            if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
                levels.push(Self(InstructionSet::Avx2));
            }
        }
        levels.push(Self(InstructionSet::Portable));
        levels
    }

    /// Its name: `avx512`, `avx2` or `portable`.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => "avx2",
            InstructionSet::Portable => "portable",
        }
    }

    #[inline(always)]
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn kind(self) -> InstructionSet {
        self.0
    }
}

/// The level of this name among those that the CPU has, or a sentence that says which these are.
pub fn named(name: &str, available: &[Level]) -> Result<Level, String> {
    available.iter().copied().find(|level| level.name() == name).ok_or_else(|| {
        let names: Vec<&str> = available.iter().map(|level| level.name()).collect();
        format!(
            "{VARIABLE} is {name:?}: this processor has {}; unset it for the fastest",
            names.join(", ")
        )
    })
}
