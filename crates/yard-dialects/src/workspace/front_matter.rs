//! The lines before a plan's body (W17): YAML between two `---`, of which the plan tools read `title`, `status` and
//! `created_at`. All other lines stay as they were written.

use schemars::JsonSchema;
use serde::Serialize;
use yard_core::Timestamp;

use crate::tool::Stop;

const FENCE: &str = "---";

/// The known fields of a plan's front matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Metadata {
    /// Its title.
    pub(super) title: Option<String>,
    /// Its status: draft, approved, implemented or archived.
    pub(super) status: Option<String>,
    /// When it was made (RFC 3339, UTC).
    pub(super) created_at: Option<String>,
}

impl Metadata {
    /// When the plan was made, if that can be read.
    pub(super) fn created(&self) -> Option<Timestamp> {
        self.created_at.as_deref().and_then(Timestamp::parse)
    }
}

yard_core::spelled_enum! {
    /// The status of a plan.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Status {
        Draft = "draft",
        Approved = "approved",
        Implemented = "implemented",
        Archived = "archived",
    }
}

impl Status {
    /// The status that an argument names.
    pub(super) fn named(word: &str) -> Result<Self, Stop> {
        Self::from_word(&word.trim().to_ascii_lowercase()).ok_or_else(|| {
            let all = Self::WORDS.map(|(_, word)| word).join(", ");
            let got = crate::args::quoted(word);
            Stop::argument("status", format!("expected one of {all}, got {got}"))
        })
    }
}

/// A plan's text, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan<'a> {
    /// The front matter with both fences, line ends included; empty if there is none.
    pub(super) head: &'a str,
    /// What follows it.
    pub(super) body: &'a str,
}

impl<'a> Plan<'a> {
    /// Takes a text apart. What does not read as front matter is body.
    pub(super) fn of(text: &'a str) -> Self {
        let (head, body) = text.split_at(head_end(text).unwrap_or(0));
        Self { head, body }
    }

    /// What the front matter says; `None` without one.
    pub(super) fn metadata(&self) -> Option<Metadata> {
        if self.head.is_empty() {
            return None;
        }
        let value =
            |key| self.fields().find(|(known, _)| *known == key).map(|(_, text)| plain(text));
        let (title, status) = (value("title"), value("status"));
        Some(Metadata { title, status, created_at: value("created_at") })
    }

    fn fields(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.head.lines().filter_map(field)
    }

    /// The front matter with these fields set and every other line as it was.
    pub(super) fn head_with(&self, fields: &[(&str, String)]) -> String {
        let end = if self.head.contains("\r\n") { "\r\n" } else { "\n" };
        let mut left: Vec<&(&str, String)> = fields.iter().collect();
        let mut head = format!("{FENCE}{end}");
        for line in self.head.lines().skip(1).filter(|line| line.trim_end() != FENCE) {
            let key = field(line).map(|(key, _)| key);
            match left.iter().position(|(known, _)| Some(*known) == key) {
                Some(at) => head.push_str(&written(left.remove(at))),
                None => head.push_str(line),
            }
            head.push_str(end);
        }
        for field in left {
            head.push_str(&written(field));
            head.push_str(end);
        }
        head + FENCE + end
    }
}

/// Where the body begins: after the second fence, if the lines before it are front matter with a known field.
fn head_end(text: &str) -> Option<usize> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == FENCE && line.ends_with('\n'))?;
    let (mut end, mut known) = (first.len(), false);
    for line in lines {
        end += line.len();
        if line.trim_end() == FENCE {
            return known.then_some(end);
        }
        known |= matches!(field(line), Some(("title" | "status" | "created_at", _)));
        if !is_yaml(line) {
            return None;
        }
    }
    None
}

/// A field, a comment, an empty line, or a line that belongs to the field above it.
fn is_yaml(line: &str) -> bool {
    let bare = line.trim_end();
    bare.is_empty() || bare.starts_with([' ', '\t', '#', '-']) || field(line).is_some()
}

fn field(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.trim_end().split_once(':')?;
    let simple = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let is_key = !key.is_empty() && key.bytes().all(simple);
    let apart = value.is_empty() || value.starts_with([' ', '\t']);
    (is_key && apart).then(|| (key, value.trim()))
}

/// A scalar without its quotes, or without the comment after it.
fn plain(value: &str) -> String {
    if value.starts_with('"') {
        // A string of JSON is one of YAML, and what is written here is one.
        let mut values = serde_json::Deserializer::from_str(value).into_iter::<String>();
        if let Some(Ok(text)) = values.next() {
            return text;
        }
    }
    if let Some(quoted) = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return quoted.replace("''", "'");
    }
    value.split(" #").next().unwrap_or(value).trim().to_owned()
}

fn written((key, value): &(&str, String)) -> String {
    let bare = !value.is_empty()
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
        && !value.ends_with(':');
    match bare && *key != "title" {
        true => format!("{key}: {value}"),
        false => format!("{key}: {}", serde_json::Value::String(value.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "---\ntitle: \"A: \\\"b\\\" #1\"\nowner: me\nstatus: draft # yet\n\
                        created_at: 2026-01-15T10:30:00.000Z\ntags:\n  - x\n---\n# Body\n---\nx";

    fn metadata(text: &str) -> Option<Metadata> {
        Plan::of(text).metadata()
    }

    #[test]
    fn w17_front_matter_and_body_are_separated() {
        let plan = Plan::of(TEXT);
        assert_eq!(plan.body, "# Body\n---\nx");
        let found = plan.metadata().unwrap();
        assert_eq!(found.title.as_deref(), Some("A: \"b\" #1"));
        assert_eq!(found.status.as_deref(), Some("draft"));
        assert_eq!(found.created(), Timestamp::parse("2026-01-15T10:30:00Z"));
        let single = metadata("---\r\ntitle: 'it''s'\r\n---\r\nbody").unwrap();
        assert_eq!((single.title.as_deref(), single.status), (Some("it's"), None));
    }

    #[test]
    fn w17_what_is_no_front_matter_is_body() {
        for text in [
            "",
            "# Plan\n",
            "---\n",
            "---\ntitle: open",
            "---\nA rule, then text\n---\n",
            "---\nother: 1\n---\n",
            "\n---\ntitle: x\n---\n",
            "--- \u{0} title: x\n---\n",
        ] {
            assert_eq!((metadata(text), Plan::of(text).body), (None, text), "{text:?}");
        }
    }

    #[test]
    fn w17_setting_a_field_keeps_every_other_line() {
        let head = Plan::of(TEXT).head_with(&[("status", "approved".to_owned())]);
        let expected = Plan::of(TEXT).head.replace("status: draft # yet", "status: approved");
        assert_eq!(head, expected);
        let none = Plan::of("# Body").head_with(&[("title", "x\ny".to_owned())]);
        assert_eq!(none, "---\ntitle: \"x\\ny\"\n---\n");
        assert_eq!(metadata(&none).unwrap().title.as_deref(), Some("x\ny"));
        let windows = Plan::of("---\r\nstatus: draft\r\n---\r\n");
        let set = windows.head_with(&[("status", "archived".to_owned())]);
        assert_eq!(set, "---\r\nstatus: archived\r\n---\r\n");
    }

    #[test]
    fn w17_an_unknown_status_is_refused() {
        assert_eq!(Status::named("Approved"), Ok(Status::Approved));
        assert!(matches!(Status::named("done"), Err(Stop::Arguments(_))));
    }
}
