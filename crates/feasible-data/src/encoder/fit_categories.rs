//! Fitting a categorical column: grouping, rare categories, the order of the categories.

use std::collections::BTreeMap;

use super::Encoding;
use crate::codes::Codes;
use crate::column::{Categories, MISSING};
use crate::error::{Error, Result};
use crate::nearest::nearest;
use crate::preprocessing::{MISSING_CATEGORY, Missing, OTHER_CATEGORY, Preprocessing, Unseen};

pub(super) fn fit_categories(
    name: &str,
    source: &Categories,
    rows: &[u32],
    spec: &Preprocessing,
    missing: Missing,
) -> Result<Encoding> {
    let mut counts = vec![0_usize; source.names.len()];
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
    let rare: Vec<String> = totals
        .iter()
        .filter(|&(_, &n)| n < spec.rare)
        .map(|(category, _)| category.clone())
        .collect();
    if !rare.is_empty() {
        for category in &source.names {
            if rare.contains(groups.get(category).unwrap_or(category)) {
                groups.insert(category.clone(), OTHER_CATEGORY.to_string());
            }
        }
        totals = self::totals(source, &counts, &groups);
    }
    let mut categories = match spec.categories.get(name) {
        Some(declared) => check_declared(name, declared, &totals, spec)?,
        None => Categories::sorted(totals.keys().cloned().collect(), Codes::default()).names,
    };
    let counts: Vec<usize> =
        categories.iter().map(|category| totals.get(category).copied().unwrap_or(0)).collect();
    let Some(usual) = categories.get(most(&counts)).cloned() else {
        return Err(wrong("categories", name, "every training row's value is missing: drop it"));
    };
    let missing = match missing {
        Missing::Reject => None,
        Missing::Category => Some(MISSING_CATEGORY.to_string()),
        Missing::Impute => Some(usual.clone()),
    };
    let keep = absent && missing.as_deref() == Some(MISSING_CATEGORY);
    if keep && !categories.iter().any(|category| category == MISSING_CATEGORY) {
        categories.push(MISSING_CATEGORY.to_string());
    }
    Ok(Encoding::Categories { categories, groups, usual, missing })
}

fn wrong(step: &str, column: &str, reason: &str) -> Error {
    let (step, column, reason) = (step.to_string(), column.to_string(), reason.to_string());
    Error::Preprocessing { step, column, reason }
}

/// Where the largest count is; the first of equals.
pub(super) fn most(counts: &[usize]) -> usize {
    (0..counts.len()).rev().max_by_key(|&at| counts[at]).unwrap_or(0)
}

/// Old category → new category, as the user groups them.
fn groups(
    name: &str,
    source: &Categories,
    spec: &Preprocessing,
) -> Result<BTreeMap<String, String>> {
    let mut groups = BTreeMap::new();
    for (new, olds) in spec.group.get(name).into_iter().flatten() {
        for old in olds {
            if !source.names.contains(old) {
                return Err(Error::UnknownCategory {
                    column: name.to_string(),
                    category: old.clone(),
                    nearest: nearest(old, source.names.iter().map(String::as_str)),
                    known: source.names.clone(),
                });
            }
            if let Some(other) = groups.insert(old.clone(), new.clone()) {
                let reason = format!("category '{old}' is in both '{other}' and '{new}'");
                return Err(wrong("group", name, &reason));
            }
        }
    }
    // A category named like a group it is not part of would silently join it.
    for new in spec.group.get(name).into_iter().flat_map(BTreeMap::keys) {
        if source.names.contains(new) && !groups.contains_key(new) {
            let reason =
                format!("'{new}' is also a category: list it in its group, or rename that");
            return Err(wrong("group", name, &reason));
        }
    }
    groups.retain(|old, new| old != new);
    Ok(groups)
}

/// New category → its training rows, for categories that have any.
fn totals(
    source: &Categories,
    counts: &[usize],
    groups: &BTreeMap<String, String>,
) -> BTreeMap<String, usize> {
    let mut totals = BTreeMap::new();
    for (category, &count) in source.names.iter().zip(counts).filter(|&(_, &count)| count > 0) {
        *totals.entry(groups.get(category).unwrap_or(category).clone()).or_default() += count;
    }
    totals
}

fn check_number(
    name: &str,
    source: &Categories,
    categories: usize,
    spec: &Preprocessing,
) -> Result<()> {
    if categories <= spec.max_categories {
        return Ok(());
    }
    let hint = source.mixed.as_ref().map_or(String::new(), |mixed| {
        format!(
            ". Its first {} cells are numbers and it would be numeric but for '{}' on line {}: \
             correct that, or list it under the file's `missing`",
            mixed.numbers, mixed.value, mixed.line
        )
    });
    let (column, max) = (name.to_string(), spec.max_categories);
    Err(Error::TooManyCategories { column, categories, max, hint })
}

/// The declared categories, if they are distinct and hold every category of the training rows.
fn check_declared(
    name: &str,
    declared: &[String],
    totals: &BTreeMap<String, usize>,
    spec: &Preprocessing,
) -> Result<Vec<String>> {
    for (at, category) in declared.iter().enumerate() {
        if declared[..at].contains(category) {
            return Err(wrong("categories", name, &format!("'{category}' is listed twice")));
        }
    }
    match totals.keys().find(|category| !declared.contains(category)) {
        Some(category) if spec.unseen == Unseen::Error => Err(Error::UnknownCategory {
            column: name.to_string(),
            category: category.clone(),
            nearest: None,
            known: declared.to_vec(),
        }),
        _ => Ok(declared.to_vec()),
    }
}
