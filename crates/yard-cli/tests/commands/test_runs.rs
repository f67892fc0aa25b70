//! `run_tests` on real small projects: right counts, right failures (A6).

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use yard_gate::{Net, Web};
use yard_testkit::TestWorkspace;

use crate::box_setup::{guarded, workspace};
use crate::network::awaited;
use crate::programs::{
    bare_path, call, error, managers, pnpm, python, run, rust, value, workspace_showing,
    workspace_showing_with,
};

#[track_caller]
fn check_counts(reply: &Value, passed: u64, failed: u64, skipped: u64) {
    let expected = json!([passed, failed, skipped, passed + failed + skipped]);
    let counts = ["passed", "failed", "skipped", "total"].map(|name| reply[name].clone());
    assert_eq!(json!(counts), expected, "{reply}");
}

#[track_caller]
fn failure<'a>(reply: &'a Value, name: &str) -> &'a Value {
    let mut failures = reply["failures"].as_array().unwrap().iter();
    failures.find(|failure| failure["name"] == name).unwrap_or_else(|| panic!("{name}: {reply}"))
}

fn put_crate(workspace: &TestWorkspace) {
    workspace.put(
        "Cargo.toml",
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
    );
    workspace.put(".gitignore", "target/\n");
    workspace.put(
        "src/lib.rs",
        "/// ```\n/// assert_eq!(small::two(), 2);\n/// ```\npub fn two() -> u32 {\n    2\n}\n\n\
         #[cfg(test)]\nmod tests {\n    #[test]\n    fn good() {}\n\n    #[test]\n    fn bad() {\n        \
         assert_eq!(super::two(), 3, \"two is\\nnot three\");\n    }\n\n    #[test]\n    #[ignore]\n    \
         fn slow() {}\n}\n",
    );
}

/// The one failing test of that crate is reported with its place and reason.
fn check_bad(reply: &Value) {
    let bad = failure(reply, "tests::bad");
    assert_eq!((&bad["file"], &bad["line"]), (&json!("src/lib.rs"), &json!(15)), "{bad}");
    let message = bad["message"].as_str().unwrap();
    assert!(message.contains("two is\nnot three") && message.contains("right: 3"), "{bad}");
}

#[test]
fn a6_cargo() {
    let (toolchain, _) = rust();
    let path = format!("{}:/usr/bin:/bin", toolchain.join("bin").display());
    let workspace = workspace_showing(vec![toolchain]);
    put_crate(&workspace);
    let reply = value(&workspace, "run_tests", json!({"env": {"PATH": path}}));
    check_counts(&reply, 2, 1, 1);
    assert_eq!((&reply["framework"], &reply["exitCode"]), (&json!("cargo"), &json!(101)));
    check_bad(&reply);
    assert!(reply["output"].as_str().unwrap().contains("test tests::good ... ok"), "{reply}");
    let one = json!({"filter": "good", "path": "src/lib.rs", "env": {"PATH": path}});
    let reply = value(&workspace, "run_tests", one);
    check_counts(&reply, 1, 0, 0);
    assert_eq!(reply["exitCode"], 0);
    workspace.put("src/lib.rs", "fn broken( {\n");
    let reply = value(&workspace, "run_tests", json!({"env": {"PATH": path}}));
    assert_eq!((&reply["passed"], &reply["failures"]), (&Value::Null, &json!([])), "{reply}");
    assert!(reply["message"].as_str().unwrap().contains("`output` says why"));
    assert!(reply["output"].as_str().unwrap().contains("error"), "{reply}");
}

