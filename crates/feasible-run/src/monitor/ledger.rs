//! The ledger: one file that only grows, one line of JSON for each table.
//!
//! The first line fixes what holds for the whole life: model, confidence, requirements. Every line ends with
//! `"chain"`, the SHA-256 of the line before it and of itself, so that no line can be changed, removed from the
//! middle or exchanged unnoticed. What a kill leaves of a last line has no line end; it is as if it had never
//! been written. No clock is read: the same tables give the same bytes.

use feasible::monitor::{Wager, Wealth};
use feasible::requirement::Sense;
use feasible_problem::data::sha256;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::rows::Sketch;
use crate::error::{Error, Result};
use crate::files::MONITOR;
use crate::storage::{Directory, Storage, failed};

/// The format this program writes and reads.
pub(crate) const FORMAT: u32 = 1;

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// [`FORMAT`].
    pub(crate) monitor: u32,
    /// What the problem is called.
    pub(crate) problem: String,
    /// SHA-256 of the model.
    pub(crate) model: String,
    /// 1 − δ.
    pub(crate) confidence: f64,
    /// ε of pointwise requirements that allow none.
    pub(crate) all_but: f64,
    pub(crate) requirements: Vec<Watched>,
}

/// A requirement that is watched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Watched {
    pub(crate) name: String,
    /// The number, in words.
    pub(crate) subject: String,
    pub(crate) sense: Sense,
    pub(crate) limit: f64,
    /// Γ, if not 1: it is certified wherever no kind of row is more than this many times as common.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shift: Option<f64>,
    /// Whether it needs the target.
    pub(crate) labels: bool,
    /// What is bet on; `None` if its loss has no bound, so that it cannot be watched.
    pub(crate) wager: Option<Wager>,
}

/// A line for a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// From 1.
    pub(crate) table: usize,
    pub(crate) label: String,
    pub(crate) rows: usize,
    /// Whether it has the target.
    pub(crate) labelled: bool,
    /// The table whose labels these are, if its rows were counted without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) labels_of: Option<usize>,
    /// SHA-256 of the rows in any order.
    pub(crate) content: String,
    /// The same without the target.
    pub(crate) inputs: String,
    pub(crate) sketches: Vec<Sketch>,
    /// One for each requirement.
    pub(crate) requirements: Vec<Option<TableEvidence>>,
}

/// What a table says about a requirement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TableEvidence {
    pub(crate) rows: u64,
    pub(crate) value: f64,
    pub(crate) bets: Wealth,
}

/// A ledger as it was read, and lines to be added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) header: Option<Header>,
    pub(crate) entries: Vec<Entry>,
    /// Bytes of whole lines that were read.
    length: u64,
    /// Bytes that were read.
    found: u64,
    chain: String,
    /// Lines that are not yet in the file.
    pending: String,
}

const CHAIN: &str = ",\"chain\":\"";

impl Ledger {
    /// From the bytes of a file; `path` stands for it in messages.
    pub(crate) fn parse(path: &str, bytes: &[u8]) -> Result<Self> {
        let length = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let mut ledger =
            Self { length: length as u64, found: bytes.len() as u64, ..Self::default() };
        for (at, line) in bytes[..length].split_inclusive(|byte| *byte == b'\n').enumerate() {
            ledger.read(line).map_err(|reason| Error::Damaged {
                path: path.into(),
                reason: format!(
                    "line {}: {reason}; restore it from a copy, as what follows rests on it",
                    at + 1
                ),
            })?;
        }
        Ok(ledger)
    }

    fn read(&mut self, line: &[u8]) -> std::result::Result<(), String> {
        let line = std::str::from_utf8(line).map_err(|error| error.to_string())?;
        let (body, chain) = line
            .strip_suffix("\"}\n")
            .and_then(|line| line.rsplit_once(CHAIN))
            .ok_or("it does not end with its chain")?;
        if chain != link(&self.chain, body) {
            return Err("it, or the line before it, has been changed".into());
        }
        fn json<T: DeserializeOwned>(body: &str) -> std::result::Result<T, String> {
            serde_json::from_str(&format!("{body}}}")).map_err(|error| error.to_string())
        }
        match &self.header {
            None => {
                let header: Header = json(body)?;
                if header.monitor != FORMAT {
                    return Err(format!("it has format {}, not {FORMAT}", header.monitor));
                }
                self.header = Some(header);
            }
            Some(header) => {
                let entry: Entry = json(body)?;
                let whole = |seen: &TableEvidence| seen.bets.is_whole() && seen.value.is_finite();
                if entry.table != self.entries.len() + 1
                    || entry.labels_of.is_some_and(|of| of == 0 || of >= entry.table)
                    || entry.requirements.len() != header.requirements.len()
                    || !entry.requirements.iter().flatten().all(whole)
                {
                    return Err("it does not fit the lines before it".into());
                }
                self.entries.push(entry);
            }
        }
        self.chain = chain.to_string();
        Ok(())
    }

