//! Random convex problems, solved by `Learner::exact` and independently by Clarabel.

mod oracle;

use std::ops::ControlFlow;

use feasible::{Learner, Outcome};
use oracle::{Family, Instance, Regression, Verdict};

#[test]
fn probe() {
    for (regression, kernel) in [(Regression::Number, true), (Regression::Binary, true), (Regression::Softmax, true), (Regression::Number, false), (Regression::Softmax, false)] {
        for family in Family::ALL {
            for number in 0..100 {
                let Instance { problem, program, machine } =
                    oracle::instance(regression, kernel, family, number);
                let start = std::time::Instant::now();
                let verdict = oracle::solve(&program);
                let conic = start.elapsed();
                let start = std::time::Instant::now();
                let s = machine.solve(&Learner::exact(), &problem, |_| ControlFlow::Continue(()));
                let exact = start.elapsed();
                let id = format!("{regression:?} {kernel} {family:?} {number}");
                match verdict {
                    Verdict::Solved { theta, multipliers } => {
                        let (f, g) = (program.value(&theta), s.objective());
                        let kkt = program.kkt(&theta, &multipliers).residual();
                        let ours: Vec<Vec<f64>> = s.multipliers.iter().map(|m| m.to_vec()).collect();
                        let mine = program.kkt(&s.theta, &ours).residual();
                        let unique = program.multipliers_are_unique(&theta, &multipliers);
                        let err = multipliers.iter().flatten().zip(ours.iter().flatten())
                            .map(|(a, b)| (a - b).abs() / (1.0 + a.abs())).fold(0.0, f64::max);
                        let s2 = machine.solve(&Learner::exact().stop_at_kkt(1e-8), &problem, |_| ControlFlow::Continue(())); let e2 = s2.epochs; let err2 = multipliers.iter().flatten().zip(s2.multipliers.iter().flatten()).map(|(a, b)| (a - b).abs() / (1.0 + a.abs())).fold(0.0, f64::max); let top = multipliers.iter().flatten().copied().fold(0.0, f64::max);
                        if s.outcome != Outcome::Converged || (f-g).abs() > 1e-5*f.abs() || (unique && err > 1e-4) || exact.as_millis() > 100 || s.epochs > 15 || kkt > 1e-4 { println!("{id:22} {:?} F {f:.6} rel {:.1e} viol {:.1e} kkt oracle {kkt:.1e} ours {mine:.1e} {:.1e} unique {unique} err {err:.1e} sharper {err2:.1e} {e2} top {top:.2} outer {} t {conic:?} {exact:?}",
                            s.outcome, (f - g).abs() / f.abs(), s.kkt.violation, s.kkt.residual(), s.epochs); }
                    }
                    other => if !matches!(s.outcome, Outcome::Infeasible { .. }) || s.epochs > 4 || !matches!(other, Verdict::Infeasible) || oracle::least_violation(&program) < 1e-4 { println!("{id:22} {:?} {other:?} outer {} t {conic:?} {exact:?}", s.outcome, s.epochs) },
                }
            }
        }
    }
    let _ = Outcome::Converged;
}
