//! The caches of packages that boxes have, in one table. Boxes read the user's cache if there is one; what commands add
//! is stored for the workspace. This module checks which folders exist, and reads no file.

#![allow(clippy::disallowed_methods, reason = "folders of the machine, not of a workspace")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use yard_sandbox::{CACHES, Cache, Programs};

use crate::user_environment::UserEnvironment;

/// A package manager, and where boxes have its cache.
struct Manager {
    /// The variables that name its cache, and the path of the cache in a box.
    variables: &'static [(&'static str, &'static str)],
    /// The user's folders that boxes show: a name, the path in boxes, and the path on the machine.
    shared: &'static [Shared],
}

struct Shared {
    name: &'static str,
    /// Its path in boxes, below the folder of caches.
    at: &'static str,
    /// The variable that names it, and its path below that.
    variable: Option<(&'static str, &'static str)>,
    /// Its default path, below the user's home.
    home: &'static str,
}

const fn shared(name: &'static str, at: &'static str, home: &'static str) -> Shared {
    Shared { name, at, variable: None, home }
}

impl Shared {
    /// The same, with a variable that may name the user's folder: it is `below` that.
    const fn overridden_by(self, variable: &'static str, below: &'static str) -> Self {
        Self { variable: Some((variable, below)), ..self }
    }
}

/// The variable of Maven, whose value is an option with the path.
const MAVEN: (&str, &str) = ("MAVEN_OPTS", "maven");

/// The package managers.
const MANAGERS: [Manager; 11] = [
    Manager {
        variables: &[("CARGO_HOME", "cargo")],
        shared: &[
            shared("cargo-registry", "cargo/registry", ".cargo/registry")
                .overridden_by("CARGO_HOME", "registry"),
            shared("cargo-git", "cargo/git", ".cargo/git").overridden_by("CARGO_HOME", "git"),
        ],
    },
    Manager {
        variables: &[("PIP_CACHE_DIR", "pip")],
        shared: &[shared("pip", "pip", ".cache/pip").overridden_by("PIP_CACHE_DIR", "")],
    },
    Manager {
        variables: &[("UV_CACHE_DIR", "uv")],
        shared: &[shared("uv", "uv", ".cache/uv").overridden_by("UV_CACHE_DIR", "")],
    },
    Manager {
        variables: &[("POETRY_CACHE_DIR", "poetry")],
        shared: &[shared("poetry", "poetry", ".cache/pypoetry")],
    },
    // The user's folder holds logs as well as packages.
    Manager {
        variables: &[("npm_config_cache", "npm")],
        shared: &[shared("npm", "npm/_cacache", ".npm/_cacache")
            .overridden_by("npm_config_cache", "_cacache")],
    },
    Manager {
        variables: &[("npm_config_store_dir", "pnpm")],
        shared: &[shared("pnpm", "pnpm", ".local/share/pnpm/store")],
    },
    Manager {
        variables: &[("YARN_CACHE_FOLDER", "yarn"), ("YARN_GLOBAL_FOLDER", "yarn-berry")],
        shared: &[
            shared("yarn", "yarn", ".cache/yarn"),
            shared("yarn-berry", "yarn-berry/cache", ".yarn/berry/cache"),
        ],
    },
    Manager {
        variables: &[("BUN_INSTALL_CACHE_DIR", "bun")],
        shared: &[shared("bun", "bun", ".bun/install/cache")],
    },
    Manager {
        variables: &[("GOMODCACHE", "go-mod"), ("GOCACHE", "go-build")],
        shared: &[
            shared("go-mod", "go-mod", "go/pkg/mod").overridden_by("GOMODCACHE", ""),
            shared("go-build", "go-build", ".cache/go-build").overridden_by("GOCACHE", ""),
        ],
    },
    Manager {
        variables: &[("GRADLE_USER_HOME", "gradle")],
        shared: &[
            shared("gradle-modules", "gradle/caches/modules-2", ".gradle/caches/modules-2"),
            shared("gradle-wrapper", "gradle/wrapper/dists", ".gradle/wrapper/dists"),
        ],
    },
    Manager { variables: &[MAVEN], shared: &[shared("maven", "maven", ".m2/repository")] },
];

/// Variables that package managers get in addition to those that name their caches.
const EXTRA_VARIABLES: [(&str, &str); 1] = [
    // Hard links into a cache that is another file system cannot be made, and uv complains of each.
    ("UV_LINK_MODE", "copy"),
];

/// Adds the user's caches to the programs of a box.
pub(crate) fn add_to(programs: &mut Programs, user: &UserEnvironment<'_>) {
    for manager in &MANAGERS {
        programs.caches.extend(manager.shared.iter().filter_map(|shared| shared.of(user)));
        programs
            .cache_environment
            .extend(manager.variables.iter().map(|variables| variable_of(*variables)));
    }
    let extra_variables = EXTRA_VARIABLES.map(|(name, value)| (name.into(), value.into()));
    programs.cache_environment.extend(extra_variables);
}

/// A variable of boxes, the cache that it names, and the folders of the user that the cache reads.
pub(crate) struct Row {
    pub(crate) variable: &'static str,
    pub(crate) at: String,
    pub(crate) user_folders: Vec<String>,
}

/// Every cache that boxes have.
pub(crate) fn rows() -> Vec<Row> {
    let of = |manager: &Manager, (variable, at): (&'static str, &'static str)| {
        let shared = manager.shared.iter().filter(|shared| Path::new(shared.at).starts_with(at));
        let user_folders = shared.map(|shared| format!("`~/{}`", shared.home)).collect();
        Row { variable, at: format!("{CACHES}/{at}"), user_folders }
    };
    let variables = |manager: &'static Manager| {
        manager.variables.iter().map(move |variables| of(manager, *variables))
    };
    MANAGERS.iter().flat_map(variables).collect()
}

fn variable_of(pair: (&str, &str)) -> (OsString, OsString) {
    let (variable, at) = pair;
    let value = match pair == MAVEN {
        true => format!("-Dmaven.repo.local={CACHES}/{at}"),
        false => format!("{CACHES}/{at}"),
    };
    (variable.into(), value.into())
}

impl Shared {
    /// The user's cache, if there is one.
    fn of(&self, user: &UserEnvironment<'_>) -> Option<Cache> {
        let named = self.variable.and_then(|(variable, below)| {
            (user.variable)(variable).map(|named| PathBuf::from(named).join(below))
        });
        let default = || user.home.as_ref().map(|home| home.join(self.home));
        let folder = named.or_else(default).filter(|folder| folder.is_absolute())?;
        // A link to a cache on another disk is followed, as long as it does not lead to the home.
        let folder = folder.canonicalize().ok().filter(|folder| folder.is_dir())?;
        let holds_home = user.home.as_ref().is_some_and(|home| home.starts_with(&folder));
        let (name, at) = (self.name.to_owned(), PathBuf::from(self.at));
        (!holds_home).then_some(Cache { name, at, persons: folder })
    }
}
