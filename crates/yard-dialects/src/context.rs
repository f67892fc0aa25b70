//! What a running tool may use: its caller's session, and the paths as this caller writes and reads them. Every
//! operation goes through the gate; nothing here knows a dialect.

pub(crate) mod message_paths;
pub(crate) mod mounted_paths;
pub(crate) mod suggestions;

use yard_core::{Call, Limits, PathError, Subject, WsPath};
use yard_gate::{Attempt, Execute, Session};

use crate::path_style::PathStyle;
use crate::relative;
use crate::stop::{Stop, completed};

/// What a tool may use: one attempt of its caller's session.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The access to the workspace, which the gate judges.
    pub attempt: &'a Attempt<'a>,
    /// How the dialect writes paths.
    pub path_style: PathStyle,
}

impl<'a> Context<'a> {
    /// The caller's session.
    pub fn session(&self) -> &'a Session {
        self.attempt.session()
    }

    /// Deadline, cancel flag, clock.
    pub fn call(&self) -> &'a Call {
        self.attempt.call()
    }

    /// The context of another attempt of the caller.
    pub(crate) fn with<'b>(&self, attempt: &'b Attempt<'b>) -> Context<'b> {
        Context { attempt, path_style: self.path_style }
    }
}

impl Context<'_> {
    /// Performs one operation through the gate.
    pub fn perform<O: Execute>(&self, op: O) -> Result<O::Answer, Stop> {
        let named = op.named_paths();
        let performed = self.attempt.perform(op);
        completed(performed.map_err(|fault| self.fault_for_caller(fault, &named))?)
    }

    /// The bounds that answers keep.
    pub fn limits(&self) -> &Limits {
        self.session().limits()
    }

    /// Reads a path as the caller wrote it (R2).
    pub fn path(&self, text: &str) -> Result<WsPath, Stop> {
        self.path_about(text, Subject::Path)
    }

    /// A path as the caller reads and writes it.
    pub fn display(&self, path: &WsPath) -> String {
        let from_top = self.mount().map(|mount| mounted_paths::from_top(mount, path));
        let path = from_top.as_ref().unwrap_or(path);
        match self.path_style() {
            PathStyle::Rooted => path.to_string(),
            PathStyle::Relative => relative::display(path),
            PathStyle::Host => self.host_display(path),
        }
    }

    /// The host path of a path; from `/` for a caller that may not see host paths (R13).
    pub(crate) fn host_display(&self, path: &WsPath) -> String {
        let root = match self.session().shows_host_paths() {
            true => String::from_utf8_lossy(self.session().host_root()),
            false => "".into(),
        };
        match (root.trim_end_matches('/'), path.is_root()) {
            (root, true) if !root.is_empty() => root.to_owned(),
            (root, _) => format!("{root}{path}"),
        }
    }

    /// A path that was sent, as [`Context::display`] writes it; as it was sent if it is no path.
    pub fn display_sent(&self, text: &str) -> String {
        self.path(text).map_or_else(|_| text.to_owned(), |path| self.display(&path))
    }

    /// A path from the root of the workspace, which is none of the caller's.
    pub(crate) fn own_path(&self, text: &str) -> Result<WsPath, Stop> {
        WsPath::parse(text).map_err(|error| self.path_stop(text, error, Subject::Path))
    }

    /// As [`Context::path`], for the argument that `subject` names.
    pub fn path_about(&self, text: &str, subject: Subject) -> Result<WsPath, Stop> {
        let text = &*self.session().with_real_root(text);
        if let Some(path) = self.exact_path(text, subject) {
            return Ok(path);
        }
        let read = self.path_style().read(text, self.session().host_root());
        self.path_in_root(text, read, WsPath::parse, subject)
    }

    /// The path exactly as it was sent, if that begins or ends with white space and a file has this very name.
    /// Otherwise a path means the same without white space around it.
    fn exact_path(&self, text: &str, subject: Subject) -> Option<WsPath> {
        if text.trim() == text {
            return None;
        }
        let read = self.path_style().read_exactly(text, self.session().host_root());
        let path = self.path_in_root(text, read, WsPath::parse_shown, subject).ok()?;
        self.attempt.is_there(&path).then_some(path)
    }

    /// A path of a patch, in which white space is part of a name.
    pub(crate) fn patch_path(&self, text: &str) -> Result<WsPath, Stop> {
        let text = &*self.session().with_real_root(text);
        let path = match self.path_style() {
            PathStyle::Rooted => WsPath::parse_shown(text),
            PathStyle::Relative | PathStyle::Host => {
                WsPath::relative_shown(text, self.session().host_root())
            }
        };
        self.path_in_root(text, path, WsPath::parse_shown, Subject::Patch)
    }

    pub(crate) fn path_stop(&self, text: &str, error: PathError, subject: Subject) -> Stop {
        Stop::Fault(self.path_style().fault(text, error).about(subject))
    }

    /// How this caller writes paths.
    pub(crate) fn path_style(&self) -> PathStyle {
        match self.path_style {
            PathStyle::Host if !self.session().shows_host_paths() => PathStyle::Rooted,
            style => style,
        }
    }
}
