//! Reads that a tool makes for itself: files of a project, to choose the command that it runs, and names in a folder, to
//! suggest the path that may be meant.
//!
//! No person is asked about these reads, and no audit row is written. Their result reaches the caller as a choice only:
//! the start of a command is judged, and the command reads the same files. A file that the rules withhold from the
//! caller counts as missing, as in the box of a command.

use yard_core::WsPath;

use crate::Attempt;

impl Attempt<'_> {
    /// The paths of the entries of a folder; none if the caller may not list it.
    pub fn project_entries(&self, folder: &WsPath) -> Vec<WsPath> {
        let listed = self.restricted_call().and_then(|call| match call.may_list(folder) {
            true => self.with_call(&call).unjudged_reads().entries(folder),
            false => Ok(Vec::new()),
        });
        listed.unwrap_or_default()
    }

    /// The text of a file; `None` if it does not exist or the caller may not read it.
    pub fn project_text(&self, path: &WsPath) -> Option<String> {
        let call = self.restricted_call().ok()?;
        if !call.may_read(path) {
            return None;
        }
        let (read, text) = self.with_call(&call).unjudged_reads().text(path).ok()?;
        // A link may lead to a file that the caller may not read.
        call.may_read(&read).then_some(text)
    }
}
