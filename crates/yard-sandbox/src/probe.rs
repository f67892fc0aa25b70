//! Finds out what this machine can do by making boxes: a version number or a setting does not show what a container or
//! a policy disables.

#![allow(clippy::disallowed_methods, reason = "the sandbox is the one place that starts processes")]

use std::fs;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use yard_core::{Call, Timestamp, World};

use crate::group::Groups;
use crate::run::{Runner, empty_scratch};
use crate::system::BOX_USER;
use crate::task::HOLD_NAMESPACE;
use crate::{
    CommandEnd, CommandLimits, CommandListener, CommandSpec, Exit, Finding, HELPER, Layer, Level,
    SandboxConfig, findings, landlock_wall,
};

/// The trials that determined the level.
pub(crate) struct Trials {
    full: io::Result<()>,
    /// `None` where a full box works, because the walls alone were not tried then.
    walls: Option<io::Result<()>>,
    groups: Finding,
}

/// Determines the best level that works. Servers call this at start, so checks that do not affect the level are left
/// to [`findings`].
pub(crate) fn probe(helper: PathBuf, config: SandboxConfig) -> (Runner, Trials) {
    let is_root = rustix::process::geteuid().is_root();
    let (owners, no_owners) = match is_root.then(|| hold_owner_namespace(&helper)).transpose() {
        Ok(owners) => (owners, None),
        Err(error) => (None, Some(error)),
    };
    let groups = Groups::find().and_then(|groups| match config.all_memory {
        Some(bytes) => groups.bounded_together(bytes),
        None => Ok(groups),
    });
    let about_groups = findings::groups(&groups);
    let groups = groups.ok().map(Arc::new);
    let mut shared = Runner { helper, config, level: Level::Full, owners, groups };
    let full = match no_owners {
        Some(error) => Err(error),
        None => try_full(&shared),
    };
    let walls = match &full {
        Ok(()) => None,
        Err(_) => {
            shared.level = Level::Walls;
            Some(try_walls(&shared))
        }
    };
    let walls_hold = walls.as_ref().is_some_and(Result::is_ok);
    shared.level = level(&shared.config, full.is_ok(), walls_hold);
    (shared, Trials { full, walls, groups: about_groups })
}

/// Checks everything, and reports it line by line.
pub(crate) fn findings(shared: &Runner, trials: &Trials) -> Vec<Finding> {
    let mut all = findings::full(&trials.full);
    match &trials.walls {
        Some(walls) => all.extend(findings::walls(walls)),
        None => {
            let walls = shared.at(Level::Walls).and_then(|shared| try_walls(&shared));
            all.extend(findings::walls(&walls));
        }
    }
    all.push(trials.groups.clone());
    if trials.full.is_ok() {
        let programs = look_for_programs(shared).unwrap_or_default();
        all.push(findings::programs(&programs));
    }
    all
}

/// The best level that works, if it is not below the lowest allowed one.
fn level(config: &SandboxConfig, full: bool, walls: bool) -> Level {
    let best = match (full, walls) {
        (true, _) => Level::Full,
        (false, true) => Level::Walls,
        (false, false) => Level::Refuse,
    };
    match best {
        best if best > Level::Refuse && best >= config.lowest => best,
        _ if config.allow_unconfined => Level::Unconfined,
        _ => Level::Refuse,
    }
}

/// A user namespace that maps root to the box's user, for mounts that show owners that way. It exists as long as the
/// result is open.
fn hold_owner_namespace(helper: &Path) -> io::Result<OwnedFd> {
    let mut holder = Command::new(helper)
        .args([HELPER, HOLD_NAMESPACE])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let namespace = map_owner_namespace(&mut holder);
    drop(holder.stdin.take());
    holder.wait()?;
    namespace
}

fn map_owner_namespace(holder: &mut std::process::Child) -> io::Result<OwnedFd> {
    holder.stdout.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.read_exact(&mut [0])?;
    let folder = PathBuf::from(format!("/proc/{}", holder.id()));
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    fs::write(folder.join("uid_map"), format!("{uid} {BOX_USER} 1"))?;
    fs::write(folder.join("gid_map"), format!("{gid} {BOX_USER} 1"))?;
    Ok(fs::File::open(folder.join("ns/user"))?.into())
}

/// A workspace to try boxes on; removed when dropped.
struct TrialWorkspace(PathBuf);

static TRIALS: AtomicU64 = AtomicU64::new(0);

impl TrialWorkspace {
    fn make(scratch: &Path) -> io::Result<Self> {
        let number = TRIALS.fetch_add(1, Ordering::Relaxed);
        let folder = scratch.join(format!("toolyard-probe-{}-{number}", std::process::id()));
        fs::create_dir(&folder)?;
        let trial = Self(folder);
        for name in ["workspace", "upper", "work"] {
            fs::create_dir(trial.0.join(name))?;
        }
        fs::write(trial.workspace().join("lower"), "lower\n")?;
        Ok(trial)
    }

