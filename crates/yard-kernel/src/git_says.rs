//! What git says about a repository of the workspace: it is asked in a box that can change nothing, and with nothing of
//! the surroundings that could make it see another past.

use std::ffi::OsString;
use std::time::Duration;

use yard_core::{Call, RunId, WsPath};
use yard_sandbox::Exit;

use crate::refs::SURROUNDINGS;
use crate::site::{Command, Ground};
use crate::workspace::Workspace;

/// How long git may take.
const WALL: Duration = Duration::from_secs(10);

impl Workspace {
    /// What git says in a folder; `None` if it cannot be asked, fails, or says too much.
    pub(crate) fn git_says(
        &self,
        folder: &WsPath,
        arguments: impl IntoIterator<Item = OsString>,
        call: &Call,
    ) -> Option<Vec<u8>> {
        let argv = std::iter::once(OsString::from("git")).chain(arguments).collect();
        let env = SURROUNDINGS.map(|(name, value)| (name.into(), value.into())).to_vec();
        let (scripts, folder) = (Vec::new(), folder.clone());
        let command = Command { argv, env, scripts, folder, wall: WALL, reach: None };
        let run = RunId::new(call.world());
        let ran = self.run(run, &command, Ground::Nothing, None, call, &mut || Ok(())).ok()?;
        self.drop_run(run);
        let is_whole = ran.ended.exit == Exit::Code(0) && ran.stdout.left_out() == 0;
        is_whole.then(|| [ran.stdout.head, ran.stdout.tail].concat())
    }
}
