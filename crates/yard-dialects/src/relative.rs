//! Relative paths: from the root of the workspace, or from a folder in it.

use yard_core::WsPath;

/// The root of the workspace: the default of arguments that name a folder.
pub(crate) fn root() -> String {
    ".".to_owned()
}

/// A path relative to the root of the workspace; the root is `.`.
pub(crate) fn display(path: &WsPath) -> String {
    if path.is_root() { root() } else { path.to_string().split_off(1) }
}

/// A path relative to a folder that it is in.
pub(crate) fn below(path: &WsPath, folder: &WsPath) -> String {
    let (path, folder) = (path.to_string(), folder.to_string());
    let rest = path.strip_prefix(folder.as_str()).unwrap_or(&path);
    rest.trim_start_matches('/').to_owned()
}

/// Its last name; the root has none and is `.`.
pub(crate) fn name(path: &WsPath) -> String {
    path.name().map_or_else(root, |name| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2_displayed_paths_have_no_leading_slash() {
        let path = |text| WsPath::parse(text).unwrap();
        assert_eq!(display(&path("/")), ".");
        assert_eq!(display(&path("/a/b c")), "a/b c");
        assert_eq!(below(&path("/a/b/c"), &path("/a")), "b/c");
        assert_eq!(below(&path("/a/b"), &path("/")), "a/b");
        assert_eq!((name(&path("/a/b")), name(&path("/"))), ("b".to_owned(), ".".to_owned()));
    }
}
