//! Sizes that no machine has, and models that were made by hand: an exit code and a sentence, never an abort.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::depth::depth;
use crate::support;

use support::{Ran, Scratch};

#[test]
fn a_problem_that_takes_too_much_memory_is_refused_before_it_takes_any() {
    let scratch = Scratch::new();
    for (setting, said) in [
        ("model.hidden=[1000000,1000000]", "at most 2147483648"),
        ("model.hidden=[9223372036854775807]", "at most 2147483648"),
        ("model.hidden=[9223372036854775807,9223372036854775807]", "at most 2147483648"),
        ("model.hidden=[40000,40000]", "model.hidden: training would take about"),
        ("training.threads=9223372036854775807", "at most 1024"),
    ] {
        for command in ["check", "fit"] {
            let error =
                scratch.refuse(&[command, "problem.toml", "--memory", "2GB", "--set", setting]);
            assert!(error.contains(said), "{setting}: {error}");
        }
    }
    assert!(!scratch.path("runs").exists());
    // What the file allows to be large is no more than what there is.
    for setting in [
        "training.batch_size=9223372036854775807",
        "training.epochs=9223372036854775807",
        "training.patience=9223372036854775807",
        "training.dual.every=9223372036854775807",
        "training.checkpoint.epochs=9223372036854775807",
    ] {
        scratch.expect(0, &["check", "problem.toml", "--set", setting]);
    }
}

