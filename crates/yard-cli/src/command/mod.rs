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

use crate::Speech;
use crate::door::Door;
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
    /// Does it.
    pub(crate) fn run(&self, door: &Door) -> Result<Reply, Failure> {
        match self {
            Self::Call(options) => options.run(door),
            Self::Answer(options) => {
                let hint = "`toolyard answer` lists those that wait";
                options.run(door).map_err(|failure| failure.hinting_if(FaultCode::NotFound, hint))
            }
            Self::Approve(options) => {
                let hint = "`toolyard approve` lists those that wait, `toolyard approve --all` the others too";
                options.run(door).map_err(|failure| failure.hinting_if(FaultCode::NotFound, hint))
            }
            Self::Policy(options) => options.run(door),
            Self::Chats(options) => options.run(door),
            Self::Tools(options) => options.run(door),
            Self::History(options) => {
                let hint = "`toolyard history` lists the steps of all files";
                options.run(door).map_err(|failure| failure.hinting_if(FaultCode::NotFound, hint))
            }
            Self::Show(options) => options.run(door),
            Self::Undo(options) => options.run(door),
            Self::Trash(options) => options.run(door),
            Self::Restore(options) => {
                let hint = "`toolyard trash` lists what was removed, `toolyard history PATH` the versions of a file";
                options.run(door).map_err(|failure| failure.hinting_if(FaultCode::NotFound, hint))
            }
            Self::Verify(options) => options.run(door),
            Self::Import(options) => options.run(door),
            Self::Adopt(options) => options.run(door),
            Self::Doctor(options) => options.run(door),
            Self::Storage(options) => options.run(door),
            Self::Keys(options) => options.run(door),
            Self::Ports(options) => options.run(door),
            Self::Serve(options) => options.run(door),
            Self::Mcp(options) => options.run(door),
            Self::Completions(options) => Ok(options.run()),
        }
    }

    /// How it tells a failure.
    pub(crate) fn speech(&self) -> Speech {
        let json = match self {
            Self::Call(_) => return Speech::Envelope,
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
        if json { Speech::Json } else { Speech::Words }
    }
}