#[test]
fn a6_a_dependency_that_is_missing_is_asked_for_and_the_answer_names_the_request() {
    let (toolchain, path) = rust();
    let web = Web::new(Net::default()).holding_for(Duration::from_millis(200));
    let workspace = workspace_showing_with(vec![toolchain], web);
    put_crate(&workspace);
    // The index has the name of a host that does not exist: no traffic leaves this machine even after a yes.
    let config = "[source.crates-io]\nreplace-with = \"own\"\n[source.own]\n\
                  registry = \"sparse+https://index.invalid/\"\n[net]\nretry = 0\n";
    workspace.put(".cargo/config.toml", config);
    let manifest = std::fs::read_to_string(workspace.root().join("Cargo.toml")).unwrap();
    workspace.put("Cargo.toml", format!("{manifest}[dependencies]\nmissing = \"1\"\n"));
    let args = json!({"env": {"PATH": path}});
    let agent = guarded(&workspace);
    let answer = workspace.call_as(&agent, "assistant", "run_tests", args);
    let reply = &answer.body["result"]["value"];
    let row = awaited(&workspace);
    let words = format!(
        "the tests did not run to their end: `output` says why; hosts that wait for a person's approval: \
         index.invalid:443 (approval {}). Tell the person; once it is approved, run the command again",
        row.id
    );
    let message = reply["message"].as_str().unwrap_or_else(|| panic!("{}", answer.body));
    assert!(message.contains(&words), "{message}");
    assert!(reply["output"].as_str().unwrap().contains("index.invalid"), "{reply}");
}

/// Where cargo-nextest is in a folder that every box shows.
fn nextest() -> Option<&'static str> {
    let folders = ["/usr/local/bin", "/usr/bin"].into_iter();
    folders.into_iter().find(|folder| Path::new(folder).join("cargo-nextest").exists())
}

#[test]
fn a6_cargo_with_nextest_counts_as_cargo_does() {
    let Some(folder) = nextest() else { return };
    let (toolchain, _) = rust();
    let path = format!("{}:{folder}:/usr/bin:/bin", toolchain.join("bin").display());
    let workspace = workspace_showing(vec![toolchain]);
    put_crate(&workspace);
    let reply = value(&workspace, "run_tests", json!({"env": {"PATH": path}}));
    check_counts(&reply, 2, 1, 1);
    assert_eq!((&reply["framework"], &reply["exitCode"]), (&json!("cargo"), &json!(100)));
    assert!(reply["command"].as_str().unwrap().starts_with("cargo nextest run"), "{reply}");
    check_bad(&reply);
    let one = json!({"filter": "good", "env": {"PATH": path}});
    let reply = value(&workspace, "run_tests", one);
    check_counts(&reply, 1, 0, 0);
    assert_eq!(reply["exitCode"], 0);
    workspace.put("src/lib.rs", "fn broken( {\n");
    let reply = value(&workspace, "run_tests", json!({"env": {"PATH": path}}));
    assert_eq!((&reply["passed"], &reply["failures"]), (&Value::Null, &json!([])), "{reply}");
}

const PYTEST: &str = "\
import pytest

def test_good():
    assert True

def test_bad():
    print('said')
    left = [1, 2]
    assert left == [1, 3], 'lists differ'

@pytest.mark.skip(reason='later')
def test_later():
    pass

@pytest.mark.xfail
def test_known():
    assert False

@pytest.fixture
def broken():
    raise RuntimeError('no fixture')

def test_error(broken):
    pass

@pytest.mark.parametrize('n', [1, 2])
def test_each(n):
    assert n == 1
";

#[test]
fn a6_pytest() {
    let (home, shown) = python();
    let workspace = workspace_showing(shown);
    symlink(home, workspace.root().join(".venv")).unwrap();
    workspace.put("project/pyproject.toml", "[project]\nname = \"x\"\n");
    workspace.put("project/tests/test_it.py", PYTEST);
    symlink(workspace.root().join(".venv"), workspace.root().join("project/.venv")).unwrap();
    let reply = value(&workspace, "run_tests", json!({"path": "project"}));
    check_counts(&reply, 2, 3, 2);
    assert_eq!((&reply["framework"], &reply["exitCode"]), (&json!("pytest"), &json!(1)));
    let bad = failure(&reply, "tests/test_it.py::test_bad");
    let place = (&bad["file"], &bad["line"]);
    assert_eq!(place, (&json!("project/tests/test_it.py"), &json!(9)), "{bad}");
    assert!(bad["message"].as_str().unwrap().contains("lists differ"), "{bad}");
    failure(&reply, "tests/test_it.py::test_each[2]");
    let broken = failure(&reply, "tests/test_it.py::test_error");
    assert!(broken["message"].as_str().unwrap().contains("no fixture"), "{broken}");
    assert!(reply["output"].as_str().unwrap().contains("2 passed"), "{reply}");
    assert_eq!(reply["message"], Value::Null, "it wrote nothing: {reply}");
    let one = json!({"path": "project/tests/test_it.py", "filter": "good"});
    check_counts(&value(&workspace, "run_tests", one), 1, 0, 0);
    workspace.put("project/tests/test_it.py", "import nothing_of_the_kind\n");
    let reply = value(&workspace, "run_tests", json!({"path": "project"}));
    check_counts(&reply, 0, 1, 0);
    assert!(reply["failures"][0]["message"].as_str().unwrap().contains("nothing_of_the_kind"));
}

