//! The `where` language: meaning, messages, and that printing and parsing agree.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use feasible_data::{Bins, Encoder, Expression, Format, Preprocessing, Table, UnknownCategories};
use proptest::prelude::*;

fn table() -> Table {
    let csv = b"age,race,hours worked,in\n\
        41,Black,40,a\n\
        38,White,20,b\n\
        ,Asian,60,a\n\
        17,,35,b\n";
    Table::from_bytes("people.csv", csv, &Format::default()).unwrap()
}

fn select(text: &str) -> Vec<u32> {
    let table = table();
    let spec = Preprocessing {
        group: [("race".to_string(), [("Other".to_string(), vec!["Asian".to_string()])].into())]
            .into(),
        bin: [("age".to_string(), Bins::edges(&[20.0, 40.0]))].into(),
        missing: feasible_data::Missing::Category,
        ..Preprocessing::default()
    };
    let encoder = Encoder::fit(&table, &table.all_rows(), &spec, &[]).unwrap();
    let expression = Expression::parse(text).unwrap();
    let again = Expression::parse(&expression.to_string()).unwrap();
    assert!(again.same_as(&expression), "{text} was printed as {expression}");
    let filter = expression.bind(&table, Some(&encoder), UnknownCategories::Reject).unwrap();
    filter.select(&table.all_rows())
}

fn error(text: &str) -> String {
    let table = table();
    let parsed = Expression::parse(text);
    match parsed {
        Err(error) => error.to_string(),
        Ok(expression) => {
            expression.bind(&table, None, UnknownCategories::Reject).unwrap_err().to_string()
        }
    }
}

#[test]
fn comparisons_select_rows() {
    assert_eq!(select("age > 38"), [0]);
    assert_eq!(select("age >= 38"), [0, 1]);
    assert_eq!(select("38 <= age"), [0, 1]);
    assert_eq!(select("age = 41 or age == 17"), [0, 3]);
    assert_eq!(select("race == 'Black' and age > 40"), [0]);
    assert_eq!(select("race in ['Black', 'White']"), [0, 1]);
    assert_eq!(select("age in (41, 17)"), [0, 3]);
    assert_eq!(select("`hours worked` > 35 and \"in\" == 'a'"), [0, 2]);
    assert_eq!(select("age > -1e3"), [0, 1, 3]);
}

#[test]
fn and_binds_tighter_than_or_and_not_tightest() {
    assert_eq!(select("race == 'White' or race == 'Black' and age < 40"), [1]);
    assert_eq!(select("(race == 'White' or race == 'Black') and age > 40"), [0]);
    assert_eq!(select("not race == 'White' and age > 0"), [0]);
    assert_eq!(select("not (race == 'White' and age > 0)"), [0, 2]);
}

#[test]
fn missing_cells_are_neither_equal_nor_unequal() {
    assert_eq!(select("age is missing"), [2]);
    assert_eq!(select("race is missing or age is not missing"), [0, 1, 3]);
    assert_eq!(select("race != 'White'"), [0, 2]);
    assert_eq!(select("not race == 'White'"), [0, 2]);
    assert_eq!(select("race not in ['White']"), [0, 2]);
    assert_eq!(select("age > 0 or race == 'Asian'"), [0, 1, 2, 3]);
}

#[test]
fn encoded_columns_have_their_groups_and_bins() {
    assert_eq!(select("encoded(race) == 'Other'"), [2]);
    assert_eq!(select("encoded(age) == '(20, 40]'"), [1]);
    assert_eq!(select("encoded(age) == '(missing)'"), [2]);
    assert_eq!(select("encoded(age) in ['<= 20', '> 40']"), [0, 3]);
}

