//! One file or folder, as listings and searches by name show it.

use schemars::JsonSchema;
use serde::Serialize;
use yard_core::op;

use crate::tool::{Context, Stop};

/// A file or folder of a listing, with all that the document names.
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
    /// Its size in bytes; not there for a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// When it was last changed (RFC 3339, UTC).
    updated_at: String,
}

/// A file or folder that was searched for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Found {
    /// Its full path.
    path: String,
    /// Its name.
    name: String,
    /// Its name for people; not there if that is its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    display_name: Option<String>,
    /// Whether the store's newest version is what is on disk.
    synced: bool,
    /// Its type: document, folder, canvas, chat, whiteboard, agent, skill or plan.
    file_type: &'static str,
    /// Whether the system manages it; only `glob` finds such files.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_virtual: Option<bool>,
    /// Its size in bytes; null for a folder.
    size: Option<u64>,
    /// When it was last changed (RFC 3339, UTC).
    updated_at: String,
    /// Its id; not there for what the store does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

impl Entry {
    fn of(entry: &op::Entry, path: String, display_name: Option<String>) -> Self {
        let name = name_of(entry);
        Self {
            id: entry.id.map(|id| id.to_string()),
            synced: entry.synced,
            display_name: display_name.unwrap_or_else(|| name.clone()),
            name,
            path,
            file_type: entry.file_type.word(),
            is_virtual: entry.is_virtual,
            size: entry.size,
            updated_at: entry.updated_at.to_string(),
        }
    }
}

impl Found {
    fn of(entry: &op::Entry, path: String, display_name: Option<String>) -> Self {
        Self {
            path,
            name: name_of(entry),
            display_name,
            synced: entry.synced,
            file_type: entry.file_type.word(),
            is_virtual: None,
            size: entry.size,
            updated_at: entry.updated_at.to_string(),
            id: entry.id.map(|id| id.to_string()),
        }
    }
}

fn name_of(entry: &op::Entry) -> String {
    entry.path.name().map_or_else(|| "/".to_owned(), |name| name.to_string())
}

/// The display name that was set for a file that the store knows.
fn display_name(entry: &op::Entry, context: &Context<'_>) -> Result<Option<String>, Stop> {
    let known = entry.id.filter(|_| !entry.is_virtual);
    Ok(known.map(|id| context.session().display_name(id)).transpose()?.flatten())
}

/// The entries of a listing.
pub(super) fn entries(entries: &[op::Entry], context: &Context<'_>) -> Result<Vec<Entry>, Stop> {
    let shown = |entry: &op::Entry| {
        Ok(Entry::of(entry, context.display(&entry.path), display_name(entry, context)?))
    };
    entries.iter().map(shown).collect()
}

/// The matches of `find`.
pub(super) fn found(entries: &[op::Entry], context: &Context<'_>) -> Result<Vec<Found>, Stop> {
    let shown = |entry: &op::Entry| {
        Ok(Found::of(entry, context.display(&entry.path), display_name(entry, context)?))
    };
    entries.iter().map(shown).collect()
}

/// The matches of `glob`, some of which may not be on disk.
pub(super) fn globbed(entries: &[op::Entry], context: &Context<'_>) -> Result<Vec<Found>, Stop> {
    let mut all = found(entries, context)?;
    for (found, entry) in all.iter_mut().zip(entries) {
        found.is_virtual = Some(entry.is_virtual);
    }
    Ok(all)
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
            serde_json::to_value(Entry::of(&entry, entry.path.to_string(), None)).unwrap(),
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
