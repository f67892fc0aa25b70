//! `toolyard ports`: opens the ports of programs in agents' terminals for the person's browser.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use yard_core::FaultCode;
use yard_kernel::{PortList, TerminalPort, terminal_ports};

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::location;
use crate::port_forwards::{Forward, Forwards};
use crate::reply::Reply;
use crate::table::Table;
use crate::terminal::{ADDED, FAINT, REMOVED, Terminal};

/// The time between two checks for new and closed ports.
const CHECK_INTERVAL: Duration = Duration::from_millis(300);

const HELP: &str = "\
A program in a terminal has a network of its own: nobody but the commands of its chat reaches a port that it
listens on. While this command runs, you reach it too, on an address of this machine that is the chat's own
(127.0.0.2 for the first), so that an agent's server never gets a cookie of another one. Everybody on this
machine can connect to that address. A port is closed with its terminal, and all of them with this command.";

/// Open ports that programs in agents' terminals listen on, for your browser
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Options {
    /// Only these ports
    #[arg(value_name = "PORT")]
    ports: Vec<u16>,
    /// List the ports, and open none
    #[arg(long)]
    list: bool,
    /// Print the list as JSON, and open none
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        if self.json {
            let rows: Vec<Value> = self.find_ports(context)?.ports.iter().map(to_json).collect();
            return Ok(Reply::json(json!({"ports": rows})));
        }
        if self.list {
            return Ok(to_text(&self.find_ports(context)?.ports, context.terminal));
        }
        self.open_until_stopped(context)
    }

    /// The ports that are there now.
    fn find_ports(&self, context: &CommandContext) -> Result<PortList, Failure> {
        let mut listing = PortList::default();
        for state in states(context)? {
            let PortList { ports, silent } = terminal_ports(&state)?;
            listing.ports.extend(ports);
            listing.silent.extend(silent);
        }
        listing.ports.retain(|port| self.ports.is_empty() || self.ports.contains(&port.port));
        Ok(listing)
    }

    /// Opens the ports that programs listen on now and later, until the process ends or its output is closed.
    fn open_until_stopped(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let terminal = context.terminal;
        let mut forwards = Forwards::new(context.world());
        let mut message = change_message(&[], &[], terminal);
        loop {
            let (opened, closed) = forwards.update(&self.find_ports(context)?);
            if !opened.is_empty() || !closed.is_empty() {
                message = change_message(&opened, &closed, terminal);
            }
            if let Some(text) = std::mem::take(&mut message) {
                let mut out = io::stdout().lock();
                if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
                    return Ok(Reply::text(String::new()));
                }
            }
            thread::sleep(CHECK_INTERVAL);
        }
    }
}

/// The state folders of the workspaces that the command line names, or else of all.
fn states(context: &CommandContext) -> Result<Vec<PathBuf>, Failure> {
    let data = location::existing_data_folder(context.data_dir()).ok_or_else(|| {
        Failure::new(FaultCode::NotFound, "there is no data folder yet: no agent worked here")
    })?;
    let roots: Result<Vec<String>, Failure> =
        context.roots().iter().map(|root| location::canonical_text(root)).collect();
    let roots = roots?;
    let states = location::state_folders(&data).into_iter();
    let is_named = |name: &String| roots.is_empty() || roots.contains(name);
    Ok(states.filter(|state| is_named(&state.name)).map(|state| state.path).collect())
}

/// The message about ports that were opened or closed, or at the start that there is none yet.
fn change_message(opened: &[Forward], closed: &[Forward], terminal: Terminal) -> Option<String> {
    let mut lines: Vec<String> = Vec::new();
    for forward in opened {
        let line = match &forward.address {
            Ok(address) => format!("http://{address}/  {}", program_name(&forward.port)),
            Err(error) => format!("{} cannot be opened: {error}", program_name(&forward.port)),
        };
        lines.push(terminal.paint(if forward.address.is_ok() { ADDED } else { REMOVED }, &line));
    }
    let closed = closed.iter().map(|forward| format!("closed: {}", program_name(&forward.port)));
    lines.extend(closed.map(|line| terminal.paint(REMOVED, &line)));
    if lines.is_empty() {
        let hint = "No program in a terminal listens on a port yet. Waiting; Ctrl-C ends this.";
        lines.push(terminal.paint(FAINT, hint));
    }
    Some(lines.join("\n") + "\n")
}

fn program_name(port: &TerminalPort) -> String {
    let (name, command) = name_and_command(port);
    let text = format!("port {} of terminal {name} ({command})", port.port);
    crate::terminal::visible(&text).into_owned()
}

/// The name of a terminal in its chat, and what runs on it.
fn name_and_command(port: &TerminalPort) -> (String, String) {
    let note: Value = serde_json::from_slice(&port.note).unwrap_or_default();
    let text = |name: &str| note[name].as_str().unwrap_or("?").to_owned();
    (text("name"), text("command"))
}

fn to_json(port: &TerminalPort) -> Value {
    let (name, command) = name_and_command(port);
    json!({
        "port": port.port, "terminal": name, "command": command, "chat": port.chat.to_string(),
        "run": port.run.to_string(),
    })
}

fn to_text(ports: &[TerminalPort], terminal: Terminal) -> Reply {
    if ports.is_empty() {
        return Reply::text("no program in a terminal listens on a port\n".to_owned());
    }
    let mut table = Table::new(&["PORT", "TERMINAL", "CHAT", "COMMAND"]);
    for port in ports {
        let (name, command) = name_and_command(port);
        table.push(vec![port.port.to_string(), name, port.chat.to_string(), command]);
    }
    let hint = "`toolyard ports` opens them for your browser";
    Reply::text(table.render_with_hint(terminal, Some(hint)))
}
