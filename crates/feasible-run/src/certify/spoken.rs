//! A clause as a number of the population, in words.

use feasible::Loss;
use feasible::certificate::{Claim, Evidence};
use feasible::requirement::Sense;
use feasible_problem::clause::{Against, Clause};
use feasible_problem::describe::adversary;
use feasible_problem::spec::RequirementKind;
use feasible_problem::text::short;

/// Puts a claim of the core into the user's words: an accuracy where the core sees an error, and whose
/// rows it speaks of.
pub(crate) fn spoken(clause: &Clause, mut claim: Claim) -> Claim {
    claim.subject = subject(clause);
    let Some(one) = clause.complement_of else { return claim };
    claim.limit = one - claim.limit;
    claim.sense = match claim.sense {
        Sense::AtMost => Sense::AtLeast,
        Sense::AtLeast => Sense::AtMost,
    };
    claim.evidence = claim.evidence.map(|evidence| match evidence {
        Evidence::Share(count) => Evidence::Share(count.complement()),
        Evidence::Difference(difference) => Evidence::Difference(difference.complement()),
        Evidence::Mean { values, method } => Evidence::Mean { values: values.complement(), method },
        Evidence::Contrast(contrast) => Evidence::Contrast(contrast.complement()),
        Evidence::ByClass(by_class) => Evidence::ByClass(by_class.complement()),
        // No rate, of which alone people speak as of 1 minus another.
        unbounded @ Evidence::Unbounded(_) => unbounded,
        // A difference, of which 1 minus each term is the difference the other way round.
        Evidence::Sum(terms) => Evidence::Sum(terms.into_iter().map(|(a, e)| (-a, e)).collect()),
    });
    claim
}

fn subject(clause: &Clause) -> String {
    let whose = |filter: Option<String>| match filter {
        Some(filter) => format!(" where {filter}"),
        None => String::new(),
    };
    let here = whose(clause.filter.as_ref().map(|filter| format!("{filter:#}")));
    let loss = clause.measure.as_ref().unwrap_or(&clause.loss);
    let views = match (&clause.change, &clause.adversary) {
        (Some(change), _) => format!(" ({})", change.name()),
        (None, Some(attack)) => format!(" (at x + δ, {})", adversary(attack)),
        (None, None) => String::new(),
    };
    if clause.kind == RequirementKind::Pointwise {
        let limit = short(clause.bound.limit());
        let side = match clause.bound {
            feasible_problem::clause::Bound::AtMost(_) => "exceeds",
            feasible_problem::clause::Bound::AtLeast(_) => "is below",
        };
        return format!("the share of the population{here} whose {loss}{views} {side} {limit}");
    }
    let name = match (loss, &clause.rate) {
        // As it is measured: the file may say by another loss.
        (loss, Some(rate)) if loss.is_of_decisions() => format!("{rate}{views}"),
        (Loss::Error, _) => format!("error rate{views}"),
        (Loss::Flip, _) => format!("flip rate{views}"),
        (loss, _) => format!("expected {loss}{views}"),
    };
    match &clause.against {
        None => format!("the {name}{here}"),
        Some(against) => {
            let there = match against {
                Against::Everyone => " of everyone".to_string(),
                Against::Where(expression) => whose(Some(format!("{expression:#}"))),
            };
            format!("the {name}{here} minus that{there}")
        }
    }
}
