//! Images of a problem: a known set or a folder, the same number of each class.

use feasible_data::{Encoder, Format, TargetEncoder};

use super::DataDraft;
use super::parts::{TablePart, Together, keep_back, selected, split};
use crate::error::Result;
use crate::gallery::{self, Gallery};
use crate::spec::{CertifySpec, DataSpec, PerClassSpec, ProblemSource};

impl DataDraft {
    /// As [`DataDraft::load`], where `[data]` speaks of images.
    pub(super) fn load_images(
        source: &ProblemSource,
        spec: &mut DataSpec,
        certify: Option<&CertifySpec>,
    ) -> Result<Self> {
        only_image_keys(source, spec)?;
        if certify.is_some_and(|certify| certify.unit.is_some()) {
            return Err(source.at("certify.unit", "is a column of a table: the data are images"));
        }
        let gallery = match (&spec.folder, &spec.source) {
            (Some(_), Some(_)) => {
                return Err(source.at("data.folder", "give only one of `source` and `folder`"));
            }
            (Some(folder), None) => {
                Gallery::folder(folder, &spec.limits.clone().unwrap_or_default())?
            }
            (None, name) => {
                let name = name.as_deref().unwrap_or_default();
                Gallery::named(name, spec.directory.as_deref())?
            }
        };
        let given = gallery.split();
        let parts = match given.validation.is_empty() && given.test.is_empty() {
            true => vec![(TablePart::All, given.train.clone())],
            false => vec![
                (TablePart::Train, given.train.clone()),
                (TablePart::Validation, given.validation.clone()),
                (TablePart::Test, given.test.clone()),
            ],
        };
        let parts = selected(source, spec, gallery.table(), parts)?;
        let known = spec.source.is_some();
        // As in the paper, unless a share was asked for.
        let usual = (known && spec.split.is_none()).then_some(100);
        let mut split = split(source, spec, None, gallery.table(), parts, &Together::Each)?;
        let mut per_class = spec.per_class.unwrap_or_default();
        per_class.validation =
            per_class.validation.or(usual.filter(|_| split.validation.is_empty()));
        let PerClassSpec { train, validation, test, seed } = per_class;
        let images = gallery.images();
        let wrong = |error: feasible_data::Error| source.at("data.per_class", error.to_string());
        if [train, validation, test].contains(&Some(0)) {
            return Err(source.at("data.per_class", "must be at least 1 in each part"));
        }
        if let Some(count) = validation {
            if !split.validation.is_empty() {
                let message = "the folder or `split` already sets validation images apart";
                return Err(source.at("data.per_class.validation", message));
            }
            (split.train, split.validation) =
                images.hold_out(&split.train, count, seed).map_err(wrong)?;
        }
        if let Some(count) = train {
            split.train = images.at_most(&split.train, count, seed).map_err(wrong)?;
        }
        if let Some(count) = test {
            split.test = images.at_most(&split.test, count, seed).map_err(wrong)?;
        }
        spec.per_class = Some(per_class).filter(|given| *given != PerClassSpec::default());
        let unit = certify.and_then(|certify| certify.unit.as_deref());
        let together = Together::new(unit, None);
        let reserve_rows = match certify {
            Some(certify) => keep_back(source, certify, gallery.table(), &mut split, &together)?,
            None => Vec::new(),
        };
        let classes = gallery.classes_of(&split.train);
        if classes.len() < 2 {
            let message = format!(
                "the training images of {} are all of one class, '{}': there is nothing to learn",
                gallery.table().name(),
                classes.concat()
            );
            return Err(source.at("data", message));
        }
        let target = TargetEncoder::of_classes(gallery::CLASS, classes);
        let hashes = gallery.hashes();
        let (images, _, table) = gallery.into_parts();
        Ok(Self {
            table,
            split,
            reserve_rows,
            encoder: Encoder::of_nothing(),
            target,
            hashes,
            format: Format::default(),
            set: None,
            notes: images.identity().warnings.clone(),
            store_notes: Vec::new(),
            took_validation: false,
            copies: None,
            images: Some(images),
            weight: None,
            large: false,
        })
    }
}

/// Keys that only a table has a use for are not silently ignored.
fn only_image_keys(source: &ProblemSource, spec: &DataSpec) -> Result<()> {
    let others = DataSpec {
        source: None,
        directory: None,
        folder: None,
        per_class: None,
        augment: None,
        limits: None,
        rows: None,
        split: None,
        ..spec.clone()
    };
    let text = toml::Table::try_from(&others).unwrap_or_default();
    match text.keys().next() {
        Some(key) => Err(source.at(
            &format!("data.{key}"),
            "is for tables: images have `source` or `folder`, `directory`, `per_class`, `augment`, `rows`, \
             `split`, `limits`",
        )),
        None => Ok(()),
    }
}
