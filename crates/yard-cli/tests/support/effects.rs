//! Effects on one file, what `guarded` says of each by DESIGN's rule alone, and the tools, commands and
//! languages that can bring each of them about. Nothing here looks at how the gate judges.

#![allow(dead_code, reason = "each test binary uses its part")]

use serde_json::{Value, json};
use yard_testkit::Dice;

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Create,
    /// A link where nothing was.
    MakeLink,
    EditOneLine,
    /// Half of the lines are left.
    KeepHalf,
    /// One line less than half is left.
    KeepLessThanHalf,
    ReplaceAll,
    PutLinkInItsPlace,
    Remove,
    Move,
    /// It gets a name by which programs run it.
    MoveToEnvrc,
    ChangeMode,
}

impl ChangeKind {
    pub(crate) const ALL: [Self; 11] = [
        Self::Create,
        Self::MakeLink,
        Self::EditOneLine,
        Self::KeepHalf,
        Self::KeepLessThanHalf,
        Self::ReplaceAll,
        Self::PutLinkInItsPlace,
        Self::Remove,
        Self::Move,
        Self::MoveToEnvrc,
        Self::ChangeMode,
    ];

    fn finds_nothing(self) -> bool {
        matches!(self, Self::Create | Self::MakeLink)
    }
}

/// Whose the file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The chat made it.
    Own,
    /// The chat made it and moved it.
    OwnMoved,
    /// A person wrote it with a tool.
    Persons,
    /// It lay on disk, and nobody recorded it.
    OnDisk,
    /// Another chat of the same agent made it.
    OtherChats,
    /// The chat made it, and a person wrote it again.
    OwnButRewritten,
    /// The chat moved it here after a yes.
    PersonsMoved,
}

impl Whose {
    pub(crate) const ALL: [Self; 7] = [
        Self::Own,
        Self::OwnMoved,
        Self::Persons,
        Self::OnDisk,
        Self::OtherChats,
        Self::OwnButRewritten,
        Self::PersonsMoved,
    ];

    fn is_own(self) -> bool {
        matches!(self, Self::Own | Self::OwnMoved)
    }
}

/// Where it lies, and with that whether it decides what programs of others do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Plain,
    Makefile,
    Envrc,
    GitHook,
    Workflow,
    EditorTask,
    CargoConfig,
}

impl Place {
    const ALL: [Self; 7] = [
        Self::Plain,
        Self::Makefile,
        Self::Envrc,
        Self::GitHook,
        Self::Workflow,
        Self::EditorTask,
        Self::CargoConfig,
    ];

    fn decides(self) -> bool {
        !matches!(self, Self::Plain | Self::Makefile)
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Plain => "file.txt",
            Self::Makefile => "Makefile",
            Self::Envrc => ".envrc",
            Self::GitHook => ".git/hooks/pre-commit",
            Self::Workflow => ".github/workflows/ci.yml",
            Self::EditorTask => ".vscode/tasks.json",
            Self::CargoConfig => ".cargo/config.toml",
        }
    }
}

/// What it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    TwentyLines,
    TwoLines,
    NoText,
}

/// One effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    pub(crate) change_kind: ChangeKind,
    pub(crate) whose: Whose,
    pub(crate) place: Place,
    pub(crate) holds: Holds,
}

impl Effect {
    /// One with this deed, and whose file it is from `owners`.
    pub(crate) fn draw(dice: &mut Dice, change_kind: ChangeKind, owners: &[Whose]) -> Self {
        let place = if dice.one_in(3) { *dice.pick(&Place::ALL) } else { Place::Plain };
        let holds = match dice.roll(6) {
            0 | 1 => Holds::TwoLines,
            2 => Holds::NoText,
            _ => Holds::TwentyLines,
        };
        Self { change_kind, whose: *dice.pick(owners), place, holds }.made_possible()
    }

    /// The nearest effect that there can be.
    fn made_possible(mut self) -> Self {
        match (self.change_kind, self.holds) {
            // A text of two lines is changed in one line, or in both.
            (ChangeKind::KeepHalf | ChangeKind::KeepLessThanHalf, Holds::TwoLines) => {
                self.change_kind = ChangeKind::EditOneLine;
            }
            // Nothing of what is no text counts as left.
            (
                ChangeKind::EditOneLine | ChangeKind::KeepHalf | ChangeKind::KeepLessThanHalf,
                Holds::NoText,
            ) => {
                self.change_kind = ChangeKind::ReplaceAll;
            }
            (ChangeKind::MoveToEnvrc, _) => self.place = Place::Plain,
            _ => {}
        }
        self
    }

