//! What is there for the next command: the home and `/tmp` of a chat, and the caches of packages of a workspace.
//! Each command is a process of its own here, as a person would call it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use serde_json::{Value, json};

use crate::support::{Ran, TestWorkspace};

fn home(workspace: &TestWorkspace) -> PathBuf {
    workspace.temp.path().join("home")
}

fn call(workspace: &TestWorkspace, chat: Option<&str>, command: &str) -> Command {
    let args = json!({"command": command, "workdir": null, "timeout_ms": 60_000}).to_string();
    let mut words = vec!["call", "--toolset", "codex"];
    words.extend(chat.iter().flat_map(|chat| ["--chat", chat]));
    let mut call = workspace.command(&[&words[..], &["shell", &args]].concat());
    call.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    call
}

fn result(ran: &Ran) -> Value {
    assert_eq!(ran.exit, 0, "{}{}", ran.stdout, ran.stderr);
    ran.json()["result"].clone()
}

fn shell_in(workspace: &TestWorkspace, chat: Option<&str>, command: &str) -> Value {
    result(&Ran::from(call(workspace, chat, command).output().unwrap()))
}

/// What a command in the agent's own chat says.
fn printed(workspace: &TestWorkspace, command: &str) -> String {
    let result = shell_in(workspace, None, command);
    format!("{}{}", result["stdout"].as_str().unwrap(), result["stderr"].as_str().unwrap())
}

