//! Why a call of a tool has no reply. A dialect turns this into an answer.

use serde_json::Value;
use yard_core::Fault;
use yard_gate::{Completion, Pending};

use crate::args::Fields;

/// Why a tool has no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The arguments are wrong; nothing was tried.
    Arguments(Fields),
    /// The operation did not happen.
    Fault(Fault),
    /// The operation did not happen; the value has details.
    Detailed(Fault, Value),
    /// A person is asked first.
    Pending(Pending),
    /// The call is about another root, of this name (R15); or about two, which is a fault. Nothing was tried.
    OtherRoot(String, Fault),
}

impl Stop {
    /// One argument is wrong.
    pub fn argument(name: &str, message: impl Into<String>) -> Self {
        Self::Arguments(Fields::one(name, message))
    }

    /// Converts the fault, if it is one.
    #[must_use]
    pub fn map_fault(self, convert: impl FnOnce(Fault) -> Stop) -> Self {
        match self {
            Self::Fault(fault) => convert(fault),
            other => other,
        }
    }

    /// Gives the fault, if it is one, the message that `message` returns; without one it keeps its own.
    #[must_use]
    pub(crate) fn reword(self, message: impl FnOnce(&Fault) -> Option<String>) -> Self {
        self.map_fault(|fault| match message(&fault) {
            Some(message) => Self::Fault(fault.reworded(message)),
            None => Self::Fault(fault),
        })
    }
}

/// The result of what is done; a stop if a person is asked first.
pub(crate) fn completed<T>(completion: Completion<T>) -> Result<T, Stop> {
    match completion {
        Completion::Done(result) => Ok(result),
        Completion::Pending(pending) => Err(Stop::Pending(pending)),
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Fields> for Stop {
    fn from(fields: Fields) -> Self {
        Self::Arguments(fields)
    }
}
