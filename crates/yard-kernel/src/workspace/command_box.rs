//! The box in which the commands of a workspace run, with its limits.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use yard_disk::RetentionLimits;
use yard_sandbox::{CommandLimits, Sandbox};

/// The box of a workspace. A clone is the same box.
#[derive(Clone)]
pub struct CommandBox {
    sandbox: Arc<LazyLock<Sandbox, Probing>>,
    /// The path at which the box shows the workspace; its real path if this is not set.
    pub shown_at: Option<PathBuf>,
    /// What a command may use.
    pub limits: CommandLimits,
    /// How much output is stored.
    pub keeping: RetentionLimits,
    /// The limits of terminals.
    pub terminals: TerminalLimits,
    /// Finds the folder of a program that is on this machine and that the box does not show. Only where callers
    /// may know paths of the machine (R13).
    pub hidden_programs: Option<HiddenPrograms>,
}

/// Finds the folder of a program that a box does not show, by the program's name.
pub type HiddenPrograms = Arc<dyn Fn(&str) -> Option<PathBuf> + Send + Sync>;

/// The limits of terminals, in addition to those of every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalLimits {
    /// Most terminals of one workspace at a time.
    pub at_once: usize,
    /// The longest time from start to end.
    pub life: Duration,
    /// The longest time without input and output.
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
    /// A box that is made by `probe` when it is first needed.
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
