//! The second wall: Landlock's rules for files, and its scopes for signals and abstract sockets.
//!
//! In a box with namespaces everything that is shown may be read, and this wall only restricts writing. Without
//! namespaces it is the only wall around files: a path that it does not allow cannot be opened.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus,
    Scope,
};

use crate::task::{Kind, Task, WORKSPACE};
use crate::{CACHES, system};

/// The newest version whose rights were tried with this box.
const KNOWN: ABI = ABI::V6;
/// The first version that restricts signals and abstract sockets.
pub(crate) const SCOPES: ABI = ABI::V6;

/// The version of the kernel, or the newest one that this program knows.
pub(crate) fn version() -> ABI {
    let is_there = |abi: &ABI| {
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let rules = rules.handle_access(AccessFs::from_all(*abi));
        let scopes = Scope::from_all(*abi);
        let rules =
            rules.and_then(|rules| if scopes.is_empty() { Ok(rules) } else { rules.scope(scopes) });
        rules.and_then(Ruleset::create).is_ok()
    };
    let known = [SCOPES, ABI::V5, ABI::V4, ABI::V3, ABI::V2, ABI::V1];
    known.into_iter().find(is_there).unwrap_or(ABI::Unsupported)
}

/// Puts this process and all that it starts behind the wall.
pub(crate) fn restrict(task: &Task) -> io::Result<()> {
    let errno = match build(task) {
        // Older kernels enforce less of it; one that enforces nothing is no wall.
        Ok(RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced) => return Ok(()),
        Err(landlock::RulesetError::RestrictSelf(_)) => libc::EPERM,
        _ => libc::ENOSYS,
    };
    Err(io::Error::from_raw_os_error(errno))
}

fn build(task: &Task) -> Result<RulesetStatus, landlock::RulesetError> {
    let files = AccessFs::from_all(KNOWN);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(files)?
        .scope(Scope::from_all(KNOWN))?;
    if !task.walls.namespaces {
        rules = rules.handle_access(AccessNet::from_all(KNOWN))?;
    }
    let mut rules = rules.create()?;
    let (read, write) = (AccessFs::from_read(KNOWN), files);
    for at in readable(task) {
        rules = allow(rules, &at, read)?;
    }
    for at in writable(task) {
        rules = allow(rules, &at, write)?;
    }
    for name in system::DEVICES.iter().chain(terminals(task)) {
        let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        rules = allow(rules, &Path::new("/dev").join(name), device)?;
    }
    Ok(rules.restrict_self()?.ruleset)
}

/// Adds a rule for a path, if it exists.
fn allow(
    rules: RulesetCreated,
    at: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    match PathFd::new(at) {
        Ok(found) => rules.add_rule(PathBeneath::new(found, access)),
        Err(_) => Ok(rules),
    }
}

/// The command's own terminal, and with namespaces also those that it makes; without, `pts` has other users' ones.
fn terminals(task: &Task) -> &'static [&'static str] {
    match (task.terminal, task.walls.namespaces) {
        (false, _) => &[],
        (true, false) => &[system::OWN_TERMINAL],
        (true, true) => &[system::OWN_TERMINAL, "pts"],
    }
}

fn readable(task: &Task) -> Vec<PathBuf> {
    if task.walls.namespaces {
        return vec![PathBuf::from("/")];
    }
    let system = system::FOLDERS.iter().map(PathBuf::from);
    let etc = system::ETC.iter().map(|name| Path::new("/etc").join(name));
    system
        .chain(etc)
        .chain(task.shown.iter().map(PathBuf::from))
        .chain([PathBuf::from(WORKSPACE)])
        .collect()
}

fn writable(task: &Task) -> Vec<PathBuf> {
    let namespaces = task.walls.namespaces;
    let mut all = Vec::new();
    match namespaces {
        true => all.extend(["/tmp", "/dev/shm", CACHES].map(PathBuf::from)),
        false => all.push(task.scratch.clone()),
    }
    if task.kind != Kind::ReadOnly {
        all.push(if namespaces { task.shown_at.clone() } else { PathBuf::from(WORKSPACE) });
    }
    all
}
