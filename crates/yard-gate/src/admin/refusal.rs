//! The refusal of a request before any operation was planned.

use yard_core::{Fault, FaultCode};
use yard_store::StoreError;

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A fault, as an operation has it.
    Fault(Fault),
    /// Invalid fields of the request: the name and what was expected.
    Fields(Vec<(&'static str, String)>),
    /// The caller could not be identified.
    Unknown(String),
    /// Too many requests; the number of seconds to wait.
    TooMany(u32),
}

impl Refusal {
    /// One field is invalid.
    pub fn field(name: &'static str, message: impl Into<String>) -> Self {
        Self::Fields(vec![(name, message.into())])
    }

    /// The caller has no right to this.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::Fault(Fault::new(FaultCode::Denied, message))
    }

    /// What was named does not exist.
    pub fn missing(message: impl Into<String>) -> Self {
        Self::Fault(Fault::new(FaultCode::NotFound, message))
    }

    /// What was to be made exists already.
    pub fn taken(message: impl Into<String>) -> Self {
        Self::Fault(Fault::new(FaultCode::Exists, message))
    }

    /// The caller is no member. A workspace that does not exist is answered the same way.
    pub fn stranger() -> Self {
        Self::denied(
            "Access forbidden: the caller is not a member of this workspace, or there is none",
        )
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::Full => FaultCode::DiskFull,
            StoreError::Format { .. } => FaultCode::Unavailable,
            _ => FaultCode::Io,
        };
        Self::Fault(Fault::new(code, error.to_string()))
    }
}
