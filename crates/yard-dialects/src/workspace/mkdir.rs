//! `mkdir`: makes a folder and those above it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::{Fault, FaultCode, Subject, op};

use crate::tool::{Context, Hints, Stop, Tool};

/// Creates a folder and all missing folders above it. A folder that exists already is a success.
/// Use `touch` or `write` for files.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Mkdir {
    /// Full path to the folder.
    path: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The folder.
    path: String,
    /// Its id.
    file_id: String,
}

impl Tool for Mkdir {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "mkdir";
    const HINTS: Hints = Hints::ADDS.repeating();

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = context.path(&args.path)?;
        let changed = context.perform(op::Mkdir { path });
        let changed = changed.map_err(|stop| stop.map_fault(in_the_way))?;
        Ok(Reply { path: context.display(&changed.path), file_id: changed.file.to_string() })
    }
}

/// The status of the spec: a file anywhere on the path is a conflict.
fn in_the_way(fault: Fault) -> Stop {
    match fault.code() {
        FaultCode::NotFolder => {
            Stop::Fault(Fault::new(FaultCode::Exists, fault.message()).about(Subject::Path))
        }
        _ => Stop::Fault(fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_the_way_is_a_conflict() {
        for (code, becomes) in [
            (FaultCode::NotFolder, FaultCode::Exists),
            (FaultCode::Exists, FaultCode::Exists),
            (FaultCode::PathOutside, FaultCode::PathOutside),
        ] {
            match in_the_way(Fault::new(code, "why")) {
                Stop::Fault(fault) => assert_eq!((fault.code(), fault.message()), (becomes, "why")),
                other => panic!("{other:?}"),
            }
        }
    }
}