fn configure(workspace: &TestWorkspace, text: &str) {
    fs::create_dir_all(workspace.data()).unwrap();
    fs::set_permissions(workspace.data(), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(workspace.data().join("toolyard.toml"), text).unwrap();
}

/// Every file below a folder, with its bytes.
fn picture(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut ahead = vec![folder.to_owned()];
    while let Some(folder) = ahead.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                ahead.push(path);
            } else {
                files.push((path.clone(), fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn home_and_tmp_are_there_for_the_next_command_of_the_chat_and_in_no_step() {
    let workspace = TestWorkspace::new();
    printed(
        &workspace,
        "echo one > /tmp/a; echo two > ~/b; mkdir -p ~/.config/tool; echo 3 > ~/.config/tool/c",
    );
    assert_eq!(printed(&workspace, "cat /tmp/a ~/b ~/.config/tool/c"), "one\ntwo\n3\n");
    assert_eq!(workspace.run(&["history"]).stdout, "no steps\n");
    let code = json!({"language": "python", "code": "print(open('/tmp/a').read())"});
    let ran = workspace.run(&["call", "--toolset", "assistant", "run_code", &code.to_string()]);
    assert!(ran.stdout.contains("one"), "run_code has the same home: {}", ran.stdout);
}

#[test]
fn no_other_chat_sees_them() {
    let workspace = TestWorkspace::new();
    printed(&workspace, "echo mine > /tmp/a; echo mine > ~/b");
    let other = workspace.json(&["chats", "--new", "Other"])["id"].as_str().unwrap().to_owned();
    let seen = shell_in(&workspace, Some(&other), "ls /tmp ~; echo theirs > /tmp/a");
    assert_eq!(seen["stdout"], "/tmp:\nhome\n\n/tmp/home:\n", "{seen}");
    assert_eq!(printed(&workspace, "cat /tmp/a"), "mine\n");
}

#[test]
fn plan_mode_may_write_them() {
    let workspace = TestWorkspace::new();
    let plan = workspace.json(&["chats", "--new", "Plan", "--mode", "plan"]);
    let plan = plan["id"].as_str().unwrap().to_owned();
    shell_in(&workspace, Some(&plan), "echo kept > /tmp/a");
    assert_eq!(shell_in(&workspace, Some(&plan), "cat /tmp/a")["stdout"], "kept\n");
}

/// The workspace of these tests is below the host's `/tmp`, and so is its place in the box.
#[test]
fn what_an_agent_puts_in_the_way_of_the_workspace_leads_nowhere() {
    let workspace = TestWorkspace::new();
    workspace.write("here", "the workspace\n");
    let top = workspace.temp.path().to_str().unwrap().to_owned();
    let elsewhere = workspace.temp.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    for way in [
        format!("mv {top} /tmp/moved; ln -s {} {top}", elsewhere.display()),
        format!("mv {top} /tmp/moved2; ln -s /etc {top}"),
        format!("mv {top} /tmp/moved3; echo a file > {top}"),
        format!("mv {top} /tmp/moved4; ln -s /nowhere {top}"),
        "rm -rf /tmp/home; echo a file > /tmp/home".to_owned(),
        "rm -rf /tmp/home; ln -s /etc /tmp/home".to_owned(),
    ] {
        printed(&workspace, &way);
        assert_eq!(
            printed(&workspace, "cat here; ls -A .toolyard 2>/dev/null"),
            "the workspace\n",
            "{way}"
        );
        assert_eq!(printed(&workspace, "cd && pwd -P"), "/tmp/home\n", "{way}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "{way}");
    }
}

#[test]
fn a_full_home_ends_a_command_that_fills_it_and_lets_the_next_make_room() {
    let workspace = TestWorkspace::new();
    configure(&workspace, "[commands]\nhome_mib = 8\n");
    let filled = shell_in(&workspace, None, "head -c 20000000 /dev/zero > ~/big; sleep 20");
    assert_eq!(
        filled["message"],
        "it was ended because it put more into its home and /tmp than they hold (`home_mib` of `[commands]`); the \
         home and /tmp of this chat are full: remove what is not needed there (`home_mib` of `[commands]` is their \
         size)"
    );
    assert_eq!(printed(&workspace, "sleep 0.5; rm ~/big; echo made room"), "made room\n");
    assert_eq!(printed(&workspace, "echo small > ~/a; sleep 0.5; cat ~/a"), "small\n");
}

#[test]
fn the_persons_packages_are_read_and_never_changed_and_what_is_added_stays() {
    let workspace = TestWorkspace::new();
    let registry = home(&workspace).join(".cargo/registry");
    fs::create_dir_all(registry.join("src/old")).unwrap();
    for (name, text) in
        [("src/old/lib.rs", "old"), ("src/old/other.rs", "other"), ("index", "first")]
    {
        fs::write(registry.join(name), text).unwrap();
    }
    fs::write(home(&workspace).join(".cargo/credentials.toml"), "a-secret").unwrap();
    let before = picture(&home(&workspace));
    assert_eq!(printed(&workspace, "cat $CARGO_HOME/registry/src/old/lib.rs"), "old");
    printed(
        &workspace,
        "cd $CARGO_HOME && rm registry/src/old/other.rs && echo second > registry/index && \
         mkdir -p registry/src/new bin && echo new > registry/src/new/lib.rs && chmod 555 registry/src/new && \
         echo tool > bin/tool && echo lock > .package-cache",
    );
    let seen = "cd $CARGO_HOME && cat registry/index registry/src/new/lib.rs bin/tool .package-cache && \
                ls registry/src/old && ls -A";
    let expected = "second\nnew\ntool\nlock\nlib.rs\n.package-cache\nbin\nregistry\n";
    assert_eq!(printed(&workspace, seen), expected);
    let other = workspace.json(&["chats", "--new", "Other"])["id"].as_str().unwrap().to_owned();
    let theirs = shell_in(&workspace, Some(&other), "cat $CARGO_HOME/registry/src/new/lib.rs");
    assert_eq!(theirs["stdout"], "new\n", "other chats of the workspace have it, too");
    // A folder that may not be written to is merged into, replaced and removed all the same.
    printed(
        &workspace,
        "cd $CARGO_HOME/registry/src && chmod 755 new && echo more > new/more && chmod 555 new",
    );
    assert_eq!(printed(&workspace, "cat $CARGO_HOME/registry/src/new/*"), "new\nmore\n");
    printed(&workspace, "cd $CARGO_HOME/registry/src && chmod 755 new && rm -rf new old");
    assert_eq!(printed(&workspace, "ls $CARGO_HOME/registry/src"), "");
    printed(&workspace, "cd $CARGO_HOME/registry/src && mkdir old && echo again > old/lib.rs");
    assert_eq!(
        printed(&workspace, "cd $CARGO_HOME/registry/src && cat old/lib.rs; ls old"),
        "again\nlib.rs\n"
    );
    assert_eq!(picture(&home(&workspace)), before, "the person's own is what it was");
    assert_eq!(workspace.run(&["history"]).stdout, "no steps\n");
}

#[test]
fn what_an_agent_puts_in_the_way_of_a_cache_leads_nowhere() {
    let workspace = TestWorkspace::new();
    let registry = home(&workspace).join(".cargo/registry");
    fs::create_dir_all(&registry).unwrap();
    fs::write(registry.join("index"), "first").unwrap();
    let outside = workspace.temp.path().join("outside");
    fs::create_dir(&outside).unwrap();
    for way in ["ln -s /etc cargo", "echo a file > cargo", "ln -s /nowhere cargo"] {
        // The mount keeps its place while the command runs: the folder above it can be moved.
        printed(&workspace, &format!("cd $CARGO_HOME/.. && mv cargo aside-$$; {way}; true"));
        assert_eq!(printed(&workspace, "cat $CARGO_HOME/registry/index"), "first", "{way}");
    }
    let hostile = format!("cd $CARGO_HOME && ln -s {} git-link", outside.display());
    printed(&workspace, &hostile);
    printed(&workspace, "echo x > $CARGO_HOME/git-link/y 2>/dev/null");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn caches_that_are_full_say_so_and_keep_what_they_had() {
    let workspace = TestWorkspace::new();
    configure(&workspace, "[commands]\ncaches_mib = 1\n");
    printed(&workspace, "mkdir -p $PIP_CACHE_DIR && echo kept > $PIP_CACHE_DIR/small");
    let full = shell_in(&workspace, None, "head -c 3000000 /dev/urandom > $PIP_CACHE_DIR/large");
    assert_eq!(
        full["message"],
        "the package caches of this workspace are full, so that what the command downloaded is not kept for the \
         next one (`toolyard storage` shows them; `caches_mib` of `[commands]` is their size)"
    );
    assert_eq!(printed(&workspace, "cat $PIP_CACHE_DIR/small; ls $PIP_CACHE_DIR"), "kept\nsmall\n");
}

#[test]
fn commands_at_the_same_time_add_to_one_cache() {
    let workspace = TestWorkspace::new();
    fs::create_dir_all(home(&workspace).join(".cache/pip")).unwrap();
    printed(&workspace, "true");
    thread::scope(|scope| {
        for number in 0..6 {
            let workspace = &workspace;
            scope.spawn(move || {
                let add = format!(
                    "mkdir -p $PIP_CACHE_DIR/common && echo {number} > $PIP_CACHE_DIR/common/{number}; sleep 0.2"
                );
                printed(workspace, &add);
            });
        }
    });
    assert_eq!(printed(&workspace, "cat $PIP_CACHE_DIR/common/*"), "0\n1\n2\n3\n4\n5\n");
    assert_eq!(fs::read_dir(home(&workspace).join(".cache/pip")).unwrap().count(), 0);
}

#[test]
fn a_cache_that_leads_to_the_home_is_none() {
    let workspace = TestWorkspace::new();
    fs::create_dir_all(home(&workspace).join(".cache")).unwrap();
    fs::write(home(&workspace).join("secret"), "a-secret").unwrap();
    symlink(home(&workspace), home(&workspace).join(".cache/pip")).unwrap();
    assert_eq!(printed(&workspace, "ls $PIP_CACHE_DIR 2>/dev/null; echo"), "\n");
}
