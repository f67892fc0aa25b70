//! Paths of a caller with several roots (R15): each root is a folder at the top, under its name, and a workspace
//! of its own. The paths of a call name the root that it is about; only a listing or a search of the top folder
//! goes into each root (`across_roots.rs`).

use yard_core::{Fault, FaultCode, PathError, Subject, WsPath};
use yard_gate::Mount;

use super::{Context, message_paths, suggestions};
use crate::args;
use crate::caller_hints::with_remedy_in_words;
use crate::path_style::PathStyle;
use crate::stop::Stop;

impl Context<'_> {
    /// The names of all roots, if this path is the top folder (R15).
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

    /// A pattern from the top folder, as one from this root.
    pub(crate) fn own_pattern(&self, pattern: String) -> String {
        let Some(mount) = self.mount() else { return pattern };
        let below = pattern.strip_prefix('/').and_then(|rest| rest.strip_prefix(&mount.name));
        match below.filter(|below| below.starts_with('/')) {
            Some(below) => below.to_owned(),
            None => pattern,
        }
    }

    /// A fault with the paths that the call named as the caller writes them, and with a suggestion if one of them is
    /// missing. Where there are several roots, a fault without a path names its root.
    pub(crate) fn fault_for_caller(&self, fault: Fault, named: &[WsPath]) -> Fault {
        let fault = with_remedy_in_words(fault);
        if self.path_style() == PathStyle::Host {
            return fault;
        }
        let fault = suggestions::with_suggestion(self, fault, named);
        let rewritten = message_paths::rewrite(fault.message(), named, |path| self.display(path));
        match (rewritten, self.mount()) {
            (Some(message), _) => fault.reworded(message),
            (None, Some(mount)) => {
                fault.reworded(format!("in the root {}: {}", mount.name, fault.message()))
            }
            (None, None) => fault,
        }
    }

    /// The path in this root that `text` means. `read` is the result where there is one root; where there are several,
    /// `from_top` parses the text as a path from the top folder (R15).
    pub(crate) fn path_in_root(
        &self,
        text: &str,
        read: Result<WsPath, PathError>,
        from_top: impl FnOnce(&str) -> Result<WsPath, PathError>,
        subject: Subject,
    ) -> Result<WsPath, Stop> {
        let stop = |error| self.path_stop(text, error, subject);
        let Some(mount) = self.mount() else { return read.map_err(stop) };
        let from_top = match self.path_style() {
            PathStyle::Rooted => from_top(text),
            PathStyle::Relative | PathStyle::Host => read,
        };
        // A path that begins with a root's name means that root, even if it is also a host path.
        let first = from_top.as_ref().ok().and_then(|path| path.names().next());
        let is_named = self.path_style() == PathStyle::Rooted
            && first.is_some_and(|name| mount.named(name.as_bytes()).is_some());
        if !is_named && let Some(root) = mount.holding(text.trim()) {
            return match root.name == mount.name {
                true => WsPath::relative_shown(text.trim(), &root.host).map_err(stop),
                false => Err(in_other_root(&root.name, text, subject)),
            };
        }
        // Every root has the same absolute path in its box: the path does not say which root is meant.
        let is_absolute = self.path_style() == PathStyle::Relative && text.trim().starts_with('/');
        if is_absolute && mount.all.len() > 1 {
            return Err(stop(PathError::Elsewhere));
        }
        let from_top = from_top.map_err(stop)?;
        match is_absolute {
            true => Ok(from_top),
            false => below_root(mount, self.path_style(), text, &from_top, subject),
        }
    }

    /// This root's name, and the other roots; none where host paths name the root.
    pub(crate) fn mount(&self) -> Option<&Mount> {
        self.session().mount().filter(|_| self.path_style() != PathStyle::Host)
    }
}

