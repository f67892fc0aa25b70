//! Terminals as dialects show them: the output and the screen, the state of the program, and what happened to the
//! files that it changed.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use yard_core::{Fault, WsPath};
use yard_gate::{Screen, StopReason, TerminalInfo, TerminalView, UpdateReason};

use crate::context::message_paths;
use crate::tool::{Context, Stop};
use crate::{commands, hidden_programs, limit_messages};

/// The longest time that a call waits for a program to end or to read from its terminal.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(10);

/// The state of the program on a terminal.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// It runs on: its output can be polled for.
    Running,
    /// It waits for input.
    Waiting,
    /// It ended.
    Ended,
}

/// A fault of a terminal. The path of its output file is written so that the caller can send it back (R2).
pub(crate) fn to_stop(context: &Context<'_>, fault: Fault) -> Stop {
    let listed = context.session().terminals().list().unwrap_or_default();
    let logs: Vec<WsPath> = listed.into_iter().filter_map(|one| one.log).collect();
    Stop::Fault(fault).reword(|fault| {
        message_paths::rewrite(fault.message(), &logs, |path| context.display(path))
    })
}

/// The screen of a terminal.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ScreenReply {
    /// Its lines, as a person would see them.
    pub(crate) text: String,
    /// The line that the cursor is in, from 1.
    pub(crate) cursor_row: u32,
    /// The column that the cursor is in, from 1.
    pub(crate) cursor_column: u32,
    /// How many lines there are.
    pub(crate) rows: u16,
    /// How many columns there are.
    pub(crate) columns: u16,
    /// Whether a program has taken all of it, as editors and pagers do.
    pub(crate) full_screen: bool,
}

/// The output, the state and the screen of a terminal.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TerminalReply {
    /// What was said since the last look, as the program wrote it, with its control sequences; of much, the
    /// beginning and the end, and between them where the whole is.
    pub(crate) output: String,
    /// Whether something of it is left out; the text says how many bytes.
    pub(crate) truncated: bool,
    /// `running`, `waiting` for input, or `ended`.
    pub(crate) state: State,
    /// How that is known.
    pub(crate) because: String,
    /// The exit code once it is known: 128 and the signal's number if a signal ended it.
    pub(crate) exit_code: Option<i32>,
    /// The screen, where the output alone does not show what is on it: of editors, pagers, progress bars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) screen: Option<ScreenReply>,
    /// The file with everything that was said so far, for `read_file` and `grep_files`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log_path: Option<String>,
    /// What became of the files that it changed, as far as it is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

impl TerminalReply {
    pub(crate) fn of(context: &Context<'_>, view: &TerminalView) -> Self {
        let TerminalView { update, .. } = view;
        let output = commands::output_text(context, &update.output);
        let ends_now = update.reason != UpdateReason::Ended && context.session().is_for_one_call();
        Self {
            output: output.text,
            truncated: output.truncated,
            state: if ends_now { State::Ended } else { state(update.reason) },
            because: if ends_now { ENDS_NOW.to_owned() } else { reason(context, view) },
            exit_code: update.end.map(|ended| ended.code()),
            screen: update.screen.as_ref().map(ScreenReply::of),
            log_path: output.path,
            message: message(context, view),
        }
    }
}

impl ScreenReply {
    fn of(screen: &Screen) -> Self {
        let (row, column) = screen.cursor;
        Self {
            text: screen.text.clone(),
            cursor_row: u32::from(row) + 1,
            cursor_column: u32::from(column) + 1,
            rows: screen.size.rows,
            columns: screen.size.columns,
            full_screen: screen.is_full,
        }
    }
}

/// The reason for the end of a program that still runs, where nothing outlives the call.
const ENDS_NOW: &str = "it had not ended by itself, and ends with this call: `toolyard call` keeps no terminals, \
     `toolyard mcp` and `toolyard serve` do";

fn state(why: UpdateReason) -> State {
    match why {
        UpdateReason::Ended => State::Ended,
        UpdateReason::Input | UpdateReason::Quiet => State::Waiting,
        UpdateReason::Listening | UpdateReason::Time => State::Running,
    }
}

