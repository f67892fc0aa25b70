//! The markup of these pages. Texts of agents and files are escaped here.

use std::fmt::Write as _;

use serde_json::Value;
use yard_gate::{Approval, ApprovalStatus, AskedQuestion, FormQuestion, effect_lines};

use super::ShownPlan;
use crate::http::html::{escaped, frame};

/// The longest diff, arguments or answer on one page, in bytes.
pub(super) const SHOWN_BYTES: usize = 256 << 10;

/// The name of the form field for a question.
pub(super) fn field(name: &str) -> String {
    format!("answer.{name}")
}

/// The login form, which redirects to `next`.
pub(super) fn login(next: &str, why: Option<&str>) -> String {
    let why = why.map_or_else(String::new, |why| format!("<p class=\"no\">{}</p>", escaped(why)));
    let body = format!(
        "<h1>Toolyard</h1><p>An agent waits for a person. Log in to see what it asks.</p>{why}\
         <form method=\"post\" action=\"/decide/login\">\
         <input type=\"hidden\" name=\"next\" value=\"{}\">\
         <label>Email address<input type=\"email\" name=\"email\" autocomplete=\"username\" required></label>\
         <label>Password<input type=\"password\" name=\"password\" autocomplete=\"current-password\" \
         required></label><button>Log in</button></form>",
        escaped(next)
    );
    frame("Log in", &body)
}

pub(super) fn logged_in() -> String {
    frame(
        "Toolyard",
        "<h1>Toolyard</h1><p>You are logged in. Open the address that the agent gave you.</p>",
    )
}

pub(super) fn refused(why: &str, path: &str) -> String {
    let (why, path) = (escaped(why), escaped(path));
    frame(
        "Toolyard",
        &format!("<h1>Toolyard</h1><p class=\"no\">{why}</p><p><a href=\"{path}\">Back</a></p>"),
    )
}

/// The page of a request, with its diff from a byte on. Only a page that shows the whole diff has the form of the decision:
/// whoever gives out the address chooses the part. `elsewhere` is the address at which any request can be decided.
pub(super) fn approval(approval: &Approval, from: usize, elsewhere: &str) -> String {
    let planned = &approval.request;
    let tool = format!("{}.{}", planned.toolset, planned.tool);
    let mut body = format!(
        "<h1>{}</h1><p>{}</p><p><small>Asked by {} at {}.</small></p>",
        escaped(&tool),
        escaped(&planned.reason),
        escaped(&approval.asked_by),
        approval.at
    );
    effects(&mut body, approval);
    let is_whole = match planned.diff.is_empty() {
        true => part(&mut body, "Arguments", &planned.args, from, escaped),
        false => part(&mut body, "Changes", &planned.diff, from, coloured),
    };
    if let Some(args) = &approval.edited_args {
        block(&mut body, "Arguments that a person gave instead", args, escaped);
    }
    match approval.status {
        ApprovalStatus::Pending if is_whole => decision_form(&mut body, approval),
        ApprovalStatus::Pending => {
            let _ = write!(
                body,
                "<p>Only a part is shown here, and it can be decided only where all of it is: \
                 <a href=\"{}\">Read and decide it</a></p>",
                escaped(elsewhere)
            );
        }
        status => outcome(&mut body, approval, status.word()),
    }
    frame(&tool, &body)
}

fn effects(body: &mut String, approval: &Approval) {
    let effects = effect_lines(approval);
    body.push_str("<table>");
    for (kind, what) in &effects {
        let _ = write!(body, "<tr><td>{}<td><code>{}</code>", escaped(kind), escaped(what));
    }
    body.push_str("</table>");
}

fn decision_form(body: &mut String, approval: &Approval) {
    let _ = write!(
        body,
        "<form method=\"post\"><input type=\"hidden\" name=\"state_hash\" value=\"{}\">\
         <label>A word to the agent (optional)<input name=\"reason\"></label>\
         <button name=\"decision\" value=\"once\">Allow once</button>\
         <button name=\"decision\" value=\"chat\">Allow for this chat</button>\
         <button name=\"decision\" value=\"deny\">Deny</button></form>",
        approval.request.state
    );
}

