//! Projects in Python: which environment is theirs, and whether they are set up for pytest.

use super::{Folder, Wanted, has_section};

/// Files that hold tests are looked into, at most.
const MOST_TESTS_READ: usize = 20;

/// Where a project's packages are installed, and who starts its programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Environment {
    /// A program that manages the environment, and the environment in the project, if there is one: it is
    /// used where the program is not installed.
    Managed { manager: &'static Manager, venv: Option<String> },
    /// A virtual environment, relative to the project's folder.
    Venv(String),
    /// None: the Python of the machine.
    Machine,
}

/// A program that manages a project's environment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Manager {
    pub(crate) program: &'static str,
    /// Files by which it is known.
    files: &'static [&'static str],
    /// A section of pyproject.toml by which it is known.
    section: Option<&'static str>,
    /// The words that start a program in the environment.
    pub(crate) run: &'static [&'static str],
    /// The words that add packages to the project; `None` if it cannot.
    pub(crate) add: Option<&'static [&'static str]>,
}

/// Those that are known. The lock file of uv stays as it is while tests run.
const MANAGERS: [Manager; 5] = [
    Manager {
        program: "uv",
        files: &["uv.lock"],
        section: None,
        run: &["uv", "run", "--frozen"],
        add: Some(&["uv", "add"]),
    },
    Manager {
        program: "poetry",
        files: &["poetry.lock"],
        section: Some("tool.poetry"),
        run: &["poetry", "run"],
        add: Some(&["poetry", "add", "--no-interaction"]),
    },
    Manager {
        program: "pdm",
        files: &["pdm.lock"],
        section: Some("tool.pdm"),
        run: &["pdm", "run"],
        add: Some(&["pdm", "add", "--no-self"]),
    },
    Manager {
        program: "hatch",
        files: &[],
        section: Some("tool.hatch.envs"),
        run: &["hatch", "run"],
        add: None,
    },
    Manager {
        program: "pipenv",
        files: &["Pipfile"],
        section: None,
        run: &["pipenv", "run"],
        add: Some(&["pipenv", "install"]),
    },
];

/// Folders that are virtual environments by their names.
const VENVS: [&str; 2] = [".venv", "venv"];

impl Environment {
    /// The environment of a folder: the nearest one upwards.
    pub(crate) fn of(folder: &Folder<'_>) -> Self {
        for above in folder.upwards() {
            let name = VENVS.into_iter().find(|name| above.has(name));
            let venv = name.map(|name| folder.reaching(above.path(), name));
            let pyproject = above.text("pyproject.toml");
            let manager = MANAGERS.iter().find(|manager| {
                above.has_any(manager.files)
                    || manager.section.is_some_and(|name| has_section(&pyproject, name))
            });
            match (manager, venv) {
                (Some(manager), venv) => return Self::Managed { manager, venv },
                (None, Some(venv)) => return Self::Venv(venv),
                (None, None) => {}
            }
        }
        Self::Machine
    }

    /// The virtual environment in the project, if there is one.
    pub(crate) fn venv(&self) -> Option<&str> {
        match self {
            Self::Managed { venv, .. } => venv.as_deref(),
            Self::Venv(venv) => Some(venv),
            Self::Machine => None,
        }
    }

    /// The words that start its Python, and before them the Python that is used where the first of these
    /// words is no program.
    pub(crate) fn python(&self) -> (String, Vec<String>) {
        let of_venv = |venv: &String| format!("{venv}/bin/python");
        match self {
            Self::Managed { manager, venv } => {
                let words = manager.run.iter().chain(&["python"]).map(|word| (*word).to_owned());
                (venv.as_ref().map(of_venv).unwrap_or_default(), words.collect())
            }
            Self::Venv(venv) => (String::new(), vec![of_venv(venv)]),
            Self::Machine => (String::new(), vec!["python3".to_owned()]),
        }
    }
}

/// Which framework runs the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framework {
    /// The project is set up for it, or the caller wants it.
    Pytest,
    Unittest,
    /// pytest where it is installed, which runs the tests of unittest, too.
    Either,
    /// tox makes environments of its own.
    Tox,
}

/// How the tests are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tests {
    pub(crate) environment: Environment,
    pub(crate) framework: Framework,
    /// Whether tox passes on what it is given.
    pub(crate) passes_arguments: bool,
}

