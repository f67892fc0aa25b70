//! The folders that this program uses: the root that is worked on, the folder that keeps its history, and the data
//! folder that has all histories. History is never inside a root.

#![allow(clippy::disallowed_methods, reason = "only the binary finds and makes the data folder")]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use yard_core::{ContentHash, FaultCode, Timestamp, WorkspaceId, WsPath};

use crate::failure::Failure;

/// The file in a state folder that names its root.
const ROOT_FILE: &str = "root";

/// Hex digits of the root's hash that name its state folder.
const STATE_NAME_DIGITS: usize = 32;

/// Reads the text of a file that a person names. `-` is standard input.
pub(crate) fn read_text(file: &Path) -> Result<String, Failure> {
    let text = match file == Path::new("-") {
        true => io::read_to_string(io::stdin().lock()),
        false => fs::read_to_string(file),
    };
    text.map_err(|error| Failure::io(&format!("{} could not be read", file.display()), &error))
}

/// One root and the folder that keeps its history.
#[derive(Debug)]
pub(crate) struct WorkspaceLocation {
    /// The root, canonical.
    pub(crate) root: PathBuf,
    /// The folder of its journal.
    pub(crate) state_dir: PathBuf,
}

impl WorkspaceLocation {
    /// Finds the root and makes its state folder.
    pub(crate) fn prepare(root: &Path, data_dir: Option<&Path>) -> Result<Self, Failure> {
        let root = canonical_root(root)?;
        let data_dir = data_folder(data_dir)?;
        refuse_overlap(&root, &data_dir)?;
        make_data_folder(&data_dir)?;
        let state_dir = data_dir.join("workspaces").join(state_name(&root));
        make_private_folder(&state_dir)?;
        record_root(&state_dir, &root)?;
        Ok(Self { root, state_dir })
    }
}

impl WorkspaceLocation {
    /// Whether the folder has a history. This makes nothing.
    pub(crate) fn has_history(root: &Path, data_dir: Option<&Path>) -> bool {
        let (Ok(root), Ok(data_dir)) = (canonical_root(root), data_folder(data_dir)) else {
            return false;
        };
        data_dir.join("workspaces").join(state_name(&root)).join("journal.db").is_file()
    }

    /// As [`WorkspaceLocation::prepare`], for a folder that was moved: its history gets the name of the new path.
    pub(crate) fn prepare_moved(
        root: &Path,
        from: &Path,
        data_dir: Option<&Path>,
    ) -> Result<Self, Failure> {
        let canonical = canonical_root(root)?;
        let histories = data_folder(data_dir)?.join("workspaces");
        let (old, new) =
            (histories.join(state_name(&absolute(from)?)), histories.join(state_name(&canonical)));
        if !old.join("journal.db").is_file() {
            let message = format!("there is no history of a folder at {}", from.display());
            return Err(Failure::new(FaultCode::NotFound, message)
                .with_hint("--from names the folder's former path"));
        }
        if new.join("journal.db").is_file() {
            let message = format!("{} has a history of its own already", canonical.display());
            return Err(Failure::new(FaultCode::Exists, message)
                .with_hint("without --from, `toolyard adopt` goes on with that one"));
        }
        let to_failure = |error| Failure::io("the history cannot be moved", &error);
        // Anything else there was made by opening a folder without a history.
        match fs::remove_dir_all(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(to_failure(error)),
            _ => {}
        }
        fs::rename(&old, &new).map_err(to_failure)?;
        Self::prepare(root, data_dir)
    }

    /// Renames a journal that cannot be read, so that a new one can begin. Returns its new name.
    pub(crate) fn set_damaged_journal_aside(&self, now: Timestamp) -> Result<String, Failure> {
        let name = format!("journal.db.damaged-{}", now.as_millis());
        for part in ["", "-wal", "-shm"] {
            let from = self.state_dir.join(format!("journal.db{part}"));
            match fs::rename(from, self.state_dir.join(format!("{name}{part}"))) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Failure::io("the damaged journal cannot be kept", &error));
                }
                _ => {}
            }
        }
        Ok(name)
    }
}

/// The data folder: it has the configuration, the token secret and the histories.
#[derive(Clone, Debug)]
pub(crate) struct DataFolder(PathBuf);

impl DataFolder {
    /// Finds the data folder, and makes it if it does not exist.
    pub(crate) fn prepare(data_dir: Option<&Path>) -> Result<Self, Failure> {
        let folder = data_folder(data_dir)?;
        make_data_folder(&folder)?;
        Ok(Self(folder))
    }

