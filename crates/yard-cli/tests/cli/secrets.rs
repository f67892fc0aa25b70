//! A home full of secrets: nothing of them is in the box, whichever toolchains it shows, for a command or for the
//! install script of a package that means harm.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Ran, Yard};

const CANARY: &str = "canary-5e0d1c";

/// Where people keep what is nobody else's business: in their home, also inside of what boxes show.
const PLACES: [&str; 62] = [
    ".ssh/id_ed25519",
    ".ssh/config",
    ".ssh/known_hosts",
    ".gnupg/private-keys-v1.d/key",
    ".aws/credentials",
    ".aws/config",
    ".azure/accessTokens.json",
    ".config/gcloud/credentials.db",
    ".config/gh/hosts.yml",
    ".config/git/credentials",
    ".config/hub",
    ".config/glab-cli/config.yml",
    ".config/op/config",
    ".config/rclone/rclone.conf",
    ".config/pip/pip.conf",
    ".config/pypoetry/auth.toml",
    ".config/uv/uv.toml",
    ".config/google-chrome/Default/Login Data",
    ".mozilla/firefox/profile/logins.json",
    ".local/share/keyrings/login.keyring",
    ".local/share/fish/fish_history",
    ".local/share/uv/credentials/credentials.toml",
    ".password-store/mail.gpg",
    ".docker/config.json",
    ".kube/config",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".netrc",
    ".git-credentials",
    ".gitconfig",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".boto",
    ".s3cfg",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".lesshst",
    ".viminfo",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".gem/credentials",
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".npm/_logs/debug.log",
    ".pyenv/versions/3.13/pip.conf",
    "miniconda3/.condarc",
    "miniconda3/envs/work/pip.conf",
    ".nvm/versions/node/v22/etc/npmrc",
    ".volta/tools/image/node/22/etc/npmrc",
    ".asdf/installs/maven/3/conf/settings.xml",
    ".sdkman/candidates/maven/3/conf/settings.xml",
    "bin/.env",
    "bin/.netrc",
    "other-project/.env",
    "other-project/notes.txt",
];

/// Programs of toolchains, so that all of them are shown.
const PROGRAMS: [&str; 20] = [
    ".rustup/toolchains/stable/bin/rustc",
    ".cargo/bin/cargo",
    ".cargo/registry/src/index/crate/lib.rs",
    ".pyenv/versions/3.13/bin/python",
    ".local/share/uv/python/3.13/bin/python",
    "miniconda3/bin/conda",
    "micromamba/bin/mamba",
    ".nvm/versions/node/v22/bin/node",
    ".local/share/fnm/node-versions/v22/installation/bin/node",
    ".volta/tools/image/node/22/bin/node",
    ".asdf/installs/maven/3/bin/mvn",
    ".local/share/mise/installs/go/1/bin/go",
    ".sdkman/candidates/maven/3/bin/mvn",
    ".deno/bin/deno",
    ".bun/bin/bun",
    ".rbenv/versions/3/bin/ruby",
    ".ghcup/bin/ghc",
    ".juliaup/bin/julia",
    ".npm/_cacache/index/package",
    "bin/tool",
];

const VARIABLES: [&str; 8] = [
    "AWS_SECRET_ACCESS_KEY",
    "GITHUB_TOKEN",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "NPM_TOKEN",
    "DATABASE_URL",
    "CARGO_REGISTRY_TOKEN",
    "PIP_INDEX_URL",
];

/// Searches all that the box can read but the system's own folders, and what all processes have in their
/// environment. A match is a line that begins with `FOUND`.
const SEARCH: &str = "for one in /*; do case $one in /usr|/bin|/sbin|/lib*|/proc|/sys|/dev) continue;; esac; \
    grep -rsl --devices=skip canary[-]5e0d1c $one | sed 's/^/FOUND /'; done; \
    for one in /proc/[0-9]*/environ /proc/[0-9]*/cmdline; do \
    tr '\\0' '\\n' < $one 2>/dev/null | grep canary[-]5e0d1c | sed \"s|^|FOUND $one |\"; done; echo searched";

