//! Room for any number of bytes, and no more: a checkpoint is replaced whole or not at all.
//!
//! The one test in this file, as the limit is the whole process's.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may stop, and says what it did not try"
)]

mod support;

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use feasible_run::{Checkpoint, Directory, Interrupt, Storage, files, resume};
use support::{SHORT, Scratch, assert_same_run, copy_tree, numbered};

/// Sets the limit of file sizes of this process; whether that can be done.
fn limit(bytes: Option<usize>) -> bool {
    let bytes = bytes.map_or("unlimited".into(), |bytes| bytes.to_string());
    let mut command = Command::new("prlimit");
    command.args(["--pid", &std::process::id().to_string(), &format!("--fsize={bytes}:")]);
    command.output().is_ok_and(|ran| ran.status.success())
}

/// Lifts the limit, also when the test fails: its words are written to a file, too.
struct Lifted;

impl Drop for Lifted {
    fn drop(&mut self) {
        limit(None);
    }
}

#[test]
fn with_room_for_any_number_of_bytes_a_checkpoint_is_the_old_one_or_the_new_one() {
    // Without a handler the signal would end the test.
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)))
        .unwrap();
    if !limit(None) {
        println!("not tried: prlimit is not installed");
        return;
    }
    let memory = std::path::Path::new("/dev/shm");
    let scratch = if memory.is_dir() { Scratch::under(memory) } else { Scratch::new() };
    scratch.write("short.toml", SHORT);
    scratch.write("numbered.csv", &numbered(40, 0));
    for (name, epochs) in [("run", "3"), ("other", "2")] {
        let epochs = format!("training.epochs={epochs}");
        let ran = scratch.run(&["fit", "short.toml", "-o", name, "-q", "--set", &epochs]);
        assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
    }
    copy_tree(&scratch.path("run"), &scratch.path("whole"));
    let new = std::fs::read(scratch.path("run/checkpoint.bin")).unwrap();
    let old = std::fs::read(scratch.path("other/checkpoint.bin")).unwrap();
    assert!(old != new);
    let directory = Directory::open(&scratch.path("run")).unwrap();
    directory.write(files::CHECKPOINT, &old).unwrap();
    let names = directory.list().unwrap();
    let _lifted = Lifted;
    for room in 0..new.len() {
        assert!(limit(Some(room)));
        let error = directory.write(files::CHECKPOINT, &new).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::FileTooLarge, "{room} bytes: {error}");
        let found = std::fs::read(scratch.path("run/checkpoint.bin")).unwrap();
        assert!(found == old, "{room} bytes");
        let scratch_files = std::fs::read_dir(scratch.path("run")).unwrap();
        let count = scratch_files.filter(|entry| entry.as_ref().unwrap().file_name() != ".lock");
        assert_eq!(count.count(), names.len(), "{room} bytes: something is left over");
    }
    assert!(limit(Some(new.len())));
    directory.write(files::CHECKPOINT, &new).unwrap();
    assert!(limit(None));
    Checkpoint::from_bytes(&std::fs::read(scratch.path("run/checkpoint.bin")).unwrap()).unwrap();
    println!("room for 0 to {} bytes", new.len());
    // And the run is as it was.
    drop(directory);
    resume(&scratch.path("run"), &Interrupt::new(), &|_| {}).unwrap();
    assert_same_run(&scratch.path("run"), &scratch.path("whole"), "after all that");
}