    /// The folder itself.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Reads the configuration, if there is one. A file that the operator named must exist.
    pub(crate) fn config(&self, named: Option<&Path>) -> Result<Option<String>, Failure> {
        let file = named.map_or_else(|| self.0.join("toolyard.toml"), Path::to_owned);
        match fs::read_to_string(&file) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound && named.is_none() => Ok(None),
            Err(error) => {
                let what = format!("the configuration {} cannot be read", file.display());
                Err(Failure::io(&what, &error))
            }
        }
    }

    /// The secret that signs tokens. It is made once, and other users cannot read it.
    pub(crate) fn token_secret(&self, new: impl Fn() -> Option<String>) -> Result<String, Failure> {
        use std::io::Write as _;
        use std::os::unix::fs::OpenOptionsExt as _;
        let file = self.0.join("jwt.secret");
        let to_failure =
            |error| Failure::io("the token secret in the data folder cannot be used", &error);
        match fs::read_to_string(&file) {
            Ok(text) => return Ok(text.trim().to_owned()),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(to_failure(error)),
            Err(_) => {}
        }
        let secret = new().ok_or_else(|| {
            Failure::new(FaultCode::Unavailable, "this machine has no source of secrets")
        })?;
        // The file is complete when it gets its name. If two servers start at once, the first one names it.
        let draft = self.0.join(format!("jwt.secret.{}", state_name(Path::new(&secret))));
        let written =
            fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(&draft);
        written
            .and_then(|mut file| file.write_all(secret.as_bytes()).and_then(|()| file.sync_all()))
            .map_err(to_failure)?;
        let placed = fs::hard_link(&draft, &file);
        let _ = fs::remove_file(&draft);
        // Tokens that it signs outlive a crash, so the name of the file must be durable too.
        fs::File::open(&self.0).and_then(|folder| folder.sync_all()).map_err(to_failure)?;
        match placed {
            Ok(()) => Ok(secret),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                fs::read_to_string(&file).map(|text| text.trim().to_owned()).map_err(to_failure)
            }
            Err(error) => Err(to_failure(error)),
        }
    }

    /// The folder of a server's workspace and the folder of its history. Both are made if they do not exist.
    pub(crate) fn workspace(&self, id: &str) -> Result<WorkspaceLocation, Failure> {
        let root = self.0.join("workspaces").join(id);
        let state_dir = self.0.join("journals").join(id);
        make_private_folder(&root)?;
        make_private_folder(&state_dir)?;
        Ok(WorkspaceLocation { root, state_dir })
    }
}

/// The canonical path of an existing folder, as text.
pub(crate) fn canonical_text(folder: &Path) -> Result<String, Failure> {
    let root = canonical_root(folder)?;
    root.into_os_string().into_string().map_err(|path| {
        let message = format!("{} cannot be written into a configuration", path.display());
        Failure::new(FaultCode::BadPath, message)
    })
}

/// The path of a root as it was given and its canonical path, if these differ because of a link.
pub(crate) fn link_and_target(root: &Path) -> Option<(String, String)> {
    let given = std::path::absolute(root).ok()?.into_os_string().into_string().ok()?;
    let given = given.trim_end_matches('/').to_owned();
    let real = canonical_root(root).ok()?.into_os_string().into_string().ok()?;
    (given != real && !given.is_empty()).then_some((given, real))
}

/// A path of the host with its links resolved, or unchanged if nothing exists there.
pub(crate) fn resolve_links(path: &[u8]) -> Vec<u8> {
    let found = fs::canonicalize(Path::new(OsStr::from_bytes(path)));
    found.map_or_else(|_| path.to_vec(), |path| path.into_os_string().into_vec())
}

/// All variables of the environment.
pub(crate) fn environment() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}

/// The canonical path of `folder`, if it is one of the folders that the operator allowed or lies below one.
pub(crate) fn allowed_folder(folder: &Path, allowed: &[PathBuf]) -> Option<PathBuf> {
    let canonical = fs::canonicalize(folder).ok().filter(|path| path.is_dir())?;
    let holds_it = |allowed: &PathBuf| {
        fs::canonicalize(allowed).is_ok_and(|allowed| canonical.starts_with(allowed))
    };
    allowed.iter().any(holds_it).then_some(canonical)
}

fn canonical_root(root: &Path) -> Result<PathBuf, Failure> {
    let shown = root.display();
    let canonical = fs::canonicalize(root).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            Failure::new(FaultCode::NotFound, format!("no such folder: {shown}"))
                .with_hint("--root names the folder to work on; it must exist")
        }
        _ => Failure::io(&format!("the root {shown} cannot be used"), &error),
    })?;
    if canonical.is_dir() {
        return Ok(canonical);
    }
    Err(Failure::new(FaultCode::NotFolder, format!("not a folder: {shown}"))
        .with_hint("--root names the folder to work on"))
}

/// The data folder, if it exists.
pub(crate) fn existing_data_folder(chosen: Option<&Path>) -> Option<PathBuf> {
    data_folder(chosen).ok().filter(|folder| folder.is_dir())
}

