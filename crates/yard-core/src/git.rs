//! Git's own folder: by their names, which of its files programs obey, which hold commits, and which git rewrites
//! whenever it runs. The judgement and the display of changes there use this table.

use crate::{EffectKind, Name, WsPath};

/// The name of the folder, or of a file that leads to it.
pub const FOLDER: &[u8] = b".git";

/// What git uses a file of its folder for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitFileKind {
    /// The folder itself, or a file that leads git elsewhere.
    Folder,
    /// Git runs it or obeys it: hooks, configuration, attributes.
    Executed,
    /// A branch, a tag or another name for a commit.
    Ref,
    /// The objects of commits, which never change once they are written.
    Object,
    /// Many refs in one file: a change may lose any of them.
    PackedRefs,
    /// The state of an operation in progress, which git removes at its end.
    InProgress,
    /// A file that git writes whenever it runs.
    Bookkeeping,
    /// Any other file: it may not be harmless.
    Unknown,
}

const EXECUTED: [&[u8]; 9] = [
    b"hooks",
    b"config",
    b"config.worktree",
    b"info",
    b"commondir",
    b"gitdir",
    // What a rebase or a row of cherry-picks has still to do: lines of it are commands.
    b"rebase-merge",
    b"rebase-apply",
    b"sequencer",
];
/// What `objects/info` holds beside what leads git to other folders.
const REBUILDABLE_INFO: [&[u8]; 3] = [b"packs", b"commit-graph", b"commit-graphs"];
/// The names of what a folder has that git takes for a repository.
pub const REPOSITORY_NAMES: [&[u8]; 3] = [b"HEAD", b"objects", b"refs"];
/// Settings that name no file and no program, by section.
const PLAIN_SETTINGS: [(&str, &[&str]); 9] = [
    ("remote", &["fetch", "push", "tagopt", "prune", "mirror"]),
    ("branch", &["merge", "rebase", "description"]),
    ("submodule", &["active", "path", "branch", "ignore"]),
    ("user", &["name", "email", "signingkey"]),
    ("init", &["defaultbranch"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote", "followtags"]),
    ("core", &["autocrlf", "eol", "safecrlf", "quotepath", "longpaths", "abbrev"]),
    ("color", &["ui"]),
];
/// Settings that name a repository, by section: plain, unless a program is to reach it (`ext::./program`).
const REPOSITORY_SETTINGS: [(&str, &[&str]); 3] = [
    ("remote", &["url", "pushurl"]),
    ("branch", &["remote", "pushremote"]),
    ("submodule", &["url"]),
];
/// Values that `git init` writes, by section and key.
const INITIAL_SETTINGS: [(&str, &str); 8] = [
    ("core", "repositoryformatversion"),
    ("core", "filemode"),
    ("core", "bare"),
    ("core", "logallrefupdates"),
    ("core", "ignorecase"),
    ("core", "precomposeunicode"),
    ("core", "symlinks"),
    ("extensions", "objectformat"),
];
const IN_PROGRESS: [&[u8]; 8] = [
    b"MERGE_HEAD",
    b"MERGE_MSG",
    b"MERGE_MODE",
    b"CHERRY_PICK_HEAD",
    b"REVERT_HEAD",
    b"SQUASH_MSG",
    b"AUTO_MERGE",
    b"gc.log",
];
const BOOKKEEPING: [&[u8]; 7] =
    [b"logs", b"index", b"HEAD", b"branches", b"description", b"MERGE_RR", b"COMMIT_EDITMSG"];

/// What git uses the file at a path for; `None` outside of git's folder.
pub fn part(path: &WsPath) -> Option<GitFileKind> {
    let names: Vec<Name> = path.names().collect();
    let at = names.iter().position(|name| name.as_bytes() == FOLDER)?;
    Some(part_in(&names[at + 1..]))
}

/// What git uses a file for, by the names below its repository's folder.
pub fn part_in(inside: &[Name]) -> GitFileKind {
    let inside: Vec<&[u8]> = inside.iter().map(Name::as_bytes).collect();
    let Some(first) = inside.first() else { return GitFileKind::Folder };
    let last = inside.last().unwrap_or(first);
    match *first {
        b"objects" if inside.get(1) == Some(&&b"info"[..]) => match inside.get(2) {
            Some(name) if REBUILDABLE_INFO.contains(name) => GitFileKind::Object,
            _ => GitFileKind::Executed,
        },
        b"objects" => GitFileKind::Object,
        // Whole repositories lie below `modules`, so that these count wherever they are.
        _ if inside.iter().any(|name| EXECUTED.contains(name)) => GitFileKind::Executed,
        _ if last.ends_with(b".lock") => GitFileKind::InProgress,
        b"refs" => GitFileKind::Ref,
        b"packed-refs" => GitFileKind::PackedRefs,
        name if IN_PROGRESS.contains(&name) => GitFileKind::InProgress,
        name if BOOKKEEPING.contains(&name) => GitFileKind::Bookkeeping,
        name if name.ends_with(b"_HEAD") || name.ends_with(b"_MSG") => GitFileKind::Bookkeeping,
        name if name.ends_with(b"_EDITMSG") => GitFileKind::Bookkeeping,
        _ => GitFileKind::Unknown,
    }
}

impl GitFileKind {
    /// Whether such a change decides what others do, or loses what only git had. What git makes whenever
    /// it works does not, and nothing else in there is known to be harmless.
    pub fn decides(self, kind: EffectKind, is_folder: bool) -> bool {
        use EffectKind::{Create, Modify, MoveFrom, Purge, Remove};
        match self {
            // A file of that name leads git elsewhere; where the folder goes, everything in it does.
            Self::Folder => kind != Create || !is_folder,
            // An empty folder says nothing.
            Self::Executed => kind != Create || !is_folder,
            Self::Unknown => true,
            // A ref that is gone takes along what only it led to.
            Self::Ref => matches!(kind, Remove | MoveFrom),
            // Objects never change: a commit that loses one is lost.
            Self::Object => matches!(kind, Modify | Remove | Purge | MoveFrom),
            Self::PackedRefs | Self::InProgress | Self::Bookkeeping => false,
        }
    }
}

/// Whether a new file in a repository's folder is one that `git init` makes, and says nothing but what
/// that says: a sample of a hook, which git never runs; notes; its own keys of the configuration.
pub fn is_initial(inside: &[Name], content: &[u8]) -> bool {
    let inside: Vec<&[u8]> = inside.iter().map(Name::as_bytes).collect();
    match inside.as_slice() {
        [b"hooks", name] => name.ends_with(b".sample"),
        [b"info", b"exclude"] => is_commented_out(content),
        [b"config"] => is_initial_config(content),
        _ => false,
    }
}

/// The folder that a relative path in a configuration is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigPathBase {
    /// The file that names it.
    File,
    /// The folder that git works in.
    Worktree,
    /// The same, and it is only meant if a file is there: it may be a word like any other.
    WorktreeIfExists,
}

/// The folder that the file `.git` of a linked working tree names.
pub fn linked_folder(file: &[u8]) -> Option<&[u8]> {
    file.strip_prefix(b"gitdir:").map(<[u8]>::trim_ascii)
}

/// The paths that a setting names, as far as such settings name files: hooks, files that are included, and
/// whatever looks like a program's file. `key` is as git lists it, section and name in lower case.
pub fn places_in<'v>(key: &'v str, value: &'v [u8]) -> Vec<(&'v [u8], ConfigPathBase)> {
    let is_include =
        key == "include.path" || key.starts_with("includeif.") && key.ends_with(".path");
    if is_include {
        return vec![(value, ConfigPathBase::File)];
    }
    if key == "core.hookspath" {
        return vec![(value, ConfigPathBase::Worktree)];
    }
    if is_plain(key, value) {
        return Vec::new();
    }
    // What `url.<base>.insteadOf` puts in the place of its value is in the key.
    let put_in = key.strip_prefix("url.").unwrap_or_default();
    let words = words(value).into_iter().chain(words(put_in.as_bytes()));
    let is_path = |word: &&[u8]| !word.is_empty() && !word.starts_with(b"-") && word.len() <= 4_096;
    let base = |word: &[u8]| {
        if word.contains(&b'/') {
            ConfigPathBase::Worktree
        } else {
            ConfigPathBase::WorktreeIfExists
        }
    };
    words.filter(is_path).map(|word| (word, base(word))).collect()
}

