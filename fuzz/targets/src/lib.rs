//! What is done with bytes that a stranger may have written: one function per kind of file.
//!
//! Each target reads the bytes as the program does and, if they are accepted, asserts what the program promises
//! about them. libFuzzer calls the targets (`fuzz/fuzz_targets`), and so do ordinary tests, with the corpus and
//! mutations of it (`tests/corpus.rs`).
//!
//! | target | bytes | asserted of what is accepted |
//! | --- | --- | --- |
//! | [`tables`] | CSV, TSV, Parquet, gzip, zstd | columns of one length; written and read again it is the same; encoded numbers are finite |
//! | [`expressions`] | a `where` expression | printed and parsed again it is the same, and selects the same rows |
//! | [`problems`] | a problem file | printed and parsed again it is the same; so is the plan |
//! | [`models`] | a saved model | finite weights and predictions; saved and read again it is the same |
//! | [`checkpoints`] | a checkpoint, fingerprints | written and read again it is the same |
//! | [`images`] | PNG, JPEG, IDX, CIFAR batches and archives | pixels and labels fit the shape and the classes |
//! | [`runs`] | a file of a run that is resumed | the run ends or is refused; the model that is left can be read |
//! | [`reports`] | a file of a run that is reported on, or of a sweep that continues | a page without scripts, or a refusal |

pub mod checkpoints;
pub mod expressions;
pub mod images;
pub mod memory;
pub mod models;
pub mod mutation;
pub mod people;
pub mod pictures;
pub mod problems;
pub mod reports;
pub mod runs;
pub mod seeds;
pub mod tables;

/// A kind of hostile bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: that of its module, its corpus and its libFuzzer target.
    pub name: &'static str,
    /// Reads the bytes; true if they were accepted.
    pub run: fn(&[u8]) -> bool,
}

/// Every target.
pub const TARGETS: [Target; 8] = [
    Target { name: "tables", run: tables::run },
    Target { name: "expressions", run: expressions::run },
    Target { name: "problems", run: problems::run },
    Target { name: "models", run: models::run },
    Target { name: "checkpoints", run: checkpoints::run },
    Target { name: "images", run: images::run },
    Target { name: "runs", run: runs::run },
    Target { name: "reports", run: reports::run },
];

/// Panics of decoders that others wrote are caught and become errors: they are not printed, and libFuzzer's hook,
/// which ends the process at every panic, is not asked about them.
pub fn quiet_decoders() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if feasible_data::damage().is_none() {
                before(info);
            }
        }));
    });
}
