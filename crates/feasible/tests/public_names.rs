//! Every public name of the crate occurs in a doc test or an example.
//!
//! The sources are read as text, line by line: public items of public modules, what private modules' items are re-exported
//! as, methods of these types, methods of public traits, variants of public enums. Fields and what is hidden from the
//! documentation are left out.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.extension() {
            _ if path.is_dir() => found.extend(rust_files(&path)),
            Some(extension) if extension == "rs" => found.push(path),
            _ => {}
        }
    }
    found.sort();
    found
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The code between fences; `prefixes` are what a line of documentation begins with.
fn fenced(text: &str, prefixes: &[&str]) -> String {
    let (mut code, mut inside, mut wanted) = (String::new(), false, false);
    for line in text.lines() {
        let Some(line) = prefixes.iter().find_map(|prefix| line.trim_start().strip_prefix(prefix))
        else {
            inside = false;
            continue;
        };
        match line.trim_start().strip_prefix("```") {
            Some(kind) => {
                inside = !inside;
                wanted = ["", "rust", "no_run"].contains(&kind.trim());
            }
            None if inside && wanted => code += &format!("{line}\n"),
            None => {}
        }
    }
    code
}

/// All that doc tests and examples say.
fn shown() -> BTreeSet<String> {
    let mut code = String::new();
    for file in rust_files(&root().join("src")) {
        code += &fenced(&fs::read_to_string(file).unwrap(), &["///", "//!"]);
    }
    for file in rust_files(&root().join("examples")) {
        code += &fs::read_to_string(file).unwrap();
    }
    for file in ["README.md", "../../README.md", "../../docs/certificates.md"] {
        // The last two are those of the repository, and not in the package.
        code += &fenced(&fs::read_to_string(root().join(file)).unwrap_or_default(), &[""]);
    }
    words(&code).map(String::from).collect()
}

/// The sources by module.
fn modules() -> Vec<(Vec<String>, String)> {
    let src = root().join("src");
    let module = |file: &PathBuf| {
        let path = file.strip_prefix(&src).unwrap().with_extension("");
        let parts = path.iter().map(|part| part.to_string_lossy().into_owned());
        parts.filter(|part| !["mod", "lib"].contains(&part.as_str())).collect()
    };
    let mut files = rust_files(&src);
    // What the crate's own tests reach beyond the interface.
    files.retain(|file| !file.ends_with("internals.rs"));
    files.iter().map(|file| (module(file), fs::read_to_string(file).unwrap())).collect()
}

/// The name that follows one of some keywords.
fn declared<'a>(line: &'a str, keywords: &[&str]) -> Option<&'a str> {
    words(keywords.iter().find_map(|keyword| line.strip_prefix(keyword))?).next()
}

const ITEMS: [&str; 9] = [
    "pub fn ",
    "pub const fn ",
    "pub struct ",
    "pub enum ",
    "pub trait ",
    "pub const ",
    "pub static ",
    "pub type ",
    "pub mod ",
];

/// What lines further in belong to.
enum Inside {
    Nothing,
    Methods,
    Trait,
    Enum,
}

/// The type that an `impl` without a trait is of.
fn inherent(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let mut depth = 0;
    let end = rest.char_indices().find(|(_, c)| {
        depth += i32::from(*c == '<') - i32::from(*c == '>');
        depth == 0 && *c == ' '
    });
    let rest = &rest[end?.0..];
    (!rest.contains(" for ")).then(|| words(rest).next())?
}

/// Public names, with the module they are in.
fn names() -> Vec<(String, String)> {
    let modules = modules();
    let (mut public, mut reexported) = (BTreeSet::new(), BTreeSet::new());
    for (module, text) in &modules {
        for line in text.lines() {
            if let Some(name) =
                line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(';'))
            {
                public.insert([&module[..], &[name.to_string()]].concat());
            }
        }
        for used in text.split("\npub use ").skip(1) {
            reexported.extend(words(used.split(';').next().unwrap()).map(String::from));
        }
    }
    let mut found = Vec::new();
    for (module, text) in &modules {
        let open = (1..=module.len()).all(|depth| public.contains(&module[..depth]));
        let visible = |name: &str| open || reexported.contains(name);
        let (mut inside, mut hidden) = (Inside::Nothing, false);
        let mut add = |name: &str| found.push((module.join("::"), name.to_string()));
        for line in text.lines() {
            if line == "#[doc(hidden)]" {
                hidden = true;
                continue;
            }
            if line.starts_with(|c: char| c.is_alphabetic()) {
                let hidden = std::mem::take(&mut hidden);
                let item = declared(line, &ITEMS).filter(|name| visible(name) && !hidden);
                item.into_iter().for_each(&mut add);
                inside = match () {
                    () if inherent(line).is_some_and(visible) => Inside::Methods,
                    () if item.is_some() && line.starts_with("pub trait ") => Inside::Trait,
                    () if item.is_some() && line.starts_with("pub enum ") => Inside::Enum,
                    () => Inside::Nothing,
                };
                continue;
            }
            let Some(inner) = line.strip_prefix("    ") else { continue };
            if std::mem::replace(&mut hidden, inner == "#[doc(hidden)]") {
                continue;
            }
            let name = match inside {
                Inside::Methods => declared(inner, &["pub fn ", "pub const fn "]),
                Inside::Trait => declared(inner, &["fn "]),
                Inside::Enum if inner.starts_with(char::is_uppercase) => words(inner).next(),
                Inside::Enum | Inside::Nothing => None,
            };
            name.into_iter().for_each(&mut add);
        }
    }
    found
}

#[test]
fn every_public_name_occurs_in_a_doc_test_or_an_example() {
    let (names, shown) = (names(), shown());
    let missing: Vec<_> = names.iter().filter(|(_, name)| !shown.contains(name)).collect();
    println!("{} public names, {} in no doc test or example", names.len(), missing.len());
    // The reader of the sources has not gone blind.
    assert!(names.len() > 500, "{}", names.len());
    assert!(missing.is_empty(), "{missing:#?}");
}