/// The words of a value that may be a command of a shell, without quotes; of a word with operators of the shell or an
/// assignment in it, the parts too.
fn words(value: &[u8]) -> Vec<&[u8]> {
    let is_operator = |byte: &u8| b";|&()<>`=:".contains(byte);
    let whole = value.split(u8::is_ascii_whitespace);
    let with_parts = whole.flat_map(|word| {
        let parts = word.split(is_operator).filter(move |part| part.len() < word.len());
        std::iter::once(word).chain(parts)
    });
    with_parts.map(without_marks).collect()
}

fn without_marks(word: &[u8]) -> &[u8] {
    let marks = |byte: &u8| matches!(byte, b'!' | b'"' | b'\'' | b'(' | b')' | b';' | b'`' | b'$');
    let start = word.iter().position(|byte| !marks(byte)).unwrap_or(word.len());
    let end = word.iter().rposition(|byte| !marks(byte)).map_or(start, |at| at + 1);
    &word[start..end.max(start)]
}

/// Whether a setting names no file or program that git runs or reads.
fn is_plain(key: &str, value: &[u8]) -> bool {
    let Some((section, name)) = key.split_once('.') else { return false };
    // What stands between is the name of a remote, a branch or a module.
    let name = name.rsplit_once('.').map_or(name, |(_, name)| name);
    let is_in = |table: &[(&str, &[&str])]| {
        table.iter().any(|(known, names)| *known == section && names.contains(&name))
    };
    is_in(&PLAIN_SETTINGS)
        || INITIAL_SETTINGS.contains(&(section, name))
        || is_in(&REPOSITORY_SETTINGS) && !may_name_helper(value)
}

