//! verify: recomputes the audit chain and every step's digest, reads every content back, and compares
//! the store with the disk. Changes nothing.

use std::collections::HashMap;

use yard_core::op::{Verified, Verify};
use yard_core::{Call, ContentHash, Effect, EffectKind, FileId, FileKind, Result, StepId, WsPath};
use yard_store::{AuditRow, Node, Seq, StoreError, chain, step_digest};

use crate::content::hash_all;
use crate::draft::join;
use crate::output;
use crate::workspace::{Workspace, store_fault};
use crate::{Execute, Planned};

/// Rows that are read at once.
const PAGE: usize = 1_000;

impl Execute for Verify {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Verified>> {
        let mut check = Check {
            workspace,
            call,
            found: Verified {
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
        check.disk()?;
        let effect = Effect::one(EffectKind::Read, WsPath::root()).with_contents();
        Ok(Planned::Answer { effect, answer: check.found })
    }
}

struct Check<'a> {
    workspace: &'a Workspace,
    call: &'a Call,
    found: Verified,
}

impl Check<'_> {
    fn problem(&mut self, words: String) {
        self.found.problems.push(words);
    }

    fn chain(&mut self) -> Result<()> {
        let store = self.workspace.store();
        let head = store.head().map_err(store_fault)?;
        let seqs = self.step_numbers()?;
        let (mut after, mut hash) = (0, [0; 32]);
        loop {
            self.call.check()?;
            let rows = store.audit(after, PAGE).map_err(store_fault)?;
            let Some(last) = rows.last() else { break };
            let next = last.number;
            for row in rows {
                self.link(&row, after, &hash, &seqs);
                (after, hash) = (row.number, row.hash);
            }
            after = next;
        }
        if self.found.steps != head {
            let steps = self.found.steps;
            self.problem(format!("the history has {head} steps, the audit chain {steps}"));
        }
        Ok(())
    }

    fn step_numbers(&self) -> Result<HashMap<StepId, Seq>> {
        let mut seqs = HashMap::new();
        let mut before = None;
        loop {
            let rows = self.workspace.store().steps(None, before, PAGE).map_err(store_fault)?;
            let Some(last) = rows.last() else { return Ok(seqs) };
            before = Some(last.seq);
            seqs.extend(rows.into_iter().map(|row| (row.id, row.seq)));
        }
    }

    fn link(
        &mut self,
        row: &AuditRow,
        after: u64,
        previous: &[u8; 32],
        seqs: &HashMap<StepId, Seq>,
    ) {
        self.found.audit_rows += 1;
        if row.number != after + 1 {
            self.problem(format!("audit rows {} to {} are missing", after + 1, row.number - 1));
        }
        if chain(previous, &row.entry, row.step) != row.hash {
            self.problem(format!(
                "audit row {} does not follow from the row before it",
                row.number
            ));
        }
        let Some((id, digest)) = row.step else { return };
        self.found.steps += 1;
        let changes = seqs.get(&id).map(|seq| self.workspace.store().changes(*seq));
        match changes {
            None => self.problem(format!("step {id} of audit row {} is missing", row.number)),
            Some(Err(error)) => self.problem(format!("step {id} cannot be read: {error}")),
            Some(Ok(changes)) if step_digest(&changes) != digest => {
                self.problem(format!(
                    "the changes of step {id} are not the ones that the audit chain saw"
                ));
            }
            Some(Ok(_)) => {}
        }
    }

    fn contents(&mut self) -> Result<()> {
        let store = self.workspace.store();
        let mut after: Option<ContentHash> = None;
        loop {
            let hashes = store.contents(after.as_ref(), PAGE).map_err(store_fault)?;
            let Some(last) = hashes.last() else { return Ok(()) };
            after = Some(*last);
            for hash in hashes {
                self.call.check()?;
                self.found.contents += 1;
                self.content(&hash);
                self.call.progress(self.found.contents, None);
            }
        }
    }

    fn content(&mut self, hash: &ContentHash) {
        let damaged = match self.workspace.store().content(hash) {
            Ok(Some(bytes)) => {
                (ContentHash::of(&bytes) != *hash).then(|| "has other bytes".to_owned())
            }
            Ok(None) => self.kept(hash).err(),
            Err(StoreError::Corrupt(why)) => Some(why),
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = damaged {
            self.problem(format!("content {hash} {why}"));
        }
    }

    fn kept(&self, hash: &ContentHash) -> std::result::Result<(), String> {
        let located = self.workspace.store().locate(hash).map_err(|error| error.to_string())?;
        let name = located.and_then(|located| located.kept).ok_or("is missing")?;
        // Build output is kept as long as there is room, and as long as nobody writes into it.
        if output::is_output(&name) {
            return Ok(());
        }
        let mut file = self
            .workspace
            .stage
            .open_kept(&name)
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
            for node in self.workspace.store().children(folder).map_err(store_fault)? {
                let below = join(&path, &node.last.name)?;
                if node.last.kind == FileKind::Folder {
                    ahead.push((node.id, below.clone()));
                }
                self.node(node, below)?;
            }
        }
        self.found.unsynced.sort();
        Ok(())
    }

    fn node(&mut self, node: Node, path: WsPath) -> Result<()> {
        let synced = match self.workspace.disk.stat(&path)? {
            Some(stat) => self.workspace.judge(Some(node), &path, &stat, None, self.call)?.synced,
            None => false,
        };
        match synced {
            true => self.found.synced += 1,
            false => self.found.unsynced.push(path),
        }
        Ok(())
    }
}
