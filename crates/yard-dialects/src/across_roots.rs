//! Listings and searches of the folder that holds several roots (R15): each root is looked at by a session of its
//! own, and what is found is put together under the roots' names. Nobody is asked here: what would ask a person in
//! one of the roots is refused, and a call about that root alone asks.

use yard_core::op::{
    CodeAnswer, CodeMatch, Depth, Entry, Find, FindBy, Found, Grep, GrepAnswer, GrepMatch, List,
    ListOrder, Listing, MatchCursor, PathFilter, SearchCode,
};
use yard_core::{Fault, FaultCode, FileKind, FileType, Name, Subject, WsPath};
use yard_gate::{Execute, Session};

use crate::args;
use crate::context::Context;
use crate::context::roots::from_top;
use crate::patterns;
use crate::stop::Stop;

/// The caller in one of the roots.
struct InRoot {
    name: String,
    session: Session,
}

impl InRoot {
    /// The path from the top of one in this root.
    fn named_path(&self, path: &WsPath) -> WsPath {
        self.session.mount().map_or_else(|| path.clone(), |mount| from_top(mount, path))
    }

    /// Calls `work` with the context of this root.
    fn within<T>(&self, context: &Context<'_>, work: impl FnOnce(&Context<'_>) -> T) -> T {
        let attempt = context.attempt.through(&self.session);
        work(&context.with(&attempt))
    }

    fn perform<O: Execute>(&self, context: &Context<'_>, op: O) -> Result<O::Answer, Stop> {
        let attempt = context.attempt.through(&self.session);
        let there = context.with(&attempt);
        there.perform(op).map_err(|stop| {
            stop.map_fault(|fault| match fault.code() {
                FaultCode::Denied => Stop::Fault(fault.reworded(format!(
                    "{}. Name one root, such as {}, to look at that one alone",
                    fault.message(),
                    there.shown(&WsPath::root())
                ))),
                _ => Stop::Fault(fault),
            })
        })
    }

    /// Where a search goes on in this root that goes on after a path from the top: nowhere if it is done with
    /// this root.
    fn after(&self, after: Option<&WsPath>) -> Option<Option<WsPath>> {
        let Some(after) = after else { return Some(None) };
        let own = WsPath::from_bytes(self.name.as_bytes()).ok()?;
        match after.relative().strip_prefix(own.relative()) {
            Some(rest) if rest.starts_with(b"/") => WsPath::from_bytes(rest).ok().map(Some),
            _ => (order_key(&self.name).as_slice() > after.relative()).then_some(None),
        }
    }
}

/// What orders roots as the paths of their files are ordered.
fn order_key(name: &str) -> Vec<u8> {
    [name.as_bytes(), b"/"].concat()
}

/// All roots in the order of paths, if `text` is the folder that holds them.
fn roots_at(context: &Context<'_>, text: &str) -> Option<Vec<InRoot>> {
    context.roots_at(text)?;
    let mut roots: Vec<InRoot> = context
        .session()
        .in_every_root()
        .into_iter()
        .filter_map(|session| {
            let name = session.mount()?.name.clone();
            Some(InRoot { name, session: session.without_person() })
        })
        .collect();
    roots.sort_by_key(|root| order_key(&root.name));
    Some(roots)
}

