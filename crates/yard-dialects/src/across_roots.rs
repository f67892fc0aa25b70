//! Listings and searches of the top folder, which has several roots (R15): each root is read by a session of its own,
//! and the results are merged under the roots' names. No person is asked here: a root whose policy would ask refuses,
//! and a call about that root alone asks.

use yard_core::op::{
    CodeAnswer, CodeMatch, Depth, Entry, Find, FindBy, Found, Grep, GrepAnswer, GrepMatch, List,
    ListOrder, Listing, MatchCursor, PathFilter, SearchCode,
};
use yard_core::{Fault, FaultCode, FileKind, FileType, Name, Subject, WsPath};
use yard_gate::{Execute, Session};

use crate::args;
use crate::context::Context;
use crate::context::mounted_paths::from_top;
use crate::patterns;
use crate::stop::Stop;

/// The caller's session in one of the roots.
struct RootSession {
    name: String,
    session: Session,
}

impl RootSession {
    /// The path from the top folder of a path in this root.
    fn path_from_top(&self, path: &WsPath) -> WsPath {
        self.session.mount().map_or_else(|| path.clone(), |mount| from_top(mount, path))
    }

    /// Calls `work` with the context of this root.
    fn with_context<T>(&self, context: &Context<'_>, work: impl FnOnce(&Context<'_>) -> T) -> T {
        let attempt = context.attempt.in_session(&self.session);
        work(&context.with(&attempt))
    }

    fn perform<O: Execute>(&self, context: &Context<'_>, op: O) -> Result<O::Answer, Stop> {
        let attempt = context.attempt.in_session(&self.session);
        let there = context.with(&attempt);
        there.perform(op).map_err(|stop| {
            stop.reword(|fault| {
                let (message, root) = (fault.message(), there.display(&WsPath::root()));
                (fault.code() == FaultCode::Denied).then(|| {
                    format!("{message}. Name one root, such as {root}, to look at that one alone")
                })
            })
        })
    }

    /// Where a search that goes on after a path from the top folder goes on in this root; `None` if it has searched
    /// this root already.
    fn after(&self, after: Option<&WsPath>) -> Option<Option<WsPath>> {
        let Some(after) = after else { return Some(None) };
        let own = WsPath::from_bytes(self.name.as_bytes()).ok()?;
        match after.relative().strip_prefix(own.relative()) {
            Some(rest) if rest.starts_with(b"/") => WsPath::from_bytes(rest).ok().map(Some),
            _ => (order_key(&self.name).as_slice() > after.relative()).then_some(None),
        }
    }
}

/// The key that sorts roots as the paths of their files are sorted.
fn order_key(name: &str) -> Vec<u8> {
    [name.as_bytes(), b"/"].concat()
}

/// All roots in the order of paths, if `text` is the top folder.
fn roots_at(context: &Context<'_>, text: &str) -> Option<Vec<RootSession>> {
    context.roots_at(text)?;
    let mut roots: Vec<RootSession> = context
        .session()
        .sessions_in_all_roots()
        .into_iter()
        .filter_map(|session| {
            let name = session.mount()?.name.clone();
            Some(RootSession { name, session: session.without_person() })
        })
        .collect();
    roots.sort_by_key(|root| order_key(&root.name));
    Some(roots)
}

/// Calls `reply` with a context whose paths begin at the top folder.
fn with_top_context<T>(
    context: &Context<'_>,
    reply: impl FnOnce(&Context<'_>) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let session = context.session().unmounted();
    let attempt = context.attempt.in_session(&session);
    reply(&context.with(&attempt))
}

/// The session of the root that a path from the top folder is in, and the path in that root. For any other path, the
/// caller's session and the path itself.
pub(crate) fn root_of(context: &Context<'_>, path: &WsPath) -> (Session, WsPath) {
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
    match (context.session().sessions_in_all_roots().into_iter().find(is_named), rest) {
        (Some(session), Ok(rest)) => (session, rest),
        _ => here(),
    }
}

/// Finds files by globs below a folder; in all roots if it is the top folder.
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
    let mut matches_no_root = true;
    for root in &roots {
        let in_root = root.with_context(context, |there| patterns::in_root(there, globs))?;
        let Some(globs) = in_root else { continue };
        matches_no_root = false;
        let Some(after) = root.after(find.after.as_ref()) else { continue };
        let left = limit.saturating_sub(all.entries.len());
        let (by, limit) = (FindBy::Globs(globs), Some(left.max(1)));
        let found = root.perform(context, Find { by, limit, after, ..find.clone() })?;
        all.ignored += found.ignored;
        all.withheld += found.withheld;
        all.truncated |= found.truncated || left == 0 && !found.entries.is_empty();
        let entries = found.entries.into_iter().take(left);
        all.entries.extend(entries.map(|entry| entry_from_top(root, entry)));
        if all.truncated {
            break;
        }
    }
    if matches_no_root {
        return Err(no_matching_root(context, globs, &roots));
    }
    with_top_context(context, |top| reply(&all, top))
}

