//! The commands: one file each, with its options and the one operation that it performs.

mod adopt;
mod answer;
mod approve;
mod call;
mod chats;
mod clients;
mod completions;
mod doctor;
mod history;
mod import;
mod keys;
mod mcp;
mod policy;
mod ports;
mod restore;
mod serve;
mod show;
mod storage;
mod tools;
mod trash;
mod undo;
mod verify;

use clap::Subcommand;
use yard_core::FaultCode;

use crate::FailureFormat;
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::reply::Reply;

/// What `toolyard` can do.
#[derive(Subcommand)]
pub(crate) enum Command {
    Call(call::Options),
    Answer(answer::Options),
    Approve(approve::Options),
    Policy(policy::Options),
    Chats(chats::Options),
    Tools(tools::Options),
    History(history::Options),
    Show(show::Options),
    Undo(undo::Options),
    Trash(trash::Options),
    Restore(restore::Options),
    Verify(verify::Options),
    Import(import::Options),
    Adopt(adopt::Options),
    Doctor(doctor::Options),
    Storage(storage::Options),
    Keys(keys::Options),
    Ports(ports::Options),
    Serve(serve::Options),
    Mcp(mcp::Options),
    Completions(completions::Options),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        match self {
            Self::Call(options) => options.run(context),
            Self::Answer(options) => {
                let hint = "`toolyard answer` lists those that wait";
                options
                    .run(context)
                    .map_err(|failure| failure.hinting_if(FaultCode::NotFound, hint))
            }
            Self::Approve(options) => {
                let hint = "`toolyard approve` lists those that wait, `toolyard approve --all` the others too";
                options
                    .run(context)
                    .map_err(|failure| failure.hinting_if(FaultCode::NotFound, hint))
            }
            Self::Policy(options) => options.run(context),
            Self::Chats(options) => options.run(context),
            Self::Tools(options) => options.run(context),
            Self::History(options) => {
                let hint = "`toolyard history` lists the steps of all files";
                options
                    .run(context)
                    .map_err(|failure| failure.hinting_if(FaultCode::NotFound, hint))
            }
            Self::Show(options) => options.run(context),
            Self::Undo(options) => options.run(context),
            Self::Trash(options) => options.run(context),
            Self::Restore(options) => {
                let hint = "`toolyard trash` lists what was removed, `toolyard history PATH` the versions of a file";
                options
                    .run(context)
                    .map_err(|failure| failure.hinting_if(FaultCode::NotFound, hint))
            }
            Self::Verify(options) => options.run(context),
            Self::Import(options) => options.run(context),
            Self::Adopt(options) => options.run(context),
            Self::Doctor(options) => options.run(context),
            Self::Storage(options) => options.run(context),
            Self::Keys(options) => options.run(context),
            Self::Ports(options) => options.run(context),
            Self::Serve(options) => options.run(context),
            Self::Mcp(options) => options.run(context),
            Self::Completions(options) => Ok(options.run()),
        }
    }

    /// What it prints on standard output when it fails.
    pub(crate) fn failure_format(&self) -> FailureFormat {
        let json = match self {
            Self::Call(_) => return FailureFormat::Envelope,
            Self::Tools(_) | Self::Serve(_) | Self::Mcp(_) | Self::Completions(_) => false,
            Self::Answer(options) => options.json,
            Self::Approve(options) => options.json,
            Self::Policy(options) => options.json,
            Self::Chats(options) => options.json,
            Self::History(options) => options.json,
            Self::Show(options) => options.json,
            Self::Undo(options) => options.json,
            Self::Trash(options) => options.json,
            Self::Restore(options) => options.json,
            Self::Verify(options) => options.json,
            Self::Import(options) => options.json,
            Self::Adopt(options) => options.json,
            Self::Doctor(options) => options.json,
            Self::Storage(options) => options.json,
            Self::Keys(options) => options.json,
            Self::Ports(options) => options.json,
        };
        if json { FailureFormat::Json } else { FailureFormat::Nothing }
    }
}