    /// Whether `guarded` asks a person. `edits` says that the tool names what it changes in the file.
    pub(crate) fn asks(self, edits: bool) -> bool {
        if self.place.decides() || self.change_kind == ChangeKind::MoveToEnvrc {
            return true;
        }
        match self.change_kind {
            ChangeKind::Create | ChangeKind::MakeLink => false,
            _ if self.whose.is_own() => false,
            ChangeKind::EditOneLine | ChangeKind::KeepHalf => false,
            ChangeKind::KeepLessThanHalf | ChangeKind::ReplaceAll => {
                !(edits && self.holds == Holds::TwoLines)
            }
            _ => true,
        }
    }

    /// Whether something has to be there before, and what.
    pub(crate) fn before(self) -> Option<Vec<u8>> {
        if self.change_kind.finds_nothing() {
            return None;
        }
        Some(match self.holds {
            Holds::TwentyLines => lines(20).into_bytes(),
            Holds::TwoLines => lines(2).into_bytes(),
            Holds::NoText => vec![0, 1, 2, 255, 0, 7],
        })
    }

    /// The text that is replaced, and by what, where the file keeps its place and is a text.
    fn replaced(self) -> Option<(String, String)> {
        let count = match self.holds {
            Holds::TwentyLines => 20,
            Holds::TwoLines => 2,
            Holds::NoText => return None,
        };
        let from = |kept: usize| lines(count)[lines(kept).len()..].to_owned();
        let old = match self.change_kind {
            ChangeKind::EditOneLine => lines(2)[lines(1).len()..].to_owned(),
            ChangeKind::KeepHalf => from(10),
            ChangeKind::KeepLessThanHalf => from(9),
            ChangeKind::ReplaceAll => from(0),
            _ => return None,
        };
        Some((old, "something else\n".to_owned()))
    }

    /// All that the file holds afterwards, where that is a text that was put there.
    pub(crate) fn after(self) -> Option<String> {
        match self.change_kind {
            ChangeKind::Create => Some("something new\n".to_owned()),
            ChangeKind::ReplaceAll => Some("something else\n".to_owned()),
            _ => {
                let (old, new) = self.replaced()?;
                let before = String::from_utf8(self.before()?).ok()?;
                Some(before.replacen(&old, &new, 1))
            }
        }
    }

    /// Where the file is afterwards, if it moves.
    pub(crate) fn destination(self, path: &str) -> Option<String> {
        let (folder, _) = path.split_once('/').unwrap_or(("", path));
        match self.change_kind {
            ChangeKind::Move => Some(format!("{path}.moved")),
            ChangeKind::MoveToEnvrc => Some(format!("{folder}/.envrc")),
            _ => None,
        }
    }

    fn removes(self) -> bool {
        self.change_kind == ChangeKind::Remove
    }
}

/// The first lines of a text.
fn lines(count: usize) -> String {
    (1..=count).map(|line| format!("line {line} of what was there\n")).collect()
}

/// A call of a tool.
pub(crate) struct ToolCall {
    pub(crate) toolset: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) args: Value,
    /// It names what it changes in the file.
    pub(crate) edits: bool,
}

fn call(toolset: &'static str, tool: &'static str, args: Value) -> Option<ToolCall> {
    Some(ToolCall { toolset, tool, args, edits: false })
}

fn edit(toolset: &'static str, tool: &'static str, args: Value) -> Option<ToolCall> {
    Some(ToolCall { toolset, tool, args, edits: true })
}

/// A way to bring an effect about: `None` where this way cannot.
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) of: fn(Effect, &str) -> Option<ToolCall>,
    /// Its dialect asks for more than the policy does.
    pub(crate) is_stricter: bool,
    /// It writes into the file, so that a link to the file leads to it: it puts no other in its place.
    pub(crate) follows_links: bool,
}

const fn way(name: &'static str, of: fn(Effect, &str) -> Option<ToolCall>) -> Way {
    Way { name, of, is_stricter: false, follows_links: true }
}

const fn stricter(name: &'static str, of: fn(Effect, &str) -> Option<ToolCall>) -> Way {
    Way { is_stricter: true, ..way(name, of) }
}

const fn replacing(name: &'static str, of: fn(Effect, &str) -> Option<ToolCall>) -> Way {
    Way { follows_links: false, ..way(name, of) }
}

