//! Commands as every dialect runs them: through the gate, with what was said cut to what an answer may
//! hold, and with a word on what became of the changes.

use std::ffi::OsString;
use std::time::Duration;

use yard_core::op::Landed;
use yard_core::{Fault, FaultCode, FileKind, Subject, WsPath};
use yard_gate::{
    Access, CapturedOutput, Command, Completion, Finished, HostTraffic, NotKept, StopReason,
};

use crate::tool::{Context, Stop};
use crate::{args, hidden_words, limit_words};

/// Hosts that an answer names.
const MOST_HOSTS: usize = 8;

/// Runs a command.
pub(crate) fn run(context: &Context<'_>, command: &Command) -> Result<Finished, Stop> {
    let ran = context.attempt.run(command);
    match ran.map_err(|fault| context.told(fault, std::slice::from_ref(&command.folder)))? {
        Completion::Done(finished) => Ok(finished),
        Completion::Pending(pending) => Err(Stop::Pending(pending)),
    }
}

/// Runs a command that is there to look: nothing that it writes is kept.
pub(crate) fn look(context: &Context<'_>, command: &Command) -> Result<Finished, Stop> {
    let ran = context.attempt.run_read_only(command);
    match ran.map_err(|fault| context.told(fault, std::slice::from_ref(&command.folder)))? {
        Completion::Done(finished) => Ok(finished),
        Completion::Pending(pending) => Err(Stop::Pending(pending)),
    }
}

/// All that a command wrote to a stream, up to `most` bytes.
pub(crate) fn all_said(
    context: &Context<'_>,
    said: &CapturedOutput,
    most: u64,
) -> Result<Vec<u8>, Stop> {
    Ok(context.attempt.whole_output(said, most)?)
}

/// A command in a shell, started in a folder.
pub(crate) fn in_shell(text: &str, folder: WsPath, wall: Duration) -> Command {
    // Where there is no bash, any shell has to do (X4).
    let choose =
        "if command -v bash >/dev/null 2>&1; then exec bash -c \"$1\"; fi; exec sh -c \"$1\"";
    let argv = ["sh", "-c", choose, "sh", text].map(OsString::from).to_vec();
    Command { argv, env: Vec::new(), scripts: Vec::new(), folder, wall, reach: None }
}

/// What is at a path that a caller names for a command to work on, if something is. No link leads a command out
/// of the workspace (R3).
pub(crate) fn kind_at(context: &Context<'_>, path: &WsPath) -> Result<Option<FileKind>, Stop> {
    let found = context.session().kind_at(path);
    Ok(found.map_err(|fault| context.told(fault, std::slice::from_ref(path)))?)
}

/// The folder that a caller names for a command to start in: one that is there.
pub(crate) fn start_folder(context: &Context<'_>, text: &str) -> Result<WsPath, Stop> {
    let path = context.path(text)?;
    let what = match kind_at(context, &path)? {
        Some(FileKind::Folder) => return Ok(path),
        Some(_) => format!("{} is a file, not a folder: name a folder", context.shown(&path)),
        None => return Err(nothing_at(context, path)),
    };
    Err(Stop::Fault(Fault::new(FaultCode::NotFolder, what).about(Subject::Path)))
}

/// Nothing is at a path that a caller named; with the path that may be meant.
pub(crate) fn nothing_at(context: &Context<'_>, path: WsPath) -> Stop {
    let fault = Fault::new(FaultCode::NotFound, format!("File not found: {path}"));
    Stop::Fault(context.told(fault.about(Subject::Path), &[path]))
}

/// How long a command may take, as its caller wants it.
pub(crate) fn wall(context: &Context<'_>, name: &str, millis: u64) -> Result<Duration, Stop> {
    let most = u64::try_from(context.limits().run_millis).unwrap_or(0);
    if millis == 0 || millis > most {
        let message = format!(
            "expected between 1 millisecond and {} seconds (`run_minutes` of `[commands]`)",
            most / 1_000
        );
        return Err(Stop::argument(name, message));
    }
    Ok(Duration::from_millis(millis))
}

