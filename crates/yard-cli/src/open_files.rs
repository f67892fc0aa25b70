//! The limit of open files of a server, and what it is for: half of it for workspaces, a quarter for connections, and the
//! rest for commands.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use yard_gate::admin::Server;

/// Files that an open workspace holds: its databases, its folders and its locks.
const FILES_OF_A_WORKSPACE: u64 = 16;

/// The limit of open files, if there is one.
#[derive(Clone, Copy)]
pub(crate) struct OpenFiles(Option<u64>);

impl OpenFiles {
    /// Raises the limit to what the system allows.
    pub(crate) fn raise() -> Self {
        let limit = getrlimit(Resource::Nofile);
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
        Self(getrlimit(Resource::Nofile).current)
    }

    /// How many connections fit into it.
    pub(crate) fn connections(self) -> Option<usize> {
        self.0.map(|files| to_usize(files / 4))
    }

    /// The same server, which opens no more workspaces at once than fit into it.
    pub(crate) fn bound(self, server: Server) -> Server {
        match self.0 {
            Some(files) => server.with_open_workspaces(to_usize(files / 2 / FILES_OF_A_WORKSPACE)),
            None => server,
        }
    }
}

fn to_usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::OpenFiles;

    #[test]
    fn a_quarter_of_the_files_is_for_connections() {
        assert_eq!(OpenFiles(Some(1_024)).connections(), Some(256));
        assert_eq!(OpenFiles(None).connections(), None);
    }
}
