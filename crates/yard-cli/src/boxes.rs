//! The boxes of this program. Its own binary is their helper. A local command probes what the machine supports when
//! it first needs a box, and a server when it starts. This module starts no process but git, for the name of the
//! user.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use yard_disk::RetentionLimits;
use yard_kernel::{Boxed, TerminalLimits};
use yard_sandbox::{CommandLimits, Sandbox, SandboxConfig, SharedMemory};

use crate::config::Commands;
use crate::toolchains::FoundPrograms;
use crate::user_environment::UserEnvironment;
use crate::{caches, certificates, git_identity, hidden_programs, package_indexes};

/// The path of the workspace in a server's boxes: agents of other machines must not see paths of the host (R13).
const SHOWN_AT: &str = "/workspace";

/// The box of a local workspace, in which agents see the paths that the user sees. Layers lie in `data`.
pub(crate) fn local(data: &Path, commands: &Commands) -> Boxed {
    let (data, probed) = (data.to_owned(), commands.clone());
    let probing = move || probe(&data, &probed, UserEnvironment::of_this_process(), None);
    let mut boxed = configured(Boxed::new(probing), limits(commands), commands);
    let show = commands.show.clone();
    boxed.hidden_programs = Some(Arc::new(move |name| {
        let user = UserEnvironment::of_this_process();
        let shown = FoundPrograms::of(&user).programs.shown;
        hidden_programs::find(name, &user, &[shown, show.clone()].concat())
    }));
    boxed
}

/// The boxes of a server, which has probed its machine.
pub(crate) struct ServerBoxes {
    pub(crate) sandbox: Sandbox,
    pub(crate) commands: Commands,
}

impl ServerBoxes {
    /// The box of one workspace. Its commands share the memory of the workspace.
    pub(crate) fn for_workspace(&self) -> io::Result<Boxed> {
        let shared = shared_memory(&self.commands);
        let sandbox = self.sandbox.of_workspace(shared.workspace_bytes)?;
        let mut boxed = Boxed::new(move || sandbox);
        boxed.shown_at = Some(PathBuf::from(SHOWN_AT));
        Ok(configured(boxed, served_limits(&self.commands), &self.commands))
    }
}

/// The same box, with the limits that the operator configured.
fn configured(mut boxed: Boxed, limits: CommandLimits, commands: &Commands) -> Boxed {
    boxed.limits = limits;
    boxed.keeping = keeping(commands);
    boxed.terminals = terminals(commands);
    boxed
}

/// Probes what this machine supports, for a server whose workspaces share it.
pub(crate) fn probe_served(data: &Path, commands: &Commands) -> Sandbox {
    let user = served_user(commands);
    probe(data, commands, user, Some(shared_memory(commands).all_bytes))
}

/// The environment whose programs a server's boxes show: the server's own, with the PATH that the operator configured.
pub(crate) fn served_user(commands: &Commands) -> UserEnvironment<'static> {
    let mut user = UserEnvironment::of_this_process();
    let path = commands.path.as_ref().map(std::env::join_paths);
    // The check of the configuration refused folders whose names cannot be in a PATH.
    user.path = path.and_then(Result::ok).unwrap_or(user.path);
    user
}

/// Probes what this machine supports.
fn probe(
    data: &Path,
    commands: &Commands,
    user: UserEnvironment<'_>,
    all_memory: Option<u64>,
) -> Sandbox {
    // Without the path of this binary no command can run, and the probe says so.
    let helper = std::env::current_exe().unwrap_or_default();
    let wish = SandboxConfig {
        allow_unconfined: commands.allow_unconfined,
        shown: commands.show.clone(),
        programs: find_programs(&user).programs,
        scratch: data.to_owned(),
        all_memory,
        ..SandboxConfig::default()
    };
    Sandbox::probe(helper, wish)
}

/// The programs, caches and certificates of the user that a box shows.
pub(crate) fn find_programs(user: &UserEnvironment<'_>) -> FoundPrograms {
    let mut found = FoundPrograms::of(user);
    caches::add_to(&mut found.programs, user);
    certificates::add_to(&mut found.programs, user);
    git_identity::add_to(&mut found.programs);
    package_indexes::add_to(&mut found.programs, user);
    found
}

fn mib(count: u64) -> u64 {
    count.saturating_mul(1 << 20)
}

