//! Why a request was refused before any operation was planned.

use yard_core::{Fault, FaultCode};
use yard_store::StoreError;

/// Why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// As an operation's fault.
    Fault(Fault),
    /// These fields of what was sent are wrong: name and what was expected.
    Fields(Vec<(&'static str, String)>),
    /// Nobody knows who is calling.
    Unknown(String),
    /// Too often: try again after so many seconds.
    TooMany(u32),
}

impl Refusal {
    /// One field is wrong.
    pub fn field(name: &'static str, message: impl Into<String>) -> Self {
        Self::Fields(vec![(name, message.into())])
    }

    /// The caller may not.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::Fault(Fault::new(FaultCode::Denied, message))
    }

    /// There is none.
    pub fn missing(message: impl Into<String>) -> Self {
        Self::Fault(Fault::new(FaultCode::NotFound, message))
    }

    /// It is there already.
    pub fn taken(message: impl Into<String>) -> Self {
        Self::Fault(Fault::new(FaultCode::Exists, message))
    }

    /// A stranger: a workspace that is not there and one of others answer alike.
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
