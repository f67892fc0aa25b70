//! Terminals over HTTP: agents open them with a tool; people see what runs, and can end it (X5).

use schemars::JsonSchema;
use serde::Serialize;
use yard_gate::{Screen, TerminalInfo};

use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;

/// Most that one answer lists.
const MOST: usize = 200;

/// A terminal.
#[derive(Serialize, JsonSchema)]
pub(super) struct Row {
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

impl From<&TerminalInfo> for Row {
    fn from(listed: &TerminalInfo) -> Self {
        Self {
            id: listed.run.to_string(),
            chat_id: listed.chat.to_string(),
            session_id: listed.name.clone(),
            opened_by: listed.by.clone(),
            opened_at: listed.opened_at.to_string(),
            command: listed.command.clone(),
            folder: listed.folder.clone(),
            state: listed.state.word(),
            exit_code: listed.state.exit_code(),
            log_path: listed.log.as_ref().map(ToString::to_string),
            ports: listed.ports.clone(),
        }
    }
}

/// The terminals of a workspace.
#[derive(Serialize, JsonSchema)]
pub(super) struct TerminalList {
    /// The newest first.
    terminals: Vec<Row>,
}

/// One terminal, with what is on its screen.
#[derive(Serialize, JsonSchema)]
pub(super) struct OneTerminal {
    terminal: Row,
    /// What a person would see; null once the server has forgotten it.
    screen: Option<String>,
    /// Line and column of the cursor, from 1.
    cursor: Option<[u32; 2]>,
}

pub(super) fn list(request: &HttpRequest) -> Result<Reply, Problem> {
    let listed = request.session()?.terminals().list_all()?;
    Reply::ok(&TerminalList { terminals: listed.iter().take(MOST).map(Row::from).collect() })
}

pub(super) fn read(request: &HttpRequest) -> Result<Reply, Problem> {
    let run = request.id("terminal_id", "terminal")?;
    let (listed, screen) = request.session()?.terminals().read(run)?;
    let cursor = |screen: &Screen| [screen.cursor.0, screen.cursor.1].map(|at| u32::from(at) + 1);
    Reply::ok(&OneTerminal {
        terminal: Row::from(&listed),
        cursor: screen.as_ref().map(cursor),
        screen: screen.map(|screen| screen.text),
    })
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
