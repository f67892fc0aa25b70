//! Builds the file system of a box: a new root in memory, onto which the system's folders, the workspace with its
//! overlay and private /tmp, /dev and /proc are mounted, before the old root is detached.
//!
//! The folders of the host are opened as detached mounts first ([`Trees::take`]): with root's rights before root is
//! given up, else after the namespaces are made. Nothing on the host is mounted, changed or left behind.

#![allow(clippy::disallowed_methods, reason = "the sandbox builds its own root")]

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::mount::{MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags};

use crate::mount_points::{self, mount_at, mount_file_at};
use crate::persistent::PersistentTrees;
use crate::report::{At as _, Step, StepError};
use crate::syscall::{TreeAttributes, mount_setattr};
use crate::task::{Kind, Task, WORKSPACE, shown_path};
use crate::trees::{
    LAYERS, NO_DEVICES, READ_ONLY, clone_tree, empty, map_owners, memory, new_mount, overlay_of,
    own_folder, own_tree, private,
};
use crate::{masks, system};

/// Where the new root is assembled: any existing folder will do, because its contents are not needed any more.
const ASSEMBLY: &str = "/tmp";

/// The new root, and beside it, relative to it, the layers of overlays. The layers are never unmounted one by one: they
/// go with the old root, because each unmount takes the kernel a while, however much goes at once. A mount on a
/// mounted folder covers it.
const ROOT: &str = "root";
const LOWER: &str = "../lower";
const EMPTY: &str = "../empty";
const VEILED: &str = "../lower:../empty";

/// Everything of the host that the box will show, as detached mounts.
pub(crate) struct Trees {
    folders: Vec<Shown>,
    hides_sockets: bool,
    devices: Vec<(&'static str, OwnedFd)>,
    workspace: OwnedFd,
    layers: Option<OwnedFd>,
    lasting: PersistentTrees,
}

/// An entry that the box shows under the same path as the host.
struct Shown {
    at: PathBuf,
    what: What,
}

enum What {
    Link(PathBuf),
    File(OwnedFd),
    Folder(OwnedFd),
    /// A folder that may contain sockets of the host, to be shown through [`veil`].
    Veiled(OwnedFd),
}

impl Trees {
    /// Opens them. The workspace is the current folder of this process.
    pub(crate) fn take(task: &Task) -> Result<Self, StepError> {
        let owners = if task.owners.as_os_str().is_empty() {
            None
        } else {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            Some(rustix::fs::open(&task.owners, flags, Mode::empty()).at(Step::Folders)?)
        };
        let trees = Self::take_all(task, owners.as_ref().map(|owners| owners.as_fd()));
        let trees = trees.at(Step::Folders)?;
        // Not every file system can show its files as another user's.
        map_owners(&trees.workspace, owners.as_ref().map(|owners| owners.as_fd()))
            .at(Step::Mapping)?;
        Ok(trees)
    }

    fn take_all(task: &Task, owners: Option<BorrowedFd<'_>>) -> io::Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        let mut folders = Vec::new();
        for name in system::ETC {
            folders.extend(open_host_entry(&Path::new("/etc").join(name), None)?);
        }
        for at in system::FOLDERS {
            folders
                .extend(open_host_entry(Path::new(at), None)?.map(|shown| shown.veiled(&mounts)));
        }
        for at in task.shown.iter().map(Path::new) {
            folders.extend(open_host_entry(at, owners)?.map(|shown| shown.veiled(&mounts)));
        }
        let bare =
            |shown: &Shown| matches!(shown.what, What::Folder(_)) && !shown.at.starts_with("/etc");
        let hides_sockets = !folders.iter().any(bare) && !has_mounts(&mounts, &task.workspace);
        let device = |name: &&'static str| {
            let tree = clone_tree(&Path::new("/dev").join(name), OpenTreeFlags::empty())?;
            private(&tree, libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC)?;
            Ok((*name, tree))
        };
        let own_terminal = task.terminal.then_some(&system::OWN_TERMINAL);
        let devices = system::DEVICES.iter().chain(own_terminal);
        let devices = devices.map(device).collect::<io::Result<_>>()?;
        let attributes = if task.kind == Kind::InPlace { NO_DEVICES } else { READ_ONLY };
        let workspace = own_tree(Path::new(WORKSPACE), attributes, owners.is_some())?;
        let layers = task.layers().map(|parent| own_folder(parent, NO_DEVICES, owners));
        let layers = layers.transpose()?;
        let lasting = PersistentTrees::take(task, owners)?;
        Ok(Self { folders, hides_sockets, devices, workspace, layers, lasting })
    }
}

impl Shown {
    /// The same through a veil, unless that would hide mounts below it.
    fn veiled(self, mounts: &str) -> Self {
        let covers = has_mounts(mounts, &self.at);
        let what = match self.what {
            What::Folder(tree) if !covers => What::Veiled(tree),
            other => other,
        };
        Self { what, ..self }
    }
}

