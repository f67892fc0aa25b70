//! Who runs this program, as far as boxes have to know it: their PATH, their home and the variables that say where
//! their tools are. It reads the environment and nothing else.

#![allow(clippy::disallowed_methods, reason = "the environment of whoever runs this program")]

use std::ffi::OsString;
use std::path::PathBuf;

/// The person whose programs and caches are meant.
pub(crate) struct Person<'a> {
    /// Their PATH.
    pub(crate) path: OsString,
    pub(crate) home: Option<PathBuf>,
    /// What a variable of theirs is.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<OsString>,
}

impl Person<'static> {
    /// Whoever runs this process.
    pub(crate) fn of_this_process() -> Self {
        let variable: &'static dyn Fn(&str) -> Option<OsString> = &|name| std::env::var_os(name);
        Self {
            path: variable("PATH").unwrap_or_default(),
            home: variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute()),
            variable,
        }
    }
}
