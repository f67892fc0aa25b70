//! What a person put off. The request or question stays pending for everybody else, and comes back to the person at the time
//! that they chose.

use std::collections::HashMap;

use yard_core::{ApprovalId, Call, Fault, FaultCode, QuestionId, Result, Timestamp};
use yard_store::WaitingItem;

use crate::Session;

/// For how long something can be put off.
const MAX_MILLIS: i64 = 366 * 24 * 3_600_000;
/// How many marks of a person are read.
const MAX_MARKS: usize = 10_000;

impl Session {
    /// Puts a request or a question off until a time, or takes that back, for the person of this session alone.
    pub fn put_off(&self, call: &Call, item: &str, until: Option<Timestamp>) -> Result<()> {
        self.check_record_write(call, "put off")?;
        let now = call.world().now();
        if let Some(until) = until {
            let millis = until.as_millis().saturating_sub(now.as_millis());
            if !(1..=MAX_MILLIS).contains(&millis) {
                let message = format!("until: expected a time after {now} and within a year of it");
                return Err(Fault::new(FaultCode::BadArgument, message));
            }
        }
        let item = self.waiting_item(item)?;
        let records = &self.open().records;
        records.put_off(&self.actor().name(), item, until, now).map_err(Fault::from)
    }

    /// The id of a request or a question of this workspace.
    fn waiting_item(&self, text: &str) -> Result<WaitingItem> {
        if let Ok(id) = text.parse::<ApprovalId>()
            && self.approvals().get(id).is_ok()
        {
            return Ok(*id.as_bytes());
        }
        if let Ok(id) = text.parse::<QuestionId>()
            && self.questions().get(id).is_ok()
        {
            return Ok(*id.as_bytes());
        }
        let message =
            "no such request and no such question in this workspace; the inbox has their ids";
        Err(Fault::new(FaultCode::NotFound, message))
    }

    /// The ids of what the person of this session put off, each with the time at which it comes back.
    pub fn put_off_until(&self, now: Timestamp) -> Result<HashMap<String, Timestamp>> {
        let marks = self.open().records.put_off_by(&self.actor().name(), now, MAX_MARKS)?;
        // All ids are written alike.
        let text = |item| ApprovalId::from_bytes(item).to_string();
        Ok(marks.into_iter().map(|(item, until)| (text(item), until)).collect())
    }
}
