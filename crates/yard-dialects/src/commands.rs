//! Commands as every dialect runs them: through the gate, with their output cut to the size of an answer, and with a
//! message about what happened to the files that they changed.

use std::ffi::OsString;
use std::time::Duration;

use yard_core::op::Landed;
use yard_core::{Fault, FaultCode, FileKind, Subject, WsPath};
use yard_gate::{
    Access, CapturedOutput, Command, Finished, HostTraffic, StopReason, StorageWarning,
};

use crate::stop::completed;
use crate::tool::{Context, Stop};
use crate::{args, hidden_programs, limit_messages};

/// Hosts that an answer names.
const MAX_HOSTS: usize = 8;

/// Runs a command.
pub(crate) fn run(context: &Context<'_>, command: &Command) -> Result<Finished, Stop> {
    let folder = std::slice::from_ref(&command.folder);
    let ran = context.attempt.run(command);
    completed(ran.map_err(|fault| context.fault_for_caller(fault, folder))?)
}

/// Runs a command of which nothing that it writes is kept.
pub(crate) fn run_read_only(context: &Context<'_>, command: &Command) -> Result<Finished, Stop> {
    let folder = std::slice::from_ref(&command.folder);
    let ran = context.attempt.run_read_only(command);
    completed(ran.map_err(|fault| context.fault_for_caller(fault, folder))?)
}

/// A command in a shell, started in a folder.
pub(crate) fn in_shell(text: &str, folder: WsPath, wall: Duration) -> Command {
    // Where there is no bash, any shell has to do (X4).
    let choose =
        "if command -v bash >/dev/null 2>&1; then exec bash -c \"$1\"; fi; exec sh -c \"$1\"";
    let argv = ["sh", "-c", choose, "sh", text].map(OsString::from).to_vec();
    Command { shell_line: Some(text.to_owned()), ..Command::new(argv, folder, wall) }
}

/// The kind of the file at a path that a caller names for a command to work on; none if nothing is there. No link
/// leads a command out of the workspace (R3).
pub(crate) fn kind_at(context: &Context<'_>, path: &WsPath) -> Result<Option<FileKind>, Stop> {
    let kind = context.attempt.kind_at(path);
    Ok(kind.map_err(|fault| context.fault_for_caller(fault, std::slice::from_ref(path)))?)
}

/// The existing folder that a caller names for a command to start in.
pub(crate) fn start_folder(context: &Context<'_>, text: &str) -> Result<WsPath, Stop> {
    let path = context.path(text)?;
    let what = match kind_at(context, &path)? {
        Some(FileKind::Folder) => return Ok(path),
        Some(_) => format!("{} is a file, not a folder: name a folder", context.display(&path)),
        None => return Err(not_found_at(context, path)),
    };
    Err(Stop::Fault(Fault::new(FaultCode::NotFolder, what).about(Subject::Path)))
}

/// The fault for a path at which nothing is, with the path that the caller may have meant.
pub(crate) fn not_found_at(context: &Context<'_>, path: WsPath) -> Stop {
    let fault = Fault::new(FaultCode::NotFound, format!("File not found: {path}"));
    Stop::Fault(context.fault_for_caller(fault.about(Subject::Path), &[path]))
}

/// The time that a command may take, from the argument `name`.
pub(crate) fn time_limit(context: &Context<'_>, name: &str, millis: u64) -> Result<Duration, Stop> {
    let max = u64::try_from(context.limits().run_millis).unwrap_or(0);
    if millis == 0 || millis > max {
        let message = format!(
            "expected between 1 millisecond and {} seconds (`run_minutes` of `[commands]`)",
            max / 1_000
        );
        return Err(Stop::argument(name, message));
    }
    Ok(Duration::from_millis(millis))
}

/// The name and value of an environment variable, from the argument `env`.
pub(crate) fn env_variable(name: &str, value: &str) -> Result<(OsString, OsString), Stop> {
    let is_name = !name.is_empty() && !name.contains(['=', '\0']);
    if is_name && !value.contains('\0') {
        return Ok((name.into(), value.into()));
    }
    let message = format!(
        "{} is no name and value of a variable; send {{\"NAME\": \"value\"}}",
        args::quoted(name)
    );
    Err(Stop::argument("env", message))
}

