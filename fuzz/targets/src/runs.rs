//! A run directory in which one file has been exchanged, and which is resumed.
//!
//! The first line of the bytes is the name of the file, the rest its content, in which `{people}` stands for the
//! path of the table. A checkpoint is given by its payload; that of the run itself has the hash of its problem.

use std::collections::BTreeMap;

use feasible_problem::{Plan, ProblemSource};
use feasible_run::{
    Checkpoint, Event, Interrupt, Memory, SavedModel, Storage, files, fit_in, resume_in,
};
use tempfile::TempDir;

use crate::{checkpoints, people};

/// The files that may be exchanged. The problem file is not one of them: it names files of the machine.
pub const FILES: [&str; 6] = [
    files::RUN,
    files::ROWS,
    files::METRICS,
    files::TIMINGS,
    files::CHECKPOINT,
    files::FINGERPRINTS,
];

/// A run that was interrupted after its first epoch, and where its table is.
#[derive(Debug)]
pub struct Begun {
    directory: TempDir,
    problem: [u8; 32],
    files: BTreeMap<String, Vec<u8>>,
}

thread_local! {
    static BEGUN: Begun = begun(true);
}

/// The problem of the run.
pub const PROBLEM: &str = "\
[data]
file = \"people.csv\"
target = \"income\"
positive = \"high\"
missing = \"impute\"
split = { validation = 0.2, test = 0.2, seed = 3 }

[model]
hidden = [3]

[[requirement]]
name = \"gender\"
loss = \"kl\"
kind = \"pointwise\"
at_most = 1e-2
counterfactual = { swap = { gender = [\"Male\", \"Female\"] } }

[[requirement]]
name = \"older\"
rate = \"error\"
where = \"age > 40\"
at_most = 0.4

[training]
epochs = 2
checkpoint = { epochs = 1 }
";

/// Trains the run, up to the first epoch or to the end.
///
/// # Panics
/// If that fails: a bug of this crate.
pub fn begun(interrupted: bool) -> Begun {
    let made = || -> Result<Begun, Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        std::fs::write(directory.path().join("people.csv"), people::csv())?;
        let file = directory.path().join("problem.toml");
        std::fs::write(&file, PROBLEM)?;
        let plan = Plan::check(&ProblemSource::open(&file.display().to_string())?)?;
        let (storage, interrupt) = (Memory::new(), Interrupt::new());
        fit_in(&plan, &storage, &interrupt, &|event| {
            if interrupted && matches!(event, Event::Epoch { .. }) {
                interrupt.raise();
            }
        })?;
        let problem = Checkpoint::from_bytes(&storage.read(files::CHECKPOINT)?)?.problem;
        let mut found = BTreeMap::new();
        for name in storage.list()? {
            found.insert(name.clone(), storage.read(&name)?);
        }
        Ok(Begun { directory, problem, files: found })
    };
    match made() {
        Ok(begun) => begun,
        Err(error) => panic!("the run cannot be begun: {error}"),
    }
}

impl Begun {
    /// Its files, by name.
    pub fn files(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.files
    }

    /// Its problem file.
    pub fn problem(&self) -> std::path::PathBuf {
        self.directory.path().join("problem.toml")
    }

    /// Adds a file.
    pub fn add(&mut self, name: &str, bytes: Vec<u8>) {
        self.files.insert(name.to_string(), bytes);
    }

    /// The bytes that stand for a file of this run.
    pub fn seed(&self, name: &str) -> Vec<u8> {
        let bytes = self.files.get(name).map(Vec::as_slice).unwrap_or_default();
        let content = match name {
            files::CHECKPOINT => checkpoints::payload(bytes).to_vec(),
            files::FINGERPRINTS => bytes.to_vec(),
            _ => String::from_utf8_lossy(bytes).replace(&self.table(), "{people}").into_bytes(),
        };
        [name.as_bytes(), b"\n", &content].concat()
    }

    /// The file that such bytes stand for: its name and content.
    pub fn file<'b>(&self, bytes: &'b [u8]) -> Option<(&'b str, Vec<u8>)> {
        let end = bytes.iter().position(|&byte| byte == b'\n')?;
        let (name, content) = (std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]);
        let content = match name {
            files::CHECKPOINT => {
                let mut payload = content.to_vec();
                let hash = payload.len().checked_sub(self.problem.len())?;
                payload[hash..].copy_from_slice(&self.problem);
                checkpoints::sealed(&payload)
            }
            files::FINGERPRINTS => content.to_vec(),
            _ => match std::str::from_utf8(content) {
                Ok(text) => text.replace("{people}", &self.table()).into_bytes(),
                Err(_) => content.to_vec(),
            },
        };
        Some((name, content))
    }

    fn table(&self) -> String {
        self.directory.path().join("people.csv").display().to_string()
    }
}

/// A run that is resumed ends with a model that can be read; one that is refused keeps its checkpoint.
///
/// # Panics
/// If it does not.
pub fn run(bytes: &[u8]) -> bool {
    BEGUN.with(|begun| {
        let Some((name, content)) = begun.file(bytes) else { return false };
        if !FILES.contains(&name) {
            return false;
        }
        let storage = Memory::new();
        for (other, bytes) in &begun.files {
            let bytes = if other == name { &content } else { bytes };
            assert!(storage.write(other, bytes).is_ok(), "memory takes everything");
        }
        let before = storage.read(files::CHECKPOINT).ok();
        match resume_in(&storage, &Interrupt::new(), &|_| {}) {
            Ok(_) => {
                if let Ok(model) = storage.read(files::MODEL)
                    && let Err(error) = SavedModel::from_bytes("model", &model)
                {
                    panic!("a run left a model that cannot be read: {error}");
                }
                true
            }
            Err(error) => {
                let after = storage.read(files::CHECKPOINT).ok();
                assert!(after == before, "refused ({error}), and its checkpoint is another");
                false
            }
        }
    })
}