/// How much of what commands say and build is kept.
pub(crate) fn keeping(commands: &Commands) -> RetentionLimits {
    let usual = RetentionLimits::default();
    let days = |count: u64| Duration::from_secs(count.saturating_mul(24 * 3_600));
    RetentionLimits {
        stream_bytes: commands.output_mib.map_or(usual.stream_bytes, mib),
        total_bytes: commands.kept_output_mib.map_or(usual.total_bytes, mib),
        age: commands.kept_output_days.map_or(usual.age, days),
        builds_bytes: commands.kept_builds_mib.map_or(usual.builds_bytes, mib),
        home_bytes: commands.home_mib.map_or(usual.home_bytes, mib),
        caches_bytes: commands.caches_mib.map_or(usual.caches_bytes, mib),
    }
}

fn terminals(commands: &Commands) -> TerminalLimits {
    let usual = TerminalLimits::default();
    let minutes = |count: u64| Duration::from_secs(count.saturating_mul(60));
    let hours = |count: u64| minutes(count.saturating_mul(60));
    TerminalLimits {
        at_once: commands.terminals.unwrap_or(usual.at_once),
        life: commands.terminal_hours.map_or(usual.life, hours),
        idle: commands.terminal_idle_minutes.map_or(usual.idle, minutes),
    }
}

/// What a command may use on one person's machine.
pub(crate) fn limits(commands: &Commands) -> CommandLimits {
    let usual = CommandLimits::default();
    let minutes = |count: u64| Duration::from_secs(count.saturating_mul(60));
    CommandLimits {
        wall: commands.run_minutes.map_or(usual.wall, minutes),
        cpu_seconds: commands.cpu_seconds.or(usual.cpu_seconds),
        memory_bytes: commands.memory_mib.map_or(usual.memory_bytes, mib),
        processes: commands.processes.unwrap_or(usual.processes),
        open_files: commands.open_files.unwrap_or(usual.open_files),
        file_bytes: commands.file_mib.map_or(usual.file_bytes, mib),
        written_bytes: commands.written_mib.map_or(usual.written_bytes, mib),
        ..usual
    }
}

/// What a command may use on a server: of memory, what its workspace may.
fn served_limits(commands: &Commands) -> CommandLimits {
    let shared = shared_memory(commands);
    let most = shared.workspace_bytes;
    let memory_bytes = commands.memory_mib.map_or(most, mib).min(most);
    CommandLimits { memory_bytes, shared_memory: Some(shared), ..limits(commands) }
}

/// The memory that a server's commands share: all of them may take what one may on a person's machine, and those
/// of one workspace half of that, so that none takes the memory of all others.
fn shared_memory(commands: &Commands) -> SharedMemory {
    let all_bytes =
        commands.all_memory_mib.map_or_else(|| CommandLimits::default().memory_bytes, mib);
    let workspace_bytes = commands.workspace_memory_mib.map_or(all_bytes / 2, mib).min(all_bytes);
    SharedMemory { workspace_bytes, all_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_a_server_share_what_one_person_has() {
        let usual = limits(&Commands::default());
        assert_eq!((usual.cpu_seconds, usual.processes), (None, 4_096));
        assert_eq!((usual.wall.as_secs(), usual.shared_memory), (3_600, None));
        let served = served_limits(&Commands::default());
        let (all_bytes, workspace_bytes) = (usual.memory_bytes, usual.memory_bytes / 2);
        assert_eq!(served.shared_memory, Some(SharedMemory { workspace_bytes, all_bytes }));
        assert_eq!(served.memory_bytes, workspace_bytes);
        let (memory_mib, all_memory_mib) = (Some(3_000), Some(2_000));
        let commands = Commands { memory_mib, all_memory_mib, ..Commands::default() };
        let served = served_limits(&commands);
        assert_eq!(served.memory_bytes, mib(1_000));
        let commands = Commands { workspace_memory_mib: Some(2_500), ..commands };
        assert_eq!(served_limits(&commands).memory_bytes, mib(2_000));
        let commands = Commands { run_minutes: Some(5), cpu_seconds: Some(7), ..commands };
        let bounded = limits(&commands);
        assert_eq!((bounded.wall.as_secs(), bounded.cpu_seconds), (300, Some(7)));
        assert_eq!(bounded.memory_bytes, mib(3_000));
    }
}
