//! A checkpoint: the state of a training in one file.
//!
//! | bytes | content |
//! | --- | --- |
//! | 8 | `FEASIBLE` |
//! | 4 | format version, little endian |
//! | 8 | length n of the payload, little endian |
//! | 32 | SHA-256 of the payload |
//! | n | the payload: [`Checkpoint`] in postcard's encoding |
//!
//! Every way in which such a file can be wrong is an error of its own, so that a message can say
//! what happened and what to do.

use std::io::{self, Read, Write};

use feasible::dual::DualState;
use feasible::learner::{Best, Progress};
use feasible::{Multipliers, OptimiserState, Outcome, State};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const MAGIC: &[u8; 8] = b"FEASIBLE";
/// The version this program writes and reads.
pub const VERSION: u32 = 4;
const HEADER: usize = 8 + 4 + 8 + 32;

/// How long a checkpoint is, as its header says; 0 of what is none.
pub(crate) fn stated_length(file: &mut impl Read) -> io::Result<u64> {
    let mut header = [0; HEADER];
    file.read_exact(&mut header)?;
    let mut length = [0; 8];
    length.copy_from_slice(&header[12..20]);
    let whole = (HEADER as u64).saturating_add(u64::from_le_bytes(length));
    Ok(if header.starts_with(MAGIC) { whole } else { 0 })
}

/// What is saved. See the [module](self).
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The training.
    pub state: State<f32>,
    /// How many bytes of the metrics belong to it.
    pub metrics: u64,
    /// Their SHA-256.
    pub metrics_hash: [u8; 32],
    /// SHA-256 of the resolved problem, so that the state of one problem is not resumed by another.
    pub problem: [u8; 32],
}

/// What is wrong with a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// Not a checkpoint.
    #[error("this is not a checkpoint: its first bytes are not those of one")]
    NotACheckpoint,
    /// Written by a later program.
    #[error(
        "this checkpoint has format {found}, this program reads up to {VERSION}: use a newer one"
    )]
    Newer {
        /// Its version.
        found: u32,
    },
    /// Written by an earlier program.
    #[error(
        "this checkpoint has format {found}, this program reads {VERSION}: resume the run with the program that \
         started it, or start it again"
    )]
    Older {
        /// Its version.
        found: u32,
    },
    /// The end is missing.
    #[error("this checkpoint is cut short: {found} bytes of {expected}")]
    Truncated {
        /// Its length.
        found: u64,
        /// The length it should have.
        expected: u64,
    },
    /// Bytes have changed.
    #[error("this checkpoint is damaged: its checksum does not match its content")]
    Checksum,
    /// Sound bytes that are no state.
    #[error("this checkpoint cannot be decoded: {reason}")]
    Content {
        /// What the decoder said.
        reason: String,
    },
    /// The state of another problem.
    #[error("this checkpoint belongs to a different problem than the problem file beside it")]
    OtherProblem,
}

/// The encoded form. How a training ended is an enum that carries its name, which a compact
/// encoding cannot read back: it travels as JSON.
#[derive(Deserialize)]
struct Payload {
    state: State<f32>,
    outcome: Option<String>,
    metrics: u64,
    metrics_hash: [u8; 32],
    problem: [u8; 32],
}

/// [`Payload`] as it is written, without a copy of the state: a million multipliers are not held twice.
#[derive(Serialize)]
struct Written<'a> {
    state: StateWritten<'a>,
    outcome: Option<String>,
    metrics: u64,
    metrics_hash: [u8; 32],
    problem: [u8; 32],
}

/// The fields of [`State`] in their order, but for the outcome.
#[derive(Serialize)]
struct StateWritten<'a> {
    seed: u64,
    epoch: u64,
    batch: u64,
    theta: &'a [f32],
    optimiser: &'a OptimiserState<f32>,
    multipliers: &'a Multipliers,
    duals: &'a [DualState],
    penalty: f64,
    best: &'a Option<Best<f32>>,
    progress: &'a Progress,
    outcome: Option<Outcome>,
}

/// Writes the checkpoint of this state.
pub(crate) fn write(
    state: &State<f32>,
    (metrics, metrics_hash): (u64, [u8; 32]),
    problem: [u8; 32],
    out: &mut dyn Write,
) -> io::Result<()> {
    let State {
        seed,
        epoch,
        batch,
        theta,
        optimiser,
        multipliers,
        duals,
        penalty,
        best,
        progress,
        outcome,
    } = state;
    // An interruption is over once it is resumed.
    let outcome = outcome.as_ref().filter(|outcome| **outcome != Outcome::Interrupted);
    let outcome = outcome.and_then(|outcome| serde_json::to_string(&outcome).ok());
    let (seed, epoch, batch, penalty) = (*seed, *epoch, *batch, *penalty);
    let state = StateWritten {
        seed,
        epoch,
        batch,
        theta,
        optimiser,
        multipliers,
        duals,
        penalty,
        best,
        progress,
        outcome: None,
    };
    let payload = Written { state, outcome, metrics, metrics_hash, problem };
    // Twice: the header, which comes first, is about what follows.
    let mut digest = Digested { hash: Sha256::new(), length: 0 };
    encode(&payload, &mut digest)?;
    out.write_all(MAGIC)?;
    out.write_all(&VERSION.to_le_bytes())?;
    out.write_all(&digest.length.to_le_bytes())?;
    out.write_all(&digest.hash.finalize())?;
    encode(&payload, out)
}

