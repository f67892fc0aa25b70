//! What a caller may have meant by a path at which nothing is: the path whose names are nearest, or else the folder
//! that is there and can be listed. It only looks, in folders that the caller may list, and only after a call failed.

use yard_core::{Fault, FaultCode, WsPath};

use super::Context;
use crate::nearest::nearest;

/// A fault that says that nothing is at a path, with what to send instead.
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

/// What to send instead of a path at which nothing is, as the rest of what is said of it.
pub(crate) fn suggestion(context: &Context<'_>, path: &WsPath) -> Option<String> {
    let mut meant = WsPath::root();
    // The last folder that is there as it was named.
    let mut folder = None;
    let mut is_as_named = true;
    for name in path.names() {
        let Some(names) = names_in(context, &meant) else { return see(context, folder) };
        if is_as_named {
            folder = Some(meant.clone());
        }
        let wanted = std::str::from_utf8(name.as_bytes()).ok()?;
        let found = match names.iter().find(|known| *known == wanted) {
            Some(known) => known.as_str(),
            None => {
                is_as_named = false;
                match nearest(wanted, names.iter().map(String::as_str)) {
                    Some(known) => known,
                    None => return see(context, folder),
                }
            }
        };
        meant = meant.join_bytes(found.as_bytes()).ok()?;
    }
    match meant == *path {
        // A link that leads nowhere, say.
        true => see(context, folder),
        false => Some(format!(". Did you mean {}?", context.shown(&meant))),
    }
}

fn see(context: &Context<'_>, folder: Option<WsPath>) -> Option<String> {
    folder.map(|folder| format!(". List {} to see what is there", context.shown(&folder)))
}

/// The names in a folder; nothing for one that is empty, may not be listed, or is none. This is no call of the
/// agent's: nobody is asked, and nothing is judged or written down for it.
fn names_in(context: &Context<'_>, folder: &WsPath) -> Option<Vec<String>> {
    let entries = context.attempt.project_entries(folder);
    let names = entries.iter().filter_map(|path| text_of(path.name()?.as_bytes()));
    Some(names.collect()).filter(|names: &Vec<String>| !names.is_empty())
}

fn text_of(bytes: &[u8]) -> Option<String> {
    str::from_utf8(bytes).ok().map(str::to_owned)
}
