//! Runs one command in a box, from the server's side: it starts the helper, sends the task and watches the command
//! (`watcher.rs`).

#![allow(clippy::disallowed_methods, reason = "the sandbox is the one place that starts processes")]

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use yard_core::Call;

use crate::group::{Group, Groups};
use crate::handles;
use crate::process::Helper;
use crate::system::{self, BOX_USER};
use crate::task::{Kind, Task};
use crate::watcher::CommandWatcher;
use crate::{
    CommandEnd, CommandListener, CommandSpec, Layer, Level, Programs, SandboxConfig, Walls,
    default_environment,
};

/// The `TERM` of a command on a terminal.
const TERMINAL: &str = "xterm-256color";

/// What all runs of a [`Sandbox`](crate::Sandbox) have in common.
pub(crate) struct Runner {
    pub(crate) helper: PathBuf,
    pub(crate) config: SandboxConfig,
    pub(crate) level: Level,
    /// The user namespace that maps root to the box's user, if the server is root.
    pub(crate) owners: Option<OwnedFd>,
    pub(crate) groups: Option<Arc<Groups>>,
}

impl Runner {
    /// The same at another level.
    pub(crate) fn at(&self, level: Level) -> io::Result<Self> {
        let owners = self.owners.as_ref().map(OwnedFd::try_clone).transpose()?;
        let (helper, config) = (self.helper.clone(), self.config.clone());
        Ok(Self { helper, config, level, owners, groups: self.groups.clone() })
    }

    pub(crate) fn run(
        &self,
        spec: &CommandSpec<'_>,
        call: &Call,
        listener: &mut dyn CommandListener,
    ) -> io::Result<CommandEnd> {
        let started = Instant::now();
        let mut task = self.task(spec)?;
        let mut helper = Helper::start(&self.helper, self.groups.as_deref(), spec)?;
        task.cgroup_files = helper.group.as_ref().map(Group::join_files).unwrap_or_default();
        let task_bytes = task.to_bytes()?;
        // A helper that has ended already has reported the reason.
        let _ = handles::send(&helper.socket, spec.root)
            .and_then(|()| helper.socket.write_all(&task_bytes));
        let has_network = task.walls.namespaces;
        drop(task);
        let watched = CommandWatcher::new(helper, spec, call, started);
        let watched = if has_network { watched.with_network(listener)? } else { watched };
        watched.run_to_end(listener)
    }

    fn walls(&self) -> io::Result<Walls> {
        let configured = self.config.walls;
        match self.level {
            Level::Full => Ok(configured),
            Level::Walls => Ok(Walls { namespaces: false, ..configured }),
            Level::Unconfined => Ok(Walls { namespaces: false, landlock: false, seccomp: false }),
            Level::Refuse => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "no box can be made on this machine",
            )),
        }
    }

    /// The folders that are shown besides the system's: those of the operator, and the person's programs. Programs
    /// inside of the workspace are left out, because the workspace with its masks is shown there.
    fn shown(&self, spec: &CommandSpec<'_>, walls: Walls) -> Vec<OsString> {
        let is_apart = |path: &&PathBuf| {
            let overlaps = |other: &Path| path.starts_with(other) || other.starts_with(path);
            !overlaps(spec.workspace) && !self.config.scratch.starts_with(path)
        };
        let programs = self.config.programs.shown.iter().filter(|_| walls.namespaces);
        self.config.shown.iter().chain(programs.filter(is_apart)).map(OsString::from).collect()
    }

    fn files(&self, spec: &CommandSpec<'_>, walls: Walls) -> Vec<(OsString, Vec<u8>)> {
        let programs = self.config.programs.files.iter().filter(|_| walls.namespaces);
        let all = spec.scripts.iter().chain(programs);
        all.map(|(name, body)| (name.into(), body.clone())).collect()
    }

    fn hidden(&self, spec: &CommandSpec<'_>, walls: Walls) -> Vec<OsString> {
        let masked = self.config.programs.masked.iter().filter(|_| walls.namespaces);
        let masked = masked.flat_map(|pattern| system::matches(pattern));
        spec.hidden.iter().cloned().chain(masked).map(OsString::from).collect()
    }

    fn task(&self, spec: &CommandSpec<'_>) -> io::Result<Task> {
        let walls = self.walls()?;
        check(spec, walls)?;
        let (kind, upper, work) = match spec.layer {
            Layer::Overlay { upper, work } => (Kind::Overlay, upper.to_owned(), work.to_owned()),
            Layer::ReadOnly => (Kind::ReadOnly, PathBuf::new(), PathBuf::new()),
            Layer::InPlace => (Kind::InPlace, PathBuf::new(), PathBuf::new()),
        };
        let boxed_by_root = walls.namespaces && rustix::process::geteuid().is_root();
        if let (true, Some(terminal)) = (boxed_by_root, spec.terminal) {
            terminal.belongs_to_box()?;
        }
        let me = rustix::process::getpid().as_raw_nonzero();
        let owners = match &self.owners {
            Some(owners) if boxed_by_root => format!("/proc/{me}/fd/{}", owners.as_raw_fd()),
            _ => String::new(),
        };
        Ok(Task {
            argv: spec.argv.clone(),
            env: environment(spec, walls, &self.config.programs),
            stdin: spec.stdin.clone(),
            scripts: self.files(spec, walls),
            workspace: spec.workspace.to_owned(),
            shown_at: spec.shown_at.to_owned(),
            folder: spec.folder.clone(),
            kind,
            upper,
            work,
            scratch: spec.scratch.map(Path::to_owned).unwrap_or_default(),
            tmp: spec.lasting.map(|lasting| lasting.tmp.clone()).unwrap_or_default(),
            caches: spec.lasting.map(|lasting| lasting.caches.clone()).unwrap_or_default(),
            hidden: self.hidden(spec, walls),
            masked: spec.masked.clone(),
            shown: self.shown(spec, walls),
            walls,
            owners: owners.into(),
            cgroup_files: Vec::new(),
            user: boxed_by_root.then_some(BOX_USER),
            terminal: spec.terminal.is_some(),
            sockets: spec.sockets.clone(),
            limits: spec.limits,
        })
    }
}