/// Calls `reply` with a context whose paths begin at the top.
fn at_top<T>(
    context: &Context<'_>,
    reply: impl FnOnce(&Context<'_>) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let session = context.session().unmounted();
    let attempt = context.attempt.through(&session);
    reply(&context.with(&attempt))
}

/// The caller in the root that a path from the top is in, and that path in there; for any other path, this one.
pub(crate) fn owner(context: &Context<'_>, path: &WsPath) -> (Session, WsPath) {
    let here = || (context.session().clone(), path.clone());
    if context.session().mount().is_some() {
        return here();
    }
    let mut names = path.names();
    let first = names.next();
    let is_named = |session: &Session| {
        session
            .mount()
            .is_some_and(|mount| Some(mount.name.as_bytes()) == first.as_ref().map(Name::as_bytes))
    };
    let rest: Vec<Name> = names.collect();
    let rest = WsPath::from_bytes(&rest.iter().map(Name::as_bytes).collect::<Vec<_>>().join(&b'/'));
    match (context.session().in_every_root().into_iter().find(is_named), rest) {
        (Some(session), Ok(rest)) => (session, rest),
        _ => here(),
    }
}

/// Finds files by globs below a folder; in all roots where that is the one that holds them.
pub(crate) fn find<T>(
    context: &Context<'_>,
    text: &str,
    globs: &[String],
    find: Find,
    reply: impl FnOnce(&Found, &Context<'_>) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let Some(roots) = roots_at(context, text) else {
        let globs = globs.iter().map(|glob| patterns::glob(context, glob));
        let by = FindBy::Globs(globs.collect::<Result<_, _>>()?);
        let found = context.perform(Find { path: context.path(text)?, by, ..find })?;
        return reply(&found, context);
    };
    let limit = find.limit.unwrap_or(context.limits().answer_entries);
    let (entries, path) = (Vec::new(), WsPath::root());
    let mut all = Found { path, entries, truncated: false, ignored: 0, withheld: 0 };
    let mut is_about_none = true;
    for root in &roots {
        let Some(globs) = root.within(context, |there| patterns::in_root(there, globs))? else {
            continue;
        };
        is_about_none = false;
        let Some(after) = root.after(find.after.as_ref()) else { continue };
        let left = limit.saturating_sub(all.entries.len());
        let (by, limit) = (FindBy::Globs(globs), Some(left.max(1)));
        let found = root.perform(context, Find { by, limit, after, ..find.clone() })?;
        all.ignored += found.ignored;
        all.withheld += found.withheld;
        all.truncated |= found.truncated || left == 0 && !found.entries.is_empty();
        let entries = found.entries.into_iter().take(left);
        all.entries.extend(entries.map(|entry| named(root, entry)));
        if all.truncated {
            break;
        }
    }
    if is_about_none {
        return Err(about_none(context, globs, &roots));
    }
    at_top(context, |top| reply(&all, top))
}

/// No glob begins with a name of a root.
fn about_none(context: &Context<'_>, globs: &[String], roots: &[InRoot]) -> Stop {
    let shown: Vec<String> = globs.iter().map(|glob| args::shown(glob)).collect();
    let names: Vec<String> = roots
        .iter()
        .map(|root| root.within(context, |there| there.shown(&WsPath::root())))
        .collect();
    let first = names.first().cloned().unwrap_or_default();
    let message = format!(
        "the pattern {} is about none of the roots {}: begin it with the name of one of them ({first}/src/*), or \
         with **/ for all of them",
        shown.join(", "),
        names.join(", ")
    );
    Stop::Fault(Fault::new(FaultCode::PathOutside, message).about(Subject::Pattern))
}

fn named(root: &InRoot, entry: Entry) -> Entry {
    Entry { path: root.named_path(&entry.path), ..entry }
}

/// Searches lines below a folder, in files that match the globs if there are any; in all roots where that is the
/// folder that holds them.
pub(crate) fn grep<T>(
    context: &Context<'_>,
    text: &str,
    globs: &[String],
    grep: Grep,
    reply: impl FnOnce(GrepAnswer, &Context<'_>) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let filter = |globs: Vec<String>| match globs.is_empty() {
        true => PathFilter::All,
        false => PathFilter::Globs(globs),
    };
    let Some(roots) = roots_at(context, text) else {
        let globs = globs.iter().map(|glob| patterns::glob(context, glob));
        let filter = filter(globs.collect::<Result<_, _>>()?);
        let answer = context.perform(Grep { path: context.path(text)?, filter, ..grep })?;
        return reply(answer, context);
    };
    let limit = grep.limit.unwrap_or(context.limits().answer_entries);
    let mut all = GrepAnswer { matches: Vec::new(), truncated: false, ignored: 0, withheld: 0 };
    let mut is_about_none = true;
    for root in &roots {
        let Some(globs) = root.within(context, |there| patterns::in_root(there, globs))? else {
            continue;
        };
        is_about_none = false;
        let last = grep.cursor.as_ref();
        let Some(after) = root.after(last.map(|cursor| &cursor.path)) else { continue };
        let cursor = after.zip(last).map(|(path, last)| MatchCursor { path, line: last.line });
        let left = limit.saturating_sub(all.matches.len());
        let (filter, limit) = (filter(globs), Some(left.max(1)));
        let found = root.perform(context, Grep { filter, limit, cursor, ..grep.clone() })?;
        all.ignored += found.ignored;
        all.withheld += found.withheld;
        all.truncated |= found.truncated || left == 0 && !found.matches.is_empty();
        let matches = found.matches.into_iter().take(left);
        let from_top = |found: GrepMatch| GrepMatch { path: root.named_path(&found.path), ..found };
        all.matches.extend(matches.map(from_top));
        if all.truncated {
            break;
        }
    }
    if is_about_none {
        return Err(about_none(context, globs, &roots));
    }
    at_top(context, |top| reply(all, top))
}

/// Searches code below a folder; in all roots where that is the one that holds them, the best of them first.
pub(crate) fn search_code<T>(
    context: &Context<'_>,
    text: &str,
    search: SearchCode,
    reply: impl FnOnce(CodeAnswer, &Context<'_>) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let Some(roots) = roots_at(context, text) else {
        let answer = context.perform(SearchCode { path: context.path(text)?, ..search })?;
        return reply(answer, context);
    };
    let (mut all, mut remains) = (CodeAnswer::default(), false);
    let limit = search.limit.saturating_add(search.skip);
    for root in &roots {
        let found = root.perform(context, SearchCode { limit, skip: 0, ..search.clone() })?;
        remains |= found.next.is_some();
        all.files += found.files;
        all.too_large += found.too_large;
        all.beyond += found.beyond;
        all.partly += found.partly;
        all.withheld += found.withheld;
        let from_top = |found: CodeMatch| CodeMatch { path: root.named_path(&found.path), ..found };
        all.results.extend(found.results.into_iter().map(from_top));
    }
    all.results.sort_by(|a, b| b.score.total_cmp(&a.score));
    remains |= all.results.len() > limit;
    all.results = all.results.into_iter().skip(search.skip).take(search.limit).collect();
    all.next = remains.then(|| search.skip + all.results.len());
    at_top(context, |top| reply(all, top))
}

/// Lists a folder, or the roots and what is in them where it is the one that holds them; `reply` reads paths as
/// its context shows them.
pub(crate) fn list<T>(
    context: &Context<'_>,
    text: &str,
    order: impl FnOnce(WsPath) -> List,
    reply: impl FnOnce(&Listing, &Context<'_>) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let Some(names) = context.roots_at(text) else {
        let listing = context.perform(order(context.path(text)?))?;
        return reply(&listing, context);
    };
    let order = order(WsPath::root());
    let mut all: Vec<Entry> = names.iter().filter_map(|name| folder(name, context)).collect();
    let mut total = all.len();
    let limit = order.limit.unwrap_or(context.limits().answer_entries);
    let below = match order.depth {
        Depth::Own | Depth::Levels(0 | 1) => None,
        Depth::Levels(levels) => Some(Depth::Levels(levels - 1)),
        Depth::All => Some(Depth::All),
    };
    if let Some(depth) = below {
        let limit = Some(order.skip.saturating_add(limit));
        for root in roots_at(context, text).unwrap_or_default() {
            let listing = root.perform(context, List { depth, limit, skip: 0, ..order.clone() })?;
            total += listing.total;
            all.extend(listing.entries.into_iter().map(|entry| named(&root, entry)));
        }
    }
    sort(&mut all, order.order);
    let entries: Vec<Entry> = all.into_iter().skip(order.skip).take(limit).collect();
    let truncated = order.skip.saturating_add(entries.len()) < total;
    let listing = Listing { path: WsPath::root(), entries, total, truncated };
    at_top(context, |top| reply(&listing, top))
}

/// A root as a folder. It is not looked at, being a workspace of its own: it is as of now.
fn folder(name: &str, context: &Context<'_>) -> Option<Entry> {
    Some(Entry {
        path: WsPath::from_bytes(name.as_bytes()).ok()?,
        kind: Some(FileKind::Folder),
        file_type: FileType::Folder,
        id: None,
        synced: true,
        is_virtual: false,
        size: None,
        updated_at: context.call().world().now(),
    })
}

/// As the listing of one root is ordered.
fn sort(entries: &mut [Entry], order: ListOrder) {
    entries.sort_by_cached_key(|entry| {
        let is_no_folder = entry.kind != Some(FileKind::Folder);
        let parent = entry.path.parent().map(|parent| parent.names().collect::<Vec<_>>());
        let level = match order {
            ListOrder::BreadthFirst => Some((entry.path.names().count(), parent)),
            ListOrder::FoldersFirst => None,
        };
        (level, is_no_folder, entry.path.clone())
    });
}
