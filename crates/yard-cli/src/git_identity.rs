//! The name and the email address under which the user commits, for commits that are made in a box. Nothing else of the
//! user's configuration of git goes into a box. This module runs git, and changes nothing.

#![allow(clippy::disallowed_methods, reason = "git runs as the user, before there is a box")]

use std::ffi::OsString;
use std::process::{Command, Stdio};

use yard_sandbox::Programs;

/// The name of the file in the box.
const FILE: &str = "gitconfig";

/// In a box of root the files have another owner than in the index. With this setting git compares times and sizes only,
/// and need not read unchanged files again.
const SETTINGS: &str = "[core]\n\tcheckStat = minimal\n";

/// Adds the user's identity to a box as git's configuration for all users, so that the configuration of a repository and
/// of the agent override it.
pub(crate) fn add_to(programs: &mut Programs) {
    let values = ["user.name", "user.email"].map(configured);
    programs.files.push((FILE.to_owned(), configuration(&values).into_bytes()));
    let path = OsString::from(format!("/run/toolyard/{FILE}"));
    programs.environment.push(("GIT_CONFIG_SYSTEM".into(), path));
    // Looking at a repository does not write its index.
    programs.environment.push(("GIT_OPTIONAL_LOCKS".into(), "0".into()));
}

/// A value that the user configured for all repositories.
fn configured(key: &str) -> Option<String> {
    let mut git = Command::new("git");
    git.args(["config", "--get", key]).current_dir("/").stdin(Stdio::null());
    let output =
        git.stderr(Stdio::null()).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn configuration([name, email]: &[Option<String>; 2]) -> String {
    let line = |key: &str, value: &Option<String>| {
        let value = value.as_ref()?;
        let value: String = value.chars().filter(|one| !one.is_control()).collect();
        Some(format!("\t{key} = \"{}\"\n", value.replace('\\', "\\\\").replace('"', "\\\"")))
    };
    let lines: String = [line("name", name), line("email", email)].into_iter().flatten().collect();
    format!("[user]\n{lines}{SETTINGS}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_git_reads_them() {
        let name = Some("Ada \"the\" \\ Countess\n[core]".to_owned());
        let text = configuration(&[name, Some("ada@example.com".to_owned())]);
        let must = "[user]\n\tname = \"Ada \\\"the\\\" \\\\ Countess[core]\"\n\temail = \"ada@example.com\"\n";
        assert_eq!(text, format!("{must}{SETTINGS}"));
        assert_eq!(configuration(&[None, None]), format!("[user]\n{SETTINGS}"));
    }
}