#[test]
fn errors_show_the_place_and_the_way_out() {
    assert_eq!(
        error("age > 3 and rase == 'Black'"),
        "at character 13: people.csv has no column 'rase': did you mean 'race'?\n  \
         age > 3 and rase == 'Black'\n              ^"
    );
    for (text, at, part) in [
        ("", 1, "empty"),
        ("race == 'Blak'", 9, "did you mean 'Black'?"),
        ("race == 3", 9, "put the value in quotes, '3'"),
        ("age == '40'", 8, "write 40 without quotes"),
        ("age == 'old'", 8, "column 'age' is numeric and 'old' is text"),
        ("race < 'B'", 1, "use ==, != or in"),
        ("race == \"Black\"", 9, "write text in single quotes, 'Black'"),
        ("race == Black", 9, "write text in single quotes, 'Black'"),
        ("race == 'Black", 9, "never closed"),
        ("(age > 3", 1, "never closed"),
        ("age > 3)", 8, "has no ( before it"),
        ("age > 3 && age < 5", 9, "write and"),
        ("age", 4, "expected a comparison"),
        ("age >", 6, "ends too early"),
        ("3 < 4", 5, "expected a column"),
        ("age in 3", 8, "expected a list"),
        ("age in []", 9, "expected a column, a number or text"),
        ("age is 3", 8, "expected missing"),
        ("age > 1e999", 7, "too large"),
        ("age > 12x", 7, "not a number"),
        ("age # 3", 5, "unexpected"),
        ("encoded(age) == 'x'", 1, "nothing is encoded yet"),
        ("âge == 1", 1, "did you mean 'age'?"),
    ] {
        let message = error(text);
        assert!(message.starts_with(&format!("at character {at}: ")), "{text}: {message}");
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn categories_another_table_lacks_match_nothing_if_so_asked() {
    let table = table();
    let expression = Expression::parse("race == 'Purple' or race == 'White'").unwrap();
    let filter = expression.bind(&table, None, UnknownCategories::MatchNothing).unwrap();
    assert_eq!(filter.mask(), [false, true, false, false]);
}

#[test]
fn hostile_depth_and_length_are_errors_or_fine() {
    for text in ["(".repeat(100_000), "not ".repeat(100_000), "((age>1)".repeat(50_000)] {
        assert!(Expression::parse(&text).is_err());
    }
    let long = vec!["age > 1"; 20_000].join(" or ");
    let expression = Expression::parse(&long).unwrap();
    assert_eq!(expression.columns(), ["age"]);
    assert!(Expression::parse(&expression.to_string()).unwrap().same_as(&expression));
}

fn column() -> impl Strategy<Value = String> {
    let name = prop_oneof!["[a-zA-Z_][a-zA-Z0-9_.-]{0,6}", "\\PC{1,8}"];
    let quoted = name.prop_map(|name| format!("`{}`", name.replace('`', "``")));
    (quoted, any::<bool>()).prop_map(|(name, encoded)| match encoded {
        true => format!("encoded({name})"),
        false => name,
    })
}

fn literal() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<f64>().prop_filter("finite", |x| x.is_finite()).prop_map(|x| format!("{x:e}")),
        (-1000..1000_i32).prop_map(|x| x.to_string()),
        "\\PC{0,8}".prop_map(|text| format!("'{}'", text.replace('\'', "''"))),
    ]
}

fn expression() -> impl Strategy<Value = String> {
    let test = prop_oneof![
        (column(), prop_oneof![Just("=="), Just("!="), Just("<"), Just(">=")], literal())
            .prop_map(|(column, comparison, value)| format!("{column} {comparison} {value}")),
        (column(), prop::collection::vec(literal(), 1..4), any::<bool>()).prop_map(
            |(column, values, not)| {
                format!("{column}{} in [{}]", if not { " not" } else { "" }, values.join(","))
            }
        ),
        (column(), any::<bool>()).prop_map(|(column, not)| format!(
            "{column} is{} missing",
            if not { " not" } else { "" }
        )),
    ];
    test.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| format!("not ({inner})")),
            inner.clone().prop_map(|inner| format!("not {inner}")),
            prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| parts.join(" and ")),
            prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| parts.join(" or ")),
            inner.prop_map(|inner| format!("({inner})")),
        ]
    })
}

