//! Commands: what the box and the layer cost beside a bare command, and how fast an effect lands.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command as Bare, Stdio};
use std::time::Duration;

use yard_core::WsPath;
use yard_dialects::Catalog;
use yard_gate::{Command, CommandBox};
use yard_sandbox::{Exit, Pty, Sandbox, SandboxConfig, Size};

use crate::clock::{Solo, duel, solo};
use crate::http::sibling;
use crate::table::{Row, Target};
use crate::workspace::{Bench, Plan, Scratch};

const ROUNDS: usize = 41;
/// What a boxed `true` may take over a bare one.
const OVER_BARE: Duration = Duration::from_millis(10);
/// What `git_status` may take over plain git.
const OVER_GIT: Duration = Duration::from_millis(15);
const LANDED: Duration = Duration::from_millis(500);
/// What a line to a program and back may take over a bare terminal.
const OVER_BARE_TERMINAL: Duration = Duration::from_millis(5);
const CROWD: usize = 50_000;
const OUTPUT: &str = "head -c 100000000 /dev/zero";

/// Every row about commands.
pub(crate) fn rows() -> Vec<Row> {
    vec![
        nothing("a boxed `true` over a bare one, small workspace", 10),
        nothing("a boxed `true` over a bare one, 50,000 files", CROWD),
        git_status(),
        landing(),
        output(),
        build(),
        terminal(),
    ]
}

struct BoxedWorkspace {
    _scratch: Scratch,
    root: PathBuf,
    bench: Bench,
}

impl BoxedWorkspace {
    fn new(files: usize) -> Self {
        let scratch = Scratch::new();
        let (root, state) = (scratch.folder("root"), scratch.folder("state"));
        for number in 0..files {
            let folder = root.join(format!("d{}", number / 100));
            if number % 100 == 0 {
                std::fs::create_dir_all(&folder).expect("a folder");
            }
            std::fs::write(folder.join(format!("f{number}")), "x").expect("a file");
        }
        let (helper, data) = (sibling("toolyard"), state.clone());
        let config =
            SandboxConfig { scratch: data, shown: toolchain(), ..SandboxConfig::default() };
        let boxed = CommandBox::new(move || Sandbox::probe(helper, config));
        let bench = Bench::open(&root, &state, &Plan { boxed: Some(boxed), ..Plan::default() });
        Self { _scratch: scratch, root, bench }
    }

    fn run_on(&self, script: &str) {
        self.run(script);
    }

    fn run(&self, script: &str) -> Duration {
        let finished = self.bench.run(&command(script));
        assert_eq!((finished.dropped, finished.ran.ended.exit), (None, Exit::Code(0)));
        finished.ran.ended.took
    }
}

fn command(script: &str) -> Command {
    let argv = ["sh", "-c", script].map(OsString::from).to_vec();
    Command::new(argv, WsPath::root(), Duration::from_secs(300))
}

fn bare(script: &str, folder: &Path) {
    let mut command = Bare::new("sh");
    command.args(["-c", script]).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
    assert!(command.stderr(Stdio::null()).status().expect("a shell").success());
}

fn nothing(what: &str, files: usize) -> Row {
    let workspace = BoxedWorkspace::new(files);
    let duel = duel(ROUNDS, 5, || workspace.run_on("true"), || bare("true", &workspace.root));
    Row::added(what, &duel, OVER_BARE)
}

/// The tool, with its answer as data, beside the git that it runs.
fn git_status() -> Row {
    let workspace = BoxedWorkspace::new(1_000);
    bare(
        "git init -q && git add . && git -c user.name=n -c user.email=e commit -qm all",
        &workspace.root,
    );
    bare("for n in 0 1 2 3 4; do echo changed > d0/f$n; done; echo new > new", &workspace.root);
    let catalog = Catalog::standard();
    let output = workspace.bench.call(&catalog, ("assistant", "git_status"));
    assert_eq!(output["result"]["value"]["counts"]["unstaged"], 5, "{output}");
    let ours = || drop(workspace.bench.call(&catalog, ("assistant", "git_status")));
    let plain = || plain_git(&workspace.root);
    let duel = duel(ROUNDS, 5, ours, plain);
    Row::added("git_status in the box over plain git, 1,000 files", &duel, OVER_GIT)
}

