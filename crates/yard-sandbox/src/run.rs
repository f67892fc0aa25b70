//! One boxed command, from the server's side: the helper is started and handed its order; its end, its
//! words and its use of the machine are watched (`watched`).

#![allow(clippy::disallowed_methods, reason = "the sandbox is the one place that starts processes")]

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use yard_core::Call;

use super::group::{Group, Groups};
use super::handles;
use super::probe::{self, Trials};
use super::process::Helper;
use super::report::{Step, Trouble};
use super::system;
use super::task::{Kind, Task, WallBits};
use super::watched::Watched;
use super::{
    Cache, Ended, Finding, Hear, Layer, Level, Order, Programs, Walls, Wish, default_environment,
};

/// The user that a box of root's is, outside: one that owns nothing and that nobody else is.
pub(super) const BOX_USER: u32 = 65_333;

/// What a terminal of ours understands.
const TERMINAL: &str = "xterm-256color";

/// Runs commands in boxes. A copy is the same one.
#[derive(Clone)]
pub struct Sandbox {
    shared: Arc<Shared>,
    trials: Arc<Trials>,
    findings: Arc<OnceLock<Vec<Finding>>>,
}

pub(super) struct Shared {
    pub(super) helper: PathBuf,
    pub(super) wish: Wish,
    pub(super) level: Level,
    /// Maps what root owns to the box's user, where the server is root.
    pub(super) owners: Option<OwnedFd>,
    pub(super) groups: Option<Arc<Groups>>,
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

impl Shared {
    /// The same at another level.
    pub(super) fn at(&self, level: Level) -> io::Result<Self> {
        let owners = self.owners.as_ref().map(OwnedFd::try_clone).transpose()?;
        let (helper, wish) = (self.helper.clone(), self.wish.clone());
        Ok(Self { helper, wish, level, owners, groups: self.groups.clone() })
    }

    pub(super) fn run(
        &self,
        order: &Order<'_>,
        call: &Call,
        heard: &mut dyn Hear,
    ) -> io::Result<Ended> {
        let started = Instant::now();
        let mut task = self.task(order)?;
        let mut helper = Helper::start(&self.helper, self.groups.as_deref(), order)?;
        task.doors = helper.group.as_ref().map(Group::doors).unwrap_or_default();
        // A helper that is gone already has said why.
        let _ = handles::send(&helper.socket, order.root)
            .and_then(|()| helper.socket.write_all(&task.to_bytes()));
        let has_network = task.walls.walls().namespaces;
        drop(task);
        let watched = Watched::new(helper, order, call, started);
        let watched = if has_network { watched.with_network(heard)? } else { watched };
        watched.see_through(heard)
    }

    fn walls(&self) -> io::Result<Walls> {
        let wished = self.wish.walls;
        match self.level {
            Level::Full => Ok(wished),
            Level::Walls => Ok(Walls { namespaces: false, ..wished }),
            Level::Unconfined => Ok(Walls { namespaces: false, landlock: false, seccomp: false }),
            Level::Refuse => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "no box can be made on this machine: `toolyard doctor` says why",
            )),
        }
    }

    /// What is shown besides the system: what the operator said, and the person's programs. What lies in the
    /// workspace is shown as the workspace, with what is masked there.
    fn shown(&self, order: &Order<'_>, walls: Walls) -> Vec<PathBuf> {
        let is_apart = |path: &&PathBuf| {
            let overlaps = |other: &Path| path.starts_with(other) || other.starts_with(path);
            !overlaps(order.workspace) && !self.wish.scratch.starts_with(path)
        };
        let programs = self.wish.programs.shown.iter().filter(|_| walls.namespaces);
        self.wish.shown.iter().chain(programs.filter(is_apart)).cloned().collect()
    }

    fn files(&self, order: &Order<'_>, walls: Walls) -> Vec<(std::ffi::OsString, Vec<u8>)> {
        let programs = self.wish.programs.files.iter().filter(|_| walls.namespaces);
        let all = order.scripts.iter().chain(programs);
        all.map(|(name, body)| (name.into(), body.clone())).collect()
    }

    fn hidden(&self, order: &Order<'_>, walls: Walls) -> Vec<PathBuf> {
        let masked = self.wish.programs.masked.iter().filter(|_| walls.namespaces);
        let masked = masked.flat_map(|pattern| system::matches(pattern));
        order.hidden.iter().cloned().chain(masked).collect()
    }

    fn task(&self, order: &Order<'_>) -> io::Result<Task> {
        let walls = self.walls()?;
        check(order, walls)?;
        let (kind, upper, work) = match order.layer {
            Layer::Overlay { upper, work } => (Kind::Overlay, upper.to_owned(), work.to_owned()),
            Layer::ReadOnly => (Kind::ReadOnly, PathBuf::new(), PathBuf::new()),
            Layer::InPlace => (Kind::InPlace, PathBuf::new(), PathBuf::new()),
        };
        let boxed_by_root = walls.namespaces && rustix::process::geteuid().is_root();
        if let (true, Some(terminal)) = (boxed_by_root, order.terminal) {
            terminal.belongs_to_box()?;
        }
        let me = rustix::process::getpid().as_raw_nonzero();
        let owners = match &self.owners {
            Some(owners) if boxed_by_root => format!("/proc/{me}/fd/{}", owners.as_raw_fd()),
            _ => String::new(),
        };
        Ok(Task {
            argv: order.argv.clone(),
            env: environment(order, walls, &self.wish.programs),
            stdin: order.stdin.clone(),
            scripts: self.files(order, walls),
            workspace: order.workspace.to_owned(),
            shown_at: order.shown_at.to_owned(),
            folder: order.folder.clone(),
            kind,
            upper,
            work,
            scratch: order.scratch.map(Path::to_owned).unwrap_or_default(),
            tmp: order.lasting.map(|lasting| lasting.tmp.clone()).unwrap_or_default(),
            caches: order.lasting.map(|lasting| lasting.caches.clone()).unwrap_or_default(),
            hidden: self.hidden(order, walls),
            masked: order.masked.clone(),
            shown: self.shown(order, walls),
            walls: WallBits::of(walls),
            owners: owners.into(),
            doors: Vec::new(),
            user: boxed_by_root.then_some(BOX_USER),
            terminal: order.terminal.is_some(),
            sockets: order.sockets.clone(),
            cpu_seconds: order.limits.cpu_seconds,
            memory_bytes: order.limits.memory_bytes,
            processes: order.limits.processes,
            open_files: order.limits.open_files,
            file_bytes: order.limits.file_bytes,
        })
    }
}

