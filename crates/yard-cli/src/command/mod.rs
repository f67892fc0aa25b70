//! The command line: the options of every command, and one file for each command, with its own options and the one
//! operation that it performs.

mod adopt;
mod answer;
mod approve;
mod back_to;
mod blame;
mod call;
mod chats;
mod clients;
mod completions;
mod doctor;
mod history;
mod import;
mod inbox;
mod keys;
mod mcp;
mod policy;
mod ports;
mod redo;
mod restore;
mod serve;
mod show;
mod storage;
mod take_back;
mod tools;
mod trash;
mod ui;
mod undo;
mod verify;

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Parser, Subcommand};
use yard_core::FaultCode;

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::reply::{FailureFormat, Reply};
use crate::terminal::Colour;

const EXAMPLES: &str = "\
Examples:
  toolyard call write '{\"path\": \"/notes.txt\", \"content\": \"hello\\n\"}'
  toolyard history notes.txt        every version of one file
  toolyard show last                what the newest step changed
  toolyard undo last                take it back; undo that to have it again

History belongs to the folder (--root) and is kept in your data folder, never in the project.";

/// The heading of the options that every command takes, in its help.
const EVERYWHERE: &str = "Options of every command";

/// A workspace for AI agents where nothing is ever lost and every step can be undone
#[derive(Parser)]
#[command(name = "toolyard", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Options that every command takes, before or after its name.
#[derive(clap::Args)]
pub(crate) struct Globals {
    /// Folder to work on; `mcp` takes several [default: the current folder]
    #[arg(long, value_name = "DIR", global = true, help_heading = EVERYWHERE)]
    pub(crate) root: Vec<PathBuf>,
    /// Folder that keeps the history, outside of every root [default: ~/.local/share/toolyard]
    #[arg(
        long,
        value_name = "DIR",
        global = true,
        help_heading = EVERYWHERE,
        env = "TOOLYARD_DATA_DIR",
        hide_env_values = true
    )]
    pub(crate) data_dir: Option<PathBuf>,
    /// When to use colours
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        global = true,
        help_heading = EVERYWHERE
    )]
    pub(crate) color: Colour,
}

/// The words by which `toolyard mcp --print-config` knows clients.
#[cfg(test)]
pub(crate) fn client_words() -> impl Iterator<Item = &'static str> {
    clients::CLIENTS.iter().map(|client| client.word)
}

/// The id that a person typed; `command` lists the ids.
fn parse_id<T: FromStr>(text: &str, what: &str, command: &str) -> Result<T, Failure> {
    text.parse().map_err(|_| {
        let message =
            format!("{text:?} is not the id of a {what}; `toolyard {command}` lists them");
        Failure::new(FaultCode::BadArgument, message)
    })
}

/// Makes the enum of the commands from a table of their names and modules. `json` behind one says that its
/// failures are printed as JSON where the person asked for JSON.
macro_rules! commands {
    ($($name:ident($module:ident $(, $json:ident)?),)*) => {
        /// What `toolyard` can do.
        #[derive(Subcommand)]
        pub(crate) enum Command {
            $($name($module::Options),)*
        }

        impl Command {
            fn perform(&self, context: &CommandContext) -> Result<Reply, Failure> {
                match self {
                    $(Self::$name(options) => options.run(context),)*
                }
            }

            /// Whether the person asked for JSON.
            fn wants_json(&self) -> bool {
                match self {
                    $($(Self::$name(options) => options.$json,)?)*
                    _ => false,
                }
            }
        }
    };
}

commands! {
    Call(call),
    Answer(answer, json),
    Approve(approve, json),
    Inbox(inbox, json),
    Policy(policy, json),
    Chats(chats, json),
    Tools(tools),
    History(history, json),
    Show(show, json),
    Undo(undo, json),
    Redo(redo, json),
    BackTo(back_to, json),
    Blame(blame, json),
    Trash(trash, json),
    Restore(restore, json),
    Verify(verify, json),
    Import(import, json),
    Adopt(adopt, json),
    Doctor(doctor, json),
    Storage(storage, json),
    Keys(keys, json),
    Ports(ports, json),
    Ui(ui),
    Serve(serve),
    Mcp(mcp),
    Completions(completions),
}

impl Command {
    /// Runs the command. What it does not find comes with advice.
    pub(crate) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let hint = match self {
            Self::Answer(_) => "`toolyard answer` lists those that wait",
            Self::Approve(_) => {
                "`toolyard approve` lists those that wait, `toolyard approve --all` the others too"
            }
            Self::History(_) => "`toolyard history` lists the steps of all files",
            Self::Restore(_) => {
                "`toolyard trash` lists what was removed, `toolyard history PATH` the versions of a file"
            }
            _ => return self.perform(context),
        };
        self.perform(context).map_err(|failure| failure.with_hint_if(FaultCode::NotFound, hint))
    }

    /// What it prints on standard output when it fails.
    pub(crate) fn failure_format(&self) -> FailureFormat {
        match self {
            Self::Call(_) => FailureFormat::Envelope,
            _ if self.wants_json() => FailureFormat::Json,
            _ => FailureFormat::Nothing,
        }
    }
}
