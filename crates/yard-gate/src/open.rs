//! One open workspace with everything that a session of it needs.

use std::sync::Arc;

use yard_kernel::Workspace;
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
}

impl OpenWorkspace {
    /// A workspace and its desk, with a bell that nobody hears yet.
    pub fn new(workspace: Arc<Workspace>, desk: Arc<dyn Desk>) -> Arc<Self> {
        Arc::new(Self { workspace, desk, bell: Bell::default() })
    }
}
