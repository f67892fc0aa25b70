//! Operations on the timeline of a workspace: its steps with filters and counts of lines.

use super::HistoryAnswer;
use crate::{Author, ChatId, StepId, WsPath};

/// Lists the steps that fit all filters, newest first, each with its counts of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListSteps {
    /// Only those of an agent, of a person, or of another program.
    pub author: Option<Author>,
    /// Only those of this actor, such as `person:UUID` or `external`.
    pub actor: Option<String>,
    /// Only those of this chat.
    pub chat: Option<ChatId>,
    /// Only those of this operation.
    pub verb: Option<String>,
    /// Only those that changed something at this path or below it, under the path of then, or the file that is at the
    /// path now.
    pub path: Option<WsPath>,
    /// At most that many. There are fewer, and older ones remain, where counting the lines of so many takes long.
    pub limit: usize,
    /// Only the step with this number and those before it.
    pub through: Option<u64>,
    /// Only those before this step (how a cut answer goes on).
    pub before: Option<StepId>,
}

/// What [`ListSteps`] answers.
pub type StepList = HistoryAnswer;

/// How many lines of texts a step added and removed. A line that changed is removed and added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCount {
    /// Lines that are new.
    pub added: u64,
    /// Lines that are gone.
    pub removed: u64,
}
