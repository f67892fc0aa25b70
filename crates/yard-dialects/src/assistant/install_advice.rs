//! Messages about programs that a project needs and that are not installed: which call of `install_package` installs
//! them, or what a person has to do on the machine.

use super::project::python::{Environment, Framework};
use super::project::{ProjectTests, Runner};

/// What to do if a program is installed, but not visible to commands.
const IF_HIDDEN: &str = "If it is installed in a folder that commands do not see, name that folder in `show` of \
                      `[commands]`, and its programs in PATH by `env`";

/// For tests that were not run because `program` is missing; `folder` is the project's.
pub(super) fn for_tests(program: &str, tests: &ProjectTests, folder: &str) -> String {
    match &tests.runner {
        Runner::Python(tests) if program == "pytest" => for_pytest(&tests.environment, folder),
        Runner::Python(tests) if tests.framework == Framework::Tox => missing_where_commands_run(
            program,
            "the project's tests are run by tox: install it on this machine (`pipx install tox`), or make a \
             .venv in the project with what the tests need, which is used instead",
        ),
        Runner::Python(tests) => for_python(program, &tests.environment),
        Runner::Script(tests) if program == tests.manager.program() => for_manager(program),
        Runner::Script(tests) => {
            let package = tests.package.as_deref().unwrap_or(program);
            format!(
                "the script `test` starts {program}, which is not installed: {}, which installs what else \
                 package.json names, too",
                call_install_package("npm", package, folder)
            )
        }
        _ => {
            let product = match program {
                "cargo" => "Rust",
                "go" => "Go",
                "mvn" => "Maven, or add its wrapper `mvnw` to the project",
                "gradle" => "Gradle, or add its wrapper `gradlew` to the project",
                "ctest" => "CMake, which brings it",
                "cmake" => "CMake",
                other => other,
            };
            missing_where_commands_run(program, &format!("install {product}"))
        }
    }
}

fn call_install_package(manager: &str, package: &str, folder: &str) -> String {
    format!(
        "call `install_package` with manager `{manager}`, packages [\"{package}\"] and path `{folder}`"
    )
}

fn missing_where_commands_run(program: &str, advice: &str) -> String {
    format!("there is no {program} where commands run: {advice}. {IF_HIDDEN}")
}

fn for_pytest(environment: &Environment, folder: &str) -> String {
    let call = call_install_package("pip", "pytest", folder);
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

/// For the program that starts the project's Python.
pub(super) fn for_python(program: &str, environment: &Environment) -> String {
    match environment {
        Environment::Managed { .. } => for_manager(program),
        Environment::Venv(venv) => format!(
            "{program} cannot be started where commands run: {venv} is no whole environment, or the Python that \
             it was made of is not there. Make it anew (`python3 -m venv --clear {venv}`), or name the folder of \
             that Python in `show` of `[commands]`"
        ),
        Environment::Machine => missing_where_commands_run(program, "install Python 3"),
    }
}

/// For the program that manages the project's packages.
pub(super) fn for_manager(program: &str) -> String {
    let advice = match program {
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
    missing_where_commands_run(program, &advice)
}

#[cfg(test)]
mod tests {
    use super::super::project::WantedRunner;
    use super::super::project::find_tests;
    use super::super::project::fixture::{Table, path};
    use super::*;

    fn advice(files: &[(&str, &str)], program: &str) -> String {
        let tests = find_tests(&Table::new(files), &path("/app"), WantedRunner::Any).unwrap();
        for_tests(program, &tests, "app")
    }

    #[test]
    fn each_missing_runner_is_reported_with_the_way_to_install_it() {
        let pytest = ("app/conftest.py", "");
        let call =
            "call `install_package` with manager `pip`, packages [\"pytest\"] and path `app`";
        assert_eq!(
            advice(&[pytest], "pytest"),
            format!(
                "there is no pytest where commands run: {call}, which makes a .venv in the project and \
                 installs it there"
            )
        );
        assert_eq!(
            advice(&[pytest, ("app/.venv/x", "")], "pytest"),
            format!("there is no pytest in .venv: {call}")
        );
        assert_eq!(
            advice(&[pytest, ("app/uv.lock", "")], "pytest"),
            format!("there is no pytest in the project's environment, which uv manages: {call}")
        );
        assert_eq!(
            advice(&[pytest, ("app/uv.lock", "")], "uv"),
            format!(
                "there is no uv where commands run: the project is managed by it: install it on this machine \
                 (`pipx install uv`). {IF_HIDDEN}"
            )
        );
        let hatch = ("app/pyproject.toml", "[tool.hatch.envs.default]\n");
        assert!(advice(&[pytest, hatch], "pytest").contains("dependencies of that environment"));
        let broken = advice(&[pytest, ("app/.venv/x", "")], ".venv/bin/python");
        assert!(broken.starts_with(".venv/bin/python cannot be started"), "{broken}");
        assert!(broken.contains("python3 -m venv --clear .venv"), "{broken}");
        let tox = ("app/tox.ini", "[testenv]\n");
        assert!(advice(&[tox], "tox").contains("pipx install tox"));
        let manifest = r#"{"scripts": {"test": "jest"}, "devDependencies": {"jest": "^30"}}"#;
        let jest = ("app/package.json", manifest);
        assert_eq!(
            advice(&[jest], "jest"),
            "the script `test` starts jest, which is not installed: call `install_package` with manager \
             `npm`, packages [\"jest@^30\"] and path `app`, which installs what else package.json names, too"
        );
        assert!(advice(&[jest, ("app/pnpm-lock.yaml", "")], "pnpm").contains("--global pnpm"));
        assert!(advice(&[("app/pom.xml", "")], "mvn").contains("install Maven"));
        assert!(advice(&[("app/Cargo.toml", "")], "cargo").contains("install Rust"));
    }
}
