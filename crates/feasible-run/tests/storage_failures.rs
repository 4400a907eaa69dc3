//! Every operation on files may fail; the error is clear and nothing that was good is lost.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{GENDER, assert_same, plan};
use feasible_run::{
    Checkpoint, Error, Interrupt, Memory, Storage, files, fit_in, resume_in, write_whole,
};

/// Fails at its `n`th operation and at every one after it, as a full disk does. An append that
/// fails has written half of its bytes.
struct Failing<'a> {
    inner: &'a Memory,
    left: AtomicUsize,
}

impl<'a> Failing<'a> {
    fn after(inner: &'a Memory, operations: usize) -> Self {
        Self { inner, left: AtomicUsize::new(operations) }
    }

    fn spend(&self) -> io::Result<()> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left on device"));
        }
        self.left.store(left - 1, Ordering::Relaxed);
        Ok(())
    }
}

impl Storage for Failing<'_> {
    fn location(&self) -> String {
        "run".into()
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.spend()?;
        self.inner.read(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.spend()?;
        self.inner.write(name, bytes)
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.spend() {
            self.inner.append(name, &bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        self.inner.append(name, bytes)
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        self.spend()?;
        self.inner.sync(name)
    }

    fn truncate(&self, name: &str, length: u64) -> io::Result<()> {
        self.spend()?;
        self.inner.truncate(name, length)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.spend()?;
        self.inner.list()
    }
}

#[test]
fn whichever_operation_fails_the_error_is_typed_and_the_run_can_go_on_to_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), GENDER, "epochs = 3\ncheckpoint = { epochs = 1 }\n");
    let expected = Memory::new();
    fit_in(&plan, &expected, &Interrupt::new(), &|_| {}).unwrap();
    let mut failures = 0;
    for n in 0.. {
        let files = Memory::new();
        match fit_in(&plan, &Failing::after(&files, n), &Interrupt::new(), &|_| {}) {
            Ok(_) => break,
            Err(Error::Storage { path, source, .. }) => {
                assert!(path.starts_with("run/"), "{path}");
                assert_eq!(source.kind(), io::ErrorKind::StorageFull);
            }
            Err(other) => panic!("operation {n}: {other}"),
        }
        failures += 1;
        if let Ok(bytes) = files.read(files::CHECKPOINT) {
            Checkpoint::from_bytes(&bytes).unwrap();
        }
        if files.read(files::PROBLEM).is_err() {
            fit_in(&plan, &files, &Interrupt::new(), &|_| {}).unwrap();
        } else {
            // Fails again on the way, then there is room.
            let again = resume_in(&Failing::after(&files, 6), &Interrupt::new(), &|_| {});
            assert!(matches!(again, Err(Error::Storage { .. }) | Ok(_)));
            resume_in(&files, &Interrupt::new(), &|_| {}).unwrap();
        }
        assert_same(&files, &expected, &format!("operation {n} failed"));
    }
    assert!(failures > 15, "{failures}");
}

#[test]
fn a_baseline_that_fails_is_a_sentence_and_resuming_trains_it_to_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), GENDER, "epochs = 3\n");
    let expected = Memory::new();
    let whole = fit_in(&plan, &expected, &Interrupt::new(), &|_| {}).unwrap().summary.unwrap();
    assert!(!whole.cost.is_empty() && whole.no_baseline.is_none());
    let mut failures = 0;
    for n in 0.. {
        let files = Memory::new();
        let run = fit_in(&plan, &Failing::after(&files, n), &Interrupt::new(), &|_| {});
        let Ok(run) = run else { continue };
        let summary = run.summary.unwrap();
        let Some(reason) = &summary.no_baseline else { break };
        assert!(reason.contains("no space left") && reason.contains("feasible resume"), "{reason}");
        // The run itself is complete, and the same.
        assert_eq!(files.read(files::MODEL).unwrap(), expected.read(files::MODEL).unwrap());
        assert_eq!((summary.met(), &summary.test), (whole.met(), &whole.test));
        assert!(summary.to_text().contains("No baseline: "));
        resume_in(&files, &Interrupt::new(), &|_| {}).unwrap();
        assert_same(&files, &expected, &format!("operation {n} failed"));
        failures += 1;
    }
    assert!(failures >= 3, "{failures}");
}

