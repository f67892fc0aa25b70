//! How much one call may load, write, answer and take (R12), as far as that is configurable. Bounds that nobody needs to
//! change are constants beside the code that they bound.

/// The bounds of one workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that one call may write, or load whole.
    pub load_bytes: u64,
    /// Bytes of text in one answer, where the dialect can page.
    pub answer_bytes: u64,
    /// Entries (matches, files, steps) in one answer when the caller asked for "all".
    pub answer_entries: usize,
    /// Bytes of one matching line that a search shows.
    pub match_line_bytes: usize,
    /// How often a change that lost a race is planned again before it is a conflict.
    pub replans: u32,
    /// Milliseconds that one call may take.
    pub call_millis: i64,
    /// Milliseconds that a command may run.
    pub run_millis: i64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            load_bytes: 64 << 20,
            answer_bytes: 256 << 10,
            answer_entries: 100_000,
            match_line_bytes: 4 << 10,
            replans: 1_000,
            call_millis: 120_000,
            run_millis: 3_600_000,
        }
    }
}
