//! Adult: does a person of the 1994 census earn more than 50,000 dollars a year?

use super::{DataSet, EmbeddedFile, group, strings};
use crate::counterfactual::Counterfactual;
use crate::format::Format;
use crate::preprocessing::{Bins, Preprocessing};
use crate::target::TargetSpec;

const COLUMNS: [&str; 15] = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "educational-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "gender",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
];

const PARTS: [EmbeddedFile; 2] = [
    EmbeddedFile {
        file: "adult-train.csv.zst",
        bytes: include_bytes!("../../data/adult-train.csv.zst"),
        sha256: "539e6ab29f325f205d81fb2b6e46fa94400adce9ed290a8dd9c78b0f7d2513be",
        rows: 32_561,
    },
    EmbeddedFile {
        file: "adult-test.csv.zst",
        bytes: include_bytes!("../../data/adult-test.csv.zst"),
        sha256: "69b0caa1251c5493cfc3baa3eeaa38dbdffcb251e8c3d7af59e62c45fd7ebc90",
        rows: 16_281,
    },
];

impl DataSet {
    /// Adult, prepared as in the paper's table "Preprocessing of the Adult dataset".
    ///
    /// `?` is kept as a category. The groups' names are ours; the paper names their members only.
    pub fn adult() -> Self {
        let original = Format {
            header: false,
            names: strings(&COLUMNS),
            delimiter: Some(','),
            comment: Some('|'),
            strip_suffix: Some(".".to_string()),
            ..Format::default()
        };
        Self {
            name: "adult",
            title: "Adult: income over 50,000 dollars, 1994 census, 48,842 people",
            source: "B. Becker and R. Kohavi, UCI Machine Learning Repository (1996), \
                     doi:10.24432/C5XW20",
            licence: "CC BY 4.0",
            parts: &PARTS,
            target: TargetSpec::new("income").positive(">50K"),
            preprocessing: preprocessing(),
            keep: None,
            split: None,
            counterfactuals: vec![Counterfactual::swap("gender", "Male", "Female")],
            originals: vec![("adult.data", original.clone()), ("adult.test", original)],
        }
    }
}

fn preprocessing() -> Preprocessing {
    let education = group(&[(
        "Before-HS-grad",
        &["Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th"],
    )]);
    let race = group(&[("Other", &["Other", "Amer-Indian-Eskimo"])]);
    let marital = group(&[
        ("Married", &["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"]),
        ("Divorced-or-separated", &["Divorced", "Separated"]),
    ]);
    let country = group(&[
        (
            "Latin-America",
            &[
                "Columbia",
                "Cuba",
                "Guatemala",
                "Haiti",
                "Ecuador",
                "El-Salvador",
                "Dominican-Republic",
                "Honduras",
                "Jamaica",
                "Nicaragua",
                "Peru",
                "Trinadad&Tobago",
            ],
        ),
        (
            "Europe",
            &[
                "England",
                "France",
                "Germany",
                "Greece",
                "Holand-Netherlands",
                "Hungary",
                "Italy",
                "Ireland",
                "Portugal",
                "Scotland",
                "Poland",
                "Yugoslavia",
            ],
        ),
        ("South-East-Asia", &["Cambodia", "Laos", "Philippines", "Thailand", "Vietnam"]),
        ("China-Hong-Kong-Taiwan", &["China", "Hong", "Taiwan"]),
        ("US", &["United-States", "Outlying-US(Guam-USVI-etc)", "Puerto-Rico"]),
    ]);
    Preprocessing {
        drop: strings(&[
            "fnlwgt",
            "educational-num",
            "relationship",
            "capital-gain",
            "capital-loss",
        ]),
        group: [
            ("education".to_string(), education),
            ("race".to_string(), race),
            ("marital-status".to_string(), marital),
            ("native-country".to_string(), country),
        ]
        .into(),
        bin: [
            ("age".to_string(), Bins::quantiles(6)),
            ("hours-per-week".to_string(), Bins::edges(&[40.0])),
        ]
        .into(),
        ..Preprocessing::default()
    }
}
