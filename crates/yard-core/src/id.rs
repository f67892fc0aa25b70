//! Each kind of id has its own type, so that one cannot be passed for another. All are UUIDs of version 7 (R11),
//! so they sort by the time when they were made.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::World;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// A new id, from the world's clock and randomness.
            pub fn new(world: &dyn World) -> Self {
                Self(fresh(world))
            }

            /// The sixteen bytes of the id, as a store keeps them.
            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// Adds the id to a text, as it is shown.
            pub fn push_onto(&self, text: &mut String) {
                text.push_str(self.0.as_hyphenated().encode_lower(&mut Uuid::encode_buffer()));
            }

            /// The id that a store kept.
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text.trim()).map(Self)
            }
        }
    )*};
}

ids! {
    /// A file, folder or link, whatever it is called and wherever it moves.
    FileId;
    /// One content of one file, as one step left it.
    VersionId;
    /// One change of the workspace: what is shown, approved and undone as a whole.
    StepId;
    /// Bytes that arrived in pieces and wait to become a file.
    UploadId;
    /// One workspace of a server.
    WorkspaceId;
    /// A person with an account.
    UserId;
    /// One login of a person: the family of refresh tokens that came from it.
    LoginId;
    /// An agent's key to one workspace.
    KeyId;
    /// An agent's run: its mode, its questions, its transcript.
    ChatId;
    /// A question to a person.
    QuestionId;
    /// A request that something may happen.
    ApprovalId;
    /// One run of a command.
    RunId;
    /// A comment of a person on a line of a diff.
    CommentId;
    /// One process that has a workspace open, for as long as it has.
    ProcessId;
}

impl FileId {
    /// The workspace's root folder, which no step ever makes or removes.
    pub const ROOT: FileId = FileId(Uuid::nil());
}

fn fresh(world: &dyn World) -> Uuid {
    let millis = u64::try_from(world.now().as_millis()).unwrap_or(0);
    let random = world.random().to_le_bytes();
    let mut tail = [0; 10];
    tail.copy_from_slice(&random[..10]);
    uuid::Builder::from_unix_timestamp_millis(millis, &tail).into_uuid()
}
