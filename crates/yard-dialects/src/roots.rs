//! Several roots as one caller sees them (R15): each is a folder at the top, under its name, and a workspace
//! of its own. A call is about one of them, which its paths name; nothing here reaches the others.

use yard_core::op::{Entry, List, Listing};
use yard_core::{Call, Fault, FaultCode, FileKind, FileType, Subject, WsPath};
use yard_gate::Mount;

use crate::args;
use crate::tool::{Context, Paths, Stop};

/// Lists a folder, or the roots where it is the one that holds them; `reply` reads paths as its context shows
/// them.
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
    let session = context.session.unmounted();
    let listing = at_top(&names, &order(WsPath::root()), context.call);
    reply(&listing, &Context { session: &session, ..*context })
}

/// The roots as folders. They are not looked at, each being a workspace of its own: they are as of now.
fn at_top(names: &[String], order: &List, call: &Call) -> Listing {
    let folder = |name: &String| {
        let path = WsPath::from_bytes(name.as_bytes()).ok()?;
        Some(Entry {
            path,
            kind: Some(FileKind::Folder),
            file_type: FileType::Folder,
            id: None,
            synced: true,
            is_virtual: false,
            size: None,
            updated_at: call.world().now(),
        })
    };
    let all: Vec<Entry> = names.iter().filter_map(folder).collect();
    let (total, limit) = (all.len(), order.limit.unwrap_or(usize::MAX));
    let entries: Vec<Entry> = all.into_iter().skip(order.skip).take(limit).collect();
    let truncated = order.skip.saturating_add(entries.len()) < total;
    Listing { path: WsPath::root(), entries, total, truncated }
}

/// The path in this root that a path from the top leads to.
pub(crate) fn enter(
    mount: &Mount,
    paths: Paths,
    text: &str,
    path: &WsPath,
    subject: Subject,
) -> Result<WsPath, Stop> {
    let stop = |code, message| Err(Stop::Fault(Fault::new(code, message).about(subject)));
    let mut parts = path.relative().splitn(2, |byte| *byte == b'/');
    let first = parts.next().unwrap_or_default();
    if first.is_empty() {
        let message = format!(
            "{} holds the roots {}, each of which is a workspace of its own: name one of them, such as {}",
            args::shown(text),
            names(mount, paths),
            shown(&mount.name, paths)
        );
        return stop(FaultCode::BadPath, message);
    }
    if first == mount.name.as_bytes() {
        let rest = parts.next().unwrap_or_default();
        return WsPath::from_bytes(rest)
            .or_else(|error| stop(FaultCode::BadPath, format!("{error} ({})", args::shown(text))));
    }
    if let Some(other) = mount.named(first) {
        return Err(elsewhere(&other.name, text, subject));
    }
    let message = format!(
        "{} is in no root: the roots are {}, and every path starts with one of them",
        args::shown(text),
        names(mount, paths)
    );
    stop(FaultCode::PathOutside, message)
}

/// The call is about another root, or about two.
pub(crate) fn elsewhere(name: &str, text: &str, subject: Subject) -> Stop {
    let message = format!(
        "{} is in the root {name}, and something else in this call is not: each root is a workspace of its \
         own. Make one call for each",
        args::shown(text)
    );
    Stop::Elsewhere(name.to_owned(), Fault::new(FaultCode::BadArgument, message).about(subject))
}

/// A path of this root, from the top.
pub(crate) fn from_top(mount: &Mount, path: &WsPath) -> WsPath {
    let whole = [mount.name.as_bytes(), path.relative()].join(&b'/');
    // Too long by the name alone: it is shown as the root itself knows it.
    WsPath::from_bytes(&whole).unwrap_or_else(|_| path.clone())
}

/// How the roots are called, for people.
fn names(mount: &Mount, paths: Paths) -> String {
    let all: Vec<String> = mount.all.iter().map(|root| shown(&root.name, paths)).collect();
    match all.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => shown(&mount.name, paths),
    }
}

fn shown(name: &str, paths: Paths) -> String {
    match paths {
        Paths::Rooted => format!("/{name}"),
        Paths::Relative | Paths::Host => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use yard_gate::Named;

    use super::*;

    fn mount() -> Mount {
        let named = |name: &str| Named { name: name.to_owned(), host: Vec::new() };
        Mount { name: "app".to_owned(), all: vec![named("app"), named("lib")] }
    }

    fn entered(text: &str) -> Result<WsPath, Stop> {
        let path = WsPath::parse(text).unwrap();
        enter(&mount(), Paths::Rooted, text, &path, Subject::Path)
    }

    #[test]
    fn r15_a_root_is_a_folder_at_the_top() {
        assert_eq!(entered("/app/src/a.rs").unwrap().to_string(), "/src/a.rs");
        assert_eq!(entered("/app").unwrap(), WsPath::root());
        assert_eq!(entered("app/../app/x").unwrap().to_string(), "/x");
        let back = from_top(&mount(), &entered("/app/src").unwrap());
        assert_eq!(back.to_string(), "/app/src");
        assert_eq!(from_top(&mount(), &WsPath::root()).to_string(), "/app");
    }

    #[test]
    fn r15_what_leads_into_no_root_or_another_one_says_so() {
        let message = |text| match entered(text) {
            Err(Stop::Fault(fault) | Stop::Elsewhere(_, fault)) => fault.message().to_owned(),
            other => panic!("{other:?}"),
        };
        assert!(message("/").contains("/app and /lib"), "{}", message("/"));
        assert!(message("/apple/x").contains("the roots are /app and /lib"));
        assert!(message("/lib/x").contains("one call for each"));
        assert!(matches!(entered("/lib/x"), Err(Stop::Elsewhere(name, _)) if name == "lib"));
    }
}
