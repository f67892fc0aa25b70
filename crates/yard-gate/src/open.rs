//! One open workspace with everything that a session of it needs.

use std::sync::{Arc, Mutex};

use yard_kernel::{Watch, Workspace};
use yard_store::Desk;

use crate::Bell;

/// A workspace, the desk beside it, and the bell that says that something happened in either.
pub struct OpenWorkspace {
    /// Files, folders and their history.
    pub workspace: Arc<Workspace>,
    /// Chats, questions and events, in the same store.
    pub desk: Arc<dyn Desk>,
    /// Rung after every committed step or desk write.
    pub bell: Bell,
    /// Once somebody wants to be told of it: what others change on disk.
    pub(crate) watching: Mutex<Option<Watch>>,
}

impl OpenWorkspace {
    /// A workspace and its desk, with a bell that nobody hears yet.
    pub fn new(workspace: Arc<Workspace>, desk: Arc<dyn Desk>) -> Arc<Self> {
        Arc::new(Self { workspace, desk, bell: Bell::default(), watching: Mutex::default() })
    }
}