/// Whether something is mounted below a folder: the fifth field of each line is where.
fn has_mounts(mounts: &str, folder: &Path) -> bool {
    let mut places = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    places.any(|place| Path::new(place).starts_with(folder) && Path::new(place) != folder)
}

/// The entry at a path of the host, if there is one.
fn open_host_entry(at: &Path, owners: Option<BorrowedFd<'_>>) -> io::Result<Option<Shown>> {
    let Ok(metadata) = fs::symlink_metadata(at) else { return Ok(None) };
    let what = if metadata.is_symlink() {
        What::Link(fs::read_link(at)?)
    } else {
        let tree = clone_tree(at, OpenTreeFlags::AT_RECURSIVE)?;
        private(&tree, READ_ONLY)?;
        map_owners(&tree, owners)?;
        if metadata.is_dir() { What::Folder(tree) } else { What::File(tree) }
    };
    Ok(Some(Shown { at: at.to_owned(), what }))
}

/// A property of the root that was built.
pub(crate) struct Built {
    /// No socket of the host can be reached by its name.
    pub(crate) hides_sockets: bool,
}

/// Builds the new root and changes into it.
pub(crate) fn build(task: &Task, trees: Trees) -> Result<Built, StepError> {
    // First, because the kernel allows a new /proc only while the host's one is mounted.
    let proc = new_mount("proc", &[], libc::MOUNT_ATTR_NOEXEC | NO_DEVICES).at(Step::Proc)?;
    let root = begin_root().at(Step::Tmp)?;
    make_devices(task, trees.devices).at(Step::Devices)?;
    make_proc(proc).at(Step::Proc)?;
    make_tmp(task, trees.lasting.tmp.as_ref()).at(Step::Tmp)?;
    mount_at(&empty().at(Step::Show)?, Path::new(EMPTY)).at(Step::Show)?;
    // After /tmp, because a folder that the operator shows may be inside of the host's /tmp.
    let mut hides_sockets = trees.hides_sockets;
    hides_sockets &= show(&trees.folders).at(Step::Show)?;
    write_etc().at(Step::Etc)?;
    write_scripts(task).at(Step::Scripts)?;
    if let Some(layers) = &trees.layers {
        mount_at(layers, Path::new(LAYERS)).at(Step::Overlay)?;
    }
    trees.lasting.mount_caches(task).at(Step::Caches)?;
    let workspace = match task.kind {
        Kind::Overlay => overlay(task, &trees.workspace).at(Step::Overlay)?,
        Kind::InPlace => {
            hides_sockets = false;
            trees.workspace
        }
        Kind::ReadOnly => veil(&trees.workspace).unwrap_or_else(|_| {
            hides_sockets = false;
            trees.workspace
        }),
    };
    let covers = hide_above(task).at(Step::Hide)?;
    mount_at(&workspace, &below(&task.shown_at)).at(Step::Workspace)?;
    for cover in covers {
        mount_setattr(&cover, TreeAttributes { set: READ_ONLY, ..Default::default() })
            .at(Step::Hide)?;
    }
    for hidden in task.hidden.iter().map(Path::new).filter(|hidden| !is_above(task, hidden)) {
        hide(task, hidden, &workspace).at(Step::Hide)?;
    }
    masks::cover(task, &workspace).at(Step::Hide)?;
    let wanted = TreeAttributes { set: READ_ONLY, ..TreeAttributes::default() };
    mount_setattr(&root, wanted).at(Step::Pivot)?;
    pivot(root).at(Step::Pivot)?;
    Ok(Built { hides_sockets })
}

/// A path of the box, relative to the new root, which is the current folder.
fn below(path: &Path) -> PathBuf {
    path.strip_prefix("/").unwrap_or(path).to_owned()
}

/// Makes the new, empty root and enters it.
fn begin_root() -> io::Result<OwnedFd> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private)?;
    rustix::process::umask(Mode::from_raw_mode(0o022));
    let assembly = memory("64k", "0755")?;
    attach(&assembly, Path::new(ASSEMBLY))?;
    rustix::process::fchdir(&assembly)?;
    let root = memory("16m", "0755")?;
    mount_at(&root, Path::new(ROOT))?;
    rustix::process::fchdir(&root)?;
    Ok(root)
}

