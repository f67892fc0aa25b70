//! What the plan tools share: which paths are plans, and a plan's whole text.

use yard_core::op::{LineStart, Read, ReadAnswer, Slice, Want};
use yard_core::{Fault, FaultCode, Subject, WsPath};

use crate::tool::{Context, Stop};

/// The folder that plans without a path of their own are in.
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
        want: Want { hash: true, line_count: false, synced: true },
        max_bytes: context.limits().load_bytes,
    })?;
    if answer.truncated {
        let path = context.shown(path);
        let message = format!("{path} has {} bytes, too many for a plan", answer.size);
        return Err(Fault::new(FaultCode::TooLarge, message).about(Subject::Path).into());
    }
    Ok(answer)
}
