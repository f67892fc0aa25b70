//! `read_media_file`: reads a file's bytes, as a content block of MCP.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::{Fault, FaultCode, Subject, WsPath};

use super::{fault, host_paths};
use crate::pages;
use crate::tool::{Context, Stop, Tool, Work};

/// Read a file and return it as a base64-encoded content block with its MIME type. Image and audio files
/// are returned as image/audio content; any other file type is returned as an embedded resource. Only works
/// within allowed directories.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ReadMediaFile {
    /// The file: an absolute path within an allowed directory, or one relative to it.
    path: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// One content block.
    content: Vec<Block>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Block {
    /// What it is: `image`, `audio` or `resource`.
    r#type: &'static str,
    /// The bytes of an image or of audio, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<String>,
    /// The MIME type of an image or of audio.
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'static str>,
    /// Any other file.
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<Resource>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Resource {
    /// Where it is.
    uri: String,
    /// Its MIME type.
    mime_type: &'static str,
    /// Its bytes, in base64.
    blob: String,
}

/// The extensions that the reference server knows.
const MIME_TYPES: [(&str, &str); 11] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("bmp", "image/bmp"),
    ("svg", "image/svg+xml"),
    ("mp3", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("ogg", "audio/ogg"),
    ("flac", "audio/flac"),
];

impl Tool for ReadMediaFile {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "read_media_file";
    const WORK: Work = Work::Look;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let named = host_paths::parse(context, &args.path, Subject::Path)?;
        let (path, bytes) = pages::read_whole(context, &named, |path, size| {
            let limit = context.limits().load_bytes;
            let message = format!("{path} has {size} bytes; at most {limit} are read at once");
            Stop::Fault(Fault::new(FaultCode::TooLarge, message).about(Subject::Path))
        })
        .map_err(fault::of_system_call(context, "open", &named))?;
        let data = STANDARD.encode(bytes);
        let mime_type = mime_type(&path);
        let block = match mime_type.split('/').next() {
            Some("image") => media("image", data, mime_type),
            Some("audio") => media("audio", data, mime_type),
            _ => {
                let uri = file_uri(&context.host_display(&path));
                let resource = Some(Resource { uri, mime_type, blob: data });
                Block { r#type: "resource", data: None, mime_type: None, resource }
            }
        };
        Ok(Reply { content: vec![block] })
    }
}

fn media(r#type: &'static str, data: String, mime_type: &'static str) -> Block {
    Block { r#type, data: Some(data), mime_type: Some(mime_type), resource: None }
}

fn mime_type(path: &WsPath) -> &'static str {
    let name = path.name().map(|name| name.to_string().to_lowercase()).unwrap_or_default();
    // A name that only begins with a dot has no extension.
    let extension = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
    let known = extension
        .and_then(|(_, extension)| MIME_TYPES.iter().find(|(known, _)| *known == extension));
    known.map_or("application/octet-stream", |(_, mime_type)| mime_type)
}

/// A path as a URI, percent-encoded.
fn file_uri(path: &str) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"/-_.~!$&'()*+,;=:@|[]".contains(&byte);
        match is_plain {
            true => uri.push(char::from(byte)),
            false => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_addresses() {
        let of = |text| mime_type(&WsPath::parse(text).unwrap());
        assert_eq!((of("/a.PNG"), of("/a.b.mp3")), ("image/png", "audio/mpeg"));
        assert_eq!(
            (of("/.png"), of("/a")),
            ("application/octet-stream", "application/octet-stream")
        );
        assert_eq!(file_uri("/a b/é#?%.bin"), "file:///a%20b/%C3%A9%23%3F%25.bin");
    }
}
