//! What a running tool may reach: its caller's session, and the paths that this caller writes and reads. Every
//! operation goes through the gate; nothing here knows a dialect.

pub(crate) mod missing;
pub(crate) mod paths_in_words;
pub(crate) mod roots;

use yard_core::{Call, Limits, PathError, Subject, WsPath};
use yard_gate::{Attempt, Completion, Execute, Session};

use crate::paths::Paths;
use crate::relative;
use crate::stop::Stop;

/// What a tool may reach: one attempt of its caller's session, and nothing else.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The way to the workspace, for what is judged.
    pub attempt: &'a Attempt<'a>,
    /// What a path means.
    pub paths: Paths,
}

impl<'a> Context<'a> {
    /// Who is calling.
    pub fn session(&self) -> &'a Session {
        self.attempt.session()
    }

    /// Deadline, cancel flag, clock.
    pub fn call(&self) -> &'a Call {
        self.attempt.call()
    }

    /// The same for another attempt of the caller.
    pub(crate) fn with<'b>(&self, attempt: &'b Attempt<'b>) -> Context<'b> {
        Context { attempt, paths: self.paths }
    }
}

impl Context<'_> {
    /// Performs one operation through the gate.
    pub fn perform<O: Execute>(&self, op: O) -> Result<O::Answer, Stop> {
        let named = op.named_paths();
        let performed = self.attempt.perform(op);
        match performed.map_err(|fault| self.told(fault, &named))? {
            Completion::Done(answer) => Ok(answer),
            Completion::Pending(pending) => Err(Stop::Pending(pending)),
        }
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
    pub fn shown(&self, path: &WsPath) -> String {
        let from_top = self.mount().map(|mount| roots::from_top(mount, path));
        let path = from_top.as_ref().unwrap_or(path);
        match self.paths() {
            Paths::Rooted => path.to_string(),
            Paths::Relative => relative::shown(path),
            Paths::Host => self.host_shown(path),
        }
    }

    /// A path as the host has it; from `/` for a caller that may not see the host (R13).
    pub(crate) fn host_shown(&self, path: &WsPath) -> String {
        let root = match self.session().shows_host_paths() {
            true => String::from_utf8_lossy(self.session().host_root()),
            false => "".into(),
        };
        match (root.trim_end_matches('/'), path.is_root()) {
            (root, true) if !root.is_empty() => root.to_owned(),
            (root, _) => format!("{root}{path}"),
        }
    }

    /// A path that was sent, as it is shown; as it was sent if it is no path.
    pub fn shown_again(&self, text: &str) -> String {
        self.path(text).map_or_else(|_| text.to_owned(), |path| self.shown(&path))
    }

    /// A path that the caller did not write, as the workspace itself has it.
    pub(crate) fn own_path(&self, text: &str) -> Result<WsPath, Stop> {
        WsPath::parse(text).map_err(|error| self.path_stop(text, error, Subject::Path))
    }

    /// As [`Context::path`], for a path that is another argument.
    pub fn path_about(&self, text: &str, subject: Subject) -> Result<WsPath, Stop> {
        let text = &*self.session().with_real_root(text);
        if let Some(path) = self.exact_path(text, subject) {
            return Ok(path);
        }
        let read = self.paths().read(text, self.session().host_root());
        self.entered(text, read, WsPath::parse, subject)
    }

    /// What is at a path exactly as it was sent, where that begins or ends with white space: it comes
    /// before what the path means without it.
    fn exact_path(&self, text: &str, subject: Subject) -> Option<WsPath> {
        if text.trim() == text {
            return None;
        }
        let read = self.paths().read_exactly(text, self.session().host_root());
        let path = self.entered(text, read, WsPath::parse_shown, subject).ok()?;
        self.session().is_there(&path).then_some(path)
    }

    /// A path of a patch: white space is part of its name.
    pub(crate) fn patch_path(&self, text: &str) -> Result<WsPath, Stop> {
        let text = &*self.session().with_real_root(text);
        let path = match self.paths() {
            Paths::Rooted => WsPath::parse_shown(text),
            Paths::Relative | Paths::Host => {
                WsPath::relative_shown(text, self.session().host_root())
            }
        };
        self.entered(text, path, WsPath::parse_shown, Subject::Patch)
    }

    pub(crate) fn path_stop(&self, text: &str, error: PathError, subject: Subject) -> Stop {
        Stop::Fault(self.paths().fault(text, error).about(subject))
    }

    /// What a path means to this caller.
    pub(crate) fn paths(&self) -> Paths {
        match self.paths {
            Paths::Host if !self.session().shows_host_paths() => Paths::Rooted,
            paths => paths,
        }
    }
}
