//! Other names of a place: the same folder under a link. A rule is about a place, whatever it is called.

use std::collections::HashSet;

use yard_core::{Effect, PathEffect, WsPath};
use yard_disk::ResolvedPath;

use crate::workspace::Workspace;

/// Adds to every path of an effect the names that it has below these paths.
pub(super) fn add<'n>(
    workspace: &Workspace,
    effect: &mut Effect,
    names: impl Iterator<Item = &'n WsPath>,
) {
    let mut met = HashSet::new();
    for name in names.filter(|name| met.insert(*name)) {
        for real in real_places(workspace, name) {
            effect.paths.iter_mut().for_each(|one| add_to(one, name, &real));
        }
    }
}

/// Where a path leads, with and without a link at its end; nothing where it has no link.
fn real_places(workspace: &Workspace, name: &WsPath) -> Vec<WsPath> {
    let led = [true, false].map(|follow| match workspace.disk.locate(name, follow) {
        Ok(ResolvedPath::Present { path, .. } | ResolvedPath::Missing { path }) => Some(path),
        // What leads outside or nowhere is refused by whoever goes there.
        Ok(ResolvedPath::Blocked { .. }) | Err(_) => None,
    });
    let mut places: Vec<WsPath> = led.into_iter().flatten().filter(|real| real != name).collect();
    places.dedup();
    places
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
