//! `feasible predict`.

use std::io::Write;

use feasible_run::{Selected, write_whole};

use super::fit::workers;
use super::{data_dir, gallery, model, table};
use crate::arguments::PredictArguments;
use crate::exit::{Exit, Failure, Result};
use crate::outputs::Inputs;
use crate::terminal::{Terminal, Versioned, escaped};

/// Predicts the rows of a table.
pub fn predict(arguments: &PredictArguments, terminal: &Terminal) -> Result<Exit> {
    if let Some(output) = &arguments.output {
        Inputs::new().model(&arguments.model).data(&arguments.table).refuse(output)?;
    }
    let model = model(&arguments.model)?;
    let mut outside = None;
    let predictions = if model.manifest().image.is_some() {
        let data = arguments.table.display().to_string();
        let gallery = gallery(&data, data_dir(&None).as_deref(), &arguments.limits)?;
        model.predict_images(&gallery, &gallery.test_rows(), workers(None))?
    } else {
        let table = table(&arguments.table, &model.input_format(), &arguments.limits)?;
        outside = model.outside(&table);
        model.predict(&table, arguments.unseen.map(Into::into))?
    };
    let write = |out: &mut dyn Write| {
        if terminal.json {
            let text = serde_json::to_string(&Versioned::new(&predictions))?;
            out.write_all(escaped(&text).as_bytes())?;
            out.write_all(b"\n")
        } else {
            predictions.write_csv(out, arguments.formulas.into())
        }
    };
    match &arguments.output {
        None => terminal.write(write)?,
        Some(path) => {
            write_whole(path, &write).map_err(|error| Failure::file("write", path, &error))?;
            terminal.note(&format!("Wrote {} rows to {}", predictions.rows.len(), path.display()));
        }
    }
    let selected = predictions.selected.as_ref();
    if let Some(outside) = outside.or_else(|| selected.and_then(Selected::outside)) {
        terminal.note(&outside);
    }
    Ok(Exit::Met)
}
