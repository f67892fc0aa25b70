//! Terminals over HTTP: agents open them with a tool; people see what runs, type into it, and can end it (X5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_gate::{Screen, Size, TerminalInfo};

use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;

/// How many terminals one answer lists.
const MAX_TERMINALS: usize = 200;
/// The longest text that is typed at once.
const MAX_TYPED_BYTES: usize = 64 << 10;
/// The most rows, and the most columns, of a screen.
const MAX_SIDE: u16 = 1_000;

/// A terminal.
#[derive(Serialize, JsonSchema)]
pub(super) struct TerminalRow {
    id: String,
    chat_id: String,
    /// What its chat calls it.
    session_id: String,
    /// Who opened it.
    opened_by: String,
    opened_at: String,
    /// What runs on it.
    command: String,
    /// Where that started.
    folder: String,
    /// `running`, `ended` or `interrupted`.
    state: &'static str,
    /// The exit code once it is known.
    exit_code: Option<i32>,
    /// The file with everything that it said, while it is kept.
    log_path: Option<String>,
    /// The ports that its programs listen on.
    ports: Vec<u16>,
}

impl From<&TerminalInfo> for TerminalRow {
    fn from(terminal: &TerminalInfo) -> Self {
        Self {
            id: terminal.run.to_string(),
            chat_id: terminal.chat.to_string(),
            session_id: terminal.name.clone(),
            opened_by: terminal.by.clone(),
            opened_at: terminal.opened_at.to_string(),
            command: terminal.command.clone(),
            folder: terminal.folder.clone(),
            state: terminal.state.word(),
            exit_code: terminal.state.exit_code(),
            log_path: terminal.log.as_ref().map(ToString::to_string),
            ports: terminal.ports.clone(),
        }
    }
}

/// The terminals of a workspace.
#[derive(Serialize, JsonSchema)]
pub(super) struct TerminalList {
    /// The newest first.
    terminals: Vec<TerminalRow>,
}

/// One terminal, with what is on its screen.
#[derive(Serialize, JsonSchema)]
pub(super) struct OneTerminal {
    terminal: TerminalRow,
    /// What a person would see; null once the server has forgotten it.
    screen: Option<String>,
    /// Line and column of the cursor, from 1.
    cursor: Option<[u32; 2]>,
    /// Rows and columns of the screen.
    size: Option<[u16; 2]>,
}

impl OneTerminal {
    fn new(terminal: &TerminalInfo, screen: Option<Screen>) -> Self {
        let cursor =
            |screen: &Screen| [screen.cursor.0, screen.cursor.1].map(|at| u32::from(at) + 1);
        Self {
            terminal: TerminalRow::from(terminal),
            cursor: screen.as_ref().map(cursor),
            size: screen.as_ref().map(|screen| [screen.size.rows, screen.size.columns]),
            screen: screen.map(|screen| screen.text),
        }
    }
}

/// What a person types.
#[derive(Deserialize, JsonSchema)]
pub(super) struct TypedText {
    /// The characters, with `\n` for Enter, `\u0003` for Ctrl-C and escape sequences for other keys.
    text: String,
}

/// A size of a screen.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewSize {
    /// Lines, at most 1,000.
    rows: u16,
    /// Characters in a line, at most 1,000.
    columns: u16,
}

pub(super) fn list(request: &HttpRequest) -> Result<Reply, Problem> {
    let all = request.session()?.terminals().list_all()?;
    Reply::ok(&TerminalList {
        terminals: all.iter().take(MAX_TERMINALS).map(TerminalRow::from).collect(),
    })
}

pub(super) fn read(request: &HttpRequest) -> Result<Reply, Problem> {
    let run = request.id("terminal_id", "terminal")?;
    let (terminal, screen) = request.session()?.terminals().read(&request.call, run)?;
    Reply::ok(&OneTerminal::new(&terminal, screen))
}

pub(super) fn type_text(request: &HttpRequest) -> Result<Reply, Problem> {
    let run = request.id("terminal_id", "terminal")?;
    let typed: TypedText = request.json()?;
    if typed.text.is_empty() || typed.text.len() > MAX_TYPED_BYTES {
        let message = format!("expected 1 to {MAX_TYPED_BYTES} bytes of text; send more in parts");
        return Err(Problem::invalid("text", message));
    }
    let session = request.session()?;
    let (terminal, screen) = session.terminals().type_into(&request.call, run, &typed.text)?;
    Reply::ok(&OneTerminal::new(&terminal, Some(screen)))
}

pub(super) fn resize(request: &HttpRequest) -> Result<Reply, Problem> {
    let run = request.id("terminal_id", "terminal")?;
    let NewSize { rows, columns } = request.json()?;
    for (name, side) in [("rows", rows), ("columns", columns)] {
        if !(1..=MAX_SIDE).contains(&side) {
            return Err(Problem::invalid(name, format!("expected a number from 1 to {MAX_SIDE}")));
        }
    }
    let session = request.session()?;
    let size = Size { rows, columns };
    let (terminal, screen) = session.terminals().resize(&request.call, run, size)?;
    Reply::ok(&OneTerminal::new(&terminal, Some(screen)))
}

pub(super) fn stop_chat(request: &HttpRequest) -> Result<Reply, Problem> {
    let chat = request.id("chat_id", "chat")?;
    request.session()?.in_chat(chat)?.terminals().stop_chat(&request.call)?;
    Ok(Reply::empty())
}

pub(super) fn stop(request: &HttpRequest) -> Result<Reply, Problem> {
    let run = request.id("terminal_id", "terminal")?;
    request.session()?.terminals().stop_run(&request.call, run)?;
    Ok(Reply::empty())
}
