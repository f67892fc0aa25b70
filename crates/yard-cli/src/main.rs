//! The binary `toolyard`: it composes the other crates into a program, and is their third interface beside HTTP and
//! MCP.
//!
//! Only this crate reads the environment, the clock and random numbers; it passes them to the others. A command turns
//! its options into one operation and the answer into a [`Reply`]. This module prints replies, sets the exit code and
//! reports failures in one of three formats.

mod box_page;
mod boxes;
mod caches;
mod certificates;
mod command;
mod config;
mod context;
mod failure;
mod git_identity;
mod hidden_programs;
mod leftovers;
mod location;
mod log;
#[cfg(any(test, not(feature = "telemetry")))]
mod no_telemetry;
mod overlap;
mod package_indexes;
mod port_forwards;
mod reply;
mod server_workspaces;
mod step_name;
mod storage;
mod system_world;
mod table;
#[cfg(feature = "telemetry")]
mod telemetry;
mod terminal;
mod toolchains;
mod user_environment;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, Parser};
use yard_dialects::Catalog;

use crate::command::Command;
use crate::context::CommandContext;
use crate::failure::Failure;
#[cfg(not(feature = "telemetry"))]
use crate::no_telemetry as telemetry;
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

/// Reports an error in the command line and exits, with a hint if the command is the name of a tool.
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
    // This comes first because the helper of a box must have one thread, and has no arguments of the command line.
    if let Some(exit_code) = run_as_box_helper() {
        return exit_code;
    }
    let Arguments { globals, command } =
        Arguments::try_parse().unwrap_or_else(|error| exit_with_usage_error(&error));
    let terminal = Terminal::of_this_process(globals.color);
    let Some(command) = command else {
        let help = Arguments::command().render_help();
        return print_reply(terminal, Reply::text(help.to_string()));
    };
    let failure_format = command.failure_format();
    let context = CommandContext::new(globals.root, globals.data_dir, terminal);
    let reply = command.run(&context).unwrap_or_else(|failure| {
        print_failure(&failure);
        failure_format.reply_to(&failure)
    });
    print_reply(terminal, reply)
}

/// Runs the helper of a box, if this process was started as one.
fn run_as_box_helper() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let is_helper = arguments.next()? == yard_sandbox::HELPER;
    let word = arguments.next();
    is_helper.then(|| yard_sandbox::inner(word.as_deref().and_then(|word| word.to_str())))
}

/// Prints the reply. A closed pipe is not an error: its reader has read what it wanted.
fn print_reply(terminal: Terminal, reply: Reply) -> ExitCode {
    match print(&reply.body.render(terminal)) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            print_failure(&Failure::io("the answer could not be printed", &error));
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

fn print_failure(failure: &Failure) {
    let mut stderr = io::stderr().lock();
    // If standard error is closed, there is no other place for the message.
    let _ = writeln!(stderr, "error: {}", terminal::visible(failure.message()));
    if let Some(hint) = failure.hint() {
        let _ = writeln!(stderr, "hint: {}", terminal::visible(hint));
    }
}

/// What a command that fails prints on standard output. Standard error has the message in any case.
#[derive(Clone, Copy)]
enum FailureFormat {
    /// Nothing.
    Nothing,
    /// A JSON object for scripts.
    Json,
    /// The envelope of the tools (W1).
    Envelope,
}

impl FailureFormat {
    fn reply_to(self, failure: &Failure) -> Reply {
        let body = match self {
            Self::Nothing => Body::Text(String::new()),
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
