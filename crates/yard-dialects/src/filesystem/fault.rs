//! Faults in the words of the reference server, where it has some: those of the system call that failed there. The
//! error codes are those of `assistant`, in the shape of `file`.

use yard_core::{Fault, FaultCode, Subject, WsPath};

use super::host_paths;
use crate::context::suggestions;
use crate::dialect::Answer;
use crate::tool::{Context, Stop};
use crate::{assistant, envelope};

/// The argument that a path was sent as.
fn argument(tool: &str, subject: Subject) -> Option<&'static str> {
    match (tool, subject) {
        ("move_file", Subject::Path) => Some("source"),
        ("move_file", Subject::Destination) => Some("destination"),
        (_, Subject::Path) => Some("path"),
        _ => None,
    }
}

/// The reference server has no words for a text that is no path at all: only these faults name the argument.
pub(super) fn wrap_stop(tool: &str, stop: &Stop) -> Answer {
    let is_no_path = matches!(stop, Stop::Fault(fault) if fault.code() == FaultCode::BadPath);
    let argument = |subject| argument(tool, subject).filter(|_| is_no_path);
    envelope::wrap_error_and_message(stop, argument, assistant::error_code)
}

/// Rewords the fault of an operation on `path` as the reference server reports a failure of the system call `call`.
pub(super) fn of_system_call<'a>(
    context: &'a Context<'_>,
    call: &'a str,
    path: &'a WsPath,
) -> impl Fn(Stop) -> Stop + 'a {
    move |stop| stop.reword(|fault| Some(message(context, call, path, fault)))
}

/// As [`of_system_call`], of a call that puts something at `path`: what is missing is its directory.
pub(super) fn of_placing<'a>(
    context: &'a Context<'_>,
    call: &'a str,
    path: &'a WsPath,
) -> impl Fn(Stop) -> Stop + 'a {
    move |stop| {
        stop.reword(|fault| match (fault.code(), path.parent()) {
            (FaultCode::NotFound, Some(directory)) if !directory.is_root() => {
                Some(without_directory(context, call, path, &directory))
            }
            _ => Some(message(context, call, path, fault)),
        })
    }
}

/// The end of a message about a directory that is missing: what to do first.
pub(super) fn to_make(context: &Context<'_>, directory: &WsPath) -> String {
    let directory = context.host_display(directory);
    format!(
        ". The directory {directory} is not there: make it with create_directory, then call again"
    )
}

fn without_directory(
    context: &Context<'_>,
    call: &str,
    path: &WsPath,
    directory: &WsPath,
) -> String {
    let shown = context.host_display(path);
    format!("ENOENT: no such file or directory, {call} '{shown}'{}", to_make(context, directory))
}

fn message(context: &Context<'_>, call: &str, path: &WsPath, fault: &Fault) -> String {
    let shown = context.host_display(path);
    let at = |wrong: &str| format!("{wrong}, {call} '{shown}'");
    match fault.code() {
        FaultCode::NotFound => {
            let suggestion = suggestions::suggestion(context, path).unwrap_or_default();
            format!("{}{suggestion}", at("ENOENT: no such file or directory"))
        }
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
        FaultCode::PathOutside => host_paths::outside("symlink target", &shown, context),
        _ => with_host_path(fault.message(), path, &shown),
    }
}

/// A message that names a path of the workspace, with the path as the caller reads it.
fn with_host_path(message: &str, path: &WsPath, shown: &str) -> String {
    match path.is_root() {
        true => message.to_owned(),
        false => message.replacen(&path.to_string(), shown, 1),
    }
}
