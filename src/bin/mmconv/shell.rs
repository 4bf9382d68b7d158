//! Completions and manual pages, made from the flags themselves.

use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args::Cli;
use crate::failure::{Failure, Status};
use crate::out::Results;

/// Prints the completions of `mmconv` for a shell.
pub fn completions(shell: Shell, results: &Results) -> Status {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "mmconv", &mut script);
    results.write(&script);
    Status::Done
}

/// Prints the manual page of `mmconv`, or of one of its commands.
pub fn man(name: Option<&str>, results: &Results) -> Result<Status, Failure> {
    let mut root = Cli::command();
    root.build();
    let page = match name {
        None => root.display_name("mmconv"),
        Some(name) => root
            .find_subcommand(name)
            .cloned()
            .ok_or_else(|| Failure::request(format!("there is no command {name}")))?
            .display_name(format!("mmconv-{name}")),
    };
    let title = page
        .get_display_name()
        .unwrap_or_default()
        .to_ascii_uppercase();
    let mut text = Vec::new();
    Man::new(page)
        .title(title)
        .source(concat!("mmconv ", env!("CARGO_PKG_VERSION")))
        .render(&mut text)
        .map_err(|error| Failure::machine(format!("the manual page cannot be made: {error}")))?;
    results.write(&text);
    Ok(Status::Done)
}
