//! Several roots as one caller sees them (R15): each is a folder at the top, under its name, and a workspace
//! of its own. A call is about one of them, which its paths name; only a listing or a search of the folder that
//! holds them goes into each.

use yard_core::{Fault, FaultCode, PathError, Subject, WsPath};
use yard_gate::Mount;

use super::{Context, missing, paths_in_words};
use crate::args;
use crate::paths::Paths;
use crate::stop::Stop;

impl Context<'_> {
    /// The names of all roots, if this path is the folder that holds them (R15).
    pub(crate) fn roots_at(&self, text: &str) -> Option<Vec<String>> {
        let mount = self.mount()?;
        let is_top = WsPath::parse(text).ok()?.is_root();
        is_top.then(|| mount.all.iter().map(|root| root.name.clone()).collect())
    }

    /// Whether there are several roots.
    pub(crate) fn has_several_roots(&self) -> bool {
        self.mount().is_some_and(|mount| mount.all.len() > 1)
    }

    /// The root of the workspace, for a call that names no path; of several, one has to be named.
    pub(crate) fn whole(&self) -> Result<WsPath, Stop> {
        if self.has_several_roots() { self.path(".") } else { Ok(WsPath::root()) }
    }

    /// A pattern from the top, as this root has it.
    pub(crate) fn own_pattern(&self, pattern: String) -> String {
        let Some(mount) = self.mount() else { return pattern };
        let below = pattern.strip_prefix('/').and_then(|rest| rest.strip_prefix(&mount.name));
        match below.filter(|below| below.starts_with('/')) {
            Some(below) => below.to_owned(),
            None => pattern,
        }
    }

    /// A fault of the workspace, which knows its paths as its own, with the paths that the call named as the
    /// caller writes them. Where there are several roots, a fault that names none of them says which one it is of.
    pub(crate) fn told(&self, fault: Fault, named: &[WsPath]) -> Fault {
        if self.paths() == Paths::Host {
            return fault;
        }
        let fault = missing::with_suggestion(self, fault, named);
        let shown = paths_in_words::rewrite(fault.message(), named, |path| self.shown(path));
        match (shown, self.mount()) {
            (Some(message), _) => fault.reworded(message),
            (None, Some(mount)) => {
                fault.reworded(format!("in the root {}: {}", mount.name, fault.message()))
            }
            (None, None) => fault,
        }
    }

    /// The path in this root that `read` came to; where there are several, `from_top` reads it as if none had
    /// a directory of its own (R15).
    pub(crate) fn entered(
        &self,
        text: &str,
        read: Result<WsPath, PathError>,
        from_top: impl FnOnce(&str) -> Result<WsPath, PathError>,
        subject: Subject,
    ) -> Result<WsPath, Stop> {
        let stop = |error| self.path_stop(text, error, subject);
        let Some(mount) = self.mount() else { return read.map_err(stop) };
        let from_top = match self.paths() {
            Paths::Rooted => from_top(text),
            Paths::Relative | Paths::Host => read,
        };
        // What begins with a root's name means that root, whatever else of the host is called so.
        let first = from_top.as_ref().ok().and_then(|path| path.names().next());
        let is_named = self.paths() == Paths::Rooted
            && first.is_some_and(|name| mount.named(name.as_bytes()).is_some());
        if !is_named && let Some(root) = mount.holding(text.trim()) {
            return match root.name == mount.name {
                true => WsPath::relative_shown(text.trim(), &root.host).map_err(stop),
                false => Err(elsewhere(&root.name, text, subject)),
            };
        }
        // Every root is at the same place in its box: there is no telling which one is meant.
        let is_absolute = self.paths() == Paths::Relative && text.trim().starts_with('/');
        if is_absolute && mount.all.len() > 1 {
            return Err(stop(PathError::Elsewhere));
        }
        let from_top = from_top.map_err(stop)?;
        match is_absolute {
            true => Ok(from_top),
            false => enter(mount, self.paths(), text, &from_top, subject),
        }
    }

    /// What stands before every path of this root; nothing where the host's own paths do.
    pub(crate) fn mount(&self) -> Option<&Mount> {
        self.session().mount().filter(|_| self.paths() != Paths::Host)
    }
}

/// The path in this root that a path from the top leads to.
fn enter(
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
        "{} is in no root: the roots are {}, and every path starts with one of them: put it in front",
        args::shown(text),
        names(mount, paths)
    );
    stop(FaultCode::PathOutside, message)
}

/// The call is about another root, or about two.
fn elsewhere(name: &str, text: &str, subject: Subject) -> Stop {
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
    use yard_gate::NamedRoot;

    use super::*;

    fn mount() -> Mount {
        let named = |name: &str| NamedRoot { name: name.to_owned(), host: Vec::new() };
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