/// A variable's name and value, as an environment can hold them.
pub(crate) fn variable(name: &str, value: &str) -> Result<(OsString, OsString), Stop> {
    let is_name = !name.is_empty() && !name.contains(['=', '\0']);
    if is_name && !value.contains('\0') {
        return Ok((name.into(), value.into()));
    }
    let message = format!(
        "{} is no name and value of a variable; send {{\"NAME\": \"value\"}}",
        args::shown(name)
    );
    Err(Stop::argument("env", message))
}

/// What a stream said, as an answer shows it.
pub(crate) struct Told {
    pub(crate) text: String,
    /// Something of it is left out.
    pub(crate) truncated: bool,
    /// Where all of it can be read, or as much as is kept.
    pub(crate) path: Option<String>,
}

/// What a stream said: of much, the beginning and the end, and between them where the whole is.
pub(crate) fn told(context: &Context<'_>, said: &CapturedOutput) -> Told {
    let left_out = said.left_out();
    let mut text = String::from_utf8_lossy(&said.head).into_owned();
    if left_out > 0 {
        text.push_str(&format!(
            "\n[... {left_out} bytes are left out here{} ...]\n",
            whole(context, said)
        ));
        text.push_str(&String::from_utf8_lossy(&said.tail));
    }
    let path = said.whole.as_ref().map(|whole| context.shown(&whole.path));
    Told { text, truncated: left_out > 0, path }
}

/// Where the whole of a stream is, and how to go on.
fn whole(context: &Context<'_>, said: &CapturedOutput) -> String {
    let Some(whole) = &said.whole else { return String::new() };
    let path = context.shown(&whole.path);
    let what = match whole.bytes == said.total {
        true => "the whole is".to_owned(),
        false => format!("the first {} of all {} bytes are", whole.bytes, said.total),
    };
    format!("; {what} at {path}, to be read in parts with offset and limit, or searched")
}

/// The code that a shell would see.
pub(crate) fn code(finished: &Finished) -> i32 {
    finished.ran.ended.code()
}

/// Whether it ran out of time.
pub(crate) fn is_out_of_time(finished: &Finished) -> bool {
    finished.ran.ended.stopped == Some(StopReason::Wall)
}

/// Why it was ended, and what became of what it changed; `None` if it just ran and changed nothing.
pub(crate) fn story(context: &Context<'_>, finished: &Finished) -> Option<String> {
    let (mut parts, ended) = (Vec::new(), &finished.ran.ended);
    let limits = || context.session().command_limits();
    parts.extend(ended.stopped.map(|why| limit_words::ended_by(why, &limits(), ended.took)));
    parts.extend(limit_words::about_exit(code(finished), &limits()));
    parts.extend(limit_words::about_complaint(&complaint(finished), &limits()));
    parts.extend(finished.dropped.clone());
    parts.extend(changes(&finished.landed));
    parts.extend(masked(finished.ran.masked));
    parts.extend(finished.ran.not_kept.iter().map(not_kept));
    parts.extend(hidden(context, finished));
    parts.extend(hosts(&finished.ran.hosts));
    if !finished.landed.left_out.is_empty() {
        let names: Vec<String> =
            finished.landed.left_out.iter().take(5).map(|path| context.shown(path)).collect();
        parts.push(format!("no workspace keeps sockets, FIFOs and devices: {}", names.join(", ")));
    }
    if parts.is_empty() { None } else { Some(parts.join("; ")) }
}

/// What a command wrote to its stream of errors, as far as an answer has it.
fn complaint(finished: &Finished) -> String {
    let said = &finished.ran.stderr;
    [&said.head[..], &said.tail[..]].map(String::from_utf8_lossy).concat()
}

/// A word on a program that the command did not find, and that its box does not show.
fn hidden(context: &Context<'_>, finished: &Finished) -> Option<String> {
    if code(finished) != hidden_words::NOT_FOUND {
        return None;
    }
    let text = complaint(finished);
    let name = hidden_words::missing_program(&text)?;
    let folder = context.session().hidden_program(name)?;
    Some(hidden_words::hidden(name, &folder))
}

/// A word on files that a command could not read, because its caller may not.
pub(crate) fn masked(count: u64) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 file may not be read, and could not be opened".to_owned()),
        count => Some(format!("{count} files may not be read, and could not be opened")),
    }
}

