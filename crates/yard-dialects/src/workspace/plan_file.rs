//! Plan files, for all plan tools: their paths, and their whole text.

use yard_core::op::{Entry, Find, FindBy, LineStart, Read, ReadAnswer, Slice, Want};
use yard_core::{Fault, FaultCode, FileKind, Subject, WsPath};

use crate::tool::{Context, Stop};

/// The folder of plans that are written without a path.
pub(super) const FOLDER: &str = "/plans";
/// How the name of a plan ends.
pub(super) const END: &str = ".plan";

/// A path that an argument names, which must be a plan's.
pub(super) fn path(text: &str, argument: &str, context: &Context<'_>) -> Result<WsPath, Stop> {
    let path = context.path(text)?;
    let named = path.name().is_some_and(|name| name.as_bytes().ends_with(END.as_bytes()));
    if named {
        return Ok(path);
    }
    let wrong =
        format!("expected a path that ends in {END}, such as /plans/bold-meadow-quest{END}");
    Err(Stop::argument(argument, wrong))
}

/// The whole of a plan, with the hash of its bytes.
pub(super) fn read(path: &WsPath, context: &Context<'_>) -> Result<ReadAnswer, Stop> {
    let answer = context.perform(Read {
        path: path.clone(),
        slice: Slice::Lines { start: LineStart::FromStart(0), limit: None },
        want: Want { hash: true, synced: true, ..Want::default() },
        max_bytes: context.limits().load_bytes,
    })?;
    if answer.truncated {
        let path = context.display(path);
        let message = format!("{path} has {} bytes, too many for a plan", answer.size);
        return Err(Fault::new(FaultCode::TooLarge, message).about(Subject::Path).into());
    }
    Ok(answer)
}

/// Every plan file below the folder, which need not be there.
pub(super) fn all(context: &Context<'_>) -> Result<Vec<Entry>, Stop> {
    let by = FindBy::Globs(vec![format!("*{END}")]);
    let below = Find::below(context.own_path(FOLDER)?, by);
    let found = context.perform(Find { include_ignored: true, ..below });
    match found {
        Ok(found) => {
            let is_file = |entry: &Entry| entry.kind == Some(FileKind::File);
            Ok(found.entries.into_iter().filter(is_file).collect())
        }
        Err(Stop::Fault(fault)) if fault.code() == FaultCode::NotFound => Ok(Vec::new()),
        Err(stop) => Err(stop),
    }
}
