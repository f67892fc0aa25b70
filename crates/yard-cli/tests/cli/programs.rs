//! The person's own programs run in the box, without configuration, and what is the person's own business is
//! not there: a home of its own, with toolchains and with secrets.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Ran, TestWorkspace};

const SECRET: &str = "a-secret-of-the-person";

fn home(workspace: &TestWorkspace) -> PathBuf {
    workspace.temp.path().join("home")
}

/// Puts a file into the home.
fn put(workspace: &TestWorkspace, path: &str, text: &str) {
    let path = home(workspace).join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Puts a program into the home that says a word.
fn program(workspace: &TestWorkspace, path: &str, says: &str) {
    put(workspace, path, &format!("#!/bin/sh\necho {says}\n"));
    fs::set_permissions(home(workspace).join(path), fs::Permissions::from_mode(0o755)).unwrap();
}

/// A command of an agent, run by a person whose PATH begins with these folders of their home.
fn shell(workspace: &TestWorkspace, folders: &[&str], command: &str) -> Value {
    let own = folders.iter().map(|folder| home(workspace).join(folder));
    let path =
        std::env::join_paths(own.chain(["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from)));
    let args = json!({"command": command, "workdir": null, "timeout_ms": 60_000}).to_string();
    let mut call = workspace.command(&["call", "--toolset", "codex", "shell", &args]);
    let ran = Ran::from(call.env("PATH", path.unwrap()).output().unwrap());
    assert_eq!(ran.exit, 0, "{command}: {}{}", ran.stdout, ran.stderr);
    ran.json()["result"].clone()
}

fn printed(result: &Value) -> String {
    result["stdout"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
}

#[test]
fn what_the_person_runs_runs_in_the_box() {
    let workspace = TestWorkspace::new();
    program(&workspace, ".cargo/bin/first", "first");
    program(&workspace, ".rustup/toolchains/stable/bin/second", "second");
    program(&workspace, "elsewhere/third", "third");
    fs::create_dir_all(home(&workspace).join(".local/bin")).unwrap();
    symlink(home(&workspace).join("elsewhere/third"), home(&workspace).join(".local/bin/third"))
        .unwrap();
    let command = "first; third; $RUSTUP_HOME/toolchains/stable/bin/second";
    let result = shell(&workspace, &[".cargo/bin", ".local/bin"], command);
    assert_eq!(printed(&result), "first\nthird\nsecond\n");
}

#[test]
fn what_is_the_persons_own_business_is_not_in_the_box() {
    let workspace = TestWorkspace::new();
    program(&workspace, ".cargo/bin/tool", "tool");
    program(&workspace, "miniconda3/bin/conda", "conda");
    for path in [
        ".cargo/credentials.toml",
        ".cargo/config.toml",
        ".rustup/secret",
        "miniconda3/.condarc",
        ".ssh/id_ed25519",
        ".netrc",
        ".bash_history",
        ".config/gh/hosts.yml",
        ".gitconfig",
        "other-project/.env",
    ] {
        put(&workspace, path, SECRET);
    }
    let home = home(&workspace);
    let search = format!("grep -rsl {SECRET} {} $HOME /run /root /home; true", home.display());
    let found = shell(&workspace, &[".cargo/bin", "miniconda3/bin", "."], &search);
    assert_eq!(printed(&found), "", "{found}");
    let named = shell(&workspace, &[".cargo/bin"], &format!("cd {}; echo *; env", home.display()));
    assert!(!printed(&named).contains("other-project"), "{named}");
}

#[test]
fn the_box_takes_packages_from_where_the_person_does() {
    let workspace = TestWorkspace::new();
    put(&workspace, ".config/pip/pip.conf", "[global]\nindex-url = http://mirror.example/simple\n");
    put(&workspace, ".npmrc", "registry=http://npm.example/\n//npm.example/:_authToken=canary\n");
    let cargo = "[source.crates-io]\nreplace-with = 'mirror'\n[source.mirror]\n\
                 registry = 'sparse+http://crates.example/'\n[registry]\ntoken = 'canary'\n";
    put(&workspace, ".cargo/config.toml", cargo);
    let answer =
        shell(&workspace, &[], "echo $PIP_INDEX_URL $npm_config_registry; cat /.cargo/config.toml");
    let printed = printed(&answer);
    assert!(printed.starts_with("http://mirror.example/simple http://npm.example/\n"), "{printed}");
    assert!(printed.contains("sparse+http://crates.example/"), "{printed}");
    assert!(!printed.contains("canary"), "{printed}");
    let answer = shell(&workspace, &[], "echo x > /.cargo/config.toml; rm -r /.cargo");
    assert!(answer.to_string().contains("Read-only file system"), "{answer}");
}

fn git(workspace: &TestWorkspace, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.args(arguments).current_dir(workspace.root()).env("HOME", home(workspace));
    assert!(git.status().unwrap().success(), "{arguments:?}");
}

#[test]
fn a_commit_in_the_box_has_the_persons_name_and_nothing_else_of_their_configuration() {
    let workspace = TestWorkspace::new();
    let configuration =
        format!("[user]\n\tname = Ada\n\temail = ada@example.com\n[x]\n\ty = {SECRET}\n");
    put(&workspace, ".gitconfig", &configuration);
    git(&workspace, &["init", "-q", "-b", "main", "."]);
    let command =
        "git commit -q --allow-empty -m one; git log -1 --format='%an <%ae>'; git config --list";
    let result = shell(&workspace, &[], command);
    assert!(printed(&result).starts_with("Ada <ada@example.com>\n"), "{result}");
    assert!(!printed(&result).contains(SECRET), "{result}");
    let own =
        "git config user.name Own; git commit -q --allow-empty -m two; git log -1 --format=%an";
    assert_eq!(
        printed(&shell(&workspace, &[], own)),
        "Own\n",
        "a repository's own name comes first"
    );
}

#[test]
fn looking_at_a_repository_makes_no_step() {
    let workspace = TestWorkspace::new();
    put(&workspace, ".gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.com\n");
    git(&workspace, &["init", "-q", "-b", "main", "."]);
    fs::write(workspace.file("a"), "a\n").unwrap();
    git(&workspace, &["add", "-A"]);
    git(&workspace, &["commit", "-q", "-m", "one"]);
    // The index does not know its time any more.
    fs::write(workspace.file("a"), "a\n").unwrap();
    shell(&workspace, &[], "git status; git diff; git log; git show HEAD; git describe --always");
    assert_eq!(workspace.run(&["history"]).stdout, "no steps\n");
}

#[test]
fn a_program_that_the_box_does_not_show_is_named_with_its_folder() {
    let workspace = TestWorkspace::new();
    program(&workspace, "bin/hidden-tool", "hidden");
    let result = shell(&workspace, &[], "hidden-tool");
    let folder = home(&workspace).join("bin");
    let words = format!(
        "hidden-tool is in a folder that the box does not show: {}; name it in `show` of `[commands]`, and start \
         the program by its path there",
        folder.display()
    );
    assert_eq!((&result["returncode"], &result["message"]), (&json!(127), &json!(words)));
    let result = shell(&workspace, &[], "no-tool-of-that-name");
    assert_eq!((&result["returncode"], &result["message"]), (&json!(127), &Value::Null));
}

#[test]
fn a_terminal_reports_a_program_that_the_box_does_not_show() {
    let workspace = TestWorkspace::new();
    program(&workspace, "bin/hidden-tool", "hidden");
    let folder = home(&workspace).join("bin");
    for (command, is_hidden) in [("hidden-tool; cat", true), ("no-tool-of-that-name; cat", false)] {
        let args = json!({"session_id": "t", "cmd": command, "workdir": null}).to_string();
        let mut call = workspace.command(&["call", "--toolset", "codex", "exec_command", &args]);
        let ran = Ran::from(call.env("PATH", "/usr/bin:/bin").output().unwrap());
        let answer = ran.json()["result"].clone();
        let words = format!(
            "hidden-tool is in a folder that the box does not show: {}; name it in `show` of `[commands]`, and \
             start the program by its path there",
            folder.display()
        );
        let expected = if is_hidden { json!(words) } else { Value::Null };
        assert_eq!(answer["message"], expected, "{answer}");
    }
}

#[test]
fn x5_a_terminal_of_one_call_promises_nothing_that_ends_with_the_call() {
    let workspace = TestWorkspace::new();
    for command in ["cat", "python3 -m http.server 8765", "sleep 30"] {
        let args = json!({"session_id": "t", "cmd": command, "workdir": null}).to_string();
        let ran = workspace.run(&["call", "--toolset", "codex", "exec_command", &args]);
        let answer = ran.json()["result"].clone();
        assert_eq!(
            (&answer["state"], &answer["exit_code"]),
            (&json!("ended"), &Value::Null),
            "{answer}"
        );
        assert!(answer["because"].as_str().unwrap().contains("ends with this call"), "{answer}");
        assert!(!answer.to_string().contains("listens on port"), "{answer}");
    }
    let args = json!({"session_id": "t", "cmd": "echo done", "workdir": null}).to_string();
    let answer =
        workspace.run(&["call", "--toolset", "codex", "exec_command", &args]).json()["result"]
            .clone();
    assert_eq!(
        (&answer["because"], &answer["exit_code"]),
        (&json!("the program ended"), &json!(0)),
        "{answer}"
    );
}

#[test]
fn doctor_lists_homes_and_caches_and_what_the_configuration_shows() {
    let workspace = TestWorkspace::new();
    program(&workspace, "more/tool", "more");
    shell(&workspace, &[], "head -c 3145728 /dev/urandom > $HOME/kept");
    let more = home(&workspace).join("more").display().to_string();
    let mut doctor = workspace.command(&["doctor", "--json"]);
    doctor.env("TOOLYARD__COMMANDS__SHOW", format!("[{more:?}]"));
    doctor.env("TOOLYARD__COMMANDS__HOME_MIB", "64");
    let answer = Ran::from(doctor.output().unwrap()).json();
    let found = |name: &str| {
        let mut findings = answer["findings"].as_array().unwrap().iter();
        let finding = findings.find(|finding| finding["name"] == name);
        finding.unwrap_or_else(|| panic!("{name}: {answer}"))["found"].as_str().unwrap().to_owned()
    };
    let homes = found("homes of chats");
    assert!(homes.starts_with("3.0 MiB of chat "), "{homes}");
    let root = workspace.root().canonicalize().unwrap();
    assert!(homes.contains(&format!(" in {};", root.display())), "{homes}");
    assert!(homes.contains("at most 64.0 MiB each"), "{homes}");
    assert!(found("caches of packages").contains("at most 16.0 GiB of a workspace"), "{answer}");
    assert!(found("your programs").contains(&more), "{answer}");
    assert!(!answer.to_string().contains("programs of `serve`"), "{answer}");
}

#[test]
fn doctor_shows_what_a_server_shows_of_the_folders_on_its_path() {
    let workspace = TestWorkspace::new();
    program(&workspace, "only-for-serve/tool", "more");
    let folder = home(&workspace).join("only-for-serve").display().to_string();
    let mut doctor = workspace.command(&["doctor"]);
    doctor.env("TOOLYARD__COMMANDS__PATH", format!("[{folder:?}]"));
    let answer = Ran::from(doctor.output().unwrap()).stdout;
    let line = |name: &str| answer.lines().find(|line| line.contains(name)).unwrap_or_default();
    assert!(line("programs of `serve`").contains(&folder), "{answer}");
    assert!(!line("your programs").contains(&folder), "{answer}");
}

#[test]
fn doctor_says_what_the_box_sees() {
    let workspace = TestWorkspace::new();
    let mut doctor = workspace.command(&["doctor", "--json"]);
    doctor.env("TOOLYARD__WEB__ALLOW", "['packages.example']");
    doctor.env("TOOLYARD__COMMANDS__MEMORY_MIB", "3072");
    let answer = Ran::from(doctor.output().unwrap()).json();
    let found = |name: &str| {
        let mut findings = answer["findings"].as_array().unwrap().iter();
        let finding = findings.find(|finding| finding["name"] == name);
        finding.unwrap_or_else(|| panic!("{name}: {answer}"))["found"].as_str().unwrap().to_owned()
    };
    let version = run_on_machine("bash", "--version");
    let version = version.split("version ").nth(1).unwrap().split('(').next().unwrap();
    assert!(found("programs").contains(&format!("bash {version} (")), "{}", found("programs"));
    assert_eq!(found("hosts"), "allowed without asking: packages.example");
    assert_eq!(
        found("limits of a command"),
        "memory 3.0 GiB, 4096 processes, 60 minutes, processor time no limit, 4096 open files, files up to 4.0 \
         GiB, 8.0 GiB written"
    );
    assert!(!found("masked").is_empty());
}

fn run_on_machine(program: &str, word: &str) -> String {
    let output = Command::new(program).arg(word).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
