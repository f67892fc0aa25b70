//! The box of a workspace: where its commands run, and what they may use.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use yard_disk::RetentionLimits;
use yard_sandbox::{CommandLimits, Sandbox};

/// The box of a workspace. A copy is the same one.
#[derive(Clone)]
pub struct CommandBox {
    sandbox: Arc<LazyLock<Sandbox, Probing>>,
    /// Where the box shows the workspace; its real path if that is not said.
    pub shown_at: Option<PathBuf>,
    /// What a command may use.
    pub limits: CommandLimits,
    /// How much of what commands say is kept.
    pub keeping: RetentionLimits,
    /// What terminals may use besides.
    pub terminals: TerminalLimits,
    /// Finds the folder of a program that is on this machine and that the box does not show. Only where callers
    /// may know paths of the machine (R13).
    pub hidden_programs: Option<HiddenPrograms>,
}

/// Finds the folder of a program that a box does not show, by the program's name.
pub type HiddenPrograms = Arc<dyn Fn(&str) -> Option<PathBuf> + Send + Sync>;

/// What terminals may use, beside what every command may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalLimits {
    /// Terminals at a time, of one workspace.
    pub at_once: usize,
    /// From start to end.
    pub life: Duration,
    /// Without a word from either side.
    pub idle: Duration,
}

impl Default for TerminalLimits {
    fn default() -> Self {
        let minutes = |count: u64| Duration::from_secs(count * 60);
        Self { at_once: 16, life: minutes(12 * 60), idle: minutes(60) }
    }
}

type Probing = Box<dyn FnOnce() -> Sandbox + Send>;

impl CommandBox {
    /// A box that is tried out when it is first needed.
    pub fn new(probe: impl FnOnce() -> Sandbox + Send + 'static) -> Self {
        let probe: Probing = Box::new(probe);
        let sandbox = Arc::new(LazyLock::new(probe));
        let (limits, keeping) = (CommandLimits::default(), RetentionLimits::default());
        let terminals = TerminalLimits::default();
        Self { sandbox, shown_at: None, limits, keeping, terminals, hidden_programs: None }
    }

    /// Where commands run.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }
}