/// Whether a folder is a project's by its files, and not only by tests that lie in it.
pub(super) fn is_project(folder: &Folder<'_>) -> bool {
    let manifests = ["pyproject.toml", "setup.py", "setup.cfg"];
    let settings = ["pytest.ini", ".pytest.ini", "pytest.toml", "tox.ini", "Pipfile"];
    folder.has_any(&manifests) || folder.has_any(&settings)
}

/// Whether a folder has a folder of tests.
pub(super) fn has_tests_folder(folder: &Folder<'_>) -> bool {
    folder.inside("tests").named(is_test).next().is_some()
}

/// The tests of a folder that looks like a project in Python.
pub(super) fn tests_in(folder: &Folder<'_>, wanted: Wanted) -> Option<Tests> {
    let is_project = is_project(folder)
        || is_set_up_for_pytest(folder)
        || folder.named(is_test).next().is_some()
        || has_tests_folder(folder);
    is_project.then(|| tests_of(folder, wanted))
}

/// How the tests of a folder are run, whatever it looks like.
pub(super) fn tests_of(folder: &Folder<'_>, wanted: Wanted) -> Tests {
    let environment = Environment::of(folder);
    let tox = format!("{}\n{}", folder.text("tox.ini"), folder.text("pyproject.toml"));
    let has_tox = ["tox", "testenv", "tool.tox"].iter().any(|name| has_section(&tox, name))
        || folder.text("tox.ini").contains("[testenv:");
    let framework = match wanted {
        Wanted::Unittest => Framework::Unittest,
        Wanted::Pytest => Framework::Pytest,
        Wanted::Tox => Framework::Tox,
        _ if has_tox && environment == Environment::Machine => Framework::Tox,
        _ if is_set_up_for_pytest(folder) => Framework::Pytest,
        _ => Framework::Either,
    };
    Tests { environment, framework, passes_arguments: tox.contains("posargs") }
}

