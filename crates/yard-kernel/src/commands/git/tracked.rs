//! Finds files that rules withhold and git tracks: a mask hides such a file, but git's objects still have its content.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use yard_core::{Call, Result, WsPath};

use crate::commands::masks::Masks;
use crate::workspace::Workspace;

/// Most files that are checked with git: each is an argument.
const MAX_ASKED: usize = 500;

impl Workspace {
    /// The files that the caller may not read and that the repository at the root tracks. Empty if there is no repository,
    /// or no box in which git can run.
    pub fn withheld_and_tracked(&self, call: &Call) -> Result<Vec<WsPath>> {
        let masks = Masks::find(self, call)?;
        let withheld: Vec<&WsPath> = masks.single_files().take(MAX_ASKED).collect();
        let Ok(git) = WsPath::root().join_bytes(b".git") else { return Ok(Vec::new()) };
        if withheld.is_empty() || self.disk.stat(&git)?.is_none() {
            return Ok(Vec::new());
        }
        let options = ["--literal-pathspecs", "ls-files", "-z", "--"].map(OsString::from);
        let names = withheld.iter().map(|path| OsString::from_vec(path.relative().to_vec()));
        let output = self.git_output(&WsPath::root(), options.into_iter().chain(names), call);
        let output = output.unwrap_or_default();
        let tracked = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(tracked.filter_map(|name| WsPath::root().join_bytes(name).ok()).collect())
    }
}
