//! What happens to each project: an agent installs, builds, tests, breaks a test, and commits; the person undoes.
//! The same commands run outside of any box, on a copy, and their tests must come to the same.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use crate::counts::Counts;
use crate::packages::{exempt_refused_hosts, shell};
use crate::person::{EMAIL, NAME, Person, User};
use crate::workspace::{Door, Workspace};

/// A project, as a person has it.
pub(crate) struct Project {
    pub(crate) name: &'static str,
    pub(crate) files: Vec<(&'static str, String)>,
    /// What the person's home has for it.
    pub(crate) toolchain: fn(&Person),
    /// What the person did before an agent came: a script. `$PYTHON` is the Python in the home.
    pub(crate) prepare: &'static str,
    pub(crate) install: Option<Install>,
    pub(crate) build: &'static str,
    /// A file that the build makes.
    pub(crate) built: &'static str,
    pub(crate) test: &'static str,
    pub(crate) read: fn(&str) -> Counts,
    /// What the tests come to.
    pub(crate) counts: Counts,
    /// The file, what is in it, and what breaks a test.
    pub(crate) breaks: (&'static str, &'static str, &'static str),
    pub(crate) broken: Counts,
}

/// How packages come.
pub(crate) struct Install {
    /// A command that fetches something small from where the packages come from.
    pub(crate) probe: &'static str,
    /// In a shell.
    pub(crate) command: &'static str,
    /// By `install_package`: its manager, and the packages.
    pub(crate) packages: (&'static str, &'static [&'static str]),
    /// The folder of the project that they are for.
    pub(crate) folder: &'static str,
    /// The same for one more package, which a person allowed with the first ones.
    pub(crate) more: (&'static str, &'static str),
}

/// Which tools the agent has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Toolset {
    Assistant,
    Codex,
}

impl Toolset {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Assistant => "assistant",
            Self::Codex => "codex",
        }
    }
}

/// Who works, with which tools, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) toolset: Toolset,
    pub(crate) user: User,
    pub(crate) door: Door,
}

/// All settings.
pub(crate) fn matrix() -> Vec<Setting> {
    let places = [
        (User::Current, Door::Stdio),
        (User::Ordinary, Door::Stdio),
        (User::Current, Door::Server),
    ];
    let toolsets = [Toolset::Assistant, Toolset::Codex];
    let setting = |toolset| places.map(move |(user, door)| Setting { toolset, user, door });
    toolsets.into_iter().flat_map(setting).collect()
}

/// Plays a project in one setting; with the whole matrix in the soak, or with the one of it whose number, from 1 on,
/// is in `YARD_SETTING`.
pub(crate) fn play(project: &Project, setting: Setting) {
    if std::env::var_os("YARD_SOAK").is_none() {
        return play_in(project, setting);
    }
    let wanted: Option<usize> =
        std::env::var("YARD_SETTING").ok().map(|number| number.parse().unwrap());
    for (number, setting) in (1..).zip(matrix()) {
        if wanted.is_none_or(|wanted| wanted == number) {
            play_in(project, setting);
        }
    }
}

/// Something that an agent does in its workspace.
struct Stage<'a> {
    project: &'a Project,
    toolset: Toolset,
    root: PathBuf,
    person: &'a Person,
    workspace: Workspace<'a>,
}

fn play_in(project: &Project, setting: Setting) {
    println!("{}: {setting:?}", project.name);
    let began = Instant::now();
    let done = |what: &str| println!("{:6.1} s  {what}", began.elapsed().as_secs_f64());
    let person = Person::new(setting.user);
    (project.toolchain)(&person);
    let (root, outside) =
        (furnish(project, &person, "projects"), furnish(project, &person, "copies"));
    done("furnished");
    let [good, broken] = outcomes_outside(project, &person, &outside);
    assert_eq!(good, project.counts, "{} outside of any box", project.name);
    assert_eq!(broken, project.broken, "{} outside of any box", project.name);
    done("tried outside");
    if let Some(install) = &project.install {
        exempt_refused_hosts(&person, &root, install.probe);
    }
    done("package hosts known");
    let workspace = Workspace::open(&person, &root, setting.door, setting.toolset.name());
    let mut stage = Stage { project, toolset: setting.toolset, root, person: &person, workspace };
    stage.install();
    done("installed");
    let build = stage.build();
    done("built");
    assert_eq!(stage.test(), good, "{}", project.name);
    done("tested");
    let edit = stage.edit();
    done("edited");
    assert_eq!(stage.test(), broken, "{}: after the edit", project.name);
    done("tested");
    stage.workspace.undo(&edit);
    done("undone");
    assert_eq!(stage.test(), good, "{}: after the undo", project.name);
    done("tested");
    stage.commit();
    done("committed");
    stage.undo_build(&build);
    done("build undone");
    assert_eq!(stage.test(), good, "{}: after the undo of the build", project.name);
    done("tested");
}

/// The project in a folder of the person's home, as they would leave it to an agent.
pub(crate) fn furnish(project: &Project, person: &Person, folder: &str) -> PathBuf {
    let root = person.home().join(folder).join(project.name);
    person.make_folder(root.parent().unwrap());
    person.make_folder(&root);
    for (name, text) in &project.files {
        person.put(&root, name, text);
    }
    person.run(&root, project.prepare);
    person.run(&root, "git init -q && git add -A && git commit -q -m 'The project'");
    root
}

