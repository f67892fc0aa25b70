//! What a tool looks at by itself: files of a project in order to choose the command that it runs, and the names
//! in a folder in order to say which path may be meant.
//!
//! Nobody is asked about these reads, and none is written down. The start of a command is judged, and the command
//! reads the same files. What the rules withhold from the caller counts as missing, as it does in a command's box.

use yard_core::op::{LineStart, Names, Read, Slice, Want};
use yard_core::{Call, WsPath};

use crate::{Origin, Session};

/// Bytes of one file that are read, at most: manifests are small.
const MOST_BYTES: u64 = 1 << 20;

impl Session {
    /// The paths of a folder's own entries; none if it is no folder that the caller may list.
    pub fn project_entries(&self, origin: Origin<'_>, call: &Call, folder: &WsPath) -> Vec<WsPath> {
        let names = Names { path: folder.clone(), for_tree: true };
        let listed = self.reading(origin, call).and_then(|call| {
            if !call.may_list(folder) {
                return Ok(Vec::new());
            }
            let listing = self.quiet().look(origin, &call, names)?;
            Ok(listing.entries.into_iter().map(|entry| entry.path).collect())
        });
        listed.unwrap_or_default()
    }

    /// The text of a file; `None` if there is none, or the caller may not read it.
    pub fn project_text(&self, origin: Origin<'_>, call: &Call, path: &WsPath) -> Option<String> {
        let call = self.reading(origin, call).ok()?;
        if !call.may_read(path) {
            return None;
        }
        let slice = Slice::Lines { start: LineStart::FromStart(0), limit: None };
        let read = Read { path: path.clone(), slice, want: Want::default(), max_bytes: MOST_BYTES };
        let answer = self.quiet().look(origin, &call, read).ok()?;
        // A link may lead to what the caller may not read.
        call.may_read(&answer.path).then_some(answer.text)
    }
}