    fn workspace(&self) -> PathBuf {
        self.0.join("workspace")
    }
}

impl Drop for TrialWorkspace {
    fn drop(&mut self) {
        let _ = empty_scratch(&self.0.join("work"));
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn try_full(shared: &Runner) -> io::Result<()> {
    let trial = TrialWorkspace::make(&shared.config.scratch)?;
    let (upper, work) = (trial.0.join("upper"), trial.0.join("work"));
    let script =
        "cat lower && echo upper > lower && test $$ != 1 && test -r /proc/1/stat && exit 7";
    let layer = Layer::Overlay { upper: &upper, work: &work };
    let (ended, _) = try_on(shared, &trial.workspace(), layer, script)?;
    let written = fs::read_to_string(upper.join("lower")).unwrap_or_default();
    let unchanged = fs::read_to_string(trial.workspace().join("lower")).unwrap_or_default();
    if ended.exit != Exit::Code(7) || written != "upper\n" || unchanged != "lower\n" {
        return Err(io::Error::other("a box was made and did not hold what it should"));
    }
    Ok(())
}

/// Tries a box on a workspace's folder: not every file system can be a lower layer, or show its files as another
/// user's.
pub(crate) fn on_root(shared: &Runner, root: &Path) -> Finding {
    let tried = || -> io::Result<()> {
        let trial = TrialWorkspace::make(&shared.config.scratch)?;
        let (upper, work) = (trial.0.join("upper"), trial.0.join("work"));
        let layer = match shared.level {
            Level::Full => Layer::Overlay { upper: &upper, work: &work },
            _ => Layer::ReadOnly,
        };
        let (ended, _) = try_on(shared, root, layer, "exit 7")?;
        match ended.exit {
            Exit::Code(7) => Ok(()),
            _ => Err(io::Error::other("a box was made and the command did not run in it")),
        }
    };
    findings::root(tried(), root, &shared.config.scratch)
}

fn try_walls(shared: &Runner) -> io::Result<()> {
    if landlock_wall::version() < landlock_wall::SCOPES {
        return Err(io::Error::other("Landlock is absent, or too old to hold signals"));
    }
    let trial = TrialWorkspace::make(&shared.config.scratch)?;
    let script = "cat lower && ! echo x > lower && ! cat ../toolyard-absent && exit 7";
    let (ended, _) = try_on(shared, &trial.workspace(), Layer::ReadOnly, script)?;
    match ended.exit {
        Exit::Code(7) => Ok(()),
        _ => Err(io::Error::other("the walls stood and did not hold what they should")),
    }
}

/// A script that prints the path and the version output of each program that tools start, all at once and each in
/// bounded time.
const VERSIONS: &str = "for name in bash python3 git node npm cargo go java make gcc cmake uv; do
    at=$(command -v $name) || continue
    case $name in go) word=version ;; *) word=--version ;; esac
    (said=$(timeout 3 $name $word 2>&1 </dev/null | head -n 1); printf '%s\\t%s\\n' \"$at\" \"$said\") &
done
wait";

fn look_for_programs(shared: &Runner) -> io::Result<String> {
    let trial = TrialWorkspace::make(&shared.config.scratch)?;
    let (_, output) = try_on(shared, &trial.workspace(), Layer::ReadOnly, VERSIONS)?;
    Ok(String::from_utf8_lossy(&output).into_owned())
}

/// Runs a script in a box on a workspace; returns how it ended and the beginning of its output.
fn try_on(
    shared: &Runner,
    workspace: &Path,
    layer: Layer<'_>,
    script: &str,
) -> io::Result<(CommandEnd, Vec<u8>)> {
    let root = fs::File::open(workspace)?;
    let spec = CommandSpec {
        argv: ["/bin/sh", "-c", script].map(Into::into).to_vec(),
        env: Vec::new(),
        stdin: Vec::new(),
        terminal: None,
        sockets: Vec::new(),
        scripts: Vec::new(),
        root: root.as_fd(),
        workspace,
        shown_at: workspace,
        folder: PathBuf::new(),
        layer,
        scratch: None,
        lasting: None,
        hidden: Vec::new(),
        masked: Vec::new(),
        limits: CommandLimits { wall: Duration::from_secs(10), ..CommandLimits::default() },
    };
    let mut output = Output::default();
    let ended = shared.run(&spec, &Call::new(Arc::new(NoWorld)), &mut output)?;
    Ok((ended, output.0))
}

/// Collects the output of a script, up to a limit in each piece.
#[derive(Default)]
struct Output(Vec<u8>);

impl CommandListener for Output {
    fn stdout(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.extend(bytes.iter().take(4096));
        Ok(())
    }
}

/// A trial needs no clock apart from its own limit.
struct NoWorld;

impl World for NoWorld {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(0)
    }

    fn random(&self) -> u128 {
        0
    }

    fn secret(&self) -> Option<[u8; 32]> {
        None
    }

    fn boot_id(&self) -> u128 {
        0
    }
}
