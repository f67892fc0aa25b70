//! The binary `toolyard`: it composes the other crates into a program, and is their third interface, after HTTP
//! and MCP.
//!
//! Only this crate reads the environment, the clock and random numbers; it passes them to the others. A command turns
//! its options into one operation and the answer into a [`Reply`]. This module prints replies, sets the exit code and
//! reports failures in one of three formats.

mod box_config;
mod box_page;
mod browser;
mod caches;
mod certificates;
mod command;
mod config;
mod context;
mod crash_leftovers;
mod failure;
mod git_identity;
mod hidden_programs;
mod last_events;
mod local_workspaces;
mod location;
mod log;
#[cfg(any(test, not(feature = "telemetry")))]
mod no_telemetry;
mod open_files;
mod overlap;
mod package_indexes;
mod page_files;
mod port_forwards;
mod reply;
mod server_workspaces;
mod shell_word;
mod short_ids;
mod storage;
mod system_world;
mod table;
#[cfg(feature = "telemetry")]
mod telemetry;
mod terminal;
mod toolchains;
mod user_environment;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, Parser as _};
use yard_dialects::Catalog;

use crate::command::Arguments;
use crate::context::CommandContext;
use crate::failure::Failure;
#[cfg(not(feature = "telemetry"))]
use crate::no_telemetry as telemetry;
use crate::reply::Reply;
use crate::terminal::Terminal;

/// A call allocates about a hundred small values on one thread that another thread may free. With the allocator
/// of the system, a server spent a sixth of its time on that.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Reports an error in the command line and exits, with a hint if the command is the name of a tool.
fn exit_with_usage_error(error: &clap::Error) -> ! {
    let _ = error.print();
    let named = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(name)) => Some(name),
        _ => None,
    };
    let catalog = Catalog::standard();
    let toolset = |name: &str| {
        let mut names = Catalog::toolset_names().into_iter();
        names.find(|toolset| catalog.get(toolset, name).is_some())
    };
    if let Some((name, toolset)) = named.and_then(|name| Some((name, toolset(name)?))) {
        let option = match toolset {
            "workspace" => String::new(),
            other => format!("--toolset {other} "),
        };
        let hint = format!("hint: {name} is a tool: toolyard call {option}{name} '{{...}}'\n");
        let _ = io::stderr().write_all(hint.as_bytes());
    }
    std::process::exit(error.exit_code())
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
    is_helper.then(|| yard_sandbox::run_helper(word.as_deref().and_then(|word| word.to_str())))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The help of a command, with its line breaks as spaces.
    fn help_of(path: &[&str]) -> String {
        let mut command = Arguments::command();
        let mut found = &mut command;
        for name in path {
            found = found.find_subcommand_mut(name).unwrap();
        }
        let help = found.render_long_help().to_string();
        help.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_help_names_every_toolset_and_every_client() {
        let names = Catalog::toolset_names();
        let (last, others) = names.split_last().unwrap();
        let toolsets = format!("{} or {last}", others.join(", "));
        for path in [&["call"][..], &["tools"], &["mcp"], &["policy", "explain"]] {
            assert!(help_of(path).contains(&toolsets), "{path:?}: {}", help_of(path));
        }
        let help = help_of(&["mcp"]);
        for client in command::client_words() {
            assert!(help.contains(client), "{client}");
        }
    }

    #[test]
    fn the_help_of_a_command_has_its_own_options_first_and_no_long_lines() {
        let mut command = Arguments::command();
        command.build();
        for command in command.get_subcommands_mut() {
            let name = command.get_name().to_owned();
            let help = command.render_help().to_string();
            let (own, shared) = help.split_once("Options of every command:").unwrap();
            assert!(!own.contains("--data-dir") && shared.contains("--data-dir"), "{name}: {own}");
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let longest = after.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(longest <= 120, "{name}: {longest} characters");
        }
    }

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }
}
