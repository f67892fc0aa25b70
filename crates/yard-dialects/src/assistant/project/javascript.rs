//! Projects with a package.json: which program manages their packages, and which program their script `test` starts.

use serde_json::Value;

use super::Folder;

/// The program that installs a project's packages and runs its scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manager {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

/// Each manager with its name and the files that show that a project uses it.
const MANAGERS: [(Manager, &str, &[&str]); 4] = [
    (Manager::Pnpm, "pnpm", &["pnpm-lock.yaml", "pnpm-workspace.yaml"]),
    (Manager::Yarn, "yarn", &["yarn.lock"]),
    (Manager::Bun, "bun", &["bun.lock", "bun.lockb"]),
    (Manager::Npm, "npm", &["package-lock.json", "npm-shrinkwrap.json"]),
];

/// In the script that `npm init` writes for a project without tests.
const NO_TESTS: &str = "no test specified";

impl Manager {
    /// The manager of a folder: the nearest `packageManager` or lock file upwards names it.
    pub(crate) fn of(folder: &Folder<'_>) -> Self {
        let nearest = folder.upwards().find_map(|folder| {
            let manifest = manifest(&folder);
            let by_field = manifest["packageManager"].as_str().and_then(|field| {
                let name = field.split('@').next().unwrap_or_default();
                MANAGERS.into_iter().find(|(_, known, _)| *known == name)
            });
            let by_file = || MANAGERS.into_iter().find(|(_, _, files)| folder.has_any(files));
            by_field.or_else(by_file).map(|(manager, ..)| manager)
        });
        nearest.unwrap_or(Self::Npm)
    }

    /// Its program.
    pub(crate) fn program(self) -> &'static str {
        let row = MANAGERS.iter().find(|(manager, ..)| *manager == self);
        row.map_or("npm", |(_, name, _)| name)
    }

    /// The command that adds packages to the project.
    pub(crate) fn add(self) -> &'static [&'static str] {
        match self {
            Self::Npm => &["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--"],
            Self::Pnpm => &["pnpm", "add", "--reporter=append-only"],
            Self::Yarn => &["yarn", "add"],
            Self::Bun => &["bun", "add"],
        }
    }

    /// The command that runs the script `test`; arguments after it are passed on to the script.
    fn run_tests(self) -> &'static [&'static str] {
        match self {
            Self::Npm => &["npm", "run", "--silent", "test", "--"],
            Self::Pnpm => &["pnpm", "--silent", "run", "test"],
            Self::Yarn => &["yarn", "run", "--silent", "test"],
            Self::Bun => &["bun", "run", "--silent", "test"],
        }
    }
}

/// How the tests are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tests {
    pub(crate) manager: Manager,
    /// The script; `None` where the runner of bun itself is meant.
    script: Option<String>,
    /// The program that the script starts, as the project would install it: `jest`, `jest@^30`.
    pub(crate) package: Option<String>,
    /// It resolves packages without a folder `node_modules`.
    has_no_modules_folder: bool,
}

/// The tests of a folder whose package.json has a script for them.
pub(super) fn tests_in(folder: &Folder<'_>) -> Option<Tests> {
    if !folder.has("package.json") {
        return None;
    }
    let manager = Manager::of(folder);
    let manifest = manifest(folder);
    let script = manifest["scripts"]["test"].as_str();
    let script = script.filter(|script| !script.contains(NO_TESTS)).map(str::to_owned);
    if script.is_none() && manager != Manager::Bun {
        return None;
    }
    let package = script.as_deref().and_then(program_of).map(|program| {
        let lists = ["devDependencies", "dependencies"].into_iter();
        let version = lists.filter_map(|list| manifest[list][&program].as_str()).next();
        version.map_or(program.clone(), |version| format!("{program}@{version}"))
    });
    let has_no_modules_folder =
        folder.upwards().any(|folder| folder.has_any(&[".pnp.cjs", ".pnp.js"]));
    Some(Tests { manager, script, package, has_no_modules_folder })
}

impl Tests {
    /// The command that runs the tests whose name contains `filter`.
    pub(crate) fn command(&self, filter: Option<&str>) -> Vec<String> {
        let Some(script) = &self.script else {
            let filter = filter.map(|filter| format!("--test-name-pattern={filter}"));
            return ["bun", "test"].map(str::to_owned).into_iter().chain(filter).collect();
        };
        let named = |flag: &str| filter.map(|filter| vec![flag.to_owned(), filter.to_owned()]);
        let (report, filter): (&[&str], _) = if script.contains("vitest") {
            (&["--reporter=json"], named("-t"))
        } else if script.contains("jest") || script.contains("react-scripts") {
            (&["--json", "--testLocationInResults"], named("-t"))
        } else if script.contains("node --test") {
            (&[], filter.map(|filter| vec![format!("--test-name-pattern={filter}")]))
        } else {
            (&[], filter.map(|filter| vec![filter.to_owned()]))
        };
        let command = self.manager.run_tests().iter().chain(report).map(|word| (*word).to_owned());
        command.chain(filter.into_iter().flatten()).collect()
    }

