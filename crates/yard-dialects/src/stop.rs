//! Why a call of a tool has no reply. Nothing here words it for a caller: a dialect does.

use serde_json::Value;
use yard_core::Fault;
use yard_gate::Pending;

use crate::args::Fields;

/// Why a tool has no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The arguments are wrong; nothing was tried.
    Arguments(Fields),
    /// The operation did not happen.
    Fault(Fault),
    /// The same, with more to tell.
    Detailed(Fault, Value),
    /// A person is asked first.
    Pending(Pending),
    /// The call is about another root, of this name (R15); or about two, which is a fault. Nothing was tried.
    Elsewhere(String, Fault),
}

impl Stop {
    /// One argument is wrong.
    pub fn argument(name: &str, message: impl Into<String>) -> Self {
        Self::Arguments(Fields::one(name, message))
    }

    /// The same, with its fault (if it is one) put into the tool's own words.
    #[must_use]
    pub fn map_fault(self, reword: impl FnOnce(Fault) -> Stop) -> Self {
        match self {
            Self::Fault(fault) => reword(fault),
            other => other,
        }
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