/// The output of a stream, as an answer shows it.
pub(crate) struct OutputText {
    pub(crate) text: String,
    /// Something of it is left out.
    pub(crate) truncated: bool,
    /// The file that has all of it, or as much as is stored.
    pub(crate) path: Option<String>,
}

/// The output of a stream: of much, the beginning and the end, and between them where the whole is.
pub(crate) fn output_text(context: &Context<'_>, output: &CapturedOutput) -> OutputText {
    let left_out = output.left_out();
    let mut text = String::from_utf8_lossy(&output.head).into_owned();
    if left_out > 0 {
        text.push_str(&format!(
            "\n[... {left_out} bytes are left out here{} ...]\n",
            where_the_whole_is(context, output)
        ));
        text.push_str(&String::from_utf8_lossy(&output.tail));
    }
    let path = output.whole.as_ref().map(|whole| context.display(&whole.path));
    OutputText { text, truncated: left_out > 0, path }
}

fn where_the_whole_is(context: &Context<'_>, output: &CapturedOutput) -> String {
    let Some(whole) = &output.whole else { return String::new() };
    let path = context.display(&whole.path);
    let what = match whole.bytes == output.total {
        true => "the whole is".to_owned(),
        false => format!("the first {} of all {} bytes are", whole.bytes, output.total),
    };
    format!("; {what} at {path}, to be read in parts with offset and limit, or searched")
}

/// The exit code that a shell would see.
pub(crate) fn exit_code(finished: &Finished) -> i32 {
    finished.ran.ended.code()
}

/// The milliseconds that a command took.
pub(crate) fn duration_millis(finished: &Finished) -> u64 {
    u64::try_from(finished.ran.ended.took.as_millis()).unwrap_or(u64::MAX)
}

/// Whether a command was ended because its time was over.
pub(crate) fn is_out_of_time(finished: &Finished) -> bool {
    finished.ran.ended.stopped == Some(StopReason::Wall)
}

/// Why a command was ended, and what happened to the files that it changed; `None` if it ended by itself and changed
/// nothing.
pub(crate) fn outcome_message(context: &Context<'_>, finished: &Finished) -> Option<String> {
    let (mut parts, ended) = (Vec::new(), &finished.ran.ended);
    let limits = || context.session().command_limits();
    parts.extend(ended.stopped.map(|why| limit_messages::ended_by(why, &limits(), ended.took)));
    parts.extend(limit_messages::for_exit_code(exit_code(finished), &limits()));
    parts.extend(limit_messages::for_stderr(&shown_stderr(finished), &limits()));
    parts.extend(finished.dropped.clone());
    parts.extend(changes_message(&finished.landed));
    parts.extend(masked_message(finished.ran.masked));
    parts.extend(finished.ran.storage_warnings.iter().map(not_kept_message));
    parts.extend(hidden_program_message(context, finished));
    parts.extend(hosts_message(&finished.ran.hosts));
    if !finished.landed.left_out.is_empty() {
        let names: Vec<String> =
            finished.landed.left_out.iter().take(5).map(|path| context.display(path)).collect();
        parts.push(format!("no workspace keeps sockets, FIFOs and devices: {}", names.join(", ")));
    }
    if parts.is_empty() { None } else { Some(parts.join("; ")) }
}

/// The standard error of a command, as far as an answer has it.
fn shown_stderr(finished: &Finished) -> String {
    let stderr = &finished.ran.stderr;
    [&stderr.head[..], &stderr.tail[..]].map(String::from_utf8_lossy).concat()
}

/// About a program that the command did not find, and that is on the machine but not in the box.
fn hidden_program_message(context: &Context<'_>, finished: &Finished) -> Option<String> {
    if exit_code(finished) != hidden_programs::NOT_FOUND {
        return None;
    }
    let stderr = shown_stderr(finished);
    let name = hidden_programs::missing_program(&stderr)?;
    let folder = context.session().hidden_program(name)?;
    Some(hidden_programs::message(name, &folder))
}

/// About files that a command could not read, because its caller may not.
pub(crate) fn masked_message(count: u64) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 file may not be read, and could not be opened".to_owned()),
        count => Some(format!("{count} files may not be read, and could not be opened")),
    }
}

