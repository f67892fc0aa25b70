//! Reads that the gate makes for its own decisions: nobody judges them, nobody is asked, and no row is written about
//! them. Nothing here can change anything: only operations of the list below are taken, a plan that comes to a change
//! is a fault, and no commit is called. No other crate can get at this.

use yard_core::op::{
    FETCH_BYTES, Fetch, Find, FindBy, LineStart, Names, Read, SizeRange, Slice, Stat, Want,
};
use yard_core::{Call, ContentHash, Fault, FaultCode, FileType, Result, WsPath};
use yard_kernel::{Execute, Planned, Workspace};

use super::Attempt;

/// Most plans whose state a question remembers.
const MOST_PLANS: usize = 1_000;
/// Bytes of one file of a project that are read, at most: manifests are small.
const PROJECT_FILE_BYTES: u64 = 1 << 20;

/// Operations that change nothing, whatever they find.
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
    /// The paths of a folder's own entries.
    pub(crate) fn entries(&self, folder: &WsPath) -> Result<Vec<WsPath>> {
        let listing = self.answer(Names { path: folder.clone(), for_tree: true })?;
        Ok(listing.entries.into_iter().map(|entry| entry.path).collect())
    }

    /// The text of a small file, with the path that links lead to.
    pub(crate) fn text(&self, path: &WsPath) -> Result<(WsPath, String)> {
        let slice = Slice::Lines { start: LineStart::FromStart(0), limit: None };
        let (path, want) = (path.clone(), Want::default());
        let read = Read { path, slice, want, max_bytes: PROJECT_FILE_BYTES };
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
        let found = self.answer(Find {
            path: WsPath::root(),
            by: FindBy::Globs(vec!["*.plan".to_owned()]),
            file_type: Some(FileType::Plan),
            size: SizeRange::default(),
            recursive: true,
            include_ignored: true,
            limit: Some(MOST_PLANS),
            after: None,
        })?;
        if found.truncated {
            let message = format!(
                "there are more than {MOST_PLANS} plan files, too many to say which one is accepted; \
                 remove old ones"
            );
            return Err(Fault::new(FaultCode::TooLarge, message));
        }
        let mut plans = Vec::with_capacity(found.entries.len());
        for entry in found.entries {
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