/// Whether the name of a repository may name a program that is to reach it. Quotes and escapes of the file may hide that.
fn may_name_helper(value: &[u8]) -> bool {
    value.windows(2).any(|pair| pair == b"::") || value.iter().any(|byte| b"\"\\".contains(byte))
}

/// Whether a configuration holds nothing that could point to a file. One that is written in an unusual way
/// is taken to hold something.
pub fn points_nowhere(content: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(content) else { return false };
    let mut section = String::new();
    text.lines().map(str::trim).all(|line| {
        if line.is_empty() || line.starts_with(['#', ';']) {
            return true;
        }
        if let Some(header) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            let name = header.split_whitespace().next().unwrap_or_default();
            section = name.to_ascii_lowercase();
            // The old way to write a subsection, and whatever stands behind a header.
            return !name.contains(['.', ']']) && !header.contains(']');
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let key = format!("{section}.{}", key.trim().to_ascii_lowercase());
        is_plain(&key, value.as_bytes())
    })
}

fn is_commented_out(content: &[u8]) -> bool {
    let mut lines = content.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.all(|line| line.is_empty() || line.starts_with(b"#"))
}

/// Whether a configuration sets nothing but what `git init` sets, each to a plain word.
pub fn is_initial_config(content: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(content) else { return false };
    let mut section = String::new();
    text.lines().map(str::trim).all(|line| {
        if line.is_empty() || line.starts_with(['#', ';']) {
            return true;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = name.to_ascii_lowercase();
            return INITIAL_SETTINGS.iter().any(|(known, _)| *known == section);
        }
        let Some((key, value)) = line.split_once('=') else { return false };
        let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
        let is_plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_plain && INITIAL_SETTINGS.contains(&(section.as_str(), key.as_str()))
    })
}