/// About hosts that a command could not reach, and what to do about it.
pub(crate) fn hosts_message(all: &[HostTraffic]) -> Option<String> {
    let (mut waiting, mut refused) = (Vec::new(), Vec::new());
    for HostTraffic { host_port, access, .. } in all {
        match access {
            Access::Waits(request) => waiting.push(format!("{host_port} (approval {request})")),
            Access::Refused(why) => refused.push(format!("{host_port} ({why})")),
            Access::Through => {}
        }
    }
    let mut parts = Vec::new();
    if !waiting.is_empty() {
        parts.push(format!(
            "hosts that wait for a person's approval: {}. Tell the person; once it is approved, run the \
             command again",
            first_of(&waiting)
        ));
    }
    if !refused.is_empty() {
        parts.push(format!("hosts that were refused: {}", first_of(&refused)));
    }
    if parts.is_empty() { None } else { Some(parts.join("; ")) }
}

/// The first few hosts, and how many more there are.
fn first_of(hosts: &[String]) -> String {
    let first = hosts.iter().take(MAX_HOSTS).cloned().collect::<Vec<_>>().join(", ");
    match hosts.len().saturating_sub(MAX_HOSTS) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// About caches or a home whose changes the next command will not see.
fn not_kept_message(what: &StorageWarning) -> String {
    match what {
        StorageWarning::CachesFull => {
            "the package caches of this workspace are full, so that what the command downloaded is not kept for \
             the next one (`toolyard storage` shows them; `caches_mib` of `[commands]` is their size)"
                .to_owned()
        }
        StorageWarning::CachesUnusable(why) => {
            format!("what the command added to the package caches is not kept: {why}")
        }
        StorageWarning::HomeFull => {
            "the home and /tmp of this chat are full: remove what is not needed there (`home_mib` of \
             `[commands]` is their size)"
                .to_owned()
        }
    }
}

/// The step that a command made, with how many files it changed.
pub(crate) fn changes_message(landed: &Landed) -> Option<String> {
    let step = landed.step?;
    let counts = [
        (landed.created, "created"),
        (landed.changed, "changed"),
        (landed.removed, "removed"),
        (landed.moved, "moved"),
    ];
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, verb)| format!("{count} {verb}"))
        .collect();
    Some(format!("files: {} (step {step}, which can be undone)", counts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(number: usize, access: Access) -> HostTraffic {
        HostTraffic {
            host_port: format!("h{number}.example:443"),
            tries: 1,
            up: 0,
            down: 0,
            access,
        }
    }

    #[test]
    fn caches_and_homes_that_are_full_are_reported_with_their_setting() {
        for (what, message) in [
            (
                StorageWarning::CachesFull,
                "the package caches of this workspace are full, so that what the command downloaded is not kept \
                 for the next one (`toolyard storage` shows them; `caches_mib` of `[commands]` is their size)",
            ),
            (
                StorageWarning::CachesUnusable("the disk is full".to_owned()),
                "what the command added to the package caches is not kept: the disk is full",
            ),
            (
                StorageWarning::HomeFull,
                "the home and /tmp of this chat are full: remove what is not needed there (`home_mib` of \
                 `[commands]` is their size)",
            ),
        ] {
            assert_eq!(not_kept_message(&what), message);
        }
        let message = |count| masked_message(count).unwrap();
        assert_eq!(masked_message(0), None);
        assert_eq!(message(1), "1 file may not be read, and could not be opened");
        assert_eq!(message(7), "7 files may not be read, and could not be opened");
    }

    #[test]
    fn hosts_that_could_not_be_reached_are_reported_with_what_to_do() {
        assert_eq!(hosts_message(&[host(0, Access::Through)]), None);
        let waits = host(1, Access::Waits("01a1".to_owned()));
        let denied = host(2, Access::Refused("a person said no to this host".to_owned()));
        assert_eq!(
            hosts_message(&[waits, denied]).as_deref(),
            Some(
                "hosts that wait for a person's approval: h1.example:443 (approval 01a1). Tell the person; \
                 once it is approved, run the command again; hosts that were refused: h2.example:443 (a \
                 person said no to this host)"
            )
        );
        let many: Vec<HostTraffic> =
            (0..10).map(|number| host(number, Access::Refused("no".to_owned()))).collect();
        let message = hosts_message(&many).unwrap();
        assert!(message.ends_with("h7.example:443 (no) and 2 more"), "{message}");
    }
}
