//! The ranks of a job read a table together.
//!
//! Rank 0 says what there is to read, files or row groups in order. Rank r of R reads number r, r + R, r + 2R, …, and keeps what it has
//! read until rank 0, which reads its own and puts all together in order, asks for it. So a rank holds one part at a time. If rank 0 cannot use the table after
//! all, it tells those that still have parts to stop.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use feasible::Reduce;
use feasible_data::{
    ReadRequest, Readers, SliceAnswer, SliceAnswers, SliceRead, TableSlice, table_stream,
};
use feasible_problem::data::read_slice;

use super::pieces::{self, Incoming, Outgoing};
use super::{BUSY, Word, damaged, say};
use crate::error::Result;

/// What rank 0 answers a rank that has read a part: to send it,
const SEND: &[u8] = &[1];
/// or to read no more.
const STOP: &[u8] = &[0];

/// What is sent of a [`ReadRequest`]: the parts, the format as JSON, which leaves out what is not set, and the directory of the scratch file.
type Sent = (Vec<TableSlice>, String, Option<PathBuf>);

/// The other ranks as readers.
#[derive(Debug)]
pub(super) struct OtherRanks(pub(super) Arc<dyn Reduce>);

impl Readers for OtherRanks {
    fn read(&self, request: Arc<ReadRequest>) -> SliceAnswers<'_> {
        let ranks = &*self.0;
        let format = serde_json::to_string(&request.format).unwrap_or_default();
        let sent: Sent = (request.slices.clone(), format, request.scratch.clone());
        // A name that is no text cannot be sent: rank 0 reads alone.
        let sendable = postcard::to_io(&sent, std::io::sink()).is_ok();
        if !sendable || ranks.workers() == 1 || BUSY.swap(true, Ordering::SeqCst) {
            return Box::new(std::iter::empty());
        }
        say(ranks, &Word::Read);
        let asked = Asked { ranks, slices: request.slices.len(), next: 0 };
        for rank in 1..ranks.workers() {
            if let Err(error) = pieces::send(ranks, rank, &sent) {
                ranks.fail(&format!("the files to read cannot be sent to rank {rank}: {error}"));
            }
        }
        Box::new(asked)
    }
}

/// The parts that ranks were asked for so far. Once it is dropped, they stop.
struct Asked<'r> {
    ranks: &'r dyn Reduce,
    slices: usize,
    next: usize,
}

impl Iterator for Asked<'_> {
    type Item = SliceAnswer;

    fn next(&mut self) -> Option<SliceAnswer> {
        if self.next == self.slices {
            return None;
        }
        let rank = self.next % self.ranks.workers();
        self.next += 1;
        if rank == 0 {
            return Some(SliceAnswer::NotGiven);
        }
        self.ranks.send(rank, SEND);
        Some(receive(self.ranks, rank).unwrap_or_else(|error| {
            self.ranks.fail(&format!("what rank {rank} has read cannot be used: {error}"))
        }))
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let workers = self.ranks.workers();
        let left = (self.next..self.slices).take(workers).map(|slice| slice % workers);
        left.filter(|&rank| rank > 0).for_each(|rank| self.ranks.send(rank, STOP));
        BUSY.store(false, Ordering::SeqCst);
    }
}

/// Receives what a rank has read.
fn receive(ranks: &dyn Reduce, from: usize) -> Result<SliceAnswer> {
    let sha256: Option<String> = pieces::receive(ranks, from).map_err(damaged)?;
    let Some(sha256) = sha256 else { return Ok(SliceAnswer::Unread) };
    let table = table_stream::read(&mut Incoming::new(ranks, from)).map_err(damaged)?;
    Ok(SliceAnswer::Read(Box::new(SliceRead { table, sha256 })))
}

/// Reads the parts of this rank for rank 0.
pub(super) fn read_share(ranks: &dyn Reduce) -> Result<()> {
    let (slices, format, scratch): Sent = pieces::receive(ranks, 0).map_err(damaged)?;
    let format = serde_json::from_str(&format).map_err(damaged)?;
    let request = ReadRequest { slices, format, scratch };
    let own = request.slices.iter().skip(ranks.worker()).step_by(ranks.workers());
    for slice in own {
        let read = read_slice(slice, &request);
        if ranks.receive(0) != SEND {
            break;
        }
        let sha256 = read.as_ref().map(|read| &read.sha256);
        pieces::send(ranks, 0, &sha256).map_err(damaged)?;
        if let Some(read) = &read {
            let mut out = Outgoing::new(ranks, 0);
            table_stream::write(&mut out, &read.table).map_err(damaged)?;
            out.end();
        }
    }
    Ok(())
}
