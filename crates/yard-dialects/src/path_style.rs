//! How the callers of a dialect write paths (R2). Only the kernel knows whether a file exists.

use yard_core::{Fault, FaultCode, PathError, WsPath};

use crate::args;

/// How the callers of a dialect write paths (R2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathStyle {
    /// `/` is the root of the workspace.
    Rooted,
    /// Paths are relative to the root of the workspace; an absolute one is taken only if it lies in
    /// the workspace's own directory.
    Relative,
    /// Paths of the host at or below the workspace's own directory, or relative to it; for a caller that
    /// may not see them, as [`PathStyle::Rooted`].
    Host,
}

impl PathStyle {
    pub(crate) fn read(self, text: &str, host_root: &[u8]) -> Result<WsPath, PathError> {
        match self {
            Self::Rooted => WsPath::parse_under(text, host_root),
            Self::Relative | Self::Host => WsPath::parse_relative(text, host_root),
        }
    }

    /// As [`PathStyle::read`], but white space around the text is part of the path.
    pub(crate) fn read_exactly(self, text: &str, host_root: &[u8]) -> Result<WsPath, PathError> {
        match self {
            Self::Rooted => WsPath::under_shown(text, host_root),
            Self::Relative | Self::Host => WsPath::relative_shown(text, host_root),
        }
    }

    /// How a path is to be written.
    fn advice(self) -> &'static str {
        match self {
            Self::Rooted => "Send a path that starts at /, the root of the workspace",
            Self::Relative => {
                "Send a path relative to the root of the workspace, without a leading slash, such \
                 as src/main.rs; the root itself is ."
            }
            Self::Host => {
                "Send a path below a directory that list_allowed_directories names, or one relative \
                 to it, such as src/main.rs"
            }
        }
    }

    pub(crate) fn fault(self, text: &str, error: PathError) -> Fault {
        let code = match error {
            PathError::Outside | PathError::Elsewhere => FaultCode::PathOutside,
            _ => FaultCode::BadPath,
        };
        let wrong = match error {
            PathError::Empty => "the path is empty".to_owned(),
            error => format!("{error} ({})", args::quoted(text)),
        };
        Fault::new(code, format!("{wrong}. {}", self.advice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2_a_path_that_climbs_out_and_a_malformed_one_have_different_codes() {
        let fault = |text, error| PathStyle::Rooted.fault(text, error);
        assert_eq!(fault("/..", PathError::Outside).code(), FaultCode::PathOutside);
        assert_eq!(fault("", PathError::Empty).code(), FaultCode::BadPath);
        assert!(fault("/../x", PathError::Outside).message().contains("/../x"));
        let fault = PathStyle::Relative.fault("/etc/passwd", PathError::Elsewhere);
        assert_eq!(fault.code(), FaultCode::PathOutside);
        assert!(fault.message().contains("without a leading slash"), "{fault}");
    }
}
