//! Runs commands in boxes, on a machine whose walls were tried out.

#![allow(clippy::disallowed_methods, reason = "the sandbox looks at what it shows")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use yard_core::Call;

use super::probe::{self, Trials};
use super::report::{Step, Trouble};
use super::run::Shared;
use super::system;
use super::{Cache, Ended, Finding, Hear, Level, Order, Wish};

/// Runs commands in boxes. A copy is the same one.
#[derive(Clone)]
pub struct Sandbox {
    shared: Arc<Shared>,
    trials: Arc<Trials>,
    findings: Arc<OnceLock<Vec<Finding>>>,
}

impl Sandbox {
    /// Finds out what this machine can do, by running boxed commands. `helper` is the program that
    /// knows [`HELPER`]: this one's binary.
    pub fn probe(helper: PathBuf, wish: Wish) -> Self {
        let (shared, trials) = probe::probe(helper, wish);
        Self { shared: Arc::new(shared), trials: Arc::new(trials), findings: Arc::default() }
    }

    /// The same for one workspace, whose commands together may take so much memory. Where no control groups can
    /// be made, each command is bounded by itself alone.
    pub fn of_workspace(&self, memory_bytes: u64) -> io::Result<Self> {
        let Some(groups) = &self.shared.groups else { return Ok(self.clone()) };
        let groups = Some(Arc::new(groups.of_workspace(memory_bytes)?));
        let shared = Shared { groups, ..self.shared.at(self.level())? };
        Ok(Self { shared: Arc::new(shared), ..self.clone() })
    }

    /// How much holds a command here.
    pub fn level(&self) -> Level {
        self.shared.level
    }

    /// What can be found out, line by line. Who asks first waits for a few more boxes.
    pub fn findings(&self) -> &[Finding] {
        self.findings.get_or_init(|| probe::findings(&self.shared, &self.trials))
    }

    /// Whether a command can work on this folder, found out by running one.
    pub fn finding_about(&self, root: &Path) -> Finding {
        probe::on_root(&self.shared, root)
    }

    /// The file system of a workspace, if a box could not be made because of it.
    pub fn unfit_file_system(&self, error: &io::Error, workspace: &Path) -> Option<String> {
        let trouble = error.get_ref()?.downcast_ref::<Trouble>()?;
        let is_about_it = matches!(trouble.step, Step::Mapping | Step::Overlay);
        is_about_it.then(|| system::file_system(workspace)).flatten()
    }

    /// The caches of packages that the person has.
    pub fn caches(&self) -> &[Cache] {
        &self.shared.wish.programs.caches
    }

    /// What of the person's programs is covered and is there now.
    pub fn masked(&self) -> Vec<PathBuf> {
        let patterns = self.shared.wish.programs.masked.iter();
        let found = patterns.flat_map(|pattern| system::matches(pattern));
        found.filter(|path| path.exists()).collect()
    }

    /// Runs a command to its end, on this thread. When it returns, no process of the command is left.
    /// An error is of the box or of `heard`, never the command's: it did not start, or was ended.
    pub fn run(&self, order: &Order<'_>, call: &Call, heard: &mut dyn Hear) -> io::Result<Ended> {
        self.shared.run(order, call, heard)
    }
}
