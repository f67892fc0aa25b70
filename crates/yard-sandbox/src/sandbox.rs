//! Runs commands in boxes, at the level that a probe of the machine determined.

#![allow(clippy::disallowed_methods, reason = "the sandbox looks at what it shows")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use yard_core::Call;

use crate::probe::{self, Trials};
use crate::report::{Step, StepError};
use crate::run::Runner;
use crate::system;
use crate::{Cache, CommandEnd, CommandListener, CommandSpec, Finding, Level, SandboxConfig};

/// Runs commands in boxes. A clone shares everything.
#[derive(Clone)]
pub struct Sandbox {
    shared: Arc<Runner>,
    trials: Arc<Trials>,
    findings: Arc<OnceLock<Vec<Finding>>>,
}

impl Sandbox {
    /// Finds out what this machine can do, by running boxed commands. `helper` is the path of this program's binary,
    /// which handles [`HELPER`](crate::HELPER).
    pub fn probe(helper: PathBuf, config: SandboxConfig) -> Self {
        let (shared, trials) = probe::probe(helper, config);
        Self { shared: Arc::new(shared), trials: Arc::new(trials), findings: Arc::default() }
    }

    /// The same for one workspace, with a bound on the memory of its commands together. Where no control groups can be
    /// made, only each command by itself is bounded.
    pub fn of_workspace(&self, memory_bytes: u64) -> io::Result<Self> {
        let Some(groups) = &self.shared.groups else { return Ok(self.clone()) };
        let groups = Some(Arc::new(groups.of_workspace(memory_bytes)?));
        let shared = Runner { groups, ..self.shared.at(self.level())? };
        Ok(Self { shared: Arc::new(shared), ..self.clone() })
    }

    /// How strictly commands are confined here.
    pub fn level(&self) -> Level {
        self.shared.level
    }

    /// The findings, line by line. The first call runs a few more boxes.
    pub fn findings(&self) -> &[Finding] {
        self.findings.get_or_init(|| probe::findings(&self.shared, &self.trials))
    }

    /// Whether commands can work on this folder, found out by running one.
    pub fn finding_about(&self, root: &Path) -> Finding {
        probe::on_root(&self.shared, root)
    }

    /// The type of the workspace's file system, if that is why a box could not be made.
    pub fn unfit_file_system(&self, error: &io::Error, workspace: &Path) -> Option<String> {
        let error = error.get_ref()?.downcast_ref::<StepError>()?;
        let is_about_it = matches!(error.step, Step::Mapping | Step::Overlay);
        is_about_it.then(|| system::file_system(workspace)).flatten()
    }

    /// The person's caches of packages.
    pub fn caches(&self) -> &[Cache] {
        &self.shared.config.programs.caches
    }

    /// The existing files of the person's programs that boxes hide.
    pub fn masked(&self) -> Vec<PathBuf> {
        let patterns = self.shared.config.programs.masked.iter();
        let paths = patterns.flat_map(|pattern| system::matches(pattern));
        paths.filter(|path| path.exists()).collect()
    }

    /// Runs a command to its end, on this thread. When it returns, no process of the command is left. An error comes
    /// from the box or from `listener`: the command was not started, or was killed.
    pub fn run(
        &self,
        spec: &CommandSpec<'_>,
        call: &Call,
        listener: &mut dyn CommandListener,
    ) -> io::Result<CommandEnd> {
        self.shared.run(spec, call, listener)
    }
}
