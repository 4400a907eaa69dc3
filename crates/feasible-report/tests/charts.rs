//! Charts: as they were looked at and found good, and harmless whatever they are given.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use feasible_report::chart::{Axis, Bar, Bars, Chart, Mark, Scale, Series, css, histogram};
use proptest::prelude::*;

/// Reads an SVG as XML far enough to know that tags are balanced, attributes quoted and nothing
/// but the elements and attributes that charts are made of is there. Gives the text between tags.
fn well_formed(svg: &str) -> String {
    const ELEMENTS: [&str; 11] = [
        "svg", "title", "desc", "metadata", "style", "g", "path", "rect", "circle", "text", "tspan",
    ];
    const ATTRIBUTES: [&str; 19] = [
        "xmlns",
        "class",
        "viewBox",
        "role",
        "aria-labelledby",
        "id",
        "d",
        "x",
        "y",
        "x1",
        "x2",
        "cx",
        "cy",
        "r",
        "width",
        "height",
        "style",
        "stroke-dasharray",
        "tabindex",
    ];
    let (mut open, mut text, mut rest) = (Vec::new(), String::new(), svg);
    while let Some(start) = rest.find('<') {
        text += &rest[..start];
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
            continue;
        }
        let (tag, closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(ELEMENTS.contains(&name), "<{name}>");
        while !attributes.is_empty() {
            let (key, value) = attributes.split_once("=\"").expect("attributes are quoted");
            assert!(ATTRIBUTES.contains(&key), "{key}");
            let (value, more) = value.split_once('"').expect("quotes are closed");
            assert!(
                !value.contains('<') && !value.contains("NaN") && !value.contains("inf"),
                "{value}"
            );
            attributes = more.trim_start();
        }
        if !closed {
            open.push(name);
        }
    }
    assert!(open.is_empty() && rest.is_empty(), "{open:?} {rest}");
    text
}

fn robust() -> Chart {
    let curve = |scale: f64| -> Vec<(f64, f64)> {
        (0..9)
            .map(|k| f64::from(k) * 0.01)
            .map(|e| (e, 0.93 * (-(e / scale).powi(2)).exp()))
            .collect()
    };
    let band =
        |points: &[(f64, f64)]| points.iter().map(|&(x, y)| (x, y - 0.02, y + 0.02)).collect();
    let (nominal, held) = (curve(0.015), curve(0.09));
    Chart::new("Accuracy under attack")
        .x(Axis::new("ε"))
        .y(Axis::new("accuracy").including(&[0.0, 1.0]))
        .series(Series::line("nominal", nominal.clone()).with_band(band(&nominal)))
        .series(Series::new("ε = 0.04", Mark::LineAndDots, held.clone()).with_band(band(&held)))
        .rule(0.04, "trained at")
        .shade(0.7, f64::INFINITY, "good enough")
}

#[test]
fn a_chart_of_lines_with_bands_is_as_reviewed() {
    insta::assert_snapshot!(robust().to_inline("robust"));
    well_formed(&robust().to_svg());
}

#[test]
fn bars_with_intervals_are_as_reviewed() {
    let bars =
        [("Masters", 0.113, 0.053), ("married", 0.244, 0.473)].map(|(name, value, all)| Bar {
            interval: Some((value - 0.02, value + 0.03)),
            reference: Some(all),
            ..Bar::new(name, value)
        });
    let chart = Bars::new("Among the hardest 20 %", "share", bars.to_vec());
    insta::assert_snapshot!(chart.to_inline("bars"));
    well_formed(&chart.to_svg());
}

#[test]
fn a_histogram_counts_every_finite_value_once() {
    let values: Vec<f64> = (0..1000).map(|k| f64::from(k % 97) / 10.0).chain([f64::NAN]).collect();
    let chart = histogram("λ", "λ", &values);
    let svg = chart.to_svg();
    let text = well_formed(&svg);
    // `0 to 0.5: 55 (5.5 %)`: the counts in the titles of the bars add up.
    let counts = text
        .split(" %)")
        .filter_map(|t| t.rsplit_once(": ")?.1.split_once(" (")?.0.parse::<u32>().ok());
    assert_eq!(counts.sum::<u32>(), 1000);
    assert!(chart.description().contains("1 that are not finite are left out"));
}

#[test]
fn a_million_points_stay_small() {
    let points =
        |k: i32| (0..1_000_000).map(move |i| (f64::from(i), f64::from((i * k) % 1013))).collect();
    let lines = Chart::new("many")
        .series(Series::line("a", points(7)))
        .series(Series::step("b", points(3)));
    let dots = Chart::new("many").series(Series::dots("a", points(7)));
    for chart in [lines, dots] {
        let svg = chart.to_svg();
        assert!(svg.len() < 200_000, "{}", svg.len());
    }
    let values: Vec<f64> = (0..1_000_000).map(f64::from).collect();
    assert!(histogram("many", "x", &values).to_svg().len() < 30_000);
}

