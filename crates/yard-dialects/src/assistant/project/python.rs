//! Projects in Python: which environment they have, and whether they are set up for pytest.

use super::{Folder, WantedRunner, has_section};

/// Files with tests that are searched for an import of pytest.
const MAX_TEST_FILES_READ: usize = 20;

/// Where a project's packages are installed, and how its programs are started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Environment {
    /// A program manages the environment. Where it is not installed, the virtual environment in the project is used.
    Managed { manager: &'static Manager, venv: Option<String> },
    /// A virtual environment, relative to the project's folder.
    Venv(String),
    /// The Python of the machine.
    Machine,
}

/// A program that manages a project's environment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Manager {
    pub(crate) program: &'static str,
    /// Files that show that a project uses it.
    files: &'static [&'static str],
    /// A section of pyproject.toml that shows that a project uses it.
    section: Option<&'static str>,
    /// The command before a program that is to run in the environment.
    pub(crate) run: &'static [&'static str],
    /// The command that adds packages to the project; `None` if it has none.
    pub(crate) add: Option<&'static [&'static str]>,
}

/// `--frozen` keeps uv from changing its lock file while tests run.
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
            let venv = name.map(|name| folder.relative_path_to(above.path(), name));
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

    /// The command that starts its Python, and before it the Python to use where that command is not installed.
    pub(crate) fn python(&self) -> (String, Vec<String>) {
        let of_venv = |venv: &String| format!("{venv}/bin/python");
        match self {
            Self::Managed { manager, venv } => {
                let command = manager.run.iter().chain(&["python"]).map(|word| (*word).to_owned());
                (venv.as_ref().map(of_venv).unwrap_or_default(), command.collect())
            }
            Self::Venv(venv) => (String::new(), vec![of_venv(venv)]),
            Self::Machine => (String::new(), vec!["python3".to_owned()]),
        }
    }
}

/// The framework that runs the tests.
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
    /// Whether tox passes arguments on to the tests.
    pub(crate) passes_arguments: bool,
}

/// Whether a folder has files of a project other than tests.
pub(super) fn is_project(folder: &Folder<'_>) -> bool {
    let manifests = ["pyproject.toml", "setup.py", "setup.cfg"];
    let settings = ["pytest.ini", ".pytest.ini", "pytest.toml", "tox.ini", "Pipfile"];
    folder.has_any(&manifests) || folder.has_any(&settings)
}

/// Whether a folder has a folder of tests.
pub(super) fn has_tests_folder(folder: &Folder<'_>) -> bool {
    folder.subfolder("tests").names_that(is_test).next().is_some()
}

/// The tests of a folder that looks like a project in Python.
pub(super) fn tests_in(folder: &Folder<'_>, wanted: WantedRunner) -> Option<Tests> {
    let is_project = is_project(folder)
        || is_set_up_for_pytest(folder)
        || folder.names_that(is_test).next().is_some()
        || has_tests_folder(folder);
    is_project.then(|| tests_of(folder, wanted))
}

/// How the tests of a folder are run, whatever it looks like.
pub(super) fn tests_of(folder: &Folder<'_>, wanted: WantedRunner) -> Tests {
    let environment = Environment::of(folder);
    let tox = format!("{}\n{}", folder.text("tox.ini"), folder.text("pyproject.toml"));
    let has_tox = ["tox", "testenv", "tool.tox"].iter().any(|name| has_section(&tox, name))
        || folder.text("tox.ini").contains("[testenv:");
    let framework = match wanted {
        WantedRunner::Unittest => Framework::Unittest,
        WantedRunner::Pytest => Framework::Pytest,
        WantedRunner::Tox => Framework::Tox,
        _ if has_tox && environment == Environment::Machine => Framework::Tox,
        _ if is_set_up_for_pytest(folder) => Framework::Pytest,
        _ => Framework::Either,
    };
    Tests { environment, framework, passes_arguments: tox.contains("posargs") }
}

/// Whether a file of the project names pytest: unittest would run such tests wrongly, or none of them.
fn is_set_up_for_pytest(folder: &Folder<'_>) -> bool {
    let tests = ["tests", "test"].map(|name| folder.subfolder(name));
    let has_file = folder.has_any(&["pytest.ini", ".pytest.ini", "pytest.toml", "conftest.py"])
        || tests.iter().any(|tests| tests.has("conftest.py"));
    let names_pytest = |text: String| text.contains("pytest");
    has_file
        || ["pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "Pipfile"]
            .iter()
            .any(|name| names_pytest(folder.text(name)))
        || [folder.clone(), folder.subfolder("requirements")].iter().any(|folder| {
            folder.names_that(is_requirements).any(|name| names_pytest(folder.text(name)))
        })
        || std::iter::once(folder)
            .chain(&tests)
            .flat_map(|folder| folder.names_that(is_test).map(|name| folder.text(name)))
            .take(MAX_TEST_FILES_READ)
            .any(|text| imports_pytest(&text))
}

fn is_test(name: &str) -> bool {
    name.ends_with("_test.py") || (name.starts_with("test_") && name.ends_with(".py"))
}

fn is_requirements(name: &str) -> bool {
    let has_extension = name.ends_with(".txt") || name.ends_with(".in");
    let parts = ["requirements", "dev", "test", "constraints"];
    has_extension && parts.iter().any(|part| name.contains(part))
}

fn imports_pytest(text: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.split([' ', '\t', '.', ',', ';']).filter(|word| !word.is_empty());
        matches!(words.next(), Some("import" | "from")) && words.any(|word| word == "pytest")
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Table, path, runner_at, wanted_runner_at};
    use super::super::{Folder, Runner, WantedRunner};
    use super::*;

    fn tests(files: &[(&str, &str)], at: &str) -> Tests {
        match runner_at(files, at) {
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
        // A project that hatchling builds need not be managed by hatch.
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
    fn tox_runs_projects_without_an_environment_of_their_own() {
        let tox = ("tox.ini", "[tox]\n[testenv]\ncommands = pytest {posargs}\n");
        let found = tests(&[tox], "/");
        assert_eq!((found.framework, found.passes_arguments), (Framework::Tox, true));
        let found = tests(&[tox, (".venv/pyvenv.cfg", "")], "/");
        assert_eq!(found.framework, Framework::Pytest);
        let found = tests(&[("tox.ini", "[testenv:py]\ncommands = python -m unittest\n")], "/");
        assert_eq!((found.framework, found.passes_arguments), (Framework::Tox, false));
    }

    #[test]
    fn the_framework_that_the_caller_names_comes_before_the_files() {
        let files = [("conftest.py", ""), ("tox.ini", "[testenv]\n")];
        for (wanted, framework) in [
            (WantedRunner::Unittest, Framework::Unittest),
            (WantedRunner::Pytest, Framework::Pytest),
            (WantedRunner::Tox, Framework::Tox),
        ] {
            match wanted_runner_at(&files, "/", wanted) {
                Some((_, Runner::Python(tests))) => assert_eq!(tests.framework, framework),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn imports_are_distinguished_from_mentions() {
        assert!(imports_pytest("import os, pytest\n"));
        assert!(imports_pytest("from pytest.mark import x\n"));
        assert!(!imports_pytest("'''import is not pytest'''\n# pytest\n"));
    }
}
