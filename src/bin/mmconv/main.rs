//! The command `mmconv`: from the command line to the library and back. Everything is done through
//! the public interface of `mmfits`; what is printed is printed from here and nowhere else.

mod args;
mod bar;
mod beams;
mod bench;
mod demo;
mod devices;
mod failure;
mod finish;
mod help;
mod info;
mod inputs;
mod json;
mod out;
mod rank;
mod rates;
mod report;
mod request;
mod retype;
mod shell;
mod signals;
mod smooth;
mod values;
mod words;

use std::ffi::OsString;
use std::panic::{self, PanicHookInfo};
use std::process::ExitCode;

use clap::Parser;
use mmfits::map::guard::{Farewell, install_guard};

use crate::args::{Cli, Command};
use crate::failure::{Status, one_line};
use crate::out::{Results, tell};

/// For files that are cut short, and disks that fail, under a map.
const FAREWELL: Farewell = Farewell {
    program: "mmconv",
    input_status: Status::Input as i32,
    output_status: Status::Machine as i32,
};

fn main() -> ExitCode {
    panic::set_hook(Box::new(|info| tell(&bug_text(info))));
    // Without it a file that is cut short is a plain SIGBUS, which is no reason not to begin.
    let _ = install_guard(FAREWELL);
    let status = panic::catch_unwind(|| run(std::env::args_os())).unwrap_or(Status::Bug);
    ExitCode::from(status as u8)
}

fn run(words: impl IntoIterator<Item = OsString>) -> Status {
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => {
            // To standard output for --help and --version, which may be piped into `head`.
            let _ = error.print();
            return if error.exit_code() == 0 {
                Status::Done
            } else {
                Status::Request
            };
        }
    };
    let results = Results::default();
    let status = match dispatch(cli.command, &results) {
        Ok(status) => status,
        Err(failure) => failure.tell(),
    };
    match results.check() {
        Ok(()) => status,
        Err(failure) => status.max(failure.tell()),
    }
}

fn dispatch(command: Command, results: &Results) -> Result<Status, failure::Failure> {
    match command {
        Command::Smooth(args) => smooth::run(&args, results),
        Command::Beams(args) => Ok(beams::run(&args, results)),
        Command::Info(args) => Ok(info::run(&args, results)),
        Command::Plan(args) => finish::plan(&args, results),
        Command::Status(args) => finish::status(&args, results),
        Command::Finish(args) => finish::run(&args, results),
        Command::Clean(args) => finish::clean(&args),
        Command::Demo(args) => demo::run(&args.dir, results),
        Command::Devices(args) => Ok(devices::run(&args, results)),
        Command::Bench(args) => bench::run(&args, results),
        Command::Rank => rank::run(results),
        Command::Completions { shell } => Ok(shell::completions(shell, results)),
        Command::Man { command } => shell::man(command.as_deref(), results),
    }
}

fn bug_text(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    let place = info
        .location()
        .map_or_else(String::new, |place| format!(" at {place}"));
    format!(
        "mmconv: bug{place}: {}; please report it with the command line",
        one_line(text)
    )
}
