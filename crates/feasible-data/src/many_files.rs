//! Several files that are one table: `people/*.parquet`, or a directory.
//!
//! In the last part of a path, `*` stands for any characters and `?` for one; a path that is there is meant as it
//! is. A directory stands for the tables in it: files that end in `.parquet`, `.csv`, `.tsv` or `.txt`, the last three also with
//! `.gz` or `.zst`. Names that begin with `.` or `_` are left out of both, as tools that write such directories
//! keep their own notes there. The files are read in the order of their names, and must have the same columns.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Ends of the names of tables in a directory.
const TABLES: [&str; 10] = [
    ".parquet", ".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".csv.zst", ".tsv.zst",
    ".txt.zst",
];

/// The files that a path stands for, sorted by name. See the [module](self). One that is a file, or not there, stands for itself.
///
/// # Errors
/// A directory that cannot be read or has no tables, and a pattern that no file fits.
pub fn files_of(path: &Path) -> Result<Vec<PathBuf>> {
    let shown = path.display().to_string();
    let none = |reason: &str| Error::Option { option: shown.clone(), reason: reason.to_string() };
    if path.is_dir() {
        let files = listed(path, &|name| {
            let name = name.to_ascii_lowercase();
            TABLES.iter().any(|end| name.ends_with(end))
        })?;
        return match files.is_empty() {
            true => Err(none(
                "a directory without tables: give one with .parquet, .csv, .tsv or .txt files, or a file",
            )),
            false => Ok(files),
        };
    }
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let wild = |text: &str| text.contains(['*', '?']);
    let parent = path.parent().unwrap_or(Path::new(""));
    if path.exists() || !wild(&shown) {
        return Ok(vec![path.to_path_buf()]);
    }
    if wild(&parent.display().to_string()) {
        return Err(none("* and ? may stand in the name of a file, not of a directory"));
    }
    let directory = if parent == Path::new("") { Path::new(".") } else { parent };
    let files = listed(directory, &|file| fits(name.as_bytes(), file.as_bytes()))?;
    if files.is_empty() {
        return Err(none("no file fits: give a path, or a pattern that some fit"));
    }
    // Named as they were asked for, without a leading `./`.
    let file = |file: PathBuf| parent.join(file.file_name().unwrap_or_default());
    Ok(files.into_iter().map(file).collect())
}

/// The files of a directory whose names are chosen, sorted.
fn listed(directory: &Path, chosen: &dyn Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let name = directory.display().to_string();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(Error::io(&name))? {
        let path = entry.map_err(Error::io(&name))?.path();
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !file.starts_with(['.', '_']) && chosen(file) && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a name fits a pattern of `*` and `?`.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    // Where to go on if the last `*` has to stand for more.
    let (mut at, mut of, mut again) = (0, 0, None);
    while of < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                again = Some((at, of));
                at += 1;
            }
            Some(b'?') => (at, of) = (at + 1, next_character(name, of)),
            Some(byte) if *byte == name[of] => (at, of) = (at + 1, of + 1),
            _ => match again {
                Some((star, from)) => {
                    again = Some((star, from + 1));
                    (at, of) = (star + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

fn next_character(name: &[u8], at: usize) -> usize {
    let inside = |byte: &&u8| **byte & 0xc0 == 0x80;
    at + 1 + name[at + 1..].iter().take_while(inside).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_in_a_shell() {
        for (pattern, name) in [
            ("*.csv", "a.csv"),
            ("*", "anything"),
            ("a?c", "aéc"),
            ("part-*-of-*.csv", "part-1-of-10.csv"),
            ("*a*b*", "xxaxxaxbx"),
            ("**", ""),
        ] {
            assert!(fits(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("*.csv", "a.csv.gz"),
            ("a?c", "ac"),
            ("a", "b"),
            ("", "a"),
            ("*a*b", "xxaxxb-"),
            ("?", ""),
        ] {
            assert!(!fits(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
    }
}
