//! The binary `toolyard`: composition root and third door.
//!
//! Only here are environment, clock and randomness read; everything below is handed them. A command
//! turns its options into one operation and the answer into a [`Reply`]; printing, exit codes and the
//! three ways of telling a failure are here, once.

mod box_page;
mod boxes;
mod caches;
mod certificates;
mod command;
mod config;
mod door;
mod failure;
mod git_identity;
mod hidden_programs;
mod leftovers;
mod log;
mod overlap;
mod package_indexes;
mod person;
mod place;
mod port_forwards;
mod reply;
mod rooms;
mod step_name;
mod storage;
mod table;
#[cfg_attr(not(feature = "telemetry"), path = "no_telemetry.rs")]
mod telemetry;
mod terminal;
mod toolchains;
mod world;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, Parser};
use yard_dialects::Catalog;

use crate::command::Command;
use crate::door::Door;
use crate::failure::Failure;
use crate::reply::{Body, Reply};
use crate::terminal::{Colour, Terminal};

const EXAMPLES: &str = "\
Examples:
  toolyard call write '{\"path\": \"/notes.txt\", \"content\": \"hello\\n\"}'
  toolyard history notes.txt        every version of one file
  toolyard show last                what the newest step changed
  toolyard undo last                take it back; undo that to have it again

History belongs to the folder (--root) and is kept in your data folder, never in the project.";

/// A call allocates about a hundred small values on one thread that another thread may free. With the allocator
/// of the system, a server spent a sixth of its time on that.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// A workspace for AI agents where nothing is ever lost and every step can be undone
#[derive(Parser)]
#[command(name = "toolyard", version, after_help = EXAMPLES, disable_help_subcommand = true)]
struct Arguments {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Reports an error in the command line and exits. Whoever names a tool in place of a command gets a hint.
fn exit_with_usage_error(error: &clap::Error) -> ! {
    let _ = error.print();
    let named = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(name)) => Some(name),
        _ => None,
    };
    if let Some(name) = named.filter(|name| Catalog::standard().get("workspace", name).is_some()) {
        let hint = format!("hint: {name} is a tool: toolyard call {name} '{{...}}'\n");
        let _ = io::stderr().write_all(hint.as_bytes());
    }
    std::process::exit(error.exit_code())
}

/// Options that every command takes, before or after its name.
#[derive(clap::Args)]
struct Globals {
    /// Folder to work on; `mcp` takes several [default: the current folder]
    #[arg(long, value_name = "DIR", global = true)]
    root: Vec<PathBuf>,
    /// Folder that keeps the history, outside of every root [default: your user data folder]
    #[arg(
        long,
        value_name = "DIR",
        global = true,
        env = "TOOLYARD_DATA_DIR",
        hide_env_values = true
    )]
    data_dir: Option<PathBuf>,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    color: Colour,
}

fn main() -> ExitCode {
    // Before anything else: the box's helper must have one thread, and reads no arguments of ours.
    if let Some(helper) = boxed_helper() {
        return helper;
    }
    let Arguments { globals, command } =
        Arguments::try_parse().unwrap_or_else(|error| exit_with_usage_error(&error));
    let terminal = Terminal::of_this_process(globals.color);
    let Some(command) = command else {
        let help = Arguments::command().render_help();
        return finish(terminal, Reply::text(help.to_string()));
    };
    let speech = command.speech();
    let door = Door::new(globals.root, globals.data_dir, terminal);
    let reply = command.run(&door).unwrap_or_else(|failure| {
        complain(&failure);
        speech.reply_to(&failure)
    });
    finish(terminal, reply)
}

/// Runs as the helper of a box, if that is what this process was started for.
fn boxed_helper() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let is_helper = arguments.next()? == yard_kernel::sandbox::HELPER;
    let word = arguments.next();
    is_helper.then(|| yard_kernel::sandbox::inner(word.as_deref().and_then(|word| word.to_str())))
}

/// Prints the reply. A reader that went away is not an error: it has read what it wanted.
fn finish(terminal: Terminal, reply: Reply) -> ExitCode {
    match print(&reply.body.render(terminal)) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(&Failure::io("the answer could not be printed", &error));
            ExitCode::FAILURE
        }
        _ => ExitCode::from(reply.exit),
    }
}

fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

fn complain(failure: &Failure) {
    let mut stderr = io::stderr().lock();
    // Nobody is left to tell if standard error is gone.
    let _ = writeln!(stderr, "error: {}", terminal::visible(failure.message()));
    if let Some(hint) = failure.hint() {
        let _ = writeln!(stderr, "hint: {}", terminal::visible(hint));
    }
}

/// How a command tells a failure on standard output, beside the words on standard error.
#[derive(Clone, Copy)]
enum Speech {
    /// Not at all.
    Words,
    /// As an object for scripts.
    Json,
    /// In the envelope of the tools (W1).
    Envelope,
}

impl Speech {
    fn reply_to(self, failure: &Failure) -> Reply {
        let body = match self {
            Self::Words => Body::Text(String::new()),
            Self::Json => Body::Json(failure.to_json()),
            Self::Envelope => Body::Json(failure.to_envelope()),
        };
        Reply { body, exit: failure.exit() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }
}
