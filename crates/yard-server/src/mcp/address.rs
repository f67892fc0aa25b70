//! Addresses of resources: `toolyard://file/PATH`, `toolyard://history`, `toolyard://history/PATH`,
//! `toolyard://diff/STEP`. With several workspaces, PATH begins with the name of one (R15).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use yard_core::{StepId, WsPath};

const SCHEME: &str = "toolyard://";

/// The characters that are not escaped in the path of an address.
const PATH_CHARACTERS: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// A file as it is.
    File(Vec<u8>),
    /// The newest steps; with a path, those of one file.
    History(Option<Vec<u8>>),
    /// What one step changed.
    Diff(StepId),
}

impl Address {
    /// The resource of an address; `None` if the address has another form.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(SCHEME)?;
        let (kind, path) = rest.split_once('/').unwrap_or((rest, ""));
        let path = || percent_decode_str(path).collect::<Vec<u8>>();
        match kind {
            "file" if !path().is_empty() => Some(Self::File(path())),
            "history" => Some(Self::History(Some(path()).filter(|path| !path.is_empty()))),
            "diff" => String::from_utf8(path()).ok()?.parse().ok().map(Self::Diff),
            _ => None,
        }
    }

    /// The address of a file, with the name of its workspace if there are several.
    pub(super) fn of_file(workspace: Option<&str>, path: &WsPath) -> String {
        let inside = percent_encode(path.relative(), PATH_CHARACTERS);
        match workspace {
            Some(workspace) => {
                format!(
                    "{SCHEME}file/{}/{inside}",
                    percent_encode(workspace.as_bytes(), PATH_CHARACTERS)
                )
            }
            None => format!("{SCHEME}file/{inside}"),
        }
    }

    /// The address of the history.
    pub(super) fn of_history() -> String {
        format!("{SCHEME}history")
    }
}

/// The templates of addresses: template, name and description.
pub(super) const TEMPLATES: [(&str, &str, &str); 3] = [
    ("toolyard://file/{+path}", "file", "A file of the workspace, as it is now."),
    (
        "toolyard://history/{+path}",
        "history",
        "The versions of one file, newest first; without a path, of the workspace.",
    ),
    ("toolyard://diff/{step}", "diff", "What one step changed, as a unified diff."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_back() {
        for name in ["/a b/ü%.rs", "/x", "/\u{1}?#&"] {
            let path = WsPath::parse(name).unwrap();
            let uri = Address::of_file(None, &path);
            assert_eq!(Address::parse(&uri), Some(Address::File(path.relative().to_vec())));
            let uri = Address::of_file(Some("my root"), &path);
            let inside = [b"my root/", path.relative()].concat();
            assert_eq!(Address::parse(&uri), Some(Address::File(inside)));
        }
        let step = StepId::from_bytes([7; 16]);
        assert_eq!(Address::parse(&format!("toolyard://diff/{step}")), Some(Address::Diff(step)));
        assert_eq!(Address::parse(&Address::of_history()), Some(Address::History(None)));
        for wrong in
            ["", "file:///etc/passwd", "toolyard://", "toolyard://file/", "toolyard://diff/x"]
        {
            assert_eq!(Address::parse(wrong), None, "{wrong}");
        }
    }
}
