//! Several roots of one caller (R15): how each is named, and which one contains a path of the host. Nothing here is about
//! rights.

use std::borrow::Cow;
use std::sync::Arc;

use yard_core::WsPath;

use super::Session;

/// One of several workspaces of a caller. Each is a folder at the top of the caller's paths, under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The name of this workspace.
    pub name: String,
    /// All known workspaces of the caller, with this one.
    pub all: Vec<NamedRoot>,
}

/// One root of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRoot {
    /// Its name.
    pub name: String,
    /// Its real directory on the host.
    pub host: Vec<u8>,
}

/// The workspaces that the caller of a session works in, if there are several.
#[derive(Clone, Default)]
pub(super) struct Roots {
    /// Their directories.
    all: Option<Arc<[Vec<u8>]>>,
    /// The caller's sessions in them.
    sessions: Option<Arc<[Session]>>,
    /// The prefix of this workspace's paths.
    mount: Option<Arc<Mount>>,
    /// Pairs of a directory that the person gave by a link and the real one.
    links: Arc<[(String, String)]>,
}

impl Roots {
    pub(super) fn mounted_as(&self, mount: Option<Mount>) -> Self {
        Self { mount: mount.map(Arc::new), ..self.clone() }
    }
}

impl Session {
    /// The same session, for a caller that works in several workspaces: the real directories of all of them, and its
    /// sessions in them.
    #[must_use]
    pub fn among(&self, roots: Vec<Vec<u8>>, sessions: Vec<Self>) -> Self {
        self.with(|session| {
            session.roots.all = Some(roots.into());
            session.roots.sessions = Some(sessions.into());
        })
    }

    /// The same session, for a caller whose paths begin with the name of a root.
    #[must_use]
    pub fn mounted(&self, mount: Mount) -> Self {
        self.with(|session| session.roots.mount = Some(Arc::new(mount)))
    }

    /// The same session, for messages about no particular root: paths have no prefix.
    #[must_use]
    pub fn unmounted(&self) -> Self {
        self.with(|session| session.roots.mount = None)
    }

    /// The root whose name the caller's paths begin with.
    pub fn mount(&self) -> Option<&Mount> {
        self.roots.mount.as_deref()
    }

    /// The real directories of all workspaces that the caller works in.
    pub fn all_roots(&self) -> Vec<&[u8]> {
        match &self.roots.all {
            Some(roots) => roots.iter().map(Vec::as_slice).collect(),
            None => vec![self.host_root()],
        }
    }

    /// The caller's sessions in all workspaces in which it has a chat.
    pub fn sessions_with_chats(&self) -> Vec<&Self> {
        let others = self.roots.sessions.as_deref().unwrap_or_default();
        let all: Vec<&Self> = others.iter().filter(|other| other.chat().is_some()).collect();
        if all.is_empty() { vec![self] } else { all }
    }

    /// The caller's sessions in all workspaces that it works in, to read them.
    pub fn sessions_in_all_roots(&self) -> Vec<Self> {
        let others = self.roots.sessions.as_deref().unwrap_or_default();
        let is_own = |other: &Self| other.host_root() == self.host_root();
        let own = |other: &Self| {
            if self.mount().is_some() && is_own(other) { self } else { other }.clone()
        };
        if others.is_empty() { vec![self.clone()] } else { others.iter().map(own).collect() }
    }

    /// The same session, for a caller that may name a workspace's directory by a link: pairs of the path that the person
    /// gave and the real one.
    #[must_use]
    pub fn given_as(&self, links: Vec<(String, String)>) -> Self {
        self.with(|session| session.roots.links = links.into())
    }

    /// A path, or a pattern, that begins with a directory as the person gave it, with the real one in its place.
    pub fn with_real_root<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let trimmed = text.trim_start();
        let replaced = self.roots.links.iter().find_map(|(given, real)| {
            let rest = trimmed.strip_prefix(given.as_str())?;
            (rest.trim_end().is_empty() || rest.starts_with('/')).then(|| format!("{real}{rest}"))
        });
        replaced.map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// The caller's session in the workspace that contains a path of the host, to read it; this one, if no other contains
    /// it.
    pub fn in_root_of(&self, path: &str) -> &Self {
        let others = self.roots.sessions.as_deref().unwrap_or_default();
        match innermost(others, Self::host_root, path) {
            Some(other) if other.host_root() != self.host_root() => other,
            _ => self,
        }
    }
}

impl Mount {
    /// One root without knowledge of the others.
    pub fn alone(name: &str, host: &[u8]) -> Self {
        let own = NamedRoot { name: name.to_owned(), host: host.to_vec() };
        Self { name: name.to_owned(), all: vec![own] }
    }

    /// The root with a name.
    pub fn named(&self, name: &[u8]) -> Option<&NamedRoot> {
        self.all.iter().find(|root| root.name.as_bytes() == name)
    }

    /// The innermost root that contains a path of the host, which is normalised first.
    pub fn innermost(&self, path: &str) -> Option<&NamedRoot> {
        innermost(&self.all, |root| &root.host, path)
    }

    /// The same without the root of the host, which contains every path.
    pub fn holding(&self, path: &str) -> Option<&NamedRoot> {
        self.innermost(path).filter(|root| root.host != b"/")
    }
}

/// The innermost of several roots that contains a path of the host, which is normalised first.
fn innermost<'a, R>(roots: &'a [R], host: impl Fn(&R) -> &[u8], path: &str) -> Option<&'a R> {
    if !path.starts_with('/') {
        return None;
    }
    let path = WsPath::parse_shown(path).ok()?;
    let path = [b"/", path.relative()].concat();
    let holding = roots.iter().filter(|root| is_at_or_below(&path, host(root)));
    holding.max_by_key(|root| host(root).len())
}

/// Whether a path of the host is a folder, or lies in it.
pub fn is_at_or_below(path: &[u8], folder: &[u8]) -> bool {
    let folder = folder.strip_suffix(b"/").unwrap_or(folder);
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r15_the_innermost_root_holds_a_path_however_it_is_spelled() {
        let named = |name: &str, host: &str| NamedRoot { name: name.into(), host: host.into() };
        let all = vec![named("app", "/srv/app"), named("sub", "/srv/app/sub"), named("all", "/")];
        let mount = Mount { name: "app".to_owned(), all };
        let holder = |path| mount.holding(path).map(|root| root.name.as_str());
        assert_eq!(holder("/srv/app/x"), Some("app"));
        assert_eq!(holder("/srv//app/./x"), Some("app"));
        assert_eq!(holder("/srv/app/sub"), Some("sub"));
        assert_eq!(holder("/srv/app/sub/../x"), Some("app"));
        assert_eq!((holder("/srv/apple"), holder("srv/app"), holder("/etc")), (None, None, None));
        assert_eq!(mount.innermost("/etc").map(|root| root.name.as_str()), Some("all"));
    }
}