/// Every way through a tool of files.
pub(crate) const FILE_TOOLS: [Way; 11] = [
    way("workspace", by_workspace),
    way("workspace.edit", by_workspace_edit),
    way("file", by_file),
    way("file.patch", by_file_patch),
    way("filesystem", by_filesystem),
    way("filesystem.edit_file", by_filesystem_edit),
    stricter("assistant", by_assistant),
    stricter("coder.write", by_coder),
    stricter("coder.edit", by_coder_edit),
    stricter("coder.apply_patch", by_coder_patch),
    stricter("codex.apply_patch", by_codex_patch),
];

/// Every way through a command.
pub(crate) const COMMANDS: [Way; 7] = [
    way("shell, in place", |effect, path| by_shell(&script(effect, path))),
    replacing("shell, made anew", |effect, path| by_shell(&making_anew(effect, path)?)),
    replacing("shell, renamed over it", |effect, path| by_shell(&renaming_over(effect, path)?)),
    replacing("shell, by another name", |effect, path| by_shell(&by_another_name(effect, path)?)),
    way("run_code in bash", |effect, path| by_code("bash", &script(effect, path))),
    way("run_code in python", |effect, path| by_code("python", &python(effect, path))),
    way("perl from the shell", |effect, path| by_shell(&perl(effect, path))),
];

fn by_workspace(effect: Effect, path: &str) -> Option<ToolCall> {
    let path = format!("/{path}");
    if let Some(to) = effect.destination(&path[1..]) {
        return call("workspace", "mv", json!({"source": path, "destination": format!("/{to}")}));
    }
    if effect.removes() {
        return call("workspace", "rm", json!({"path": path}));
    }
    let args = json!({"path": path, "content": effect.after()?, "overwrite": true});
    call("workspace", "write", args)
}

fn by_workspace_edit(effect: Effect, path: &str) -> Option<ToolCall> {
    let (old, new) = effect.replaced()?;
    let args = json!({"path": format!("/{path}"), "old_string": old, "new_string": new});
    edit("workspace", "edit", args)
}

fn by_file(effect: Effect, path: &str) -> Option<ToolCall> {
    if effect.removes() {
        return call("file", "file.delete", json!({"path": path}));
    }
    call("file", "file.write", json!({"path": path, "content": effect.after()?}))
}

fn by_file_patch(effect: Effect, path: &str) -> Option<ToolCall> {
    let (old, new) = effect.replaced()?;
    let args = json!({"path": path, "patches": [{"find": old, "replace": new}]});
    edit("file", "file.patch", args)
}

fn by_filesystem(effect: Effect, path: &str) -> Option<ToolCall> {
    if let Some(to) = effect.destination(path) {
        return call("filesystem", "move_file", json!({"source": path, "destination": to}));
    }
    // This tool makes no folders.
    if effect.change_kind == ChangeKind::Create && effect.place.path().contains('/') {
        return None;
    }
    call("filesystem", "write_file", json!({"path": path, "content": effect.after()?}))
}

fn by_filesystem_edit(effect: Effect, path: &str) -> Option<ToolCall> {
    let (old, new) = effect.replaced()?;
    let args = json!({"path": path, "edits": [{"oldText": old, "newText": new}]});
    edit("filesystem", "edit_file", args)
}

fn by_assistant(effect: Effect, path: &str) -> Option<ToolCall> {
    if let Some(to) = effect.destination(path) {
        return call("assistant", "move_file", json!({"from": path, "to": to}));
    }
    if effect.removes() {
        return call("assistant", "delete_file", json!({"path": path}));
    }
    let args = json!({"path": path, "content": effect.after()?, "createDirs": true});
    call("assistant", "write_file", args)
}

fn by_coder(effect: Effect, path: &str) -> Option<ToolCall> {
    call("coder", "write", json!({"filePath": path, "content": effect.after()?}))
}

fn by_coder_edit(effect: Effect, path: &str) -> Option<ToolCall> {
    let (old, new) = effect.replaced()?;
    edit("coder", "edit", json!({"filePath": path, "oldString": old, "newString": new}))
}

fn by_coder_patch(effect: Effect, path: &str) -> Option<ToolCall> {
    edit("coder", "apply_patch", json!({"patchText": patch(effect, path)?}))
}

fn by_codex_patch(effect: Effect, path: &str) -> Option<ToolCall> {
    edit("codex", "apply_patch_freeform", json!({"patch": patch(effect, path)?}))
}

