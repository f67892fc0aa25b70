//! The box of this program: its own binary is the helper. It is tried out when it is first needed, and by
//! a server when it starts. Besides git, which is asked for the person's name, nothing here starts a process.

use std::path::{Path, PathBuf};
use std::time::Duration;

use yard_kernel::sandbox::{Limits, Sandbox, Wish};
use yard_kernel::{Boxed, Keeping, TerminalLimits};

use crate::config::Commands;
use crate::person::Person;
use crate::toolchains::Found;
use crate::{caches, git_identity};

/// Where a server's boxes show the workspace: no path of the host is for agents from elsewhere (R13).
const SHOWN_AT: &str = "/workspace";

/// The box of one person's machine, where agents see paths as the person does. `data` is where layers
/// will lie.
pub(crate) fn local(data: &Path, commands: &Commands) -> Boxed {
    let (data, probed) = (data.to_owned(), commands.clone());
    configured(Boxed::new(move || probe(&data, &probed)), commands)
}

/// The box of a server, which found out already what its machine can do.
pub(crate) fn served(sandbox: Sandbox, commands: &Commands) -> Boxed {
    let mut boxed = Boxed::new(move || sandbox);
    boxed.shown_at = Some(PathBuf::from(SHOWN_AT));
    configured(boxed, commands)
}

/// The same box, with what the operator lets commands use.
fn configured(mut boxed: Boxed, commands: &Commands) -> Boxed {
    boxed.limits = limits(commands);
    boxed.keeping = keeping(commands);
    boxed.terminals = terminals(commands);
    boxed
}

/// Finds out what this machine can do.
pub(crate) fn probe(data: &Path, commands: &Commands) -> Sandbox {
    // Without a binary of its own to run, nothing runs: the probe says so.
    let helper = std::env::current_exe().unwrap_or_default();
    let wish = Wish {
        allow_unconfined: commands.allow_unconfined,
        shown: commands.show.clone(),
        programs: find_programs().programs,
        scratch: data.to_owned(),
        ..Wish::default()
    };
    Sandbox::probe(helper, wish)
}

/// What a box gets of the programs of whoever runs this one.
pub(crate) fn find_programs() -> Found {
    let person = Person::of_this_process();
    let mut found = Found::of(&person);
    caches::add_to(&mut found.programs, &person);
    git_identity::add_to(&mut found.programs);
    found
}

fn mib(count: u64) -> u64 {
    count.saturating_mul(1 << 20)
}

fn keeping(commands: &Commands) -> Keeping {
    let usual = Keeping::default();
    let days = |count: u64| Duration::from_secs(count.saturating_mul(24 * 3_600));
    Keeping {
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

fn limits(commands: &Commands) -> Limits {
    let usual = Limits::default();
    Limits {
        cpu_seconds: commands.cpu_seconds.unwrap_or(usual.cpu_seconds),
        memory_bytes: commands.memory_mib.map_or(usual.memory_bytes, mib),
        processes: commands.processes.unwrap_or(usual.processes),
        open_files: commands.open_files.unwrap_or(usual.open_files),
        file_bytes: commands.file_mib.map_or(usual.file_bytes, mib),
        written_bytes: commands.written_mib.map_or(usual.written_bytes, mib),
        ..usual
    }
}
