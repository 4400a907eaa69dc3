//! `feasible audit`.

use std::path::Path;

use feasible_data::Table;
use feasible_run::{Certification, RunRecord, RunVerdict};
use serde::Serialize;

use super::fit::workers;
use super::{data_dir, gallery, model, table};
use crate::arguments::AuditArguments;
use crate::exit::{Exit, Result};
use crate::terminal::Terminal;

/// What `--json` prints.
#[derive(Serialize)]
struct AuditReport<'a> {
    met: bool,
    verdict: RunVerdict,
    #[serde(flatten)]
    audit: &'a feasible_run::Audit,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<&'a Certification>,
    #[serde(skip_serializing_if = "Option::is_none")]
    no_certificate: Option<String>,
}

/// Evaluates a model on a table.
pub fn audit(arguments: &AuditArguments, terminal: &Terminal) -> Result<Exit> {
    let model = model(&arguments.model)?;
    let (audit, certified) = if model.manifest().image.is_some() {
        let data = arguments.table.display().to_string();
        let gallery = gallery(&data, data_dir(&None).as_deref(), &arguments.limits)?;
        let audit = model.audit_images(&gallery, &gallery.test_rows(), workers(None))?;
        (
            audit,
            Err("only images that the run held out are certified: run `feasible certify` on its directory"
                .into()),
        )
    } else {
        let table = table(&arguments.table, &model.audit_format(), &arguments.limits)?;
        let unseen = arguments.unseen.map(Into::into);
        let path = Some(arguments.table.as_path()).filter(|path| *path != Path::new("-"));
        match RunRecord::open(&arguments.model) {
            Ok(record) => {
                let audit = record.audit(&table, path, unseen)?;
                let certified = certificate(&record, arguments, &table);
                (audit, certified.map_err(|error| error.to_string()))
            }
            Err(error) => (model.audit(&table, unseen)?, Err(error.to_string())),
        }
    };
    let report = AuditReport {
        met: audit.met(),
        verdict: audit.verdict_state(),
        audit: &audit,
        certificate: certified.as_ref().ok(),
        no_certificate: certified.as_ref().err().cloned(),
    };
    terminal.result(&report, |page| {
        let section = match &certified {
            _ if audit.evaluation.requirements.is_empty() => String::new(),
            Ok(certificate) => format!("\n{}", certificate.text_on(page)),
            Err(reason) => format!("\nNo certificate: {reason}\n"),
        };
        audit.text_on(page) + &section
    })?;
    Ok(Exit::met(audit.met()))
}

/// What the table certifies, or why it does not.
fn certificate(
    record: &RunRecord,
    arguments: &AuditArguments,
    table: &Table,
) -> feasible_run::Result<Certification> {
    let (settings, unseen) = (record.settings(), arguments.unseen.map(Into::into));
    match arguments.table == Path::new("-") {
        true => record.certify(table, &settings, unseen),
        false => record.certify_file(&arguments.table, &settings, unseen, || Ok(table)),
    }
}
