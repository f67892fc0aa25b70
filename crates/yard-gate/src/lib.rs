//! The one answer to "may this happen?", for every dialect and every door.
//!
//! A [`Session`] is the only way in: it owns the kernel, knows who is calling, judges what an
//! operation would do (never the text of a call) and leaves the audit row in the same transaction as
//! the step. It opens no file, speaks no dialect and knows no wire.

mod actor;
pub mod admin;
mod policy;
mod session;

pub use actor::Actor;
pub use policy::{Policy, Verdict};
pub use session::{Origin, Outcome, Pending, Session};
pub use yard_kernel::{Execute, Upload, Uploaded, Workspace};
pub use yard_store::registry;
