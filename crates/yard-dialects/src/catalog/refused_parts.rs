//! What an agent is told of a call of which a person approved a part: what was refused, and the person's word.

use serde_json::{Value, json};
use yard_core::{ChangePart, WsPath};
use yard_gate::{Approval, DecidedPart};

use crate::dialect::Answer;

/// The member of an answer which says what a person refused of the call.
pub const REFUSED_BY_PERSON: &str = "refused_by_person";

/// Most parts that an answer lists.
const MAX_LISTED: usize = 100;
/// Most hunks of one file that an answer lists.
const MAX_HUNKS: usize = 100;

/// Adds what a person refused to the answer of a call that was approved in part. `display` writes a path as the caller does.
pub(super) fn with_refused(
    approval: &Approval,
    answer: Answer,
    display: &dyn Fn(&WsPath) -> String,
) -> Answer {
    let refused = DecidedPart::of(approval).and_then(|part| part.refused).unwrap_or_default();
    if refused.is_empty() {
        return answer;
    }
    let mut body = answer.body.into_value();
    if let Value::Object(members) = &mut body {
        let listed: Vec<Value> =
            refused.iter().take(MAX_LISTED).map(|part| listed(part, display)).collect();
        let reason = approval.decision.as_ref().and_then(|decision| decision.reason.as_deref());
        let notice = json!({
            "message": "a person approved a part of this call, and what is listed as refused was not done",
            "refused": listed,
            "more": refused.len().saturating_sub(MAX_LISTED),
            "reason": reason,
        });
        members.insert(REFUSED_BY_PERSON.to_owned(), notice);
    }
    Answer { body: body.into(), ..answer }
}

fn listed(part: &ChangePart, display: &dyn Fn(&WsPath) -> String) -> Value {
    let path = display(&part.path);
    match &part.hunks {
        None => json!({"path": path}),
        Some(hunks) => {
            let hunks: Vec<usize> = hunks.iter().copied().take(MAX_HUNKS).collect();
            json!({"path": path, "hunks": hunks})
        }
    }
}

/// What a person refused, in words for a model; `None` if they refused nothing.
pub fn refused_in_words(notice: &Value) -> Option<String> {
    let message = notice["message"].as_str()?;
    let refused = notice["refused"].as_array()?.iter().map(part_in_words);
    let mut text = format!("Note: {message}: {}", refused.collect::<Vec<_>>().join(", "));
    match notice["more"].as_u64() {
        None | Some(0) => {}
        Some(more) => text.push_str(&format!(", and {more} more")),
    }
    text.push('.');
    if let Some(reason) = notice["reason"].as_str() {
        text.push_str(&format!(" They said: {reason}"));
    }
    Some(text)
}

fn part_in_words(part: &Value) -> String {
    let path = part["path"].as_str().unwrap_or_default();
    match part["hunks"].as_array() {
        None => path.to_owned(),
        Some(hunks) => {
            // Models count from one, as the hunks of a diff are counted by people.
            let hunks: Vec<String> =
                hunks.iter().filter_map(Value::as_u64).map(|hunk| (hunk + 1).to_string()).collect();
            format!("{path} (change {} of its diff)", hunks.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_reads_what_was_refused_and_the_word() {
        let notice = json!({
            "message": "a person approved a part",
            "refused": [{"path": "a.txt", "hunks": [0, 2]}, {"path": "b.txt"}],
            "more": 3,
            "reason": "not the tests",
        });
        assert_eq!(
            refused_in_words(&notice).unwrap(),
            "Note: a person approved a part: a.txt (change 1, 3 of its diff), b.txt, and 3 more. They said: \
             not the tests"
        );
        assert_eq!(refused_in_words(&Value::Null), None);
    }
}
