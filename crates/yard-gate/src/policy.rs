//! What may happen. So far one preset: rules and approvals come with the dialects that need them.

use yard_core::Effect;

/// What a policy says of one effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may happen.
    Allow,
    /// It may not, for this reason.
    Deny(String),
}

/// What a tool asks a person for before it does it, where the preset leaves that to its dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// Nothing.
    Never,
    /// Reading: once a chat, for all tools of its toolset that ask for the same.
    OnceToRead,
    /// Changing anything: once a chat, for all tools of its toolset that ask for the same.
    OnceToChange,
    /// Changing or removing what is there; making something new needs no word.
    ToOverwrite,
    /// Changing anything, each time.
    ToChange,
}

impl Asks {
    /// What it means, for people and models.
    pub fn about(self) -> &'static str {
        match self {
            Self::Never => "never asks",
            Self::OnceToRead => "asks once a chat before reading",
            Self::OnceToChange => "asks once a chat before changing anything",
            Self::ToOverwrite => "asks before it replaces or removes what is there",
            Self::ToChange => "asks before each change",
        }
    }
}

/// Which effects may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Everything inside the workspace.
    Open,
    /// Reading only: for callers that shall look and not touch.
    ReadOnly,
}

impl Policy {
    /// Judges what an operation would do.
    pub fn judge(self, effect: &Effect) -> Verdict {
        match self {
            Self::ReadOnly if effect.changes_anything() => self.judge_desk_write(),
            Self::Open | Self::ReadOnly => Verdict::Allow,
        }
    }

    /// Judges a write into chats or questions.
    pub fn judge_desk_write(self) -> Verdict {
        match self {
            Self::Open => Verdict::Allow,
            Self::ReadOnly => {
                Verdict::Deny("this session may read and not change anything".to_owned())
            }
        }
    }
}
