//! Terminals as dialects show them: what was said and what is on the screen, what the program does now, and
//! what became of the files.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use yard_core::{Fault, WsPath};
use yard_gate::{Screen, StopReason, TerminalInfo, TerminalLook, Why};

use crate::context::paths_in_words;
use crate::tool::{Context, Stop};
use crate::{commands, hidden_words, limit_words};

/// How long a call looks at a terminal.
pub(crate) const LOOK: Duration = Duration::from_secs(10);

/// What a program on a terminal does.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// It runs on: its output can be polled for.
    Running,
    /// It waits for somebody to type.
    Waiting,
    /// It ended.
    Ended,
}

/// A fault of a terminal, with the file that has what it said as the caller can send it back (R2).
pub(crate) fn stopped(context: &Context<'_>, fault: Fault) -> Stop {
    let listed = context.session().terminals().list().unwrap_or_default();
    let logs: Vec<WsPath> = listed.into_iter().filter_map(|one| one.log).collect();
    let shown = paths_in_words::rewrite(fault.message(), &logs, |path| context.shown(path));
    Stop::Fault(match shown {
        Some(message) => fault.reworded(message),
        None => fault,
    })
}

/// What is on the screen of a terminal.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Shown {
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

/// What a look at a terminal showed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Told {
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
    pub(crate) screen: Option<Shown>,
    /// The file with everything that was said so far, for `read_file` and `grep_files`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log_path: Option<String>,
    /// What became of the files that it changed, as far as it is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

impl Told {
    pub(crate) fn of(context: &Context<'_>, seen: &TerminalLook) -> Self {
        let TerminalLook { glance, .. } = seen;
        let output = commands::told(context, &glance.said);
        let ends_now = glance.why != Why::Ended && context.session().is_for_one_call();
        Self {
            output: output.text,
            truncated: output.truncated,
            state: if ends_now { State::Ended } else { state(glance.why) },
            because: if ends_now { ENDS_NOW.to_owned() } else { because(context, seen) },
            exit_code: glance.end.map(|ended| ended.code()),
            screen: glance.screen.as_ref().map(Shown::of),
            log_path: output.path,
            message: message(context, seen),
        }
    }
}

impl Shown {
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

/// Why a program ended that is still there, where nothing outlives the call.
const ENDS_NOW: &str = "it had not ended by itself, and ends with this call: `toolyard call` keeps no terminals, \
     `toolyard mcp` and `toolyard serve` do";

fn state(why: Why) -> State {
    match why {
        Why::Ended => State::Ended,
        Why::Input | Why::Quiet => State::Waiting,
        Why::Listening | Why::Time => State::Running,
    }
}

fn because(context: &Context<'_>, seen: &TerminalLook) -> String {
    let glance = &seen.glance;
    let hidden = if glance.echoes { "" } else { "; what is typed is not shown" };
    match glance.why {
        Why::Ended => match glance.end.and_then(|ended| Some((ended.stopped?, ended.took))) {
            Some((StopReason::Cancelled, _)) if seen.ended.is_some() => {
                format!("it was ended: {}", seen.ended.as_deref().unwrap_or_default())
            }
            None => "the program ended".to_owned(),
            Some((StopReason::Cancelled, _)) => {
                "it was ended, with everything that it had started".to_owned()
            }
            Some((StopReason::Wall, _)) => {
                limit_words::end_of_life(context.session().terminals().longest_life())
            }
            Some((why, took)) => {
                limit_words::ended_by(why, &context.session().command_limits(), took)
            }
        },
        Why::Input => format!("the program reads from the terminal{hidden}"),
        Why::Quiet => format!("it was quiet for a while, and what it does cannot be seen{hidden}"),
        Why::Listening => "it listens on a port now, and goes on".to_owned(),
        Why::Time => "it still runs, and does not wait for input; poll with empty chars".to_owned(),
    }
}

fn message(context: &Context<'_>, seen: &TerminalLook) -> Option<String> {
    let mut parts: Vec<String> = seen.steps.iter().filter_map(commands::changes).collect();
    let unrecorded = seen.steps.iter().flat_map(|landed| &landed.unrecorded);
    let names: Vec<String> = unrecorded.take(5).map(|path| context.shown(path)).collect();
    if !names.is_empty() {
        parts.push(format!("too large or unreadable, and in no step: {}", names.join(", ")));
    }
    parts.extend(
        seen.trouble.iter().map(|why| format!("what it changed is not recorded yet: {why}")),
    );
    parts.extend(commands::masked(seen.masked));
    parts.extend(hidden_program(context, seen));
    parts.extend(commands::hosts(&seen.hosts));
    if !context.session().is_for_one_call() {
        parts.extend(listening(&seen.glance.ports));
    }
    if parts.is_empty() { None } else { Some(parts.join("; ")) }
}

/// A word on ports that a program has begun to listen on.
fn listening(ports: &[u16]) -> Option<String> {
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

/// A sentence on a program that a shell did not find, and that the box does not show.
fn hidden_program(context: &Context<'_>, seen: &TerminalLook) -> Option<String> {
    let said = &seen.glance.said;
    let text = [&said.head[..], &said.tail[..]].map(String::from_utf8_lossy).concat();
    let name = hidden_words::missing_on_terminal(&text)?;
    let folder = context.session().hidden_program(name)?;
    Some(hidden_words::hidden(name, &folder))
}

/// A terminal in a listing.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Row {
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

impl Row {
    pub(crate) fn of(context: &Context<'_>, listed: &TerminalInfo) -> Self {
        let folder = WsPath::parse_shown(&listed.folder).map(|folder| context.shown(&folder));
        Self {
            session_id: listed.name.clone(),
            cmd: listed.command.clone(),
            workdir: folder.unwrap_or_else(|_| listed.folder.clone()),
            state: listed.state.word(),
            exit_code: listed.state.exit_code(),
            opened_at: listed.opened_at.to_string(),
            log_path: listed.log.as_ref().map(|path| context.shown(path)),
            ports: listed.ports.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_told_with_who_reaches_them() {
        assert_eq!(listening(&[]), None);
        assert_eq!(
            listening(&[5_173]).as_deref(),
            Some(
                "it listens on port 5173: other commands of this chat reach it as 127.0.0.1:5173, and the \
                 person opens it in a browser with `toolyard ports`"
            )
        );
        assert_eq!(
            listening(&[3_000, 9_229]).as_deref(),
            Some(
                "it listens on ports 3000, 9229: other commands of this chat reach them at the same numbers of \
                 127.0.0.1, and the person opens them in a browser with `toolyard ports`"
            )
        );
    }
}
