//! The page "What the box sees", `docs/box.md`. Its tables are generated from those that configure boxes.

use std::fmt::Write as _;

use crate::{caches, toolchains};

const INTRODUCTION: &str = "\
# What the box sees

Every command, terminal and `run_code` of an agent runs in a box. This page is made from the tables in the code
(`toolyard doctor --page` prints it); `toolyard doctor` says what of it there is on your machine.

- **The workspace**, under a layer. What a command changed is judged and kept as one step when it is over, or dropped.
- **The system's programs and libraries**, read-only: `/usr`, `/bin`, `/lib`, `/opt`, and of `/etc` what libraries read.
- **Your programs**, read-only: the folders of your PATH, where links in `~/.local/bin` and `~/bin` lead, and the
  toolchains below. The rest of your home is not there: no keys, tokens, histories, browsers, other projects or sockets.
- **A home and a `/tmp`** (`HOME` is `/tmp/home`) that all commands of a chat share and no other chat sees. They are in
  no step, and go after seven days without use. `[commands] home_mib` is how much they hold.
- **Caches of packages**, below: yours are read and never changed, and what a command adds is there for the next one of
  the workspace. `[commands] caches_mib` is how much of that is kept.
- **git with your name and mail**, and nothing else of your configuration. Looking at a repository makes no step.
- **A network of its own.** Hosts are reached through a proxy, after your approval. A port that a program in a terminal listens
  on is there for other commands of the chat; `toolyard ports` opens it in your browser.
- **Certificates** that you told your tools of by a variable (`SSL_CERT_FILE`, `NODE_EXTRA_CA_CERTS`, `PIP_CERT` and
  such), if the file holds no key.
- **Your package indexes**, if you have others than the public ones: the addresses in pip's, npm's and cargo's
  configuration, or in `PIP_INDEX_URL`, `UV_INDEX_URL`, `npm_config_registry`, `GOPROXY` and such; none that holds a name,
  a password or a token.
- **A few variables**: PATH, HOME, TMPDIR, LANG, USER, LOGNAME, TERM, those of the tables, and what the tool's own
  arguments set. None of your environment's others.

More folders are shown by `show` of `[commands]`. On a server the PATH is that of the service, or the folders of `path` of
`[commands]` (`path = [\"/opt/node/bin\"]`): they are shown and on the PATH, before the system's own.
";

/// The whole page.
pub(crate) fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str(
        "\n## Toolchains\n\n| toolchain | where | shown | never shown |\n|---|---|---|---|\n",
    );
    for row in toolchains::rows() {
        let shown = if row.shown.is_empty() { "all of it".to_owned() } else { names(row.shown) };
        let homes = row.homes.iter().map(|home| home_path(home)).collect::<Vec<_>>();
        let mut place = homes.join(", ");
        if let Some(variable) = row.variable {
            let _ = write!(place, " or `{variable}`");
        }
        let _ = writeln!(page, "| {} | {place} | {shown} | {} |", row.name, names(row.masked));
    }
    let always = names(&toolchains::ALWAYS_MASKED);
    let _ = writeln!(page, "\nIn no folder that is shown is there any of {always}.");
    page.push_str(
        "\n## Caches of packages\n\n| variable | in the box | of yours |\n|---|---|---|\n",
    );
    for row in caches::rows() {
        let _ = writeln!(
            page,
            "| `{}` | `{}` | {} |",
            row.variable,
            row.at,
            row.user_folders.join(", ")
        );
    }
    page
}

fn names(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn home_path(home: &str) -> String {
    if home.starts_with('/') { format!("`{home}`") } else { format!("`~/{home}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_in_the_docs_is_up_to_date() {
        assert_eq!(
            page(),
            include_str!("../../../docs/box.md"),
            "cargo run -p yard-cli -- doctor --page > docs/box.md"
        );
    }
}
