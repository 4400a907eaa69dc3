//! How often certificates are wrong, and how wide they are: the table and the picture of the book.
//!
//! ```sh
//! cargo run --release -p feasible --example certificate_validity -- docs/certificate-widths.svg
//! ```
//!
//! 2,000 synthetic populations for every line; some minutes on one core.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

#[path = "../tests/validity/mod.rs"]
mod validity;

use std::fmt::Write;

use feasible::certificate::{Delta, Simultaneous};
use validity::{
    ADVERSE, OVERLAPS, SHAPES, Shape, Tally, bounds_of_the_taken, clipped, differences, families,
    gates, ladders, means, normal_approximation, small_differences, sums,
};

const TRIALS: u64 = 2000;
const SIZES: [usize; 5] = [30, 100, 300, 1000, 3000];

fn main() {
    let delta = Delta::new(0.05).unwrap();
    println!("{TRIALS} populations a line, delta = 0.05; wrong: the bound is on the wrong side\n");
    println!("| population | rows | bound | wrong | mean width |");
    println!("| --- | ---: | --- | ---: | ---: |");
    let line = |what: &str, n: usize, name: &str, tally: &Tally| {
        let (wrong, width) = (100.0 * tally.share(), tally.mean_width());
        println!("| {what} | {n} | {name} | {wrong:.2} % | {width:.4} |");
        assert!(!tally.refutes(0.05), "{what}, {name}: {tally:?}");
    };
    let mut widths = Vec::new();
    for shape in SHAPES {
        for n in SIZES {
            for (name, tally) in means(shape, n, delta, TRIALS) {
                if matches!(n, 100 | 1000) {
                    line(shape.name(), n, &name, &tally);
                }
                widths.push((shape, n, name, tally.mean_width()));
            }
        }
    }
    for shape in ADVERSE {
        for n in [30, 300] {
            for (name, tally) in means(shape, n, delta, TRIALS) {
                line(shape.name(), n, &name, &tally);
            }
        }
    }
    let [bound, p] = sums(200, delta, TRIALS);
    line("difference of means", 400, "betting, δ/2 each, upper", &bound);
    line("difference of means", 400, "its p-value", &p);
    for n in [100, 1000] {
        let [joint, mean, violated] = clipped(n, delta, TRIALS);
        line("heavy tails (Pareto)", n, "clipped: mean, share above, beside two rates", &joint);
        line(
            "heavy tails (Pareto)",
            n,
            "clipped: mean and share above (width: share of the mean)",
            &mean,
        );
        line("heavy tails (Pareto)", n, "VIOLATED where the mean is the limit", &violated);
    }
    for (overlap, name) in OVERLAPS.iter().enumerate() {
        for n in [100, 500] {
            let [above, below] = differences(overlap, n, delta, TRIALS);
            line("difference of rates", n, &format!("{name}, upper"), &above);
            line("difference of rates", n, &format!("{name}, lower"), &below);
        }
    }
    let [above, below] = differences(0, 8000, delta, TRIALS);
    line("difference of rates", 8000, "apart, large groups, upper", &above);
    line("difference of rates", 8000, "apart, large groups, lower", &below);
    for rows in [[5, 5], [20, 300], [300, 20], [10, 2000]] {
        let [above, below] = small_differences(rows, delta, TRIALS);
        let what = format!("rates of {} and {} rows", rows[0], rows[1]);
        line(&what, (rows[0] + rows[1]) as usize, "exact unconditional, upper", &above);
        line(&what, (rows[0] + rows[1]) as usize, "exact unconditional, lower", &below);
    }
    println!(
        "\n| five dependent requirements, 300 rows | met | a CERTIFIED is wrong | a VIOLATED is wrong |"
    );
    println!("| --- | ---: | ---: | ---: |");
    let share = |tally: &Tally| 100.0 * tally.share();
    for simultaneous in [Simultaneous::Holm, Simultaneous::Bonferroni] {
        for met in [0, 2, 5] {
            let [certified, violated] = families(simultaneous, met, 300, delta, TRIALS);
            let (c, v) = (share(&certified), share(&violated));
            println!("| {simultaneous} | {met} of 5 | {c:.2} % | {v:.2} % |");
            assert!(!certified.refutes(0.05) && !violated.refutes(0.05));
        }
    }
    println!("\n| a gate of five requirements, 300 rows | passes | each certified (Holm) |");
    println!("| --- | ---: | ---: |");
    for violated in [1, 2, 5, 0] {
        let [gate, holm] = gates(violated, 300, delta, TRIALS);
        println!("| {violated} violated | {:.2} % | {:.2} % |", share(&gate), share(&holm));
        assert!(violated == 0 || !gate.refutes(0.05));
    }
    let taken = ladders(400, delta, TRIALS);
    println!(
        "\nladders of 8 models with 2 requirements, 400 rows: the model taken violates one in {:.2} %; {:.2} certified \
         on average",
        share(&taken),
        taken.mean_width()
    );
    let alone = bounds_of_the_taken(400, delta, TRIALS);
    println!(
        "a bound for the model taken alone, which is not shown, would be wrong in {:.2} %",
        share(&alone)
    );
    assert!(!taken.refutes(0.05));
    let normal = normal_approximation(100, TRIALS);
    println!(
        "for comparison, the normal approximation at p = 0.01, 100 rows: wrong in {:.2} %",
        100.0 * normal.share()
    );
    if let Some(path) = std::env::args().nth(1) {
        std::fs::write(&path, picture(&widths)).unwrap();
        println!("the picture is in {path}");
    }
}

