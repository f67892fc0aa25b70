//! People, workspaces, members and keys of a server, under the same actors and audit as
//! operations. [`Server`] holds the registry and the open workspaces; a door asks it who is
//! calling, and whether that caller may enter a workspace, and gets a [`Session`](crate::Session).
//!
//! It knows no HTTP: a token is a text, and there are no cookies here. No door gets the registry itself.

mod account;
mod caller_cache;
mod identity;
mod inbox;
mod keys;
mod local_person;
mod members;
mod password;
mod people;
mod rate_limit;
mod refusal;
mod retries;
mod server;
mod token;
mod workspaces;

pub use account::PersonLogin;
pub use identity::{Entered, Identity, Person};
pub use inbox::{Inbox, InboxEntry, InboxPart, InboxPosition, UnreadWorkspace, WaitingRequest};
pub use keys::{NewKey, NewSecretKey};
pub use people::{LoginTokens, NewPerson};
pub use refusal::Refusal;
pub use server::{AuthConfig, MissingFolder, Opener, Server};
pub use workspaces::{NewWorkspace, PageRequest};
