//! The gate's second face: people, workspaces, members and keys, under the same actors and audit as
//! operations. [`House`] holds a server's registry and its open workspaces; a door asks it who is
//! calling, and whether that caller may enter a workspace, and gets a [`Session`](crate::Session).
//!
//! It speaks no HTTP: a token is a text, a cookie is unknown here.

mod attempts;
mod house;
mod identity;
mod keys;
mod known;
mod members;
mod password;
mod people;
mod refusal;
mod token;
mod workspaces;

pub use house::{House, Opener, Rules};
pub use identity::{Entered, Identity};
pub use keys::{NewKey, NewSecretKey};
pub use people::{LoggedIn, NewPerson, Person};
pub use refusal::Refusal;
pub use workspaces::{NewWorkspace, Page};
