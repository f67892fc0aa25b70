//! Stale protection (R7): a hash that is not the file's current one is a conflict that says what
//! changed since, by whom, and what the current hash is.

use yard_core::{Author, ContentHash, Fault, FaultCode, Result, Subject, WsPath};

use crate::planner::Current;
use crate::workspace::Workspace;

/// How many changes are searched for the version that the caller knows.
const MAX_SEARCHED: usize = 200;
/// Most changes that the fault names.
const MAX_NAMED: usize = 5;

/// A fault if the caller expects another content than the current one.
pub(crate) fn check(
    workspace: &Workspace,
    current: &Current,
    expected: Option<ContentHash>,
) -> Result<()> {
    match (expected, current.content()) {
        (None, _) => Ok(()),
        (Some(expected), Some(found)) if expected == found => Ok(()),
        (Some(expected), found) => {
            let since = what_changed(workspace, current, &expected);
            let now = found.map_or_else(|| "unknown".to_owned(), |hash| hash.to_string());
            let message = format!(
                "{} is no longer what you read: {since}. Its hash is now {now}. Read it again, then repeat the change with that hash; nothing was written",
                current.path
            );
            Err(Fault::new(FaultCode::Stale, message).about(Subject::Hash))
        }
    }
}

/// The fault if the file that the caller read is gone.
pub(crate) fn gone(path: &WsPath) -> Fault {
    let message = format!(
        "{path} is no longer there, so it cannot have the hash that you read. To make it again, leave the hash out"
    );
    Fault::new(FaultCode::Stale, message).about(Subject::Hash)
}

fn what_changed(workspace: &Workspace, current: &Current, expected: &ContentHash) -> String {
    let history =
        workspace.store().file_changes(current.id, None, MAX_SEARCHED).unwrap_or_default();
    let content =
        |state: &Option<yard_core::FileState>| state.as_ref().and_then(|state| state.content);
    let mut named = Vec::new();
    if history.first().is_none_or(|(_, change)| content(&change.after) != current.content()) {
        named.push("changed on disk by something outside of Toolyard".to_owned());
    }
    let at = history.iter().position(|(_, change)| content(&change.after) == Some(*expected));
    let Some(at) = at else {
        return "that hash is none of its recent versions".to_owned();
    };
    for (step, _) in history.iter().take(at) {
        let by = match step.author {
            Author::External => "something outside of Toolyard",
            author => author.word(),
        };
        named.push(format!("{} by {by} at {} (step {})", step.verb, step.at, step.id));
    }
    let rest = named.len().saturating_sub(MAX_NAMED);
    named.truncate(MAX_NAMED);
    if rest > 0 {
        named.push(format!("and {rest} earlier changes"));
    }
    named.join("; ")
}