/// The default, then what the person's programs need, then the order's own. Where there is no private /tmp,
/// its own folder is that, or else the workspace.
fn environment(
    order: &Order<'_>,
    walls: Walls,
    programs: &Programs,
) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    let mut env = default_environment();
    if walls.namespaces {
        env.extend(programs.environment.iter().cloned());
        if order.lasting.is_some_and(|lasting| !lasting.caches.is_empty()) {
            env.extend(programs.cache_environment.iter().cloned());
        }
    } else {
        let own = order.scratch.unwrap_or(order.workspace);
        for (name, value) in &mut env {
            if name == "HOME" || name == "TMPDIR" {
                *value = own.into();
            }
        }
    }
    if order.terminal.is_some() {
        env.push(("TERM".into(), TERMINAL.into()));
    }
    env.extend(order.env.iter().cloned());
    env
}

/// What would make a box that is none.
fn check(order: &Order<'_>, walls: Walls) -> io::Result<()> {
    let wrong = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, what.to_owned()));
    let plain = |path: &Path| {
        path.is_absolute() && path.components().all(|part| part != Component::ParentDir)
    };
    if order.argv.is_empty() {
        return wrong("no command");
    }
    if !plain(order.workspace) || !plain(order.shown_at) {
        return wrong("the workspace is not named by an absolute path");
    }
    let private = ["/", "/tmp", "/dev", "/proc", "/run", "/etc", "/sys"].map(Path::new);
    if order.workspace == Path::new("/") || private.contains(&order.shown_at) {
        return wrong("the workspace would be shown in place of the box's own folders");
    }
    if ["/dev", "/proc", "/etc"].iter().any(|folder| order.shown_at.starts_with(folder)) {
        return wrong("the workspace would be shown below the box's own folders");
    }
    if !order
        .folder
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    {
        return wrong("the folder to start in is not one of the workspace");
    }
    if order.scripts.iter().any(|(name, _)| name.contains(['/', '\0']) || name.starts_with('.')) {
        return wrong("a script's name is not a plain name");
    }
    match order.layer {
        Layer::Overlay { .. } if !walls.namespaces => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "no layer can be laid over the workspace without namespaces",
        )),
        Layer::Overlay { upper, work } if upper.parent() != work.parent() || upper == work => {
            wrong("the layer's two folders are not in one parent")
        }
        _ if !walls.namespaces
            && order.hidden.iter().any(|hidden| hidden.starts_with(order.workspace)) =>
        {
            Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "a folder below the workspace cannot be hidden without namespaces",
            ))
        }
        _ if !walls.namespaces && order.lasting.is_some() => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "a command has a home and caches that last only in a box with namespaces",
        )),
        _ if !walls.namespaces && !order.masked.is_empty() => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "files cannot be masked without namespaces",
        )),
        _ if !walls.namespaces && !order.sockets.is_empty() => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "a command has a way out only in a box with a network of its own",
        )),
        _ if !walls.namespaces && !order.scripts.is_empty() => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "scripts cannot be shown without namespaces",
        )),
        _ => Ok(()),
    }
}

/// Makes a scratch good for another run. The overlay leaves folders in it that their own user may not
/// enter, let alone remove.
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
