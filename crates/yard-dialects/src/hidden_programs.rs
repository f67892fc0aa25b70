//! The message about a command that did not find a program which is on the machine and not in its box.

use std::path::Path;

/// The exit code of a shell that did not find a program.
pub(crate) const NOT_FOUND: i32 = 127;

/// The program that a shell did not find, from its error message.
pub(crate) fn missing_program(stderr: &str) -> Option<&str> {
    stderr.lines().rev().find_map(|line| {
        let line = line.trim_end();
        let name = match line.split_once("command not found: ") {
            // The format of zsh.
            Some((_, name)) => name,
            None => {
                let ends = [": command not found", ": not found", ": No such file or directory"];
                let rest = ends.iter().find_map(|end| line.strip_suffix(end))?;
                rest.rsplit(": ").next()?
            }
        };
        let name = name.trim_matches(|one| "'\"`‘’".contains(one));
        let is_plain = |one: char| one.is_ascii_alphanumeric() || "-_.+".contains(one);
        (!name.is_empty() && name.chars().all(is_plain)).then_some(name)
    })
}

/// As [`missing_program`], from the output of a terminal, where no exit code says that a program was missing: only
/// messages that mean nothing else count.
pub(crate) fn missing_on_terminal(output: &str) -> Option<&str> {
    let is_clear =
        |line: &&str| line.contains("command not found") || line.ends_with(": not found");
    let lines = output.lines().map(str::trim_end).filter(is_clear);
    lines.rev().find_map(missing_program)
}

/// Where the program is, and how to let commands use it.
pub(crate) fn message(name: &str, folder: &Path) -> String {
    format!(
        "{name} is in a folder that the box does not show: {}; name it in `show` of `[commands]`, and start the \
         program by its path there",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_names_what_it_did_not_find() {
        for (stderr, name) in [
            ("bash: line 1: cargo: command not found\n", Some("cargo")),
            ("sh: 1: g++-12: not found\n", Some("g++-12")),
            ("zsh:1: command not found: uv\n", Some("uv")),
            ("env: ‘node’: No such file or directory\n", Some("node")),
            ("first\nbash: line 2: go: command not found\nmake: *** [all] Error 127\n", Some("go")),
            ("bash: line 1: ./run.sh: No such file or directory\n", None),
            ("cat: a b: No such file or directory\n", None),
            ("", None),
        ] {
            assert_eq!(missing_program(stderr), name, "{stderr}");
        }
    }

    #[test]
    fn only_clear_messages_on_a_terminal_name_a_missing_program() {
        for (output, name) in [
            ("$ cargo build\r\nbash: cargo: command not found\r\n$ ", Some("cargo")),
            ("sh: 1: uv: not found\r\n", Some("uv")),
            ("cat: notes: No such file or directory\r\n", None),
            ("", None),
        ] {
            assert_eq!(missing_on_terminal(output), name, "{output}");
        }
    }

    #[test]
    fn the_folder_and_the_setting_are_named() {
        assert_eq!(
            message("cargo", Path::new("/home/ann/.cargo/bin")),
            "cargo is in a folder that the box does not show: /home/ann/.cargo/bin; name it in `show` of \
             `[commands]`, and start the program by its path there"
        );
    }
}
