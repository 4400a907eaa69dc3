//! Fitting a category: grouping, rare levels, the order of the levels.

use std::collections::BTreeMap;

use super::Encoding;
use crate::codes::Codes;
use crate::column::{Levels, MISSING};
use crate::error::{Error, Result};
use crate::nearest::nearest;
use crate::preprocessing::{MISSING_LEVEL, Missing, OTHER_LEVEL, Preprocessing, Unseen};

pub(super) fn fit_levels(
    name: &str,
    source: &Levels,
    rows: &[u32],
    spec: &Preprocessing,
    missing: Missing,
) -> Result<Encoding> {
    let mut counts = vec![0_usize; source.levels.len()];
    let mut absent = false;
    for &row in rows {
        match source.codes.get(row as usize) {
            MISSING => absent = true,
            code => counts[code as usize] += 1,
        }
    }
    let mut groups = groups(name, source, spec)?;
    let mut totals = totals(source, &counts, &groups);
    check_number(name, source, totals.len(), spec)?;
    let rare: Vec<String> =
        totals.iter().filter(|&(_, &n)| n < spec.rare).map(|(level, _)| level.clone()).collect();
    if !rare.is_empty() {
        for level in &source.levels {
            if rare.contains(groups.get(level).unwrap_or(level)) {
                groups.insert(level.clone(), OTHER_LEVEL.to_string());
            }
        }
        totals = self::totals(source, &counts, &groups);
    }
    let mut levels = match spec.levels.get(name) {
        Some(declared) => check_declared(name, declared, &totals, spec)?,
        None => Levels::sorted(totals.keys().cloned().collect(), Codes::default()).levels,
    };
    let counts: Vec<usize> =
        levels.iter().map(|level| totals.get(level).copied().unwrap_or(0)).collect();
    let Some(usual) = levels.get(most(&counts)).cloned() else {
        return Err(wrong("levels", name, "every training row's value is missing: drop it"));
    };
    let missing = match missing {
        Missing::Reject => None,
        Missing::Level => Some(MISSING_LEVEL.to_string()),
        Missing::Impute => Some(usual.clone()),
    };
    let keep = absent && missing.as_deref() == Some(MISSING_LEVEL);
    if keep && !levels.iter().any(|level| level == MISSING_LEVEL) {
        levels.push(MISSING_LEVEL.to_string());
    }
    Ok(Encoding::Levels { levels, groups, usual, missing })
}

fn wrong(step: &str, column: &str, reason: &str) -> Error {
    let (step, column, reason) = (step.to_string(), column.to_string(), reason.to_string());
    Error::Preprocessing { step, column, reason }
}

/// Where the largest count is; the first of equals.
pub(super) fn most(counts: &[usize]) -> usize {
    (0..counts.len()).rev().max_by_key(|&at| counts[at]).unwrap_or(0)
}

/// Old level → new level, as the user groups them.
fn groups(name: &str, source: &Levels, spec: &Preprocessing) -> Result<BTreeMap<String, String>> {
    let mut groups = BTreeMap::new();
    for (new, olds) in spec.group.get(name).into_iter().flatten() {
        for old in olds {
            if !source.levels.contains(old) {
                return Err(Error::UnknownLevel {
                    column: name.to_string(),
                    level: old.clone(),
                    nearest: nearest(old, source.levels.iter().map(String::as_str)),
                    known: source.levels.clone(),
                });
            }
            if let Some(other) = groups.insert(old.clone(), new.clone()) {
                let reason = format!("level '{old}' is in both '{other}' and '{new}'");
                return Err(wrong("group", name, &reason));
            }
        }
    }
    // A level named like a group it is not part of would silently join it.
    for new in spec.group.get(name).into_iter().flat_map(BTreeMap::keys) {
        if source.levels.contains(new) && !groups.contains_key(new) {
            let reason = format!("'{new}' is also a level: list it in its group, or rename that");
            return Err(wrong("group", name, &reason));
        }
    }
    groups.retain(|old, new| old != new);
    Ok(groups)
}

/// New level → its training rows, for levels that have any.
fn totals(
    source: &Levels,
    counts: &[usize],
    groups: &BTreeMap<String, String>,
) -> BTreeMap<String, usize> {
    let mut totals = BTreeMap::new();
    for (level, &count) in source.levels.iter().zip(counts).filter(|&(_, &count)| count > 0) {
        *totals.entry(groups.get(level).unwrap_or(level).clone()).or_default() += count;
    }
    totals
}

fn check_number(name: &str, source: &Levels, levels: usize, spec: &Preprocessing) -> Result<()> {
    if levels <= spec.max_levels {
        return Ok(());
    }
    let hint = source.mixed.as_ref().map_or(String::new(), |mixed| {
        format!(
            ". Its first {} cells are numbers and it would be numeric but for '{}' on line {}: \
             correct that, or list it under the file's `missing`",
            mixed.numbers, mixed.value, mixed.line
        )
    });
    let (column, max) = (name.to_string(), spec.max_levels);
    Err(Error::TooManyLevels { column, levels, max, hint })
}

/// The declared levels, if they are distinct and hold every level of the training rows.
fn check_declared(
    name: &str,
    declared: &[String],
    totals: &BTreeMap<String, usize>,
    spec: &Preprocessing,
) -> Result<Vec<String>> {
    for (at, level) in declared.iter().enumerate() {
        if declared[..at].contains(level) {
            return Err(wrong("levels", name, &format!("'{level}' is listed twice")));
        }
    }
    match totals.keys().find(|level| !declared.contains(level)) {
        Some(level) if spec.unseen == Unseen::Error => Err(Error::UnknownLevel {
            column: name.to_string(),
            level: level.clone(),
            nearest: None,
            known: declared.to_vec(),
        }),
        _ => Ok(declared.to_vec()),
    }
}