/// The default environment, then the variables of the person's programs, then those of the command. Without
/// namespaces, the command's own folder, or else the workspace, takes the place of /tmp.
fn environment(
    spec: &CommandSpec<'_>,
    walls: Walls,
    programs: &Programs,
) -> Vec<(OsString, OsString)> {
    let mut env = default_environment();
    if walls.namespaces {
        env.extend(programs.environment.iter().cloned());
        if spec.lasting.is_some_and(|lasting| !lasting.caches.is_empty()) {
            env.extend(programs.cache_environment.iter().cloned());
        }
    } else {
        let own = spec.scratch.unwrap_or(spec.workspace);
        for (name, value) in &mut env {
            if name == "HOME" || name == "TMPDIR" {
                *value = own.into();
            }
        }
    }
    if spec.terminal.is_some() {
        env.push(("TERM".into(), TERMINAL.into()));
    }
    env.extend(spec.env.iter().cloned());
    env
}

/// Refuses a request whose box would not confine the command.
fn check(spec: &CommandSpec<'_>, walls: Walls) -> io::Result<()> {
    let wrong = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, what.to_owned()));
    let plain = |path: &Path| {
        path.is_absolute() && path.components().all(|part| part != Component::ParentDir)
    };
    if spec.argv.is_empty() {
        return wrong("no command");
    }
    if !plain(spec.workspace) || !plain(spec.shown_at) {
        return wrong("the workspace is not named by an absolute path");
    }
    let private = ["/", "/tmp", "/dev", "/proc", "/run", "/etc", "/sys"].map(Path::new);
    if spec.workspace == Path::new("/") || private.contains(&spec.shown_at) {
        return wrong("the workspace would be shown in place of the box's own folders");
    }
    if ["/dev", "/proc", "/etc"].iter().any(|folder| spec.shown_at.starts_with(folder)) {
        return wrong("the workspace would be shown below the box's own folders");
    }
    if !spec
        .folder
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    {
        return wrong("the folder to start in is not one of the workspace");
    }
    if spec.scripts.iter().any(|(name, _)| name.contains(['/', '\0']) || name.starts_with('.')) {
        return wrong("a script's name is not a plain name");
    }
    if let Layer::Overlay { upper, work } = spec.layer
        && walls.namespaces
        && (upper.parent() != work.parent() || upper == work)
    {
        return wrong("the layer's two folders are not in one parent");
    }
    let hides_inside = spec.hidden.iter().any(|hidden| hidden.starts_with(spec.workspace));
    let needs_namespaces = [
        (
            matches!(spec.layer, Layer::Overlay { .. }),
            "no layer can be laid over the workspace without namespaces",
        ),
        (hides_inside, "a folder below the workspace cannot be hidden without namespaces"),
        (
            spec.lasting.is_some(),
            "a command has a home and caches that last only in a box with namespaces",
        ),
        (!spec.masked.is_empty(), "files cannot be masked without namespaces"),
        (
            !spec.sockets.is_empty(),
            "a command has a way out only in a box with a network of its own",
        ),
        (!spec.scripts.is_empty(), "scripts cannot be shown without namespaces"),
    ];
    match needs_namespaces.into_iter().find(|(is_wanted, _)| *is_wanted) {
        Some((_, why)) if !walls.namespaces => Err(io::Error::new(io::ErrorKind::Unsupported, why)),
        _ => Ok(()),
    }
}

/// Empties the scratch folder of an overlay for another run. The overlay leaves folders in it that their owner may not
/// enter.
pub fn empty_scratch(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::set_permissions(entry.path(), Permissions::from_mode(0o700))?;
            empty_scratch(&entry.path())?;
            fs::remove_dir(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
