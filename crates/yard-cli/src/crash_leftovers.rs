//! Shows the files that a crash left behind and that recovery could not put back.

use serde_json::{Value, json};
use yard_gate::Leftover;

use crate::terminal::{FAINT, REMOVED, Terminal, visible_cell};

/// As JSON, for scripts.
pub(crate) fn to_json(leftovers: &[Leftover]) -> Value {
    let entry = |left: &Leftover| {
        let path = left.path.as_ref().map(ToString::to_string);
        json!({"name": left.name, "path": path, "note": left.note})
    };
    leftovers.iter().map(entry).collect()
}

/// As text: one line for each, and nothing if there are none.
pub(crate) fn to_text(leftovers: &[Leftover], terminal: Terminal) -> String {
    let mut text = String::new();
    for left in leftovers {
        let message = match (&left.note, &left.path) {
            (Some(note), _) => note.clone(),
            (None, Some(path)) => format!("kept aside, and not put back: what was at {path}"),
            (None, None) => "kept aside, and not put back: a file that no step knows".to_owned(),
        };
        text.push_str(&terminal.paint(REMOVED, "after a crash: "));
        text.push_str(&visible_cell(&message));
        text.push_str(&terminal.line(FAINT, &format!("  (leftovers/{})", left.name)));
    }
    text
}
