//! What a box shows: a new root in memory, onto which the system's folders, the workspace with its
//! layer and private /tmp, /dev and /proc are mounted, before the old root is let go.
//!
//! Sources are taken hold of as detached mounts ([`Trees::take`]): as root that must happen before root
//! is left, else after the namespaces are made. Nothing on the host is mounted, changed or left behind.

#![allow(clippy::disallowed_methods, reason = "the sandbox builds its own root")]

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::mount::{MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags};

use super::lasting::LastingTrees;
use super::places::{self, put, put_file};
use super::report::{At as _, Step, Trouble};
use super::syscall::{TreeAttributes, mount_setattr};
use super::task::{Kind, Task, WORKSPACE, shown_path};
use super::trees::{
    LAYERS, NO_DEVICES, READ_ONLY, clone_tree, empty, map_owners, memory, new_mount, overlay_of,
    own_folder, own_tree, private,
};
use super::{masks, system};

/// Where the new root is put together: any folder that is there will do, what it held is not needed
/// any more.
const SITE: &str = "/tmp";

/// The new root on the site, and beside it, as seen from there, what overlays are made of. That is never
/// unmounted by itself: it goes with the old root, because the kernel takes its time for each unmounting,
/// however much goes at once. What is mounted where something is already covers it.
const ROOT: &str = "root";
const LOWER: &str = "../lower";
const EMPTY: &str = "../empty";
const VEILED: &str = "../lower:../empty";

