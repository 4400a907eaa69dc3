//! `feasible audit`.

use serde::Serialize;

use super::{model, table};
use crate::arguments::AuditArguments;
use crate::exit::{Exit, Result};
use crate::terminal::Terminal;

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    met: bool,
    #[serde(flatten)]
    audit: &'a feasible_run::Audit,
}

/// Holds a model against a table.
pub fn audit(arguments: &AuditArguments, terminal: &Terminal) -> Result<Exit> {
    let model = model(&arguments.model)?;
    let table = table(&arguments.table, &model.audit_format())?;
    let audit = model.audit(&table, arguments.unseen.map(Into::into))?;
    terminal.result(&Report { met: audit.met(), audit: &audit }, || audit.to_text())?;
    Ok(Exit::met(audit.met()))
}
