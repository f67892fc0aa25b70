//! Removes capabilities from files: rights of root that a program gives to every user who runs it.

use std::fs::File;

use rustix::io::Errno;

use crate::folders::DiskResult;

/// The attribute that gives a program rights of root.
const CAPABILITIES: &str = "security.capability";

/// Removes the capabilities of a file that a command wrote.
pub(crate) fn remove(file: &File) -> DiskResult {
    match rustix::fs::fremovexattr(file, CAPABILITIES) {
        Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
        // A process that may not remove them could not have set them: fail only if the file has any.
        Err(Errno::PERM | Errno::ACCESS) => {
            match rustix::fs::fgetxattr(file, CAPABILITIES, &mut [0_u8; 0][..]) {
                Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
                _ => Err(Errno::PERM),
            }
        }
        Err(errno) => Err(errno),
    }
}
