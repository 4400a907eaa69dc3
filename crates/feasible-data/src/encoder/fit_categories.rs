//! Fitting a categorical column: grouping, rare categories, the order of the categories.

use std::collections::{BTreeMap, BTreeSet};

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
) -> Result<(Encoding, Option<String>)> {
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
    let rare: BTreeSet<String> = totals
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
    let note = match spec.categories.contains_key(name) {
        true => None,
        false => pool(name, source, &mut totals, spec)?,
    };
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
    let pooled = note.is_some();
    let note = note.or_else(|| nearly_numbers(source));
    Ok((Encoding::Categories { categories, groups, usual, missing, pooled }, note))
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

/// Where there are more than `max_categories`, keeps the most frequent that are in two rows or more, and adds up the
/// others as `(other)`. Of equals the first in sorted order are kept. Gives a sentence about it.
///
/// # Errors
/// So many because numbers were read as text for the sake of a few cells.
fn pool(
    name: &str,
    source: &Categories,
    totals: &mut BTreeMap<String, usize>,
    spec: &Preprocessing,
) -> Result<Option<String>> {
    let (categories, max) = (totals.len(), spec.max_categories);
    if categories <= max {
        return Ok(None);
    }
    if let Some(mixed) = &source.mixed {
        let hint = format!(
            ". Its first {} cells are numbers and it would be numeric but for '{}' on line {}: \
             correct that, or list it under the file's `missing`",
            mixed.numbers, mixed.value, mixed.line
        );
        return Err(Error::TooManyCategories { column: name.to_string(), categories, max, hint });
    }
    let mut order: Vec<(&String, usize)> =
        totals.iter().filter(|(of, _)| *of != OTHER_CATEGORY).map(|(of, &n)| (of, n)).collect();
    order.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let kept = order.iter().take(max.saturating_sub(1)).take_while(|(_, count)| *count > 1).count();
    let rest: BTreeSet<String> = order[kept..].iter().map(|(of, _)| (*of).clone()).collect();
    let rows: usize = order[kept..].iter().map(|(_, count)| count).sum();
    totals.retain(|category, _| !rest.contains(category));
    *totals.entry(OTHER_CATEGORY.to_string()).or_default() += rows;
    Ok(Some(format!(
        "{categories} categories are more than max_categories = {max}: the {kept} most frequent are kept, the others \
         ({rows} training rows) become {OTHER_CATEGORY}, and so do unseen ones"
    )))
}

/// What to know of a column of text in which nearly every category is a number.
fn nearly_numbers(source: &Categories) -> Option<String> {
    let mixed = source.mixed.as_ref()?;
    let numbers = source.names.iter().filter(|name| name.parse::<f64>().is_ok()).count();
    let few = source.names.len() < 10 || (numbers as f64) < 0.9 * source.names.len() as f64;
    (!few).then(|| {
        format!(
            "its numbers are taken for categories because of '{}' on line {}: correct that, or list it under the \
             file's `missing` ([data.format])",
            mixed.value, mixed.line
        )
    })
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