/// The envelope that brings an effect about.
fn patch(effect: Effect, path: &str) -> Option<String> {
    let signed = |sign: char, text: &str| -> String {
        text.lines().map(|line| format!("{sign}{line}\n")).collect()
    };
    let section = match (effect.change_kind, effect.replaced()) {
        (ChangeKind::Create, _) => {
            format!("*** Add File: {path}\n{}", signed('+', &effect.after()?))
        }
        (ChangeKind::Remove, _) => format!("*** Delete File: {path}\n"),
        (_, Some((old, new))) => {
            format!("*** Update File: {path}\n@@\n{}{}", signed('-', &old), signed('+', &new))
        }
        _ => return None,
    };
    Some(format!("*** Begin Patch\n{section}*** End Patch\n"))
}

fn by_shell(command: &str) -> Option<ToolCall> {
    let args = json!({"command": command, "workdir": null, "timeout_ms": 60_000});
    call("codex", "shell", args)
}

fn by_code(language: &str, code: &str) -> Option<ToolCall> {
    call("assistant", "run_code", json!({"language": language, "code": code}))
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(".", |(folder, _)| folder)
}

fn script(effect: Effect, path: &str) -> String {
    let folder = folder_of(path);
    if let Some(to) = effect.destination(path) {
        return format!("mv {path} {to}");
    }
    match (effect.change_kind, effect.after()) {
        (ChangeKind::Remove, _) => format!("rm {path}"),
        (ChangeKind::ChangeMode, _) => format!("chmod 700 {path}"),
        (ChangeKind::MakeLink | ChangeKind::PutLinkInItsPlace, _) => {
            format!("mkdir -p {folder}; ln -sf elsewhere {path}")
        }
        (_, text) => {
            let text = text.unwrap_or_default();
            format!("mkdir -p {folder}; cat > {path} <<'END'\n{text}END\n")
        }
    }
}

/// The file is removed and made again.
fn making_anew(effect: Effect, path: &str) -> Option<String> {
    let text = effect.after().filter(|_| effect.before().is_some())?;
    Some(format!("rm {path}; cat > {path} <<'END'\n{text}END\n"))
}

/// Another file takes its place, as editors save.
fn renaming_over(effect: Effect, path: &str) -> Option<String> {
    let text = effect.after().filter(|_| effect.before().is_some())?;
    Some(format!("cat > {path}.new <<'END'\n{text}END\nmv -f {path}.new {path}\n"))
}

/// The file is written into by a second name that a hard link gave it.
fn by_another_name(effect: Effect, path: &str) -> Option<String> {
    let text = effect.after().filter(|_| effect.before().is_some())?;
    Some(format!("ln {path} other; cat > other <<'END'\n{text}END\nrm other\n"))
}

fn python(effect: Effect, path: &str) -> String {
    let folder = folder_of(path);
    let change_kind = match (effect.change_kind, effect.destination(path)) {
        (_, Some(to)) => format!("os.rename({path:?}, {to:?})"),
        (ChangeKind::Remove, _) => format!("os.remove({path:?})"),
        (ChangeKind::ChangeMode, _) => format!("os.chmod({path:?}, 0o700)"),
        (ChangeKind::MakeLink, _) => format!("os.symlink('elsewhere', {path:?})"),
        (ChangeKind::PutLinkInItsPlace, _) => {
            format!("os.symlink('elsewhere', {path:?} + '~'); os.replace({path:?} + '~', {path:?})")
        }
        _ => format!("open({path:?}, 'w').write({:?})", effect.after().unwrap_or_default()),
    };
    format!("import os\nos.makedirs({folder:?}, exist_ok=True)\n{change_kind}\n")
}

fn perl(effect: Effect, path: &str) -> String {
    let folder = folder_of(path);
    let change_kind = match (effect.change_kind, effect.destination(path)) {
        (_, Some(to)) => format!("rename {path:?}, {to:?}"),
        (ChangeKind::Remove, _) => format!("unlink {path:?}"),
        (ChangeKind::ChangeMode, _) => format!("chmod 0700, {path:?}"),
        (ChangeKind::MakeLink, _) => format!("symlink \"elsewhere\", {path:?}"),
        (ChangeKind::PutLinkInItsPlace, _) => {
            format!("unlink {path:?}; symlink \"elsewhere\", {path:?}")
        }
        _ => {
            let text = effect.after().unwrap_or_default();
            format!("open my $file, \">\", {path:?}; print $file {text:?}; close $file")
        }
    };
    format!("mkdir -p {folder}; perl -e '{change_kind}'")
}
