//! Marks of a person on the contents of files that they have seen.

use yard_core::{Call, ContentHash, Result, WsPath};
use yard_store::SeenMark;

use crate::{ListPage, Session};

impl Session {
    /// The marks of this session's person after number `after`, oldest first.
    pub fn seen_marks(&self, after: u64, limit: usize) -> Result<ListPage<SeenMark>> {
        let (records, person) = (&self.open().records, self.actor().name());
        ListPage::read(limit, |count| records.seen_marks(&person, after, count))
    }

    /// Marks a content of a file as seen by this session's person.
    pub fn mark_seen(&self, call: &Call, path: &WsPath, content: &ContentHash) -> Result<()> {
        self.check_marks(call)?;
        let (records, person) = (&self.open().records, self.actor().name());
        Ok(records.mark_seen(&person, path, content, call.world().now())?)
    }

    /// Takes a mark back.
    pub fn unmark_seen(&self, call: &Call, path: &WsPath, content: &ContentHash) -> Result<()> {
        self.check_marks(call)?;
        Ok(self.open().records.unmark_seen(&self.actor().name(), path, content)?)
    }

    fn check_marks(&self, call: &Call) -> Result<()> {
        self.check_record_write(call, "mark as seen")?;
        match self.actor().is_person() {
            true => Ok(()),
            false => {
                self.refuse(call, "mark as seen", "", "only a person marks what they have seen")
            }
        }
    }
}
