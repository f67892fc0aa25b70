//! `plan_edit`: changes a plan's body and keeps its front matter (W17).

use schemars::JsonSchema;
use serde::Deserialize;
use yard_core::op::{self, EditAction};
use yard_core::{lines, replace};

use super::front_matter::Plan;
use super::{content, edit, plan_file};
use crate::tool::{Context, Stop, Tool};

/// Changes a part of a plan and leaves its front matter as it is. Either replaces `old_string`, which
/// must occur exactly once in the plan, by `new_string`; or inserts `insert_content` as whole lines
/// before line `insert_line`, counted as `plan_read` counts them. Works in plan mode.
#[derive(Deserialize, JsonSchema)]
pub(super) struct PlanEdit {
    /// Full path to the plan, ending in `.plan`.
    path: String,
    /// The text to be replaced, exactly as it stands in the plan, with enough around it to be unique.
    /// Goes with `new_string`.
    old_string: Option<String>,
    /// What stands there afterwards; repeat what is to stay. An empty string deletes.
    new_string: Option<String>,
    /// The line before which `insert_content` is inserted, counted from 0 after the front matter; the
    /// number of lines appends.
    insert_line: Option<u64>,
    /// The lines to be inserted; a missing newline at the end is added.
    insert_content: Option<String>,
    /// The `hash` of the plan as last read: if it has changed since, nothing is written.
    last_read_hash: Option<String>,
}

impl Tool for PlanEdit {
    type Args = Self;
    type Reply = edit::Reply;
    const NAME: &'static str = "plan_edit";

    fn run(args: Self, context: &Context<'_>) -> Result<edit::Reply, Stop> {
        let path = plan_file::path(&args.path, "path", context)?;
        let expected = content::parse_hash(args.last_read_hash.as_deref())?;
        let replace = (args.old_string, args.new_string);
        let action = edit::action(replace, (args.insert_line, args.insert_content))?;
        let reword = edit::rewording(&action);
        let whole = plan_file::read(&path, context)?;
        // Without a hash from the caller, the edit is for the text that was just read.
        let expected = expected.or(whole.hash);
        let action = on_whole(&Plan::of(&whole.text), action).map_err(&reword)?;
        let edited = context.perform(op::Edit { path, actions: vec![action], expected });
        Ok(edit::Reply::of(&edited.map_err(reword)?.changed, context))
    }
}

/// Converts an edit of the body to an edit of the whole file.
fn on_whole(plan: &Plan<'_>, action: EditAction) -> Result<EditAction, Stop> {
    // The edit has to be valid for the body alone, and faults have line numbers of the body.
    replace::edit(plan.body.as_bytes(), std::slice::from_ref(&action))?;
    Ok(match action {
        EditAction::Insert { line, text } => {
            EditAction::Insert { line: line + lines::count(plan.head.as_bytes()), text }
        }
        // The text may also be in the front matter: everything from the start of the file on makes it unique.
        EditAction::Replace { old, new, all } => match plan.body.find(&old) {
            Some(at) if !plan.head.is_empty() => {
                let before = format!("{}{}", plan.head, &plan.body[..at]);
                EditAction::Replace { old: format!("{before}{old}"), new: before + &new, all }
            }
            _ => EditAction::Replace { old, new, all },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "---\ntitle: goal\n---\n- goal\n- end\n";

    fn edited(action: EditAction) -> Result<String, Stop> {
        let action = on_whole(&Plan::of(TEXT), action)?;
        Ok(String::from_utf8(replace::edit(TEXT.as_bytes(), &[action])?.bytes).unwrap())
    }

    #[test]
    fn w17_an_edit_sees_the_body_only() {
        let replace = |old: &str, new: &str| EditAction::Replace {
            old: old.into(),
            new: new.into(),
            all: false,
        };
        let done = edited(replace("goal", "goal (done)")).unwrap();
        assert_eq!(done, "---\ntitle: goal\n---\n- goal (done)\n- end\n");
        assert!(edited(replace("title", "x")).is_err());
        assert!(edited(replace("- ", "x")).is_err());
        let insert = |line| EditAction::Insert { line, text: "- new".into() };
        assert_eq!(edited(insert(0)).unwrap(), "---\ntitle: goal\n---\n- new\n- goal\n- end\n");
        assert_eq!(edited(insert(2)).unwrap(), "---\ntitle: goal\n---\n- goal\n- end\n- new\n");
        assert!(edited(insert(3)).is_err());
    }
}
