//! Paths inside a workspace. A [`WsPath`] is made only by validation: it is absolute within the
//! workspace, holds no `.`, `..`, NUL or over-long name, and never names what is reserved. It says
//! nothing about links on the disk: resolving them beneath the root is the kernel's work.
//!
//! A path is bytes. It is shown as UTF-8, with other bytes as `\xNN`, and read back in that form.

use std::borrow::Cow;
use std::fmt;

/// The longest name of one entry, in bytes.
pub const MAX_NAME_BYTES: usize = 255;
/// The longest path, in bytes.
pub const MAX_PATH_BYTES: usize = 4096;
/// The folder at the root where changes are staged when the data folder is on another file system.
/// No tool shows or takes it.
pub const RESERVED_NAME: &str = ".toolyard-staging";
/// The folder in a root under which tools find command output. It is not on disk.
pub const OUTPUT_NAME: &str = ".toolyard-output";
/// Where a box shows the workspace to the processes in it (R2).
pub const BOX_ROOT: &str = "/workspace";

/// Why a text is not a path of the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// `..` climbs above the root.
    #[error("the path climbs above the root of the workspace")]
    Outside,
    /// An absolute path, where paths are relative, that is not in the workspace.
    #[error("the path is absolute and not in the workspace")]
    Elsewhere,
    /// A NUL byte.
    #[error("a path cannot hold a NUL byte")]
    Nul,
    /// A name over 255 bytes.
    #[error("a name in the path is longer than {MAX_NAME_BYTES} bytes")]
    NameTooLong,
    /// A path over 4,096 bytes.
    #[error("the path is longer than {MAX_PATH_BYTES} bytes")]
    TooLong,
    /// The staging folder.
    #[error("the name {RESERVED_NAME} is reserved")]
    Reserved,
    /// Nothing, or a slash, where one name is wanted.
    #[error("a name is one part of a path, without a slash")]
    NotAName,
    /// No path at all.
    #[error("the path is empty; the root of the workspace is /")]
    Empty,
}

/// The rest of an absolute path below a folder; `None` if the path is neither the folder nor in it.
pub fn below_root<'path>(root: &[u8], path: &'path [u8]) -> Option<&'path [u8]> {
    let rest = path.strip_prefix(root.strip_suffix(b"/").unwrap_or(root))?;
    (rest.is_empty() || rest.starts_with(b"/")).then_some(rest)
}

/// The name of one entry in its folder.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Box<[u8]>);

impl Name {
    /// Validates one name.
    pub fn new(bytes: &[u8]) -> Result<Self, PathError> {
        Self::check(bytes)?;
        Ok(Self(bytes.into()))
    }

    fn check(bytes: &[u8]) -> Result<(), PathError> {
        match bytes {
            b"" | b"." | b".." => Err(PathError::NotAName),
            _ if bytes.contains(&b'/') => Err(PathError::NotAName),
            _ if bytes.contains(&0) => Err(PathError::Nul),
            _ if bytes.len() > MAX_NAME_BYTES => Err(PathError::NameTooLong),
            _ => Ok(()),
        }
    }

    /// Its bytes, as the file system has them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(&self.0, f)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A path of the workspace: `/`, or names joined by single slashes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WsPath {
    /// Without the leading slash, so that it is what the system calls beneath the root take.
    relative: Box<[u8]>,
}

impl WsPath {
    /// The root of the workspace.
    pub fn root() -> Self {
        Self { relative: Box::default() }
    }

