//! `toolyard inbox`: what waits for the person in all folders of this machine in which agents have worked, and what to type
//! to decide it. It decides nothing.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use yard_core::Timestamp;
use yard_gate::{
    Actor, Approval, ApprovalFilter, ApprovalStatus, AskedQuestion, CallerPolicy, QuestionFilter,
    Session, effect_lines,
};

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::location;
use crate::reply::Reply;
use crate::shell_word::shell_word;
use crate::table::Table;
use crate::terminal::{FAINT, Terminal, visible_cell};

const EXAMPLES: &str = "\
Examples:
  toolyard inbox           what waits, oldest first, with what to type for each
  toolyard inbox --later   what you put off on the page";

/// The most requests, and the most questions, that are read of one folder.
const MAX_OF_FOLDER: usize = 1_000;

/// List what waits for you in all folders in which agents have worked
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Only what you put off
    #[arg(long)]
    later: bool,
    /// At most that many
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Something that waits.
struct Waiting {
    root: PathBuf,
    at: Timestamp,
    later_until: Option<Timestamp>,
    id: String,
    asked_by: String,
    kind: &'static str,
    /// The tool and what it would do, or the question.
    what: String,
}

/// A folder of which nothing could be read.
struct Unread {
    root: PathBuf,
    why: String,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let now = context.world().now();
        let (mut waiting, mut unread) = (Vec::new(), Vec::new());
        let data = location::existing_data_folder(context.data_dir());
        for (_, root) in data.iter().flat_map(|data| location::local_histories(data)) {
            match waiting_in(context, &root, now) {
                Ok(found) => waiting.extend(found),
                Err(failure) => unread.push(Unread { root, why: failure.message().to_owned() }),
            }
        }
        waiting.retain(|one| one.later_until.is_some() == self.later);
        waiting.sort_by(|one, other| (one.at, &one.id).cmp(&(other.at, &other.id)));
        let more = waiting.len().saturating_sub(self.limit);
        waiting.truncate(self.limit);
        unread.sort_by(|one, other| one.root.cmp(&other.root));
        Ok(match self.json {
            true => Reply::json(to_json(&waiting, &unread, more)),
            false => Reply::text(to_text(&waiting, &unread, more, now, context.terminal)),
        })
    }
}

/// What waits in one folder.
fn waiting_in(
    context: &CommandContext,
    root: &Path,
    now: Timestamp,
) -> Result<Vec<Waiting>, Failure> {
    let (open, _) = context.workspace(root)?;
    let session = Session::new(open, Actor::LocalPerson, CallerPolicy::Open);
    let put_off = session.put_off_until(now)?;
    let approvals = pending_approvals(&session, root)?;
    let open_questions = QuestionFilter { answered: Some(false), ..QuestionFilter::default() };
    let questions = session.questions().list(open_questions, None, MAX_OF_FOLDER)?;
    let questions = questions.rows.iter().map(|row| of_question(root, row));
    let with_mark = |one: Waiting| Waiting { later_until: put_off.get(&one.id).copied(), ..one };
    Ok(approvals.into_iter().chain(questions).map(with_mark).collect())
}

/// The requests that wait in one folder, newest first. They are read page by page, because each may have a long diff.
fn pending_approvals(session: &Session, root: &Path) -> Result<Vec<Waiting>, Failure> {
    let (status, mut before) = (Some(ApprovalStatus::Pending), None);
    let mut found = Vec::new();
    loop {
        let filter = ApprovalFilter { status, ..ApprovalFilter::default() };
        let page = session.approvals().list(filter, before, MAX_OF_FOLDER - found.len())?;
        before = page.rows.last().map(|row| row.id);
        found.extend(page.rows.iter().map(|row| of_approval(root, row)));
        if !page.truncated || before.is_none() || found.len() >= MAX_OF_FOLDER {
            return Ok(found);
        }
    }
}

fn of_approval(root: &Path, approval: &Approval) -> Waiting {
    let effects = effect_lines(approval);
    let first = effects.first().map(|(kind, path)| format!(": {kind} {path}")).unwrap_or_default();
    let more = match effects.len() {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let request = &approval.request;
    Waiting {
        root: root.to_owned(),
        at: approval.at,
        later_until: None,
        id: approval.id.to_string(),
        asked_by: approval.asked_by.clone(),
        kind: "approval",
        what: format!("{}.{}{first}{more}", request.toolset, request.tool),
    }
}

fn of_question(root: &Path, question: &AskedQuestion) -> Waiting {
    let items = question.form.questions();
    let first = items.first().map(|item| item.question.clone()).unwrap_or_default();
    let more = match items.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    Waiting {
        root: root.to_owned(),
        at: question.at,
        later_until: None,
        id: question.id.to_string(),
        asked_by: question.asked_by.clone(),
        kind: "question",
        what: format!("{first}{more}"),
    }
}

impl Waiting {
    /// The command line that shows it and decides it.
    fn command(&self) -> String {
        let command = if self.kind == "approval" { "approve" } else { "answer" };
        format!(
            "toolyard --root {} {command} {}",
            shell_word(&self.root.to_string_lossy()),
            self.id
        )
    }

    fn workspace(&self) -> String {
        let name = self.root.file_name().unwrap_or(self.root.as_os_str());
        name.to_string_lossy().into_owned()
    }
}

/// For how long something has waited, in the largest unit that fits.
fn age(at: Timestamp, now: Timestamp) -> String {
    let minutes = now.as_millis().saturating_sub(at.as_millis()).max(0) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes} min"),
        60..1_440 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1_440),
    }
}

fn to_text(
    waiting: &[Waiting],
    unread: &[Unread],
    more: usize,
    now: Timestamp,
    terminal: Terminal,
) -> String {
    let mut text = String::new();
    if waiting.is_empty() {
        text.push_str("nothing waits for you\n");
    } else {
        let mut table = Table::new(&["ID", "AGE", "WORKSPACE", "BY", "WHAT", "TO DECIDE"]);
        for one in waiting {
            table.push(vec![
                one.id.clone(),
                age(one.at, now),
                one.workspace(),
                one.asked_by.clone(),
                one.what.clone(),
                one.command(),
            ]);
        }
        let hint = (more > 0).then(|| format!("{more} newer ones remain: --limit N"));
        text.push_str(&table.render_with_hint(terminal, hint.as_deref()));
    }
    for Unread { root, why } in unread {
        let line = format!("{} could not be read: {why}", root.display());
        text.push_str(&terminal.line(FAINT, &visible_cell(&line)));
    }
    text
}

fn to_json(waiting: &[Waiting], unread: &[Unread], more: usize) -> Value {
    let entry = |one: &Waiting| {
        json!({
            "kind": one.kind,
            "id": one.id,
            "root": one.root.to_string_lossy(),
            "workspace": one.workspace(),
            "waiting_since": one.at.to_string(),
            "later_until": one.later_until.map(|until| until.to_string()),
            "asked_by": one.asked_by,
            "what": one.what,
            "to_decide": one.command(),
        })
    };
    let missing = |one: &Unread| json!({"root": one.root.to_string_lossy(), "error": one.why});
    json!({
        "entries": waiting.iter().map(entry).collect::<Vec<_>>(),
        "unavailable": unread.iter().map(missing).collect::<Vec<_>>(),
        "more": more,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_in_the_largest_unit_that_fits() {
        let at = |minutes: i64| Timestamp::from_millis(minutes * 60_000);
        for (minutes, shown) in
            [(0, "now"), (59, "59 min"), (60, "1 h"), (1_440, "1 d"), (-5, "now")]
        {
            assert_eq!(age(at(0), at(minutes)), shown);
        }
    }
}
