//! A rate that is met by the threshold of the decisions, rather than by training.
//!
//! Cross-entropy asks for probabilities, a rate is of decisions. Where the positive class is predicted above a threshold t, the
//! problem over θ *and* t
//!
//! $$ \min_{\theta,\, t} \; E[\ell(f_\theta(x), y)] \quad \text{subject to} \quad P(p_\theta(x) > t \mid y = 1) \ge c $$
//!
//! separates when the rate is the only requirement on decisions: θ is as without it, and a t that meets it always exists. At t = 1/2 instead, the
//! multiplier of the rate can only make all probabilities wrong by as much as the rate asks for, and on a table whose classes overlap the best
//! such model is hardly better than a constant. So one rate of one group of rows is left to the threshold, which is chosen on
//! the validation rows, stricter by what chance may add (`generalise.rs`) on the rows to come. It must hold on the training rows as well, with
//! the room that their number asks for: θ was fitted to them, so they look better than rows to come, and a threshold that is too loose even for them
//! was chosen by a lucky draw of the few validation rows. Differences between groups, several rates, and precisions are trained.

use std::sync::Arc;

use feasible::{Loss, Samples};
use feasible_data::UnknownCategories;

use crate::clause::Clause;
use crate::data::Data;
use crate::error::Result;
use crate::generalise::{Sample, allowance};
use crate::rate::Among;
use crate::recipe;
use crate::sampled_table::SampledTable;
use crate::settings::{LearnerSettings, TrainingSettings};
use crate::spec::{DecisionSpec, Margins, RequirementKind, Spec};

/// By how much stricter than stated a rate must be where its threshold is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdRoom {
    /// On the validation rows.
    pub validation: f64,
    /// On the training rows.
    pub training: f64,
}

/// Leaves the rate of a problem to the threshold, if it is the one requirement on decisions.
///
/// # Errors
/// Those of [`Clause::on`].
pub(crate) fn leave(
    spec: &mut Spec,
    training: &TrainingSettings,
    data: &Data,
    clauses: &mut [Clause],
    of: Sample,
) -> Result<()> {
    let first_order = matches!(training.learner, LearnerSettings::FirstOrder(_));
    let learns = training.margins == Margins::Learned && recipe::takes_validation(&spec.training);
    let two = data.target.classes().is_some_and(|classes| classes.len() == 2);
    let chooses = spec.decision.as_ref().is_none_or(DecisionSpec::chooses);
    let Some(validation) =
        data.validation.as_ref().filter(|_| first_order && learns && two && chooses)
    else {
        return Ok(());
    };
    let judged = |clause: &Clause| {
        clause.measure.as_ref().unwrap_or(&clause.loss).is_of_decisions()
            || clause.adversary.is_some()
    };
    let mut decided = clauses.iter_mut().filter(|clause| judged(clause));
    let (Some(clause), None) = (decided.next(), decided.next()) else { return Ok(()) };
    let own = &spec.requirements[clause.from];
    let plain = clause.kind == RequirementKind::Average
        && matches!(clause.measure, Some(Loss::Selected { .. }))
        && clause.against.is_none()
        && clause.change.is_none()
        && clause.adversary.is_none()
        // Settings of its multiplier ask for one.
        && own.dual.is_none()
        && own.start.is_none();
    if !plain {
        return Ok(());
    }
    let on = |rows: &[u32], samples: &Arc<Samples>| {
        let unknown = UnknownCategories::Reject;
        let mut sampled = SampledTable::new(&data.table, rows, samples, &data.encoder, unknown);
        clause.on(&mut sampled)
    };
    let Some(stated) = on(&data.split.validation, validation)? else { return Ok(()) };
    let class = match clause.class {
        Some(Among::Class(class)) => Some(class),
        Some(Among::Others(_)) | None => None,
    };
    let ahead = if clause.room > 0.0 { 0.0 } else { of.ahead };
    let allowed = allowance(&stated, class, Sample { ahead, ..of });
    if allowed.is_chance {
        return Ok(());
    }
    let ahead = ahead * validation.len() as f64 / data.train.len().max(1) as f64;
    let training = match on(&data.split.train, &data.train)? {
        Some(stated) => allowance(&stated, class, Sample { ahead, ..of }).on_validation,
        None => 0.0,
    };
    let room = ThresholdRoom { validation: allowed.on_validation, training };
    clause.by_threshold = Some(room);
    spec.decision.get_or_insert_default();
    Ok(())
}