    /// Begins a life, which has no header yet.
    pub(crate) fn begin(&mut self, header: Header) {
        self.line(&header);
        self.header = Some(header);
    }

    /// Adds a table; it is in the file after [`Ledger::commit`].
    pub(crate) fn push(&mut self, entry: Entry) {
        self.line(&entry);
        self.entries.push(entry);
    }

    fn line(&mut self, of: &impl Serialize) {
        // Structs of numbers, text and lists cannot fail to serialise.
        let text = serde_json::to_string(of).unwrap_or_default();
        let body = text.strip_suffix('}').unwrap_or_default();
        self.chain = link(&self.chain, body);
        self.pending += &format!("{body}{CHAIN}{}\"}}\n", self.chain);
    }

    /// Writes what was added, on disk when it returns. A first line comes with the tables that began it, or not at
    /// all; what a kill left of a line is cut off first.
    pub(crate) fn commit(&mut self, directory: &Directory) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let bytes = self.pending.as_bytes();
        if self.length == 0 {
            directory.write(MONITOR, bytes).map_err(failed("write", directory, MONITOR))?;
        } else {
            let cut = || directory.truncate(MONITOR, self.length);
            if self.found != self.length {
                cut().map_err(failed("repair", directory, MONITOR))?;
            }
            let added = directory.append(MONITOR, bytes).and_then(|()| directory.sync(MONITOR));
            if let Err(error) = added {
                // Half a line would be repaired by the next call; none is better.
                let _ = cut();
                return Err(failed("append to", directory, MONITOR)(error));
            }
        }
        self.length += bytes.len() as u64;
        self.found = self.length;
        self.pending.clear();
        Ok(())
    }
}

/// The hash of a line and of the one before it.
fn link(before: &str, body: &str) -> String {
    sha256(format!("{before}{body}").as_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use feasible::certificate::Count;

    use super::*;

    fn header() -> Header {
        let one = Watched {
            name: "errors".into(),
            subject: "the error rate".into(),
            sense: Sense::AtMost,
            limit: 0.1,
            shift: None,
            labels: true,
            wager: Some(Wager::share(0.1)),
        };
        let (problem, model) = ("people".into(), "m".into());
        let requirements = vec![one];
        Header { monitor: FORMAT, problem, model, confidence: 0.95, all_but: 0.01, requirements }
    }

    fn entry(table: usize) -> Entry {
        let bets = Wealth::of_count(Count::new(table as u64, 100).unwrap(), &Wager::share(0.1));
        Entry {
            table,
            label: format!("month \"{table}\", chain\n"),
            rows: 100,
            labelled: true,
            labels_of: None,
            content: format!("c{table}"),
            inputs: format!("i{table}"),
            sketches: vec![Sketch::default(), Sketch::default()],
            requirements: vec![Some(TableEvidence {
                rows: 100,
                value: table as f64 / 100.0,
                bets,
            })],
        }
    }

    /// Adds what is missing of three tables, as a call after a kill does.
    fn completed(directory: &Directory) -> Vec<u8> {
        let bytes = directory.read(MONITOR).unwrap_or_default();
        let mut ledger = Ledger::parse("l", &bytes).unwrap();
        if ledger.header.is_none() {
            ledger.begin(header());
        }
        for table in ledger.entries.len() + 1..=3 {
            ledger.push(entry(table));
        }
        ledger.commit(directory).unwrap();
        directory.read(MONITOR).unwrap()
    }

    #[test]
    fn cut_off_at_any_byte_a_ledger_is_completed_to_the_same_bytes() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = Directory::create(scratch.path()).unwrap();
        let whole = completed(&directory);
        assert_eq!(whole.iter().filter(|byte| **byte == b'\n').count(), 4);
        for cut in 0..whole.len() {
            // Not synced, unlike the program's own writes: there are thousands.
            std::fs::write(scratch.path().join(MONITOR), &whole[..cut]).unwrap();
            let ledger = Ledger::parse("l", &whole[..cut]).unwrap();
            assert!(ledger.entries.iter().enumerate().all(|(at, e)| *e == entry(at + 1)));
            if cut % 37 == 0 || whole[cut.saturating_sub(2)..=cut].contains(&b'\n') {
                assert_eq!(completed(&directory), whole, "cut at {cut}");
            }
        }
    }

    #[test]
    fn no_byte_can_be_changed_and_no_line_be_removed_unnoticed() {
        let scratch = tempfile::tempdir().unwrap();
        let whole = completed(&Directory::create(scratch.path()).unwrap());
        let last = whole.len() - 1;
        for at in 0..last {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert!(Ledger::parse("l", &changed).is_err(), "{at}");
        }
        let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        for gone in 0..3 {
            let rest: Vec<u8> = lines
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != gone)
                .flat_map(|(_, l)| l.to_vec())
                .collect();
            let error = Ledger::parse("l", &rest).unwrap_err().to_string();
            assert!(error.contains(&format!("line {}", gone + 1)), "{error}");
        }
    }
}