    /// Reads a path as a caller writes it (R2): white space around it is trimmed, slashes fold, `.`
    /// and `..` resolve, `\xNN` stands for a byte. With or without a leading slash it starts at the
    /// root of the workspace.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        Self::from_bytes(&unshow(text))
    }

    /// As [`WsPath::parse`], but a path that starts with the workspace's own directory on the host
    /// is taken relative to it.
    pub fn parse_under(text: &str, host_root: &[u8]) -> Result<Self, PathError> {
        Self::under_shown(text.trim(), host_root)
    }

    /// As [`WsPath::parse_under`], white space and all: nothing is trimmed.
    pub fn under_shown(text: &str, host_root: &[u8]) -> Result<Self, PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        let bytes = unshow(text);
        Self::from_bytes(below_root(host_root, &bytes).unwrap_or(&bytes))
    }

    /// As [`WsPath::parse`], for callers whose paths are relative to the root of the workspace (R2): an
    /// absolute path must lie in the workspace's own directory on the host, or in [`BOX_ROOT`].
    pub fn parse_relative(text: &str, host_root: &[u8]) -> Result<Self, PathError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        Self::relative_shown(text, host_root)
    }

    /// As [`WsPath::parse_relative`], white space and all: nothing is trimmed.
    pub fn relative_shown(text: &str, host_root: &[u8]) -> Result<Self, PathError> {
        let bytes = unshow(text);
        if !bytes.starts_with(b"/") {
            return Self::from_bytes(&bytes);
        }
        let parts = resolved(&bytes)?;
        let roots = [host_root, BOX_ROOT.as_bytes()];
        let below = roots.iter().find_map(|root| parts.strip_prefix(&resolved(root).ok()?[..]));
        Self::from_bytes(&below.ok_or(PathError::Elsewhere)?.join(&b'/'))
    }

    /// Reads a path as it is shown, white space and all: as [`WsPath::parse`], but nothing is trimmed.
    pub fn parse_shown(text: &str) -> Result<Self, PathError> {
        Self::from_bytes(&unshow(text))
    }

    /// Validates bytes: folds slashes, resolves `.` and `..`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PathError> {
        let parts = resolved(bytes)?;
        if parts.first().is_some_and(|first| *first == RESERVED_NAME.as_bytes()) {
            return Err(PathError::Reserved);
        }
        Self::bounded(parts.join(&b'/'))
    }

    fn bounded(relative: Vec<u8>) -> Result<Self, PathError> {
        if relative.len() + 1 > MAX_PATH_BYTES {
            return Err(PathError::TooLong);
        }
        Ok(Self { relative: relative.into() })
    }

    /// The path without its leading slash; empty for the root.
    pub fn relative(&self) -> &[u8] {
        &self.relative
    }

    /// Whether this is the root.
    pub fn is_root(&self) -> bool {
        self.relative.is_empty()
    }

    /// The names from the root downwards.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = Name> + '_ {
        self.relative
            .split(|byte| *byte == b'/')
            .filter(|part| !part.is_empty())
            .map(|part| Name(part.into()))
    }

    /// The last name; the root has none.
    pub fn name(&self) -> Option<Name> {
        self.names().next_back()
    }

    /// The folder that it is in; the root is in none.
    pub fn parent(&self) -> Option<WsPath> {
        if self.is_root() {
            return None;
        }
        let end = self.relative.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        Some(Self { relative: self.relative[..end].into() })
    }

    /// The entry called `name` in this folder.
    pub fn join(&self, name: &Name) -> Result<WsPath, PathError> {
        self.join_checked(&name.0)
    }

    /// As [`WsPath::join`], for bytes that may be no valid name, as a walk finds them.
    pub fn join_bytes(&self, name: &[u8]) -> Result<WsPath, PathError> {
        Name::check(name)?;
        self.join_checked(name)
    }

    fn join_checked(&self, name: &[u8]) -> Result<WsPath, PathError> {
        if self.is_root() {
            if name == RESERVED_NAME.as_bytes() {
                return Err(PathError::Reserved);
            }
            return Self::bounded(name.to_vec());
        }
        Self::bounded([&self.relative[..], name].join(&b'/'))
    }

    /// Whether this is a file of command output, or the folder of all of them.
    pub fn is_command_output(&self) -> bool {
        let rest = self.relative.strip_prefix(OUTPUT_NAME.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }

    /// Whether this is `folder` or somewhere below it.
    pub fn is_within(&self, folder: &WsPath) -> bool {
        match self.relative.strip_prefix(folder.relative()) {
            Some(rest) => folder.is_root() || rest.is_empty() || rest[0] == b'/',
            None => false,
        }
    }

    /// The folders above it and itself, from the root downwards; the root itself is left out.
    pub fn lineage(&self) -> Vec<WsPath> {
        let mut paths = self.ancestors();
        if !self.is_root() {
            paths.push(self.clone());
        }
        paths
    }

    /// The folders above it, from the root downwards; the root itself is left out.
    pub fn ancestors(&self) -> Vec<WsPath> {
        let slashes = self.relative.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        slashes.map(|(at, _)| Self { relative: self.relative[..at].into() }).collect()
    }
}

