//! A folder of images by class through the program: trained on, audited, attacked, or refused by name.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::support;

use std::fs;
use std::path::Path;

use support::{Scratch, random};

const PROBLEM: &str = r#"
[data]
folder = "sky"
split = { test = 0.25, seed = 0 }

[model]
kind = "cnn"

[[requirement]]
name = "robust"
loss = "cross-entropy"
at_most = 0.6
adversary = { epsilon = 0.02, steps = 2, step = "ε/2" }

[training]
epochs = 8
batch_size = 10
"#;

/// A grey PNG of noise around a brightness.
fn png(path: &Path, (width, height): (u32, u32), brightness: u8, state: &mut u64) {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let pixels: Vec<u8> =
        (0..width * height).map(|_| brightness + (random(state) % 100) as u8).collect();
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&pixels).unwrap();
    writer.finish().unwrap();
    fs::write(path, bytes).unwrap();
}

/// A scratch directory with the problem and 20 images of day and of night, 12 × 10 pixels, one of
/// them a JPEG.
fn sky() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("sky.toml", PROBLEM);
    let mut state = 5;
    for (class, brightness) in [("day", 120), ("night", 20)] {
        let folder = scratch.path("sky").join(class);
        fs::create_dir_all(&folder).unwrap();
        for number in 0..20 {
            png(&folder.join(format!("{number}.png")), (12, 10), brightness, &mut state);
        }
    }
    let jpeg = concat!(env!("CARGO_MANIFEST_DIR"), "/../feasible-data/tests/images/grey.jpg");
    fs::remove_file(scratch.path("sky/day/0.png")).unwrap();
    fs::copy(jpeg, scratch.path("sky/day/0.jpg")).unwrap();
    scratch
}

#[test]
fn a_folder_of_images_is_trained_on_audited_and_attacked() {
    let scratch = sky();
    scratch.write("sky/day/notes.txt", "clouds");
    let described = scratch.expect(0, &["check", "sky.toml"]).out;
    assert!(described.contains("30 train, 0 validation, 10 test"), "{described}");
    let left_out = "1 file was left out";
    assert!(described.contains(left_out) && described.contains("notes.txt"), "{described}");
    let ran = scratch.expect(0, &["fit", "sky.toml", "-o", "run"]);
    assert!(ran.err.contains(left_out), "{}", ran.err);
    let audit = scratch.expect(0, &["audit", "run", "sky", "--json"]).json();
    assert_eq!(audit["evaluation"]["rows"], 40);
    assert!(audit["evaluation"]["accuracy"].as_f64() > Some(0.9), "day is brighter: {audit}");
    let quick = ["--epsilons", "0,0.02", "--steps", "3", "--restarts", "1"];
    let attacked = scratch.expect(0, &[&["attack", "run", "sky"], &quick[..]].concat()).out;
    assert!(attacked.contains("on 40 samples of"), "{attacked}");
    // What it was trained on has changed: the run is not that folder's any more.
    fs::remove_file(scratch.path("sky/night/3.png")).unwrap();
    let error = scratch.refuse(&["resume", "run"]);
    assert!(error.contains("sky has changed since the run was started"), "{error}");
}

#[test]
fn what_is_wrong_in_a_folder_is_named() {
    type Change = fn(&Scratch);
    let cases: [(Change, &[&str]); 5] = [
        (
            |scratch| png(&scratch.path("sky/night/7.png"), (12, 11), 20, &mut 1),
            &["sky/night/7.png is 1 × 11 × 12", "sky/day/0.jpg is 1 × 10 × 12"],
        ),
        (
            |scratch| fs::create_dir(scratch.path("sky/dusk")).unwrap(),
            &["sky/dusk has no PNG or JPEG image", "fill or remove it"],
        ),
        (
            |scratch| scratch.write("sky/night/7.png", "a poem about the moon"),
            &["sky/night/7.png cannot be read as an image"],
        ),
        (
            |scratch| fs::remove_dir_all(scratch.path("sky/night")).unwrap(),
            &["sky are all of one class, 'day'"],
        ),
        (|scratch| fs::remove_dir_all(scratch.path("sky")).unwrap(), &["sky"]),
    ];
    for (change, expected) in cases {
        let scratch = sky();
        change(&scratch);
        let error = scratch.refuse(&["fit", "sky.toml", "-o", "run"]);
        for part in expected {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert!(!scratch.path("run").exists(), "{error}");
    }
}