/// The fault for globs that begin with no name of a root.
fn no_matching_root(context: &Context<'_>, globs: &[String], roots: &[RootSession]) -> Stop {
    let globs: Vec<String> = globs.iter().map(|glob| args::quoted(glob)).collect();
    let names: Vec<String> = roots
        .iter()
        .map(|root| root.with_context(context, |there| there.display(&WsPath::root())))
        .collect();
    let first = names.first().cloned().unwrap_or_default();
    let message = format!(
        "the pattern {} is about none of the roots {}: begin it with the name of one of them ({first}/src/*), or \
         with **/ for all of them",
        globs.join(", "),
        names.join(", ")
    );
    Stop::Fault(Fault::new(FaultCode::PathOutside, message).about(Subject::Pattern))
}

fn entry_from_top(root: &RootSession, entry: Entry) -> Entry {
    Entry { path: root.path_from_top(&entry.path), ..entry }
}

/// Searches lines below a folder, in files that match the globs if there are any; in all roots if it is the top
/// folder.
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
    let mut matches_no_root = true;
    for root in &roots {
        let in_root = root.with_context(context, |there| patterns::in_root(there, globs))?;
        let Some(globs) = in_root else { continue };
        matches_no_root = false;
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
        let from_top =
            |found: GrepMatch| GrepMatch { path: root.path_from_top(&found.path), ..found };
        all.matches.extend(matches.map(from_top));
        if all.truncated {
            break;
        }
    }
    if matches_no_root {
        return Err(no_matching_root(context, globs, &roots));
    }
    with_top_context(context, |top| reply(all, top))
}

/// Searches code below a folder; in all roots if it is the top folder. The best results come first.
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
        let from_top =
            |found: CodeMatch| CodeMatch { path: root.path_from_top(&found.path), ..found };
        all.results.extend(found.results.into_iter().map(from_top));
    }
    all.results.sort_by(|a, b| b.score.total_cmp(&a.score));
    remains |= all.results.len() > limit;
    all.results = all.results.into_iter().skip(search.skip).take(search.limit).collect();
    all.next = remains.then(|| search.skip + all.results.len());
    with_top_context(context, |top| reply(all, top))
}

/// Lists a folder; for the top folder, the roots and their entries. `reply` gets a context that displays the paths of
/// the listing.
pub(crate) fn list<T>(
    context: &Context<'_>,
    text: &str,
    list_at: impl FnOnce(WsPath) -> List,
    reply: impl FnOnce(&Listing, &Context<'_>) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let Some(names) = context.roots_at(text) else {
        let listing = context.perform(list_at(context.path(text)?))?;
        return reply(&listing, context);
    };
    let list = list_at(WsPath::root());
    let mut all: Vec<Entry> = names.iter().filter_map(|name| root_entry(name, context)).collect();
    let mut total = all.len();
    let limit = list.limit.unwrap_or(context.limits().answer_entries);
    let below = match list.depth {
        Depth::Own | Depth::Levels(0 | 1) => None,
        Depth::Levels(levels) => Some(Depth::Levels(levels - 1)),
        Depth::All => Some(Depth::All),
    };
    if let Some(depth) = below {
        let limit = Some(list.skip.saturating_add(limit));
        for root in roots_at(context, text).unwrap_or_default() {
            let listing = root.perform(context, List { depth, limit, skip: 0, ..list.clone() })?;
            total += listing.total;
            all.extend(listing.entries.into_iter().map(|entry| entry_from_top(&root, entry)));
        }
    }
    sort(&mut all, list.order);
    let entries: Vec<Entry> = all.into_iter().skip(list.skip).take(limit).collect();
    let truncated = list.skip.saturating_add(entries.len()) < total;
    let listing = Listing { path: WsPath::root(), entries, total, truncated };
    with_top_context(context, |top| reply(&listing, top))
}

/// A root as a folder of the top folder. Its time is now: the root itself is another workspace, and is not read.
fn root_entry(name: &str, context: &Context<'_>) -> Option<Entry> {
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

/// Sorts entries as the kernel sorts a listing.
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
