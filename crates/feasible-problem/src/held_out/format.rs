//! What is said about held-out rows.

use super::{HeldOut, Repetition};
use crate::text::{about, grouped, precise_percent};

impl HeldOut {
    /// Whether the rows were used in training, after "the 400 rows of t.csv".
    pub fn clause(self) -> String {
        match self {
            Self::ByRecord => ", none of which was used in training".into(),
            Self::NoOverlap { digits } => {
                format!(", none of which equals a training row in its first {digits} digits")
            }
            Self::Stated => ", if none of them was used in training".into(),
            Self::Explained { equal, .. } => {
                format!(" ({} equal a training row, no more than chance explains)", grouped(equal))
            }
            Self::CannotTell { .. } => {
                "; it cannot be told whether they were used in training".into()
            }
        }
    }

    /// Why, if it is not simply so.
    pub fn sentence(self) -> String {
        let counts = |equal: usize, expected: f64, digits: u32| {
            format!(
                "{} rows equal rows of the training in all that the model and its requirements use, numbers in their \
                 first {digits} digits; of a fresh sample, about {} would.",
                grouped(equal),
                about(expected)
            )
        };
        match self {
            Self::ByRecord | Self::NoOverlap { .. } => String::new(),
            Self::Stated => "Whether rows were used to train, select or calibrate the predictor is not on record: the \
                             certificate holds if none was."
                .into(),
            Self::Explained { equal, expected, noticed, digits } => format!(
                "{} If {} or more of the rows had been used in training, it would have been noticed; fewer cannot be told from \
                 chance, and the certificate holds if none was.\n",
                counts(equal, expected, digits),
                precise_percent(noticed)
            ),
            Self::CannotTell { equal, expected, digits } => format!(
                "{} A table of nothing but rows trained on would look the same: the certificate holds if none of \
                 these was used in training.\n",
                counts(equal, expected, digits)
            ),
        }
    }
}

impl Repetition {
    /// What follows for the certificate.
    pub fn sentence(self) -> String {
        let Self { rows, distinct, times, .. } = self;
        if times > 1 {
            return format!(
                "The table repeats itself: every row occurs {times} times or a multiple of that. Copies are not independent draws, so one in {times} was counted, {} of {} rows.\n",
                grouped(rows / times),
                grouped(rows)
            );
        }
        format!(
            "The table repeats rows more often than chance explains. Copies are not independent draws, so each row was counted once: {} of {} rows.\n",
            grouped(distinct),
            grouped(rows)
        )
    }
}
