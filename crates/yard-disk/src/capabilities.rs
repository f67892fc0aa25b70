//! Rights of root that a file gives to whoever runs it. Nothing here sets any.

use std::fs::File;

use rustix::io::Errno;

/// The attribute that gives a program rights of root.
const CAPABILITIES: &str = "security.capability";

/// Takes the capabilities off a file that a command left: whoever runs it would have them.
pub(super) fn remove(file: &File) -> std::result::Result<(), Errno> {
    match rustix::fs::fremovexattr(file, CAPABILITIES) {
        Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
        // Who may not remove them did not set them either: the file is somebody's whose file this is not.
        Err(Errno::PERM | Errno::ACCESS) => {
            match rustix::fs::fgetxattr(file, CAPABILITIES, &mut [0_u8; 0][..]) {
                Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
                _ => Err(Errno::PERM),
            }
        }
        Err(errno) => Err(errno),
    }
}