fn home(yard: &Yard) -> PathBuf {
    yard.temp.path().join("home")
}

fn furnished() -> Yard {
    let yard = Yard::new();
    for path in PROGRAMS.iter().chain(&PLACES) {
        let at = home(&yard).join(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        let text = if PLACES.contains(path) { CANARY } else { "#!/bin/sh\n" };
        fs::write(&at, text).unwrap();
        fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).unwrap();
    }
    yard
}

fn shell(yard: &Yard, command: &str) -> Value {
    let folders = [".cargo/bin", ".local/bin", "bin", "miniconda3/bin", "."];
    let own = folders.map(|folder| home(yard).join(folder)).into_iter();
    let path =
        std::env::join_paths(own.chain(["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from)));
    let args = json!({"command": command, "workdir": null, "timeout_ms": 120_000}).to_string();
    let mut call = yard.command(&["call", "--toolset", "codex", "shell", &args]);
    call.env("PATH", path.unwrap());
    call.envs(VARIABLES.map(|name| (name, format!("{CANARY}-in-{name}"))));
    call.env("SSH_AUTH_SOCK", home(yard).join("bin/agent.sock"));
    let ran = Ran::from(call.output().unwrap());
    assert_eq!(ran.exit, 0, "{command}: {}{}", ran.stdout, ran.stderr);
    assert!(!ran.stderr.contains(CANARY), "{}", ran.stderr);
    ran.json()["result"].clone()
}

#[test]
fn a_command_finds_none_of_them() {
    let yard = furnished();
    let result = shell(&yard, SEARCH);
    assert_eq!(result["stdout"], "searched\n", "{result}");
    // The search itself finds what is there.
    fs::write(yard.file("planted"), CANARY).unwrap();
    let planted = shell(&yard, SEARCH)["stdout"].as_str().unwrap().to_owned();
    assert!(planted.contains("FOUND") && planted.contains("planted"), "{planted}");
}

#[test]
fn a_secret_that_came_after_the_first_command_is_not_there_either() {
    let yard = furnished();
    shell(&yard, "true");
    let late = home(&yard).join(".nvm/versions/node/v23/etc/npmrc");
    fs::create_dir_all(late.parent().unwrap()).unwrap();
    fs::write(late, CANARY).unwrap();
    assert_eq!(shell(&yard, SEARCH)["stdout"], "searched\n");
}

#[test]
fn the_install_script_of_a_package_finds_none_of_them() {
    let yard = furnished();
    let package = yard.file("package");
    fs::create_dir(&package).unwrap();
    let script = json!({"name": "harm", "version": "1.0.0", "scripts": {"postinstall": "sh search.sh > found"}});
    fs::write(package.join("package.json"), script.to_string()).unwrap();
    fs::write(package.join("search.sh"), SEARCH).unwrap();
    let install = "npm pack --silent ./package >/dev/null && mkdir app && cd app && echo '{}' > package.json && \
                   npm install --silent --offline ../harm-1.0.0.tgz; cat node_modules/harm/found";
    let result = shell(&yard, install);
    assert_eq!(result["stdout"], "searched\n", "{result}");
}

#[test]
fn nobody_outside_answers_on_a_socket_of_the_persons() {
    let yard = furnished();
    let _agent = UnixListener::bind(home(&yard).join("bin/agent.sock")).unwrap();
    let dial = format!(
        "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('{}')\" 2>&1 | tail -1; env | grep SOCK",
        home(&yard).join("bin/agent.sock").display()
    );
    let result = shell(&yard, &dial);
    let said = result["stdout"].as_str().unwrap();
    assert!(said.contains("Error") && !said.contains("SSH_AUTH_SOCK"), "{result}");
}
