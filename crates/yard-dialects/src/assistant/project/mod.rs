//! Detects from a project's files which program runs its tests, in which environment, and which program installs
//! its packages. One module an ecosystem.
//!
//! Nothing here runs or changes anything; whether a program is installed shows when it is run. Only the programs that
//! the project's files name are used: where they are not installed, the tools say so and run nothing else.

pub(super) mod javascript;
pub(super) mod native;
pub(super) mod python;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use yard_core::WsPath;

use crate::tool::Context;

/// The files of a workspace, as far as the caller may read them.
pub(super) trait ProjectFiles {
    /// The names of a folder's own entries; none if it is no folder.
    fn names(&self, folder: &WsPath) -> BTreeSet<String>;
    /// The text of a file; `None` if there is none.
    fn text(&self, file: &WsPath) -> Option<String>;
}

impl ProjectFiles for Context<'_> {
    fn names(&self, folder: &WsPath) -> BTreeSet<String> {
        let entries = self.attempt.project_entries(folder);
        let name = |path: &WsPath| {
            path.name().and_then(|name| String::from_utf8(name.as_bytes().to_vec()).ok())
        };
        entries.iter().filter_map(name).collect()
    }

    fn text(&self, file: &WsPath) -> Option<String> {
        self.attempt.project_text(file)
    }
}

/// A folder that may be a project's.
#[derive(Clone)]
pub(super) struct Folder<'a> {
    files: &'a dyn ProjectFiles,
    path: WsPath,
    names: BTreeSet<String>,
}

impl<'a> Folder<'a> {
    pub(super) fn new(files: &'a dyn ProjectFiles, path: WsPath) -> Self {
        Self { files, names: files.names(&path), path }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &WsPath {
        &self.path
    }

    /// Whether it has an entry of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Whether it has an entry of one of these names.
    pub(super) fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }

    /// The names of its entries that match.
    fn names_that(&self, matches: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str).filter(move |name| matches(name))
    }

    /// The text of one of its files; empty if there is none.
    pub(super) fn text(&self, name: &str) -> String {
        if !self.has(name) {
            return String::new();
        }
        let path = self.path.join_bytes(name.as_bytes()).ok();
        path.and_then(|path| self.files.text(&path)).unwrap_or_default()
    }

    /// The subfolder of that name; without entries if there is none.
    fn subfolder(&self, name: &str) -> Self {
        let path = self.path.join_bytes(name.as_bytes()).unwrap_or_else(|_| self.path.clone());
        let names = if self.has(name) { self.files.names(&path) } else { BTreeSet::new() };
        Self { files: self.files, path, names }
    }

    /// This folder and those above it, nearest first.
    pub(super) fn upwards(&self) -> impl Iterator<Item = Folder<'a>> {
        std::iter::successors(Some(self.clone()), |folder| {
            folder.path.parent().map(|path| Folder::new(folder.files, path))
        })
    }

    /// The path, relative to this folder, of an entry of a folder above it.
    fn relative_path_to(&self, above: &WsPath, name: &str) -> String {
        let levels = self.path.names().count().saturating_sub(above.names().count());
        format!("{}{name}", "../".repeat(levels))
    }
}

/// Whether a text of INI or TOML has a section of that name, or one below it: `tool.pytest` is also
/// `[tool.pytest.ini_options]`.
fn has_section(text: &str, name: &str) -> bool {
    text.lines().any(|line| {
        let rest = line.trim_start().trim_start_matches('[').trim_start().strip_prefix(name);
        line.trim_start().starts_with('[')
            && rest.is_some_and(|rest| rest.trim_start().starts_with([']', '.']))
    })
}

/// What runs the tests of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Runner {
    Cargo,
    Go,
    Python(python::Tests),
    Script(javascript::Tests),
    /// Whether the project brings its own start script.
    Maven {
        wrapper: bool,
    },
    Gradle {
        wrapper: bool,
    },
    Make,
    /// The folder that it is built in.
    Ctest {
        build: String,
    },
}

