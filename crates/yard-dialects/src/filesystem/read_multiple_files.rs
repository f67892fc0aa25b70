//! `read_multiple_files`: reads several text files in one answer; a file that cannot be read has an error in its place.

use schemars::JsonSchema;
use serde::Deserialize;
use yard_core::{FaultCode, Subject};

use super::{Reply, host_paths, read_text_file};
use crate::tool::{Context, Stop, Tool, Work};

/// Read the contents of multiple files simultaneously. Each file's content is returned with its path as a
/// reference. Failed reads for individual files won't stop the entire operation. Only works within allowed
/// directories.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ReadMultipleFiles {
    /// Array of file paths to read. Each path must be a string pointing to a valid file within allowed
    /// directories.
    #[schemars(length(min = 1))]
    paths: Vec<String>,
}

impl Tool for ReadMultipleFiles {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "read_multiple_files";
    const WORK: Work = Work::Look;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        // R12: all of them share one answer.
        let mut left = context.limits().load_bytes;
        let mut parts = Vec::with_capacity(args.paths.len());
        for path in &args.paths {
            parts.push(one(path, &mut left, context)?);
        }
        Ok(parts.join("\n---\n").into())
    }
}

fn one(text: &str, left: &mut u64, context: &Context<'_>) -> Result<String, Stop> {
    // Each file is read in its own root: a call that only reads may be about several roots (R15).
    let attempt = context.attempt.in_session(context.session().in_root_of(text.trim()));
    let there = context.with(&attempt);
    let read = host_paths::parse(&there, text, Subject::Path)
        .and_then(|path| read_text_file::whole(&there, path, *left));
    match read {
        Ok(content) => {
            *left = left.saturating_sub(content.len() as u64);
            Ok(format!("{text}:\n{content}\n"))
        }
        Err(Stop::Fault(fault)) if fault.code() != FaultCode::Timeout => {
            Ok(format!("{text}: Error - {}", fault.message()))
        }
        Err(stop) => Err(stop),
    }
}
