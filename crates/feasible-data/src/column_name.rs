//! What a column may be by its name: a number that identifies its row, a code, a property of people that laws protect.
//!
//! Names are compared by their words: `ZipCode`, `zip_code` and `zip code` are one. What follows from a name is never
//! more than a note or a proposal, unless the cells agree with it.
//!
//! ```
//! use feasible_data::column_name::{is_code, is_identifier, is_sensitive};
//! assert!(is_identifier("customerID") && is_identifier("Unnamed: 0"));
//! assert!(is_code("zip_code") && !is_code("codeine"));
//! assert!(is_sensitive("personal-status-sex") && is_sensitive("Age") && !is_sensitive("mileage"));
//! ```

/// Words of columns that identify rows.
const IDENTIFIERS: [&str; 9] =
    ["id", "ids", "identifier", "uuid", "guid", "index", "rownames", "rowname", "unnamed"];
/// Words of columns whose numbers are names.
const CODES: [&str; 16] = [
    "zip",
    "zipcode",
    "postcode",
    "postal",
    "plz",
    "code",
    "codes",
    "fips",
    "icd",
    "sic",
    "naics",
    "iso",
    "ssn",
    "phone",
    "telephone",
    "district",
];
/// Words of columns that say what people are rather than what they do.
const SENSITIVE: [&str; 29] = [
    "sex",
    "gender",
    "female",
    "male",
    "race",
    "ethnicity",
    "ethnic",
    "black",
    "white",
    "hispanic",
    "color",
    "colour",
    "age",
    "religion",
    "religious",
    "disability",
    "disabled",
    "handicap",
    "nationality",
    "citizenship",
    "citizen",
    "immigrant",
    "foreign",
    "native",
    "marital",
    "married",
    "pregnant",
    "pregnancy",
    "caste",
];

/// The words of a name in lower case: at separators, and where a capital follows a small letter.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut small = false;
    for c in name.chars() {
        let ends = !c.is_alphanumeric() || (c.is_uppercase() && small);
        if ends {
            words.push(String::new());
        }
        small = c.is_lowercase();
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn has_any(name: &str, of: &[&str]) -> bool {
    words(name).iter().any(|word| of.contains(&word.as_str()))
}

/// Whether a column is named as one that identifies its rows.
pub fn is_identifier(name: &str) -> bool {
    has_any(name, &IDENTIFIERS)
}

/// Whether it is a first column without a name, as tables with a column of row numbers often have.
pub fn is_nameless(name: &str) -> bool {
    words(name) == ["column", "1"]
}

/// Whether a column is named as one whose numbers are names of things.
pub fn is_code(name: &str) -> bool {
    has_any(name, &CODES)
}

/// Whether a column is named as a property of people that they are not to be judged by.
pub fn is_sensitive(name: &str) -> bool {
    has_any(name, &SENSITIVE)
}

/// Whether a column is named as an age.
pub fn is_age(name: &str) -> bool {
    has_any(name, &["age"])
}
