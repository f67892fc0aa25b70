//! What a tool reads by itself: files of a project in order to choose the command that it runs, and the names
//! in a folder in order to say which path may be meant.
//!
//! Nobody is asked about these reads, and none is written down. What they find reaches the caller as a choice alone:
//! the start of a command is judged, and the command reads the same files. What the rules withhold from the caller
//! counts as missing, as it does in a command's box.

use yard_core::WsPath;

use crate::Attempt;

impl Attempt<'_> {
    /// The paths of a folder's own entries; none if it is no folder that the caller may list.
    pub fn project_entries(&self, folder: &WsPath) -> Vec<WsPath> {
        let listed = self.reading().and_then(|call| match call.may_list(folder) {
            true => self.during(&call).unjudged_reads().entries(folder),
            false => Ok(Vec::new()),
        });
        listed.unwrap_or_default()
    }

    /// The text of a file; `None` if there is none, or the caller may not read it.
    pub fn project_text(&self, path: &WsPath) -> Option<String> {
        let call = self.reading().ok()?;
        if !call.may_read(path) {
            return None;
        }
        let (read, text) = self.during(&call).unjudged_reads().text(path).ok()?;
        // A link may lead to what the caller may not read.
        call.may_read(&read).then_some(text)
    }
}
