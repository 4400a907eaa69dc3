//! Saved models.
//!
//! The bytes are a file as it is, or its parts, so that mutations reach beyond the lengths and offsets of the
//! container: the manifest, a zero byte, the tensors' header, a zero byte, the tensors' numbers.

use feasible_data::{ColumnKind, Limits, Table, Unseen};
use feasible_problem::Gallery;
use feasible_run::{Predictions, SavedModel};

use crate::pictures;

thread_local! {
    static PICTURES: Gallery = gallery();
}

/// A model that is accepted has finite weights, is the same when saved and read again, and predicts finite numbers.
///
/// # Panics
/// If it does not.
pub fn run(bytes: &[u8]) -> bool {
    let file = joined(bytes);
    let Ok(model) = SavedModel::from_bytes("model", file.as_deref().unwrap_or(bytes)) else {
        return false;
    };
    assert!(model.theta().iter().all(|x| x.is_finite()), "weights that are no numbers");
    let saved = match model.to_bytes() {
        Ok(saved) => saved,
        Err(error) => panic!("cannot be saved: {error}"),
    };
    match SavedModel::from_bytes("again", &saved) {
        Ok(again) => {
            let bits = |model: &SavedModel| -> Vec<u32> {
                model.theta().iter().map(|x| x.to_bits()).collect()
            };
            assert_eq!(bits(&again), bits(&model));
            let manifest = |model: &SavedModel| format!("{:?}", model.manifest());
            assert_eq!(manifest(&again), manifest(&model));
        }
        Err(error) => panic!("saved as a model that cannot be read: {error}"),
    }
    match model.manifest().image {
        None => used(&model),
        Some(_) => PICTURES.with(|gallery| {
            if let Ok(predictions) = model.predict_images(gallery, &[0, 1, 2, 3], 1) {
                finite(&predictions);
            }
        }),
    }
    true
}

fn gallery() -> Gallery {
    let made = || -> Result<Gallery, Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        pictures::write(folder.path())?;
        Ok(Gallery::folder(folder.path(), &Limits::default())?)
    };
    match made() {
        Ok(gallery) => gallery,
        Err(error) => panic!("the pictures cannot be read: {error}"),
    }
}

/// The file with these parts.
pub fn joined(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.first() != Some(&b'{') {
        return None;
    }
    let mut parts = bytes.splitn(3, |&byte| byte == 0);
    let (manifest, tensors, numbers) = (parts.next()?, parts.next()?, parts.next()?);
    let manifest = serde_json::to_string(std::str::from_utf8(manifest).ok()?).ok()?;
    let tensors = std::str::from_utf8(tensors).ok()?.trim().strip_prefix('{')?;
    let header = format!("{{\"__metadata__\":{{\"feasible\":{manifest}}},{tensors}");
    let length = (header.len() as u64).to_le_bytes();
    Some([&length, header.as_bytes(), numbers].concat())
}

/// The parts of a file.
pub fn parted(file: &[u8]) -> Option<Vec<u8>> {
    let length = u64::from_le_bytes(file.get(..8)?.try_into().ok()?);
    let end = usize::try_from(length).ok()?.checked_add(8)?;
    let header: serde_json::Value = serde_json::from_slice(file.get(8..end)?).ok()?;
    let mut tensors = header.as_object()?.clone();
    let metadata = tensors.remove("__metadata__")?;
    let manifest = metadata.get("feasible")?.as_str()?;
    let tensors = serde_json::to_string(&tensors).ok()?;
    Some([manifest.as_bytes(), b"\0", tensors.as_bytes(), b"\0", file.get(end..)?].concat())
}

/// Predicts and audits a table of a few rows that has the columns of the model.
fn used(model: &SavedModel) {
    let mut kinds = model.audit_format().kinds;
    kinds.entry(model.manifest().target.column().to_string()).or_insert(ColumnKind::Categorical);
    if kinds.len() > 1 << 10 {
        return;
    }
    let cell = |row: usize, column: &str, kind: ColumnKind| -> Option<String> {
        let variable = model.manifest().inputs.variable(column).ok();
        let categories = variable.and_then(|(variable, _)| variable.categories());
        match (kind, categories) {
            (ColumnKind::Numeric, _) => Some(["0", "1", "-1e3", "41.5"][row].to_string()),
            (ColumnKind::Categorical, Some(categories)) if !categories.is_empty() => {
                Some(categories[row % categories.len()].clone())
            }
            (ColumnKind::Categorical, _) => Some(["a", "b", "high", "low"][row].to_string()),
        }
    };
    let columns = kinds.iter().map(|(name, &kind)| {
        let cells: Vec<Option<String>> = (0..4).map(|row| cell(row, name, kind)).collect();
        match kind {
            ColumnKind::Numeric => {
                let number = |cell: &Option<String>| {
                    cell.as_deref().and_then(|cell| cell.parse().ok()).unwrap_or(f64::NAN)
                };
                feasible_data::Column::numbers(name, cells.iter().map(number).collect())
            }
            ColumnKind::Categorical => {
                feasible_data::Column::categories(name, cells.iter().map(Option::as_deref))
            }
        }
    });
    let Ok(table) = Table::new("rows", columns.collect()) else { return };
    for unseen in [None, Some(Unseen::Other)] {
        if let Ok(predictions) = model.predict(&table, unseen) {
            finite(&predictions);
        }
        if let Ok(audit) = model.audit(&table, unseen) {
            assert!(!audit.to_text().is_empty());
        }
    }
}

fn finite(predictions: &Predictions) {
    assert_eq!(predictions.rows.len(), 4);
    for row in &predictions.rows {
        if predictions.classes.is_empty() {
            assert!(row.value.is_some_and(f64::is_finite), "{row:?}");
            continue;
        }
        assert_eq!(row.probabilities.len(), predictions.classes.len(), "{row:?}");
        assert!(row.probabilities.iter().all(|p| (0.0..=1.0).contains(p)), "{row:?}");
        // Sums of up to some hundred numbers that are rounded to 6e-8 each.
        let sum: f64 = row.probabilities.iter().sum();
        assert!((sum - 1.0).abs() < 1e-4, "{row:?}");
        assert!(row.class.as_ref().is_some_and(|class| predictions.classes.contains(class)));
    }
}
