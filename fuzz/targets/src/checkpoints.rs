//! Checkpoints, and the fingerprints of rows that lie beside them.
//!
//! The bytes are a file as it is; and what is hashed in it, so that mutations are not all stopped by the hash.

use feasible_problem::Fingerprints;
use feasible_run::Checkpoint;
use sha2::{Digest, Sha256};

use crate::people;

const MAGIC: &[u8] = b"FEASIBLE";
const HEADER: usize = 8 + 4 + 8 + 32;

/// A checkpoint or a set of fingerprints that is accepted is the same when written and read again.
///
/// # Panics
/// If it is not.
pub fn run(bytes: &[u8]) -> bool {
    let mut accepted = checkpoint(bytes);
    accepted |= checkpoint(&sealed(payload(bytes)));
    accepted |= fingerprints(bytes);
    accepted
}

/// What is hashed in a checkpoint; the bytes themselves if they are none.
pub fn payload(bytes: &[u8]) -> &[u8] {
    match bytes.starts_with(MAGIC) {
        true => bytes.get(HEADER..).unwrap_or_default(),
        false => bytes,
    }
}

/// A checkpoint with this payload, its length and hash as they should be.
pub fn sealed(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u64).to_le_bytes();
    let version = feasible_run::checkpoint::VERSION.to_le_bytes();
    [MAGIC, &version, &length, &Sha256::digest(payload), payload].concat()
}

fn checkpoint(bytes: &[u8]) -> bool {
    let Ok(checkpoint) = Checkpoint::from_bytes(bytes) else { return false };
    // Bytes may be written in more than one way; those that the program writes are read as they were.
    let written = checkpoint.to_bytes();
    match Checkpoint::from_bytes(&written) {
        Ok(again) => assert!(again.to_bytes() == written, "written and read again it is another"),
        Err(error) => panic!("written as a checkpoint that cannot be read: {error}"),
    }
    true
}

fn fingerprints(bytes: &[u8]) -> bool {
    let Ok(prints) = Fingerprints::from_bytes(bytes) else { return false };
    let written = prints.to_bytes();
    match Fingerprints::from_bytes(&written) {
        Ok(again) => assert_eq!(again, prints),
        Err(error) => panic!("written as fingerprints that cannot be read: {error}"),
    }
    thread_local! {
        static TABLE: feasible_data::Table = people::table();
    }
    TABLE.with(|table| {
        let _ = prints.compare(table);
    });
    true
}
