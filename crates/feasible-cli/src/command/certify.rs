//! `feasible certify`.

use std::path::Path;

use feasible_problem::text::{BAD, GOOD};
use feasible_run::{Certification, RunRecord, RunVerdict};
use serde::Serialize;

use super::{has_model, table};
use crate::arguments::{CertifyArguments, Require};
use crate::exit::{Exit, Failure, Result};
use crate::terminal::Terminal;

/// What `--json` prints.
#[derive(Serialize)]
struct CertifyReport<'a> {
    certified: bool,
    met: bool,
    verdict: RunVerdict,
    #[serde(flatten)]
    certification: &'a Certification,
}

/// Certifies the requirements of a model.
pub fn certify(arguments: &CertifyArguments, terminal: &Terminal) -> Result<Exit> {
    has_model(&arguments.model)?;
    let record = RunRecord::open(&arguments.model)?;
    let mut settings = record.settings();
    settings.confidence = arguments.confidence.or(settings.confidence);
    settings.unit = arguments.unit.clone().or(settings.unit);
    settings.all_but = arguments.all_but.or(settings.all_but);
    (settings.shift, settings.base_rate) = (arguments.shift, arguments.base_rate);
    settings.method = arguments.method.map(Into::into).or(settings.method);
    settings.simultaneous = arguments.simultaneous.map(Into::into).or(settings.simultaneous);
    let certification = match &arguments.table {
        None => record.certify_own(&settings)?,
        Some(_) if record.model().manifest().image.is_some() => {
            return Err(Failure::input(
                "only images that the run itself held out are certified: leave out the table",
            ));
        }
        Some(path) => {
            // Read even where the run has read it before: limits, and an output that is this table, are found here.
            let table = table(path, &record.model().audit_format(), &arguments.limits)?;
            let unseen = arguments.unseen.map(Into::into);
            match path == Path::new("-") {
                true => record.certify(&table, &settings, unseen)?,
                false => {
                    record.certify_file(path, &settings, unseen, || Ok::<_, Failure>(table))?
                }
            }
        }
    };
    let (certified, met) = (certification.all_certified(), certification.all_met());
    let verdict = certification.verdict_state();
    let report = CertifyReport { certified, met, verdict, certification: &certification };
    terminal.result(&report, |page| {
        if verdict == RunVerdict::NoRequirements {
            return certification.verdict() + "\n";
        }
        let color = if certified { GOOD } else { BAD };
        let sentence = page.paint(color, &certification.verdict());
        let comparison = certification.comparison.as_ref().map_or(String::new(), |comparison| {
            let text = comparison.sentence("these rows");
            let text = if comparison.is_worse() { page.paint(BAD, &text) } else { text };
            format!("{text}\n")
        });
        format!("{sentence}\n{comparison}{}", certification.text_on(page))
    })?;
    Ok(Exit::met(match arguments.require {
        Require::Certified => certified,
        Require::Met => met,
    }))
}
