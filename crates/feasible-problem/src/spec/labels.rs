//! Keys whose values are categories, which may be written as numbers: `positive = 3`.

use std::collections::BTreeMap;

use feasible_data::Label;
use serde::{Deserialize, Deserializer};

type Lists<T> = BTreeMap<String, Vec<T>>;

pub(super) fn one<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<Label>::deserialize(from)?.map(String::from))
}

pub(super) fn lists<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Lists<String>>, D::Error> {
    Ok(Option::<Lists<Label>>::deserialize(from)?.map(texts))
}

pub(super) fn groups<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<BTreeMap<String, Lists<String>>>, D::Error> {
    let read = Option::<BTreeMap<String, Lists<Label>>>::deserialize(from)?;
    Ok(read.map(|columns| columns.into_iter().map(|(name, of)| (name, texts(of))).collect()))
}

fn texts(of: Lists<Label>) -> Lists<String> {
    of.into_iter().map(|(key, list)| (key, list.into_iter().map(String::from).collect())).collect()
}
