//! Projects with a package.json: which program manages their packages, and what their script `test` starts.

use serde_json::Value;

use super::Folder;

/// Who installs a project's packages and runs its scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manager {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

/// Each with its name and the files by which it is known.
const MANAGERS: [(Manager, &str, &[&str]); 4] = [
    (Manager::Pnpm, "pnpm", &["pnpm-lock.yaml", "pnpm-workspace.yaml"]),
    (Manager::Yarn, "yarn", &["yarn.lock"]),
    (Manager::Bun, "bun", &["bun.lock", "bun.lockb"]),
    (Manager::Npm, "npm", &["package-lock.json", "npm-shrinkwrap.json"]),
];

/// What `npm init` writes where there are no tests.
const NO_TESTS: &str = "no test specified";

impl Manager {
    /// The manager of a folder: the nearest `packageManager` or lock file upwards names it.
    pub(crate) fn of(folder: &Folder<'_>) -> Self {
        let named = folder.upwards().find_map(|folder| {
            let field = manifest(&folder)["packageManager"].as_str().map(str::to_owned);
            let by_field = field.and_then(|field| {
                let name = field.split('@').next().unwrap_or_default().to_owned();
                MANAGERS.into_iter().find(|(_, known, _)| *known == name)
            });
            let by_file = || MANAGERS.into_iter().find(|(_, _, files)| folder.has_any(files));
            by_field.or_else(by_file).map(|(manager, ..)| manager)
        });
        named.unwrap_or(Self::Npm)
    }

    /// Its program.
    pub(crate) fn program(self) -> &'static str {
        let row = MANAGERS.iter().find(|(manager, ..)| *manager == self);
        row.map_or("npm", |(_, name, _)| name)
    }

    /// The words that add packages to the project.
    pub(crate) fn add(self) -> &'static [&'static str] {
        match self {
            Self::Npm => &["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--"],
            Self::Pnpm => &["pnpm", "add", "--reporter=append-only"],
            Self::Yarn => &["yarn", "add"],
            Self::Bun => &["bun", "add"],
        }
    }

    /// The words that run the script `test`; what follows them is passed on to it.
    fn run(self) -> &'static [&'static str] {
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
    /// The words that run them, with those tests only whose name contains `filter`.
    pub(crate) fn words(&self, filter: Option<&str>) -> Vec<String> {
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
        let words = self.manager.run().iter().chain(report).map(|word| (*word).to_owned());
        words.chain(filter.into_iter().flatten()).collect()
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

/// The program that a script starts first, where that is a plain name.
fn program_of(script: &str) -> Option<String> {
    let is_setting = |word: &&str| word.contains('=') && !word.starts_with('-');
    let word = script.split_whitespace().find(|word| !is_setting(word))?;
    let is_plain = word.chars().all(|one| one.is_ascii_alphanumeric() || "-_.".contains(one));
    let is_shell =
        ["echo", "exit", "cd", "test", "true", "false", "export", "set", "if", "for", "."];
    (is_plain && !is_shell.contains(&word)).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::Runner;
    use super::super::fixture::found;
    use super::*;

    const JEST: &str = r#"{"scripts": {"test": "jest"}, "devDependencies": {"jest": "^30.1"}}"#;

    fn tests(files: &[(&str, &str)], at: &str) -> Tests {
        match found(files, at) {
            Some((_, Runner::Script(tests))) => tests,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_manager_is_named_by_field_or_lock_file_here_or_above() {
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
    fn only_a_script_that_tests_counts() {
        let empty = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
        assert_eq!(found(&[("package.json", empty)], "/"), None);
        assert_eq!(found(&[("package.json", "{}")], "/"), None);
        assert_eq!(found(&[("package.json", "not JSON")], "/"), None);
        let bun = tests(&[("package.json", "{}"), ("bun.lock", "")], "/");
        assert_eq!(bun.words(Some("a")), ["bun", "test", "--test-name-pattern=a"]);
    }

    #[test]
    fn each_runner_is_asked_for_what_can_be_read() {
        let words = |script: &str, lock: &str| {
            let manifest = serde_json::json!({"scripts": {"test": script}}).to_string();
            tests(&[("package.json", &manifest), (lock, "")], "/").words(Some("n")).join(" ")
        };
        let lock = "package-lock.json";
        let json = "npm run --silent test -- --json --testLocationInResults -t n";
        assert_eq!(words("jest", lock), json);
        let report = "pnpm --silent run test --reporter=json -t n";
        assert_eq!(words("vitest run", "pnpm-lock.yaml"), report);
        let pattern = "yarn run --silent test --test-name-pattern=n";
        assert_eq!(words("node --test", "yarn.lock"), pattern);
        assert_eq!(words("./check", "bun.lock"), "bun run --silent test n");
    }

    #[test]
    fn what_a_script_starts_is_what_has_to_be_installed() {
        let told = tests(&[("package.json", JEST)], "/");
        assert_eq!(told.program().as_deref(), Some("jest"));
        assert_eq!(told.package.as_deref(), Some("jest@^30.1"));
        let told = tests(&[("package.json", JEST), (".pnp.cjs", ""), ("yarn.lock", "")], "/");
        assert_eq!(told.program(), None);
        assert_eq!(program_of("NODE_ENV=test mocha -r x"), Some("mocha".to_owned()));
        assert_eq!(program_of("./run.sh"), None);
        assert_eq!(program_of("echo x && exit 1"), None);
        assert_eq!(program_of(""), None);
    }
}
