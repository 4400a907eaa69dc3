//! The `feasible` program: arguments in, calls out.
//!
//! Results go to standard output, everything else to standard error. What the exit code says is a
//! contract; see [`exit`].

mod arguments;
mod command;
mod exit;
mod interrupt;
mod outputs;
mod progress;
mod ranks;
mod terminal;

use std::process::ExitCode;

use clap::Parser;
use feasible_data::scratch;

use crate::arguments::{Arguments, Command};
use crate::terminal::Terminal;

/// Keeps large lists on disk where a problem says so, and ends with a sentence where there is no memory.
#[global_allocator]
static MEMORY: scratch::Allocator =
    scratch::Allocator::new(exit::disk_is_full, exit::memory_is_out);

/// The stack of the thread that does the work. It is reserved before anything begins; the main thread's grows on demand, and where no
/// memory is left for that, the system kills the program without a word.
const STACK: usize = 8 << 20;

fn main() -> ExitCode {
    exit::report_panics();
    exit::catch_aborts();
    let words: Vec<String> = std::env::args_os().map(|w| w.to_string_lossy().into()).collect();
    Terminal::prepare(&words);
    if let Some(exit) = ranks::supervise() {
        return exit;
    }
    let Ok(worker) = std::thread::Builder::new().stack_size(STACK).spawn(run) else {
        return exit::thread_is_refused().into();
    };
    worker.join().unwrap_or(exit::Exit::Internal.into())
}

fn run() -> ExitCode {
    interrupt::watch();
    let Arguments { terminal, command } = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return exit::of_arguments(&error).into(),
    };
    let mut terminal = Terminal::new(&terminal);
    if let Err(sentence) = feasible_problem::Level::chosen() {
        terminal.error(&sentence, exit::Exit::Input);
        return exit::Exit::Input.into();
    }
    if cfg!(debug_assertions) && std::env::var_os("FEASIBLE_PANIC").is_some() {
        panic!("asked to by FEASIBLE_PANIC");
    }
    if let Err(failure) = command::memory_of_environment() {
        terminal.error(failure.message(), failure.exit());
        return failure.exit().into();
    }
    match ranks::join(&command, &mut terminal) {
        Ok(None) => {}
        Ok(Some(exit)) => return exit.into(),
        Err(failure) => {
            terminal.error(failure.message(), failure.exit());
            return failure.exit().into();
        }
    }
    let ended = match &command {
        Command::Fit(arguments) => command::fit::fit(arguments, &terminal),
        Command::Resume(arguments) => command::fit::resume(arguments, &terminal),
        Command::Predict(arguments) => command::predict::predict(arguments, &terminal),
        Command::Export(arguments) => command::export::export(arguments, &terminal),
        Command::Audit(arguments) => command::audit::audit(arguments, &terminal),
        Command::Attack(arguments) => command::attack::attack(arguments, &terminal),
        Command::Certify(arguments) => command::certify::certify(arguments, &terminal),
        Command::Monitor(arguments) => command::monitor::monitor(arguments, &terminal),
        Command::Bound(arguments) => command::bound::bound(arguments, &terminal),
        Command::Sweep(arguments) => command::sweep::sweep(arguments, &terminal),
        Command::Tune(arguments) => command::tune::tune(arguments, &terminal),
        Command::Report(arguments) => command::report::report(arguments, &terminal),
        Command::Check(arguments) => command::check::check(arguments, &terminal),
        Command::Init(arguments) => command::init::init(arguments, &terminal),
        Command::Data(arguments) => command::data::data(arguments, &terminal),
        Command::Reproduce(arguments) => command::reproduce::reproduce(arguments, &terminal),
        Command::Completions(arguments) => command::shell::completions(arguments, &terminal),
        Command::Man(arguments) => command::shell::man(arguments, &terminal),
        Command::Schema(arguments) => command::shell::schema(arguments, &terminal),
    };
    match ended {
        Ok(exit) => ranks::leave(exit).into(),
        Err(failure) => {
            terminal.error(failure.message(), failure.exit());
            ranks::leave(failure.exit()).into()
        }
    }
}
