//! Comments as the parts of a message: their data and their text, with the lines that they quote.

use std::fmt::Write as _;

use serde_json::{Value, json};
use yard_core::{ReadAccess, WsPath};
use yard_store::{Comment, CommentTarget, Turn, TurnKind};

/// The longest quotation of a line, in bytes.
const LINE_BYTES: usize = 500;
/// The member of a message's data with the comments that it is made of.
pub(crate) const COMMENTS: &str = "comments";

/// A comment that is sent, with the text of its line where the diff has it.
pub(crate) struct SentComment {
    pub(crate) comment: Comment,
    pub(crate) line_text: Option<String>,
}

/// A comment as a message's data has it.
pub(crate) fn to_value(sent: &SentComment) -> Value {
    let SentComment { comment, line_text } = sent;
    let (step, approval) = match comment.target {
        CommentTarget::Step(id) => (Some(id.to_string()), None),
        CommentTarget::Approval(id) => (None, Some(id.to_string())),
    };
    let line_text = line_text.as_deref().map(|text| match text.len() > LINE_BYTES {
        true => format!("{} […]", &text[..text.floor_char_boundary(LINE_BYTES)]),
        false => text.to_owned(),
    });
    json!({
        "step_id": step,
        "approval_id": approval,
        "path": comment.path.to_string(),
        "side": comment.side.word(),
        "line": comment.line,
        "line_text": line_text,
        "text": comment.text,
    })
}

/// The text of a message of comments. `prefix` stands before the relative paths.
pub(crate) fn text_of(comments: &[Value], prefix: &str) -> String {
    let mut text = "Comments on your changes:\n".to_owned();
    for comment in comments {
        let member = |name: &str| comment[name].as_str();
        let path = member("path").unwrap_or_default();
        let path = path.strip_prefix('/').unwrap_or(path);
        let (line, side) = (&comment["line"], member("side").unwrap_or_default());
        let before = if side == "old" { " before the change" } else { "" };
        let about = match (member("step_id"), member("approval_id")) {
            (Some(step), _) => format!("step {step}"),
            (None, request) => format!("request {}", request.unwrap_or_default()),
        };
        // Writing into a string cannot fail.
        let _ = write!(text, "\n{prefix}{path}, line {line}{before} ({about}):\n");
        if let Some(line_text) = member("line_text") {
            let _ = writeln!(text, "> {line_text}");
        }
        let _ = writeln!(text, "{}", member("text").unwrap_or_default().trim());
    }
    text
}

/// Leaves out the quoted lines of files that the reader of a chat may not read.
pub(crate) fn hide_lines(reading: &dyn ReadAccess, turn: &mut Turn, data: &mut Value) {
    if turn.kind != TurnKind::Message {
        return;
    }
    let Some(comments) = data.get_mut(COMMENTS).and_then(Value::as_array_mut) else { return };
    let mut is_hidden = false;
    for comment in comments.iter_mut().filter(|comment| comment["line_text"].is_string()) {
        let path = WsPath::parse_shown(comment["path"].as_str().unwrap_or_default());
        if !path.is_ok_and(|path| reading.may_read(&path)) {
            comment["line_text"] = Value::Null;
            is_hidden = true;
        }
    }
    if is_hidden {
        let content = text_of(comments, "/");
        let before = data["content"].as_str().unwrap_or_default();
        turn.text = turn.text.replace(before, &content);
        data["content"] = content.into();
    }
}

#[cfg(test)]
mod tests {
    use yard_core::Timestamp;

    use super::*;

    fn comment(path: &str, line_text: Value, side: &str) -> Value {
        json!({"step_id": "S", "approval_id": null, "path": path, "side": side, "line": 7,
               "line_text": line_text, "text": " Why?\nSay so. "})
    }

    #[test]
    fn a_message_names_places_and_quotes_lines() {
        let comments = [
            comment("/src/a.rs", "let x = 1;".into(), "new"),
            comment("/src/a.rs", Value::Null, "old"),
        ];
        let expected = "Comments on your changes:\n\n\
            api/src/a.rs, line 7 (step S):\n> let x = 1;\nWhy?\nSay so.\n\n\
            api/src/a.rs, line 7 before the change (step S):\nWhy?\nSay so.\n";
        assert_eq!(text_of(&comments, "api/"), expected);
    }

    struct AllBut(&'static str);

    impl ReadAccess for AllBut {
        fn may_read(&self, path: &WsPath) -> bool {
            path.to_string() != self.0
        }

        fn may_list(&self, _: &WsPath) -> bool {
            true
        }

        fn withheld_paths(&self) -> Vec<WsPath> {
            Vec::new()
        }

        fn withholds_all_below(&self, _: &WsPath) -> bool {
            false
        }

        fn note(&self) -> String {
            String::new()
        }

        fn may_see(&self, _: &str) -> bool {
            true
        }
    }

    #[test]
    fn b10_a_reader_who_may_not_read_a_file_gets_the_comment_without_its_line() {
        let comments =
            vec![comment("/key", "SECRET".into(), "new"), comment("/a", "open".into(), "new")];
        let content = text_of(&comments, "/");
        let mut data = json!({"content": content, COMMENTS: comments});
        let mut turn = Turn {
            number: 1,
            at: Timestamp::from_millis(0),
            actor: "person:local".to_owned(),
            kind: TurnKind::Message,
            data: String::new(),
            text: format!("\n## user\n\n{content}\n"),
        };
        hide_lines(&AllBut("/key"), &mut turn, &mut data);
        for text in [turn.text, data.to_string()] {
            assert!(!text.contains("SECRET") && text.contains("open"), "{text}");
            assert!(text.contains("/key, line 7"), "{text}");
        }
    }
}