/// Whether a configuration differs from the one before by an upstream alone that was added for a branch, as git
/// writes it: the branch of the same name, of a remote that was there already.
pub fn only_adds_upstream(before: &[u8], after: &[u8]) -> bool {
    let (Ok(before), Ok(after)) = (std::str::from_utf8(before), std::str::from_utf8(after)) else {
        return false;
    };
    let Some(added) = after.strip_prefix(before).filter(|_| before.ends_with('\n')) else {
        return false;
    };
    let mut lines = added.lines();
    let mut value = |start: &str, end: &str| {
        lines
            .next()
            .and_then(|line| line.strip_prefix(start))
            .and_then(|line| line.strip_suffix(end))
    };
    let parts =
        (value("[branch \"", "\"]"), value("\tremote = ", ""), value("\tmerge = refs/heads/", ""));
    let (Some(branch), Some(remote), Some(merged)) = parts else { return false };
    let is_plain = |word: &str| {
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
        !word.is_empty() && !word.starts_with('-') && word.bytes().all(is_sign)
    };
    let header = format!("[remote \"{remote}\"]");
    lines.next().is_none()
        && branch == merged
        && is_plain(branch)
        && is_plain(remote)
        && before.lines().any(|line| line.trim() == header)
}

/// The repository that a path in git's folder belongs to: the folder's own path.
pub fn repository(path: &WsPath) -> Option<WsPath> {
    let is_folder = |path: &WsPath| path.name().is_some_and(|name| name.as_bytes() == FOLDER);
    path.lineage().into_iter().find(is_folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_git_s_means_something() {
        let of = |path: &str| part(&WsPath::parse(path).unwrap());
        assert_eq!(of("/src/git/config"), None);
        for (path, meant) in [
            ("/.git", GitFileKind::Folder),
            ("/sub/.git", GitFileKind::Folder),
            ("/.git/hooks/pre-commit", GitFileKind::Executed),
            ("/.git/modules/sub/hooks/post-checkout", GitFileKind::Executed),
            ("/.git/worktrees/w/config.worktree", GitFileKind::Executed),
            ("/.git/rebase-merge/git-rebase-todo", GitFileKind::Executed),
            ("/.git/rebase-apply/patch", GitFileKind::Executed),
            ("/.git/sequencer/todo", GitFileKind::Executed),
            ("/.git/objects/info/alternates", GitFileKind::Executed),
            ("/.git/objects/info", GitFileKind::Executed),
            ("/.git/objects/info/packs", GitFileKind::Object),
            ("/.git/objects/pack/pack-1.pack", GitFileKind::Object),
            ("/.git/refs/heads/main", GitFileKind::Ref),
            ("/.git/refs/heads/main.lock", GitFileKind::InProgress),
            ("/.git/objects/ab/config", GitFileKind::Object),
            ("/.git/packed-refs", GitFileKind::PackedRefs),
            ("/.git/index", GitFileKind::Bookkeeping),
            ("/.git/ORIG_HEAD", GitFileKind::Bookkeeping),
            ("/.git/MERGE_HEAD", GitFileKind::InProgress),
            ("/.git/whatever", GitFileKind::Unknown),
        ] {
            assert_eq!(of(path), Some(meant), "{path}");
        }
    }

    #[test]
    fn what_decides_in_git_s_folder_is_told_by_part_and_kind() {
        use EffectKind::{Create, Modify, MoveFrom, Remove};
        let decides = |kind, path: &str| {
            let part = part(&WsPath::parse(path).unwrap()).unwrap();
            part.decides(kind, false)
        };
        for path in [
            "/.git/hooks/pre-commit",
            "/sub/.git/config",
            "/.git/info/attributes",
            "/.git/commondir",
            "/.git/modules/sub/hooks/post-checkout",
            "/.git/worktrees/w/config.worktree",
            "/docs/.git",
            "/.git/whatever",
            "/.git/rebase-merge/git-rebase-todo",
            "/.git/objects/info/alternates",
        ] {
            assert!(decides(Create, path), "{path}");
        }
        for path in ["/.git/index", "/.git/COMMIT_EDITMSG", "/.git/ORIG_HEAD", "/.git/index.lock"] {
            assert!(!decides(Create, path), "{path}");
        }
        assert!(decides(Remove, "/.git/refs/heads/main"));
        assert!(decides(MoveFrom, "/.git/refs/heads/main"));
        assert!(!decides(Modify, "/.git/refs/heads/main"));
        assert!(decides(Remove, "/.git"));
        assert!(!decides(Create, "/.git/objects/ab/cd"));
        assert!(decides(Modify, "/.git/objects/ab/cd"));
        assert!(!GitFileKind::Executed.decides(Create, true), "an empty folder");
        assert!(!GitFileKind::Folder.decides(Create, true));
    }

    #[test]
    fn b8_what_git_init_leaves_is_known_by_what_it_says() {
        let names = |text: &str| WsPath::parse(text).unwrap().names().collect::<Vec<_>>();
        let config = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
                      \tlogallrefupdates = true\n";
        for (path, content, initial) in [
            ("hooks/pre-commit.sample", "#!/bin/sh\nexit 1\n", true),
            ("hooks/pre-commit", "", false),
            ("info/exclude", "# git ls-files --others\n# *~\n", true),
            ("info/exclude", "secrets\n", false),
            ("info/attributes", "", false),
            ("config", config, true),
            ("config", "[core]\n\tfsmonitor = ./x\n", false),
            ("config", "[core]\n\tbare = ./x\n", false),
            ("config", "[core] hooksPath = x\n", false),
            ("config", "[include]\n\tpath = ../x\n", false),
            ("config", "bare = false\n", false),
        ] {
            assert_eq!(is_initial(&names(path), content.as_bytes()), initial, "{path} {content}");
        }
    }

    #[test]
    fn an_upstream_that_is_added_is_told_from_any_other_change() {
        let before = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = ../r.git\n";
        let upstream = "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";
        let holds = |added: &str| {
            only_adds_upstream(before.as_bytes(), format!("{before}{added}").as_bytes())
        };
        assert!(holds(upstream));
        for other in [
            "",
            "[branch \"main\"]\n\tremote = elsewhere\n\tmerge = refs/heads/main\n",
            "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/other\n",
            "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n\trebase = true\n",
            "[core]\n\tremote = origin\n\tmerge = refs/heads/main\n",
        ] {
            assert!(!holds(other), "{other}");
        }
        let open = before.trim_end();
        assert!(!only_adds_upstream(open.as_bytes(), format!("{open}{upstream}").as_bytes()));
        assert!(!only_adds_upstream(b"x\n", format!("y\n{upstream}").as_bytes()));
    }

    #[test]
    fn g6_a_configuration_that_points_somewhere_is_told_from_one_that_does_not() {
        let plain = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://a.example/x\n\
                     \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n";
        assert!(points_nowhere(plain.as_bytes()));
        for text in [
            "[core]\n\thooksPath = .hooks\n",
            "[include]\n\tpath = ../x\n",
            "[includeIf \"onbranch:a\"]\n\tpath = x\n",
            "[core] hooksPath = .hooks\n",
            "[core]\n\tfsmonitor = ./x\n",
            "[alias]\n\tx = !./x\n",
            "[filter \"a\"]\n\tclean = ./x\n",
            "[remote \"a\"]\n\tuploadpack = ./x\n",
            "[core]\n\teditor\n",
            "[remote \"a\"]\n\turl = ext::./x\n",
            "[remote \"a\"]\n\turl = \"ext:\":./x\n",
            "[remote \"a\"]\n\turl = ext:\\\n:./x\n",
            "[branch \"a\"]\n\tremote = ext::./x\n",
            "[submodule \"a\"]\n\turl = ext::./x\n",
        ] {
            assert!(!points_nowhere(text.as_bytes()), "{text}");
        }
    }

    /// The settings of which git's documentation says that they are commands, or decide which command runs.
    const COMMANDS: [&str; 58] = [
        "alias.x",
        "browser.x.cmd",
        "browser.x.path",
        "core.alternaterefscommand",
        "core.askpass",
        "core.editor",
        "core.fsmonitor",
        "core.gitproxy",
        "core.hookspath",
        "core.pager",
        "core.sshcommand",
        "core.worktree",
        "core.attributesfile",
        "credential.helper",
        "credential.https://a.example.helper",
        "diff.external",
        "diff.x.command",
        "diff.x.textconv",
        "diff.x.trustexitcode",
        "difftool.x.cmd",
        "difftool.x.path",
        "extensions.worktreeconfig",
        "filter.x.clean",
        "filter.x.process",
        "filter.x.smudge",
        "format.headers",
        "gc.recentobjectshook",
        "gpg.program",
        "gpg.ssh.defaultkeycommand",
        "gpg.ssh.program",
        "gpg.x509.program",
        "gui.x.cmd",
        "guitool.x.cmd",
        "hook.x.command",
        "imap.tunnel",
        "include.path",
        "includeif.onbranch:a.path",
        "init.templatedir",
        "instaweb.httpd",
        "interactive.difffilter",
        "maintenance.x.task",
        "man.x.cmd",
        "man.x.path",
        "merge.x.driver",
        "mergetool.x.cmd",
        "mergetool.x.path",
        "pager.log",
        "protocol.ext.allow",
        "receive.procreceiverefs",
        "remote.x.receivepack",
        "remote.x.uploadpack",
        "remote.x.vcs",
        "sendemail.sendmailcmd",
        "sendemail.tocmd",
        "sequence.editor",
        "submodule.x.update",
        "trailer.x.command",
        "uploadpack.packobjectshook",
    ];

    #[test]
    fn g6_no_setting_that_runs_a_program_is_plain() {
        for key in COMMANDS {
            assert!(!is_plain(key, b"x"), "{key}");
            let (section, name) = key.split_once('.').unwrap();
            let text = match name.rsplit_once('.') {
                Some((middle, name)) => format!("[{section} \"{middle}\"]\n\t{name} = x\n"),
                None => format!("[{section}]\n\t{name} = x\n"),
            };
            assert!(!points_nowhere(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn g6_places_are_named_by_hooks_includes_and_programs() {
        let of = |key: &str, value: &'static str| {
            let places = places_in(key, value.as_bytes());
            let text = |place: &[u8]| String::from_utf8(place.to_vec()).unwrap();
            places.into_iter().map(|(place, base)| (text(place), base)).collect::<Vec<_>>()
        };
        assert_eq!(
            of("core.hookspath", "my hooks"),
            [("my hooks".to_owned(), ConfigPathBase::Worktree)]
        );
        assert_eq!(of("include.path", "../x"), [("../x".to_owned(), ConfigPathBase::File)]);
        assert_eq!(
            of("includeif.onbranch:a.b.path", "y"),
            [("y".to_owned(), ConfigPathBase::File)]
        );
        assert_eq!(
            of("alias.x", "!'./run.sh' --all"),
            [("./run.sh".to_owned(), ConfigPathBase::Worktree)]
        );
        assert_eq!(
            of("core.pager", "less"),
            [("less".to_owned(), ConfigPathBase::WorktreeIfExists)]
        );
        let names = |key: &str, value: &'static str, path: &str| {
            of(key, value).contains(&(path.to_owned(), ConfigPathBase::Worktree))
        };
        assert!(names("submodule.x.update", "!./run.sh", "./run.sh"));
        assert!(names("core.sshcommand", "ssh -o ProxyCommand=./run.sh", "./run.sh"));
        assert!(names("alias.x", "!true;./run.sh", "./run.sh"));
        assert!(names("diff.x.textconv", "tool --config=./tool.toml", "./tool.toml"));
        assert!(names("remote.origin.url", "ext::./run.sh %s", "./run.sh"));
        assert!(names("url.ext::./run.sh .insteadof", "https://a.example/", "./run.sh"));
        assert_eq!(of("remote.origin.url", "../other"), []);
        assert_eq!(of("core.bare", "false"), []);
    }

    #[test]
    fn a_repository_is_the_folder_itself() {
        let of =
            |path: &str| repository(&WsPath::parse(path).unwrap()).map(|folder| folder.to_string());
        assert_eq!(of("/a/.git/refs/heads/x").as_deref(), Some("/a/.git"));
        assert_eq!(of("/.git").as_deref(), Some("/.git"));
        assert_eq!(of("/a/b"), None);
    }
}
