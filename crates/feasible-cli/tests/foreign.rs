//! Nothing is deleted or replaced that the program cannot show it wrote, and whatever is deleted is deleted after every check.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use std::path::Path;

use support::{SHORT, Scratch, numbered, tree};

/// Commands that replace what is in `out`, each with the directories that it leaves there.
const COMMANDS: [(&str, &[&str]); 5] = [
    ("fit short.toml -o out -q --no-report", &[""]),
    ("fit short.toml -o out -q --no-report --seeds 2 --threads 1", &["", "seed-0", "seed-1"]),
    ("fit ladder.toml -o out -q --no-report", &["", "rung-1", "rung-2"]),
    (
        "sweep short.toml --requirement gender --limits 0.1,0.5 --threads 1 -o out -q",
        &["", "limit-0.1", "limit-0.1/seed-0", "limit-0.5/seed-0", "figures"],
    ),
    ("tune short.toml --trials 3 --threads 1 -o out -q --no-report", &["", "trial-0", "trial-2"]),
];

fn prepare() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("short.toml", SHORT);
    let ladder = "certify = { confidence = 0.9, ladder = [1.0, 0.0] }\n";
    scratch.write("ladder.toml", &format!("{ladder}{SHORT}"));
    scratch.write("numbered.csv", &numbered(200, 0));
    scratch
}

fn run(scratch: &Scratch, command: &str, more: &[&str]) -> support::Ran {
    scratch.run(&[&command.split(' ').collect::<Vec<_>>()[..], more].concat())
}

/// All that is below, pages and locks too.
fn everything(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.display().to_string();
        match entry.is_dir() {
            true => files.extend(everything(&entry)),
            false => files.push((name, std::fs::read(&entry).unwrap())),
        }
    }
    files.sort();
    files
}

#[test]
fn force_deletes_nothing_where_a_file_at_any_depth_is_not_a_runs() {
    let scratch = prepare();
    for (command, directories) in COMMANDS {
        let ran = run(&scratch, command, &[]);
        assert!(matches!(ran.code, Some(0 | 1)), "{command}: {}", ran.err);
        for directory in directories {
            for (name, is_directory) in
                [("notes.txt", false), ("mine.svg", false), ("mine", true), ("seed-01", true)]
            {
                let foreign = scratch.path("out").join(directory).join(name);
                match is_directory {
                    true => std::fs::create_dir(&foreign).unwrap(),
                    false => std::fs::write(&foreign, "<svg>mine</svg>").unwrap(),
                }
                let before = everything(&scratch.path("out"));
                let forced = ["--force", "--set", "training.epochs=2"];
                let ran = run(&scratch, command, &forced);
                assert_eq!(ran.code, Some(2), "{command} with {directory}/{name}: {}", ran.err);
                assert!(ran.err.contains(name) && ran.err.contains("nothing is"), "{}", ran.err);
                assert!(
                    everything(&scratch.path("out")) == before,
                    "{command}: {directory}/{name}"
                );
                match is_directory {
                    true => std::fs::remove_dir(&foreign).unwrap(),
                    false => std::fs::remove_file(&foreign).unwrap(),
                }
            }
        }
        // Without it, all goes.
        let ran = run(&scratch, command, &["--force", "--set", "training.epochs=2"]);
        assert!(matches!(ran.code, Some(0 | 1)), "{command}: {}", ran.err);
        std::fs::remove_dir_all(scratch.path("out")).unwrap();
    }
}

