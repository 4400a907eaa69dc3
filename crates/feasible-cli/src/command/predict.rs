//! `feasible predict`.

use std::io::Write;

use feasible_run::write_whole;

use super::fit::workers;
use super::{data_dir, gallery, model, table};
use crate::arguments::PredictArguments;
use crate::exit::{Exit, Failure, Result};
use crate::terminal::Terminal;

/// Predicts the rows of a table.
pub fn predict(arguments: &PredictArguments, terminal: &Terminal) -> Result<Exit> {
    let model = model(&arguments.model)?;
    let predictions = if model.manifest().image.is_some() {
        let gallery = gallery(&arguments.table.display().to_string(), data_dir(&None).as_deref())?;
        model.predict_images(&gallery, &gallery.test_rows(), workers(None))?
    } else {
        let table = table(&arguments.table, &model.input_format())?;
        model.predict(&table, arguments.unseen.map(Into::into))?
    };
    let write = |out: &mut dyn Write| {
        if terminal.json {
            serde_json::to_writer(&mut *out, &predictions)?;
            out.write_all(b"\n")
        } else {
            predictions.write_csv(out)
        }
    };
    match &arguments.output {
        None => terminal.write(write)?,
        Some(path) => {
            write_whole(path, &write).map_err(|error| Failure::file("write", path, &error))?;
            terminal.note(&format!("{} rows in {}", predictions.rows.len(), path.display()));
        }
    }
    Ok(Exit::Met)
}