/// Whether anything in the project names pytest: unittest would run such tests wrongly, or none of them.
fn is_set_up_for_pytest(folder: &Folder<'_>) -> bool {
    let tests = ["tests", "test"].map(|name| folder.inside(name));
    let has_file = folder.has_any(&["pytest.ini", ".pytest.ini", "pytest.toml", "conftest.py"])
        || tests.iter().any(|tests| tests.has("conftest.py"));
    let names_it = |text: String| text.contains("pytest");
    has_file
        || ["pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "Pipfile"]
            .iter()
            .any(|name| names_it(folder.text(name)))
        || [folder.clone(), folder.inside("requirements")]
            .iter()
            .any(|folder| folder.named(is_requirements).any(|name| names_it(folder.text(name))))
        || std::iter::once(folder)
            .chain(&tests)
            .flat_map(|folder| folder.named(is_test).map(|name| folder.text(name)))
            .take(MOST_TESTS_READ)
            .any(|text| imports_pytest(&text))
}

fn is_test(name: &str) -> bool {
    name.ends_with("_test.py") || (name.starts_with("test_") && name.ends_with(".py"))
}

fn is_requirements(name: &str) -> bool {
    let text = name.ends_with(".txt") || name.ends_with(".in");
    let known = ["requirements", "dev", "test", "constraints"];
    text && known.iter().any(|known| name.contains(known))
}

fn imports_pytest(text: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.split([' ', '\t', '.', ',', ';']).filter(|word| !word.is_empty());
        matches!(words.next(), Some("import" | "from")) && words.any(|word| word == "pytest")
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Table, found, path, wanted};
    use super::super::{Folder, Runner, Wanted};
    use super::*;

    fn tests(files: &[(&str, &str)], at: &str) -> Tests {
        match found(files, at) {
            Some((_, Runner::Python(tests))) => tests,
            other => panic!("{other:?}"),
        }
    }

    fn environment(files: &[(&str, &str)], at: &str) -> Environment {
        let table = Table::new(files);
        Environment::of(&Folder::new(&table, path(at)))
    }

    fn manager(files: &[(&str, &str)]) -> &'static str {
        match environment(files, "/") {
            Environment::Managed { manager, .. } => manager.program,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_manager_is_known_by_its_files() {
        assert_eq!(manager(&[("uv.lock", "")]), "uv");
        assert_eq!(manager(&[("poetry.lock", "")]), "poetry");
        assert_eq!(manager(&[("pyproject.toml", "[tool.poetry]\nname = 'x'\n")]), "poetry");
        assert_eq!(manager(&[("pdm.lock", "")]), "pdm");
        assert_eq!(manager(&[("pyproject.toml", "[tool.pdm.scripts]\n")]), "pdm");
        assert_eq!(manager(&[("pyproject.toml", "[tool.hatch.envs.default]\n")]), "hatch");
        assert_eq!(manager(&[("Pipfile", "")]), "pipenv");
        // To be built by hatchling is not to be managed by hatch.
        let built = [("pyproject.toml", "[tool.hatch.build]\n[build-system]\n")];
        assert_eq!(environment(&built, "/"), Environment::Machine);
    }

    #[test]
    fn the_environment_is_the_nearest_one_upwards() {
        let own = [(".venv/pyvenv.cfg", ""), ("app/venv/pyvenv.cfg", ""), ("lib/a.py", "")];
        assert_eq!(environment(&own, "/"), Environment::Venv(".venv".to_owned()));
        assert_eq!(environment(&own, "/app"), Environment::Venv("venv".to_owned()));
        assert_eq!(environment(&own, "/lib"), Environment::Venv("../.venv".to_owned()));
        let member = [("uv.lock", ""), (".venv/x", ""), ("a/b/pyproject.toml", "[project]\n")];
        match environment(&member, "/a/b") {
            Environment::Managed { manager, venv } => {
                assert_eq!((manager.program, venv.as_deref()), ("uv", Some("../../.venv")));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(environment(&[("a.py", "")], "/"), Environment::Machine);
    }

    #[test]
    fn a_project_set_up_for_pytest_is_never_run_by_unittest() {
        for file in [
            ("pytest.ini", ""),
            ("conftest.py", ""),
            ("tests/conftest.py", ""),
            ("pyproject.toml", "[tool.pytest.ini_options]\n"),
            ("pyproject.toml", "[dependency-groups]\ndev = ['pytest>=8']\n"),
            ("setup.cfg", "[tool:pytest]\n"),
            ("setup.py", "setup(tests_require=['pytest'])\n"),
            ("tox.ini", "[pytest]\n"),
            ("requirements-dev.txt", "pytest==9\n"),
            ("requirements/test.txt", "pytest\n"),
            ("Pipfile", "[dev-packages]\npytest = '*'\n"),
            ("tests/test_a.py", "import pytest\n"),
            ("a_test.py", "from pytest import fixture\n"),
        ] {
            assert_eq!(tests(&[file], "/").framework, Framework::Pytest, "{file:?}");
        }
        for file in [
            ("pyproject.toml", "[project]\nname = 'x'\n"),
            ("test_a.py", "import unittest\n# import pytest\n"),
            ("setup.py", "setup()\n"),
        ] {
            assert_eq!(tests(&[file], "/").framework, Framework::Either, "{file:?}");
        }
    }

    #[test]
    fn tox_runs_what_has_no_environment_of_its_own() {
        let tox = ("tox.ini", "[tox]\n[testenv]\ncommands = pytest {posargs}\n");
        let told = tests(&[tox], "/");
        assert_eq!((told.framework, told.passes_arguments), (Framework::Tox, true));
        let told = tests(&[tox, (".venv/pyvenv.cfg", "")], "/");
        assert_eq!(told.framework, Framework::Pytest);
        let told = tests(&[("tox.ini", "[testenv:py]\ncommands = python -m unittest\n")], "/");
        assert_eq!((told.framework, told.passes_arguments), (Framework::Tox, false));
    }

    #[test]
    fn what_the_caller_wants_counts_most() {
        let files = [("conftest.py", ""), ("tox.ini", "[testenv]\n")];
        for (word, framework) in [
            (Wanted::Unittest, Framework::Unittest),
            (Wanted::Pytest, Framework::Pytest),
            (Wanted::Tox, Framework::Tox),
        ] {
            match wanted(&files, "/", word) {
                Some((_, Runner::Python(tests))) => assert_eq!(tests.framework, framework),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn imports_are_told_from_words() {
        assert!(imports_pytest("import os, pytest\n"));
        assert!(imports_pytest("from pytest.mark import x\n"));
        assert!(!imports_pytest("'''import is not pytest'''\n# pytest\n"));
    }
}
