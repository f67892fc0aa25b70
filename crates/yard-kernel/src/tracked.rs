//! Which of the files that rules withhold git tracks: a mask hides the file, and git's objects still have its
//! contents. Only git knows, so git is asked, in a box that can change nothing.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::time::Duration;

use yard_core::{Call, Result, RunId, WsPath};

use crate::command::{Command, Ground};
use crate::masks::Masks;
use crate::refs::SURROUNDINGS;
use crate::sandbox::Exit;
use crate::workspace::Workspace;

/// Files that git is asked about at most: each is an argument.
const MOST_ASKED: usize = 500;
/// How long git may take.
const WALL: Duration = Duration::from_secs(10);

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
        let mut argv: Vec<OsString> =
            ["git", "--literal-pathspecs", "ls-files", "-z", "--"].map(Into::into).to_vec();
        argv.extend(withheld.iter().map(|path| OsString::from_vec(path.relative().to_vec())));
        let said = self.ask_git(argv, call).unwrap_or_default();
        let tracked = said.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(tracked.filter_map(|name| WsPath::root().join_bytes(name).ok()).collect())
    }

    /// What git says at the root; `None` if it cannot be asked.
    fn ask_git(&self, argv: Vec<OsString>, call: &Call) -> Option<Vec<u8>> {
        let env = SURROUNDINGS.map(|(name, value)| (name.into(), value.into())).to_vec();
        let (scripts, folder) = (Vec::new(), WsPath::root());
        let command = Command { argv, env, scripts, folder, wall: WALL, reach: None };
        let run = RunId::new(call.world());
        let ran = self.run(run, &command, Ground::Nothing, call, &mut || Ok(()));
        self.drop_run(run);
        let ran = ran.ok().filter(|ran| ran.ended.exit == Exit::Code(0))?;
        Some([ran.stdout.head, ran.stdout.tail].concat())
    }
}
