//! Where a row came from: its file and line, kept in a few bytes for millions of rows.

use serde::{Deserialize, Serialize};

/// A file and the lines on which its rows begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub(crate) file: String,
    /// `(row, line)` wherever a row does not begin one line after the row before it.
    runs: Vec<(u32, u64)>,
    next: (u32, u64),
}

impl Origin {
    pub(crate) fn new(file: &str) -> Self {
        Self { file: file.to_string(), runs: Vec::new(), next: (0, 1) }
    }

    /// Row `r` stands on line `r + 1`.
    pub(crate) fn numbered(file: &str, rows: usize) -> Self {
        Self { file: file.to_string(), runs: vec![(0, 1)], next: (rows as u32, rows as u64 + 1) }
    }

    /// The next row begins on `line`.
    pub(crate) fn push(&mut self, line: u64) {
        let (row, expected) = self.next;
        if row == 0 || line != expected {
            self.runs.push((row, line));
        }
        self.next = (row + 1, line + 1);
    }

    /// The rows of another part of the file follow.
    pub(crate) fn append(&mut self, below: &Self) {
        let ends = below.runs.iter().skip(1).map(|run| run.0).chain([below.next.0]);
        for (&(first, line), end) in below.runs.iter().zip(ends) {
            self.push(line);
            let more = end - first - 1;
            self.next = (self.next.0 + more, self.next.1 + u64::from(more));
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.next.0 as usize
    }

    pub(crate) fn line(&self, row: usize) -> u64 {
        let after = self.runs.partition_point(|&(first, _)| first as usize <= row);
        match after.checked_sub(1).map(|at| self.runs[at]) {
            Some((first, line)) => line + (row - first as usize) as u64,
            None => row as u64 + 1,
        }
    }
}
