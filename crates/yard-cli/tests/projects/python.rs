//! Projects in Python: a `.venv` of a Python in the home, and one that uv manages.

use crate::counts::{self, counts};
use crate::person::{Person, User};
use crate::story::{Install, Project, Setting, Toolset, play};
use crate::workspace::Door;

const CODE: &str = "\
import markupsafe


def total(lines):
    return sum(int(line) for line in lines)


def shown(text):
    return str(markupsafe.escape(text))
";

const TESTS: &str = "\
import sys

import pytest

from ledger import shown, total


@pytest.mark.parametrize('lines,must', [([], 0), (['1'], 1), (['1', '2'], 3)])
def test_total(lines, must):
    assert total(lines) == must


def test_what_is_shown_is_escaped():
    assert shown('<b>') == '&lt;b&gt;'


@pytest.mark.skipif(sys.platform == 'linux', reason='elsewhere')
def test_elsewhere():
    assert False
";

fn files(project: &str) -> Vec<(&'static str, String)> {
    vec![
        ("pyproject.toml", project.to_owned()),
        (".gitignore", ".venv/\n__pycache__/\n.pytest_cache/\n".to_owned()),
        ("ledger/__init__.py", CODE.to_owned()),
        ("tests/test_ledger.py", TESTS.to_owned()),
    ]
}

#[test]
#[ignore = "needs real projects: scripts/test --full"]
fn pytest_of_a_venv_made_by_a_python_in_the_home() {
    let project = Project {
        name: "venv",
        files: files("[tool.pytest.ini_options]\npythonpath = ['.']\n"),
        toolchain: |person: &Person| drop(person.pyenv_python()),
        prepare: "\"$HOME\"/.pyenv/versions/*/bin/python3 -m venv .venv",
        install: Some(Install {
            probe: ".venv/bin/python -m pip download -q --retries 0 --no-deps --no-cache-dir -d /tmp/probe markupsafe",
            command: ".venv/bin/python -m pip install --quiet --retries 0 pytest markupsafe",
            packages: ("pip", &["pytest", "markupsafe"]),
            folder: ".",
            more: (
                ".venv/bin/python -m pip install --quiet --retries 0 pytest-timeout",
                "pytest-timeout",
            ),
        }),
        build: ".venv/bin/python -m compileall -q ledger",
        built: "ledger/__pycache__",
        test: "PYTHONDONTWRITEBYTECODE=1 .venv/bin/python -m pytest",
        read: counts::pytest,
        counts: counts(4, 0, 1),
        breaks: (
            "ledger/__init__.py",
            "    return sum(int(line) for line in lines)",
            "    return len(lines)",
        ),
        broken: counts(3, 1, 1),
    };
    play(&project, Setting { toolset: Toolset::Assistant, user: User::Current, door: Door::Stdio });
}

#[test]
#[ignore = "needs real projects: scripts/test --full"]
fn pytest_of_a_project_that_uv_manages() {
    let project = Project {
        name: "uv",
        files: files(
            "[project]\nname = 'ledger'\nversion = '1.0.0'\nrequires-python = '>=3.9'\n\
             [tool.pytest.ini_options]\npythonpath = ['.']\n",
        ),
        toolchain: Person::uv,
        prepare: "uv sync --quiet --offline",
        install: Some(Install {
            probe: "UV_HTTP_RETRIES=0 uv pip install -q --no-cache --no-deps --target /tmp/probe markupsafe",
            command: "uv add --quiet pytest markupsafe",
            packages: ("pip", &["pytest", "markupsafe"]),
            folder: ".",
            more: ("uv add --quiet pytest-timeout", "pytest-timeout"),
        }),
        build: "uv run --offline python -m compileall -q ledger",
        built: "ledger/__pycache__",
        test: "PYTHONDONTWRITEBYTECODE=1 uv run --offline python -m pytest",
        read: counts::pytest,
        counts: counts(4, 0, 1),
        breaks: (
            "ledger/__init__.py",
            "    return sum(int(line) for line in lines)",
            "    return len(lines)",
        ),
        broken: counts(3, 1, 1),
    };
    play(&project, Setting { toolset: Toolset::Codex, user: User::Ordinary, door: Door::Stdio });
}