/// The runner that the caller names: `Any` is the one that the project's files name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum WantedRunner {
    #[default]
    #[serde(rename = "auto")]
    Any,
    Cargo,
    Pytest,
    Unittest,
    Tox,
    #[serde(rename = "npm")]
    Script,
    Go,
    Maven,
    Gradle,
    Make,
    Ctest,
}

/// The tests of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProjectTests {
    /// The project's folder.
    pub(super) folder: WsPath,
    pub(super) runner: Runner,
}

/// The tests of the nearest project at or above a path; `None` where no file says how they are run.
pub(super) fn find_tests(
    files: &dyn ProjectFiles,
    path: &WsPath,
    wanted: WantedRunner,
) -> Option<ProjectTests> {
    let start = Folder::new(files, path.clone());
    let tests = start.upwards().find_map(|folder| {
        let runner = runner_in(&folder, wanted)?;
        let Runner::Python(_) = runner else {
            return Some(ProjectTests { folder: folder.path().clone(), runner });
        };
        // Python tests run in the folder of the project that they belong to.
        let project = project_of_tests(&folder);
        let runner = Runner::Python(python::tests_of(&project, wanted));
        Some(ProjectTests { folder: project.path().clone(), runner })
    });
    tests.or_else(|| {
        // The path of a file has no entries: its folder is the parent.
        let folder = if start.names.is_empty() { path.parent() } else { None };
        let folder = folder.map_or(start, |parent| Folder::new(files, parent));
        let runner = runner_without_files(&folder, wanted)?;
        Some(ProjectTests { folder: folder.path().clone(), runner })
    })
}

/// The folder of the project that a folder with tests in Python belongs to: the nearest one at or above it that has a
/// project's files, or else the parent of a folder `tests` or `test`.
fn project_of_tests<'a>(folder: &Folder<'a>) -> Folder<'a> {
    if python::has_tests_folder(folder) {
        return folder.clone();
    }
    if let Some(project) = folder.upwards().find(python::is_project) {
        return project;
    }
    let is_named_for_tests = |folder: &Folder<'_>| {
        folder.path().name().is_some_and(|name| matches!(name.as_bytes(), b"tests" | b"test"))
    };
    let tests = folder.upwards().find(is_named_for_tests);
    let parent = tests.and_then(|tests| tests.upwards().nth(1));
    parent.unwrap_or_else(|| folder.clone())
}

