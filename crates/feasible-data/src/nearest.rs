//! "Did you mean …?": the known name closest to a misspelt one.

use crate::error::{Error, Result, shown};

/// The name among `known` most like `name`, when it is like it at all.
///
/// Closeness is the Damerau–Levenshtein distance, letter case aside; a third of the letters
/// may differ.
///
/// ```
/// use feasible_data::nearest;
/// assert_eq!(nearest("gendr", ["age", "gender"]), Some("gender".to_string()));
/// assert_eq!(nearest("salary", ["age", "gender"]), None);
/// ```
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let wanted: String = name.chars().take(200).collect::<String>().to_lowercase();
    let letters = wanted.chars().count();
    let allowed = letters.div_ceil(3);
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        if candidate.len() > 4 * (wanted.len() + 4)
            || candidate.chars().count().abs_diff(letters) > allowed
        {
            continue;
        }
        let distance = strsim::damerau_levenshtein(&wanted, &candidate.to_lowercase());
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate.to_string())
}

/// The data set of this name among all of a kind.
pub(crate) fn named<T>(mut all: Vec<T>, name_of: impl Fn(&T) -> &str, name: &str) -> Result<T> {
    let known: Vec<String> = all.iter().map(|set| name_of(set).to_string()).collect();
    match known.iter().position(|known| known == name) {
        Some(at) => Ok(all.swap_remove(at)),
        None => Err(Error::UnknownDataSet {
            name: name.to_string(),
            nearest: nearest(name, known.iter().map(String::as_str)),
            known,
        }),
    }
}

/// The tail of a message: `: did you mean 'gender'?`, or what there is to choose from.
pub(crate) fn suggestion(nearest: &Option<String>, known: &[String]) -> String {
    match nearest {
        Some(name) => format!(": did you mean '{}'?", shown(name)),
        None if known.is_empty() => String::new(),
        None => {
            let some: Vec<_> =
                known.iter().take(12).map(|name| format!("'{}'", shown(name))).collect();
            let more = if known.len() > 12 { ", …" } else { "" };
            format!(": there are {}{more}", some.join(", "))
        }
    }
}
