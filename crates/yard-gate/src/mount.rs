//! Several roots of one caller (R15): how a workspace is told from the others, and which one a path of the host
//! is in. It says nothing about what may be done there.

use yard_core::WsPath;

/// How a workspace is told from the others that its caller works in: each is a folder at the top, under its
/// name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// This one's name.
    pub name: String,
    /// All of them, as far as they are known; this one is.
    pub all: Vec<Named>,
}

/// One root of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// What it is called.
    pub name: String,
    /// Its real directory.
    pub host: Vec<u8>,
}

impl Mount {
    /// One root, where nothing is known of the others any more.
    pub fn alone(name: &str, host: &[u8]) -> Self {
        let own = Named { name: name.to_owned(), host: host.to_vec() };
        Self { name: name.to_owned(), all: vec![own] }
    }

    /// The root of that name.
    pub fn named(&self, name: &[u8]) -> Option<&Named> {
        self.all.iter().find(|root| root.name.as_bytes() == name)
    }

    /// The innermost root at or above a path of the host, however that is spelled.
    pub fn holding(&self, path: &str) -> Option<&Named> {
        if !path.starts_with('/') {
            return None;
        }
        let path = WsPath::parse_shown(path).ok()?;
        let path = [b"/", path.relative()].concat();
        let holding = self.all.iter().filter(|root| root.holds(&path));
        holding.max_by_key(|root| root.host.len())
    }
}

impl Named {
    fn holds(&self, path: &[u8]) -> bool {
        let folder = self.host.strip_suffix(b"/").unwrap_or(&self.host);
        let below = path.strip_prefix(folder);
        !folder.is_empty() && below.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r15_the_innermost_root_holds_a_path_however_it_is_spelled() {
        let named = |name: &str, host: &str| Named { name: name.into(), host: host.into() };
        let all = vec![named("app", "/srv/app"), named("sub", "/srv/app/sub"), named("all", "/")];
        let mount = Mount { name: "app".to_owned(), all };
        let held = |path| mount.holding(path).map(|root| root.name.as_str());
        assert_eq!(held("/srv/app/x"), Some("app"));
        assert_eq!(held("/srv//app/./x"), Some("app"));
        assert_eq!(held("/srv/app/sub"), Some("sub"));
        assert_eq!(held("/srv/app/sub/../x"), Some("app"));
        assert_eq!((held("/srv/apple"), held("srv/app"), held("/etc")), (None, None, None));
    }
}