/// Why the program is in its state.
fn reason(context: &Context<'_>, view: &TerminalView) -> String {
    let update = &view.update;
    let hidden = if update.echoes { "" } else { "; what is typed is not shown" };
    match update.reason {
        UpdateReason::Ended => {
            match update.end.and_then(|ended| Some((ended.stopped?, ended.took))) {
                Some((StopReason::Cancelled, _)) if view.ended.is_some() => {
                    format!("it was ended: {}", view.ended.as_deref().unwrap_or_default())
                }
                None => "the program ended".to_owned(),
                Some((StopReason::Cancelled, _)) => {
                    "it was ended, with everything that it had started".to_owned()
                }
                Some((StopReason::Wall, _)) => {
                    limit_messages::for_longest_life(context.session().terminals().longest_life())
                }
                Some((why, took)) => {
                    limit_messages::ended_by(why, &context.session().command_limits(), took)
                }
            }
        }
        UpdateReason::Input => format!("the program reads from the terminal{hidden}"),
        UpdateReason::Quiet => {
            format!("it was quiet for a while, and what it does cannot be seen{hidden}")
        }
        UpdateReason::Listening => "it listens on a port now, and goes on".to_owned(),
        UpdateReason::Time => {
            "it still runs, and does not wait for input; poll with empty chars".to_owned()
        }
    }
}

fn message(context: &Context<'_>, view: &TerminalView) -> Option<String> {
    let mut parts: Vec<String> = view.steps.iter().filter_map(commands::changes_message).collect();
    let unrecorded = view.steps.iter().flat_map(|landed| &landed.unrecorded);
    let names: Vec<String> = unrecorded.take(5).map(|path| context.display(path)).collect();
    if !names.is_empty() {
        parts.push(format!("too large or unreadable, and in no step: {}", names.join(", ")));
    }
    parts.extend(
        view.trouble.iter().map(|why| format!("what it changed is not recorded yet: {why}")),
    );
    parts.extend(commands::masked_message(view.masked));
    parts.extend(hidden_program_message(context, view));
    parts.extend(commands::hosts_message(&view.hosts));
    if !context.session().is_for_one_call() {
        parts.extend(ports_message(&view.update.ports));
    }
    if parts.is_empty() { None } else { Some(parts.join("; ")) }
}

/// About the ports that a program has begun to listen on.
fn ports_message(ports: &[u16]) -> Option<String> {
    if let [port] = ports {
        return Some(format!(
            "it listens on port {port}: other commands of this chat reach it as 127.0.0.1:{port}, and the person \
             opens it in a browser with `toolyard ports`"
        ));
    }
    let all: Vec<String> = ports.iter().map(u16::to_string).collect();
    let all = Some(all.join(", ")).filter(|all| !all.is_empty())?;
    Some(format!(
        "it listens on ports {all}: other commands of this chat reach them at the same numbers of 127.0.0.1, and \
         the person opens them in a browser with `toolyard ports`"
    ))
}

/// About a program that a shell did not find, and that is on the machine but not in the box.
fn hidden_program_message(context: &Context<'_>, view: &TerminalView) -> Option<String> {
    let output = &view.update.output;
    let text = [&output.head[..], &output.tail[..]].map(String::from_utf8_lossy).concat();
    let name = hidden_programs::missing_on_terminal(&text)?;
    let folder = context.session().hidden_program(name)?;
    Some(hidden_programs::message(name, &folder))
}

/// A terminal in a listing.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ListedTerminal {
    /// What this chat calls it.
    session_id: String,
    /// What runs on it.
    cmd: String,
    /// Where that started.
    workdir: String,
    /// `running`, `ended` or `interrupted`.
    state: &'static str,
    /// The exit code once it is known.
    exit_code: Option<i32>,
    /// When it was opened.
    opened_at: String,
    /// The file with everything that it said, for `read_file` and `grep_files`, while it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    log_path: Option<String>,
    /// The ports that its programs listen on: other commands of this chat reach them, too.
    ports: Vec<u16>,
}

impl ListedTerminal {
    pub(crate) fn of(context: &Context<'_>, listed: &TerminalInfo) -> Self {
        let folder = WsPath::parse_shown(&listed.folder).map(|folder| context.display(&folder));
        Self {
            session_id: listed.name.clone(),
            cmd: listed.command.clone(),
            workdir: folder.unwrap_or_else(|_| listed.folder.clone()),
            state: listed.state.word(),
            exit_code: listed.state.exit_code(),
            opened_at: listed.opened_at.to_string(),
            log_path: listed.log.as_ref().map(|path| context.display(path)),
            ports: listed.ports.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_reported_with_who_can_reach_them() {
        assert_eq!(ports_message(&[]), None);
        assert_eq!(
            ports_message(&[5_173]).as_deref(),
            Some(
                "it listens on port 5173: other commands of this chat reach it as 127.0.0.1:5173, and the \
                 person opens it in a browser with `toolyard ports`"
            )
        );
        assert_eq!(
            ports_message(&[3_000, 9_229]).as_deref(),
            Some(
                "it listens on ports 3000, 9229: other commands of this chat reach them at the same numbers of \
                 127.0.0.1, and the person opens them in a browser with `toolyard ports`"
            )
        );
    }
}