/// The data folder, if a server has people and keys in it.
pub(crate) fn data_folder_of_server(chosen: Option<&Path>) -> Option<PathBuf> {
    existing_data_folder(chosen).filter(|folder| folder.join("people.db").is_file())
}

/// The other roots that have a history in the data folder.
pub(crate) fn other_roots(root: &Path, data_dir: Option<&Path>) -> Vec<PathBuf> {
    let Some(data) = existing_data_folder(data_dir) else { return Vec::new() };
    let Ok(states) = fs::read_dir(data.join("workspaces")) else { return Vec::new() };
    let notes = states.flatten().filter_map(|state| fs::read(state.path().join(ROOT_FILE)).ok());
    let roots = notes.map(|note| {
        let path = note.strip_suffix(b"\n").unwrap_or(&note);
        PathBuf::from(OsStr::from_bytes(path))
    });
    roots.filter(|other| other != root && other.is_dir()).collect()
}

/// The roots on this machine that have a history in the data folder, each with the id that the name of its state folder
/// is. Folders that are gone are left out.
pub(crate) fn local_histories(data: &Path) -> Vec<(WorkspaceId, PathBuf)> {
    let states = fs::read_dir(data.join("workspaces")).into_iter().flatten().flatten();
    let local = states.filter_map(|state| {
        let name = state.file_name().into_string().ok()?;
        let id =
            u128::from_str_radix(&name, 16).ok().filter(|_| name.len() == STATE_NAME_DIGITS)?;
        let path = state.path();
        let note =
            fs::read(path.join(ROOT_FILE)).ok().filter(|_| path.join("journal.db").is_file())?;
        let root = PathBuf::from(OsStr::from_bytes(note.strip_suffix(b"\n").unwrap_or(&note)));
        root.is_dir().then(|| (WorkspaceId::from_bytes(id.to_be_bytes()), root))
    });
    local.collect()
}

/// The folder that keeps the history of a workspace.
pub(crate) struct StateFolder {
    /// What people know the workspace by: its root, or on a server its id.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

/// Every folder of a data folder that keeps the history of a workspace.
pub(crate) fn state_folders(data: &Path) -> Vec<StateFolder> {
    let inside = |folder: &str| {
        let entries = fs::read_dir(data.join(folder)).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.join("journal.db").is_file())
    };
    let own_name =
        |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let local = inside("workspaces").filter_map(|path| {
        // A server's data folder holds workspaces in the same place; their names are ids.
        let is_ours = own_name(&path).len() == STATE_NAME_DIGITS;
        let note = fs::read_to_string(path.join(ROOT_FILE)).ok().filter(|_| is_ours)?;
        Some(StateFolder { name: note.trim_end_matches('\n').to_owned(), path })
    });
    let served = inside("journals").map(|path| StateFolder { name: own_name(&path), path });
    local.chain(served).collect()
}

/// An absolute path with its links resolved as far as it exists: what does not exist yet is made
/// later, so it holds no links.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    let to_failure = |error| Failure::io("the data folder cannot be used", &error);
    let path = std::path::absolute(path).map_err(to_failure)?;
    for existing in path.ancestors() {
        match fs::canonicalize(existing) {
            Ok(canonical) => {
                let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
                return Ok(join_normalized(canonical, rest));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(to_failure(error)),
        }
    }
    Ok(path)
}

fn join_normalized(mut base: PathBuf, rest: &Path) -> PathBuf {
    for component in rest.components() {
        match component {
            Component::ParentDir => {
                base.pop();
            }
            Component::Normal(name) => base.push(name),
            _ => {}
        }
    }
    base
}

/// The data folder that was chosen, or the default one of the user.
fn data_folder(chosen: Option<&Path>) -> Result<PathBuf, Failure> {
    match chosen {
        Some(chosen) => absolute(chosen),
        None => default_data_dir(|name| std::env::var_os(name)),
    }
}

fn default_data_dir(env: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, Failure> {
    let folder = |name| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let user_data =
        folder("XDG_DATA_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/share")));
    match user_data {
        Some(user_data) => absolute(&user_data.join("toolyard")),
        None => Err(Failure::new(
            FaultCode::Unavailable,
            "no folder to keep the history in: HOME is not set",
        )
        .with_hint("choose one with --data-dir or TOOLYARD_DATA_DIR")),
    }
}

