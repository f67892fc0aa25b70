//! The configuration of boxes. This program is also their helper. A local command probes what the machine supports when
//! it first needs a box, and a server when it starts. This module starts no process but git, for the name of the user.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use yard_disk::RetentionLimits;
use yard_kernel::{CommandBox, TerminalLimits};
use yard_sandbox::{CommandLimits, Sandbox, SandboxConfig, SharedMemory};

use crate::config::Commands;
use crate::toolchains::FoundPrograms;
use crate::user_environment::UserEnvironment;
use crate::{caches, certificates, git_identity, hidden_programs, package_indexes};

/// The path of the workspace in a server's boxes: agents of other machines must not see paths of the host (R13).
const SHOWN_AT: &str = "/workspace";

/// The box of a local workspace, in which agents see the paths that the user sees. Layers lie in `data`.
pub(crate) fn local(data: &Path, commands: &Commands) -> CommandBox {
    let (data, probed) = (data.to_owned(), commands.clone());
    let probing = move || probe(&data, &probed, UserEnvironment::of_this_process(), None);
    let mut boxed = configured(CommandBox::new(probing), limits(commands), commands);
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
    pub(crate) fn for_workspace(&self) -> io::Result<CommandBox> {
        let shared = shared_memory(&self.commands);
        let sandbox = self.sandbox.of_workspace(shared.workspace_bytes)?;
        let mut boxed = CommandBox::new(move || sandbox);
        boxed.shown_at = Some(PathBuf::from(SHOWN_AT));
        Ok(configured(boxed, server_limits_of(&self.commands), &self.commands))
    }
}

/// The same box, with the limits that the operator configured.
fn configured(mut boxed: CommandBox, limits: CommandLimits, commands: &Commands) -> CommandBox {
    boxed.limits = limits;
    boxed.keeping = retention(commands);
    boxed.terminals = terminals(commands);
    boxed
}

/// Probes what this machine supports, for a server whose workspaces share it.
pub(crate) fn probe_for_server(data: &Path, commands: &Commands) -> Sandbox {
    let user = server_user(commands);
    probe(data, commands, user, Some(shared_memory(commands).all_bytes))
}

/// The environment whose programs a server's boxes show: the server's own, with the PATH that the operator configured.
pub(crate) fn server_user(commands: &Commands) -> UserEnvironment<'static> {
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

/// How much command output and build output is stored.
pub(crate) fn retention(commands: &Commands) -> RetentionLimits {
    let defaults = RetentionLimits::default();
    let days = |count: u64| Duration::from_secs(count.saturating_mul(24 * 3_600));
    RetentionLimits {
        stream_bytes: commands.output_mib.map_or(defaults.stream_bytes, mib),
        total_bytes: commands.kept_output_mib.map_or(defaults.total_bytes, mib),
        age: commands.kept_output_days.map_or(defaults.age, days),
        builds_bytes: commands.kept_builds_mib.map_or(defaults.builds_bytes, mib),
        home_bytes: commands.home_mib.map_or(defaults.home_bytes, mib),
        caches_bytes: commands.caches_mib.map_or(defaults.caches_bytes, mib),
    }
}

fn terminals(commands: &Commands) -> TerminalLimits {
    let defaults = TerminalLimits::default();
    let minutes = |count: u64| Duration::from_secs(count.saturating_mul(60));
    let hours = |count: u64| minutes(count.saturating_mul(60));
    TerminalLimits {
        at_once: commands.terminals.unwrap_or(defaults.at_once),
        life: commands.terminal_hours.map_or(defaults.life, hours),
        idle: commands.terminal_idle_minutes.map_or(defaults.idle, minutes),
    }
}

/// The limits of a command on one person's machine.
pub(crate) fn limits(commands: &Commands) -> CommandLimits {
    let defaults = CommandLimits::default();
    let minutes = |count: u64| Duration::from_secs(count.saturating_mul(60));
    CommandLimits {
        wall: commands.run_minutes.map_or(defaults.wall, minutes),
        cpu_seconds: commands.cpu_seconds.or(defaults.cpu_seconds),
        memory_bytes: commands.memory_mib.map_or(defaults.memory_bytes, mib),
        processes: commands.processes.unwrap_or(defaults.processes),
        open_files: commands.open_files.unwrap_or(defaults.open_files),
        file_bytes: commands.file_mib.map_or(defaults.file_bytes, mib),
        written_bytes: commands.written_mib.map_or(defaults.written_bytes, mib),
        ..defaults
    }
}

/// The limits of a command on a server. Its memory is at most that of its workspace.
fn server_limits_of(commands: &Commands) -> CommandLimits {
    let shared = shared_memory(commands);
    let max = shared.workspace_bytes;
    let memory_bytes = commands.memory_mib.map_or(max, mib).min(max);
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
        let defaults = limits(&Commands::default());
        assert_eq!((defaults.cpu_seconds, defaults.processes), (None, 4_096));
        assert_eq!((defaults.wall.as_secs(), defaults.shared_memory), (3_600, None));
        let server_limits = server_limits_of(&Commands::default());
        let (all_bytes, workspace_bytes) = (defaults.memory_bytes, defaults.memory_bytes / 2);
        assert_eq!(server_limits.shared_memory, Some(SharedMemory { workspace_bytes, all_bytes }));
        assert_eq!(server_limits.memory_bytes, workspace_bytes);
        let (memory_mib, all_memory_mib) = (Some(3_000), Some(2_000));
        let commands = Commands { memory_mib, all_memory_mib, ..Commands::default() };
        let server_limits = server_limits_of(&commands);
        assert_eq!(server_limits.memory_bytes, mib(1_000));
        let commands = Commands { workspace_memory_mib: Some(2_500), ..commands };
        assert_eq!(server_limits_of(&commands).memory_bytes, mib(2_000));
        let commands = Commands { run_minutes: Some(5), cpu_seconds: Some(7), ..commands };
        let bounded = limits(&commands);
        assert_eq!((bounded.wall.as_secs(), bounded.cpu_seconds), (300, Some(7)));
        assert_eq!(bounded.memory_bytes, mib(3_000));
    }
}
