//! A search that several processes share out: the ranks of an MPI job, or jobs that know nothing of each other.
//!
//! Trials of a round do not need each other, but all are compared before the next. Ranks meet there: the first of them
//! hears how the trials did, notes it, and tells the others who continues. Jobs do not wait. Each trains its share of the
//! round; the one that finds all trials of it trained compares them, and goes on with its share of the next. So a search
//! of three rounds ends when all jobs were started three times, at most. Either way it has the bytes of a search by one
//! process.

use std::path::Path;

use feasible::Reduce;
use feasible_problem::data::sha256;
use feasible_problem::plan::Plan;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Origin, Place, Search, Trained, TuneOptions, Tuned, Tuning, halving};
use crate::checkpoint::Checkpoint;
use crate::directory::RunDirectory;
use crate::error::{Error, Result};
use crate::files::{CHECKPOINT, TUNE, json};
use crate::fit::{Observer, is_at};
use crate::job_part::{JobPart, WHOLE, in_turn, unfinished};
use crate::storage::no_link;

/// How far a search has got that several jobs share out.
#[derive(Clone, Debug)]
pub enum SharedSearch {
    /// To its end.
    Ended(Box<Tuned>),
    /// So far; other jobs have to do their share of a round.
    UnderWay {
        /// What is known of it.
        search: Box<Search>,
        /// The trials that take part in the round.
        trials: usize,
        /// Those that are not trained as far as it goes. None: another job is at work on what comes next.
        missing: Vec<usize>,
    },
}

impl Tuning {
    /// Searches together with other ranks, each of which trains its share of every round; `None` on ranks other than the
    /// first, which makes the run of what is chosen.
    ///
    /// # Errors
    /// As [`Tuning::run`]; no directory; ranks that were given another search.
    pub fn run_on(
        &self,
        ranks: &dyn Reduce,
        options: &TuneOptions,
        observer: Observer<'_>,
    ) -> Result<Option<Tuned>> {
        let path = directory(options)?;
        let place = Place::Directory(RunDirectory::new(path));
        let wrong = || Error::unfit("tune", "there is no such rank");
        let part = JobPart::new(ranks.worker() + 1, ranks.workers()).ok_or_else(wrong)?;
        let top = match ranks.worker() {
            0 => Some(self.open(path, options.force)?),
            _ => None,
        };
        let mut search = match &top {
            Some(_) => self.known(options)?,
            None => self.search.clone(),
        };
        loop {
            let mut message = json(&search);
            ranks.broadcast(0, &mut message);
            search = decoded(&message, 0)?;
            if !self.is_same(&search) {
                let reason = "it searches something else than rank 0: give all ranks the same command and the same data";
                return Err(Error::unfit(format!("rank {}", ranks.worker()), reason));
            }
            let Some(share) = search.share() else { break };
            let alive = search.alive();
            let mut trained = self.train(&part.share(&alive), share, &place, options, observer)?;
            let Some(top) = &top else {
                ranks.send(0, &encoded(&trained));
                continue;
            };
            for rank in 1..ranks.workers() {
                trained.extend(decoded::<Vec<Trained>>(&ranks.receive(rank), rank)?);
            }
            trained.sort_by_key(|of| of.trial);
            if !trained.iter().map(|of| of.trial).eq(alive) {
                return Err(Error::unfit("tune", "the ranks have not trained the same round"));
            }
            self.note(&mut search, trained, top)?;
        }
        match &top {
            Some(top) => self.conclude(search, top, &place, options, observer).map(Some),
            None => Ok(None),
        }
    }

    /// Trains the share of one of several jobs, which are given the same directory: of the round that the search is in,
    /// and of those after it for as long as all of a round are trained.
    ///
    /// # Errors
    /// As [`Tuning::run`]; no directory.
    pub fn run_part(
        &self,
        part: &JobPart,
        options: &TuneOptions,
        observer: Observer<'_>,
    ) -> Result<SharedSearch> {
        let path = directory(options)?;
        let run = RunDirectory::new(path);
        // One that has begun may be in use for as long as the chosen run is made.
        if !run.search()?.is_some_and(|search| self.is_same(&search)) {
            drop(in_turn(|| self.open(path, false))?);
        }
        loop {
            let search = self.known(options)?;
            if let Some(share) = search.share() {
                let missing = missing(&run, &search)?;
                let mut own = part.share(&search.alive());
                own.retain(|trial| missing.contains(trial));
                self.train(&own, share, &Place::Directory(run.clone()), options, observer)?;
            }
            if let Some(reached) = self.advance(&run, options, observer)? {
                return Ok(reached);
            }
        }
    }