#[test]
fn a6_a_project_set_up_for_pytest_is_run_by_nothing_else() {
    let workspace = workspace();
    workspace.put("app/pyproject.toml", "[dependency-groups]\ndev = ['pytest']\n");
    let test = "import unittest\nopen('ran', 'w')\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n";
    workspace.put("app/test_it.py", test);
    let (code, message) = error(&workspace, "run_tests", json!({"path": "app"}));
    assert_eq!(code, "UNAVAILABLE");
    assert_eq!(
        message,
        "there is no pytest where commands run: call `install_package` with manager `pip`, packages \
         [\"pytest\"] and path `app`, which makes a .venv in the project and installs it there"
    );
    assert!(!workspace.has("app/ran"), "nothing was run");
    // An environment that cannot be started is not passed over for another Python.
    symlink("/nowhere/venv", workspace.root().join("app/venv")).unwrap();
    let (code, message) = error(&workspace, "run_tests", json!({"path": "app"}));
    assert_eq!(code, "UNAVAILABLE");
    assert!(message.starts_with("venv/bin/python cannot be started"), "{message}");
    assert!(!workspace.has("app/ran"), "nothing was run");
}

#[test]
fn a6_a_project_of_uv_is_run_by_uv() {
    let (home, mut shown) = managers();
    let (with_pytest, more) = python();
    shown.extend(more);
    let workspace = workspace_showing(shown);
    workspace.put("app/pyproject.toml", "[project]\nname = \"app\"\nversion = \"0.1\"\n");
    workspace.put("app/test_it.py", "import pytest\n\ndef test_good():\n    pass\n");
    let project = workspace.root().join("app");
    let uv = home.join("bin/uv");
    run(Command::new(&uv).args(["lock", "--offline", "--project"]).arg(&project));
    symlink(with_pytest, project.join(".venv")).unwrap();
    let path = format!("{}:/usr/bin:/bin", home.join("bin").display());
    let env = json!({"PATH": path, "UV_NO_SYNC": "1", "UV_OFFLINE": "1"});
    let reply = value(&workspace, "run_tests", json!({"path": "app", "env": env}));
    check_counts(&reply, 1, 0, 0);
    assert_eq!(reply["command"], "uv run --frozen python -m pytest");
    // Where uv is not installed, the environment that it made is.
    let reply =
        value(&workspace, "run_tests", json!({"path": "app", "env": {"PATH": "/usr/bin:/bin"}}));
    check_counts(&reply, 1, 0, 0);
    assert_eq!(reply["command"], ".venv/bin/python -m pytest");
    std::fs::remove_file(project.join(".venv")).unwrap();
    let args = json!({"path": "app", "env": {"PATH": "/usr/bin:/bin"}});
    let (code, message) = error(&workspace, "run_tests", args);
    assert_eq!(code, "UNAVAILABLE");
    assert!(message.starts_with("there is no uv where commands run"), "{message}");
}

