//! verify: recomputes the audit chain from the stored steps and changes, reads every content, searches the store for
//! contradictions, and compares it with the disk. Changes nothing.

use std::ops::ControlFlow;

use yard_core::op::{Verified, Verify};
use yard_core::{Call, ContentHash, Effect, EffectKind, FileId, FileKind, Result, WsPath};
use yard_disk::hash_all;
use yard_store::{AuditRow, ContentCheck, Formula, KeptFile, Node, Retention, Seal, StoreError};

use crate::planner::join;
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;

/// Rows that are read at once.
const PAGE: usize = 1_000;

impl Execute for Verify {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Verified>> {
        let mut check = Check {
            workspace,
            call,
            answer: Verified {
                audit_rows: 0,
                steps: 0,
                contents: 0,
                synced: 0,
                unsynced: Vec::new(),
                shadowed: workspace.shadowed()?,
                problems: Vec::new(),
            },
        };
        check.chain()?;
        check.contents()?;
        let contradictions = workspace.store().contradictions();
        check.answer.problems.extend(contradictions?);
        check.disk()?;
        let effect = Effect::one(EffectKind::Read, WsPath::root()).with_contents();
        Ok(Planned::Answer { effect, answer: check.answer })
    }
}

struct Check<'a> {
    workspace: &'a Workspace,
    call: &'a Call,
    answer: Verified,
}

/// The last row of the chain that was checked.
struct ChainPosition {
    number: u64,
    hash: [u8; 32],
    formula: Formula,
    /// The seal over the rows of an older version.
    seal: Seal,
}

impl Default for ChainPosition {
    fn default() -> Self {
        Self { number: 0, hash: [0; 32], formula: Formula::First, seal: Seal::default() }
    }
}

impl ChainPosition {
    /// Whether a row may come next: rows of an older version come first, and the next row has to seal them.
    fn may_follow(&self, row: &AuditRow) -> bool {
        match (self.formula, row.formula) {
            (Formula::First, Formula::First) | (Formula::Second, Formula::Second) => true,
            (Formula::First, Formula::Second) => {
                self.seal.rows() == 0 || row.entry == self.seal.entry(row.entry.at)
            }
            (Formula::Second, Formula::First) => false,
        }
    }

    fn advance_to(&mut self, row: &AuditRow) {
        if row.formula == Formula::First {
            self.seal.add(row);
        }
        (self.number, self.hash, self.formula) = (row.number, row.hash, row.formula);
    }
}

impl Check<'_> {
    fn problem(&mut self, text: String) {
        self.answer.problems.push(text);
    }

    fn chain(&mut self) -> Result<()> {
        let store = self.workspace.store();
        let head = store.head()?;
        let mut position = ChainPosition::default();
        loop {
            self.call.check()?;
            let rows = match store.audit(position.number, PAGE) {
                Ok(rows) => rows,
                Err(StoreError::Corrupt(why)) => {
                    self.problem(format!("the audit chain cannot be read: {why}"));
                    break;
                }
                Err(error) => return Err(error.into()),
            };
            if rows.is_empty() {
                break;
            }
            rows.iter().for_each(|row| self.link(&mut position, row));
        }
        if position.formula == Formula::First && position.number > 0 {
            self.problem("rows of an older version are not closed by a seal".to_owned());
        }
        if self.answer.steps != head {
            let steps = self.answer.steps;
            self.problem(format!("the history has {head} steps, the audit chain {steps}"));
        }
        Ok(())
    }

    /// Checks one row of the chain. The digest of its step is computed from the changes as they are stored now.
    fn link(&mut self, position: &mut ChainPosition, row: &AuditRow) {
        self.answer.audit_rows += 1;
        self.answer.steps += u64::from(row.step.is_some());
        let expected = position.number + 1;
        if row.number != expected {
            self.problem(format!("audit rows {expected} to {} are missing", row.number - 1));
        }
        if row.expected_hash(&position.hash) != row.hash {
            self.problem(format!(
                "audit row {} is not what was written, or does not follow from the row before it",
                row.number
            ));
        }
        if !position.may_follow(row) {
            self.problem(format!(
                "audit row {} is where rows of an older version would have been closed, and does not \
                 say what they said",
                row.number
            ));
        }
        position.advance_to(row);
    }

    fn contents(&mut self) -> Result<()> {
        let mut stopped = Ok(());
        let store = self.workspace.store();
        let checked = store.recheck(&mut |hash, found| {
            self.answer.contents += 1;
            self.call.progress(self.answer.contents, None);
            self.content(hash, found);
            stopped = self.call.check();
            if stopped.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        stopped?;
        Ok(checked?)
    }

    fn content(&mut self, hash: &ContentHash, found: ContentCheck) {
        let damaged = match found {
            ContentCheck::Whole => None,
            ContentCheck::Kept(file) => self.kept(hash, &file).err(),
            ContentCheck::Damaged(why) => Some(why),
        };
        if let Some(why) = damaged {
            self.problem(format!("content {hash} {why}"));
        }
    }

    fn kept(&self, hash: &ContentHash, file: &KeptFile) -> std::result::Result<(), String> {
        // Build output may have been evicted or written into, because its file is also in the workspace.
        if file.retention == Retention::Evictable {
            return Ok(());
        }
        let name = &file.name;
        let mut file = self
            .workspace
            .stage
            .open_kept(name)
            .map_err(|errno| format!("is kept as {name}: {errno}"))?;
        let found =
            hash_all(&mut file, &WsPath::root(), self.call).map_err(|fault| fault.to_string())?;
        if found == *hash {
            Ok(())
        } else {
            Err(format!("is kept as {name}, which has other bytes"))
        }
    }

    /// Compares every living node with the disk.
    fn disk(&mut self) -> Result<()> {
        let mut ahead = vec![(FileId::ROOT, WsPath::root())];
        while let Some((folder, path)) = ahead.pop() {
            self.call.check()?;
            for node in self.workspace.store().children(folder)? {
                let below = join(&path, &node.last.name)?;
                if node.last.kind == FileKind::Folder {
                    ahead.push((node.id, below.clone()));
                }
                self.node(node, below)?;
            }
        }
        self.answer.unsynced.sort();
        Ok(())
    }

    fn node(&mut self, node: Node, path: WsPath) -> Result<()> {
        let synced = match self.workspace.disk.stat(&path)? {
            Some(stat) => {
                self.workspace.sync_state_of(Some(node), &path, &stat, None, self.call)?.synced
            }
            None => false,
        };
        if synced {
            self.answer.synced += 1
        } else {
            self.answer.unsynced.push(path)
        }
        Ok(())
    }
}
