//! What holds of every input, whoever made it: the plain tests and the fuzz targets in `fuzz/` ask the
//! same. Nothing here needs more than `yard-core` and `yard-fixtures`.

use yard_core::patch::{Patch, apply, parse};
use yard_core::path::{MAX_NAME_BYTES, MAX_PATH_BYTES, RESERVED_NAME};
use yard_core::{Name, WsPath};
use yard_fixtures::patches::{apply_all, print, reverse};

/// What a patch is done to where nothing better is at hand.
const TEXTS: [&str; 4] = ["", "a\nb\r\n\nc", "x\nx\nx\nx\n", "\u{feff}fn main() {\n}\n"];

/// The same patch, wherever its lines stood.
pub(crate) fn without_lines(mut patch: Patch) -> Patch {
    for file in &mut patch.files {
        file.line = 0;
        file.hunks.iter_mut().for_each(|hunk| hunk.line = 0);
    }
    patch
}

/// Parses and, where that succeeds, does everything else that can be done with a patch. Whether it is
/// one.
pub(crate) fn patch(text: &str) -> bool {
    let Ok(patch) = parse(text) else { return false };
    let printed = print(&patch);
    let again = parse(&printed).unwrap_or_else(|error| panic!("{error}\n{text}\n{printed}"));
    assert_eq!(print(&again), printed, "printed otherwise: {text}");
    assert_eq!(without_lines(again), without_lines(patch.clone()), "{text}\n{printed}");
    for bytes in TEXTS.iter().map(|text| text.as_bytes()).chain([text.as_bytes()]) {
        for file in &patch.files {
            let _ = apply(bytes, file);
        }
        let odd = |path: &str| Ok((path.len() % 2 == 1).then(|| bytes.to_vec()));
        let _ = apply_all(&patch, odd);
        let _ = apply_all(&patch, |_| Ok(Some(bytes.to_vec())));
        let _ = apply_all::<Vec<u8>>(&patch, |_| Ok(None));
    }
    if let Ok(reversed) = reverse(&patch) {
        let _ = parse(&print(&reversed));
    }
    true
}

/// Reads a path in every way there is; what comes of it is always well formed.
pub(crate) fn path(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let read = [
        WsPath::parse(&text),
        WsPath::parse_shown(&text),
        WsPath::parse_under(&text, b"/srv/root"),
        WsPath::from_bytes(bytes),
        Name::new(bytes).and_then(|name| WsPath::root().join(&name)),
        WsPath::root().join_bytes(bytes),
    ];
    read.iter().flatten().for_each(well_formed);
}

fn well_formed(path: &WsPath) {
    let shown = path.to_string();
    assert_eq!(WsPath::parse_shown(&shown).as_ref(), Ok(path), "{shown:?}");
    assert!(path.relative().len() < MAX_PATH_BYTES, "{shown:?}");
    assert!(!path.relative().contains(&0), "{shown:?}");
    assert_eq!(path.is_root(), path.relative().is_empty());
    if path.is_root() {
        assert_eq!((path.name(), path.parent()), (None, None));
        return;
    }
    for part in path.relative().split(|byte| *byte == b'/') {
        assert!(!matches!(part, b"" | b"." | b".."), "{shown:?}");
        assert!(part.len() <= MAX_NAME_BYTES, "{shown:?}");
        assert_eq!(Name::new(part).map(|name| name.as_bytes().to_vec()), Ok(part.to_vec()));
    }
    assert_ne!(path.names().next().unwrap().as_bytes(), RESERVED_NAME.as_bytes(), "{shown:?}");
    let (parent, name) = (path.parent().unwrap(), path.name().unwrap());
    assert_eq!(parent.join(&name).as_ref(), Ok(path), "{shown:?}");
    assert!(path.is_within(&parent) && !parent.is_within(path), "{shown:?}");
    assert_eq!(path.lineage().len(), path.names().count(), "{shown:?}");
}