    /// The program that must be installed in `node_modules`, or on the machine.
    pub(crate) fn program(&self) -> Option<String> {
        let script = self.script.as_deref().filter(|_| !self.has_no_modules_folder)?;
        program_of(script)
    }
}

fn manifest(folder: &Folder<'_>) -> Value {
    serde_json::from_str(&folder.text("package.json")).unwrap_or_default()
}

/// The program that a script starts first, if it is a plain name and no builtin of the shell.
fn program_of(script: &str) -> Option<String> {
    let is_setting = |word: &&str| word.contains('=') && !word.starts_with('-');
    let word = script.split_whitespace().find(|word| !is_setting(word))?;
    let is_plain = word.chars().all(|one| one.is_ascii_alphanumeric() || "-_.".contains(one));
    let builtins =
        ["echo", "exit", "cd", "test", "true", "false", "export", "set", "if", "for", "."];
    (is_plain && !builtins.contains(&word)).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::Runner;
    use super::super::fixture::runner_at;
    use super::*;

    const JEST: &str = r#"{"scripts": {"test": "jest"}, "devDependencies": {"jest": "^30.1"}}"#;

    fn tests(files: &[(&str, &str)], at: &str) -> Tests {
        match runner_at(files, at) {
            Some((_, Runner::Script(tests))) => tests,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_field_or_lock_file_here_or_above_names_the_manager() {
        let jest = ("package.json", JEST);
        assert_eq!(tests(&[jest], "/").manager, Manager::Npm);
        for (file, manager) in [
            ("package-lock.json", Manager::Npm),
            ("pnpm-lock.yaml", Manager::Pnpm),
            ("yarn.lock", Manager::Yarn),
            ("bun.lock", Manager::Bun),
            ("bun.lockb", Manager::Bun),
        ] {
            assert_eq!(tests(&[jest, (file, "")], "/").manager, manager, "{file}");
            assert_eq!(tests(&[("a/b/package.json", JEST), (file, "")], "/a/b").manager, manager);
        }
        let named = r#"{"packageManager": "yarn@4.1.0", "scripts": {"test": "x"}}"#;
        let files = [("package.json", named), ("package-lock.json", "")];
        assert_eq!(tests(&files, "/").manager, Manager::Yarn);
    }

    #[test]
    fn a_project_without_a_test_script_has_no_runner() {
        let empty = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
        assert_eq!(runner_at(&[("package.json", empty)], "/"), None);
        assert_eq!(runner_at(&[("package.json", "{}")], "/"), None);
        assert_eq!(runner_at(&[("package.json", "not JSON")], "/"), None);
        let bun = tests(&[("package.json", "{}"), ("bun.lock", "")], "/");
        assert_eq!(bun.command(Some("a")), ["bun", "test", "--test-name-pattern=a"]);
    }

    #[test]
    fn each_runner_gets_the_flags_for_a_format_that_can_be_parsed() {
        let command = |script: &str, lock: &str| {
            let manifest = serde_json::json!({"scripts": {"test": script}}).to_string();
            tests(&[("package.json", &manifest), (lock, "")], "/").command(Some("n")).join(" ")
        };
        let lock = "package-lock.json";
        let json = "npm run --silent test -- --json --testLocationInResults -t n";
        assert_eq!(command("jest", lock), json);
        let report = "pnpm --silent run test --reporter=json -t n";
        assert_eq!(command("vitest run", "pnpm-lock.yaml"), report);
        let pattern = "yarn run --silent test --test-name-pattern=n";
        assert_eq!(command("node --test", "yarn.lock"), pattern);
        assert_eq!(command("./check", "bun.lock"), "bun run --silent test n");
    }

    #[test]
    fn the_program_that_a_script_starts_has_to_be_installed() {
        let jest = tests(&[("package.json", JEST)], "/");
        assert_eq!(jest.program().as_deref(), Some("jest"));
        assert_eq!(jest.package.as_deref(), Some("jest@^30.1"));
        let pnp = tests(&[("package.json", JEST), (".pnp.cjs", ""), ("yarn.lock", "")], "/");
        assert_eq!(pnp.program(), None);
        assert_eq!(program_of("NODE_ENV=test mocha -r x"), Some("mocha".to_owned()));
        assert_eq!(program_of("./run.sh"), None);
        assert_eq!(program_of("echo x && exit 1"), None);
        assert_eq!(program_of(""), None);
    }
}
