//! A home full of secrets, each with a word in it that a test can search for, and the search.

#![allow(dead_code, reason = "each test file uses its part")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

pub(crate) const CANARY: &str = "canary-5e0d1c";

/// Where people keep what is nobody else's business: in their home, also inside of what boxes show.
pub(crate) const PLACES: [&str; 62] = [
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

pub(crate) const VARIABLES: [&str; 8] = [
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
pub(crate) const SEARCH: &str = "for one in /*; do case $one in /usr|/bin|/sbin|/lib*|/proc|/sys|/dev) continue;; esac; \
    grep -rsl --devices=skip canary[-]5e0d1c $one | sed 's/^/FOUND /'; done; \
    for one in /proc/[0-9]*/environ /proc/[0-9]*/cmdline; do \
    tr '\\0' '\\n' < $one 2>/dev/null | grep canary[-]5e0d1c | sed \"s|^|FOUND $one |\"; done; echo searched";

/// Makes a home with programs of every toolchain and with every secret.
pub(crate) fn furnish(home: &Path) {
    for path in PROGRAMS.iter().chain(&PLACES) {
        let at = home.join(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        let text = if PLACES.contains(path) { CANARY } else { "#!/bin/sh\n" };
        fs::write(&at, text).unwrap();
        fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Files below a folder, of whatever kind, that hold the word.
pub(crate) fn files_with_canary(folder: &Path) -> Vec<String> {
    let (mut ahead, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(path) = ahead.pop() {
        let Ok(meta) = path.symlink_metadata() else { continue };
        if meta.is_dir() {
            let inside = fs::read_dir(&path).into_iter().flatten().flatten();
            ahead.extend(inside.map(|entry| entry.path()));
        } else if meta.is_file() {
            let bytes = fs::read(&path).unwrap_or_default();
            if bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}
