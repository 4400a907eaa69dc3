//! `attack`: says what it does, keeps what is worth more, and takes steps that reach the radius.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use support::Scratch;

fn trained() -> Scratch {
    let scratch = Scratch::new();
    let all = scratch.read("people.csv");
    let few: Vec<&str> = all.lines().take(101).collect();
    scratch.write("few.csv", &few.join("\n"));
    scratch.expect(0, &["fit", "problem.toml", "-o", "run", "-q"]);
    scratch
}

const QUICK: [&str; 4] = ["--restarts", "1", "--epsilons", "0,0.1"];

#[test]
fn an_attack_says_what_it_does_without_a_terminal() {
    let scratch = trained();
    let ran = scratch.expect(0, &[&["attack", "run", "people.csv"][..], &QUICK].concat());
    let told = "Attacking 400 samples of people.csv at 2 values of ε: PGD in the l∞ ball, 50 steps of ε/30, 1 restart\n";
    assert!(ran.err.starts_with(told), "{}", ran.err);
    let quiet = scratch.expect(0, &[&["attack", "run", "people.csv", "-q"][..], &QUICK].concat());
    assert_eq!((quiet.err.as_str(), quiet.out), ("", ran.out));
}

#[test]
fn an_attack_of_fewer_samples_does_not_replace_one_of_more() {
    let scratch = trained();
    scratch.expect(0, &[&["attack", "run", "people.csv", "--steps", "2"][..], &QUICK].concat());
    let kept = scratch.read("run/attack.json");
    let few = [&["attack", "run", "few.csv", "--steps", "2"][..], &QUICK].concat();
    let error = scratch.refuse(&few);
    assert!(
        error.contains("run/attack.json holds an attack of 400 samples, and this one has 100")
            && error.contains("-o")
            && error.contains("--force"),
        "{error}"
    );
    assert_eq!(scratch.read("run/attack.json"), kept);
    scratch.expect(0, &[&few[..], &["-o", "other"]].concat());
    let ran = scratch.expect(0, &[&few[..], &["--force"]].concat());
    assert!(ran.err.contains("Replaced an earlier attack of 400 samples"), "{}", ran.err);
    assert_ne!(scratch.read("run/attack.json"), kept);
    // As many or more are no loss.
    scratch.expect(0, &[&["attack", "run", "people.csv", "--steps", "2"][..], &QUICK].concat());
}

#[test]
fn few_steps_are_long_enough_to_reach_the_radius() {
    let scratch = trained();
    let step = |steps: &str, more: &[&str]| {
        let arguments =
            [&["attack", "run", "people.csv", "--json", "--steps", steps][..], &QUICK, more]
                .concat();
        scratch.expect(0, &arguments).json()["attack"]["step"].as_f64().unwrap()
    };
    assert_eq!(step("50", &[]), 1.0 / 30.0);
    assert_eq!(step("80", &[]), 1.0 / 30.0);
    assert_eq!(step("10", &[]), 1.0 / 6.0);
    assert_eq!(step("10", &["--step", "1/30"]), 1.0 / 30.0);
}