fn attach(tree: &OwnedFd, at: &Path) -> io::Result<()> {
    Ok(rustix::mount::move_mount(tree, "", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// Mounts them at their paths on the host; returns whether the host's sockets in them are hidden.
fn show(folders: &[Shown]) -> io::Result<bool> {
    let mut hides_sockets = true;
    for Shown { at, what } in folders {
        let at = below(at);
        match what {
            What::Link(target) => mount_points::link_at(target, &at)?,
            What::File(tree) => mount_file_at(tree, &at)?,
            What::Folder(tree) => mount_at(tree, &at)?,
            What::Veiled(tree) => match veil(tree) {
                Ok(veiled) => mount_at(&veiled, &at)?,
                Err(_) => {
                    hides_sockets = false;
                    mount_at(tree, &at)?;
                }
            },
        }
    }
    Ok(hides_sockets)
}

/// The folder as the lower layer of an overlay. A socket in it is then another file than the one that a process of the
/// host listens on, and connecting to it fails; the same holds for named pipes.
fn veil(tree: &OwnedFd) -> io::Result<OwnedFd> {
    mount_at(tree, Path::new(LOWER))?;
    // If this fails, the caller moves the folder from here to its mount point.
    new_mount("overlay", &[("lowerdir", VEILED), ("userxattr", "")], READ_ONLY)
}

fn make_proc(proc: OwnedFd) -> io::Result<()> {
    mount_at(&proc, Path::new("proc"))?;
    for name in system::MASKED {
        let at = Path::new("proc").join(name);
        if at.exists() {
            attach(&clone_tree(Path::new("dev/null"), OpenTreeFlags::empty())?, &at)?;
        }
    }
    Ok(())
}

fn make_devices(task: &Task, devices: Vec<(&'static str, OwnedFd)>) -> io::Result<()> {
    fs::create_dir("dev")?;
    for (name, device) in devices {
        mount_file_at(&device, &Path::new("dev").join(name))?;
    }
    for (name, target) in system::DEVICE_LINKS {
        symlink(target, Path::new("dev").join(name))?;
    }
    if task.terminal {
        // For programs that open terminals themselves. It has none of the host's terminals.
        let options = [("mode", "0620"), ("ptmxmode", "0666"), ("max", "64")];
        let own = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC;
        mount_at(&new_mount("devpts", &options, own)?, Path::new("dev/pts"))?;
        symlink("pts/ptmx", "dev/ptmx")?;
    }
    mount_at(&memory(&share(task, 4), "1777")?, Path::new("dev/shm"))
}

fn make_tmp(task: &Task, lasting: Option<&OwnedFd>) -> io::Result<()> {
    match lasting {
        Some(tmp) => mount_at(tmp, Path::new("tmp"))?,
        None => mount_at(&memory(&share(task, 2), "1777")?, Path::new("tmp"))?,
    }
    mount_points::make_folder(Path::new("tmp/home"))
}

/// A fraction of the memory that the box may use, because files in memory count as such.
fn share(task: &Task, part: u64) -> String {
    (task.limits.memory_bytes / part).max(1 << 20).to_string()
}

fn write_etc() -> io::Result<()> {
    fs::create_dir_all("etc")?;
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    for (name, text) in system::made_up(uid, gid) {
        fs::write(Path::new("etc").join(name), text)?;
    }
    symlink("/proc/self/mounts", "etc/mtab")
}

fn write_scripts(task: &Task) -> io::Result<()> {
    let folder = Path::new("/run/toolyard");
    fs::create_dir_all(below(folder))?;
    for (name, body) in &task.scripts {
        let at = below(&folder.join(name));
        if let Some(parent) = at.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&at, body)?;
        fs::set_permissions(&at, Permissions::from_mode(0o555))?;
    }
    Ok(())
}

/// The workspace as the lower layer of an overlay that takes every change. Flushes are turned off: after a crash a
/// command is never landed.
fn overlay(task: &Task, workspace: &OwnedFd) -> io::Result<OwnedFd> {
    mount_at(workspace, Path::new(LOWER))?;
    overlay_of(LOWER, &task.upper, &task.work)
}

fn is_above(task: &Task, host: &Path) -> bool {
    task.shown_at.starts_with(shown_path(task, host))
}

/// Covers the hidden folders that the workspace is in, and returns the covers, in which its mount point is made.
fn hide_above(task: &Task) -> io::Result<Vec<OwnedFd>> {
    let mut covers = Vec::new();
    for hidden in task.hidden.iter().map(Path::new).filter(|hidden| is_above(task, hidden)) {
        let Some(place) = mount_points::open_entry(&below(hidden))? else { continue };
        if kind_of(&place)? == FileType::Directory {
            let cover = memory("64k", "0755")?;
            mount_points::attach(&cover, &place)?;
            covers.push(cover);
        }
    }
    Ok(covers)
}

/// Covers a folder or file of the host at its path in the box. In the workspace no link is followed, because agents
/// made them.
fn hide(task: &Task, host: &Path, workspace: &OwnedFd) -> io::Result<()> {
    let found = match host.strip_prefix(&task.workspace) {
        Ok(inside) => mount_points::open_in(workspace, inside)?,
        Err(_) => mount_points::open_entry(&below(host))?,
    };
    let Some(place) = found else { return Ok(()) };
    match kind_of(&place)? {
        FileType::Directory => mount_points::attach(&empty()?, &place),
        FileType::Symlink => Ok(()),
        _ => {
            let nothing = clone_tree(Path::new("dev/null"), OpenTreeFlags::empty())?;
            mount_points::attach(&nothing, &place)
        }
    }
}

fn kind_of(entry: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(entry)?.st_mode))
}

fn pivot(root: OwnedFd) -> io::Result<()> {
    rustix::process::fchdir(&root)?;
    rustix::process::pivot_root(".", ".")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH)?;
    rustix::process::chdir("/")?;
    Ok(())
}