/// What the tests come to outside of any box, before and after the edit.
fn outcomes_outside(project: &Project, person: &Person, folder: &Path) -> [Counts; 2] {
    if let Some(install) = &project.install {
        person.run(folder, install.command);
    }
    person.run(folder, project.build);
    let (output, is_well) = person.try_run(folder, project.test);
    assert!(is_well, "{}: {output}", project.test);
    let good = (project.read)(&output);
    let (file, old, new) = project.breaks;
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    person.put(folder, file, &text.replacen(old, new, 1));
    let (output, is_well) = person.try_run(folder, project.test);
    assert!(!is_well, "{} does not notice the edit: {output}", project.test);
    [good, (project.read)(&output)]
}

impl Stage<'_> {
    /// A command that goes well, and that nobody has to be asked about.
    fn run(&mut self, command: &str) -> Value {
        let (tool, args) = self.command(command);
        let answer = self.workspace.call(tool, &args);
        let code = if self.toolset == Toolset::Codex { "returncode" } else { "exitCode" };
        assert_eq!(answer[code], 0, "{command}: {answer}");
        answer
    }

    fn command(&self, command: &str) -> (&'static str, Value) {
        match self.toolset {
            Toolset::Codex => ("shell", shell(command)),
            Toolset::Assistant => {
                ("run_code", json!({"language": "bash", "code": command, "timeout": 600}))
            }
        }
    }

    /// Installs packages, which a person is asked about once and allows for the workspace, and one more, which
    /// nobody is asked about.
    fn install(&mut self) {
        let Some(install) = &self.project.install else { return };
        match self.toolset {
            Toolset::Assistant => {
                let (manager, packages) = install.packages;
                let args =
                    json!({"manager": manager, "packages": packages, "path": install.folder});
                let (_, asked) = self.workspace.call_approved("install_package", &args);
                assert_eq!(asked.len(), 1, "{asked:?}");
                let args = json!({"manager": manager, "packages": [install.more.1], "path": install.folder});
                self.workspace.call("install_package", &args);
            }
            Toolset::Codex => {
                let (answer, asked) =
                    self.workspace.call_approved("shell", &shell(install.command));
                assert_eq!(answer["returncode"], 0, "{answer}");
                assert!(asked.len() <= 1, "{asked:?}");
                self.run(install.more.0);
            }
        }
    }

    /// Builds; the step that it was.
    fn build(&mut self) -> String {
        let before = self.workspace.newest_step();
        self.run(self.project.build);
        assert!(self.root.join(self.project.built).exists(), "{} is not built", self.project.built);
        let step = self.workspace.newest_step();
        assert_ne!(step, before, "the build of {} is no step", self.project.name);
        step.unwrap()
    }

    fn test(&mut self) -> Counts {
        match self.toolset {
            Toolset::Assistant => {
                Counts::from_answer(&self.workspace.call("run_tests", &json!({"timeout": 600})))
            }
            Toolset::Codex => {
                let answer = self.workspace.call("shell", &shell(self.project.test));
                let output = ["stdout", "stderr"].map(|name| answer[name].as_str().unwrap());
                let counts = (self.project.read)(&output.concat());
                let is_well = answer["returncode"] == 0;
                assert_eq!(is_well, counts.failed == 0 && counts.passed > 0, "{answer}");
                counts
            }
        }
    }

    /// An edit that breaks a test; its step.
    fn edit(&mut self) -> String {
        let (file, old, new) = self.project.breaks;
        let text = std::fs::read_to_string(self.root.join(file)).unwrap();
        assert!(text.contains(old), "{file}: {text}");
        let (tool, args) = match self.toolset {
            Toolset::Assistant => {
                let content = text.replacen(old, new, 1);
                ("write_file", json!({"path": file, "content": content}))
            }
            Toolset::Codex => {
                let patch = format!(
                    "*** Begin Patch\n*** Update File: {file}\n@@\n-{old}\n+{new}\n*** End Patch"
                );
                ("apply_patch_freeform", json!({"patch": patch}))
            }
        };
        self.workspace.call_approved(tool, &args);
        self.workspace.newest_step().unwrap()
    }

    /// Commits a new file, under the person's name.
    fn commit(&mut self) {
        self.run("echo 'A note.' > NOTES.md && git add -A && git commit -q -m 'A note'");
        let log = self.person.run(&self.root, "git log -1 --format='%s by %an <%ae>, %cn <%ce>'");
        assert_eq!(log.trim(), format!("A note by {NAME} <{EMAIL}>, {NAME} <{EMAIL}>"));
        assert_eq!(self.person.run(&self.root, "git status --porcelain"), "");
    }

    /// The person takes the build back: what it made is gone, and the sources are as they were.
    fn undo_build(&self, build: &str) {
        self.workspace.undo(build);
        let built = self.root.join(self.project.built);
        assert!(!built.exists(), "{} is still there", built.display());
        assert_eq!(self.person.run(&self.root, "git status --porcelain"), "");
    }
}
