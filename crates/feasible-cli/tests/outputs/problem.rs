//! Random tables and problem files: of every kind that a user might write, impossible and trivial ones included.

use super::support::random;

/// A table and a problem about it.
pub struct Drawn {
    pub seed: u64,
    pub csv: String,
    /// Other rows of the same population.
    pub fresh: String,
    pub toml: String,
}

/// Fresh rows.
const FRESH: usize = 150;

/// A stream of choices.
struct Draw(u64);

impl Draw {
    fn unit(&mut self) -> f64 {
        random(&mut self.0) as f64 / (1u64 << 31) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        ((self.unit() * n as f64) as usize).min(n - 1)
    }

    fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// About standard normal.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// What is predicted.
#[derive(Clone, Copy, PartialEq)]
enum Target {
    Classes(usize),
    /// A number, of this size.
    Number(f64),
}

/// The problem of a seed.
pub fn draw(seed: u64) -> Drawn {
    let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed);
    // The first numbers of neighbouring seeds are alike.
    for _ in 0..4 {
        draw.unit();
    }
    let target = match draw.below(10) {
        0..=5 => Target::Classes(2),
        6 => Target::Classes(3),
        7 => Target::Classes(4),
        8 => Target::Number(1.0),
        _ => Target::Number(100.0),
    };
    let certify = draw.of(&["", "", "", "", "", "", "alone", "ladder"]);
    let (csv, fresh) = table(&mut draw, target, !certify.is_empty());
    let toml = problem(&mut draw, target, certify);
    Drawn { seed, csv, fresh, toml }
}

/// A table, and one of fresh rows.
fn table(draw: &mut Draw, target: Target, large: bool) -> (String, String) {
    let rows = (20.0 * 25f64.powf(draw.unit())) as usize;
    let rows = if large { rows.max(300) } else { rows };
    let numbers = 1 + draw.below(3);
    let groups = 2 + draw.below(2);
    let missing = if draw.chance(0.3) { 0.05 } else { 0.0 };
    let weights: Vec<f64> = (0..numbers).map(|_| 1.5 * draw.normal()).collect();
    let (shift, noise) = (draw.normal(), draw.of(&[0.1, 0.5, 2.0]));
    let mut head: String = (0..numbers).map(|at| format!("x{at},")).collect();
    head += "colour,g,y\n";
    // Their stream does not move that of the problem.
    let mut other = Draw(draw.0 ^ 0xf1e5_4000);
    let rows_of = |draw: &mut Draw, rows: usize| {
        let mut text = head.clone();
        for row in 0..rows {
            let x: Vec<f64> = (0..numbers).map(|_| draw.normal()).collect();
            let colour = draw.of(&["red", "green", "blue"]);
            // Every group and class is there.
            let group = if row < 8 { row % groups } else { draw.below(groups) };
            let score = x.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>()
                + if group == 0 { shift } else { 0.0 }
                + noise * draw.normal();
            for x in &x {
                text += &if draw.chance(missing) { ",".to_string() } else { format!("{x:.3},") };
            }
            let name = ["a", "b", "c"][group];
            text += &match target {
                Target::Classes(2) => {
                    let yes = if row < 8 { row / 2 % 2 == 0 } else { score > 0.3 };
                    format!("{colour},{name},{}\n", if yes { "yes" } else { "no" })
                }
                Target::Classes(k) => {
                    let class =
                        if row < 8 { row % k } else { (score + k as f64 / 2.0).max(0.0) as usize };
                    format!("{colour},{name},k{}\n", class.min(k - 1))
                }
                Target::Number(size) => format!("{colour},{name},{:.4}\n", size * score),
            };
        }
        text
    };
    (rows_of(draw, rows), rows_of(&mut other, FRESH))
}

