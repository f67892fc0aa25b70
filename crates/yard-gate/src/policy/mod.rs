//! Which effects are allowed, asked about or denied: presets decide where no rule matches, rules are read and matched, plan
//! mode leaves plan files alone to change, read restrictions say which files a caller may not read, and the operator says
//! which hosts can be reached.
//!
//! Nothing here knows a session, reads the store or asks a person: `attempt/judging.rs` puts the verdicts together.

pub(crate) mod plan_mode;
pub(crate) mod presets;
pub(crate) mod read_restrictions;
pub(crate) mod rules;
pub(crate) mod web;
pub(crate) mod workspace_policy;