/// Mean widths against the number of rows, a panel for each shape, both axes logarithmic.
fn picture(widths: &[(Shape, usize, String, f64)]) -> String {
    let colours = [
        ("Hoeffding", "#999999"),
        ("empirical Bernstein", "#e69f00"),
        ("Hoeffding-Bentkus", "#56b4e9"),
        ("betting", "#d55e00"),
        ("Clopper-Pearson", "#000000"),
    ];
    let (wide, high) = (200.0, 190.0);
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 920 290\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"920\" height=\"290\" fill=\"white\"/>\n",
    );
    let (lowest, highest) = (1e-3f64, 0.6f64);
    for (panel, shape) in SHAPES.iter().enumerate() {
        let left = 50.0 + panel as f64 * (wide + 15.0);
        let x = |n: usize| left + wide * (n as f64 / 30.0).ln() / 100f64.ln();
        let y = |w: f64| {
            let w = w.clamp(lowest, highest);
            30.0 + high * (highest / w).ln() / (highest / lowest).ln()
        };
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"30\" width=\"{wide}\" height=\"{high}\" fill=\"none\" \
             stroke=\"#ccc\"/>\n<text x=\"{:.0}\" y=\"20\" text-anchor=\"middle\">{}</text>",
            left + wide / 2.0,
            shape.name()
        );
        for n in SIZES {
            let at = x(n);
            let _ =
                writeln!(svg, "<text x=\"{at:.1}\" y=\"234\" text-anchor=\"middle\">{n}</text>");
        }
        for w in [0.001, 0.01, 0.1] {
            let at = y(w);
            let _ = writeln!(
                svg,
                "<line x1=\"{left}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#eee\"/>",
                left + wide
            );
            if panel == 0 {
                let _ = writeln!(
                    svg,
                    "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{w}</text>",
                    left - 5.0,
                    at + 4.0
                );
            }
        }
        for (name, colour) in colours {
            let of = |(s, n, m, w): &(Shape, usize, String, f64)| {
                (s == shape && m == name).then(|| format!("{:.1},{:.1}", x(*n), y(*w)))
            };
            let points: Vec<String> = widths.iter().filter_map(of).collect();
            if !points.is_empty() {
                let _ = writeln!(
                    svg,
                    "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                    points.join(" ")
                );
            }
        }
    }
    for (i, (name, colour)) in colours.iter().enumerate() {
        let at = 120.0 + 150.0 * i as f64;
        let _ = writeln!(
            svg,
            "<line x1=\"{at}\" x2=\"{}\" y1=\"272\" y2=\"272\" stroke=\"{colour}\" \
             stroke-width=\"2\"/>\n<text x=\"{}\" y=\"276\">{name}</text>",
            at + 20.0,
            at + 25.0
        );
    }
    svg += "<text x=\"460\" y=\"252\" text-anchor=\"middle\">rows; vertical: bound minus sample mean \
            (B = 1, 95 %)</text>\n</svg>\n";
    svg
}