/// The names of a path: slashes folded, `.` and `..` resolved.
fn resolved(bytes: &[u8]) -> Result<Vec<&[u8]>, PathError> {
    if bytes.contains(&0) {
        return Err(PathError::Nul);
    }
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in bytes.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                parts.pop().ok_or(PathError::Outside)?;
            }
            _ if part.len() > MAX_NAME_BYTES => return Err(PathError::NameTooLong),
            _ => parts.push(part),
        }
    }
    Ok(parts)
}

impl WsPath {
    /// Writes it as it is shown.
    pub fn show_to(&self, to: &mut impl fmt::Write) -> fmt::Result {
        to.write_char('/')?;
        show(&self.relative, to)
    }
}

impl fmt::Display for WsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show_to(f)
    }
}

impl fmt::Debug for WsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Writes bytes as UTF-8 with every other byte as `\xNN`. A backslash that would read as the start
/// of such an escape is itself written `\x5c`, so that [`unshow`] gives the same bytes back.
fn show(bytes: &[u8], f: &mut impl fmt::Write) -> fmt::Result {
    // Most paths are plain, and written as they are.
    if let Ok(text) = str::from_utf8(bytes)
        && !bytes.contains(&b'\\')
    {
        return f.write_str(text);
    }
    for chunk in bytes.utf8_chunks() {
        let mut valid = chunk.valid();
        while let Some(at) = valid.find('\\') {
            let (plain, rest) = valid.split_at(at);
            f.write_str(plain)?;
            f.write_str(if escape_at(rest.as_bytes()).is_some() { "\\x5c" } else { "\\" })?;
            valid = &rest[1..];
        }
        f.write_str(valid)?;
        for byte in chunk.invalid() {
            write!(f, "\\x{byte:02x}")?;
        }
    }
    Ok(())
}

/// Bytes of a path, in the form in which [`WsPath::parse`] reads them back.
pub(crate) fn shown(bytes: &[u8]) -> String {
    struct Shown<'a>(&'a [u8]);
    impl fmt::Display for Shown<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            show(self.0, f)
        }
    }
    Shown(bytes).to_string()
}

