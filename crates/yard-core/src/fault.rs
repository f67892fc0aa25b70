//! Why an operation failed. Each toolset maps every code to its own by an exhaustive match, so that a new code does not
//! compile until every toolset has it.

use std::fmt;

crate::listed_enum! {
    /// The kinds of failure, as fine as any toolset needs.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum FaultCode {
        /// An argument is missing, unknown, or of the wrong kind.
        BadArgument,
        /// The text to be replaced does not occur.
        TextNotFound,
        /// The text to be replaced occurs more than once.
        TextNotUnique,
        /// The edit would leave the file as it is.
        NoChange,
        /// A regular expression or a glob does not parse, or exceeded its bound on work.
        BadPattern,
        /// A text tool was pointed at a binary file, or at a FIFO, socket or device.
        Binary,
        /// Too large to load or write whole.
        TooLarge,
        /// The path is malformed or reserved.
        BadPath,
        /// The path leaves the workspace.
        PathOutside,
        /// No such file, folder, version, step or tool.
        NotFound,
        /// A folder where a file is wanted.
        IsFolder,
        /// A file where a folder is wanted.
        NotFolder,
        /// There is already an entry at the path.
        Exists,
        /// The folder is not empty.
        NotEmpty,
        /// A hash that the caller gave is not the current one.
        Stale,
        /// An undo collides with a later change.
        MergeConflict,
        /// Policy, mode or role denies it.
        Denied,
        /// The operating system refused to read.
        ReadRefused,
        /// The operating system refused to write.
        WriteRefused,
        /// The disk is full.
        DiskFull,
        /// Another I/O error, or a store that does not answer.
        Io,
        /// Out of time, or cancelled.
        Timeout,
        /// A process could not be started, or not be run to its end. One that ends with an exit code of its
        /// own was run.
        NotRun,
        /// Not available on this machine or in this configuration.
        Unavailable,
    }
}

/// The argument that a fault is about, so that a toolset can name its own one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The path (of a move: its source).
    Path,
    /// The path that a move goes to.
    Destination,
    /// A regular expression or a glob.
    Pattern,
    /// The filter on paths that a search takes.
    PathPattern,
    /// The text to be found by an edit.
    Find,
    /// The text that an edit writes.
    Replacement,
    /// The line that an insertion names.
    InsertLine,
    /// The content that is written.
    Content,
    /// The hash of an earlier read.
    Hash,
    /// The step of an undo.
    Step,
    /// The kind of file.
    FileType,
    /// Where a cut answer goes on.
    Cursor,
    /// The patch.
    Patch,
}

/// What helps against a fault and has a name only above the kernel: a command, a setting or a route. The code that speaks to
/// the caller puts it into words, at the end of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Remedy {
    /// A person lets a history go on with the folder as it is.
    AdoptFolder,
    /// A person sets a damaged history aside, or restores it.
    SetHistoryAside,
    /// A person is told what the box needs on this machine.
    DiagnoseBox,
    /// The data folder is kept somewhere else.
    MoveDataFolder,
    /// The operator shows a folder with programs in the box.
    ShowFolder,
    /// The operator lets commands write more.
    WriteMore,
    /// The operator exempts an address that is not dialled.
    ExemptAddress,
    /// Chats are made, renamed and removed where they are managed.
    ManageChats,
}

/// The longest message, even if it repeats a long argument, because a model reads all of it.
pub const LONGEST_MESSAGE: usize = 3 << 10;

/// One failure: its code, the argument that it is about, and a message with which the next call can succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    code: FaultCode,
    subject: Option<Subject>,
    remedy: Option<Remedy>,
    message: String,
}

impl Fault {
    /// A fault with a message for its caller.
    pub fn new(code: FaultCode, message: impl Into<String>) -> Self {
        Self { code, subject: None, remedy: None, message: bounded(message.into()) }
    }

    /// The same fault, about one argument.
    #[must_use]
    pub fn about(mut self, subject: Subject) -> Self {
        self.subject = Some(subject);
        self
    }

    /// The same fault with another message.
    #[must_use]
    pub fn reworded(&self, message: impl Into<String>) -> Self {
        Self { message: bounded(message.into()), ..self.clone() }
    }

    /// The same fault, with what helps against it.
    #[must_use]
    pub fn with_remedy(mut self, remedy: Remedy) -> Self {
        self.remedy = Some(remedy);
        self
    }

    /// What helps against it, if that is not in its message.
    pub fn remedy(&self) -> Option<Remedy> {
        self.remedy
    }

    /// The same fault with its remedy in the words of `describe`, at the end of the message.
    #[must_use]
    pub fn describing_remedy(self, describe: impl FnOnce(Remedy) -> &'static str) -> Self {
        match self.remedy {
            Some(remedy) => {
                let message = format!("{}{}", self.message, describe(remedy));
                Self { remedy: None, ..self.reworded(message) }
            }
            None => self,
        }
    }

    /// What kind of failure this is.
    pub fn code(&self) -> FaultCode {
        self.code
    }

    /// Which argument it is about, when it is about one.
    pub fn subject(&self) -> Option<Subject> {
        self.subject
    }

    /// The message for the caller.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// Cuts the middle of a message that is too long, because its end often says what to do.
fn bounded(message: String) -> String {
    if message.len() <= LONGEST_MESSAGE {
        return message;
    }
    let part = LONGEST_MESSAGE / 2 - 64;
    let head = message.floor_char_boundary(part);
    let tail = message.ceil_char_boundary(message.len() - part);
    let left_out = tail - head;
    format!("{} [... {left_out} bytes are left out ...] {}", &message[..head], &message[tail..])
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g8_a_message_that_repeats_what_was_sent_is_bounded_and_says_so() {
        let long = format!("start {} end", "\u{1f600}".repeat(1_000_000));
        let fault = Fault::new(FaultCode::BadArgument, long.clone());
        for fault in [fault.reworded(long), fault] {
            let message = fault.message();
            assert!(message.len() <= LONGEST_MESSAGE, "{}", message.len());
            assert!(message.starts_with("start ") && message.ends_with(" end"));
            assert!(message.contains("bytes are left out"));
        }
        let short = "x".repeat(LONGEST_MESSAGE);
        assert_eq!(Fault::new(FaultCode::Io, short.clone()).message(), short);
    }
}
