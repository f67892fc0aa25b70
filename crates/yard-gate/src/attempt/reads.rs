//! Reads that the gate makes for its own decisions, for `project_files.rs` and for the output of a command that its caller
//! ran. They are not judged, no person is asked, and no audit row is written. Nothing here can change anything: only the
//! operations below are accepted, a plan that is a change is a fault, and nothing is committed. Other crates reach it through
//! these callers alone.

use yard_core::op::{
    Entry, FETCH_BYTES, Fetch, Find, FindBy, History, HistoryOf, LineStart, Names, Read, Slice,
    Stat, Want,
};
use yard_core::{Call, ContentHash, Fault, FaultCode, FileType, Result, Timestamp, WsPath};
use yard_kernel::{Execute, Planned, Workspace};

use super::Attempt;
use crate::Session;

/// How many plan files a question can be about.
const MAX_PLANS: usize = 1_000;
/// How many of the newest steps of a plan tell who worked on it.
const PLAN_STEPS: usize = 50;
/// The largest project file that is read: manifests are small.
const MAX_PROJECT_FILE_BYTES: u64 = 1 << 20;

/// Operations that never change anything.
trait ReadsOnly: Execute {}

impl ReadsOnly for Fetch {}
impl ReadsOnly for Find {}
impl ReadsOnly for History {}
impl ReadsOnly for Names {}
impl ReadsOnly for Read {}
impl ReadsOnly for Stat {}

/// Reads a workspace without being judged.
pub(crate) struct UnjudgedReads<'a> {
    workspace: &'a Workspace,
    call: &'a Call,
}

impl<'a> Attempt<'a> {
    /// Reads for the gate's own decisions.
    pub(crate) fn unjudged_reads(&self) -> UnjudgedReads<'a> {
        self.session.unjudged_reads(self.call)
    }
}

impl Session {
    /// Reads for the gate's own decisions about what a person answers.
    pub(crate) fn unjudged_reads<'a>(&'a self, call: &'a Call) -> UnjudgedReads<'a> {
        UnjudgedReads { workspace: &self.open().workspace, call }
    }
}

impl UnjudgedReads<'_> {
    /// The paths of the entries of a folder.
    pub(crate) fn entries(&self, folder: &WsPath) -> Result<Vec<WsPath>> {
        let listing = self.answer(Names { path: folder.clone(), for_tree: true })?;
        Ok(listing.entries.into_iter().map(|entry| entry.path).collect())
    }

    /// The text of a small file, and its path with links resolved.
    pub(crate) fn text(&self, path: &WsPath) -> Result<(WsPath, String)> {
        let slice = Slice::Lines { start: LineStart::FromStart(0), limit: None };
        let (path, want) = (path.clone(), Want::default());
        let read = Read { path, slice, want, max_bytes: MAX_PROJECT_FILE_BYTES };
        let answer = self.answer(read)?;
        Ok((answer.path, answer.text))
    }

    /// The first bytes of a file, up to `most`.
    pub(crate) fn bytes(&self, path: &WsPath, most: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut seen = None;
        while (bytes.len() as u64) < most {
            let offset = bytes.len() as u64;
            let length = FETCH_BYTES.min(most - offset);
            let part = self.answer(Fetch { path: path.clone(), offset, length, seen })?;
            if part.bytes.is_empty() {
                break;
            }
            bytes.extend_from_slice(&part.bytes);
            seen = Some(part.seen);
        }
        Ok(bytes)
    }

    /// The plan that an actor would ask about, with the hash of what it holds now: of the plans that the actor worked on, or
    /// of all if there is none, the one that was changed last.
    pub(crate) fn current_plan(&self, actor: &str) -> Result<Option<(WsPath, ContentHash)>> {
        let mut newest = None;
        for entry in self.plan_files()? {
            newest = newest.max(Some(self.last_change(entry, actor)?));
        }
        let Some((.., path)) = newest else { return Ok(None) };
        let want = Want { hash: true, ..Want::default() };
        match self.answer(Stat { path: path.clone(), want, follow: false }) {
            Ok(stat) => Ok(stat.hash.map(|hash| (path, hash))),
            // Removed since it was found.
            Err(fault) if fault.code() == FaultCode::NotFound => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Whether an actor worked on a file, and when anybody changed it last.
    fn last_change(&self, entry: Entry, actor: &str) -> Result<(bool, Timestamp, WsPath)> {
        let Entry { path, updated_at, .. } = entry;
        let of = HistoryOf::Path(path.clone());
        let steps = match self.answer(History { of, limit: PLAN_STEPS, before: None }) {
            Ok(history) => history.steps,
            // Removed since it was found, or made by a program that no step tells of.
            Err(fault) if fault.code() == FaultCode::NotFound => Vec::new(),
            Err(fault) => return Err(fault),
        };
        let is_own = steps.iter().any(|step| step.actor == actor);
        Ok((is_own, steps.first().map_or(updated_at, |step| step.at), path))
    }

    fn plan_files(&self) -> Result<Vec<Entry>> {
        let listing = self.answer(Find {
            file_type: Some(FileType::Plan),
            include_ignored: true,
            limit: Some(MAX_PLANS),
            ..Find::below(WsPath::root(), FindBy::Globs(vec!["*.plan".to_owned()]))
        })?;
        if listing.truncated {
            let message = format!(
                "there are more than {MAX_PLANS} plan files, too many to say which one is accepted; \
                 remove old ones"
            );
            return Err(Fault::new(FaultCode::TooLarge, message));
        }
        Ok(listing.entries)
    }

    fn answer<O: ReadsOnly>(&self, op: O) -> Result<O::Answer> {
        self.call.check()?;
        self.workspace.check_root()?;
        match op.plan(self.workspace, self.call)? {
            Planned::Answer { answer, .. } => Ok(answer),
            Planned::Change(_) => {
                Err(Fault::new(FaultCode::Denied, "an unjudged read would change something"))
            }
        }
    }
}
