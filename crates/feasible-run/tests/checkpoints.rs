//! One test for each way in which a checkpoint can be wrong.
#![allow(clippy::unwrap_used)]

use crate::common;

use feasible_run::checkpoint::VERSION;
use feasible_run::{
    Checkpoint, CheckpointError, Error, Interrupt, Memory, Storage, files, fit_in, resume_in,
};

fn finished() -> (Memory, Vec<u8>, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let plan = common::plan(directory.path(), common::GENDER, "epochs = 2\n");
    let files = Memory::new();
    fit_in(&plan, &files, &Interrupt::new(), &|_| {}).unwrap();
    let bytes = files.read(files::CHECKPOINT).unwrap();
    (files, bytes, directory)
}

#[test]
fn a_checkpoint_is_read_back_as_it_was_written() {
    let (_, bytes, _directory) = finished();
    let checkpoint = Checkpoint::from_bytes(&bytes).unwrap();
    assert_eq!(checkpoint.state.epoch, 2);
    assert!(checkpoint.state.outcome.is_some(), "how it ended is kept");
    assert_eq!(checkpoint.to_bytes(), bytes);
}

#[test]
fn a_truncated_checkpoint_is_an_error_at_every_length() {
    let (_, bytes, _directory) = finished();
    for length in (0..60).chain([bytes.len() / 2, bytes.len() - 1]) {
        let error = Checkpoint::from_bytes(&bytes[..length]).unwrap_err();
        assert!(matches!(error, CheckpointError::Truncated { .. }), "{length}: {error}");
    }
}

#[test]
fn a_changed_byte_is_an_error_wherever_it_is() {
    let (_, bytes, _directory) = finished();
    for at in (0..bytes.len()).step_by(97).chain(0..52) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x40;
        assert!(Checkpoint::from_bytes(&bytes).is_err(), "byte {at}");
    }
    let mut longer = bytes;
    longer.push(0);
    assert_eq!(Checkpoint::from_bytes(&longer).unwrap_err(), CheckpointError::Checksum);
}

#[test]
fn a_checkpoint_of_an_older_program_is_named_as_such() {
    let (_, mut bytes, _directory) = finished();
    bytes[8..12].copy_from_slice(&(VERSION - 1).to_le_bytes());
    let error = Checkpoint::from_bytes(&bytes).unwrap_err();
    assert_eq!(error, CheckpointError::Older { found: VERSION - 1 });
    assert!(error.to_string().contains("start it again"));
}

#[test]
fn a_checkpoint_of_a_newer_program_is_named_as_such() {
    let (_, mut bytes, _directory) = finished();
    bytes[8..12].copy_from_slice(&(VERSION + 1).to_le_bytes());
    let error = Checkpoint::from_bytes(&bytes).unwrap_err();
    assert_eq!(error, CheckpointError::Newer { found: VERSION + 1 });
    assert!(error.to_string().contains("use a newer one"));
}

#[test]
fn another_file_is_not_a_checkpoint() {
    let error = Checkpoint::from_bytes(b"age,gender\n41,Male\n").unwrap_err();
    assert_eq!(error, CheckpointError::NotACheckpoint);
}

#[test]
fn the_checkpoint_of_another_problem_is_refused() {
    let (files, _, _directory) = finished();
    let mut problem = files.read(files::PROBLEM).unwrap();
    problem.extend_from_slice(b"# changed\n");
    files.write(files::PROBLEM, &problem).unwrap();
    let error = resume_in(&files, &Interrupt::new(), &|_| {}).unwrap_err();
    let Error::Checkpoint { reason, .. } = error else { panic!("{error}") };
    assert_eq!(reason, CheckpointError::OtherProblem);
}

#[test]
fn metrics_shorter_than_the_checkpoint_says_are_noticed() {
    let (files, _, _directory) = finished();
    files.truncate(files::METRICS, 10).unwrap();
    let error = resume_in(&files, &Interrupt::new(), &|_| {}).unwrap_err().to_string();
    assert!(error.contains("shorter than when the checkpoint was saved"), "{error}");
}
