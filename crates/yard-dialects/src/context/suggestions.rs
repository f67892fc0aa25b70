//! Suggestions for a path at which nothing is: the existing path with the nearest names, or else the last existing
//! folder, to be listed. They are made only after a call failed, from folders that the caller may list.

use yard_core::{Fault, FaultCode, WsPath};

use super::Context;
use crate::nearest::nearest;

/// Adds a suggestion to a fault that ends with one of the paths that the call named.
pub(crate) fn with_suggestion(context: &Context<'_>, fault: Fault, named: &[WsPath]) -> Fault {
    if fault.code() != FaultCode::NotFound {
        return fault;
    }
    let is_missing = |path: &&WsPath| fault.message().ends_with(&format!(": {path}"));
    match named.iter().find(is_missing).and_then(|path| suggestion(context, path)) {
        Some(suggestion) => fault.reworded(format!("{}{suggestion}", fault.message())),
        None => fault,
    }
}

/// The end of the message about a path at which nothing is: what to send instead.
pub(crate) fn suggestion(context: &Context<'_>, path: &WsPath) -> Option<String> {
    let mut nearest_path = WsPath::root();
    // The last folder of the path that exists under its very name.
    let mut folder = None;
    let mut is_exact = true;
    for name in path.names() {
        let Some(names) = names_in(context, &nearest_path) else {
            return list_folder(context, folder);
        };
        if is_exact {
            folder = Some(nearest_path.clone());
        }
        let wanted = std::str::from_utf8(name.as_bytes()).ok()?;
        let existing = match names.iter().find(|known| *known == wanted) {
            Some(known) => known.as_str(),
            None => {
                is_exact = false;
                match nearest(wanted, names.iter().map(String::as_str)) {
                    Some(known) => known,
                    None => return list_folder(context, folder),
                }
            }
        };
        nearest_path = nearest_path.join_bytes(existing.as_bytes()).ok()?;
    }
    match nearest_path == *path {
        // Such as a link that leads nowhere.
        true => list_folder(context, folder),
        false => Some(format!(". Did you mean {}?", context.display(&nearest_path))),
    }
}

fn list_folder(context: &Context<'_>, folder: Option<WsPath>) -> Option<String> {
    folder.map(|folder| format!(". List {} to see what is there", context.display(&folder)))
}

/// The names in a folder; none if it is empty, may not be listed, or is no folder. The agent does not make this call:
/// no person is asked for it, and nothing is audited.
fn names_in(context: &Context<'_>, folder: &WsPath) -> Option<Vec<String>> {
    let entries = context.attempt.project_entries(folder);
    let name = |path: &WsPath| str::from_utf8(path.name()?.as_bytes()).ok().map(str::to_owned);
    let names: Vec<String> = entries.iter().filter_map(name).collect();
    (!names.is_empty()).then_some(names)
}