/// Everything of the host that the box will show, held by hand.
pub(super) struct Trees {
    folders: Vec<Shown>,
    hides_sockets: bool,
    devices: Vec<(&'static str, OwnedFd)>,
    workspace: OwnedFd,
    layers: Option<OwnedFd>,
    lasting: LastingTrees,
}

/// One thing that is shown where it is on the host.
struct Shown {
    at: PathBuf,
    what: What,
}

enum What {
    Link(PathBuf),
    File(OwnedFd),
    Folder(OwnedFd),
    /// A folder in which somebody may have put a socket.
    Veiled(OwnedFd),
}

impl Trees {
    /// Takes hold of them. This process stands in the workspace.
    pub(super) fn take(task: &Task) -> Result<Self, Trouble> {
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
            folders.extend(look(&Path::new("/etc").join(name), None)?);
        }
        for at in system::FOLDERS {
            folders.extend(look(Path::new(at), None)?.map(|shown| shown.veiled(&mounts)));
        }
        for at in task.shown.iter().map(Path::new) {
            folders.extend(look(at, owners)?.map(|shown| shown.veiled(&mounts)));
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
        let lasting = LastingTrees::take(task, owners)?;
        Ok(Self { folders, hides_sockets, devices, workspace, layers, lasting })
    }
}

impl Shown {
    /// The same behind a veil, where that would not hide what is mounted below it.
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

/// What is at a path of the host; nothing, where nothing is.
fn look(at: &Path, owners: Option<BorrowedFd<'_>>) -> io::Result<Option<Shown>> {
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

/// What a built root is like.
pub(super) struct Built {
    /// No socket of the host can be reached by its name.
    pub(super) hides_sockets: bool,
}

/// Builds the new root and changes into it.
pub(super) fn build(task: &Task, trees: Trees) -> Result<Built, Trouble> {
    // First of all, while the host's /proc is still there to vouch for it.
    let proc = new_mount("proc", &[], libc::MOUNT_ATTR_NOEXEC | NO_DEVICES).at(Step::Proc)?;
    let root = begin_root().at(Step::Tmp)?;
    make_devices(task, trees.devices).at(Step::Devices)?;
    make_proc(proc).at(Step::Proc)?;
    make_tmp(task, trees.lasting.tmp.as_ref()).at(Step::Tmp)?;
    put(&empty().at(Step::Show)?, Path::new(EMPTY)).at(Step::Show)?;
    // After /tmp: what the operator shows may lie in the host's.
    let mut hides_sockets = trees.hides_sockets;
    hides_sockets &= show(&trees.folders).at(Step::Show)?;
    write_etc().at(Step::Etc)?;
    write_scripts(task).at(Step::Scripts)?;
    if let Some(layers) = &trees.layers {
        put(layers, Path::new(LAYERS)).at(Step::Overlay)?;
    }
    trees.lasting.lay_caches(task).at(Step::Caches)?;
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
    put(&workspace, &below(&task.shown_at)).at(Step::Workspace)?;
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

/// A path of the box, as seen from the new root, in which this process stands.
fn below(path: &Path) -> PathBuf {
    path.strip_prefix("/").unwrap_or(path).to_owned()
}

/// The new root, empty; this process stands in it afterwards.
fn begin_root() -> io::Result<OwnedFd> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private)?;
    rustix::process::umask(Mode::from_raw_mode(0o022));
    let site = memory("64k", "0755")?;
    attach(&site, Path::new(SITE))?;
    rustix::process::fchdir(&site)?;
    let root = memory("16m", "0755")?;
    put(&root, Path::new(ROOT))?;
    rustix::process::fchdir(&root)?;
    Ok(root)
}

fn attach(tree: &OwnedFd, at: &Path) -> io::Result<()> {
    Ok(rustix::mount::move_mount(tree, "", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// Shows them where they are on the host; whether the host's sockets in them are hidden.
fn show(folders: &[Shown]) -> io::Result<bool> {
    let mut hides_sockets = true;
    for Shown { at, what } in folders {
        let at = below(at);
        match what {
            What::Link(target) => places::put_link(target, &at)?,
            What::File(tree) => put_file(tree, &at)?,
            What::Folder(tree) => put(tree, &at)?,
            What::Veiled(tree) => match veil(tree) {
                Ok(veiled) => put(&veiled, &at)?,
                Err(_) => {
                    hides_sockets = false;
                    put(tree, &at)?;
                }
            },
        }
    }
    Ok(hides_sockets)
}

/// The same folder below an overlay of nothing. A socket in it is then another file than the one that
/// somebody on the host listens on, and dialling it reaches nobody; likewise a named pipe.
fn veil(tree: &OwnedFd) -> io::Result<OwnedFd> {
    put(tree, Path::new(LOWER))?;
    // Without the veil, the folder is moved from here to its place.
    new_mount("overlay", &[("lowerdir", VEILED), ("userxattr", "")], READ_ONLY)
}

fn make_proc(proc: OwnedFd) -> io::Result<()> {
    put(&proc, Path::new("proc"))?;
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
        put_file(&device, &Path::new("dev").join(name))?;
    }
    for (name, target) in system::DEVICE_LINKS {
        symlink(target, Path::new("dev").join(name))?;
    }
    if task.terminal {
        // For programs that open terminals themselves. None of the host's is in it.
        let options = [("mode", "0620"), ("ptmxmode", "0666"), ("max", "64")];
        let own = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC;
        put(&new_mount("devpts", &options, own)?, Path::new("dev/pts"))?;
        symlink("pts/ptmx", "dev/ptmx")?;
    }
    put(&memory(&share(task, 4), "1777")?, Path::new("dev/shm"))
}

fn make_tmp(task: &Task, lasting: Option<&OwnedFd>) -> io::Result<()> {
    match lasting {
        Some(tmp) => put(tmp, Path::new("tmp"))?,
        None => put(&memory(&share(task, 2), "1777")?, Path::new("tmp"))?,
    }
    places::make_folder(Path::new("tmp/home"))
}

/// A part of the memory that the box may use: files in memory are counted there too.
fn share(task: &Task, part: u64) -> String {
    (task.memory_bytes / part).max(1 << 20).to_string()
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

/// The workspace below a layer that takes every change. Its flushes are left out: what a crash leaves
/// of a command is never landed.
fn overlay(task: &Task, workspace: &OwnedFd) -> io::Result<OwnedFd> {
    put(workspace, Path::new(LOWER))?;
    overlay_of(LOWER, &task.upper, &task.work)
}

fn is_above(task: &Task, host: &Path) -> bool {
    task.shown_at.starts_with(shown_path(task, host))
}

/// Covers the hidden folders that the workspace itself lies in, with room for its own place in them.
fn hide_above(task: &Task) -> io::Result<Vec<OwnedFd>> {
    let mut covers = Vec::new();
    for hidden in task.hidden.iter().map(Path::new).filter(|hidden| is_above(task, hidden)) {
        let Some(place) = places::find(&below(hidden))? else { continue };
        if kind_of(&place)? == FileType::Directory {
            let cover = memory("64k", "0755")?;
            places::attach(&cover, &place)?;
            covers.push(cover);
        }
    }
    Ok(covers)
}

/// Covers a folder or file of the host, where the box would show it. In the workspace no link is followed: the
/// box's own tree is not to be trusted with that.
fn hide(task: &Task, host: &Path, workspace: &OwnedFd) -> io::Result<()> {
    let found = match host.strip_prefix(&task.workspace) {
        Ok(inside) => places::find_in(workspace, inside)?,
        Err(_) => places::find(&below(host))?,
    };
    let Some(place) = found else { return Ok(()) };
    match kind_of(&place)? {
        FileType::Directory => places::attach(&empty()?, &place),
        FileType::Symlink => Ok(()),
        _ => {
            let nothing = clone_tree(Path::new("dev/null"), OpenTreeFlags::empty())?;
            places::attach(&nothing, &place)
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
