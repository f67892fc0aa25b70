//! One file or folder, as listings and searches by name show it.

use schemars::JsonSchema;
use serde::Serialize;
use yard_core::op;

use crate::tool::Context;

/// A file or folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Entry {
    /// Its id; null for what the store does not know.
    id: Option<String>,
    /// Whether the store's newest version is what is on disk.
    synced: bool,
    /// Its name.
    name: String,
    /// Its name for people.
    display_name: String,
    /// Its full path.
    path: String,
    /// Its type: document, folder, canvas, chat, whiteboard, agent, skill or plan.
    file_type: &'static str,
    /// Whether the system manages it.
    is_virtual: bool,
    /// Its size in bytes; null for a folder.
    size: Option<u64>,
    /// When it was last changed (RFC 3339, UTC).
    updated_at: String,
}

impl Entry {
    fn of(entry: &op::Entry, path: String) -> Self {
        let name = entry.path.name().map_or_else(|| "/".to_owned(), |name| name.to_string());
        Self {
            id: entry.id.map(|id| id.to_string()),
            synced: entry.synced,
            display_name: name.clone(),
            name,
            path,
            file_type: entry.file_type.word(),
            is_virtual: entry.is_virtual,
            size: entry.size,
            updated_at: entry.updated_at.to_string(),
        }
    }
}

/// All of them.
pub(super) fn entries(entries: &[op::Entry], context: &Context<'_>) -> Vec<Entry> {
    let shown = |entry: &op::Entry| Entry::of(entry, context.shown(&entry.path));
    entries.iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use yard_core::{FileKind, FileType, Timestamp, WsPath};

    use super::*;

    #[test]
    fn w2_types_are_lower_case_and_the_display_name_is_the_name() {
        let entry = op::Entry {
            path: WsPath::parse("/dashboards/Main.canvas").unwrap(),
            kind: Some(FileKind::File),
            file_type: FileType::Canvas,
            id: None,
            synced: false,
            is_virtual: false,
            size: Some(3),
            updated_at: Timestamp::from_millis(0),
        };
        assert_eq!(
            serde_json::to_value(Entry::of(&entry, entry.path.to_string())).unwrap(),
            json!({
                "id": null,
                "synced": false,
                "name": "Main.canvas",
                "display_name": "Main.canvas",
                "path": "/dashboards/Main.canvas",
                "file_type": "canvas",
                "is_virtual": false,
                "size": 3,
                "updated_at": "1970-01-01T00:00:00.000Z"
            })
        );
    }
}