#[test]
fn a_directory_that_cannot_be_written_to_is_an_error_that_names_it() {
    use feasible_run::Directory;
    let directory = tempfile::tempdir().unwrap();
    let file = common::write(directory.path(), "occupied", "text");
    let error = Directory::create(&file).unwrap_err().to_string();
    assert!(error.contains("occupied"), "{error}");
    let error = Directory::open(&directory.path().join("absent")).unwrap_err().to_string();
    assert!(error.starts_with("cannot read") && error.contains("absent"), "{error}");
}

#[test]
fn a_write_is_whole_or_not_at_all_and_leaves_no_scratch_file() {
    use feasible_run::Directory;
    let directory = tempfile::tempdir().unwrap();
    let files = Directory::create(directory.path()).unwrap();
    files.write("a", b"old").unwrap();
    files.write("a", b"new").unwrap();
    files.append("b", b"12").unwrap();
    files.append("b", b"34").unwrap();
    files.truncate("b", 3).unwrap();
    files.sync("b").unwrap();
    assert_eq!(files.read("a").unwrap(), b"new");
    assert_eq!(files.read("b").unwrap(), b"123");
    assert_eq!(files.truncate("b", 9).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(files.list().unwrap(), ["a", "b"]);
    // What a process killed while writing leaves behind is swept up.
    std::fs::write(directory.path().join(".feasible-scratch-x"), "half").unwrap();
    drop(files);
    let files = Directory::open(directory.path()).unwrap();
    assert!(!directory.path().join(".feasible-scratch-x").exists());
    assert!(matches!(Directory::open(directory.path()), Err(Error::InUse { .. })));
    drop(files);
    assert!(matches!(Directory::create(directory.path()), Err(Error::NotEmpty { .. })));
    assert!(matches!(
        Directory::replace(directory.path(), files::is_ours),
        Err(Error::Foreign { file }) if file.ends_with("a")
    ));
}

#[cfg(unix)]
#[test]
fn a_file_is_replaced_whole_through_links_with_its_permissions_and_devices_stay_devices() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("private"), "old").unwrap();
    std::fs::set_permissions(path("private"), std::fs::Permissions::from_mode(0o600)).unwrap();
    symlink(path("private"), path("link")).unwrap();
    let failed = write_whole(&path("link"), &|out| {
        out.write_all(b"half")?;
        Err(io::ErrorKind::StorageFull.into())
    });
    assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(std::fs::read(path("private")).unwrap(), b"old");
    write_whole(&path("link"), &|out| out.write_all(b"new")).unwrap();
    assert_eq!(std::fs::read(path("private")).unwrap(), b"new");
    assert!(path("link").is_symlink());
    let mode = std::fs::metadata(path("private")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    write_whole("/dev/null".as_ref(), &|out| out.write_all(b"gone")).unwrap();
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    // Nothing is left over, whether it failed or not.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[cfg(unix)]
#[test]
fn what_another_program_is_writing_is_no_leftover_and_a_link_is_no_way_in() {
    use std::os::unix::fs::symlink;
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    // The same file written while it is being written: both are whole, the later one stays.
    write_whole(&path("page"), &|out| {
        out.write_all(b"first")?;
        write_whole(&path("page"), &|out| out.write_all(b"second"))?;
        assert_eq!(std::fs::read(path("page"))?, b"second");
        // A run that is opened meanwhile leaves it alone, too.
        drop(feasible_run::Directory::open(directory.path()).unwrap());
        Ok(())
    })
    .unwrap();
    assert_eq!(std::fs::read(path("page")).unwrap(), b"first");
    // What a kill left, and a link that someone put there.
    std::fs::write(path("victim"), "safe").unwrap();
    symlink(path("victim"), path(".feasible-scratch-page")).unwrap();
    write_whole(&path("page"), &|out| out.write_all(b"third")).unwrap();
    std::fs::write(path(".feasible-scratch-page"), "half").unwrap();
    write_whole(&path("page"), &|out| out.write_all(b"fourth")).unwrap();
    assert_eq!(std::fs::read(path("victim")).unwrap(), b"safe");
    assert_eq!(std::fs::read(path("page")).unwrap(), b"fourth");
    std::fs::remove_file(path(".lock")).unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
    // Inside a run no link is followed.
    std::fs::write(path(files::README), "A run of feasible.\n").unwrap();
    symlink(path("victim"), path("report.html")).unwrap();
    assert!(write_whole(&path("report.html"), &|out| out.write_all(b"page")).is_err());
    assert_eq!(std::fs::read(path("victim")).unwrap(), b"safe");
}
