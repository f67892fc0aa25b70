//! fetch: a range of the bytes of a regular file. A caller that streams a file sends the signature of its first range, so
//! that it never combines parts of two contents.

use yard_core::op::{FETCH_BYTES, Fetch, Fetched};
use yard_core::{Call, Effect, EffectKind, Result};
use yard_disk::read_range;

use crate::op::fingerprint::changed_meanwhile;
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;

impl Execute for Fetch {
    fn plan(&self, workspace: &Workspace, _call: &Call) -> Result<Planned<Fetched>> {
        let disk = workspace.disk_of(&self.path);
        let (path, file, stat) = disk.open_wherever(&self.path)?;
        let seen = stat.signature;
        if self.seen.is_some_and(|before| before != seen) {
            return Err(changed_meanwhile(&path));
        }
        let left = stat.size().saturating_sub(self.offset);
        let length = self.length.min(FETCH_BYTES).min(left);
        let bytes = read_range(&file, self.offset, length, &path)?;
        if disk.look_again(&file, &path)?.signature != seen {
            return Err(changed_meanwhile(&path));
        }
        let effect = Effect::one(EffectKind::Read, path.clone());
        let answer = Fetched { path, bytes, size: stat.size(), seen };
        Ok(Planned::Answer { effect, answer })
    }
}