    /// Compares the trials of a round if all are trained, or makes the run of the chosen one; `None` if there is another
    /// round now.
    fn advance(
        &self,
        run: &RunDirectory,
        options: &TuneOptions,
        observer: Observer<'_>,
    ) -> Result<Option<SharedSearch>> {
        let under_way = |search: Search, missing: Vec<usize>| {
            let (search, trials) = (Box::new(search.clone()), search.alive().len());
            Ok(Some(SharedSearch::UnderWay { search, trials, missing }))
        };
        let search = self.known(options)?;
        let untrained = missing(run, &search)?;
        if !untrained.is_empty() {
            return under_way(search, untrained);
        }
        let top = match in_turn(|| self.open(run.path(), false)) {
            // By one that has found the same, or will.
            Err(Error::InUse { .. }) => return under_way(search, Vec::new()),
            top => top?,
        };
        // As it is now that no other job changes it.
        let mut search = self.known(options)?;
        let place = Place::Directory(run.clone());
        let Some(share) = search.share() else {
            let tuned = self.conclude(search, &top, &place, options, observer)?;
            return Ok(Some(SharedSearch::Ended(Box::new(tuned))));
        };
        if missing(run, &search)?.is_empty() {
            // All are there: this reads them.
            let trained = self.train(&search.alive(), share, &place, options, &|_| {})?;
            self.note(&mut search, trained, &top)?;
        }
        Ok(None)
    }

    /// The search in a directory, all of whose trials that are needed were begun.
    fn reopen(run: &RunDirectory, search: Search) -> Result<Self> {
        let first = Plan::check(&run.trial(0).problem()?)?.called(&search.problem);
        let mut bare = first.spec().clone();
        bare.training.threads = None;
        let (design, hashes) = (&search.design, &first.data().hashes);
        let problem = sha256(bare.to_toml().as_bytes());
        if design.problem != problem || design.tables.len() != hashes.len() {
            let reason = "trial 0 has another problem, or other files of tables".into();
            return Err(Error::Damaged { path: run.shown(TUNE), reason });
        }
        if let Some((then, now)) = design.tables.iter().zip(hashes).find(|(then, now)| then != now)
        {
            return Err(Error::DataChanged {
                table: now.table.clone(),
                expected: then.sha256.clone(),
                found: now.sha256.clone(),
            });
        }
        let memory = vec![first.estimate().each; search.trials.len()];
        Ok(Self { from: Origin::Trials(run.clone()), first, search, memory })
    }
}

/// Ends a search whose trials were trained in parts.
///
/// # Errors
/// A directory that holds no search, or one of which trials are not trained.
pub(crate) fn join(path: &Path, threads: usize) -> Result<()> {
    let run = RunDirectory::new(path);
    let none = || Error::NotARun { location: run.location(), missing: TUNE };
    let search = run.search()?.ok_or_else(none)?;
    let waits = |search: &Search, missing: &[usize], trials: usize| {
        let (round, rounds) = (search.rounds_done() + 1, search.design.rounds.len());
        let names: Vec<String> = missing.iter().map(|n| format!("trial {n}")).collect();
        let what = format!("trials in round {round} of {rounds}");
        unfinished(path, &what, &names, trials, WHOLE)
    };
    let untrained = missing(&run, &search)?;
    if !untrained.is_empty() {
        return Err(waits(&search, &untrained, search.alive().len()));
    }
    let tuning = Tuning::reopen(&run, search)?;
    let options =
        TuneOptions { threads, directory: Some(path.to_path_buf()), ..TuneOptions::default() };
    loop {
        match tuning.advance(&run, &options, &|_| {})? {
            None => {}
            Some(SharedSearch::Ended(_)) => return Ok(()),
            Some(SharedSearch::UnderWay { missing, .. }) if missing.is_empty() => {
                return Err(Error::InUse { directory: path.to_path_buf() });
            }
            Some(SharedSearch::UnderWay { search, trials, missing }) => {
                return Err(waits(&search, &missing, trials));
            }
        }
    }
}

/// The trials that are not trained as far as the next round goes. Files are replaced as a whole, so that no lock is needed.
fn missing(run: &RunDirectory, search: &Search) -> Result<Vec<usize>> {
    let Some(share) = search.share() else { return Ok(Vec::new()) };
    let mut missing = Vec::new();
    for n in search.alive() {
        let trial = run.trial(n);
        no_link(trial.path())?;
        let until = halving::until(search.trials[n].epochs, share);
        let trained = match trial.read(CHECKPOINT)? {
            Some(bytes) => {
                let wrong = |reason| Error::Checkpoint { path: trial.shown(CHECKPOINT), reason };
                is_at(&Checkpoint::from_bytes(&bytes).map_err(wrong)?.state, until)
            }
            None => false,
        };
        if !trained {
            missing.push(n);
        }
    }
    Ok(missing)
}

/// Where processes meet.
fn directory(options: &TuneOptions) -> Result<&Path> {
    let none = || Error::unfit("--part", "the jobs need a directory to meet in");
    options.directory.as_deref().ok_or_else(none)
}

fn encoded(of: &impl Serialize) -> Vec<u8> {
    // Of what is in a message, nothing can fail to be encoded.
    serde_json::to_vec(of).unwrap_or_default()
}

fn decoded<T: DeserializeOwned>(message: &[u8], rank: usize) -> Result<T> {
    let path = || format!("a message of rank {rank}");
    serde_json::from_slice(message)
        .map_err(|error| Error::Damaged { path: path(), reason: error.to_string() })
}