/// The bytes of a path that is written with `\xNN` for what is no UTF-8.
pub fn unshow(text: &str) -> Cow<'_, [u8]> {
    if !text.as_bytes().contains(&b'\\') {
        return text.as_bytes().into();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        if let Some(byte) = escape_at(rest) {
            bytes.push(byte);
            rest = &rest[4..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    bytes.into()
}

/// The byte that `\xNN` at the start of `text` stands for. Only bytes that UTF-8 text cannot show
/// (and the backslash) are written so; `\x41` is four characters.
fn escape_at(text: &[u8]) -> Option<u8> {
    let [b'\\', b'x', high, low, ..] = text else { return None };
    let digits = [*high, *low];
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let byte = u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?;
    (byte >= 0x80 || byte == b'\\').then_some(byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<String, PathError> {
        WsPath::parse(text).map(|path| path.to_string())
    }

    #[test]
    fn r2_paths_are_normalised() {
        for (given, meant) in [
            ("/", "/"),
            ("a", "/a"),
            ("  /a/b  ", "/a/b"),
            ("//a///b/", "/a/b"),
            ("/a/./b/../c", "/a/c"),
            ("/Ä/ß", "/Ä/ß"),
            ("/.git/config", "/.git/config"),
        ] {
            assert_eq!(parse(given).as_deref(), Ok(meant), "{given:?}");
        }
    }

    #[test]
    fn r2_climbing_and_malformed_paths_are_errors() {
        assert_eq!(parse("/.."), Err(PathError::Outside));
        assert_eq!(parse("a/../../b"), Err(PathError::Outside));
        assert_eq!(parse("a\0b"), Err(PathError::Nul));
        assert_eq!(parse(" "), Err(PathError::Empty));
        assert_eq!(parse(&"x".repeat(256)), Err(PathError::NameTooLong));
        assert_eq!(parse(&"x".repeat(255)).map(|path| path.len()), Ok(256));
        assert_eq!(parse(&"x/".repeat(2100)), Err(PathError::TooLong));
        assert_eq!(parse("/.toolyard-staging/x"), Err(PathError::Reserved));
        assert_eq!(parse("/a/.toolyard-staging"), Ok("/a/.toolyard-staging".to_owned()));
    }

    #[test]
    fn r2_the_real_directory_is_the_root() {
        let under = |text| WsPath::parse_under(text, b"/srv/job").map(|path| path.to_string());
        assert_eq!(under("/srv/job/a.txt").as_deref(), Ok("/a.txt"));
        assert_eq!(under("/srv/job").as_deref(), Ok("/"));
        assert_eq!(under("/srv/jobs/a.txt").as_deref(), Ok("/srv/jobs/a.txt"));
        assert_eq!(under("srv/job/a").as_deref(), Ok("/srv/job/a"));
    }

    #[test]
    fn r2_where_paths_are_relative_an_absolute_one_must_be_in_the_workspace() {
        let read = |text| WsPath::parse_relative(text, b"/srv/job").map(|path| path.to_string());
        for (given, meant) in [
            ("a/b.txt", "/a/b.txt"),
            (" ./a//b/../c ", "/a/c"),
            (".", "/"),
            ("/srv/job/a.txt", "/a.txt"),
            ("/srv//job/./x/../a.txt", "/a.txt"),
            ("/srv/job", "/"),
            ("/workspace/src/", "/src"),
            ("/workspace", "/"),
            ("srv/job/a", "/srv/job/a"),
        ] {
            assert_eq!(read(given).as_deref(), Ok(meant), "{given:?}");
        }
        for elsewhere in ["/", "/etc/passwd", "/srv/jobs/a", "/srv/job/../x", "/workspaces/a"] {
            assert_eq!(read(elsewhere), Err(PathError::Elsewhere), "{elsewhere:?}");
        }
        for climbing in ["..", "a/../../b", "/../srv/job/a"] {
            assert_eq!(read(climbing), Err(PathError::Outside), "{climbing:?}");
        }
        assert_eq!(read("  "), Err(PathError::Empty));
        assert_eq!(read("/workspace/.toolyard-staging/x"), Err(PathError::Reserved));
        assert_eq!(read("/srv/job/a\0b"), Err(PathError::Nul));
        let whole_host = WsPath::parse_relative("/etc/hosts", b"/");
        assert_eq!(whole_host.map(|path| path.to_string()).as_deref(), Ok("/etc/hosts"));
        let spaced = WsPath::relative_shown("/srv/job/ a ", b"/srv/job");
        assert_eq!(spaced.map(|path| path.to_string()).as_deref(), Ok("/ a "));
    }

    #[test]
    fn r2_other_bytes_are_shown_and_read_back() {
        let path = WsPath::from_bytes(b"/caf\xe9/\\xe9\\x41").map(|path| path.to_string());
        assert_eq!(path.as_deref(), Ok("/caf\\xe9/\\x5cxe9\\x41"));
        assert_eq!(
            WsPath::parse("/caf\\xe9").map(|p| p.relative().to_vec()),
            Ok(b"caf\xe9".to_vec())
        );
    }

    #[test]
    fn below_a_root_are_whole_names_alone() {
        let below = |root: &'static str, path: &'static str| {
            below_root(root.as_bytes(), path.as_bytes()).and_then(|rest| str::from_utf8(rest).ok())
        };
        assert_eq!(below("/work", "/work/a/b"), Some("/a/b"));
        assert_eq!(below("/work", "/work"), Some(""));
        assert_eq!(below("/work", "/workspace/.githooks"), None);
        assert_eq!(below("/", "/etc/hosts"), Some("/etc/hosts"));
    }

    #[test]
    fn within_looks_at_whole_names() {
        let path = |text| WsPath::parse(text).unwrap();
        assert!(path("/a/b").is_within(&path("/a")));
        assert!(path("/a").is_within(&path("/a")));
        assert!(path("/a").is_within(&WsPath::root()));
        assert!(!path("/ab").is_within(&path("/a")));
        assert_eq!(path("/a/b/c").ancestors(), [path("/a"), path("/a/b")]);
        assert_eq!(path("/a").parent(), Some(WsPath::root()));
    }

    proptest! {
        #[test]
        fn r2_what_is_shown_reads_back(bytes in proptest::collection::vec(1u8..=255, 1..60)) {
            if let Ok(path) = WsPath::from_bytes(&bytes) {
                let shown = path.to_string();
                // White space at the ends is trimmed by design.
                if shown.trim() == shown {
                    prop_assert_eq!(WsPath::parse(&shown), Ok(path));
                }
            }
        }

        #[test]
        fn parse_never_panics(text in ".*") {
            let _ = WsPath::parse(&text);
        }
    }
}