#[test]
fn a6_unittest() {
    let workspace = workspace();
    workspace.put(
        "tests/test_it.py",
        "import unittest\n\nclass T(unittest.TestCase):\n    def test_good(self):\n        pass\n\n    \
         def test_bad(self):\n        self.assertEqual(1, 2, 'not alike')\n\n    def test_error(self):\n        \
         raise KeyError('k')\n\n    @unittest.skip('later')\n    def test_later(self):\n        pass\n\n    \
         def test_parts(self):\n        for n in range(3):\n            with self.subTest(n=n):\n                \
         self.assertNotEqual(n, 1)\n",
    );
    let reply = value(&workspace, "run_tests", json!({"framework": "unittest"}));
    check_counts(&reply, 1, 3, 1);
    let bad = failure(&reply, "test_it.T.test_bad");
    assert_eq!((&bad["file"], &bad["line"]), (&json!("tests/test_it.py"), &json!(8)), "{bad}");
    assert!(bad["message"].as_str().unwrap().contains("not alike"), "{bad}");
    assert_eq!(failure(&reply, "test_it.T.test_error")["message"], "KeyError: 'k'");
    let (code, message) = error(&workspace, "run_tests", json!({"framework": "pytest"}));
    assert_eq!(code, "UNAVAILABLE");
    assert!(message.contains("no pytest") && message.contains(".venv"), "{message}");
}

