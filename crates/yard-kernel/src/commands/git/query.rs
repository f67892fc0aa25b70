//! Runs git on a repository of the workspace, in a read-only box, and without configuration from outside of the repository.

use std::ffi::OsString;
use std::time::Duration;

use yard_core::{Call, RunId, WsPath};
use yard_sandbox::Exit;

use crate::commands::git::moved_refs::GIT_VARIABLES;
use crate::commands::run_environment::{Command, NewRun, WriteMode};
use crate::workspace::Workspace;

/// How long git may take.
const WALL: Duration = Duration::from_secs(10);

impl Workspace {
    /// The output of git in a folder; `None` if git cannot run, fails, or prints too much.
    pub(crate) fn git_output(
        &self,
        folder: &WsPath,
        arguments: impl IntoIterator<Item = OsString>,
        call: &Call,
    ) -> Option<Vec<u8>> {
        let argv = std::iter::once(OsString::from("git")).chain(arguments).collect();
        let env = GIT_VARIABLES.map(|(name, value)| (name.into(), value.into())).to_vec();
        let command = Command { env, ..Command::new(argv, folder.clone(), WALL) };
        let id = RunId::new(call.world());
        let new = NewRun { id, command: &command, write_mode: WriteMode::ReadOnly, chat: None };
        let ran = self.run(&new, call, &mut || Ok(())).ok()?;
        self.drop_run(id);
        let is_whole = ran.ended.exit == Exit::Code(0) && ran.stdout.left_out() == 0;
        is_whole.then(|| [ran.stdout.head, ran.stdout.tail].concat())
    }
}
