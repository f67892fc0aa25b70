//! How to get what a project needs and is not installed, in words for whoever called: which call of
//! `install_package` installs it, or what a person does on the machine.

use super::project::python::{Environment, Framework};
use super::project::{Found, Runner};

/// Where a program may be that is installed and not found.
const HIDDEN: &str = "If it is installed in a folder that commands do not see, name that folder in `show` of \
                      `[commands]`, and its programs in PATH by `env`";

/// Why the tests of a project were not run: `program` is not there. `folder` is where the project is.
pub(super) fn of_tests(program: &str, found: &Found, folder: &str) -> String {
    match &found.runner {
        Runner::Python(tests) if program == "pytest" => pytest(&tests.environment, folder),
        Runner::Python(tests) if tests.framework == Framework::Tox => not_there(
            program,
            "the project's tests are run by tox: install it on this machine (`pipx install tox`), or make a \
             .venv in the project with what the tests need, which is used instead",
        ),
        Runner::Python(tests) => of_python(program, &tests.environment),
        Runner::Script(tests) if program == tests.manager.program() => of_manager(program),
        Runner::Script(tests) => {
            let package = tests.package.as_deref().unwrap_or(program);
            format!(
                "the script `test` starts {program}, which is not installed: {}, which installs what else \
                 package.json names, too",
                install("npm", package, folder)
            )
        }
        _ => not_there(program, &on_machine(program)),
    }
}

/// The call that installs a package.
pub(super) fn install(manager: &str, package: &str, folder: &str) -> String {
    format!(
        "call `install_package` with manager `{manager}`, packages [\"{package}\"] and path `{folder}`"
    )
}

fn not_there(program: &str, how: &str) -> String {
    format!("there is no {program} where commands run: {how}. {HIDDEN}")
}

fn pytest(environment: &Environment, folder: &str) -> String {
    let call = install("pip", "pytest", folder);
    match environment {
        Environment::Managed { manager, .. } if manager.add.is_none() => format!(
            "there is no pytest in the project's environment, which {} manages: name it in the dependencies \
             of that environment in pyproject.toml",
            manager.program
        ),
        Environment::Managed { manager, .. } => format!(
            "there is no pytest in the project's environment, which {} manages: {call}",
            manager.program
        ),
        Environment::Venv(venv) => format!("there is no pytest in {venv}: {call}"),
        Environment::Machine => format!(
            "there is no pytest where commands run: {call}, which makes a .venv in the project and installs \
             it there"
        ),
    }
}

/// What starts the project's Python is not there.
pub(super) fn of_python(program: &str, environment: &Environment) -> String {
    match environment {
        Environment::Managed { .. } => of_manager(program),
        Environment::Venv(venv) => format!(
            "{program} cannot be started where commands run: {venv} is no whole environment, or the Python that \
             it was made of is not there. Make it anew (`python3 -m venv --clear {venv}`), or name the folder of \
             that Python in `show` of `[commands]`"
        ),
        Environment::Machine => not_there(program, "install Python 3"),
    }
}

/// What manages the project's packages is not there.
pub(super) fn of_manager(program: &str) -> String {
    let how = match program {
        "npm" => "install Node.js with npm".to_owned(),
        "pnpm" | "yarn" => format!(
            "the project is managed by it: install it on this machine (`npm install --global {program}`)"
        ),
        "bun" => {
            "the project is managed by it: install it on this machine (https://bun.sh)".to_owned()
        }
        _ => format!(
            "the project is managed by it: install it on this machine (`pipx install {program}`)"
        ),
    };
    not_there(program, &how)
}

fn on_machine(program: &str) -> String {
    let what = match program {
        "cargo" => "Rust",
        "go" => "Go",
        "mvn" => "Maven, or add its wrapper `mvnw` to the project",
        "gradle" => "Gradle, or add its wrapper `gradlew` to the project",
        "ctest" => "CMake, which brings it",
        "cmake" => "CMake",
        other => other,
    };
    format!("install {what}")
}

#[cfg(test)]
mod tests {
    use super::super::project::Wanted;
    use super::super::project::find_tests;
    use super::super::project::fixture::{Table, path};
    use super::*;

    fn told(files: &[(&str, &str)], program: &str) -> String {
        let found = find_tests(&Table::new(files), &path("/app"), Wanted::Any).unwrap();
        of_tests(program, &found, "app")
    }

    #[test]
    fn each_missing_runner_is_told_with_the_way_to_get_it() {
        let pytest = ("app/conftest.py", "");
        let call =
            "call `install_package` with manager `pip`, packages [\"pytest\"] and path `app`";
        assert_eq!(
            told(&[pytest], "pytest"),
            format!(
                "there is no pytest where commands run: {call}, which makes a .venv in the project and \
                 installs it there"
            )
        );
        assert_eq!(
            told(&[pytest, ("app/.venv/x", "")], "pytest"),
            format!("there is no pytest in .venv: {call}")
        );
        assert_eq!(
            told(&[pytest, ("app/uv.lock", "")], "pytest"),
            format!("there is no pytest in the project's environment, which uv manages: {call}")
        );
        assert_eq!(
            told(&[pytest, ("app/uv.lock", "")], "uv"),
            format!(
                "there is no uv where commands run: the project is managed by it: install it on this machine \
                 (`pipx install uv`). {HIDDEN}"
            )
        );
        let hatch = ("app/pyproject.toml", "[tool.hatch.envs.default]\n");
        assert!(told(&[pytest, hatch], "pytest").contains("dependencies of that environment"));
        let broken = told(&[pytest, ("app/.venv/x", "")], ".venv/bin/python");
        assert!(broken.starts_with(".venv/bin/python cannot be started"), "{broken}");
        assert!(broken.contains("python3 -m venv --clear .venv"), "{broken}");
        let tox = ("app/tox.ini", "[testenv]\n");
        assert!(told(&[tox], "tox").contains("pipx install tox"));
        let manifest = r#"{"scripts": {"test": "jest"}, "devDependencies": {"jest": "^30"}}"#;
        let jest = ("app/package.json", manifest);
        assert_eq!(
            told(&[jest], "jest"),
            "the script `test` starts jest, which is not installed: call `install_package` with manager \
             `npm`, packages [\"jest@^30\"] and path `app`, which installs what else package.json names, too"
        );
        assert!(told(&[jest, ("app/pnpm-lock.yaml", "")], "pnpm").contains("--global pnpm"));
        assert!(told(&[("app/pom.xml", "")], "mvn").contains("install Maven"));
        assert!(told(&[("app/Cargo.toml", "")], "cargo").contains("install Rust"));
    }
}
