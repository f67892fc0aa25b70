//! Converts errors of calls to the disk to faults.

use rustix::io::Errno;
use yard_core::{Fault, FaultCode, Subject, WsPath};

/// The error number of the operating system.
pub(crate) fn errno_of(error: &std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}

/// The fault for a call that only reads.
pub(crate) fn read_fault(errno: Errno, path: &WsPath) -> Fault {
    match errno {
        Errno::ACCESS | Errno::PERM => Fault::new(
            FaultCode::ReadRefused,
            format!(
                "the operating system does not let this program read {path}. Leave it out, or ask the person to \
                 change its mode or owner"
            ),
        ),
        _ => common_fault(errno, path),
    }
    .about(Subject::Path)
}

/// The fault for a call that would change something.
pub fn write_fault(errno: Errno, path: &WsPath) -> Fault {
    match errno {
        Errno::ACCESS | Errno::PERM | Errno::ROFS => Fault::new(
            FaultCode::WriteRefused,
            format!(
                "the operating system does not let this program change {path}: {errno}. Ask the person to change \
                 its mode or owner, or those of its folder"
            ),
        ),
        Errno::NOSPC | Errno::DQUOT => {
            let message = "the disk is full; nothing was changed. Ask the person to free some space, then call again";
            Fault::new(FaultCode::DiskFull, message)
        }
        Errno::EXIST => Fault::new(FaultCode::Exists, format!("{path} exists already; choose another name")),
        Errno::NOTEMPTY => {
            Fault::new(FaultCode::NotEmpty, format!("{path} is not empty; remove what is in it first"))
        }
        _ => common_fault(errno, path),
    }
    .about(Subject::Path)
}

/// The fault for a call in the staging folder. There, ENOENT means that the folder itself is missing, not the file of
/// the caller.
pub(crate) fn stage_fault(errno: Errno, path: &WsPath) -> Fault {
    match errno {
        Errno::NOENT => Fault::new(
            FaultCode::Io,
            "the folder where changes are prepared is gone: the data folder was removed, or moved \
             away; nothing was changed",
        ),
        _ => write_fault(errno, path),
    }
}

fn common_fault(errno: Errno, path: &WsPath) -> Fault {
    match errno {
        Errno::NOENT => not_found(path),
        Errno::NOTDIR => {
            let message = format!(
                "a part of {path} is a file, not a folder. Name a path whose folders are folders"
            );
            Fault::new(FaultCode::NotFolder, message)
        }
        Errno::LOOP | Errno::XDEV => Fault::new(
            FaultCode::PathOutside,
            format!(
                "{path} goes through a link that leaves the workspace or changed during the call. Name a file or \
                 folder of the workspace itself"
            ),
        ),
        Errno::NAMETOOLONG => Fault::new(
            FaultCode::BadPath,
            format!("{path} is too long for this file system. Choose shorter names"),
        ),
        _ => Fault::new(
            FaultCode::Io,
            format!(
                "{path}: {errno}. Call again; if it stays so, tell the person that the disk fails"
            ),
        ),
    }
}

/// There is no entry at `path`.
pub fn not_found(path: &WsPath) -> Fault {
    Fault::new(FaultCode::NotFound, format!("File not found: {path}")).about(Subject::Path)
}

/// A folder is at `path`, where a file is needed.
pub fn is_folder(path: &WsPath) -> Fault {
    let message = format!(
        "{path} is a folder, not a file: name a file in it, or list it to see what it holds"
    );
    Fault::new(FaultCode::IsFolder, message).about(Subject::Path)
}

/// A FIFO, socket or device is at `path`, which is never opened (R3).
pub fn special(path: &WsPath, what: &str) -> Fault {
    let message =
        format!("{path} is {what}; only files, folders and links can be used. Name one of these");
    Fault::new(FaultCode::Binary, message).about(Subject::Path)
}