/// Hashes and counts what is written to it.
struct Digested {
    hash: Sha256,
    length: u64,
}

impl Write for Digested {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hash.update(bytes);
        self.length += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Numbers, lists and text: only writing them can fail.
fn encode(payload: &Written<'_>, out: &mut dyn Write) -> io::Result<()> {
    // Numbers come a few bytes at a time.
    let mut out = Kept { out: io::BufWriter::with_capacity(1 << 16, out), error: None };
    let encoded = postcard::to_io(payload, &mut out).map(|_| ());
    match (encoded, out.error) {
        (_, Some(error)) => Err(error),
        (Err(error), None) => Err(io::Error::other(error)),
        (Ok(()), None) => out.out.flush(),
    }
}

/// Keeps what the system says, which the encoder does not pass on.
struct Kept<W> {
    out: W,
    error: Option<io::Error>,
}

impl<W> Kept<W> {
    fn keep<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        done.map_err(|error| {
            let kind = error.kind();
            if kind != io::ErrorKind::Interrupted {
                self.error = Some(error);
            }
            kind.into()
        })
    }
}

impl<W: Write> Write for Kept<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.keep(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.keep(flushed)
    }
}

impl Checkpoint {
    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // Writing to memory cannot fail.
        let _ = write(&self.state, (self.metrics, self.metrics_hash), self.problem, &mut bytes);
        bytes
    }

    /// From [`Checkpoint::to_bytes`].
    ///
    /// # Errors
    /// One for each way in which the bytes can be wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CheckpointError> {
        let begins = bytes.len().min(MAGIC.len());
        if bytes[..begins] != MAGIC[..begins] {
            return Err(CheckpointError::NotACheckpoint);
        }
        let truncated = |expected: usize| CheckpointError::Truncated {
            found: bytes.len() as u64,
            expected: expected as u64,
        };
        let header = bytes.get(..HEADER).ok_or_else(|| truncated(HEADER))?;
        let version = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        if version > VERSION {
            return Err(CheckpointError::Newer { found: version });
        }
        if version < VERSION {
            return Err(CheckpointError::Older { found: version });
        }
        let mut length = [0; 8];
        length.copy_from_slice(&header[12..20]);
        let length = u64::from_le_bytes(length);
        let payload = &bytes[HEADER..];
        if (payload.len() as u64) < length {
            let expected = (HEADER as u64).saturating_add(length);
            return Err(CheckpointError::Truncated { found: bytes.len() as u64, expected });
        }
        if payload.len() as u64 != length || Sha256::digest(payload)[..] != header[20..] {
            return Err(CheckpointError::Checksum);
        }
        let content = |reason: String| CheckpointError::Content { reason };
        let mut payload: Payload =
            postcard::from_bytes(payload).map_err(|error| content(error.to_string()))?;
        payload.state.outcome = match payload.outcome {
            Some(json) => Some(
                serde_json::from_slice(json.as_bytes())
                    .map_err(|error| content(error.to_string()))?,
            ),
            None => None,
        };
        check(&payload.state).map_err(content)?;
        let Payload { state, metrics, metrics_hash, problem, .. } = payload;
        Ok(Self { state, metrics, metrics_hash, problem })
    }

    /// Refuses a state beyond the last epoch of the training.
    pub(crate) fn check_epochs(&self, epochs: u64) -> Result<(), CheckpointError> {
        match self.state.epoch {
            epoch if epoch <= epochs => Ok(()),
            epoch => {
                let reason = format!("it is at epoch {epoch} of {epochs}");
                Err(CheckpointError::Content { reason })
            }
        }
    }
}

/// Whether a state is one that a training can be in, whatever its problem; what is wrong is a sentence.
///
/// Whether it is one of the problem at hand, [`State::check`] says.
fn check(state: &State<f32>) -> Result<(), String> {
    let theta = |theta: &[f32]| match theta.iter().position(|x| !x.is_finite()) {
        Some(at) => Err(format!("parameter {at} is {}", theta[at])),
        None => Ok(()),
    };
    theta(&state.theta)?;
    if let Some(best) = &state.best {
        theta(&best.theta)?;
        if best.epoch > state.epoch {
            return Err(format!("its best epoch is {} of {}", best.epoch, state.epoch));
        }
    }
    Ok(())
}