#[test]
fn force_deletes_nothing_where_another_process_works_in_one_of_the_runs() {
    let scratch = prepare();
    let (command, _) = COMMANDS[1];
    run(&scratch, command, &[]);
    let lock = std::fs::File::open(scratch.path("out/seed-1/.lock")).unwrap();
    lock.lock().unwrap();
    let before = everything(&scratch.path("out"));
    let ran = run(&scratch, command, &["--force"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("seed-1 is in use"), "{}", ran.err);
    assert!(everything(&scratch.path("out")) == before);
    drop(lock);
    assert!(matches!(run(&scratch, command, &["--force"]).code, Some(0 | 1)));
}

#[test]
fn files_that_only_have_the_names_of_a_runs_are_not_replaced_by_force() {
    let scratch = prepare();
    std::fs::create_dir(scratch.path("out")).unwrap();
    for name in ["README.txt", "problem.toml", "model-card.md", "report.html"] {
        scratch.write(&format!("out/{name}"), "mine\n");
    }
    let before = everything(&scratch.path("out"));
    for (command, _) in COMMANDS {
        let ran = run(&scratch, command, &["--force"]);
        assert_eq!(ran.code, Some(2), "{command}: {}", ran.err);
        assert!(everything(&scratch.path("out")) == before, "{command}");
    }
}

#[test]
fn outputs_that_the_program_names_replace_only_files_that_it_wrote() {
    let scratch = prepare();
    run(&scratch, "fit short.toml -o a -q", &[]);
    run(&scratch, "fit short.toml -o b -q --seed 1", &[]);
    std::fs::create_dir(scratch.path("place")).unwrap();
    std::fs::copy(scratch.path("a/model.safetensors"), scratch.path("place/m.safetensors"))
        .unwrap();
    scratch.write("new.csv", &numbered(300, 1000));
    let attack = "attack a new.csv --epsilons 0.1 --steps 2 --restarts 1 -q -o place";
    for (command, name) in [
        ("report a -q -o place/page.html", "model-card.md"),
        ("report a -q --figures place", "objective.svg"),
        ("report a -q --figures place", "violations.svg"),
        (attack, "attack.json"),
        (attack, "attack.csv"),
        (attack, "attack.svg"),
        ("export place/m.safetensors -q", "m.onnx"),
    ] {
        let theirs = format!("place/{name}");
        scratch.write(&theirs, "mine\n");
        let before = everything(&scratch.path("place"));
        let ran = run(&scratch, command, &[]);
        assert_eq!(ran.code, Some(2), "{command} beside {name}: {}", ran.err);
        assert!(ran.err.contains(name) && ran.err.contains("did not write it"), "{}", ran.err);
        assert!(everything(&scratch.path("place")) == before, "{command} beside {name}");
        std::fs::remove_file(scratch.path(&theirs)).unwrap();
        // What it wrote itself it writes again.
        for _ in 0..2 {
            let ran = run(&scratch, command, &[]);
            assert_eq!(ran.code, Some(0), "{command}: {}", ran.err);
        }
    }
    scratch.write("comparison.html", "mine\n");
    assert!(scratch.refuse(&["report", "a", "b", "-q"]).contains("comparison.html"));
    assert_eq!(scratch.read("comparison.html"), "mine\n");
    std::fs::remove_file(scratch.path("comparison.html")).unwrap();
    for _ in 0..2 {
        scratch.expect(0, &["report", "a", "b", "-q"]);
    }
    // A file that the user names is replaced.
    scratch.write("named.html", "mine\n");
    scratch.expect(0, &["report", "a", "b", "-q", "-o", "named.html"]);
    assert!(scratch.read("named.html").contains("<svg"));
}

#[test]
fn reproduce_deletes_and_replaces_no_file_that_is_not_its_own() {
    let scratch = Scratch::new();
    let command = "reproduce compas --seeds 1 --threads 1 --set training.epochs=1 -o paper -q";
    for directory in ["paper/figures", "paper/compas"] {
        std::fs::create_dir_all(scratch.path(directory)).unwrap();
    }
    let beside = ["paper/compas-mine.txt", "paper/figures/mine.svg", "paper/compas/mine.txt"];
    beside.iter().for_each(|name| scratch.write(name, "mine\n"));
    let ran = run(&scratch, command, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(beside.iter().all(|name| scratch.read(name) == "mine\n"));
    // A run that had not begun is begun again.
    std::fs::remove_file(scratch.path("paper/compas/seed-1/problem.toml")).unwrap();
    for name in ["compas/seed-1/notes.txt", "notes.txt", "report.html", "figures/mu-7.svg"] {
        let theirs = format!("paper/{name}");
        let own = std::fs::read(scratch.path(&theirs)).ok();
        scratch.write(&theirs, "mine\n");
        let before = everything(&scratch.path("paper"));
        let ran = run(&scratch, command, &[]);
        assert_eq!(ran.code, Some(2), "{name}: {}", ran.err);
        let file = name.rsplit('/').next().unwrap();
        assert!(ran.err.contains(file) && !ran.err.contains("feasible resume"), "{}", ran.err);
        let after = everything(&scratch.path("paper"));
        // The page and the figures before it may be new; the rest is as it was.
        let lost = before.iter().find(|file| file.1.starts_with(b"mine") && !after.contains(file));
        assert!(lost.is_none(), "{name}: {:?}", lost.map(|file| &file.0));
        assert!(before.iter().all(|(name, _)| after.iter().any(|(other, _)| other == name)));
        match own {
            Some(own) => std::fs::write(scratch.path(&theirs), own).unwrap(),
            None => std::fs::remove_file(scratch.path(&theirs)).unwrap(),
        }
    }
}

#[test]
fn a_refused_directory_is_left_without_a_lock() {
    let scratch = prepare();
    std::fs::create_dir(scratch.path("mine")).unwrap();
    scratch.write("mine/notes.txt", "mine\n");
    for force in [&[][..], &["--force"]] {
        for command in ["fit short.toml -o mine -q", "tune short.toml --trials 3 -o mine -q"] {
            assert_eq!(run(&scratch, command, force).code, Some(2));
            assert_eq!(tree(&scratch.path("mine")).len(), 1);
            assert!(!scratch.path("mine/.lock").exists(), "{command} {force:?}");
        }
    }
}