/// Refuses a data folder inside the root, and a root inside the data folder: the tools would list, search and edit the
/// history.
fn refuse_overlap(root: &Path, data_dir: &Path) -> Result<(), Failure> {
    let advice = "choose a data folder outside of the root with --data-dir or TOOLYARD_DATA_DIR";
    if data_dir.starts_with(root) {
        let message =
            "the data folder is inside the root; history is never kept inside the project";
        return Err(Failure::new(FaultCode::BadArgument, message).with_hint(advice));
    }
    if root.starts_with(data_dir) {
        let message = "the root is inside the data folder, where history is kept";
        return Err(Failure::new(FaultCode::BadArgument, message)
            .with_hint("choose another root with --root"));
    }
    Ok(())
}

fn state_name(root: &Path) -> String {
    let mut name = ContentHash::of(root.as_os_str().as_bytes()).to_string();
    name.truncate(STATE_NAME_DIGITS);
    name
}

/// Makes a folder that only its owner can read, because a history has every version of every file.
fn make_private_folder(folder: &Path) -> Result<(), Failure> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| {
        Failure::io("the data folder cannot be made", &error)
            .with_hint("choose another with --data-dir or TOOLYARD_DATA_DIR")
    })
}

/// Makes the data folder, or checks that no other user can read the existing one. The mode of an empty folder is
/// changed; with any other folder it is an error, because something may depend on its mode.
fn make_data_folder(folder: &Path) -> Result<(), Failure> {
    make_private_folder(folder)?;
    let to_failure = |error| Failure::io("the data folder cannot be used", &error);
    let mode = fs::metadata(folder).map_err(to_failure)?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    if fs::read_dir(folder).map_err(to_failure)?.next().is_none() {
        let private = fs::Permissions::from_mode(0o700);
        return fs::set_permissions(folder, private).map_err(to_failure);
    }
    let shown = folder.display();
    let message = format!(
        "others on this machine can look into the data folder {shown} (mode {:o}), which holds every \
         version of every file, and a server's accounts",
        mode & 0o7777
    );
    Err(Failure::new(FaultCode::Denied, message)
        .with_hint(format!("close it with `chmod 700 {shown}`, or choose another with --data-dir")))
}

/// Writes the path of the root into its state folder, for people who look there and for `doctor`.
fn record_root(state_dir: &Path, root: &Path) -> Result<(), Failure> {
    let note = state_dir.join(ROOT_FILE);
    let text = [root.as_os_str().as_bytes(), b"\n"].concat();
    if fs::read(&note).is_ok_and(|known| known == text) {
        return Ok(());
    }
    fs::write(&note, text).map_err(|error| Failure::io("the data folder cannot be used", &error))
}

/// Whether anything exists at `path` below `root`.
pub(crate) fn exists_below(root: &Path, path: &WsPath) -> bool {
    root.join(OsStr::from_bytes(path.relative())).symlink_metadata().is_ok()
}

/// The path in the workspace of an existing file that is named relative to the current folder, if that is in `root`.
pub(crate) fn below_current_folder(root: &Path, relative: &Path) -> Option<WsPath> {
    let folder = std::env::current_dir().ok()?.canonicalize().ok()?;
    let path = join_normalized(folder, relative);
    path.symlink_metadata().ok()?;
    WsPath::from_bytes(path.strip_prefix(root).ok()?.as_os_str().as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn default_for(vars: &[(&str, &str)]) -> Option<PathBuf> {
        let get = |name: &str| {
            vars.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        default_data_dir(get).ok()
    }

    #[test]
    fn the_data_folder_follows_the_environment() {
        assert_eq!(default_for(&[("XDG_DATA_HOME", "/nowhere")]), Some("/nowhere/toolyard".into()));
        assert_eq!(default_for(&[("XDG_DATA_HOME", "relative")]), None);
        assert_eq!(default_for(&[]), None);
        let home = default_for(&[("HOME", "/nowhere")]).unwrap();
        assert!(home.starts_with("/nowhere") && home.ends_with("toolyard"));
    }

    #[test]
    fn overlapping_folders_are_refused() {
        let refused =
            |root: &str, data: &str| refuse_overlap(Path::new(root), Path::new(data)).is_err();
        assert!(refused("/a", "/a"));
        assert!(refused("/a", "/a/data"));
        assert!(refused("/", "/data"));
        assert!(refused("/data/workspaces/x", "/data"));
        assert!(!refused("/a", "/ab"));
        assert!(refused("/data/project", "/data"));
    }

    #[test]
    fn a_folder_that_is_not_there_yet_is_found_through_links() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        fs::create_dir(base.join("real")).unwrap();
        std::os::unix::fs::symlink("real", base.join("link")).unwrap();
        assert_eq!(absolute(&base.join("link/a/../b")).unwrap(), base.join("real/b"));
    }

    #[test]
    fn a_root_has_one_state_folder() {
        assert_eq!(state_name(Path::new("/srv/job")).len(), STATE_NAME_DIGITS);
        assert_ne!(state_name(Path::new("/srv/job")), state_name(Path::new("/srv/job2")));
    }
}
