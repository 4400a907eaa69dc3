//! A small table and problem files on it.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use feasible_problem::{Plan, ProblemSource};

/// A generator of its own, so that the table is the same for ever.
struct Lcg(u64);

impl Lcg {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
}

/// `rows` people whose income depends on age, degree, and (too much) on gender.
pub fn people(rows: usize) -> String {
    let mut random = Lcg(7);
    let mut text = String::from("age,gender,degree,city,income\n");
    for _ in 0..rows {
        let age = 20.0 + (40.0 * random.uniform()).floor();
        let male = random.uniform() < 0.6;
        let degree = ["none", "bachelor", "master"][(3.0 * random.uniform()) as usize];
        let city = ["A", "B", "C", "D"][(4.0 * random.uniform()) as usize];
        let score = 0.05 * (age - 40.0)
            + if male { 0.8 } else { -0.8 }
            + if degree == "master" { 1.0 } else { -0.3 };
        let rich = random.uniform() < 1.0 / (1.0 + (-score).exp());
        let gender = if male { "Male" } else { "Female" };
        let income = if rich { "high" } else { "low" };
        text += &format!("{age},{gender},{degree},{city},{income}\n");
    }
    text
}

pub fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// A problem on [`people`] with `requirements` and `training` lines.
pub fn problem(directory: &Path, requirements: &str, training: &str) -> ProblemSource {
    write(directory, "people.csv", &people(300));
    let text = format!(
        "[data]\nfile = \"people.csv\"\ntarget = \"income\"\npositive = \"high\"\n\
         split = {{ validation = 0.2, test = 0.2, seed = 3 }}\n\n[model]\nhidden = [4]\n\n\
         {requirements}\n[training]\n{training}\n"
    );
    let path = write(directory, "problem.toml", &text);
    ProblemSource::open(path.to_str().unwrap()).unwrap()
}

pub const GENDER: &str = "[[requirement]]\nname = \"gender\"\nloss = \"kl\"\nkind = \"pointwise\"\n\
    at_most = 1e-2\ncounterfactual = { swap = { gender = [\"Male\", \"Female\"] } }\n";

pub fn plan(directory: &Path, requirements: &str, training: &str) -> Plan {
    Plan::check(&problem(directory, requirements, training)).unwrap()
}

/// The message of a problem that is refused, without its directory.
pub fn refused(directory: &Path, source: &ProblemSource) -> String {
    let error = Plan::check(source).map(|_| ()).unwrap_err().to_string();
    error.replace(&format!("{}/", directory.display()), "")
}
