//! mkdir: makes a folder and those above it. An existing folder is no error.

use yard_core::op::{Changed, Mkdir};
use yard_core::{Call, Effect, EffectKind, FileId, FileKind, Result};
use yard_disk::ResolvedPath;

use crate::draft::StepOrigin;
use crate::lookup::path_faults::not_a_folder;
use crate::planner::Planner;
use crate::proposal::done_part::DonePart;
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;

impl Execute for Mkdir {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Changed>> {
        let path = match workspace.locate_to_change(&self.path, true)? {
            ResolvedPath::Blocked { by } => return Err(not_a_folder(&by)),
            ResolvedPath::Present { path, stat } if !stat.is(FileKind::Folder) => {
                return Err(not_a_folder(&path));
            }
            ResolvedPath::Present { path, .. } | ResolvedPath::Missing { path } => path,
        };
        let mut planner = Planner::new(workspace, call);
        let file = planner.make_folders(&path)?;
        let is_recorded = file == FileId::ROOT || workspace.store().node(file)?.is_some();
        let created = !planner.draft.changes.is_empty();
        let answer = Changed {
            path: path.clone(),
            file,
            version: None,
            hash: None,
            created,
            unchanged: false,
        };
        if is_recorded && planner.draft.changes.is_empty() {
            let effect = Effect::one(EffectKind::Read, path);
            return Ok(Planned::Answer { effect, answer });
        }
        // An existing folder that the store does not know is adopted, so that the returned id stays valid.
        if planner.draft.changes.is_empty() {
            planner.draft.origin = StepOrigin::External;
        }
        planner.propose::<Self>(answer)
    }

    fn answer_for_part(answer: Changed, done: &DonePart) -> Changed {
        done.changed(answer)
    }
}
