//! The PATH, the home and the variables of the user who runs this program. Boxes show the programs and caches that
//! these name. This module reads the environment and nothing else.

#![allow(clippy::disallowed_methods, reason = "the environment of the user is read here")]

use std::ffi::OsString;
use std::path::PathBuf;

/// The environment of the user whose programs and caches boxes show.
pub(crate) struct UserEnvironment<'a> {
    /// The user's PATH.
    pub(crate) path: OsString,
    /// The user's home, if it is an absolute path.
    pub(crate) home: Option<PathBuf>,
    /// Reads a variable.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<OsString>,
}

impl UserEnvironment<'static> {
    /// The environment of this process.
    pub(crate) fn of_this_process() -> Self {
        let variable: &'static dyn Fn(&str) -> Option<OsString> = &|name| std::env::var_os(name);
        Self {
            path: variable("PATH").unwrap_or_default(),
            home: variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute()),
            variable,
        }
    }
}