fn outcome(body: &mut String, approval: &Approval, status: &str) {
    let by = approval.decision.as_ref().map(|decision| format!(" by {}", escaped(&decision.by)));
    let _ = write!(body, "<p><strong>{status}</strong>{}</p>", by.unwrap_or_default());
    if let Some(reason) = approval.decision.as_ref().and_then(|decision| decision.reason.as_deref())
    {
        let _ = write!(body, "<p>{}</p>", escaped(reason));
    }
    if let Some(answer) = &approval.answer {
        block(body, "Result", answer, escaped);
    }
}

/// Writes a part of a text, with a link to the next one. Whether it is the whole text.
fn part(
    body: &mut String,
    title: &str,
    text: &str,
    from: usize,
    render: fn(&str) -> String,
) -> bool {
    let from = text.floor_char_boundary(from);
    let end = text.floor_char_boundary(from.saturating_add(SHOWN_BYTES));
    if from > 0 {
        let _ = write!(body, "<p>{from} of {} bytes came before this part.</p>", text.len());
    }
    let _ = write!(body, "<h2>{title}</h2><pre>{}</pre>", render(&text[from..end]));
    if end < text.len() {
        let rest = text.len() - end;
        let _ = write!(
            body,
            "<p class=\"no\">{rest} bytes more: <a href=\"?from={end}\">the next part</a></p>"
        );
    }
    from == 0 && end == text.len()
}

/// Writes a text under a title, cut if it is too long.
fn block(body: &mut String, title: &str, text: &str, render: fn(&str) -> String) {
    let end = text.floor_char_boundary(SHOWN_BYTES.min(text.len()));
    let _ = write!(body, "<h2>{}</h2><pre>{}</pre>", escaped(title), render(&text[..end]));
    if end < text.len() {
        let rest = text.len() - end;
        let _ = write!(body, "<p class=\"no\">{rest} bytes more are not shown here.</p>");
    }
}

/// A diff with marked lines. Names of files stand before the first hunk of a file; within a hunk, a line that looks like one
/// was removed or added.
fn coloured(diff: &str) -> String {
    let (mut shown, mut left) = (String::with_capacity(diff.len() * 2), HunkLines::default());
    for line in diff.lines() {
        let text = escaped(line);
        let is_name = left.is_over() && (line.starts_with("+++ ") || line.starts_with("--- "));
        left.count(line);
        let _ = match line.as_bytes().first() {
            Some(b'+') if !is_name => writeln!(shown, "<ins>{text}</ins>"),
            Some(b'-') if !is_name => writeln!(shown, "<del>{text}</del>"),
            Some(b'@') => writeln!(shown, "<strong>{text}</strong>"),
            _ => writeln!(shown, "{text}"),
        };
    }
    shown
}

/// How many lines of the two sides of a hunk are still to come.
#[derive(Default)]
struct HunkLines {
    old: u64,
    new: u64,
}

impl HunkLines {
    fn is_over(&self) -> bool {
        self.old == 0 && self.new == 0
    }

    fn count(&mut self, line: &str) {
        if self.is_over() {
            *self = line.strip_prefix("@@ -").and_then(Self::announced).unwrap_or_default();
            return;
        }
        let (old, new) = match line.as_bytes().first() {
            Some(b'-') => (1, 0),
            Some(b'+') => (0, 1),
            // "\\ No newline at end of file"
            Some(b'\\') => (0, 0),
            _ => (1, 1),
        };
        self.old = self.old.saturating_sub(old);
        self.new = self.new.saturating_sub(new);
    }

    /// Those of a hunk with this head: `1,3 +1,4 @@`, where a side of one line has no number of lines.
    fn announced(head: &str) -> Option<Self> {
        let (old, rest) = head.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        let lines = |range: &str| match range.split_once(',') {
            Some((_, lines)) => lines.parse().ok(),
            None => Some(1),
        };
        Some(Self { old: lines(old)?, new: lines(new)? })
    }
}

