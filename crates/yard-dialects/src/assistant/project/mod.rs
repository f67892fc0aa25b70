//! What a project is made with, found out from its files: who runs its tests, in which environment, and who
//! installs its packages. One module an ecosystem.
//!
//! Nothing here runs anything or changes anything, and whether a program is installed is found out where it
//! runs. What the files say about the project's own way is the only way: where that is not installed, the
//! tools say so and run nothing else.

pub(super) mod javascript;
pub(super) mod native;
pub(super) mod python;

use std::collections::BTreeSet;

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

    /// Its entries whose name is as wanted.
    fn named(&self, wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str).filter(move |name| wanted(name))
    }

    /// The text of one of its files; empty if there is none.
    pub(super) fn text(&self, name: &str) -> String {
        if !self.has(name) {
            return String::new();
        }
        let path = self.path.join_bytes(name.as_bytes()).ok();
        path.and_then(|path| self.files.text(&path)).unwrap_or_default()
    }

    /// One of its own folders; it has no entries if there is none.
    fn inside(&self, name: &str) -> Self {
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

    /// How a program that runs in this folder names something in a folder above it.
    fn reaching(&self, above: &WsPath, name: &str) -> String {
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

/// Who the caller wants to run the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Whoever the project's files name.
    Any,
    Cargo,
    Go,
    Pytest,
    Unittest,
    Tox,
    Script,
    Maven,
    Gradle,
    Make,
    Ctest,
}

/// The tests of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The project's folder.
    pub(super) folder: WsPath,
    pub(super) runner: Runner,
}

/// The tests of the nearest project at or above a path; `None` where no file says how they are run.
pub(super) fn find_tests(files: &dyn ProjectFiles, path: &WsPath, wanted: Wanted) -> Option<Found> {
    let start = Folder::new(files, path.clone());
    let found = start.upwards().find_map(|folder| {
        let runner = runner_in(&folder, wanted)?;
        let Runner::Python(_) = runner else {
            return Some(Found { folder: folder.path().clone(), runner });
        };
        // Tests are run in the folder of the project that they belong to.
        let project = project_of_tests(&folder);
        let runner = Runner::Python(python::tests_of(&project, wanted));
        Some(Found { folder: project.path().clone(), runner })
    });
    found.or_else(|| {
        // A path that is a file's has no entries, and is in its parent folder.
        let here = if start.names.is_empty() { path.parent() } else { None };
        let here = here.map_or(start, |parent| Folder::new(files, parent));
        let runner = without_files(&here, wanted)?;
        Some(Found { folder: here.path().clone(), runner })
    })
}

/// The folder of the project that a folder with tests in Python belongs to: the nearest at or above it that is a
/// project's by its files, or else the one that holds a folder named for tests.
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
    let holder = tests.and_then(|tests| tests.upwards().nth(1));
    holder.unwrap_or_else(|| folder.clone())
}

/// Looks for the tests of exactly one folder.
type Finder = fn(&Folder<'_>, Wanted) -> Option<Runner>;

/// Every ecosystem: who may be wanted for it to be looked for, and how. The first that is found counts.
const ECOSYSTEMS: [(&[Wanted], Finder); 8] = [
    (&[Wanted::Cargo], |folder, _| native::cargo(folder)),
    (&[Wanted::Go], |folder, _| native::go(folder)),
    (&[Wanted::Pytest, Wanted::Unittest, Wanted::Tox], |folder, wanted| {
        python::tests_in(folder, wanted).map(Runner::Python)
    }),
    (&[Wanted::Script], |folder, _| javascript::tests_in(folder).map(Runner::Script)),
    (&[Wanted::Maven], |folder, _| native::maven(folder)),
    (&[Wanted::Gradle], |folder, _| native::gradle(folder)),
    (&[Wanted::Make], |folder, _| native::make(folder)),
    (&[Wanted::Ctest], |folder, _| native::ctest(folder)),
];

/// What runs the tests of exactly this folder.
fn runner_in(folder: &Folder<'_>, wanted: Wanted) -> Option<Runner> {
    let meant =
        ECOSYSTEMS.iter().filter(|(names, _)| wanted == Wanted::Any || names.contains(&wanted));
    meant.into_iter().find_map(|(_, find)| find(folder, wanted))
}

/// What the caller names is run where no file speaks of it, too; scripts are only run where there are any.
fn without_files(folder: &Folder<'_>, wanted: Wanted) -> Option<Runner> {
    Some(match wanted {
        Wanted::Any | Wanted::Script => return None,
        Wanted::Cargo => Runner::Cargo,
        Wanted::Go => Runner::Go,
        Wanted::Pytest | Wanted::Unittest | Wanted::Tox => {
            Runner::Python(python::tests_of(folder, wanted))
        }
        Wanted::Maven => Runner::Maven { wrapper: false },
        Wanted::Gradle => Runner::Gradle { wrapper: false },
        Wanted::Make => Runner::Make,
        Wanted::Ctest => Runner::Ctest { build: native::build_folder(folder) },
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

    pub(crate) fn found(files: &[(&str, &str)], at: &str) -> Option<(String, Runner)> {
        wanted(files, at, Wanted::Any)
    }

    pub(crate) fn wanted(
        files: &[(&str, &str)],
        at: &str,
        wanted: Wanted,
    ) -> Option<(String, Runner)> {
        let found = find_tests(&Table::new(files), &path(at), wanted)?;
        Some((found.folder.to_string(), found.runner))
    }
}

#[cfg(test)]
mod tests {
    use super::fixture::{found, wanted};
    use super::*;

    #[test]
    fn the_nearest_project_upwards_is_meant() {
        let files = [("Makefile", "test:\n"), ("lib/Cargo.toml", ""), ("lib/src/deep/a.rs", "")];
        let cargo = Some(("/lib".to_owned(), Runner::Cargo));
        assert_eq!(found(&files, "/lib/src/deep/a.rs"), cargo);
        assert_eq!(found(&files, "/lib"), cargo);
        assert_eq!(found(&files, "/"), Some(("/".to_owned(), Runner::Make)));
        assert_eq!(found(&[("notes.txt", "")], "/"), None);
    }

    #[test]
    fn a_framework_that_is_named_is_looked_for_upwards_and_runs_without_its_files_too() {
        let files = [("Makefile", "test:\n"), ("lib/Cargo.toml", ""), ("x/a.txt", "")];
        let make = Some(("/".to_owned(), Runner::Make));
        assert_eq!(wanted(&files, "/lib", Wanted::Make), make);
        let go = Some(("/x".to_owned(), Runner::Go));
        assert_eq!(wanted(&files, "/x", Wanted::Go), go);
        assert_eq!(wanted(&files, "/x/a.txt", Wanted::Go), go);
        assert_eq!(wanted(&files, "/x", Wanted::Script), None);
    }

    #[test]
    fn sections_are_told_from_other_lines() {
        assert!(has_section("[tool.pytest.ini_options]\n", "tool.pytest"));
        assert!(has_section("x = 1\n  [ tool.black ]\n", "tool.black"));
        assert!(has_section("[[tool.poetry.source]]\n", "tool.poetry"));
        assert!(!has_section("[tool.pytester]\n", "tool.pytest"));
        assert!(!has_section("# [tool.black]\ntool.black = 1\n", "tool.black"));
    }
}
