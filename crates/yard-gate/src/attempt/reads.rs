//! Reads that the gate makes for its own decisions. They are not judged, no person is asked, and no audit row is
//! written. Nothing here can change anything: only the operations below are accepted, a plan that is a change is a
//! fault, and nothing is committed. No other crate can use this module.

use yard_core::op::{FETCH_BYTES, Fetch, Find, FindBy, LineStart, Names, Read, Slice, Stat, Want};
use yard_core::{Call, ContentHash, Fault, FaultCode, FileType, Result, WsPath};
use yard_kernel::{Execute, Planned, Workspace};

use super::Attempt;

/// How many plan files a question can be about.
const MAX_PLANS: usize = 1_000;
/// The largest project file that is read: manifests are small.
const MAX_PROJECT_FILE_BYTES: u64 = 1 << 20;

/// Operations that never change anything.
trait ReadsOnly: Execute {}

impl ReadsOnly for Fetch {}
impl ReadsOnly for Find {}
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
        UnjudgedReads { workspace: &self.session.open().workspace, call: self.call }
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

    /// Every plan file, with the hash of what it holds now.
    pub(crate) fn plans(&self) -> Result<Vec<(WsPath, ContentHash)>> {
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
        let mut plans = Vec::with_capacity(listing.entries.len());
        for entry in listing.entries {
            let want = Want { hash: true, ..Want::default() };
            match self.answer(Stat { path: entry.path.clone(), want, follow: false }) {
                Ok(stat) => plans.extend(stat.hash.map(|hash| (entry.path, hash))),
                // Removed since it was found.
                Err(fault) if fault.code() == FaultCode::NotFound => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(plans)
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
