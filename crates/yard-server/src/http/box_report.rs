//! What the composition root finds out about the box around commands.

use std::fmt;
use std::sync::Arc;

use yard_gate::{Finding, Level};

/// What was found out about the box.
#[derive(Clone, Debug)]
pub struct BoxReport {
    /// How strictly commands are confined.
    pub level: Level,
    /// The findings, part by part.
    pub findings: Vec<Finding>,
}

/// Finds out what the box can do. The first time it may take a moment.
#[derive(Clone)]
pub struct Doctor(Arc<dyn Fn() -> BoxReport + Send + Sync>);

impl Doctor {
    /// A doctor that answers what `report` returns.
    pub fn new(report: impl Fn() -> BoxReport + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    pub(super) fn report(&self) -> BoxReport {
        (self.0)()
    }
}

impl fmt::Debug for Doctor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Doctor")
    }
}
