//! The files of the page (`web/` of the repository), which are part of the program. They are served as they are
//! reviewed: nothing builds them. What the page may load and run is what its policy names, and nothing else.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Component, Path};
use std::sync::LazyLock;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::HeaderMap;
use http::header::{ACCEPT_ENCODING, IF_NONE_MATCH};
use yard_core::ContentHash;

use super::app::PageFiles;
use super::problem::Problem;
use super::reply::{Reply, WebFile};
use super::request::HttpRequest;

/// Scripts, styles and calls from this server alone; no inline script, no frame, no form, no text that becomes markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

macro_rules! files {
    ($($path:literal,)*) => { [$(($path, include_bytes!(concat!("../../../../web/", $path)))),*] };
}

/// Every file below `web/`. A test compares this list with the folder.
static FILES: &[(&str, &[u8])] = &files![
    "api.js",
    "icon.svg",
    "index.html",
    "main.js",
    "notes.js",
    "parts/actor.js",
    "parts/args-form.js",
    "parts/change-pages.js",
    "parts/chat-link.js",
    "parts/clients.js",
    "parts/copy.js",
    "parts/dialog.js",
    "parts/diff-view.js",
    "parts/diff.js",
    "parts/highlight.js",
    "parts/icons.js",
    "parts/keys.js",
    "parts/later.js",
    "parts/media.js",
    "parts/menu.js",
    "parts/notify.js",
    "parts/part-choice.js",
    "parts/review.js",
    "parts/rules.js",
    "parts/sha256.js",
    "parts/split.js",
    "parts/states.js",
    "parts/terminal-keys.js",
    "parts/text-view.js",
    "parts/text.js",
    "parts/theme-switch.js",
    "parts/time.js",
    "parts/toast.js",
    "parts/virtual.js",
    "parts/words.js",
    "router.js",
    "screens/account.js",
    "screens/always.js",
    "screens/approval.js",
    "screens/blame.js",
    "screens/chat.js",
    "screens/chats.js",
    "screens/comment-bar.js",
    "screens/compare.js",
    "screens/edit-args.js",
    "screens/explain.js",
    "screens/file.js",
    "screens/files.js",
    "screens/inbox-place.js",
    "screens/inbox.js",
    "screens/login.js",
    "screens/logins.js",
    "screens/machine.js",
    "screens/moment.js",
    "screens/plan.js",
    "screens/question.js",
    "screens/settings.js",
    "screens/several.js",
    "screens/shell.js",
    "screens/step.js",
    "screens/terminals.js",
    "screens/timeline-filter.js",
    "screens/timeline.js",
    "screens/undo.js",
    "screens/workspace.js",
    "screens/workspaces.js",
    "state.js",
    "stream.js",
    "style.css",
    "theme.js",
    "vendor.js",
];

/// A file with its compressed form.
struct StoredFile {
    plain: &'static [u8],
    compressed: Bytes,
    etag: String,
}

static STORED: LazyLock<HashMap<&'static str, StoredFile>> = LazyLock::new(|| {
    let store = |&(path, plain): &(&'static str, &'static [u8])| {
        let etag = format!("\"{}\"", ContentHash::of(plain));
        (path, StoredFile { plain, compressed: compressed(plain), etag })
    };
    FILES.iter().map(store).collect()
});

/// The bytes in gzip; they are empty if that fails, and then nobody is sent them.
fn compressed(plain: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(plain);
    written.and_then(|()| encoder.finish()).unwrap_or_default().into()
}

/// The page itself.
pub(super) fn index(request: &HttpRequest) -> Result<Reply, Problem> {
    sent(request, "index.html")
}

/// A file of the page.
pub(super) fn file(request: &HttpRequest) -> Result<Reply, Problem> {
    sent(request, request.param("path"))
}

fn sent(request: &HttpRequest, path: &str) -> Result<Reply, Problem> {
    match &request.app.settings.page_files {
        Some(files) => read_now(files, path),
        None => stored(request.headers(), path),
    }
}

/// A file as it is now, for whoever works on the page.
fn read_now(files: &PageFiles, path: &str) -> Result<Reply, Problem> {
    let is_below = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    let plain = if is_below { files.read(path) } else { None };
    let plain = plain.ok_or_else(|| Problem::not_found("the page has no such file"))?;
    let etag = format!("\"{}\"", ContentHash::of(&plain));
    let (media, policy, bytes) = (media_of(path), POLICY, Bytes::from(plain));
    let (is_compressed, is_known) = (false, false);
    Ok(Reply::web_file(WebFile { media, policy, etag, bytes, is_compressed, is_known }))
}

fn stored(headers: &HeaderMap, path: &str) -> Result<Reply, Problem> {
    let file = STORED.get(path).ok_or_else(|| Problem::not_found("the page has no such file"))?;
    let sent = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_compressed = !file.compressed.is_empty()
        && sent(ACCEPT_ENCODING).split(',').any(|coding| coding.trim() == "gzip");
    let bytes =
        if is_compressed { file.compressed.clone() } else { Bytes::from_static(file.plain) };
    let is_known = sent(IF_NONE_MATCH).split(',').any(|etag| etag.trim() == file.etag);
    let etag = file.etag.clone();
    let (media, policy) = (media_of(path), POLICY);
    Ok(Reply::web_file(WebFile { media, policy, etag, bytes, is_compressed, is_known }))
}

fn media_of(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        _ => "text/plain; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The paths of the files below a folder of `web/`.
    #[allow(clippy::disallowed_methods, reason = "a test that reads the repository")]
    fn paths_below(folder: &Path, prefix: &str) -> BTreeSet<String> {
        let mut paths = BTreeSet::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                paths.append(&mut paths_below(&entry.path(), &format!("{name}/")));
            } else if !name.ends_with(".d.ts") {
                paths.insert(name);
            }
        }
        paths
    }

    #[test]
    fn every_file_of_the_page_is_part_of_the_program() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
        let listed: BTreeSet<String> = FILES.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(listed, paths_below(&folder, ""), "FILES has a line for each file of web/");
    }

    #[test]
    fn what_was_compressed_is_the_file_and_smaller() {
        for (path, file) in STORED.iter() {
            let mut decoder = flate2::read::GzDecoder::new(&file.compressed[..]);
            let mut plain = Vec::new();
            std::io::Read::read_to_end(&mut decoder, &mut plain).unwrap();
            assert!(plain == file.plain, "{path}");
        }
    }

    #[test]
    fn a_client_that_has_the_file_gets_no_bytes_again() {
        let mut headers = HeaderMap::new();
        let etag = &STORED["index.html"].etag;
        headers.insert(IF_NONE_MATCH, format!("\"other\", {etag}").parse().unwrap());
        let reply = stored(&headers, "index.html").unwrap_or_else(|_| panic!("it is there"));
        assert_eq!(reply.status, 304);
        assert!(stored(&headers, "../Cargo.toml").is_err());
    }
}
