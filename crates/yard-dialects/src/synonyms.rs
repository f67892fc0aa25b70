//! Names that mean the same thing in different sets of tools. A model that learned another name for an argument or a
//! tool is told the one that is known here, which may be spelled quite differently: `old_text` is `old_string`.

use crate::nearest::nearest;

/// Arguments with one meaning, in lower case and without separators.
const ARGUMENTS: &[&[&str]] = &[
    &["path", "file", "filepath", "filename", "absolutepath", "targetfile"],
    &["path", "dir", "dirpath", "directory", "folder"],
    &["paths", "files", "filepaths", "filenames"],
    &["oldstring", "oldtext", "oldstr", "old", "find", "search", "before"],
    &["newstring", "newtext", "newstr", "new", "replace", "replacement", "after"],
    &["edits", "patches", "changes", "replacements"],
    &["pattern", "query", "regex", "regexp", "search", "searchterm"],
    &["glob", "pathpattern", "include", "fileglob", "filepattern"],
    &["content", "contents", "text", "filetext", "data", "body"],
    &["source", "from", "src", "oldpath", "sourcepath"],
    &["destination", "to", "dest", "dst", "newpath", "destinationpath"],
    &["command", "cmd", "commandline"],
    &["code", "script"],
    &["workdir", "cwd", "workingdirectory"],
    &["limit", "maxresults", "numresults", "headlimit", "count"],
    &["patch", "patchtext", "input", "diff"],
    &["message", "commitmessage", "msg"],
    &["url", "uri", "link"],
];

/// Words for one kind of work in the names of tools.
const WORK: &[&[&str]] = &[
    &["read", "view", "open", "cat"],
    &["write", "create", "save"],
    &["edit", "editor", "patch", "replace", "modify", "update", "change"],
    &["rm", "remove", "delete", "unlink"],
    &["mv", "move", "rename"],
    &["ls", "list"],
    &["grep", "search", "ripgrep", "rg"],
    &["find", "glob"],
    &["run", "exec", "execute", "shell", "bash", "sh"],
];

/// Words of tools' names that say nothing about their work.
const FILLERS: &[&str] = &[
    "file",
    "files",
    "dir",
    "directory",
    "text",
    "tool",
    "code",
    "command",
    "cmd",
    "str",
    "string",
    "based",
    "apply",
    "json",
    "freeform",
    "terminal",
    "contents",
    "content",
];

/// Tools whose names promise other work than they do.
const OTHER_WORK: &[(&str, &str)] = &[("search_files", "find")];

/// The known argument that a caller means by `word`: of the same meaning, or else of a similar name.
pub(crate) fn meant_argument<'a>(
    word: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let plain = plain(word);
    if let Some(same) = known.clone().find(|name| self::plain(name) == plain) {
        return Some(same);
    }
    let groups = ARGUMENTS.iter().filter(|group| group.contains(&plain.as_str()));
    for group in groups {
        if let Some(meant) = known.clone().find(|name| group.contains(&self::plain(name).as_str()))
        {
            return Some(meant);
        }
    }
    nearest(word, known)
}

/// The known tool that a caller means by `word`: one that does the same work, or else one of a similar name that does
/// not do other work. Whoever wants to edit is never told to write.
pub(crate) fn meant_tool<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = plain(word);
    if let Some(same) = known.iter().find(|name| self::plain(name) == plain) {
        return Some(*same);
    }
    let wanted = work(word);
    let same_work = known.iter().copied().filter(|name| !wanted.is_empty() && work(name) == wanted);
    let same_work: Vec<&str> = same_work.collect();
    if let Some(first) = same_work.first() {
        return nearest(word, same_work.iter().copied()).or(Some(*first));
    }
    let kinds = |words: &[String]| -> Vec<usize> {
        let kind = |word: &String| WORK.iter().position(|group| group[0] == word);
        words.iter().filter_map(kind).collect()
    };
    let wanted = kinds(&wanted);
    let does_other_work = |name: &str| {
        let does = kinds(&work(name));
        !wanted.is_empty() && !does.is_empty() && !does.iter().any(|kind| wanted.contains(kind))
    };
    nearest(word, known.iter().copied().filter(|name| !does_other_work(name)))
}

/// The words of a tool's name that say what it does, each as the first one of its kind, in order of the alphabet.
fn work(name: &str) -> Vec<String> {
    if let Some((_, does)) = OTHER_WORK.iter().find(|(tool, _)| *tool == name) {
        return vec![(*does).to_owned()];
    }
    let mut words: Vec<String> = words(name)
        .into_iter()
        .filter(|word| !FILLERS.contains(&word.as_str()))
        .map(|word| match WORK.iter().find(|group| group.contains(&word.as_str())) {
            Some(group) => group[0].to_owned(),
            None => word,
        })
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// `editFile` and `edit_file` as `edit` and `file`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    // A text longer than any known name is none of them.
    for character in name.chars().take(64) {
        let begins = !character.is_alphanumeric() || was_lower && character.is_uppercase();
        was_lower = character.is_lowercase();
        if begins {
            words.push(String::new());
        }
        if let (true, Some(last)) = (character.is_alphanumeric(), words.last_mut()) {
            last.extend(character.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A name in lower case and without separators.
fn plain(name: &str) -> String {
    words(name).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_of_the_same_meaning_comes_before_one_of_a_similar_name() {
        let edit = ["path", "old_string", "new_string", "insert_line"];
        let grep = ["pattern", "path_pattern", "path", "include_ignored"];
        for (word, known, meant) in [
            ("old_text", &edit[..], Some("old_string")),
            ("newText", &edit[..], Some("new_string")),
            ("replace", &edit[..], Some("new_string")),
            ("file", &edit[..], Some("path")),
            ("line", &edit[..], Some("insert_line")),
            ("include", &grep[..], Some("path_pattern")),
            ("query", &grep[..], Some("pattern")),
            ("Pattern", &grep[..], Some("pattern")),
            ("recursive", &grep[..], None),
            ("to", &["source", "destination"][..], Some("destination")),
        ] {
            assert_eq!(meant_argument(word, known.iter().copied()), meant, "{word}");
        }
    }

    #[test]
    fn a_tool_for_the_same_work_is_meant_and_none_for_other_work() {
        let file = ["file.read", "file.write", "file.patch", "file.delete", "file.list"];
        let assistant = ["read_file", "write_file", "delete_file", "run_code", "run_tests"];
        let codex = ["read_file", "apply_patch_json", "shell", "exec_command", "list_dir"];
        let workspace = ["ls", "read", "write", "rm", "edit", "grep", "plan_edit"];
        let filesystem = ["read_file", "edit_file", "search_files"];
        for (word, known, meant) in [
            ("file_edit", &file[..], Some("file.patch")),
            ("str_replace", &file[..], Some("file.patch")),
            ("file.raed", &file[..], Some("file.read")),
            ("edit_file", &assistant[..], None),
            ("bash", &assistant[..], Some("run_code")),
            ("read_files", &assistant[..], Some("read_file")),
            ("bash", &codex[..], Some("shell")),
            ("apply_patch", &codex[..], Some("apply_patch_json")),
            ("Read", &workspace[..], Some("read")),
            ("delete_file", &workspace[..], Some("rm")),
            ("list", &workspace[..], Some("ls")),
            ("search", &workspace[..], Some("grep")),
            ("update_plan", &workspace[..], Some("plan_edit")),
            ("bash", &workspace[..], None),
            ("grep", &filesystem[..], None),
            ("find", &filesystem[..], Some("search_files")),
        ] {
            assert_eq!(meant_tool(word, known), meant, "{word}");
        }
    }
}