fn problem(draw: &mut Draw, target: Target, certify: &str) -> String {
    let mut text =
        String::from("\n[data]\nfile = \"table.csv\"\ntarget = \"y\"\nmissing = \"impute\"\n");
    if target == Target::Classes(2) {
        text += "positive = \"yes\"\n";
    }
    let seed = draw.below(100);
    text += &match draw.below(4) {
        0 => String::new(),
        1 => format!("split = {{ validation = 0.2, test = 0.2, seed = {seed} }}\n"),
        2 => format!("split = {{ validation = 0.3, seed = {seed} }}\n"),
        _ => format!("split = {{ test = 0.3, seed = {seed} }}\n"),
    };
    text += match certify {
        "" => "",
        "alone" => "\n[certify]\nconfidence = 0.9\nreserve = 0.4\nall_but = 0.1\n",
        _ => "\n[certify]\nconfidence = 0.9\nreserve = 0.4\nall_but = 0.1\nladder = [1.0, 0.3]\n",
    };
    text += draw.of(&[
        "\n[model]\nkind = \"linear\"\n",
        "\n[model]\nkind = \"kernel\"\ncentres = 8\n",
        "\n[model]\nkind = \"mlp\"\nhidden = [4]\n",
    ]);
    text += match target {
        Target::Classes(_) => draw.of(&["", "", "\n[objective]\nloss = \"brier\"\n"]),
        Target::Number(_) => "\n[objective]\nloss = \"squared\"\n",
    };
    for at in 0..draw.of(&[0, 1, 1, 1, 2, 2, 3]) {
        text += &format!("\n[[requirement]]\nname = \"rule {at}\"\n");
        text += &match target {
            _ if !certify.is_empty() => certifiable(draw, target),
            Target::Classes(k) => of_classes(draw, k),
            Target::Number(size) => of_numbers(draw, size),
        };
    }
    let learner = draw.of(&["alternating", "alternating", "simultaneous", "exact"]);
    let epochs = draw.of(&[1, 3, 10, 30]);
    text += &format!("\n[training]\nlearner = \"{learner}\"\nepochs = {epochs}\n");
    text += draw.of(&["", "", "keep = \"last\"\n", "keep = \"best\"\n"]);
    text += draw.of(&["", "", "", "tolerance = 1e-3\n"]);
    text += draw.of(&["", "", "", "stop_when_feasible = true\n"]);
    text += draw.of(&["", "", "", "patience = 2\n"]);
    if learner != "exact" {
        text += draw.of(&["", "", "", "recipe = \"paper\"\n", "rate = 0.1\n", "rate = 3.0\n"]);
    }
    text
}

/// A group, or everyone.
fn whom(draw: &mut Draw) -> &'static str {
    draw.of(&["", "", "where = \"g == 'a'\"\n", "where = \"x0 > 0\"\n", "groups = \"g\"\n"])
}

const CHANGE: &str = "counterfactual = { swap = { g = [\"a\", \"b\"] } }\n";

fn all_but(draw: &mut Draw) -> &'static str {
    draw.of(&["", "", "all_but = 0.05\n", "all_but = 0.3\n"])
}

fn of_classes(draw: &mut Draw, classes: usize) -> String {
    let two = classes == 2;
    match draw.below(8) {
        0 => {
            let loss = draw.of(&["cross-entropy", "brier", "smoothed-error"]);
            let limit = draw.of(&[0.02, 0.3, 0.6, 0.9]);
            format!("loss = \"{loss}\"\nat_most = {limit}\n{}", whom(draw))
        }
        1 | 2 => {
            let rates = ["error", "accuracy", "selection", "tpr", "fpr"];
            let rate = draw.of(&rates[..if two { 5 } else { 2 }]);
            let side = draw.of(&["at_most", "at_least"]);
            let limit = draw.of(&[0.0, 0.05, 0.3, 0.5, 0.7, 0.95, 1.0]);
            format!("rate = \"{rate}\"\n{side} = {limit:?}\n{}", whom(draw))
        }
        3 if two => {
            let notion = draw.of(&["demographic-parity", "equal-opportunity", "equalised-odds"]);
            let within = draw.of(&[0.001, 0.05, 0.5]);
            format!("fairness = \"{notion}\"\ngroups = \"g\"\nwithin = {within}\n")
        }
        3 | 4 => {
            let loss = draw.of(&["kl", "symmetric-kl", "total-variation"]);
            let limit = draw.of(&[1e-4, 0.01, 0.5]);
            format!("loss = \"{loss}\"\nkind = \"pointwise\"\nat_most = {limit}\n{CHANGE}{}", all_but(draw))
        }
        5 => {
            let limit = draw.of(&[0.1, 0.7, 3.0]);
            let all_but = all_but(draw);
            format!("loss = \"cross-entropy\"\nkind = \"pointwise\"\nat_most = {limit:?}\n{all_but}")
        }
        6 => {
            let rate = if two { draw.of(&["selection", "error"]) } else { "error" };
            let other = draw.of(&["everyone", "g == 'b'"]);
            let within = draw.of(&[0.01, 0.1, 0.8]);
            format!("rate = \"{rate}\"\nwhere = \"g == 'a'\"\nagainst = \"{other}\"\nwithin = {within}\n")
        }
        _ => draw.of(&[
            "loss = \"flip\"\nat_most = 0.01\ncounterfactual = { swap = { g = [\"a\", \"b\"] } }\n",
            "loss = \"cross-entropy\"\nmeasured_by = \"error\"\nat_most = 0.25\n",
            "loss = \"kl\"\nat_most = 0.001\ncounterfactual = { swap = { g = [\"a\", \"b\"] } }\n",
        ])
        .to_string(),
    }
}