#[test]
fn a6_a_file_or_folder_of_tests_runs_as_it_does_with_the_project() {
    let test = "import unittest\nfrom sums import add\n\nclass T(unittest.TestCase):\n    \
                def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n";
    let manifest = "[project]\nname = 'x'\nversion = '0'\n";
    for (folder, is_package, has_manifest) in [
        ("tests", false, true),
        ("tests", true, true),
        ("tests/unit", true, true),
        ("tests", false, false),
    ] {
        let workspace = workspace();
        workspace.put("app/sums.py", "def add(a, b):\n    return a + b\n");
        workspace.put(&format!("app/{folder}/test_sums.py"), test);
        if is_package {
            workspace.put("app/tests/__init__.py", "");
            workspace.put(&format!("app/{folder}/__init__.py"), "");
        }
        if has_manifest {
            workspace.put("app/pyproject.toml", manifest);
        }
        for path in
            ["app".to_owned(), format!("app/{folder}"), format!("app/{folder}/test_sums.py")]
        {
            let reply =
                value(&workspace, "run_tests", json!({"framework": "unittest", "path": path}));
            check_counts(&reply, 1, 0, 0);
        }
    }
    let (tools, shown) = python();
    let workspace = workspace_showing(shown);
    symlink(&tools, workspace.root().join(".venv")).unwrap();
    workspace.put("pyproject.toml", "[tool.pytest.ini_options]\n");
    workspace.put("sums.py", "def add(a, b):\n    return a + b\n");
    workspace.put(
        "tests/test_sums.py",
        "from sums import add\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    );
    for path in [".", "tests", "tests/test_sums.py"] {
        let reply = value(&workspace, "run_tests", json!({"path": path}));
        assert_eq!(reply["framework"], "pytest", "{reply}");
        check_counts(&reply, 1, 0, 0);
    }
}

#[test]
fn a6_an_install_that_takes_too_long_is_out_of_time() {
    let workspace = workspace();
    let args = json!({"manager": "pip", "packages": ["x"], "timeout": 0.05});
    let (code, message) = error(&workspace, "install_package", args);
    assert_eq!(code, "TIMEOUT", "{message}");
    assert!(message.contains("out of time"), "{message}");
}

#[test]
fn a3_python_code_imports_the_workspaces_modules_and_what_its_environment_has() {
    let (tools, shown) = python();
    let workspace = workspace_showing(shown);
    workspace.put("sums.py", "def add(a, b):\n    return a + b\n");
    workspace.put("pkg/__init__.py", "NAME = 'pkg'\n");
    workspace.put("more/extra.py", "NAME = 'extra'\n");
    let code =
        "import os, sums, pkg; os.chdir('/'); import pkg as again; print(sums.add(1, 2), pkg.NAME)";
    let reply = value(&workspace, "run_code", json!({"language": "python", "code": code}));
    assert_eq!(reply["stdout"], "3 pkg\n", "{reply}");
    assert_eq!(reply["message"], Value::Null, "importing changes nothing: {reply}");
    let code = "import sums, extra; print(extra.NAME)";
    let args = json!({"language": "python", "code": code, "env": {"PYTHONPATH": "more"}});
    assert_eq!(value(&workspace, "run_code", args)["stdout"], "extra\n");
    // The environment into which install_package installs.
    symlink(&tools, workspace.root().join(".venv")).unwrap();
    let code = "import pytest, sums; print(pytest.__name__)";
    let reply = value(&workspace, "run_code", json!({"language": "python", "code": code}));
    assert_eq!(reply["stdout"], "pytest\n", "{reply}");
    std::fs::remove_file(workspace.root().join(".venv")).unwrap();
    workspace.put(".venv/pyvenv.cfg", "");
    let reply =
        value(&workspace, "run_code", json!({"language": "python", "code": "print('still')"}));
    assert_eq!(reply["stdout"], "still\n", "an environment without a Python is none: {reply}");
}

const NODE: &str = "\
const { test, describe, it } = require('node:test');
const assert = require('node:assert');
test('adds', () => assert.equal(1 + 1, 2));
test('breaks # here', () => assert.equal(1, 2, 'one is not two'));
test('group', async (t) => {
  await t.test('inner bad', () => { throw new Error('boom\\nsecond line'); });
  await t.test('inner ok', () => {});
});
test.skip('skipped', () => {});
test.todo('later');
describe('suite', () => { it('in suite', () => {}); });
";

#[test]
fn a6_node() {
    let workspace = workspace();
    workspace.put("web/package.json", r#"{"name": "x", "scripts": {"test": "node --test"}}"#);
    workspace.put("web/a.test.js", NODE);
    let reply = value(&workspace, "run_tests", json!({"path": "web"}));
    check_counts(&reply, 3, 2, 2);
    assert_eq!((&reply["framework"], &reply["exitCode"]), (&json!("npm"), &json!(1)));
    let broken = failure(&reply, "breaks # here");
    assert_eq!(broken["message"], "one is not two");
    assert_eq!((&broken["file"], &broken["line"]), (&json!("web/a.test.js"), &json!(4)));
    assert_eq!(failure(&reply, "inner bad")["message"], "boom\nsecond line");
    assert_eq!(reply["failures"].as_array().unwrap().len(), 2);
    let reply = value(&workspace, "run_tests", json!({"path": "web", "filter": "adds"}));
    assert_eq!((&reply["failed"], &reply["exitCode"]), (&json!(0), &json!(0)), "{reply}");
}

#[test]
fn a6_scripts_are_run_by_the_manager_that_the_project_names() {
    let home = pnpm();
    let workspace = workspace_showing(vec![home.clone()]);
    workspace.put("web/package.json", r#"{"name": "x", "scripts": {"test": "node --test"}}"#);
    workspace.put("web/a.test.js", NODE);
    workspace.put("pnpm-lock.yaml", "lockfileVersion: '9.0'\n");
    let bin = home.join("node_modules/.bin");
    let env = json!({"PATH": format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display())});
    let reply = value(&workspace, "run_tests", json!({"path": "web", "env": env}));
    check_counts(&reply, 3, 2, 2);
    assert_eq!(reply["command"], "pnpm --silent run test");
    let (code, message) = error(&workspace, "run_tests", json!({"path": "web"}));
    assert_eq!(code, "UNAVAILABLE");
    assert!(message.starts_with("there is no pnpm where commands run"), "{message}");
}

#[test]
fn a6_a_script_whose_program_is_not_installed_is_not_run() {
    let workspace = workspace();
    let manifest = r#"{"scripts": {"test": "jest --ci"}, "devDependencies": {"jest": "^30.1.0"}}"#;
    workspace.put("package.json", manifest);
    let (code, message) = error(&workspace, "run_tests", json!({}));
    assert_eq!(code, "UNAVAILABLE");
    assert!(message.contains("packages [\"jest@^30.1.0\"] and path `.`"), "{message}");
}

#[test]
fn a6_cmake_is_built_and_tested() {
    let (home, shown) = managers();
    let workspace = workspace_showing(shown);
    workspace.put(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.15)\nproject(small NONE)\nenable_testing()\n\
         add_test(NAME good COMMAND sh -c true)\n\
         add_test(NAME bad COMMAND sh -c \"echo two is not three; exit 1\")\n\
         add_test(NAME later COMMAND sh -c \"exit 77\")\n\
         set_tests_properties(later PROPERTIES SKIP_RETURN_CODE 77)\n",
    );
    let env = json!({"PATH": format!("{}:/usr/bin:/bin", home.join("bin").display())});
    let reply = value(&workspace, "run_tests", json!({"env": env}));
    check_counts(&reply, 1, 1, 1);
    assert_eq!((&reply["framework"], &reply["exitCode"]), (&json!("ctest"), &json!(8)));
    assert!(failure(&reply, "bad")["message"].as_str().unwrap().contains("two is not three"));
    let reply = value(&workspace, "run_tests", json!({"env": env, "filter": "good"}));
    check_counts(&reply, 1, 0, 0);
    // The machine may have one: with this PATH there is a shell and nothing else.
    let few = workspace.root().join("few");
    std::fs::create_dir(&few).unwrap();
    std::os::unix::fs::symlink("/bin/sh", few.join("sh")).unwrap();
    let (code, message) = error(&workspace, "run_tests", json!({"env": {"PATH": few}}));
    assert_eq!(code, "UNAVAILABLE");
    assert!(message.contains("no cmake") && message.contains("install CMake"), "{message}");
}

#[test]
fn a6_make_and_scripts_that_say_little() {
    let workspace = workspace();
    workspace.put("Makefile", "test:\n\t@echo '2 passed, 1 failed'; exit 3\n");
    let reply = value(&workspace, "run_tests", json!({}));
    check_counts(&reply, 2, 1, 0);
    assert_eq!((&reply["framework"], &reply["exitCode"]), (&json!("make"), &json!(2)));
    let reply = value(&workspace, "run_tests", json!({"filter": "x"}));
    assert_eq!(
        reply["message"],
        "all tests ran: make has no way to choose some of them by `filter`"
    );
    workspace.put("Makefile", "test:\n\t@echo fine; echo made > made\n");
    let reply = value(&workspace, "run_tests", json!({}));
    assert_eq!((&reply["passed"], &reply["exitCode"]), (&Value::Null, &json!(0)), "{reply}");
    assert_eq!(reply["output"], "fine\n");
    assert!(reply["message"].as_str().unwrap().contains("1 created"), "{reply}");
    assert!(workspace.has("made"));
}

#[test]
fn a6_missing_things_are_reported() {
    let workspace = workspace();
    workspace.put("notes.txt", "x");
    let (code, message) = error(&workspace, "run_tests", json!({}));
    assert_eq!(code, "INVALID_ARGUMENTS");
    assert!(message.contains("Cargo.toml") && message.contains("`framework`"), "{message}");
    assert_eq!(error(&workspace, "run_tests", json!({"path": "nowhere"})).0, "FILE_NOT_FOUND");
    assert_eq!(error(&workspace, "run_tests", json!({"filter": "--x"})).0, "INVALID_ARGUMENTS");
    let env = json!({"PATH": bare_path(&workspace)});
    for (file, framework, program) in
        [("Cargo.toml", "cargo", "cargo"), ("go.mod", "go", "go"), ("x.py", "unittest", "python")]
    {
        workspace.put(file, "");
        let args = json!({"framework": framework, "env": env});
        let (code, message) = error(&workspace, "run_tests", args);
        assert_eq!(code, "UNAVAILABLE");
        assert!(message.contains(program) && message.contains("install"), "{message}");
    }
    let nothing = json!({"env": {"PATH": "/nowhere"}});
    let (code, message) = error(&workspace, "run_tests", nothing);
    assert_eq!(code, "EXECUTION_ERROR");
    assert!(message.contains("no program `sh`") && message.contains("install"), "{message}");
}

#[test]
fn a6_tests_that_take_too_long_end_with_their_output() {
    let workspace = workspace();
    workspace.put("Makefile", "test:\n\t@echo begun; sleep 4245\n");
    let answer = call(&workspace, "run_tests", json!({"timeout": 1}));
    let error = &answer.body["result"]["error"];
    assert_eq!(error["code"], "TIMEOUT", "{}", answer.body);
    assert!(error["details"]["output"].as_str().unwrap().starts_with("begun"), "{error}");
}