#[test]
fn the_limit_on_memory_is_a_flag_or_the_environment() {
    let scratch = Scratch::new();
    let estimate = scratch.expect(0, &["check", "problem.toml", "--json"]).json()["memory"].clone();
    let estimate = estimate.as_u64().unwrap();
    assert!((10_000..100_000_000).contains(&estimate), "{estimate}");
    let (less, more) = ((estimate - 1).to_string(), (estimate + 1).to_string());
    for command in ["check", "fit"] {
        let error = scratch.refuse(&[command, "problem.toml", "--memory", &less]);
        assert!(error.contains("of --memory"), "{error}");
    }
    scratch.expect(0, &["check", "problem.toml", "--memory", &more]);
    assert!(scratch.refuse(&["check", "problem.toml", "--memory", "some"]).contains("1.5GB"));
    let with = |value: &str, arguments: &[&str]| {
        Ran::of(scratch.command(arguments).env("FEASIBLE_MEMORY", value).output().unwrap())
    };
    assert_eq!(with(&less, &["check", "problem.toml"]).code, Some(2));
    assert_eq!(with(&less, &["check", "problem.toml", "--memory", "1GB"]).code, Some(0));
    let wrong = with("some", &["check", "problem.toml"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("FEASIBLE_MEMORY=some"), "{}", wrong.err);
    // Several seeds: as many at once as fit, with the same results.
    let few: &[&str] =
        &["fit", "problem.toml", "--set", "training.epochs=2", "--no-report", "--seeds", "3"];
    for (directory, memory) in [("all", "1GB"), ("one", more.as_str())] {
        let ran =
            scratch.run(&[few, &["--threads", "3", "--memory", memory, "-o", directory]].concat());
        assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.err);
    }
    let summary = |directory: &str| scratch.read(&format!("{directory}/summary.json"));
    assert_eq!(summary("all"), summary("one"));
    let error = scratch.refuse(&["resume", "one/seed-1", "--memory", &less]);
    assert!(error.contains("of --memory"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn memory_that_the_system_does_not_give_is_an_error_of_the_machine() {
    let scratch = Scratch::new();
    let program = assert_cmd::cargo::cargo_bin!("feasible");
    let mut command = std::process::Command::new("sh");
    let line = "ulimit -v 1000000; exec \"$0\" check problem.toml --memory 1TB --set 'model.hidden=[8000,8000]'";
    command.current_dir(scratch.path("")).args(["-c", line]).arg(program);
    let ran = Ran::of(command.output().unwrap());
    assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("the system refused the"), "{}", ran.err);
}

/// The model of a run with another manifest.
fn with_manifest(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&bytes[8..8 + length]).unwrap();
    assert!(header.contains(from), "{header}");
    let header = header.replacen(from, to, 1).into_bytes();
    [&(header.len() as u64).to_le_bytes(), &header[..], &bytes[8 + length..]].concat()
}

#[test]
fn a_model_that_was_made_by_hand_does_not_crash_a_command() {
    let scratch = Scratch::new();
    scratch.run(&["fit", "problem.toml", "--set", "training.epochs=1", "--no-report", "-o", "run"]);
    let bytes = std::fs::read(scratch.path("run/model.safetensors")).unwrap();
    let header = String::from_utf8_lossy(&bytes).into_owned();
    let at = header.find("\\\"widths\\\":[").unwrap();
    let widths = &header[at..][..header[at..].find(']').unwrap() + 1];
    let inputs = widths[12..].split(',').next().unwrap();
    let mut files = Vec::new();
    for other in [
        "6,4",
        &format!("{inputs},8,9223372036854775807"),
        "4294967296,8,2",
        &format!("{inputs},4294967296,2"),
    ] {
        files.push(with_manifest(&bytes, widths, &format!("\\\"widths\\\":[{other}]")));
    }
    let mut weights = bytes.clone();
    let end = weights.len() - 4;
    weights[end..].copy_from_slice(&f32::NAN.to_le_bytes());
    files.push(weights);
    for file in files {
        std::fs::write(scratch.path("made.safetensors"), &file).unwrap();
        for command in ["predict", "audit"] {
            let error = scratch.refuse(&[command, "made.safetensors", "people.csv"]);
            assert!(error.contains("made.safetensors is not a model that can be used"), "{error}");
        }
        std::fs::write(scratch.path("run/model.safetensors"), &file).unwrap();
        assert!(scratch.refuse(&["certify", "run"]).contains("is not a model"));
    }
}

/// Runs the program with a limit on its address space.
#[cfg(target_os = "linux")]
fn within(scratch: &Scratch, kilobytes: u64, arguments: &[&str]) -> Ran {
    let program = assert_cmd::cargo::cargo_bin!("feasible");
    let mut command = std::process::Command::new("sh");
    command.current_dir(scratch.path(""));
    command.args(["-c", &format!("ulimit -v {kilobytes}; exec \"$0\" \"$@\"")]);
    Ran::of(command.arg(program).args(arguments).output().unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn without_memory_every_command_ends_with_a_sentence_and_3() {
    let scratch = Scratch::new();
    scratch.write("short.toml", support::SHORT);
    scratch.write("numbered.csv", &support::numbered(400, 0));
    scratch.write("new.csv", &support::numbered(5000, 1000));
    scratch.run(&["fit", "short.toml", "-q", "-o", "run"]);
    let least = least(&scratch);
    // Whether it ended, or was refused memory with a sentence.
    let ends = |command: &str, kilobytes: u64| {
        let words: Vec<&str> = command.split(' ').collect();
        let ran = within(&scratch, kilobytes, &words);
        let _ = std::fs::remove_file(scratch.path("run/monitor.jsonl"));
        let shown = format!("{command}, {kilobytes} KB: {:?} {}{}", ran.code, ran.out, ran.err);
        assert!(!ran.err.contains("This is a bug"), "{shown}");
        if matches!(ran.code, Some(0 | 1)) {
            return true;
        }
        let told = if words.contains(&"--json") { &ran.out } else { &ran.err };
        let sentence = told.contains("the system refused") || ran.err.contains("out of memory");
        assert!(ran.code == Some(3) && sentence, "{shown}");
        false
    };
    for (at, command) in COMMANDS.iter().enumerate() {
        for more in [0, 4_000, 16_000, 64_000] {
            ends(command, least + more);
        }
        assert!(ends(command, least + 256_000), "{command}");
        if depth() == 1 && at > 0 {
            continue;
        }
        // In small steps below the least that it takes.
        let (mut refused, mut enough) = (least, least + 256_000);
        while enough - refused > 16 {
            let middle = refused.midpoint(enough);
            *(if ends(command, middle) { &mut enough } else { &mut refused }) = middle;
        }
        for below in (0..600).step_by(if depth() == 1 { 40 } else { 8 }) {
            ends(command, (enough - below).max(least));
        }
    }
}

/// The least address space with which the program can be loaded, in kilobytes.
#[cfg(target_os = "linux")]
fn least(scratch: &Scratch) -> u64 {
    let loads = |kilobytes: &u64| within(scratch, *kilobytes, &["--version"]).code == Some(0);
    (20_000..2_000_000).step_by(1_000).find(loads).unwrap()
}

#[cfg(target_os = "linux")]
const COMMANDS: [&str; 13] = [
    "check short.toml",
    "check short.toml --json",
    "fit short.toml -q --force -o fitted",
    "resume run -q",
    "init new.csv --force --target income",
    "predict run new.csv",
    "audit run new.csv",
    "certify run new.csv",
    "monitor run new.csv",
    "attack run new.csv --epsilons 0.1 --steps 2 --force",
    "export run",
    "report run",
    "data export compas out --force",
];

#[cfg(unix)]
#[test]
fn files_of_a_run_that_are_longer_than_they_say_are_refused_before_they_are_read() {
    let scratch = Scratch::new();
    scratch.write("short.toml", support::SHORT);
    scratch.write("numbered.csv", &support::numbered(400, 0));
    scratch.write("new.csv", &support::numbered(2000, 1000));
    scratch.write("newer.csv", &support::numbered(2000, 4000));
    scratch.run(&["fit", "short.toml", "-q", "-o", "run"]);
    scratch.run(&["monitor", "run", "new.csv"]);
    for (name, command) in [
        ("model.safetensors", "predict copy new.csv"),
        ("model.safetensors", "predict copy/model.safetensors new.csv"),
        ("checkpoint.bin", "resume copy"),
        ("summary.json", "report copy"),
        ("fingerprints.bin", "certify copy newer.csv"),
        ("monitor.jsonl", "monitor copy newer.csv"),
    ] {
        let _ = std::fs::remove_dir_all(scratch.path("copy"));
        support::copy_tree(&scratch.path("run"), &scratch.path("copy"));
        if name == "checkpoint.bin" {
            std::fs::remove_file(scratch.path("copy/summary.json")).unwrap();
        }
        let file = std::fs::File::options().write(true).open(scratch.path("copy").join(name));
        // Nothing but a hole: it takes no room on the disk. Fingerprints are hashed, a piece at a time.
        let length = if name == "fingerprints.bin" { 1 << 28 } else { 5 << 30 };
        file.unwrap().set_len(length).unwrap();
        let words: Vec<&str> = command.split(' ').collect();
        let error = scratch.refuse(&words);
        assert!(error.contains(name), "{command}: {error}");
        assert!(
            error.contains("by its content") || error.contains("allowed"),
            "{command}: {error}"
        );
    }
}