/// What a hundred rows might certify.
fn certifiable(draw: &mut Draw, target: Target) -> String {
    let choice = match target {
        Target::Classes(2) => draw.below(5),
        Target::Classes(_) => draw.below(3),
        Target::Number(_) => 5 + draw.below(2),
    };
    let size = if let Target::Number(size) = target { size } else { 1.0 };
    match choice {
        0 => {
            let limit = draw.of(&[0.3, 0.5, 0.7]);
            format!("rate = \"{}\"\nat_most = {limit}\n", draw.of(&["error", "error", "accuracy"]))
        }
        1 => {
            let limit = draw.of(&[0.01, 0.5]);
            format!(
                "loss = \"kl\"\nkind = \"pointwise\"\nat_most = {limit}\n{CHANGE}{}",
                all_but(draw)
            )
        }
        2 => "loss = \"cross-entropy\"\nbound = 3.0\nat_most = 0.9\n".into(),
        3 => "fairness = \"demographic-parity\"\ngroups = \"g\"\nwithin = 0.5\n".into(),
        4 => {
            let rate = draw.of(&["selection", "tpr", "fpr"]);
            let side = draw.of(&["at_most", "at_least"]);
            format!("rate = \"{rate}\"\n{side} = {}\n", draw.of(&[0.4, 0.6]))
        }
        5 => {
            let limit = size * draw.of(&[0.5, 2.0]);
            format!(
                "loss = \"absolute\"\nkind = \"pointwise\"\nat_most = {limit:?}\nall_but = 0.3\n"
            )
        }
        _ => {
            let (bound, limit) = (10.0 * size, size * draw.of(&[0.5, 2.0]));
            format!("loss = \"absolute\"\nbound = {bound:?}\nat_most = {limit:?}\n")
        }
    }
}

fn of_numbers(draw: &mut Draw, size: f64) -> String {
    let loss = draw.of(&["squared", "absolute", "huber"]);
    let unit = if loss == "squared" { size * size } else { size };
    match draw.below(5) {
        0 | 1 => {
            let limit = unit * draw.of(&[1e-4, 0.5, 2.0, 50.0]);
            format!("loss = \"{loss}\"\nat_most = {limit:?}\n{}", whom(draw))
        }
        2 => {
            let limit = unit * draw.of(&[1e-3, 1.0, 30.0]);
            format!(
                "loss = \"{loss}\"\nkind = \"pointwise\"\nat_most = {limit:?}\n{}",
                all_but(draw)
            )
        }
        3 => {
            let within = unit * draw.of(&[0.01, 0.5]);
            let other = "where = \"g == 'a'\"\nagainst = \"everyone\"\n";
            format!("loss = \"{loss}\"\n{other}within = {within:?}\n")
        }
        _ => {
            let limit = size * size * draw.of(&[1e-4, 1.0]);
            let kind = draw.of(&["average", "pointwise"]);
            format!("loss = \"squared-distance\"\nkind = \"{kind}\"\nat_most = {limit:?}\n{CHANGE}")
        }
    }
}
