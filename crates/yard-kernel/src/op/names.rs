//! names: the names of a folder's entries. No metadata is read, from the disk or the store, so that a listing that shows
//! only names is fast.

use yard_core::op::{Named, Names, NamesAnswer};
use yard_core::{Call, Effect, EffectKind, Result};

use crate::lookup::read_target::{folder_at, own_folder_at};
use crate::op::list::own;
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;

impl Execute for Names {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<NamesAnswer>> {
        let (path, virtuals) = match self.for_tree {
            true => folder_at(workspace, &self.path)?,
            false => own_folder_at(workspace, &self.path)?,
        };
        let virtuals = if self.for_tree { virtuals.without_files(&path) } else { virtuals };
        let mut visits = own(workspace, &path, &virtuals)?;
        visits.retain(|visit| call.may_list(&visit.path));
        visits.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let total = visits.len();
        let entries = visits
            .into_iter()
            .take(workspace.limits().answer_entries)
            .map(|visit| Named { kind: visit.kind.known(), path: visit.path })
            .collect();
        let effect = Effect::one(EffectKind::List, path.clone());
        Ok(Planned::Answer { effect, answer: NamesAnswer { path, entries, total } })
    }
}
