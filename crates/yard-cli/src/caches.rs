//! The caches of packages that boxes have, in one table. Boxes read the user's cache if there is one; what commands
//! add is kept for the workspace. This module looks at which folders exist, and reads no file.

#![allow(clippy::disallowed_methods, reason = "folders of the machine, not of a workspace")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use yard_sandbox::{CACHES, Cache, Programs};

use crate::user_environment::UserEnvironment;

/// A package manager, and where boxes have its cache.
struct Manager {
    /// What tells it where its cache is, and where that is in a box.
    told: &'static [(&'static str, &'static str)],
    /// The user's folders that boxes show: a name, the path in boxes, and the path on the machine.
    shared: &'static [Shared],
}

struct Shared {
    name: &'static str,
    /// Where boxes have it, below the folder of caches.
    at: &'static str,
    /// The variable that says where it is, and its path below that.
    variable: Option<(&'static str, &'static str)>,
    /// Where it is otherwise, below the user's home.
    home: &'static str,
}

const fn shared(name: &'static str, at: &'static str, home: &'static str) -> Shared {
    Shared { name, at, variable: None, home }
}

impl Shared {
    /// The same, where a variable may say where the user's folder is: `below` what the variable names.
    const fn set_by(self, variable: &'static str, below: &'static str) -> Self {
        Self { variable: Some((variable, below)), ..self }
    }
}

/// What tells Maven: an option, with the path in it.
const MAVEN: (&str, &str) = ("MAVEN_OPTS", "maven");

/// Every package manager that is known.
const MANAGERS: [Manager; 11] = [
    Manager {
        told: &[("CARGO_HOME", "cargo")],
        shared: &[
            shared("cargo-registry", "cargo/registry", ".cargo/registry")
                .set_by("CARGO_HOME", "registry"),
            shared("cargo-git", "cargo/git", ".cargo/git").set_by("CARGO_HOME", "git"),
        ],
    },
    Manager {
        told: &[("PIP_CACHE_DIR", "pip")],
        shared: &[shared("pip", "pip", ".cache/pip").set_by("PIP_CACHE_DIR", "")],
    },
    Manager {
        told: &[("UV_CACHE_DIR", "uv")],
        shared: &[shared("uv", "uv", ".cache/uv").set_by("UV_CACHE_DIR", "")],
    },
    Manager {
        told: &[("POETRY_CACHE_DIR", "poetry")],
        shared: &[shared("poetry", "poetry", ".cache/pypoetry")],
    },
    // The user's folder has logs beside packages.
    Manager {
        told: &[("npm_config_cache", "npm")],
        shared: &[
            shared("npm", "npm/_cacache", ".npm/_cacache").set_by("npm_config_cache", "_cacache")
        ],
    },
    Manager {
        told: &[("npm_config_store_dir", "pnpm")],
        shared: &[shared("pnpm", "pnpm", ".local/share/pnpm/store")],
    },
    Manager {
        told: &[("YARN_CACHE_FOLDER", "yarn"), ("YARN_GLOBAL_FOLDER", "yarn-berry")],
        shared: &[
            shared("yarn", "yarn", ".cache/yarn"),
            shared("yarn-berry", "yarn-berry/cache", ".yarn/berry/cache"),
        ],
    },
    Manager {
        told: &[("BUN_INSTALL_CACHE_DIR", "bun")],
        shared: &[shared("bun", "bun", ".bun/install/cache")],
    },
    Manager {
        told: &[("GOMODCACHE", "go-mod"), ("GOCACHE", "go-build")],
        shared: &[
            shared("go-mod", "go-mod", "go/pkg/mod").set_by("GOMODCACHE", ""),
            shared("go-build", "go-build", ".cache/go-build").set_by("GOCACHE", ""),
        ],
    },
    Manager {
        told: &[("GRADLE_USER_HOME", "gradle")],
        shared: &[
            shared("gradle-modules", "gradle/caches/modules-2", ".gradle/caches/modules-2"),
            shared("gradle-wrapper", "gradle/wrapper/dists", ".gradle/wrapper/dists"),
        ],
    },
    Manager { told: &[MAVEN], shared: &[shared("maven", "maven", ".m2/repository")] },
];

/// Variables that package managers get besides those that name their caches.
const BESIDES: [(&str, &str); 1] = [
    // Hard links into a cache that is another file system cannot be made, and uv complains of each.
    ("UV_LINK_MODE", "copy"),
];

/// Adds the user's caches to what a box gets.
pub(crate) fn add_to(programs: &mut Programs, user: &UserEnvironment<'_>) {
    for manager in &MANAGERS {
        programs.caches.extend(manager.shared.iter().filter_map(|shared| shared.of(user)));
        programs.cache_environment.extend(manager.told.iter().map(|told| variable_of(*told)));
    }
    let besides = BESIDES.map(|(name, value)| (name.into(), value.into()));
    programs.cache_environment.extend(besides);
}

/// A variable of boxes, where the cache is that it names, and which folders of the person's are in it.
pub(crate) struct Row {
    pub(crate) variable: &'static str,
    pub(crate) at: String,
    pub(crate) yours: Vec<String>,
}

/// Every cache that boxes have.
pub(crate) fn rows() -> Vec<Row> {
    let of = |manager: &Manager, (variable, at): (&'static str, &'static str)| {
        let shared = manager.shared.iter().filter(|shared| Path::new(shared.at).starts_with(at));
        let yours = shared.map(|shared| format!("`~/{}`", shared.home)).collect();
        Row { variable, at: format!("{CACHES}/{at}"), yours }
    };
    let told = |manager: &'static Manager| manager.told.iter().map(move |told| of(manager, *told));
    MANAGERS.iter().flat_map(told).collect()
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
        let said = self.variable.and_then(|(variable, below)| {
            (user.variable)(variable).map(|said| PathBuf::from(said).join(below))
        });
        let usual = || user.home.as_ref().map(|home| home.join(self.home));
        let persons = said.or_else(usual).filter(|persons| persons.is_absolute())?;
        // A link to a cache on another disk is followed, as long as it does not lead to the home.
        let persons = persons.canonicalize().ok().filter(|persons| persons.is_dir())?;
        let holds_home = user.home.as_ref().is_some_and(|home| home.starts_with(&persons));
        let (name, at) = (self.name.to_owned(), PathBuf::from(self.at));
        (!holds_home).then_some(Cache { name, at, persons })
    }
}
