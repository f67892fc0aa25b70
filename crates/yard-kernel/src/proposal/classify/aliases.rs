//! Aliases of paths: other paths that lead to the same entry by links. A rule applies to an entry under every path.

use std::collections::HashSet;

use yard_core::{Effect, PathEffect, WsPath};
use yard_disk::ResolvedPath;

use crate::workspace::Workspace;

/// Adds to every path of an effect its aliases below these paths.
pub(super) fn add<'n>(
    workspace: &Workspace,
    effect: &mut Effect,
    names: impl Iterator<Item = &'n WsPath>,
) {
    let mut seen = HashSet::new();
    for name in names.filter(|name| seen.insert(*name)) {
        for real in resolved_paths(workspace, name) {
            effect.paths.iter_mut().for_each(|one| add_to(one, name, &real));
        }
    }
}

/// The resolved path, with and without following a link at its end. Empty if the path has no link.
fn resolved_paths(workspace: &Workspace, name: &WsPath) -> Vec<WsPath> {
    let resolved = [true, false].map(|follow| match workspace.disk.locate(name, follow) {
        Ok(ResolvedPath::Present { path, .. } | ResolvedPath::Missing { path }) => Some(path),
        // An operation that uses a path which leads outside or nowhere is refused.
        Ok(ResolvedPath::Blocked { .. }) | Err(_) => None,
    });
    let mut paths: Vec<WsPath> =
        resolved.into_iter().flatten().filter(|real| real != name).collect();
    paths.dedup();
    paths
}

fn add_to(one: &mut PathEffect, name: &WsPath, real: &WsPath) {
    let other = if one.path.is_within(real) {
        below(name, one.path.names().skip(real.names().count()))
    } else if one.with_contents && real.is_within(&one.path) {
        Some(name.clone())
    } else {
        None
    };
    if let Some(other) = other.filter(|other| *other != one.path && !one.also.contains(other)) {
        one.also.push(other);
    }
}

fn below(folder: &WsPath, names: impl Iterator<Item = yard_core::Name>) -> Option<WsPath> {
    let mut path = folder.clone();
    for name in names {
        path = path.join(&name).ok()?;
    }
    Some(path)
}