/// Detects the runner of exactly one folder.
type Detector = fn(&Folder<'_>, WantedRunner) -> Option<Runner>;

/// Every ecosystem: the names of its runners, and its detector. The first ecosystem with a runner counts.
const ECOSYSTEMS: [(&[WantedRunner], Detector); 8] = [
    (&[WantedRunner::Cargo], |folder, _| native::cargo(folder)),
    (&[WantedRunner::Go], |folder, _| native::go(folder)),
    (&[WantedRunner::Pytest, WantedRunner::Unittest, WantedRunner::Tox], |folder, wanted| {
        python::tests_in(folder, wanted).map(Runner::Python)
    }),
    (&[WantedRunner::Script], |folder, _| javascript::tests_in(folder).map(Runner::Script)),
    (&[WantedRunner::Maven], |folder, _| native::maven(folder)),
    (&[WantedRunner::Gradle], |folder, _| native::gradle(folder)),
    (&[WantedRunner::Make], |folder, _| native::make(folder)),
    (&[WantedRunner::Ctest], |folder, _| native::ctest(folder)),
];

/// The runner of exactly this folder.
fn runner_in(folder: &Folder<'_>, wanted: WantedRunner) -> Option<Runner> {
    let is_wanted = |names: &[WantedRunner]| wanted == WantedRunner::Any || names.contains(&wanted);
    let mut wanted_ones = ECOSYSTEMS.iter().filter(|(names, _)| is_wanted(names));
    wanted_ones.find_map(|(_, detect)| detect(folder, wanted))
}

/// The runner that the caller names, where no file of the project names it. A script needs a package.json.
fn runner_without_files(folder: &Folder<'_>, wanted: WantedRunner) -> Option<Runner> {
    Some(match wanted {
        WantedRunner::Any | WantedRunner::Script => return None,
        WantedRunner::Cargo => Runner::Cargo,
        WantedRunner::Go => Runner::Go,
        WantedRunner::Pytest | WantedRunner::Unittest | WantedRunner::Tox => {
            Runner::Python(python::tests_of(folder, wanted))
        }
        WantedRunner::Maven => Runner::Maven { wrapper: false },
        WantedRunner::Gradle => Runner::Gradle { wrapper: false },
        WantedRunner::Make => Runner::Make,
        WantedRunner::Ctest => Runner::Ctest { build: native::build_folder(folder) },
    })
}

#[cfg(test)]
pub(super) mod fixture {
    //! A workspace that is a table of files.

    use std::collections::BTreeMap;

    use super::*;

    pub(crate) struct Table(BTreeMap<String, String>);

    impl Table {
        /// Files by path; a name that ends with a slash is a folder.
        pub(crate) fn new(files: &[(&str, &str)]) -> Self {
            Self(
                files.iter().map(|(path, text)| (format!("/{path}"), (*text).to_owned())).collect(),
            )
        }
    }

    impl ProjectFiles for Table {
        fn names(&self, folder: &WsPath) -> BTreeSet<String> {
            let folder = folder.to_string();
            let prefix = format!("{}/", folder.trim_end_matches('/'));
            let below = self.0.keys().filter_map(|path| path.strip_prefix(&prefix));
            let names = below.filter_map(|rest| rest.split('/').next());
            names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
        }

        fn text(&self, file: &WsPath) -> Option<String> {
            self.0.get(&file.to_string()).cloned()
        }
    }

    pub(crate) fn path(text: &str) -> WsPath {
        WsPath::parse(text).unwrap()
    }

    /// The folder and the runner of the project at a path.
    pub(crate) fn runner_at(files: &[(&str, &str)], at: &str) -> Option<(String, Runner)> {
        wanted_runner_at(files, at, WantedRunner::Any)
    }

    pub(crate) fn wanted_runner_at(
        files: &[(&str, &str)],
        at: &str,
        wanted: WantedRunner,
    ) -> Option<(String, Runner)> {
        let tests = find_tests(&Table::new(files), &path(at), wanted)?;
        Some((tests.folder.to_string(), tests.runner))
    }
}

#[cfg(test)]
mod tests {
    use super::fixture::{runner_at, wanted_runner_at};
    use super::*;

    #[test]
    fn the_nearest_project_upwards_is_used() {
        let files = [("Makefile", "test:\n"), ("lib/Cargo.toml", ""), ("lib/src/deep/a.rs", "")];
        let cargo = Some(("/lib".to_owned(), Runner::Cargo));
        assert_eq!(runner_at(&files, "/lib/src/deep/a.rs"), cargo);
        assert_eq!(runner_at(&files, "/lib"), cargo);
        assert_eq!(runner_at(&files, "/"), Some(("/".to_owned(), Runner::Make)));
        assert_eq!(runner_at(&[("notes.txt", "")], "/"), None);
    }

    #[test]
    fn a_named_framework_is_searched_upwards_and_runs_without_its_files_too() {
        let files = [("Makefile", "test:\n"), ("lib/Cargo.toml", ""), ("x/a.txt", "")];
        let make = Some(("/".to_owned(), Runner::Make));
        assert_eq!(wanted_runner_at(&files, "/lib", WantedRunner::Make), make);
        let go = Some(("/x".to_owned(), Runner::Go));
        assert_eq!(wanted_runner_at(&files, "/x", WantedRunner::Go), go);
        assert_eq!(wanted_runner_at(&files, "/x/a.txt", WantedRunner::Go), go);
        assert_eq!(wanted_runner_at(&files, "/x", WantedRunner::Script), None);
    }

    #[test]
    fn sections_are_distinguished_from_other_lines() {
        assert!(has_section("[tool.pytest.ini_options]\n", "tool.pytest"));
        assert!(has_section("x = 1\n  [ tool.black ]\n", "tool.black"));
        assert!(has_section("[[tool.poetry.source]]\n", "tool.poetry"));
        assert!(!has_section("[tool.pytester]\n", "tool.pytest"));
        assert!(!has_section("# [tool.black]\ntool.black = 1\n", "tool.black"));
    }
}
