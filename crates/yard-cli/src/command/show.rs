//! `toolyard show`: one step with its diff, as git would show it.

use anstyle::Style;
use serde_json::{Value, json};
use yard_core::op::{ChangeSummary, Show, Shown, ShownChange};
use yard_core::patch::diff_label;
use yard_core::{ContentHash, WsPath};
use yard_gate::Actor;

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::reply::Reply;
use crate::short_ids;
use crate::terminal::{BOLD, FAINT, ID, Terminal, diff_style, visible_cell};

use super::history::{local_time, step_json};

const EXAMPLES: &str = "\
Examples:
  toolyard show last
  toolyard show 0198c2a4-1b2c --color always | less -R";

/// Show what one step changed
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Step: an id, the beginning of one, or `last`
    step: String,
    /// At most that many bytes of diff
    #[arg(long, value_name = "N", default_value_t = 1 << 20)]
    max_bytes: u64,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let local = context.open(Actor::LocalPerson)?;
        let step = short_ids::resolve(&local, &self.step)?;
        let shown = local.perform(Show::all(step, self.max_bytes))?;
        Ok(Reply::either(self.json, || to_json(&shown), || to_text(&shown, context.terminal)))
    }
}

fn to_json(shown: &Shown) -> Value {
    let mut value = step_json(&shown.step, false);
    value["changes"] = shown.changes.iter().map(change_json).collect();
    value["truncated"] = json!(shown.truncated);
    value
}

/// What happened to one file.
pub(super) fn change_json(change: &ShownChange) -> Value {
    let path = |path: &Option<WsPath>| path.as_ref().map(ToString::to_string);
    let hash = |hash: Option<ContentHash>| hash.map(|hash| hash.to_string());
    let octal = |mode: u32| format!("{mode:04o}");
    json!({
        "file_id": change.file.to_string(),
        "change": change.summary.word(),
        "from": path(&change.from),
        "to": path(&change.to),
        "mode_before": change.modes.map(|(before, _)| octal(before)),
        "mode_after": change.modes.map(|(_, after)| octal(after)),
        "hash_before": hash(change.hashes.0),
        "hash_after": hash(change.hashes.1),
        "diff": change.diff,
    })
}

fn to_text(shown: &Shown, terminal: Terminal) -> String {
    let mut page = DiffPage { text: String::new(), terminal };
    page.line(ID, &format!("step {}", shown.step.id));
    page.plain(&format!("Author: {}", shown.step.author.word()));
    page.plain(&format!("Date:   {}", local_time(shown.step.at)));
    let undone = shown.step.undoes.map(|step| format!(" of {step}")).unwrap_or_default();
    let plural = if shown.step.files == 1 { "" } else { "s" };
    page.plain("");
    page.plain(&format!("    {}{undone}: {} file{plural}", shown.step.verb, shown.step.files));
    for change in &shown.changes {
        page.plain("");
        page.change(change);
    }
    if shown.truncated {
        page.line(FAINT, "the diff is cut here; --max-bytes N shows more");
    }
    page.text
}

/// Changes as diffs.
pub(super) fn changes_text(changes: &[ShownChange], terminal: Terminal) -> String {
    let mut page = DiffPage { text: String::new(), terminal };
    for change in changes {
        page.change(change);
        page.plain("");
    }
    page.text
}

/// Lines for a terminal or a pipe.
struct DiffPage {
    text: String,
    terminal: Terminal,
}

impl DiffPage {
    fn line(&mut self, style: Style, line: &str) {
        self.text.push_str(&self.terminal.line(style, line));
    }

    fn plain(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn change(&mut self, change: &ShownChange) {
        for line in heading(change) {
            self.line(BOLD, &line);
        }
        match &change.diff {
            Some(diff) => self.diff(change, diff),
            None if change.hashes.0 != change.hashes.1 => self.line(FAINT, &without_diff(change)),
            None => {}
        }
    }

    fn diff(&mut self, change: &ShownChange, diff: &str) {
        self.line(BOLD, &format!("--- {}", side("a", change.from.as_ref())));
        self.line(BOLD, &format!("+++ {}", side("b", change.to.as_ref())));
        // This skips the two lines of names that the kernel writes: the heading knows which side has no file.
        let named = if diff.starts_with("--- ") { 2 } else { 0 };
        for line in diff.lines().skip(named) {
            let shown = self.terminal.show(line).into_owned();
            self.line(diff_style(line), &shown);
        }
    }
}

fn heading(change: &ShownChange) -> Vec<String> {
    let (from, to) = (change.from.as_ref(), change.to.as_ref());
    let mut lines =
        vec![format!("diff --git {} {}", side("a", from.or(to)), side("b", to.or(from)))];
    match change.summary {
        ChangeSummary::Created => lines.push("created".to_owned()),
        ChangeSummary::Removed => lines.push("removed".to_owned()),
        ChangeSummary::Touched => lines.push("touched".to_owned()),
        ChangeSummary::Moved => {
            lines.push(format!("rename from {}", bare(from)));
            lines.push(format!("rename to {}", bare(to)));
        }
        ChangeSummary::Modified => {}
    }
    if let Some((before, after)) = change.modes {
        lines.push(format!("old mode {before:04o}"));
        lines.push(format!("new mode {after:04o}"));
    }
    lines
}

fn without_diff(change: &ShownChange) -> String {
    let short = |hash: Option<ContentHash>| {
        hash.map_or_else(
            || "nothing".to_owned(),
            |hash| hash.to_string().chars().take(12).collect(),
        )
    };
    format!("content {} -> {}", short(change.hashes.0), short(change.hashes.1))
}

/// A path of one side of a diff; there is none on the side where the file is not.
fn side(letter: &str, path: Option<&WsPath>) -> String {
    visible_cell(&diff_label(letter, path)).into_owned()
}

fn bare(path: Option<&WsPath>) -> String {
    path.map(|path| side("", Some(path)).replacen('/', "", 1)).unwrap_or_default()
}
