//! `mv`: moves and renames files and folders (W8).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::{Fault, FaultCode, Subject, op};

use crate::tool::{Context, Stop, Tool};

/// Moves or renames a file or a folder with everything below it. Never overwrites. Into a folder:
/// end the destination with `/`, or name an existing folder. Otherwise the destination is the new
/// path; its folder must exist.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Mv {
    /// Current path of the file or folder.
    source: String,
    /// New path, or the folder to move it into (with a trailing `/`).
    destination: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// Where it was.
    from_path: String,
    /// Where it is now.
    to_path: String,
}

impl Tool for Mv {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "mv";

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let into_folder = names_folder(&args.destination);
        let from = context.path(&args.source)?;
        let to = context.path_about(&args.destination, Subject::Destination)?;
        let moved = context.perform(op::Move {
            from,
            to,
            into_folder,
            on_existing: op::OnExisting::Refuse,
        });
        let moved = moved
            .map_err(|stop| if into_folder { stop.map_fault(no_such_folder) } else { stop })?;
        Ok(Reply { from_path: context.display(&moved.from), to_path: context.display(&moved.to) })
    }
}

fn names_folder(destination: &str) -> bool {
    destination.trim_end().ends_with('/')
}

/// W8: a trailing slash names a folder; a file of that name counts as a missing folder.
fn no_such_folder(fault: Fault) -> Stop {
    match (fault.code(), fault.subject()) {
        (FaultCode::NotFolder, Some(Subject::Destination)) => Stop::Fault(
            Fault::new(FaultCode::NotFound, fault.message()).about(Subject::Destination),
        ),
        _ => Stop::Fault(fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w8_a_trailing_slash_names_a_folder() {
        assert!(names_folder("/archive/") && names_folder("/archive/ ") && names_folder("/"));
        assert!(!names_folder("/archive"));
    }

    #[test]
    fn w8_a_file_is_not_the_folder_that_was_meant() {
        let code = |subject| {
            let fault = Fault::new(FaultCode::NotFolder, "a file").about(subject);
            match no_such_folder(fault) {
                Stop::Fault(fault) => fault.code(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(code(Subject::Destination), FaultCode::NotFound);
        assert_eq!(code(Subject::Path), FaultCode::NotFolder);
    }
}
