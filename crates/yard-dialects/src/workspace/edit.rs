//! `edit`: replaces a text in a file, or inserts lines (W9).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{self, EditAction};
use yard_core::{Fault, FaultCode, Subject};

use super::content;
use crate::args::Fields;
use crate::tool::{Context, Stop, Tool};

/// Changes a part of a text file. Either replaces `old_string`, which must occur exactly once, by
/// `new_string`; or inserts `insert_content` as whole lines before line `insert_line`. Everything
/// else in the file stays byte for byte. Send `last_read_hash` from a `read` to be safe from
/// changes in between.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Edit {
    /// Full path to the file.
    path: String,
    /// The text to be replaced, exactly as it stands in the file, with enough around it to be
    /// unique. Goes with `new_string`.
    old_string: Option<String>,
    /// What stands there afterwards; repeat what is to stay. An empty string deletes.
    new_string: Option<String>,
    /// The line before which `insert_content` is inserted, counted from 0; the number of lines
    /// appends.
    insert_line: Option<u64>,
    /// The lines to be inserted; a missing newline at the end is added.
    insert_content: Option<String>,
    /// The `hash` of the file as last read: if it has changed since, nothing is written.
    last_read_hash: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The file that was edited.
    path: String,
    /// Its id.
    file_id: String,
    /// Its new version.
    version_id: Option<String>,
    /// SHA-256 of the whole file after the edit: the next `last_read_hash`.
    hash: Option<String>,
}

impl Tool for Edit {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "edit";

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = context.path(&args.path)?;
        let expected = content::parse_hash(args.last_read_hash.as_deref())?;
        let replace = (args.old_string, args.new_string);
        let action = action(replace, (args.insert_line, args.insert_content))?;
        let reword = rewording(&action);
        let edited = context.perform(op::Edit { path, actions: vec![action], expected });
        Ok(Reply::of(&edited.map_err(reword)?.changed, context))
    }
}

impl Reply {
    pub(super) fn of(changed: &op::Changed, context: &Context<'_>) -> Self {
        Self {
            path: context.display(&changed.path),
            file_id: changed.file.to_string(),
            version_id: changed.version.map(|version| version.to_string()),
            hash: changed.hash.map(|hash| hash.to_string()),
        }
    }
}

const EITHER: &str = "send either `old_string` and `new_string` (replace) \
    or `insert_line` and `insert_content` (insert)";

/// W9: exactly one of the two pairs has to be complete, the other absent.
pub(super) fn action(
    replace: (Option<String>, Option<String>),
    insert: (Option<u64>, Option<String>),
) -> Result<EditAction, Stop> {
    match (replace, insert) {
        ((None, None), (None, None)) => {
            Err(Stop::argument("old_string", format!("missing; {EITHER}")))
        }
        ((old, new), (None, None)) => replacement(old, new),
        ((None, None), (line, text)) => insertion(line, text),
        _ => Err(Stop::argument("insert_line", format!("{EITHER}, not both"))),
    }
}

fn replacement(old: Option<String>, new: Option<String>) -> Result<EditAction, Stop> {
    match (old, new) {
        (Some(old), _) if old.is_empty() => Err(Stop::argument(
            "old_string",
            "must not be empty; to insert, send `insert_line` and `insert_content`; to fill an empty \
             file, `write` with overwrite=true",
        )),
        (Some(old), Some(new)) => Ok(EditAction::Replace { old, new, all: false }),
        (None, _) => Err(missing("old_string", "the text to be replaced")),
        (_, None) => {
            Err(missing("new_string", "what stands there afterwards (an empty string deletes)"))
        }
    }
}

fn insertion(line: Option<u64>, text: Option<String>) -> Result<EditAction, Stop> {
    match (line, text) {
        (Some(line), Some(text)) => Ok(EditAction::Insert { line, text }),
        (None, _) => Err(missing("insert_line", "the line before which to insert, counted from 0")),
        (_, None) => Err(missing("insert_content", "the lines to be inserted")),
    }
}

fn missing(name: &str, what: &str) -> Stop {
    Fields::one(name, format!("missing; expected {what}")).into()
}

/// Makes the faults of an insertion name its own arguments.
pub(super) fn rewording(action: &EditAction) -> impl Fn(Stop) -> Stop + use<> {
    let is_insertion = matches!(action, EditAction::Insert { .. });
    move |stop| if is_insertion { stop.map_fault(about_insertion) } else { stop }
}

/// The text that a replacement takes from `new_string`, an insertion takes from `insert_content`.
fn about_insertion(fault: Fault) -> Stop {
    let about_text =
        matches!(fault.subject(), Some(Subject::Replacement | Subject::Content | Subject::Find))
            || fault.code() == FaultCode::NoChange;
    if about_text { Stop::argument("insert_content", fault.message()) } else { Stop::Fault(fault) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn parsed(mut value: Value) -> Result<EditAction, Stop> {
        value["path"] = json!("/a");
        let args: Edit = serde_json::from_value(value).unwrap();
        let replace = (args.old_string, args.new_string);
        action(replace, (args.insert_line, args.insert_content))
    }

    #[test]
    fn w9_either_pair_and_not_both() {
        let replace = EditAction::Replace { old: "a".to_owned(), new: String::new(), all: false };
        assert_eq!(parsed(json!({"old_string": "a", "new_string": ""})), Ok(replace));
        let insert = EditAction::Insert { line: 0, text: "x".to_owned() };
        assert_eq!(parsed(json!({"insert_line": 0, "insert_content": "x"})), Ok(insert));
        for (sent, field) in [
            (json!({}), "old_string"),
            (json!({"old_string": "a"}), "new_string"),
            (json!({"new_string": "a"}), "old_string"),
            (json!({"insert_line": 1}), "insert_content"),
            (json!({"insert_content": "x"}), "insert_line"),
            (json!({"old_string": "", "new_string": "x"}), "old_string"),
            (
                json!({"old_string": "a", "new_string": "b", "insert_line": 1, "insert_content": "x"}),
                "insert_line",
            ),
            (json!({"old_string": "a", "new_string": "b", "insert_line": 1}), "insert_line"),
        ] {
            match parsed(sent.clone()) {
                Err(Stop::Arguments(fields)) => {
                    assert_eq!(fields.iter().next().map(|(name, _)| name), Some(field), "{sent}");
                }
                other => panic!("{sent}: {other:?}"),
            }
        }
    }

    #[test]
    fn w9_faults_of_an_insertion_name_its_own_arguments() {
        let about = |code, subject| about_insertion(Fault::new(code, "why").about(subject));
        let renamed = Stop::argument("insert_content", "why");
        assert_eq!(about(FaultCode::BadArgument, Subject::Replacement), renamed);
        assert_eq!(about(FaultCode::NoChange, Subject::Find), renamed);
        assert!(matches!(about(FaultCode::BadArgument, Subject::InsertLine), Stop::Fault(_)));
        assert!(matches!(about(FaultCode::Stale, Subject::Hash), Stop::Fault(_)));
    }
}
