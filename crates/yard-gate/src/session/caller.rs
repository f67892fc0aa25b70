//! The caller of a session, and what it may not do: toolsets, folders, and properties of the client through which it calls.
//! Each method makes a session that may do less, or a check that says so.

use std::sync::Arc;

use yard_core::{Effect, EffectKind, Fault, FaultCode, PathEffect, Result, WsPath};

use super::Session;
use crate::{Actor, CallerPolicy, Verdict};

/// The toolset of reads and changes of files without a tool.
pub const FILES_TOOLSET: &str = "workspace";
/// The doors, which audit rows name instead of a toolset where no tool is called.
const DOORS: [&str; 2] = ["http", "mcp"];

/// The caller and the limits of all its calls.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) actor: Actor,
    pub(super) policy: CallerPolicy,
    /// The toolsets that it may use, if not all of them.
    pub(super) toolsets: Option<Arc<[String]>>,
    /// The only folders that it may read and change, if it is confined to some.
    pub(super) folders: Option<Arc<[WsPath]>>,
    pub(super) client: Client,
}

/// The properties of the client through which the calls come.
#[derive(Clone, Copy, Default)]
pub(super) struct Client {
    /// Answers may name paths of the host (R13).
    pub(super) shows_host_paths: bool,
    /// Its calls that only read are not recorded.
    pub(super) records_only_changes: bool,
    /// No person can be asked: a call that would ask is refused.
    pub(super) has_no_person: bool,
    /// Its process ends with the call, and so do the terminals that the call opens.
    pub(super) is_for_one_call: bool,
}

impl Session {
    /// The same session, whose transcript has only calls that may change something: for a client that reads a thousand
    /// files in a minute.
    #[must_use]
    pub fn recording_changes(&self) -> Self {
        self.with(|session| session.caller.client.records_only_changes = true)
    }

    /// The same session, confined to these folders: it can read and change nothing else. This narrows its rights and
    /// never widens them.
    #[must_use]
    pub fn confined_to(&self, folders: Vec<WsPath>) -> Self {
        self.with(|session| session.caller.folders = Some(folders.into()))
    }

    /// The folders that the caller is confined to; the root, if it is confined to none.
    pub fn folders(&self) -> Vec<WsPath> {
        let folders = self.caller.folders.as_ref();
        folders.map_or_else(|| vec![WsPath::root()], |folders| folders.to_vec())
    }

    /// The same session, for a caller on the same machine: answers may name paths of the host, at or
    /// below the workspace's own directory (R13).
    #[must_use]
    pub fn showing_host_paths(&self) -> Self {
        self.with(|session| session.caller.client.shows_host_paths = true)
    }

    /// Whether answers may name paths of the host.
    pub fn shows_host_paths(&self) -> bool {
        self.caller.client.shows_host_paths
    }

    /// The same session, whose caller may use these toolsets and no other. Reads and changes of files without a tool count
    /// as [`FILES_TOOLSET`].
    #[must_use]
    pub fn with_toolsets(&self, toolsets: &[String]) -> Self {
        self.with(|session| session.caller.toolsets = Some(toolsets.into()))
    }

    /// The same session without a person to ask: a call that would ask is refused at once.
    #[must_use]
    pub fn without_person(&self) -> Self {
        self.with(|session| session.caller.client.has_no_person = true)
    }

    /// Whether there is no person to ask.
    pub(crate) fn has_no_person(&self) -> bool {
        self.caller.client.has_no_person
    }

    /// The same session in a process that ends with the call, as its terminals do.
    #[must_use]
    pub fn for_one_call(&self) -> Self {
        self.with(|session| session.caller.client.is_for_one_call = true)
    }

    /// Whether terminals end with the call that opened them.
    pub fn is_for_one_call(&self) -> bool {
        self.caller.client.is_for_one_call
    }

    /// A fault if the caller may not use a toolset.
    pub fn check_toolset(&self, toolset: &str) -> Result<()> {
        let Some(own) = &self.caller.toolsets else { return Ok(()) };
        let toolset = if DOORS.contains(&toolset) { FILES_TOOLSET } else { toolset };
        if own.iter().any(|own| own == toolset) {
            return Ok(());
        }
        let message = format!(
            "this caller may use the toolset {} and no other: call a tool of it. {toolset} is not among them",
            own.join(", ")
        );
        Err(Fault::new(FaultCode::Denied, message))
    }

    /// Denies effects outside of the folders that the caller is confined to.
    pub(crate) fn judge_folders(&self, effect: &Effect) -> Verdict {
        let Some(folders) = &self.caller.folders else { return Verdict::Allow };
        let is_inside = |one: &PathEffect| {
            // A command sees the whole workspace, wherever it starts.
            let reached = if one.kind == EffectKind::Run { &WsPath::root() } else { &one.path };
            folders.iter().any(|folder| reached.is_within(folder))
        };
        match effect.paths.iter().find(|one| !is_inside(one)) {
            None => Verdict::Allow,
            Some(outside) => {
                let folders: Vec<String> = folders.iter().map(ToString::to_string).collect();
                Verdict::Deny(format!(
                    "{} is outside of what the client offers: {}. Name a path at or below one of these",
                    outside.path,
                    folders.join(", ")
                ))
            }
        }
    }
}