/// A word on hosts that a command could not reach, and what to do about it.
pub(crate) fn hosts(all: &[HostTraffic]) -> Option<String> {
    let (mut waiting, mut refused) = (Vec::new(), Vec::new());
    for HostTraffic { place, access, .. } in all {
        match access {
            Access::Waits(request) => waiting.push(format!("{place} (approval {request})")),
            Access::Refused(why) => refused.push(format!("{place} ({why})")),
            Access::Through => {}
        }
    }
    let mut parts = Vec::new();
    if !waiting.is_empty() {
        parts.push(format!(
            "hosts that wait for a person's approval: {}. Tell the person; once it is approved, run the \
             command again",
            some_of(&waiting)
        ));
    }
    if !refused.is_empty() {
        parts.push(format!("hosts that were refused: {}", some_of(&refused)));
    }
    if parts.is_empty() { None } else { Some(parts.join("; ")) }
}

/// The first few, and how many there are besides.
fn some_of(all: &[String]) -> String {
    let shown = all.iter().take(MOST_HOSTS).cloned().collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(MOST_HOSTS) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A word on what will not be there for the next command.
fn not_kept(what: &NotKept) -> String {
    match what {
        NotKept::CachesFull => {
            "the package caches of this workspace are full, so that what the command downloaded is not kept for \
             the next one (`toolyard storage` shows them; `caches_mib` of `[commands]` is their size)"
                .to_owned()
        }
        NotKept::CachesUnusable(why) => {
            format!("what the command added to the package caches is not kept: {why}")
        }
        NotKept::HomeFull => {
            "the home and /tmp of this chat are full: remove what is not needed there (`home_mib` of \
             `[commands]` is their size)"
                .to_owned()
        }
    }
}

pub(crate) fn changes(landed: &Landed) -> Option<String> {
    let step = landed.step?;
    let kinds = [
        (landed.created, "created"),
        (landed.changed, "changed"),
        (landed.removed, "removed"),
        (landed.moved, "moved"),
    ];
    let kinds: Vec<String> = kinds
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    Some(format!("files: {} (step {step}, which can be undone)", kinds.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(number: usize, access: Access) -> HostTraffic {
        HostTraffic { place: format!("h{number}.example:443"), tries: 1, up: 0, down: 0, access }
    }

    #[test]
    fn what_is_not_kept_is_told_with_its_setting() {
        for (what, words) in [
            (
                NotKept::CachesFull,
                "the package caches of this workspace are full, so that what the command downloaded is not kept \
                 for the next one (`toolyard storage` shows them; `caches_mib` of `[commands]` is their size)",
            ),
            (
                NotKept::CachesUnusable("the disk is full".to_owned()),
                "what the command added to the package caches is not kept: the disk is full",
            ),
            (
                NotKept::HomeFull,
                "the home and /tmp of this chat are full: remove what is not needed there (`home_mib` of \
                 `[commands]` is their size)",
            ),
        ] {
            assert_eq!(not_kept(&what), words);
        }
        assert_eq!(masked(0), None);
        assert_eq!(masked(1).unwrap(), "1 file may not be read, and could not be opened");
        assert_eq!(masked(7).unwrap(), "7 files may not be read, and could not be opened");
    }

    #[test]
    fn hosts_that_could_not_be_reached_are_told_with_what_to_do() {
        assert_eq!(hosts(&[host(0, Access::Through)]), None);
        let waits = host(1, Access::Waits("01a1".to_owned()));
        let denied = host(2, Access::Refused("a person said no to this host".to_owned()));
        assert_eq!(
            hosts(&[waits, denied]).as_deref(),
            Some(
                "hosts that wait for a person's approval: h1.example:443 (approval 01a1). Tell the person; \
                 once it is approved, run the command again; hosts that were refused: h2.example:443 (a \
                 person said no to this host)"
            )
        );
        let many: Vec<HostTraffic> =
            (0..10).map(|number| host(number, Access::Refused("no".to_owned()))).collect();
        let told = hosts(&many).unwrap();
        assert!(told.ends_with("h7.example:443 (no) and 2 more"), "{told}");
    }
}
