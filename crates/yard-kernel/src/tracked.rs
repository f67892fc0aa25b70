//! Which of the files that rules withhold git tracks: a mask hides the file, and git's objects still have its
//! contents. Only git knows, so git is asked, in a box that can change nothing.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use yard_core::{Call, Result, WsPath};

use crate::masks::Masks;
use crate::workspace::Workspace;

/// Files that git is asked about at most: each is an argument.
const MOST_ASKED: usize = 500;

impl Workspace {
    /// The files that the caller of this call may not read and that the repository at the root tracks. None where there
    /// is no repository, or no box to ask git in.
    pub fn withheld_and_tracked(&self, call: &Call) -> Result<Vec<WsPath>> {
        let masks = Masks::find(self, call)?;
        let withheld: Vec<&WsPath> = masks.single_files().take(MOST_ASKED).collect();
        let Ok(git) = WsPath::root().join_bytes(b".git") else { return Ok(Vec::new()) };
        if withheld.is_empty() || self.disk.stat(&git)?.is_none() {
            return Ok(Vec::new());
        }
        let words = ["--literal-pathspecs", "ls-files", "-z", "--"].map(OsString::from);
        let names = withheld.iter().map(|path| OsString::from_vec(path.relative().to_vec()));
        let said = self.git_says(&WsPath::root(), words.into_iter().chain(names), call);
        let said = said.unwrap_or_default();
        let tracked = said.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(tracked.filter_map(|name| WsPath::root().join_bytes(name).ok()).collect())
    }
}
