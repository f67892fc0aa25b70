//! Real programs for tests of the tools that use them: git on this machine, what pip and npm install below
//! the target folder, and the Rust toolchain that builds this; and the calls of the `assistant` dialect.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use yard_dialects::Answer;
use yard_gate::Web;
use yard_kernel::CommandBox;
use yard_sandbox::{Sandbox, SandboxConfig};
use yard_testkit::{Folders, OpenOptions, TestWorkspace};

const PYTHON_PACKAGES: [&str; 2] = ["pytest==9.2.0", "ruff==0.17.4"];
/// Programs that manage projects and that pip installs.
const MANAGER_PACKAGES: [&str; 2] = ["uv==0.13.8", "cmake<5"];
const PNPM: &str = "pnpm@10";
const PRETTIER: &str = "prettier@3.9.10";

/// A workspace whose boxes show these folders of the machine besides.
pub(crate) fn workspace_showing(shown: Vec<PathBuf>) -> TestWorkspace {
    workspace_showing_with(shown, Web::default())
}

/// The same, with what of the network can be reached.
pub(crate) fn workspace_showing_with(shown: Vec<PathBuf>, web: Web) -> TestWorkspace {
    let helper = PathBuf::from(env!("CARGO_BIN_EXE_toolyard"));
    let wish = SandboxConfig { shown, ..SandboxConfig::default() };
    let boxed = Some(CommandBox::new(move || Sandbox::probe(helper, wish)));
    TestWorkspace::open(&Folders::new(), OpenOptions { boxed, web, ..OpenOptions::default() })
        .unwrap()
}

/// A call of `assistant`, as an agent makes it under the open policy.
pub(crate) fn call(workspace: &TestWorkspace, tool: &str, args: Value) -> Answer {
    workspace.call_of("assistant", tool, args)
}

/// The value of a call that goes well.
#[track_caller]
pub(crate) fn value(workspace: &TestWorkspace, tool: &str, args: Value) -> Value {
    let answer = call(workspace, tool, args);
    assert_eq!(answer.body["result"]["ok"], true, "{tool}: {}", answer.body);
    answer.body["result"]["value"].clone()
}

/// The code and the words of a call that does not.
#[track_caller]
pub(crate) fn error(workspace: &TestWorkspace, tool: &str, args: Value) -> (String, String) {
    let answer = call(workspace, tool, args);
    assert_eq!(answer.body["result"]["ok"], false, "{tool}: {}", answer.body);
    let error = &answer.body["result"]["error"];
    let text = |field: &str| error[field].as_str().unwrap().to_owned();
    (text("code"), text("message"))
}

/// What a program of this machine prints; it must go well.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{printed}\n{complained}");
    printed
}

/// Git on this machine, in a folder of the workspace, as somebody.
pub(crate) fn git_in(folder: &Path, words: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.current_dir(folder).args(words);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    // What only looks is not to write the index: that would be one more change of it.
    git.env("GIT_OPTIONAL_LOCKS", "0");
    for role in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{role}_NAME"), "Ann")
            .env(format!("GIT_{role}_EMAIL"), "ann@host.example");
    }
    git
}

/// The same in the root of the workspace, which goes well; what it prints.
#[track_caller]
pub(crate) fn git(workspace: &TestWorkspace, words: &[&str]) -> String {
    run(&mut git_in(workspace.root(), words))
}

/// A repository in the root, on branch `main`.
pub(crate) fn repository(workspace: &TestWorkspace) {
    git(workspace, &["init", "-q", "-b", "main"]);
}

/// Where what a test installs stays between runs, and a lock on it: tests run beside each other.
fn kept(name: &str) -> (PathBuf, File) {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let lock = File::create(home.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    (home.join(name), lock)
}

/// A virtual environment with pytest and ruff, and the Python that it is made of.
pub(crate) fn python() -> (PathBuf, Vec<PathBuf>) {
    environment("python-tools", &PYTHON_PACKAGES)
}

/// A virtual environment with uv and CMake, and the Python that it is made of.
pub(crate) fn managers() -> (PathBuf, Vec<PathBuf>) {
    environment("manager-tools", &MANAGER_PACKAGES)
}

/// A virtual environment with these packages, and what a box has to show for it.
fn environment(name: &str, packages: &[&str]) -> (PathBuf, Vec<PathBuf>) {
    let (home, _lock) = kept(name);
    let done = home.join(packages.join("-").replace('<', "below"));
    if !done.exists() {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home));
        let mut pip = Command::new(home.join("bin/pip"));
        let quiet = ["install", "--quiet", "--disable-pip-version-check"];
        run(pip.args(quiet).args(packages));
        fs::write(done, "").unwrap();
    }
    let mut asked = Command::new(home.join("bin/python"));
    let base = run(asked.args(["-c", "import sys; print(sys.base_prefix)"]));
    // What every box shows needs no showing.
    let base = PathBuf::from(base.trim());
    let shown =
        if base.starts_with("/usr") { vec![home.clone()] } else { vec![home.clone(), base] };
    (home, shown)
}

/// A folder with pnpm in its `node_modules`.
pub(crate) fn pnpm() -> PathBuf {
    packages_of_node(PNPM, "pnpm")
}

/// A folder with prettier in its `node_modules`.
pub(crate) fn prettier() -> PathBuf {
    packages_of_node(PRETTIER, "prettier")
}

fn packages_of_node(package: &str, program: &str) -> PathBuf {
    let (home, _lock) = kept(&package.replace('@', "-"));
    if !home.join("node_modules/.bin").join(program).exists() {
        fs::create_dir_all(&home).unwrap();
        let mut npm = Command::new("npm");
        run(npm.args(["install", "--no-audit", "--no-fund", package, "--prefix"]).arg(&home));
    }
    home
}

/// The Rust toolchain that builds this, and a PATH that leads to it.
pub(crate) fn rust() -> (PathBuf, String) {
    let home = PathBuf::from(run(Command::new("rustc").args(["--print", "sysroot"])).trim());
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", home.join("bin").display());
    (home, path)
}

/// A folder in the workspace that is a PATH with hardly a program in it.
pub(crate) fn bare_path(workspace: &TestWorkspace) -> String {
    let folder = workspace.root().join(".bare");
    fs::create_dir(&folder).unwrap();
    for program in ["sh", "dirname", "grep", "sed", "head", "find", "xargs", "cat", "cmp", "tr"] {
        let at = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(program));
        let at = at.iter().find(|at| at.exists()).unwrap();
        std::os::unix::fs::symlink(at, folder.join(program)).unwrap();
    }
    folder.display().to_string()
}