fn plain_git(folder: &Path) {
    let mut git = Bare::new("git");
    git.args(["status", "--porcelain=v2", "--branch", "-z"]).env("GIT_OPTIONAL_LOCKS", "0");
    git.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(git.status().expect("git").success());
}

/// From the end of the command to the step.
fn landing() -> Row {
    let workspace = BoxedWorkspace::new(10);
    let mut runs = Vec::new();
    for round in 0..9 {
        let script = format!(
            "mkdir -p m; i=0; while [ $i -lt 1000 ]; do echo {round} $i > m/$i; i=$((i+1)); done"
        );
        let start = std::time::Instant::now();
        let took = workspace.run(&script);
        runs.push(Solo { wall: start.elapsed().saturating_sub(took), ..Solo::default() });
    }
    Row::bound("1,000 files that a command wrote, as a step", solo(runs), Some(LANDED))
}

fn output() -> Row {
    let workspace = BoxedWorkspace::new(10);
    let pipe = format!("{OUTPUT} | cat > /dev/null");
    let duel = duel(9, 1, || workspace.run_on(OUTPUT), || bare(&pipe, &workspace.root));
    Row::times("100 MB of output, beside cat to a pipe", &duel, Target::AtMost(3.0))
}

/// A line that is typed to `cat`, shown by the terminal and printed again.
fn terminal() -> Row {
    let workspace = BoxedWorkspace::new(1_000);
    let mut opened = workspace.bench.terminal(&command("cat"));
    let pty = Pty::open(Size::default()).expect("a terminal");
    let end = || Stdio::from(pty.programs_end().expect("its end"));
    let mut cat = Bare::new("cat").stdin(end()).stdout(end()).spawn().expect("cat");
    let duel =
        duel(ROUNDS, 20, || opened.types("a line\n", "a line\r\na line\r\n"), || bare_line(&pty));
    cat.kill().expect("its end");
    cat.wait().expect("its end");
    drop(opened);
    let what = "a line to `cat` on a terminal and back, over a bare one";
    Row::added(what, &duel, OVER_BARE_TERMINAL)
}

fn bare_line(pty: &Pty) {
    assert_eq!(pty.write(b"a line\n").expect("it is typed"), 7);
    let (mut heard, mut piece) = (0, [0; 64]);
    while heard < 16 {
        assert!(pty.wait_for_output(1_000), "cat answers");
        heard += pty.read(&mut piece).expect("it is heard");
    }
}

/// A small crate, built from nothing.
fn build() -> Row {
    let workspace = BoxedWorkspace::new(0);
    let outside = Scratch::new();
    let outside = outside.folder("crate");
    for folder in [&workspace.root, &outside] {
        std::fs::create_dir_all(folder.join("src")).expect("a folder");
        let manifest =
            "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
        std::fs::write(folder.join("Cargo.toml"), manifest).expect("a manifest");
        std::fs::write(folder.join(".gitignore"), "target/\n").expect("an ignore file");
        std::fs::write(folder.join("src/main.rs"), source()).expect("a source");
    }
    let cargo = cargo();
    let script = format!("rm -rf target && {cargo} build --offline -q");
    let duel = duel(5, 1, || workspace.run_on(&script), || bare(&script, &outside));
    Row::times("cargo build of a small crate, from nothing", &duel, Target::AtMost(1.15))
}

fn source() -> String {
    let mut text = String::from("fn main() {\n");
    (0..300).for_each(|n| text.push_str(&format!("    println!(\"{{}}\", f{n}({n}));\n")));
    text.push_str("}\n");
    (0..300).for_each(|n| {
        text.push_str(&format!(
            "fn f{n}(x: u64) -> String {{ format!(\"{{:?}}\", vec![x; {n}]) }}\n"
        ));
    });
    text
}

/// The toolchain that would build this very program, where a box would not look for it: in a home.
fn toolchain() -> Vec<PathBuf> {
    let output = Bare::new("rustc").args(["--print", "sysroot"]).output().expect("a compiler");
    vec![PathBuf::from(String::from_utf8(output.stdout).expect("a path").trim())]
}

fn cargo() -> String {
    let folder = toolchain().remove(0).join("bin").display().to_string();
    format!("PATH={folder}:$PATH CARGO_HOME=/tmp/cargo-home cargo")
}
