//! What went wrong, as the reference server says it where it has words for it: those of the system call
//! that failed there. The words for the kind of a fault are those of `assistant`, in the shape of `file`.

use yard_core::{Fault, FaultCode, Subject, WsPath};

use super::place;
use crate::context::missing;
use crate::dialect::Answer;
use crate::tool::{Context, Stop};
use crate::{assistant, envelope};

/// The word of `assistant`, whose match is exhaustive.
pub(super) fn word(_tool: &str, code: FaultCode) -> &'static str {
    assistant::word(code)
}

/// The argument that a path was sent as.
fn argument(tool: &str, subject: Subject) -> Option<&'static str> {
    match (tool, subject) {
        ("move_file", Subject::Path) => Some("source"),
        ("move_file", Subject::Destination) => Some("destination"),
        (_, Subject::Path) => Some("path"),
        _ => None,
    }
}

/// The answer of a tool that has no reply. The reference server has no words for what is no path at all: these
/// name the argument.
pub(super) fn stopped(tool: &str, stop: &Stop) -> Answer {
    let is_no_path = matches!(stop, Stop::Fault(fault) if fault.code() == FaultCode::BadPath);
    let named = is_no_path.then(|| envelope::naming(stop, |subject| argument(tool, subject)));
    envelope::stopped(named.as_ref().unwrap_or(stop), |failure| {
        envelope::error_and_message(word(tool, failure.code), failure)
    })
}

/// Rewords what an operation on `path` came to, which is `call` in the reference server's words.
pub(super) fn of<'a>(
    context: &'a Context<'_>,
    call: &'a str,
    path: &'a WsPath,
) -> impl Fn(Stop) -> Stop + 'a {
    move |stop| {
        stop.map_fault(|fault| {
            let message = message(context, call, path, &fault);
            Stop::Fault(fault.reworded(message))
        })
    }
}

fn message(context: &Context<'_>, call: &str, path: &WsPath, fault: &Fault) -> String {
    let shown = context.host_shown(path);
    let at = |wrong: &str| format!("{wrong}, {call} '{shown}'");
    match fault.code() {
        FaultCode::NotFound => missing_at(context, at("ENOENT: no such file or directory"), path),
        FaultCode::IsFolder => format!(
            "EISDIR: illegal operation on a directory, {call} '{shown}'. \
             Use list_directory or directory_tree for a directory"
        ),
        FaultCode::NotFolder => {
            format!("{}. Name a directory", at("ENOTDIR: not a directory"))
        }
        FaultCode::ReadRefused | FaultCode::WriteRefused => format!(
            "{}. Leave it out, or ask the person to change its mode or owner",
            at("EACCES: permission denied")
        ),
        FaultCode::DiskFull => format!(
            "ENOSPC: no space left on device, write '{shown}'. Ask the person to free some space, then call again"
        ),
        FaultCode::PathOutside => place::outside("symlink target", &shown, context),
        _ => shown_in(fault.message(), path, &shown),
    }
}

/// The reference server's words for what is not there, with what to send instead.
pub(super) fn missing_at(context: &Context<'_>, message: String, path: &WsPath) -> String {
    let suggestion = missing::suggestion(context, path).unwrap_or_default();
    format!("{message}{suggestion}")
}

/// A message that names a path of the workspace, with the path as the caller reads it.
fn shown_in(message: &str, path: &WsPath, shown: &str) -> String {
    match path.is_root() {
        true => message.to_owned(),
        false => message.replacen(&path.to_string(), shown, 1),
    }
}
