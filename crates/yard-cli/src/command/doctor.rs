//! `toolyard doctor`: what the box around commands can do on this machine, and how to get the rest.

use serde_json::json;
use yard_gate::Actor;
use yard_kernel::sandbox::{Finding, Level, Sandbox, Wish};

use crate::door::Door;
use crate::failure::Failure;
use crate::leftovers;
use crate::reply::{Body, Reply};
use crate::terminal::{ADDED, BOLD, FAINT, REMOVED, Terminal, visible_cell};

/// See what the box around commands can do on this machine
#[derive(clap::Args)]
#[command(
    after_help = "Boxes are made to find out. Exit code 1 when commands do not run in a full one, when the \
                  workspace does not open, or when a crash left something in it that a person should see."
)]
pub(crate) struct Options {
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    pub(super) fn run(&self, door: &Door) -> Result<Reply, Failure> {
        let helper = std::env::current_exe()
            .map_err(|error| Failure::io("this program cannot be found", &error))?;
        let sandbox = Sandbox::probe(helper, Wish::default());
        let workspace =
            door.open(Actor::LocalPerson).and_then(|seat| Ok(seat.session.leftovers()?));
        let opens = workspace.as_ref().is_ok_and(Vec::is_empty);
        let exit = u8::from(sandbox.level() != Level::Full || !opens);
        let body = if self.json {
            let findings: Vec<_> = sandbox.findings().iter().map(to_json).collect();
            Body::Json(json!({
                "ok": exit == 0,
                "level": sandbox.level().name(),
                "findings": findings,
                "workspace": match &workspace {
                    Ok(leftovers) => json!({"leftovers": leftovers::to_json(leftovers)}),
                    Err(failure) => json!({"error": failure.message()}),
                },
            }))
        } else {
            let mut text = to_text(&sandbox, door.terminal);
            text.push_str(&match &workspace {
                Ok(leftovers) => leftovers::to_text(leftovers, door.terminal),
                Err(failure) => {
                    let mark = door.terminal.paint(REMOVED, "✗");
                    format!("{mark} this workspace does not open: {}\n", failure.message())
                }
            });
            Body::Text(text)
        };
        Ok(Reply { body, exit })
    }
}

fn to_json(finding: &Finding) -> serde_json::Value {
    json!({
        "name": finding.name,
        "ok": finding.ok,
        "needed": finding.needed,
        "found": finding.found,
        "remedy": finding.remedy,
    })
}

/// A line a thing, and below it how to get what is missing.
fn to_text(sandbox: &Sandbox, terminal: Terminal) -> String {
    let width = sandbox.findings().iter().map(|finding| finding.name.chars().count()).max();
    let width = width.unwrap_or(0);
    let mut text = String::new();
    for finding in sandbox.findings() {
        let mark = match (finding.ok, finding.needed) {
            (true, _) => terminal.paint(ADDED, "✓"),
            (false, true) => terminal.paint(REMOVED, "✗"),
            (false, false) => terminal.paint(FAINT, "-"),
        };
        let found = visible_cell(&finding.found);
        text.push_str(&format!("{mark} {:width$}  {found}\n", finding.name));
        if !finding.ok && !finding.remedy.is_empty() {
            let remedy = format!("{:width$}    {}", "", visible_cell(&finding.remedy));
            text.push_str(&terminal.paint(FAINT, &remedy));
            text.push('\n');
        }
    }
    let level = sandbox.level();
    text.push_str(&format!("\n{} {}\n", terminal.paint(BOLD, level.name()), means(level)));
    text
}

fn means(level: Level) -> &'static str {
    match level {
        Level::Full => "- commands run in a box, on a layer over the workspace",
        Level::Walls => {
            "- commands run behind Landlock and seccomp: read-only in plan mode, else in place"
        }
        Level::Refuse => "- commands do not run",
        Level::Unconfined => "- commands run with nothing around them",
    }
}
