//! `write`: writes a whole file, from text or from a JSON value (W3, W6).

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use yard_core::op::{self, Changed, OnExisting, OnMissingFolder};
use yard_core::{Fault, FaultCode, FileType, Subject};

use super::content;
use crate::tool::{Context, Hints, Stop, Tool};

/// Creates a file, or replaces all of one with `overwrite`; missing folders are made. To change a
/// part of a file use `edit`.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Write {
    /// Full path to the file.
    path: String,
    /// The content. A string is stored as it is; any other JSON value is stored as pretty-printed
    /// JSON and read back as that value. Required, except for a folder.
    #[serde(default, deserialize_with = "some_value")]
    #[schemars(with = "Value")]
    content: Option<Value>,
    /// The file's type. An existing file keeps its own if none is given; `folder` makes a folder;
    /// `chat` is refused, chats are made by the chats API.
    #[schemars(extend("enum" = FileType::WORDS.map(|(_, word)| word)))]
    #[schemars(extend("default" = FileType::default().word()))]
    file_type: Option<String>,
    /// Replace an existing file.
    #[serde(default)]
    overwrite: bool,
    /// The `hash` of the file that is to be replaced, as last read: if it has changed since,
    /// nothing is written.
    last_read_hash: Option<String>,
}

/// A null that was sent is a content; only an absent argument is `None`.
fn some_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The file that was written.
    path: String,
    /// Its id.
    file_id: String,
    /// Its new version; null for a folder.
    version_id: Option<String>,
    /// SHA-256 of the content; null for a folder.
    hash: Option<String>,
}

impl Reply {
    fn of(changed: &Changed, context: &Context<'_>) -> Self {
        Self {
            path: context.display(&changed.path),
            file_id: changed.file.to_string(),
            version_id: changed.version.map(|version| version.to_string()),
            hash: changed.hash.map(|hash| hash.to_string()),
        }
    }
}

impl Tool for Write {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "write";
    const HINTS: Hints = Hints::CHANGES.repeating();

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = context.path(&args.path)?;
        let file_type = file_type(args.file_type.as_deref())?;
        let expected = content::parse_hash(args.last_read_hash.as_deref())?;
        let changed = if file_type == Some(FileType::Folder) {
            check_no_content(args.content.as_ref())?;
            context.perform(op::Mkdir { path: path.clone() })
        } else {
            let (content, json) = content::to_bytes(args.content.ok_or_else(missing)?)?;
            let on_existing = if args.overwrite { OnExisting::Replace } else { OnExisting::Refuse };
            context.perform(op::Write {
                path: path.clone(),
                content,
                json,
                file_type,
                on_existing,
                on_missing_folder: OnMissingFolder::Make,
                expected,
            })
        };
        changed
            .map(|changed| Reply::of(&changed, context))
            .map_err(|stop| stop.map_fault(|fault| already_exists(&context.display(&path), fault)))
    }
}

fn missing() -> Stop {
    Stop::argument("content", "missing; expected a string, or any JSON value to be stored as JSON")
}

/// W6: the type that a caller names.
fn file_type(word: Option<&str>) -> Result<Option<FileType>, Stop> {
    let Some(word) = word else { return Ok(None) };
    match FileType::from_word(&word.trim().to_ascii_lowercase()) {
        Some(FileType::Chat) => Err(Stop::argument(
            "file_type",
            "a chat is managed by the system and cannot be written here; create it with the chats API \
             (POST /api/v1/workspaces/{id}/chats)",
        )),
        Some(known) => Ok(Some(known)),
        None => Err(unknown_type(word)),
    }
}

/// The fault for an unknown type, with the known ones.
pub(super) fn unknown_type(word: &str) -> Stop {
    let known = FileType::WORDS.map(|(_, word)| word).join(", ");
    Stop::argument(
        "file_type",
        format!("expected one of {known}, got {}", crate::args::quoted(word)),
    )
}

fn check_no_content(content: Option<&Value>) -> Result<(), Stop> {
    let empty = match content {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Object(members)) => members.is_empty(),
        Some(_) => false,
    };
    if empty {
        return Ok(());
    }
    Err(Stop::argument(
        "content",
        "a folder has no content; leave it out, or choose another file_type",
    ))
}

/// The message and the status of the spec: an existing file is a validation error here, not a conflict.
fn already_exists(path: &str, fault: Fault) -> Stop {
    if fault.code() != FaultCode::Exists {
        return Stop::Fault(fault);
    }
    let message = format!(
        "File already exists: {path}. To overwrite, set overwrite=true. However, for modifying \
         existing files, the 'edit' tool is recommended instead of overwriting."
    );
    Stop::Fault(Fault::new(FaultCode::BadArgument, message).about(Subject::Path))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn w6_types_are_known_in_any_case_and_chats_are_refused() {
        assert_eq!(file_type(None), Ok(None));
        assert_eq!(file_type(Some("Canvas")), Ok(Some(FileType::Canvas)));
        let message = |word| match file_type(Some(word)) {
            Err(Stop::Arguments(fields)) => {
                fields.to_value()["file_type"].as_str().unwrap().to_owned()
            }
            other => panic!("{other:?}"),
        };
        assert!(message("chat").contains("chats API"));
        assert!(message("film").contains("document, folder, canvas"));
    }

    #[test]
    fn w6_a_folder_has_no_content() {
        for content in [None, Some(json!(null)), Some(json!("")), Some(json!({}))] {
            assert_eq!(check_no_content(content.as_ref()), Ok(()));
        }
        for content in [json!("x"), json!({"a": 1}), json!([]), json!(0), json!(false)] {
            assert!(check_no_content(Some(&content)).is_err(), "{content}");
        }
    }

    #[test]
    fn w6_an_existing_file_is_a_validation_error() {
        let path = "/documents/notes.md";
        match already_exists(path, Fault::new(FaultCode::Exists, "there")) {
            Stop::Fault(fault) => {
                assert_eq!(
                    (fault.code(), fault.subject()),
                    (FaultCode::BadArgument, Some(Subject::Path))
                );
                assert!(
                    fault
                        .message()
                        .starts_with("File already exists: /documents/notes.md. To overwrite")
                );
            }
            other => panic!("{other:?}"),
        }
        let stale = Fault::new(FaultCode::Stale, "changed");
        assert_eq!(already_exists(path, stale.clone()), Stop::Fault(stale));
    }

    #[test]
    fn null_is_a_content_and_absent_is_none() {
        let args = |value| serde_json::from_value::<Write>(value).map(|args| args.content).unwrap();
        assert_eq!(args(json!({"path": "/a", "content": null})), Some(Value::Null));
        assert_eq!(args(json!({"path": "/a"})), None);
    }
}