/// The page of a question, with the plan that it asks to accept. Where that is not shown, the page has no form.
pub(super) fn question(question: &AskedQuestion, plan: Option<&ShownPlan>) -> String {
    let items = question.form.questions();
    let mut body = format!(
        "<h1>An agent asks</h1><p><small>Asked by {} at {}.</small></p>",
        escaped(&question.asked_by),
        question.at
    );
    match &question.answer {
        Some(given) => {
            for item in items {
                let answer =
                    given.answers.get(&item.name).map_or_else(String::new, Value::to_string);
                let _ = write!(body, "<p>{}</p>", escaped(&item.question));
                block(&mut body, "Answer", &answer, escaped);
            }
            let _ = write!(body, "<p><small>Answered by {}.</small></p>", escaped(&given.by));
        }
        None => {
            if plan.is_none_or(|plan| write_plan(&mut body, plan)) {
                answer_form(&mut body, items);
            }
        }
    }
    frame("An agent asks", &body)
}

/// Writes the plan that Accept is for. Whether it could be shown.
fn write_plan(body: &mut String, plan: &ShownPlan) -> bool {
    let ShownPlan { path, text, elsewhere } = plan;
    match text {
        Some(text) => block(body, path, text, escaped),
        None => {
            let _ = write!(
                body,
                "<p class=\"no\">The plan {} cannot be shown here as it was when this was asked: it changed since, or it \
                 is too long.</p><p><a href=\"{}\">Read and answer it</a></p>",
                escaped(path),
                escaped(elsewhere)
            );
        }
    }
    text.is_some()
}

fn answer_form(body: &mut String, items: &[FormQuestion]) {
    body.push_str("<form method=\"post\">");
    // A single question with choices is answered with one click.
    let at_once = items.len() == 1 && !items[0].choices().is_empty();
    for item in items {
        let _ = write!(body, "<fieldset><legend>{}</legend>", escaped(&item.question));
        let (choices, several) = (item.choices(), item.multiple_choices());
        let name = field(&item.name);
        match (choices.is_empty(), several.is_empty()) {
            (true, true) => type_in(body, item),
            (true, false) => {
                let ticks = several.iter().map(|value| tick("checkbox", &name, value, value));
                body.extend(ticks);
            }
            (false, _) => body.extend(choices.iter().map(|choice| match at_once {
                true => click(&name, &choice.answer, &choice.label),
                false => tick("radio", &name, &choice.answer, &choice.label),
            })),
        }
        body.push_str("</fieldset>");
    }
    if !at_once {
        body.push_str("<button>Answer</button>");
    }
    body.push_str("</form>");
}

fn click(name: &str, value: &str, label: &str) -> String {
    let (name, value, label) = (escaped(name), escaped(value), escaped(label));
    format!("<button name=\"{name}\" value=\"{value}\">{label}</button>")
}

fn tick(kind: &str, name: &str, value: &str, label: &str) -> String {
    let (name, value, label) = (escaped(name), escaped(value), escaped(label));
    format!("<label><input type=\"{kind}\" name=\"{name}\" value=\"{value}\"> {label}</label>")
}

fn type_in(body: &mut String, item: &FormQuestion) {
    let name = escaped(&field(&item.name));
    let _ = write!(body, "<label>Answer<textarea name=\"{name}\" rows=\"3\"></textarea></label>");
    if !item.is_text() {
        let schema = escaped(&item.schema.to_string());
        let _ = write!(body, "<small>As JSON of the schema <code>{schema}</code></small>");
    }
}

#[cfg(test)]
mod tests {
    use super::coloured;

    #[test]
    fn every_line_that_is_removed_or_added_is_marked_whatever_it_begins_with() {
        let diff = "--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@\n--- a comment\n+++ another\n same\n\
                    \\ No newline at end of file\n--- a/y\n+++ b/y\n@@ -1 +0,0 @@\n-gone\n";
        let marked = coloured(diff);
        let lines: Vec<&str> = marked.lines().collect();
        assert_eq!(lines[..2], ["--- a/x.sql", "+++ b/x.sql"]);
        assert_eq!(lines[3..5], ["<del>--- a comment</del>", "<ins>+++ another</ins>"]);
        assert_eq!(lines[7..9], ["--- a/y", "+++ b/y"]);
        assert_eq!(lines[10], "<del>-gone</del>");
        assert_eq!(coloured("-cut\n+off"), "<del>-cut</del>\n<ins>+off</ins>\n", "in the middle");
    }
}