proptest! {
    #[test]
    fn printing_and_parsing_again_gives_the_same(text in expression()) {
        let parsed = Expression::parse(&text).unwrap();
        let printed = parsed.to_string();
        let again = Expression::parse(&printed).unwrap();
        prop_assert!(again.same_as(&parsed), "{} was printed as {}", text, printed);
        prop_assert_eq!(again.to_string(), printed);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,40}") {
        if let Err(error) = Expression::parse(&text) {
            error.to_string();
        }
    }

    #[test]
    fn no_sequence_of_words_makes_the_parser_panic(
        words in prop::collection::vec(
            prop::sample::select(vec!["and", "or", "not", "in", "is", "missing", "(", ")", "[", "]",
                ",", "==", "<", "age", "encoded", "'x'", "3", "`a b`", "-", "."]), 0..12)
    ) {
        let _ = Expression::parse(&words.join(" "));
        let _ = Expression::parse(&words.concat());
    }
}

#[test]
fn an_expression_that_is_built_says_what_it_was_built_of_whatever_the_characters() {
    let odd = [
        "a",
        "in",
        "encoded",
        "",
        "a`b",
        "``",
        "`",
        "it's",
        "''",
        "a\"b",
        "a\\b",
        "\\",
        "1",
        "a b",
        "é",
        "x) or (y == 'z",
        "' or 1 == 1 or a == '",
        "\n\t",
        "\u{202e}",
        "\0",
    ];
    for column in odd {
        for category in odd {
            for encoded in [false, true] {
                let built = Expression::is(column, category, encoded);
                let read = Expression::parse(&built.to_string()).unwrap();
                assert!(read.same_as(&built), "{built}");
                assert_eq!(read.columns(), [column]);
                let either = Expression::parse("p == 'q' or r == 's'").unwrap();
                let both = either.and(built);
                assert!(Expression::parse(&both.to_string()).unwrap().same_as(&both), "{both}");
                assert!(both.to_string().starts_with("(p == 'q' or r == 's') and "), "{both}");
            }
        }
    }
}

#[test]
fn nesting_has_an_end_whatever_is_nested() {
    for (open, close) in [("(", ")"), ("not ", ""), ("not (", ")"), ("(((", ")))")] {
        let text = format!("{}a == 1{}", open.repeat(100_000), close.repeat(100_000));
        let error = Expression::parse(&text).unwrap_err().to_string();
        assert!(error.contains("nested more than 64 deep"), "{error}");
        assert!(error.len() < 1_000, "{}", error.len());
    }
    let wide = vec!["a == 1"; 100_000].join(" or ");
    assert_eq!(Expression::parse(&wide).unwrap().columns(), ["a"]);
}

#[test]
fn dates_are_ordered_by_the_calendar() {
    let csv = b"d,t\n2024-02-01,a\n2023-12-31T23:00,b\n,c\n2024-02-01T00:00:01,a\n";
    let table = Table::from_bytes("t.csv", csv, &Format::default()).unwrap();
    let select = |text: &str| -> Result<Vec<u32>, feasible_data::Error> {
        let bound = Expression::parse(text)?.bind(&table, None, UnknownCategories::Reject)?;
        Ok(bound.select(&table.all_rows()))
    };
    assert_eq!(select("d >= '2024-02-01'").unwrap(), [0, 3]);
    assert_eq!(select("d > '2024-02-01'").unwrap(), [3]);
    assert_eq!(select("d < '2024-02-01'").unwrap(), [1]);
    assert_eq!(select("not (d <= '2024-02-01 00:00')").unwrap(), [3]);
    assert_eq!(select("d == '2024-02-01'").unwrap(), [0]);
    for wrong in ["d > 'soon'", "t > '2024-02-01'", "d > 2024"] {
        assert!(select(wrong).unwrap_err().to_string().contains("is text"), "{wrong}");
    }
}