/// The path in this root that a path from the top folder leads to.
fn below_root(
    mount: &Mount,
    path_style: PathStyle,
    text: &str,
    path: &WsPath,
    subject: Subject,
) -> Result<WsPath, Stop> {
    let refuse = |code, message| Err(Stop::Fault(Fault::new(code, message).about(subject)));
    let mut parts = path.relative().splitn(2, |byte| *byte == b'/');
    let first = parts.next().unwrap_or_default();
    if first.is_empty() {
        let message = format!(
            "{} holds the roots {}, each of which is a workspace of its own: name one of them, such as {}",
            args::quoted(text),
            names(mount, path_style),
            root_path(&mount.name, path_style)
        );
        return refuse(FaultCode::BadPath, message);
    }
    if first == mount.name.as_bytes() {
        let rest = parts.next().unwrap_or_default();
        return WsPath::from_bytes(rest).or_else(|error| {
            refuse(FaultCode::BadPath, format!("{error} ({})", args::quoted(text)))
        });
    }
    if let Some(other) = mount.named(first) {
        return Err(in_other_root(&other.name, text, subject));
    }
    let message = format!(
        "{} is in no root: the roots are {}, and every path starts with one of them: put it in front",
        args::quoted(text),
        names(mount, path_style)
    );
    refuse(FaultCode::PathOutside, message)
}

/// The call is about another root, or about two.
fn in_other_root(name: &str, text: &str, subject: Subject) -> Stop {
    let message = format!(
        "{} is in the root {name}, and something else in this call is not: each root is a workspace of its \
         own. Make one call for each",
        args::quoted(text)
    );
    Stop::OtherRoot(name.to_owned(), Fault::new(FaultCode::BadArgument, message).about(subject))
}

/// The path from the top folder of a path in this root.
pub(crate) fn from_top(mount: &Mount, path: &WsPath) -> WsPath {
    let whole = [mount.name.as_bytes(), path.relative()].join(&b'/');
    // If the name makes the path too long, it stays the path in the root.
    WsPath::from_bytes(&whole).unwrap_or_else(|_| path.clone())
}

/// The paths of all roots: `/a, /b and /c`.
fn names(mount: &Mount, path_style: PathStyle) -> String {
    let all: Vec<String> = mount.all.iter().map(|root| root_path(&root.name, path_style)).collect();
    match all.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => root_path(&mount.name, path_style),
    }
}

fn root_path(name: &str, path_style: PathStyle) -> String {
    match path_style {
        PathStyle::Rooted => format!("/{name}"),
        PathStyle::Relative | PathStyle::Host => name.to_owned(),
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

    fn parsed(text: &str) -> Result<WsPath, Stop> {
        let path = WsPath::parse(text).unwrap();
        below_root(&mount(), PathStyle::Rooted, text, &path, Subject::Path)
    }

    #[test]
    fn r15_a_root_is_a_folder_at_the_top() {
        assert_eq!(parsed("/app/src/a.rs").unwrap().to_string(), "/src/a.rs");
        assert_eq!(parsed("/app").unwrap(), WsPath::root());
        assert_eq!(parsed("app/../app/x").unwrap().to_string(), "/x");
        let back = from_top(&mount(), &parsed("/app/src").unwrap());
        assert_eq!(back.to_string(), "/app/src");
        assert_eq!(from_top(&mount(), &WsPath::root()).to_string(), "/app");
    }

    #[test]
    fn r15_a_path_into_no_root_or_another_one_is_refused_with_the_names() {
        let message = |text| match parsed(text) {
            Err(Stop::Fault(fault) | Stop::OtherRoot(_, fault)) => fault.message().to_owned(),
            other => panic!("{other:?}"),
        };
        assert!(message("/").contains("/app and /lib"), "{}", message("/"));
        assert!(message("/apple/x").contains("the roots are /app and /lib"));
        assert!(message("/lib/x").contains("one call for each"));
        assert!(matches!(parsed("/lib/x"), Err(Stop::OtherRoot(name, _)) if name == "lib"));
    }
}
