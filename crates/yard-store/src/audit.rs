//! The audit chain: every row's hash covers the row and the hash before it, so that nothing can be
//! changed, removed or inserted later without breaking every hash that follows.
//!
//! Rows that an older program wrote cover less ([`Formula::First`]). They end with one row that says how
//! many they are and covers what they left out (the [`Seal`]); no row after it may be of the older kind.

use yard_core::hash::ContentHasher;
use yard_core::{Author, ChatId, ContentHash, StepId, Timestamp};

/// The action of the row that closes what an older program wrote.
const SEAL: &str = "seal";

/// The entry of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// The time.
    pub at: Timestamp,
    /// The actor: `agent:local`, `person:local`.
    pub actor: String,
    /// The operation, or the decision.
    pub action: String,
    /// More about it, redacted: never a content, never a secret.
    pub detail: String,
}

impl AuditEntry {
    /// The entry of an action of the program itself.
    pub fn by_toolyard(at: Timestamp, action: &str, detail: String) -> Self {
        Self { at, actor: "toolyard".to_owned(), action: action.to_owned(), detail }
    }
}

/// What the hash of a row covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Formula {
    /// The audit entry, the step's id and its changes.
    First,
    /// Also the row's number, and everything else that a step says of itself.
    Second,
}

/// The part of a step that the chain covers, apart from its audit entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditedStep {
    /// The step.
    pub id: StepId,
    /// The time of the step.
    pub at: Timestamp,
    /// The author, as history names it.
    pub author: Author,
    /// The operation.
    pub verb: String,
    /// The chat that it belongs to.
    pub chat: Option<ChatId>,
    /// The step that it undoes.
    pub undoes: Option<StepId>,
    /// The digest of its changes (`step_digest`).
    pub changes: [u8; 32],
}

/// One row of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// Its number, from 1.
    pub number: u64,
    /// What its hash covers.
    pub formula: Formula,
    /// Its entry.
    pub entry: AuditEntry,
    /// The step that it belongs to.
    pub step: Option<AuditedStep>,
    /// The chain's hash at this row.
    pub hash: [u8; 32],
}

impl AuditRow {
    /// The hash that this row must have after a row with hash `previous` (zeros before the first).
    pub fn expected_hash(&self, previous: &[u8; 32]) -> [u8; 32] {
        match self.formula {
            Formula::First => {
                let step = self.step.as_ref().map(|step| (step.id, step.changes));
                first_chain(previous, &self.entry, step)
            }
            Formula::Second => chain(previous, self.number, &self.entry, self.step.as_ref()),
        }
    }
}

/// The hash of row `number`, which follows a row with hash `previous` (zeros before the first).
pub fn chain(
    previous: &[u8; 32],
    number: u64,
    entry: &AuditEntry,
    step: Option<&AuditedStep>,
) -> [u8; 32] {
    let mut covered = Covered(ContentHasher::new());
    covered.bytes("toolyard audit row, formula 2");
    covered.0.update(previous);
    covered.number(number);
    covered.entry(entry);
    covered.0.update(&[u8::from(step.is_some())]);
    if let Some(step) = step {
        covered.step(step);
    }
    *covered.0.finish().as_bytes()
}

/// The hash of a row as the first version of the chain had it.
pub fn first_chain(
    previous: &[u8; 32],
    entry: &AuditEntry,
    step: Option<(StepId, [u8; 32])>,
) -> [u8; 32] {
    let mut covered = Covered(ContentHasher::new());
    covered.0.update(previous);
    covered.entry(entry);
    match step {
        Some((id, digest)) => {
            covered.0.update(id.as_bytes());
            covered.0.update(&digest);
        }
        None => covered.0.update(&[0]),
    }
    *covered.0.finish().as_bytes()
}

/// What the older rows of a chain left out, taken together.
#[derive(Clone, Default)]
pub struct Seal {
    rows: u64,
    covered: ContentHasher,
}

impl Seal {
    /// Counts the next row of the older kind.
    pub fn add(&mut self, row: &AuditRow) {
        self.rows += 1;
        let mut covered = Covered(std::mem::take(&mut self.covered));
        covered.number(row.number);
        covered.0.update(&[u8::from(row.step.is_some())]);
        if let Some(step) = &row.step {
            covered.step(step);
        }
        self.covered = covered.0;
    }

    /// How many rows were counted.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The row that closes them, written at the moment of the last of them.
    pub fn entry(&self, at: Timestamp) -> AuditEntry {
        let digest: ContentHash = self.covered.clone().finish();
        let detail = format!("{} rows of an older version, {digest}", self.rows);
        AuditEntry::by_toolyard(at, SEAL, detail)
    }
}

/// What goes into a hash: every field with its length or its presence, so that no two rows read alike.
pub(crate) struct Covered(pub(crate) ContentHasher);

impl Covered {
    pub(crate) fn number(&mut self, number: u64) {
        self.0.update(&number.to_be_bytes());
    }

    fn moment(&mut self, at: Timestamp) {
        self.0.update(&at.as_millis().to_be_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: impl AsRef<[u8]>) {
        self.number(bytes.as_ref().len() as u64);
        self.0.update(bytes.as_ref());
    }

    fn id(&mut self, id: Option<&[u8; 16]>) {
        self.0.update(&[u8::from(id.is_some())]);
        if let Some(id) = id {
            self.0.update(id);
        }
    }

    fn entry(&mut self, entry: &AuditEntry) {
        self.moment(entry.at);
        for text in [&entry.actor, &entry.action, &entry.detail] {
            self.bytes(text);
        }
    }

    fn step(&mut self, step: &AuditedStep) {
        self.0.update(step.id.as_bytes());
        self.moment(step.at);
        self.bytes(step.author.word());
        self.bytes(&step.verb);
        self.id(step.chat.as_ref().map(ChatId::as_bytes));
        self.id(step.undoes.as_ref().map(StepId::as_bytes));
        self.0.update(&step.changes);
    }
}
