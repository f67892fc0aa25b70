//! The folders that this program uses: the root that is worked on, the folder that keeps its history, and the data
//! folder that has all histories. History is never inside a root.

#![allow(clippy::disallowed_methods, reason = "only the binary finds and makes the data folder")]

mod data_dir;
mod histories;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use yard_core::{FaultCode, Timestamp, WsPath};

use self::data_dir::{
    absolute, data_folder, join_normalized, make_data_folder, make_private_folder,
};
pub(crate) use self::data_dir::{data_folder_of_server, existing_data_folder};
pub(crate) use self::histories::{
    JournalStamp, StateFolder, local_histories, missing_roots, other_roots, state_dir_of,
    state_folders,
};
use self::histories::{record_root, state_name};
use crate::failure::Failure;

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
}
