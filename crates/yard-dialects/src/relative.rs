//! Paths as the dialects show them that have no absolute ones: relative to the root of the workspace,
//! or to a folder in it.

use yard_core::WsPath;

/// A path relative to the root of the workspace; the root is `.`.
pub(crate) fn shown(path: &WsPath) -> String {
    if path.is_root() {
        return ".".to_owned();
    }
    let mut shown = path.to_string();
    shown.remove(0);
    shown
}

/// A path relative to a folder that it is in.
pub(crate) fn below(path: &WsPath, folder: &WsPath) -> String {
    let (path, folder) = (path.to_string(), folder.to_string());
    let rest = path.strip_prefix(folder.as_str()).unwrap_or(&path);
    rest.trim_start_matches('/').to_owned()
}

/// Its last name; the root has none and is `.`.
pub(crate) fn name(path: &WsPath) -> String {
    path.name().map_or_else(|| ".".to_owned(), |name| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2_shown_paths_have_no_leading_slash() {
        let path = |text| WsPath::parse(text).unwrap();
        assert_eq!(shown(&path("/")), ".");
        assert_eq!(shown(&path("/a/b c")), "a/b c");
        assert_eq!(below(&path("/a/b/c"), &path("/a")), "b/c");
        assert_eq!(below(&path("/a/b"), &path("/")), "a/b");
        assert_eq!((name(&path("/a/b")), name(&path("/"))), ("b".to_owned(), ".".to_owned()));
    }
}
