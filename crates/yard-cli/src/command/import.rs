//! `toolyard import`: records what is on disk and differs from what the store knows.

use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use yard_core::op::{Import, Imported};
use yard_core::{Progress, WsPath};
use yard_gate::Actor;

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::reply::Reply;
use crate::terminal::visible_cell;

const EXAMPLES: &str = "\
Examples:
  toolyard import                       the whole workspace
  toolyard import vendor --include-ignored

Importing is never needed before a tool changes a file: what was there is kept then, too.";

/// Record what changed behind Toolyard's back
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// File or folder [default: the whole workspace]
    path: Option<String>,
    /// Also what ignore files exclude
    #[arg(long)]
    include_ignored: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let local = context.open(Actor::LocalPerson)?;
        let path = self.path.as_deref().map(|text| local.path(text)).transpose()?;
        let path = path.unwrap_or_else(WsPath::root);
        let bar = Arc::new(Bar::new());
        let call =
            local.call_without_deadline().reporting_to(Arc::clone(&bar) as Arc<dyn Progress>);
        let imported =
            local.perform_in(&call, Import { path, include_ignored: self.include_ignored });
        bar.0.finish_and_clear();
        let imported = imported?;
        Ok(Reply::either(self.json, || to_json(&imported), || to_text(&imported)))
    }
}

/// A progress bar on standard error; it draws nothing where that is no terminal.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_style(style("{spinner} {pos} looked at"));
        Self(bar)
    }
}

impl Progress for Bar {
    fn report(&self, done: u64, total: Option<u64>) {
        if let Some(total) = total.filter(|total| self.0.length() != Some(*total)) {
            self.0.set_style(style("[{bar:40}] {pos}/{len} looked at, {eta} left"));
            self.0.set_length(total);
        }
        self.0.set_position(done);
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

fn to_json(imported: &Imported) -> Value {
    let skipped = imported.skipped.iter();
    let skipped: Vec<Value> =
        skipped.map(|(path, reason)| json!({"path": path.to_string(), "reason": reason})).collect();
    json!({
        "step": imported.step.map(|step| step.to_string()),
        "added": imported.added,
        "changed": imported.changed,
        "removed": imported.removed,
        "unchanged": imported.unchanged,
        "skipped": skipped,
    })
}

fn to_text(imported: &Imported) -> String {
    let mut text = format!(
        "{} added, {} changed, {} removed, {} unchanged\n",
        imported.added, imported.changed, imported.removed, imported.unchanged
    );
    if let Some(step) = imported.step {
        text.push_str(&format!("recorded as step {step}\n"));
    }
    for (path, reason) in &imported.skipped {
        let line = format!("{path}: {reason}");
        text.push_str(&format!("skipped {}\n", visible_cell(&line)));
    }
    text
}