#[test]
fn nothing_and_almost_nothing_are_drawn() {
    let of = |points: &[(f64, f64)], scale: Scale| {
        Chart::new("t").y(Axis::new("y").scaled(scale)).series(Series::line("s", points.to_vec()))
    };
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    for scale in [Scale::Linear, Scale::Log, Scale::SignedLog { linear: 1e-3 }] {
        let empty = [of(&[], scale), of(&[(nan, 1.0), (1.0, nan), (inf, -inf)], scale)];
        for chart in empty {
            assert!(well_formed(&chart.to_svg()).contains("nothing to show"));
        }
        // A line of one point is a dot.
        assert!(of(&[(3.0, 2.0)], scale).to_svg().contains("<circle"));
        // A gap is a gap, and the point between two gaps is a dot.
        let gaps =
            of(&[(0.0, 1.0), (1.0, nan), (2.0, 2.0), (3.0, nan), (4.0, 1.0), (5.0, 3.0)], scale);
        let svg = gaps.to_inline("g");
        assert_eq!(svg.matches("class=\"l c0\"").count(), 1);
        assert!(
            gaps.description().contains("2 values that have no place"),
            "{}",
            gaps.description()
        );
    }
    let negative = of(&[(0.0, -1.0), (1.0, 1.0)], Scale::Log);
    assert!(negative.description().contains("1 values that have no place"));
    well_formed(&Bars::new("b", "x", vec![]).to_svg());
    well_formed(&Bars::new("b", "x", vec![Bar::new("n", nan), Bar::new("i", inf)]).to_svg());
    assert!(histogram("h", "x", &[]).to_svg().contains("nothing to show"));
    well_formed(&histogram("h", "x", &[5.0; 7]).to_svg());
}

#[test]
fn every_chart_has_a_title_a_description_and_values_on_hover() {
    let svg = robust().to_svg();
    assert!(svg.contains("<title id=\"chart-t\">Accuracy under attack</title>"));
    assert!(svg.contains("<desc id=\"chart-d\">") && svg.contains("role=\"img\""));
    assert!(robust().description().contains("nominal: 0.93 at ε 0"));
    assert_eq!(svg.matches("class=\"tip\"").count(), 9);
    assert!(css().contains(".tip:hover .on{visibility:visible}"));
    assert!(css().contains("prefers-color-scheme:dark"));
    // The one address is the name of the format.
    assert!(!svg.contains("<script") && svg.matches("http").count() == 1);
}

#[test]
fn hostile_names_are_text() {
    let hostile = [
        "<script>alert(1)</script>",
        "\"onload=\"alert(1)",
        "</svg><img src=x onerror=alert(1)>",
        "]]>&amp;&#x3c;",
        "\u{0}\u{1}\u{1b}[31m\u{fffe}",
        "\u{202e}evil\u{2066}",
        "שלום עולם",
        "😀👩‍👩‍👧‍👦",
        &"x".repeat(10_000),
    ];
    for name in hostile {
        let chart = Chart::new(name)
            .x(Axis::new(name))
            .y(Axis::new(name))
            .series(Series::line(name, vec![(0.0, 1.0), (1.0, 2.0)]))
            .series(Series::line(name, vec![(0.0, 1.0), (1.0, 2.0)]))
            .shade(0.0, 1.0, name)
            .rule(0.5, name);
        let bars = Bars::new(name, name, vec![Bar::new(name, 1.0)]);
        for svg in [
            chart.to_svg(),
            chart.to_inline("x"),
            bars.to_svg(),
            histogram(name, name, &[1.0]).to_svg(),
        ] {
            well_formed(&svg);
            assert!(!svg.contains(|c: char| c != '\n' && feasible_data::is_hidden(c)), "{svg}");
        }
    }
}

/// Numbers of every kind, and everyday ones.
fn numbers() -> impl Strategy<Value = f64> {
    prop_oneof![proptest::num::f64::ANY, -10.0..10.0_f64]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_text_and_any_numbers_give_a_well_formed_chart(
        name in any::<String>(),
        points in prop::collection::vec((numbers(), numbers()), 0..40),
        which in 0..4_usize,
        level in numbers(),
    ) {
        let scale = [Scale::Linear, Scale::Log, Scale::SignedLog { linear: level }, Scale::Linear][which];
        let mark = [Mark::Line, Mark::Step, Mark::Dots, Mark::Bars][which];
        let band = points.iter().map(|&(x, y)| (x, y, level)).collect();
        let values: Vec<f64> = points.iter().map(|p| p.1).collect();
        let chart = Chart::new(&name)
            .x(Axis::new(&name).scaled(if mark == Mark::Bars { Scale::Linear } else { scale }))
            .y(Axis::new(&name).scaled(scale).including(&[level]))
            .series(Series::new(&name, mark, points).with_band(band))
            .shade(level, f64::INFINITY, &name)
            .rule(level, &name);
        let svg = chart.to_svg();
        well_formed(&svg);
        prop_assert_eq!(&svg, &chart.clone().to_svg());
        well_formed(&histogram(&name, &name, &values).to_svg());
        let bars = values.iter().map(|&v| Bar { interval: Some((level, v)), ..Bar::new(&name, v) });
        well_formed(&Bars::new(&name, &name, bars.collect()).to_svg());
    }
}
